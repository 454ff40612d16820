"""Tables of labels to validate a judge on: any table, outcomes of a gate, or a ledger of ours."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from riskjudge.data.verdict import (
    UNDECIDED,
    Abstention,
    BooleanVerdict,
    Failure,
    FailureKind,
    ScoreVerdict,
    WinnerVerdict,
)
from riskjudge.errors import InputError
from riskjudge.io.jsonl import json_lines, parse_object
from riskjudge.io.tables import read_table, table_format
from riskjudge.ledger.records import to_record
from riskjudge.ledger.rows import Row

ARM = "arm"
"""The column that tells the arms of a ledger apart; only a table read from a ledger has it."""

_LEDGER = {"id", "subject", "judge", "mode", "status"}
_VERDICTS = ("verdict", "boolean", "winner", "score")


def read_labels(path: str | Path, id_column: str = "item_id") -> pd.DataFrame:
    """A table of labels, a row a unit.

    Parameters
    ----------
    path : str or Path
        CSV, JSONL or Parquet. A ledger (a judgement a row) is told by its columns and comes back with
        ``item_id``, ``arm`` (``judge/mode``), ``verdict``, ``label``, ``why`` (why there is no
        verdict), and what readings can be split by.
    id_column : str
        Column of the unit's id, kept as text.

    Raises
    ------
    InputError
        If the file is missing or damaged, or a row of a ledger is turned away.
    """
    if not set(_first_names(path)) >= _LEDGER:
        return read_table(path, text=[id_column])
    from riskjudge.ledger import read_ledger
    from riskjudge.ledger.parquet import read_parquet

    rows = read_parquet(path) if table_format(path) == "parquet" else read_ledger(path).rows
    return ledger_labels(rows)


def ledger_labels(rows: Iterable[Row]) -> pd.DataFrame:
    """Rows of a ledger as a table of labels; see :func:`read_labels`."""
    table = []
    for row in rows:
        record = to_record(row)
        kept = {name: record.get(name) for name in ("label", "subset", "order", "seed", "status")}
        table.append(
            {
                "item_id": row.subject,
                ARM: f"{row.judge}/{row.mode}",
                "judge": row.judge,
                "mode": row.mode,
                "group": row.group or row.subject,
                "verdict": _verdict(row),
                "why": _why(row),
                **kept,
            }
        )
    return pd.DataFrame(table)


def one_arm(table: pd.DataFrame, judge: str | None) -> pd.DataFrame:
    """The judgements of one arm of a ledger.

    Parameters
    ----------
    table : DataFrame
        From :func:`ledger_labels`.
    judge : str, optional
        The arm, as ``judge/mode``, or a judge that has one mode only. It may be left out where the
        ledger has one arm.

    Raises
    ------
    InputError
        If several arms are left, or none; the message lists those there are.
    """
    arms = ", ".join(table[ARM].unique())
    if judge is not None and judge not in _VERDICTS:
        table = table[(table[ARM] == judge) | (table["judge"] == judge)]
    if table[ARM].nunique() != 1:
        raise InputError(f"--judge names one arm of the ledger: {arms}")
    return table


def reasons_of(table: pd.DataFrame, judge: str) -> pd.Series | None:
    """Why the judge gave no label, where the table says so: None where it does not.

    The columns are ``why`` of a ledger, ``why1`` beside a verdict column ``v1`` of a trace, and those
    of the outcomes of a gate.
    """
    if ARM in table.columns:
        return table["why"]
    if judge == "verdict" and {"abstain_reason", "failure", "undecided"} <= set(table.columns):
        reasons = table["abstain_reason"].combine_first(table["failure"]).astype(object)
        undecided = table["undecided"].map(str).str.lower().isin(["true", "1", "1.0"])
        return reasons.mask(undecided, UNDECIDED)
    beside = f"why{judge[1:]}"
    return table[beside] if judge.startswith("v") and beside in table.columns else None


def _first_names(path: str | Path) -> Iterable[Any]:
    """Names of the columns of a JSONL file's first row, or of a Parquet file."""
    form = table_format(path)
    if form == "parquet" and Path(path).is_file():
        from pyarrow import ArrowException, parquet

        try:
            return list(parquet.read_schema(path).names)
        except (ArrowException, OSError):
            return ()  # the reader of tables says what is wrong
    if form != "jsonl":
        return ()
    _, first = next(json_lines(path), (0, b""))
    try:
        return list(parse_object(first))
    except InputError:
        return ()  # as above


def _verdict(row: Row) -> str | float | None:
    match row.outcome:
        case BooleanVerdict(value):
            return "true" if value else "false"
        case WinnerVerdict(winner):
            return winner.value
        case ScoreVerdict(score):
            return float(score)
        case _:
            return None


def _why(row: Row) -> str | None:
    match row.outcome:
        case None:
            return FailureKind.NO_VERDICT.value
        case Abstention(reason):
            return reason.value
        case Failure(kind, _):
            return kind.value
        case _:
            return None if _verdict(row) is not None else UNDECIDED
