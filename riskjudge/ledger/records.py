"""The flat record a row is stored as, and the boundary where a foreign one is admitted.

JSONL and Parquet hold the same columns, so one function reads both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from riskjudge.data.verdict import (
    Abstention,
    BooleanVerdict,
    Failure,
    FailureKind,
    ItemStatus,
    Outcome,
    ScoreVerdict,
    Undecided,
    Winner,
    WinnerVerdict,
)
from riskjudge.errors import InputError
from riskjudge.items.item import Label, abstain_reason
from riskjudge.ledger.rows import Row

COLUMNS: Mapping[str, type] = {
    "id": str,
    "subject": str,
    "judge": str,
    "mode": str,
    "status": str,
    "boolean": bool,
    "score": float,
    "winner": str,
    "undecided": bool,
    "reason": str,
    "error": str,
    "message": str,
    "confidence": float,
    "label": str,
    "subset": str,
    "group": str,
    "seed": int,
    "order": str,
    "calls": int,
    "seconds": float,
    "started": str,
    "disclosure": dict,
    "ledger_abstain_reason": str,
}
VALUES = ("boolean", "score", "winner", "undecided")


def to_record(row: Row) -> dict[str, Any]:
    """The row as flat columns of JSON values; empty columns are left out.

    Examples
    --------
    >>> to_record(Row("q1", "oracle", "direct", BooleanVerdict(True)))
    {'id': 'oracle/direct/q1', 'subject': 'q1', 'judge': 'oracle', 'mode': 'direct',
     'status': 'graded', 'boolean': True, 'calls': 1}
    """
    record: dict[str, Any] = {
        "id": row.id,
        "subject": row.subject,
        "judge": row.judge,
        "mode": row.mode,
        "status": row.status.value,
        **_outcome_columns(row.outcome),
        "confidence": row.confidence,
        "label": label_text(row.label),
        "subset": row.subset,
        "group": row.group,
        "seed": row.seed,
        "order": row.order,
        "calls": row.calls,
        "seconds": row.seconds,
        "started": row.started,
        "disclosure": plain(row.disclosure) or None,
        "ledger_abstain_reason": row.ledger_abstain_reason and row.ledger_abstain_reason.value,
    }
    return {name: value for name, value in record.items() if value is not None}


def _outcome_columns(outcome: Outcome | None) -> dict[str, Any]:
    match outcome:
        case BooleanVerdict(value):
            return {"boolean": value}
        case ScoreVerdict(score):
            return {"score": float(score)}
        case WinnerVerdict(winner):
            return {"winner": winner.value}
        case Undecided():
            return {"undecided": True}
        case Abstention(reason):
            return {"reason": reason.value}
        case Failure(kind, message):
            return {"error": kind.value, "message": message or None}
        case None:
            return {}


def from_record(record: Any) -> Row:
    """Admit a stored record as a row, or turn it away.

    Turned away, with the row named: a value beside an abstention or a failure, a reason under
    another status, an abstention without a reason, a failure without an error kind, two values
    at once, anything outside the closed vocabularies, a column that the ledger does not have.

    Raises
    ------
    InputError

    Examples
    --------
    >>> row = {"id": "r1", "subject": "q1", "judge": "j", "mode": "direct"}
    >>> from_record({**row, "status": "abstained", "reason": "panel_split"}).outcome
    Abstention(reason=<AbstainReason.PANEL_SPLIT: 'panel_split'>)
    >>> from_record({**row, "status": "abstained", "reason": "panel_split", "score": 0})
    Traceback (most recent call last):
    ...
    riskjudge.errors.InputError: row 'r1': an abstained row carries no `score`
    """
    if not isinstance(record, Mapping):
        raise InputError(f"a row is a JSON object, got {type(record).__name__}")
    name = record.get("id")
    try:
        values = _typed_columns(record)
        missing = [c for c in ("id", "subject", "judge", "mode", "status") if not values.get(c)]
        if missing:
            raise InputError(f"`{missing[0]}` is missing")
        outcome = _outcome(values)
        label = _label(values.get("label"))
        provenance = abstain_reason(values.get("ledger_abstain_reason"))
    except InputError as error:
        raise InputError(f"row {name!r}: {error}") from None
    carried = ("confidence", "subset", "group", "seed", "order", "seconds", "started")
    return Row(
        id=values["id"],
        subject=values["subject"],
        judge=values["judge"],
        mode=values["mode"],
        outcome=outcome,
        label=label,
        calls=values.get("calls", 0),
        disclosure=values.get("disclosure", {}),
        ledger_abstain_reason=provenance,
        **{column: values.get(column) for column in carried},
    )


def _typed_columns(record: Mapping[Any, Any]) -> dict[str, Any]:
    """The columns that are not null, each of the type the schema gives it."""
    values: dict[str, Any] = {}
    for column, value in record.items():
        wanted = COLUMNS.get(column)
        if wanted is None:
            raise InputError(f"unknown column `{column}`")
        # A bare NaN in JSON, or one in a Parquet column, is how other tools write a null.
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            continue
        if column == "label" and isinstance(value, bool):
            value = "true" if value else "false"
        whole = isinstance(value, int) and not isinstance(value, bool)
        if wanted is float and whole:
            value = _as_float(column, value)
        if not isinstance(value, wanted) or (wanted is int and not whole):
            raise InputError(f"`{column}` is a {wanted.__name__}, got {value!r}")
        values[column] = value
    return values


def _as_float(column: str, value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        raise InputError(
            f"`{column}` is too large: an integer of {len(str(value))} digits"
        ) from None


def _outcome(values: Mapping[str, Any]) -> Outcome | None:
    try:
        status = ItemStatus(values["status"])
    except ValueError:
        raise InputError(f"unknown status {values['status']!r}") from None
    if status is ItemStatus.MISSING_FROM_LEDGER:
        raise InputError("a row that is stored cannot be `missing_from_ledger`")
    allowed: dict[ItemStatus, tuple[str, ...]] = {
        ItemStatus.GRADED: VALUES,
        ItemStatus.ABSTAINED: ("reason",),
        ItemStatus.SCORE_FAILED: ("error", "message"),
        ItemStatus.SKIPPED_NO_BODY: (),
    }
    said = [column for column in (*VALUES, "reason", "error", "message") if column in values]
    for column in said:
        if column not in allowed[status]:
            article = "an" if status is ItemStatus.ABSTAINED else "a"
            raise InputError(f"{article} {status} row carries no `{column}`")
    match status:
        case ItemStatus.ABSTAINED:
            if "reason" not in values:
                raise InputError("an abstained row says its `reason`")
            reason = abstain_reason(values["reason"])
            assert reason is not None
            return Abstention(reason)
        case ItemStatus.SCORE_FAILED:
            return Failure(_failure_kind(values.get("error")), values.get("message", ""))
        case ItemStatus.GRADED:
            if len(said) != 1:
                raise InputError(f"a graded row carries exactly one of {', '.join(VALUES)}")
            return _READ_VALUE[said[0]](values[said[0]])
        case _:
            return None


def _failure_kind(value: str | None) -> FailureKind:
    try:
        return FailureKind(value or "")
    except ValueError:
        known = ", ".join(FailureKind)
        raise InputError(f"unknown `error` {value!r}; the kinds are {known}") from None


def _winner(value: str) -> WinnerVerdict:
    if value not in tuple(Winner):
        raise InputError(f"`winner` is 'a' or 'b', got {value!r}")
    return WinnerVerdict(Winner(value))


def _undecided(value: bool) -> Undecided:
    if not value:
        raise InputError("`undecided` is true or left out")
    return Undecided()


_READ_VALUE: Mapping[str, Callable[[Any], Outcome]] = {
    "boolean": BooleanVerdict,
    "score": ScoreVerdict,
    "winner": _winner,
    "undecided": _undecided,
}

_LABELS: Mapping[str, Label] = {"true": True, "false": False, "a": Winner.A, "b": Winner.B}


def _label(text: str | None) -> Label | None:
    if text is None:
        return None
    if text not in _LABELS:
        raise InputError(f"`label` is one of {', '.join(_LABELS)}, got {text!r}")
    return _LABELS[text]


def label_text(label: Label | None) -> str | None:
    """A label as it is stored: ``true``, ``false``, ``a`` or ``b``; None where there is none."""
    if isinstance(label, bool):
        return "true" if label else "false"
    return label.value if label is not None else None


def plain(value: Any) -> Any:
    """`value` as JSON values: NaN and infinities become null, tuples lists, enums their text.

    Examples
    --------
    >>> plain({"votes": (Winner.A, float("nan"), 1)})
    {'votes': ['a', None, 1]}
    """
    if isinstance(value, str):
        return str(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    raise InputError(f"a disclosure holds JSON values, got {type(value).__name__}")
