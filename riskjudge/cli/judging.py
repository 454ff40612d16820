"""``riskjudge census``, ``reading``, ``trace``: what judges say, counted and read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from riskjudge.errors import InputError

if TYPE_CHECKING:
    from riskjudge.judges import Judge
    from riskjudge.ledger import PositionPreference, Reading, Row
    from riskjudge.ledger.reading import Segment

_Positions = Mapping["Segment", "PositionPreference"]
_AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_By = Annotated[str, typer.Option(help="Columns to split by, with commas between them.")]
_Need = Annotated[
    int, typer.Option(help="With fewer compared items, a segment is insufficient.", min=0)
]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command("census")(census)
    app.command("reading")(reading)
    app.command("trace")(trace)


def census(
    llmbar: Annotated[Path | None, typer.Option(help="Folder with the LLMBar pairs.")] = None,
    judges: Annotated[
        list[str] | None, typer.Option("--judge", help="A scripted judge; may be repeated.")
    ] = None,
    seed: Annotated[int, typer.Option(help="For judges that draw at random.")] = 0,
    trials: Annotated[
        Path | None, typer.Option(help="Read stored two-order trials (CSV) instead.")
    ] = None,
    strategies: Annotated[
        list[str] | None, typer.Option("--strategy", help="Only these trials; may be repeated.")
    ] = None,
    by: _By = "",
    need: _Need = 0,
    confidence: Annotated[float, typer.Option(help="Two-sided, of the intervals.")] = 0.95,
    as_json: _AsJson = False,
) -> None:
    """Count what judges say about pairs: scripted ones over LLMBar, or stored trials.

    Scripted judges compare each pair in both orders, and grade each response by itself.
    """
    from riskjudge.ledger import read_trials, readings

    if (llmbar is None) is (trials is None):
        raise InputError("a census needs either --llmbar DIR or --trials FILE")
    if trials is not None:
        rows, columns = read_trials(trials, strategies or ()), _columns(by) or ("judge", "subset")
        _print_readings(
            readings(rows, columns, need=need), _positions(rows, columns), as_json, confidence
        )
        return
    if strategies:
        raise InputError("--strategy goes with --trials")
    assert llmbar is not None
    rows = _ask_scripted(llmbar, judges or ["first-slot"], seed)
    print_census(readings(rows, ("judge", "mode", *_columns(by)), need=need), as_json)


def reading(
    ledger: Annotated[Path, typer.Argument(help="A ledger: JSONL, or Parquet (needs DuckDB).")],
    by: _By = "judge,mode",
    need: _Need = 0,
    items: Annotated[
        Path | None, typer.Option(help="The items that were to be judged: counts missing rows.")
    ] = None,
    parquet: Annotated[
        Path | None, typer.Option(help="Write the fast copy of a JSONL ledger, and read that.")
    ] = None,
    on_error: Annotated[
        Literal["stop", "skip"], typer.Option(help="At a damaged line: stop, or skip and say so.")
    ] = "stop",
    confidence: Annotated[float, typer.Option(help="Two-sided, of the intervals.")] = 0.95,
    as_json: _AsJson = False,
) -> None:
    """Read a ledger: verdicts, abstentions by reason and failures by kind, each in its column."""
    from riskjudge.items import read_items
    from riskjudge.ledger import read_ledger, read_segments, readings, stream_ledger, write_parquet

    columns = _columns(by)
    if parquet is not None:
        write_parquet(parquet, stream_ledger(ledger))
        ledger = parquet
    if ledger.suffix == ".parquet":
        if items is not None:
            raise InputError("--items goes with a JSONL ledger that is read as such")
        _print_readings(read_segments(ledger, columns, need=need), {}, as_json, confidence)
        return
    content = read_ledger(ledger, on_error)
    for damage in content.damaged:
        typer.echo(f"{ledger}, line {damage.line} skipped: {damage.reason}", err=True)
    expected = None if items is None else {item.id: item.subset for item in read_items(items)}
    found = readings(content.rows, columns, need=need, expected=expected)
    _print_readings(found, _positions(content.rows, columns), as_json, confidence)


def trace(
    ledger: Annotated[Path, typer.Argument(help="A ledger, JSONL or Parquet.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The trace: CSV, JSONL, Parquet.")],
    arms: Annotated[
        list[str] | None,
        typer.Option(
            "--arm", help="A judge/mode, in the order in which they are asked; repeat it."
        ),
    ] = None,
    uncertainty: Annotated[
        str, typer.Option(help="confidence, dissent, preference_entropy or cut.")
    ] = "confidence",
) -> None:
    """Turn a ledger into a trace that a gate can be fitted on, a mode for each judge and mode."""
    from riskjudge.io.tables import write_table
    from riskjudge.ledger import read_ledger, read_parquet
    from riskjudge.ledger.traces import to_trace

    parquet = ledger.suffix == ".parquet"
    rows = list(read_parquet(ledger)) if parquet else read_ledger(ledger).rows
    found = to_trace(rows, arms or None, uncertainty)
    write_table(found.to_frame(), output)
    typer.echo(f"{len(found)} items, modes {', '.join(found.modes)}, in {output}", err=True)


def _columns(by: str) -> tuple[str, ...]:
    return tuple(column.strip() for column in by.split(",") if column.strip())


def _ask_scripted(folder: Path, names: Sequence[str], seed: int) -> list[Row]:
    from riskjudge.items import read_llmbar
    from riskjudge.judges import SCRIPTED, PairwiseTrial, PointwiseComparison, judge_items

    arms: list[Judge] = []
    for name in names:
        if name not in SCRIPTED:
            raise InputError(f"no scripted judge {name!r}; there are {', '.join(SCRIPTED)}")
        arms += [PairwiseTrial(SCRIPTED[name](seed)), PointwiseComparison(SCRIPTED[name](seed))]
    return list(judge_items(arms, read_llmbar(folder)))


def _positions(rows: Iterable[Row], by: Sequence[str]) -> _Positions:
    """Position preference by segment, where there is one to speak of."""
    from riskjudge.ledger import position_preference
    from riskjudge.ledger.reading import split

    found = {segment: position_preference(members) for segment, members in split(rows, by).items()}
    return {segment: lean for segment, lean in found.items() if lean.share is not None}


def print_census(arms: Iterable[Reading], as_json: bool) -> None:
    from riskjudge.ledger import census_line

    if as_json:
        typer.echo(json.dumps([arm.to_dict() for arm in arms], indent=2, allow_nan=False))
        return
    for arm in arms:
        typer.echo(census_line(arm))


def _print_readings(
    found: Sequence[Reading], positions: _Positions, as_json: bool, confidence: float
) -> None:
    if as_json:
        records = [_record(entry, positions.get(entry.segment), confidence) for entry in found]
        typer.echo(json.dumps(records, indent=2, allow_nan=False))
        return
    from rich.console import Console
    from rich.table import Table

    counts = [
        column for column in _COUNTS if column in _ALWAYS or any(_COUNTS[column](e) for e in found)
    ]
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in found[0].by if found else ():
        table.add_column(name)
    for name in (*counts, "agreement", "declined", *(("first-slot",) if positions else ())):
        table.add_column(name, justify="right")
    for entry in found:
        cells = [value or "-" for value in entry.segment]
        cells += [str(_COUNTS[column](entry)) for column in counts]
        cells += [_agreement(entry), _rate(entry.abstention_rate)]
        if positions:
            cells.append(_lean(positions.get(entry.segment), confidence))
        table.add_row(*cells)
    # Wide enough that a pipe or a narrow terminal does not cut a number.
    Console(width=max(Console().width, 150)).print(table)
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
