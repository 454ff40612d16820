"""What ``census`` and ``reading`` share: counts by segment, as a table or as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riskjudge.cli import options

if TYPE_CHECKING:
    from riskjudge.ledger import PositionPreference, Reading, Row
    from riskjudge.ledger.reading import Segment

Positions = Mapping["Segment", "PositionPreference"]
By = Annotated[str, typer.Option(help="Columns to split by, with commas between them.")]
Need = Annotated[
    int, typer.Option(help="With fewer compared items, a segment is insufficient.", min=0)
]


def columns(by: str) -> tuple[str, ...]:
    return tuple(column.strip() for column in by.split(",") if column.strip())


def positions(rows: Iterable[Row], by: Sequence[str]) -> Positions:
    """Position preference by segment, where there is one to speak of."""
    from riskjudge.ledger import position_preference
    from riskjudge.ledger.reading import split

    found = {segment: position_preference(members) for segment, members in split(rows, by).items()}
    return {segment: lean for segment, lean in found.items() if lean.share is not None}


def print_census(arms: Iterable[Reading], as_json: bool) -> None:
    from riskjudge.ledger import census_line

    if as_json:
        options.print_json({"arms": [arm.to_dict() for arm in arms]})
        return
    for arm in arms:
        typer.echo(census_line(arm))


def print_findings(rows: Iterable[Row], as_json: bool) -> None:
    """The reasons that judges gave, row by row, whole."""
    from riskjudge.data.verdict import describe

    found = [
        {
            "item": row.subject,
            "judge": row.judge,
            "mode": row.mode,
            "said": describe(row.outcome),
            "rationale": row.disclosure["rationale"],
        }
        for row in rows
        if row.outcome is not None and isinstance(row.disclosure.get("rationale"), str)
    ]
    if as_json:
        options.print_json({"findings": found})
        return
    for one in found:
        typer.echo("{item}  {judge}/{mode}: {said}".format(**one))
        for line in str(one["rationale"]).splitlines():
            typer.echo(f"    {line}")
    if not found:
        typer.echo("no row gives a reason", err=True)


def print_readings(
    found: Sequence[Reading], leans: Positions, as_json: bool, confidence: float
) -> None:
    if as_json:
        records = [_record(entry, leans.get(entry.segment), confidence) for entry in found]
        options.print_json({"readings": records})
        return
    from rich.console import Console

    from riskjudge.display import Table

    counts = [
        column for column in _COUNTS if column in _ALWAYS or any(_COUNTS[column](e) for e in found)
    ]
    by = found[0].by if found else ()
    rows = []
    for entry in found:
        cells = [value or "-" for value in entry.segment]
        cells += [str(_COUNTS[column](entry)) for column in counts]
        cells += [_agreement(entry), _rate(entry.abstention_rate)]
        if leans:
            cells.append(_lean(leans.get(entry.segment), confidence))
        rows.append(tuple(cells))
    header = (*by, *counts, "agreement", "declined", *(("first-slot",) if leans else ()))
    table = Table("", header, tuple(rows), left=len(by))
    console = Console()
    console.print(table.to_rich(console.width), markup=False)
    _print_maps(found)


_COUNTS: Mapping[str, Callable[[Reading], int]] = {
    "items": lambda entry: entry.items,
    "graded": lambda entry: entry.graded,
    "abstained": lambda entry: entry.abstained,
    "undecided": lambda entry: entry.undecided,
    "failed": lambda entry: entry.failed,
    "no body": lambda entry: entry.skipped_no_body,
    "missing": lambda entry: entry.missing_from_ledger,
}
_ALWAYS = ("items", "graded", "abstained", "undecided", "failed")


def _record(entry: Reading, lean: PositionPreference | None, confidence: float) -> dict[str, Any]:
    record = entry.to_dict()
    if lean is not None:
        record["position"] = {
            "first": lean.first,
            "second": lean.second,
            "first_share": lean.share,
            "interval": lean.interval(confidence),
            "confidence": confidence,
        }
    return record


def _agreement(entry: Reading) -> str:
    if not entry.sufficient:
        return f"insufficient (need {entry.need}, have {entry.have})"
    return _rate(entry.agreement)


def _rate(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


def _lean(lean: PositionPreference | None, confidence: float) -> str:
    interval = None if lean is None else lean.interval(confidence)
    if lean is None or interval is None:
        return "undefined"
    return f"{lean.share:.3f} [{interval[0]:.3f}, {interval[1]:.3f}]"


def _print_maps(found: Iterable[Reading]) -> None:
    """Reasons and error kinds over all segments; what did not occur is not in the line."""
    from collections import Counter

    reasons: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    for entry in found:
        reasons.update(entry.reasons)
        errors.update(entry.errors)
    for title, counts in (("abstained", reasons), ("failed", errors)):
        if counts:
            said = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
            typer.echo(f"{title}: {said}")
