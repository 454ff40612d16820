"""``riskjudge judge``: ask judges about every item."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riskjudge.cli import completion, options
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
from riskjudge.cli.readings import print_census
from riskjudge.errors import InputError, OperationalError

if TYPE_CHECKING:
    from riskjudge.items import Item
    from riskjudge.judges import Judge
    from riskjudge.ledger import Row


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("judge")(judge)


@with_model_options
def judge(
    *,
    items: Items,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="A trace (.csv, .parquet) with a ledger beside it; or a ledger."
        ),
    ],
    config: Annotated[
        Path | None, typer.Option(help="Judges composed in TOML, in place of a model.")
    ] = None,
    labels: Labels = None,
    form: ItemsFormat = None,
    systems: Systems = "",
    candidates: Candidates = None,
    limit: Limit = None,
    ledger: LedgerFile = None,
    parquet: Annotated[
        Path | None, typer.Option(help="Write the fast copy of the ledger, too.")
    ] = None,
    timings: Annotated[bool, typer.Option(help="Store when and how long.")] = True,
    uncertainty: Annotated[
        str | None,
        typer.Option(
            help="With --config, the trace's measure: confidence, variation_ratio, "
            "preference_entropy, predictive_entropy or cut. (default: confidence)",
            autocompletion=completion.one_of(
                "confidence", "variation_ratio", "preference_entropy", "predictive_entropy", "cut"
            ),
        ),
    ] = None,
    label_model: Annotated[
        str | None,
        typer.Option(help="With --label llm, the model that labels. (default: the judge's own)"),
    ] = None,
    as_json: options.AsJson = False,
    models: ModelOptions,
) -> None:
    """Ask a model, or composed judges, about every item, into a ledger and a trace.

    A ledger that is already there goes on: answers stand, failures are asked again. Killed at any
    moment and started again, the same command gives the same trace.
    """
    from riskjudge.items.admission import admissions
    from riskjudge.judges.judging import add_labels, check_shapes, trace_table
    from riskjudge.judges.source import source_of

    ways = admissions(labels or ["column"])
    asked = read_asked(items, form, systems, candidates, limit, ways)
    trace, ledger = _files(output, ledger)
    budget, measure = models.budget(), None
    with ExitStack() as stack:
        if config is not None:
            from riskjudge.judges import read_judges

            models.refuse_beside("--config")
            if label_model is not None or any(way.kind == "llm" for way in ways):
                raise InputError("--config asks its own judges; label with exact, f1 or column")
            main: Sequence[Judge] = read_judges(config, budget=budget, rate=models.rate_limit())
            evaluators: Sequence[Judge] = ()
            measure = uncertainty or "confidence"
            # One at a time: a scripted judge may count its calls.
            concurrency = 1
        else:
            if uncertainty is not None:
                raise InputError(
                    "--uncertainty goes with --config; a model's judges have their own"
                )
            cache = beside(output, "cache.sqlite")
            evaluator = any(way.kind == "llm" for way in ways)
            if label_model is not None and not evaluator:
                raise InputError("--label-model is asked for the label llm: say --label llm")
            main, evaluators = stack.enter_context(
                open_judges(models, cache, budget, evaluator=evaluator, label_model=label_model)
            )
            concurrency = models.concurrency
        known = [item for item in asked if item.references]
        check_shapes(main, asked)
        check_shapes(evaluators, known)
        if evaluators and not known:
            raise InputError("no item has a reference answer, which the label llm needs")
        rows = _ask(main, asked, ledger, timings, concurrency)
        if evaluators:
            rows = _ask(evaluators, known, ledger, timings, concurrency)
    _finish(rows, parquet, as_json)
    if trace is not None:
        from riskjudge.io.tables import write_table

        frame = trace_table(rows, main, asked, measure)
        arms = {(judge.name, judge.mode) for judge in evaluators}
        evaluations = {row.subject: row for row in rows if (row.judge, row.mode) in arms}
        labeller = source_of(evaluators[0]) if evaluators else None
        add_labels(frame, asked, ways, evaluations, labeller)
        write_table(frame, trace)
        modes = ", ".join(judge.mode for judge in main)
        typer.echo(f"{len(frame)} items, modes {modes}, in {trace}", err=True)
    refuse_incomplete(rows, asked, [*main, *evaluators], budget)


def _files(output: Path, ledger: Path | None) -> tuple[Path | None, Path]:
    """The trace, if one is wanted, and the ledger."""
    if output.suffix == ".jsonl":
        if ledger is not None:
            raise InputError(f"{output} is itself a ledger; for a trace write .csv or .parquet")
        return None, output
    from riskjudge.io.tables import table_format

    table_format(output)
    return output, ledger or beside(output, "ledger.jsonl")


def _ask(
    judges: Sequence[Judge], items: Sequence[Item], ledger: Path, timings: bool, concurrency: int
) -> tuple[Row, ...]:
    from riskjudge.judges import run_into_ledger
    from riskjudge.judges.judging import refuse_other_questions
    from riskjudge.judges.run import unanswered
    from riskjudge.ledger import LedgerWriter

    with LedgerWriter(ledger) as writer:
        if writer.repaired:
            typer.echo(f"{ledger}: {writer.repaired}", err=True)
        refuse_other_questions(writer.rows, judges)
        say_changed(writer.rows, items, judges)
        left = len(unanswered(judges, items, writer))
        with options.progress_bar("judging", left) as report:
            appended = run_into_ledger(judges, items, writer, timings, concurrency, report)
        typer.echo(f"{appended} rows appended to {ledger}", err=True)
        return writer.rows


def _finish(rows: Sequence[Row], parquet: Path | None, as_json: bool) -> None:
    """The counts, for people; an error if not one judgement came through."""
    from riskjudge.ledger import readings, write_parquet

    if parquet is not None:
        write_parquet(parquet, rows)
    arms = readings(rows, ("judge", "mode"))
    print_census(arms, as_json)
    if rows and all(arm.failed == arm.items for arm in arms):
        first = next(row.outcome for row in rows)
        raise OperationalError(f"every judgement failed; the first: {first}")
