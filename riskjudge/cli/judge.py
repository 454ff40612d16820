"""``riskjudge judge``: ask judges about every item."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riskjudge.cli import options
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
)
from riskjudge.cli.model_options import ModelOptions, open_judges, with_model_options
from riskjudge.cli.readings import print_census
from riskjudge.errors import InputError, OperationalError

if TYPE_CHECKING:
    from riskjudge.items import Item
    from riskjudge.judges import Judge
    from riskjudge.ledger import LedgerWriter, Row


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
        str,
        typer.Option(
            help="With --config: the trace's measure: confidence, variation_ratio, preference_entropy, "
            "predictive_entropy or cut."
        ),
    ] = "confidence",
    as_json: options.AsJson = False,
    models: ModelOptions,
) -> None:
    """Ask a model, or composed judges, about every item, into a ledger and a trace.

    A ledger that is already there goes on: answers stand, failures are asked again. Killed at any
    moment and started again, the same command gives the same trace.
    """
    from riskjudge.items.admission import admissions

    ways = admissions(labels or ["column"])
    asked = read_asked(items, form, systems, candidates, limit, ways)
    trace, ledger = _files(output, ledger)
    if config is not None:
        _ask_composed(config, asked, trace, ledger, parquet, timings, uncertainty, as_json)
        return
    with ExitStack() as stack:
        from riskjudge.judges.modes import EVALUATOR

        also = (EVALUATOR,) if any(way.kind == "llm" for way in ways) else ()
        judges = stack.enter_context(open_judges(models, beside(output, "cache.sqlite"), also))
        main, evaluators = judges[: len(models.mode_names)], judges[len(models.mode_names) :]
        rows = _ask(main, asked, ledger, timings, models.concurrency)
        if evaluators:
            known = [item for item in asked if item.references]
            rows = _ask(evaluators, known, ledger, timings, models.concurrency)
    _finish(rows, parquet, as_json)
    if trace is not None:
        from riskjudge.io.tables import write_table
        from riskjudge.judges.judging import add_labels, trace_table

        frame = trace_table(rows, main, asked)
        arms = {(judge.name, judge.mode) for judge in evaluators}
        evaluations = {row.subject: row for row in rows if (row.judge, row.mode) in arms}
        add_labels(frame, asked, ways, evaluations)
        write_table(frame, trace)
        typer.echo(f"{len(frame)} items, modes {models.modes}, in {trace}", err=True)


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
    from riskjudge.judges.judging import AnyModelJudge, refuse_other_questions
    from riskjudge.ledger import LedgerWriter

    with LedgerWriter(ledger) as writer:
        if writer.repaired:
            typer.echo(f"{ledger}: {writer.repaired}", err=True)
        refuse_other_questions(writer.rows, [j for j in judges if isinstance(j, AnyModelJudge)])
        left = _unanswered(judges, items, writer)
        with options.progress_bar("judging", left) as report:
            appended = run_into_ledger(judges, items, writer, timings, concurrency, report)
        typer.echo(f"{appended} rows appended to {ledger}", err=True)
        return writer.rows


def _unanswered(judges: Sequence[Judge], items: Sequence[Item], writer: LedgerWriter) -> int:
    done = writer.done
    return sum(f"{j.name}/{j.mode}/{item.id}" not in done for j in judges for item in items)


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


def _ask_composed(
    config: Path,
    items: Sequence[Item],
    trace: Path | None,
    ledger: Path,
    parquet: Path | None,
    timings: bool,
    uncertainty: str,
    as_json: bool,
) -> None:
    from riskjudge.io.tables import write_table
    from riskjudge.judges import read_judges
    from riskjudge.judges.model_config import MODEL_BUILDERS
    from riskjudge.ledger.traces import to_trace

    judges = read_judges(config, MODEL_BUILDERS)
    # One at a time: a scripted judge may count its calls.
    rows = _ask(judges, items, ledger, timings, concurrency=1)
    _finish(rows, parquet, as_json)
    if trace is not None:
        arms = [f"{judge.name}/{judge.mode}" for judge in judges]
        write_table(to_trace(rows, arms, uncertainty).to_frame(), trace)
