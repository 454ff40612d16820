"""What a reader makes of another tool's file: one neutral record an item, before anything is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from riskjudge.data.verdict import BooleanVerdict, Failure, FailureKind, Outcome, Undecided

WORDS: Mapping[str, bool] = {
    **dict.fromkeys(
        ("true", "yes", "y", "correct", "right", "pass", "passed", "c", "good", "1"), True
    ),
    **dict.fromkeys(
        ("false", "no", "n", "incorrect", "wrong", "fail", "failed", "i", "bad", "0"), False
    ),
}
"""Words that say right or wrong in any tool."""


TIES = frozenset(("tie", "both", "equal", "unsure", "undecided", "draw", "neither"))
"""Words that say neither."""


@dataclass(frozen=True, slots=True)
class Said:
    """What one judge said about one item.

    Attributes
    ----------
    outcome : Outcome or None
        A boolean verdict, undecided, an abstention or a failure; None where there is only a score.
    score : float or None
        A number on the judge's own scale; needs a cut to become a verdict.
    uncertainty : float or None
        Higher = less sure; None where the tool recorded none.
    measure : str or None
        How the uncertainty was computed.
    """

    outcome: Outcome | None = None
    score: float | None = None
    uncertainty: float | None = None
    measure: str | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """One item of a file.

    Attributes
    ----------
    id : str
        The tool's own id of the item.
    judges : mapping of str to Said
        By the judge's, scorer's or metric's name.
    fields : mapping of str to object
        Everything else that may serve as label, group or segment, with dotted names.
    label : bool or None
        What is right, where the format itself says so.
    group : str or None
        Items that depend on one another, such as several epochs of one question.
    key : tuple of str
        What a file of labels may know the item by, beside its id.
    """

    id: str
    judges: Mapping[str, Said]
    fields: Mapping[str, Any] = field(default_factory=dict)
    label: bool | None = None
    group: str | None = None
    key: tuple[str, ...] = ()


def flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one mapping with dotted names; lists are left out.

    Examples
    --------
    >>> flat({"metadata": {"topic": "tin", "n": 1}, "tags": ["x"]})
    {'metadata.topic': 'tin', 'metadata.n': 1}
    """
    found: dict[str, Any] = {}
    for name, inner in value.items():
        if isinstance(inner, Mapping):
            found |= flat(inner, f"{prefix}{name}.")
        elif not isinstance(inner, list | tuple):
            found[f"{prefix}{name}"] = inner
    return found


def as_bool(value: object, words: Mapping[str, bool] = WORDS) -> bool | None:
    """True or False where a value says so, None where it does not.

    Examples
    --------
    >>> as_bool("Yes"), as_bool(0.0), as_bool("I"), as_bool(0.5), as_bool(None)
    (True, False, False, None, None)
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return bool(value) if value in (0, 1) else None
    if isinstance(value, str):
        return words.get(value.strip().casefold())
    return None


def as_number(value: object) -> float | None:
    """A finite number, or None.

    Examples
    --------
    >>> as_number("0.5"), as_number(True), as_number(float("nan"))
    (0.5, None, None)
    """
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None


def said(value: object, uncertainty: float | None = None, measure: str | None = None) -> Said:
    """A verdict where a value says right or wrong, else a score, else a failure.

    Examples
    --------
    >>> said("C").outcome, said(0.7).score
    (BooleanVerdict(value=True), 0.7)
    """
    verdict = as_bool(value)
    if verdict is not None:
        return Said(BooleanVerdict(verdict), as_number(value), uncertainty, measure)
    number = as_number(value)
    if number is not None:
        return Said(None, number, uncertainty, measure)
    if isinstance(value, str) and value.strip().casefold() in TIES:
        return Said(Undecided())
    return Said(Failure(FailureKind.NO_VERDICT, f"no verdict in {value!r}"[:200]))


def failed(message: object, kind: FailureKind = FailureKind.CRASH) -> Said:
    """A judge that broke."""
    return Said(Failure(kind, str(message)[:200]))
