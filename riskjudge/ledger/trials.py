"""Reader of stored two-order trials: what other people's judges said, as rows of a ledger."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from riskjudge.data.verdict import (
    Failure,
    FailureKind,
    Outcome,
    ScoreVerdict,
    Undecided,
    Winner,
    WinnerVerdict,
)
from riskjudge.errors import InputError
from riskjudge.io.files import open_text
from riskjudge.ledger.rows import Row
from riskjudge.ledger.swap import BOTH_ORDERS, disclose_orders, resolve_orders

_COLUMNS = ("item_id", "subset", "judge", "strategy", "label", "w_ab", "w_ba")
_ARMS = ("score_1", "score_2")

_WINNERS = {"1": Winner.A, "2": Winner.B}
_OUTCOMES: dict[str, Outcome] = {
    "1": WinnerVerdict(Winner.A),
    "2": WinnerVerdict(Winner.B),
    "": Failure(FailureKind.NO_VERDICT, "no winner is stored"),
}


def read_trials(path: str | Path, strategies: Sequence[str] = ()) -> list[Row]:
    """Read two-order trials from a CSV file, compressed or not.

    Columns: `item_id`, `subset`, `judge`, `strategy`, `label` (1 or 2), `w_ab` and `w_ba`: the
    winner (1, 2 or empty) when the outputs are shown as stored and when they are swapped, both
    times named by identity. Where a column `score_1` or `score_2` is there and filled, the judge
    graded each output by itself: the scores decide, equal scores are undecided, and the winners
    beside them, which break a tie by position, are not read. Each row discloses which was read.

    Parameters
    ----------
    path : str | Path
        The file.
    strategies : Sequence[str]
        Keep only these; by default all.

    Returns
    -------
    list of Row
        The strategy is the `mode`, the subset the `subset`.

    Raises
    ------
    InputError
        Naming the line, for a missing column, a value outside the above, or a repeated trial; or
        if a strategy is asked for that the file does not have.
    """
    rows: dict[str, Row] = {}
    with open_text(path) as lines:
        for number, record in _records(path, lines):
            try:
                row = _row(record)
            except InputError as error:
                raise InputError(f"{path}, line {number}: {error}") from None
            if row.id in rows:
                raise InputError(f"{path}, line {number}: the trial {row.id!r} occurs twice")
            rows[row.id] = row
    known = {row.mode for row in rows.values()}
    for strategy in strategies:
        if strategy not in known:
            raise InputError(f"{path}: no strategy {strategy!r}; it has {', '.join(sorted(known))}")
    return [row for row in rows.values() if not strategies or row.mode in strategies]


def _records(path: str | Path, lines: Iterator[str]) -> Iterator[tuple[int, dict[str, str]]]:
    reader = csv.reader(lines)
    header = next(reader, [])
    for column in _COLUMNS:
        if column not in header:
            raise InputError(f"{path}: no column {column!r}; a trials file has {_COLUMNS}")
    for fields in reader:
        if len(fields) != len(header):
            raise InputError(
                f"{path}, line {reader.line_num}: {len(fields)} fields, not {len(header)}"
            )
        yield reader.line_num, dict(zip(header, fields, strict=True))


def _row(record: dict[str, str]) -> Row:
    label = record["label"]
    if label not in _WINNERS:
        raise InputError(f"`label` is 1 or 2, got {label!r}")
    row = partial(
        Row,
        subject=record["item_id"],
        judge=record["judge"],
        mode=record["strategy"],
        subset=record["subset"],
        label=_WINNERS[label],
        calls=2,
    )
    scores = [record.get(column, "") for column in _ARMS]
    if any(scores):
        return row(outcome=_compare(*scores), disclosure={"read": "scores", "scores": scores})
    ab, ba = (_order(record, column) for column in ("w_ab", "w_ba"))
    return row(
        outcome=resolve_orders(ab, ba),
        order=BOTH_ORDERS,
        disclosure={"read": "winners", **disclose_orders(ab, ba)},
    )


def _order(record: dict[str, str], column: str) -> Outcome:
    text = record[column].removesuffix(".0")
    if text not in _OUTCOMES:
        raise InputError(f"`{column}` is 1, 2 or empty, got {record[column]!r}")
    return _OUTCOMES[text]


def _compare(*scores: str) -> Outcome:
    if not all(scores):
        return Failure(FailureKind.NO_VERDICT, "one score is not stored")
    try:
        first, second = (ScoreVerdict(float(score)).value for score in scores)
    except ValueError:
        raise InputError(f"the scores are finite numbers, got {scores}") from None
    if first == second:
        return Undecided()
    return WinnerVerdict(Winner.A if first > second else Winner.B)
