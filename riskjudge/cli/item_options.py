"""The options that say which items are judged; the commands that ask about items share them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from riskjudge.items import Item
    from riskjudge.items.admission import Admission

Items = Annotated[
    Path, typer.Argument(metavar="ITEMS", help="JSONL of ours, NQ-open JSONL, or EVOUNA JSON.")
]
ItemsFormat = Annotated[
    str | None, typer.Option("--format", help="items, nq-open or evouna. (default: by its content)")
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
    # Without labels a trace still serves to decide, so an absent column is no error.
    given = [way for way in ways if way.kind != "column"] or None
    return items if given is None else labelled(items, ways)


def beside(output: Path, ending: str) -> Path:
    """A file beside the output, named after it."""
    return output.with_name(f"{output.stem}.{ending}")
