"""The options that say which items are judged; the commands that ask about items share them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riskjudge.cli import completion
from riskjudge.errors import OperationalError

if TYPE_CHECKING:
    from riskjudge.items import Item
    from riskjudge.items.admission import Admission
    from riskjudge.judges import Judge
    from riskjudge.ledger import Row
    from riskjudge.llm import Budget

Items = Annotated[
    Path, typer.Argument(metavar="ITEMS", help="JSONL of ours, NQ-open JSONL, or EVOUNA JSON.")
]
ItemsFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="items, nq-open or evouna. (default: by its content)",
        autocompletion=completion.one_of("items", "nq-open", "evouna"),
    ),
]
Systems = Annotated[
    str, typer.Option(help="Of an EVOUNA file: whose answers, with commas. (default: all)")
]
Candidates = Annotated[
    Path | None, typer.Option(help="Of an NQ-open file: JSON object from question to answer.")
]
Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        help="exact, f1, f1:0.6, squad_exact, squad_f1, llm, column; the first is the label. "
        "(default: column)",
    ),
]
LedgerFile = Annotated[
    Path | None, typer.Option("--ledger", help="Rows, JSONL. (default: beside the output)")
]
Limit = Annotated[int | None, typer.Option(help="Only the first so many items.", min=1)]


def read_asked(
    path: Path,
    form: str | None,
    systems: str,
    candidates: Path | None,
    limit: int | None,
    ways: Sequence[Admission],
) -> list[Item]:
    from riskjudge.items.questions import read_questions
    from riskjudge.judges.judging import labelled

    chosen = [name.strip() for name in systems.split(",") if name.strip()]
    items = read_questions(path, form, systems=chosen, candidates=candidates)[:limit]
    bare = sum(not item.has_body for item in items)
    if bare:
        typer.echo(f"{path}: {bare} of {len(items)} items have no answer to judge", err=True)
    return labelled(items, ways)


def beside(output: Path, ending: str) -> Path:
    """A file beside the output, named after it."""
    return output.with_name(f"{output.stem}.{ending}")


def say_changed(rows: Iterable[Row], items: Sequence[Item], judges: Sequence[Judge]) -> None:
    """Say how many items have another content than the ledger's answers are about."""
    from riskjudge.data.verdict import ItemStatus
    from riskjudge.judges.run import is_stale

    by_id, arms = {item.id: item for item in items}, {(j.name, j.mode) for j in judges}
    changed = {
        row.subject
        for row in rows
        if (row.judge, row.mode) in arms
        and row.subject in by_id
        and row.status is not ItemStatus.SCORE_FAILED
        and is_stale(row, by_id[row.subject])
    }
    if changed:
        said = "1 item" if len(changed) == 1 else f"{len(changed)} items"
        typer.echo(f"{said} changed since they were judged: asked again", err=True)


def refuse_incomplete(
    rows: Iterable[Row], items: Sequence[Item], judges: Sequence[Judge], budget: Budget
) -> None:
    """Say what is left where a budget ended the run, with the exit code of work not done.

    Raises
    ------
    OperationalError
        If a judgement was not made because nothing more may be asked.
    """
    from riskjudge.data.verdict import Failure, FailureKind

    ids, arms = {item.id for item in items}, {(j.name, j.mode) for j in judges}
    asked = [row for row in rows if row.subject in ids and (row.judge, row.mode) in arms]
    left = sum(
        isinstance(row.outcome, Failure) and row.outcome.kind is FailureKind.BUDGET for row in asked
    )
    if left:
        raise OperationalError(
            f"incomplete: {left} of {len(asked)} judgements are left, {budget.spent_calls} calls were "
            f"made; {budget.stopped or 'the budget is spent'}. The same command goes on from here"
        )
