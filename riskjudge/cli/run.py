"""``riskjudge run``: decide items with a gate, asking no more than it takes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from riskjudge.cli import options, promoted
from riskjudge.cli.item_options import (
    Candidates,
    Items,
    ItemsFormat,
    Labels,
    LedgerFile,
    Limit,
    Systems,
    beside,
    read_asked,
    refuse_incomplete,
    say_changed,
)
from riskjudge.cli.model_options import ModelOptions, open_judges, with_model_options
from riskjudge.cli.options import By, Floor, GateFile
from riskjudge.errors import InputError


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("run")(run)


@with_model_options
def run(
    *,
    gate: GateFile,
    items: Items,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Outcomes: .csv, .jsonl or .parquet.")
    ],
    labels: Labels = None,
    form: ItemsFormat = None,
    systems: Systems = "",
    candidates: Candidates = None,
    limit: Limit = None,
    ledger: LedgerFile = None,
    by: By = None,
    floor: Floor = None,
    on_mismatch: Annotated[
        str,
        typer.Option(
            help="Where the gate was fitted on scores made in another way: refuse, or uncertify."
        ),
    ] = "refuse",
    require_promoted: promoted.Required = None,
    as_json: options.AsJson = False,
    models: ModelOptions,
) -> None:
    """Decide items with a gate, asking each mode only where no earlier one was accepted.

    The modes are those that the gate was calibrated on, in its order. Labels are not needed.
    """
    from riskjudge.evaluation import summarize
    from riskjudge.evaluation.render import report_tables
    from riskjudge.io.tables import write_table
    from riskjudge.items.admission import admissions
    from riskjudge.judges.judging import run_lazily
    from riskjudge.ledger import LedgerWriter
    from riskjudge.signals import FusedGate

    ways = admissions(labels or ["column"])
    if any(way.kind == "llm" for way in ways):
        raise InputError("run asks no evaluator; label with exact, f1 or column")
    fitted = options.open_router(gate).gate
    promoted.require_again(fitted, gate, require_promoted)
    if fitted.fitted and None in fitted.sources_:
        typer.echo(
            "note: the gate does not record what made the scores it was fitted on, so nothing can be "
            "compared: that this run makes them in the same way is up to you",
            err=True,
        )
    asked = read_asked(items, form, systems, candidates, limit, ways)
    path = ledger or beside(output, "ledger.jsonl")
    with ExitStack() as stack:
        budget = models.budget()
        judges, _ = stack.enter_context(open_judges(models, beside(output, "cache.sqlite"), budget))
        writer = stack.enter_context(LedgerWriter(path))
        say_changed(writer.rows, asked, judges)
        done = run_lazily(
            fitted,
            judges,
            asked,
            writer,
            concurrency=models.concurrency,
            on_mismatch=on_mismatch,
            report=_stage_bars(stack),
        )
        rows = writer.rows
    write_table(done.outcomes.to_frame(), output)
    summary = summarize(done.outcomes, by=by, floor=floor)
    if isinstance(fitted, FusedGate):
        summary = replace(summary, cost=fitted.spent(done.outcomes))
    if as_json:
        calls = {"items": done.n_items, "asked": dict(done.asked), "saved": dict(done.saved)}
        options.print_json({"report": summary.to_dict(), "judgements": calls})
        refuse_incomplete(rows, asked, judges, budget)
        return
    for printed in report_tables(summary, str(items)):
        options.show(printed)
    for mode, count in done.asked.items():
        typer.echo(f"{mode}: {count} of {done.n_items} items asked, {done.saved[mode]} saved")
    typer.echo(f"outcomes written to {output}", err=True)
    refuse_incomplete(rows, asked, judges, budget)


def _stage_bars(stack: ExitStack) -> Callable[[str, int], Callable[[int], None]]:
    """A progress bar for each mode; one ends where the next begins."""
    current: list[Any] = []

    def begin(mode: str, total: int) -> Callable[[int], None]:
        while current:
            current.pop().close()
        bars = stack.enter_context(ExitStack())
        current.append(bars)
        return bars.enter_context(options.progress_bar(mode, total))

    return begin
