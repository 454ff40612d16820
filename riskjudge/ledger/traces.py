"""From a ledger to the trace that a gate is fitted on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from riskjudge._typing import FloatArray, IntArray
from riskjudge.data.modes import ABSENCES, ModeColumns
from riskjudge.data.source import ScoreSource
from riskjudge.data.trace import Trace
from riskjudge.data.verdict import (
    UNDECIDED,
    AbstainReason,
    Abstention,
    BooleanVerdict,
    Failure,
    FailureKind,
    ScoreVerdict,
    Undecided,
    Winner,
    WinnerVerdict,
)
from riskjudge.errors import InputError
from riskjudge.items.item import Label
from riskjudge.ledger.rows import Row
from riskjudge.ledger.uncertainty import UNCERTAINTIES, Judged, flips, measure_named

Measure = Callable[[Judged], float | None]


def to_trace(
    rows: Iterable[Row],
    arms: Sequence[str] | None = None,
    uncertainty: str | Mapping[str, str] = "confidence",
) -> Trace:
    """Turn ledger rows into a trace: an item a row, an arm (judge and mode) a mode.

    Booleans stay what they are; of a pair, candidate a winning is 1. An abstention or a failure
    leaves no verdict and says why, and so does an undecided answer; an item that an arm has no row
    of, or no body for, is `no_verdict`. Items without a body in every arm are
    left out: nobody was asked. Items of one `group` depend on one another; one without a group is
    a group of its own. `subset` and what the items brought along are carried along. A verdict that a
    gate declined is taken as its row discloses it.

    Parameters
    ----------
    rows : Iterable[Row]
        Rows of one ledger.
    arms : Sequence[str], optional
        The trace's modes in the order in which they are asked, as ``"judge/mode"``; by default
        all, in the order of the rows.
    uncertainty : str | Mapping[str, str]
        The measure for every arm, or one by arm: ``confidence`` (1 minus it), ``variation_ratio`` (of a
        panel), ``preference_entropy`` (of a swap trial, over both orders) or ``cut`` (nearness of
        a score to its cut).

    Raises
    ------
    InputError
        Naming the row or the arm: a score without a cut, labels that differ between arms, an
        arm that is not there or discloses nothing the measure could read, verdicts of one arm that
        another model, prompt or setting made.

    Examples
    --------
    >>> from riskjudge.judges import PairwiseTrial, judge_items, longest
    >>> from riskjudge.items import Item
    >>> items = [Item("q1", "?", ("long", "x"), label=Winner.A), Item("q2", "?", ("x", "y"))]
    >>> rows = judge_items([PairwiseTrial(longest())], items)
    >>> trace = to_trace(rows, uncertainty="preference_entropy")
    >>> trace.modes, trace.verdicts.tolist(), trace.scores.tolist(), trace.labels.tolist()
    (('longest/pairwise',), [[1], [-1]], [[0.0], [nan]], [1, -1])
    """
    by_arm = rows_by_arm(rows)
    chosen = list(by_arm) if arms is None else list(arms)
    for arm in chosen:
        if arm not in by_arm:
            raise InputError(f"the ledger has no arm {arm!r}; it has {', '.join(by_arm)}")
    items = _Items(row for arm in chosen for row in by_arm[arm].values())
    cells, sources = [], []
    for arm in chosen:
        measure = uncertainty if isinstance(uncertainty, str) else uncertainty.get(arm, "")
        cells.append(arm_cells(arm, by_arm[arm], items.ids, measure))
        sources.append(_source(arm, by_arm[arm].values(), measure))
    return table_of(items.ids, dict(zip(chosen, cells, strict=True)), sources, items.columns())


def rows_by_arm(rows: Iterable[Row]) -> dict[str, dict[str, Row]]:
    """The rows of each arm (judge and mode) by the item they are about.

    Raises
    ------
    InputError
        If an arm has two rows about one item.
    """
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        arm = found.setdefault(f"{row.judge}/{row.mode}", {})
        if row.subject in arm:
            raise InputError(f"row {row.id!r}: {row.subject!r} has two rows in one arm")
        arm[row.subject] = row
    return found


@dataclass(frozen=True, eq=False)
class Cells:
    """What one arm says about n items.

    Attributes
    ----------
    verdicts : ndarray of int, shape (n,)
        0 or 1; -1 where there is none.
    scores : ndarray of float, shape (n,)
        NaN where there is no usable verdict.
    absence : ndarray of int, shape (n,)
        Index into :data:`.ABSENCES`, -1 where there is a usable verdict.
    flips : sequence of float or None, length n
        See :func:`riskjudge.ledger.uncertainty.flips`.
    """

    verdicts: IntArray
    scores: FloatArray
    absence: IntArray
    flips: Sequence[float | None] = ()


def table_of(
    ids: Sequence[str],
    modes: Mapping[str, Cells],
    sources: Sequence[ScoreSource | None],
    columns: Mapping[str, Sequence[Any]],
) -> Trace:
    """The one way from judgements to a trace: arrays in, nothing is read a second time.

    Parameters
    ----------
    ids : sequence of str, length n
    modes : mapping of str to Cells, length K
        By the name of the mode, in the order in which they are asked.
    sources : sequence of ScoreSource or None, length K
    columns : mapping of str to sequence, length n each
        `label` (0, 1 or None), `group`, and whatever is carried along. A judge that was asked in two
        orders, or several times, adds how far its answers flip (``flips1`` beside ``v1``).
    """
    import pandas as pd

    rest = dict(columns)
    labels = [-1 if label is None else label for label in rest.pop("label", [None] * len(ids))]
    group = rest.pop("group", None)
    for k, cells in enumerate(modes.values(), start=1):
        if any(value is not None for value in cells.flips):
            rest.setdefault(f"flips{k}", cells.flips)
    if not ids:
        raise InputError("nothing was judged; at least one item with a body is needed")
    return Trace(
        np.array(ids, dtype=object),
        tuple(
            ModeColumns(name, f"v{k}", f"u{k}", f"why{k}", f"source{k}")
            for k, name in enumerate(modes, start=1)
        ),
        np.column_stack([cells.verdicts for cells in modes.values()]),
        np.column_stack([cells.scores for cells in modes.values()]),
        np.column_stack([cells.absence for cells in modes.values()]),
        np.array(labels, dtype=np.int64),
        None if group is None else np.array(group, dtype=object),
        pd.DataFrame(
            {name: rest[name] for name in sorted(rest)}, index=pd.RangeIndex(len(ids)), dtype=object
        ),
        tuple(sources),
    )


class _Items:
    """What the rows know about the items that any arm was asked about."""

    def __init__(self, rows: Iterable[Row]) -> None:
        known: dict[str, dict[str, Any]] = {}
        for row in rows:
            if row.outcome is None:
                continue
            facts = known.setdefault(row.subject, {})
            said = {"label": _code(row.label), "group": row.group, "subset": row.subset}
            for name, value in (*said.items(), *_extras(row)):
                if value is None:
                    continue
                if facts.setdefault(name, value) != value:
                    raise InputError(
                        f"row {row.id!r}: another row of {row.subject!r} has another {name}"
                    )
        self.ids = list(known)
        self._known = known

    def columns(self) -> dict[str, list[Any]]:
        """A column for each fact that any item has; an item without a group is one of its own."""
        names = dict.fromkeys(name for facts in self._known.values() for name in facts)
        found = {name: [facts.get(name) for facts in self._known.values()] for name in names}
        if "group" in found:
            found["group"] = [
                own if group is None else group
                for own, group in zip(self.ids, found["group"], strict=True)
            ]
        return found


def _extras(row: Row) -> Iterable[tuple[str, Any]]:
    """What the item brought along, as its row discloses it."""
    extras = row.disclosure.get("item")
    return extras.items() if isinstance(extras, Mapping) else ()


def _code(label: Label | None) -> int | None:
    return None if label is None else int(label in (True, Winner.A))


def _source(arm: str, rows: Iterable[Row], measure: str) -> ScoreSource | None:
    """What made an arm's scores, as its rows disclose it; None where none does."""
    found: dict[ScoreSource | None, Row] = {}
    for row in rows:
        if not isinstance(row.outcome, BooleanVerdict | WinnerVerdict) and (
            "gated" not in row.disclosure
        ):
            continue
        disclosed = row.disclosure.get("source")
        try:
            facts = None if disclosed is None else {**disclosed, "measure": measure}
            found.setdefault(None if facts is None else ScoreSource(facts), row)
        except (InputError, TypeError):
            raise InputError(
                f"row {row.id!r}: `source` is a flat object, got {disclosed!r}"
            ) from None
    if not found:
        return None
    (one, first), *others = found.items()
    for other, row in others:
        known, unknown = (one, other) if one is not None else (other, one)
        assert known is not None
        differences = known.differences(unknown, "the one", "the other")
        raise InputError(
            f"arm {arm!r}: rows {first.id!r} and {row.id!r} were made in different ways: "
            f"{'; '.join(differences)}"
        )
    return one


def arm_cells(arm: str, rows: Mapping[str, Row], subjects: Sequence[str], measure: str) -> Cells:
    """What an arm says about each of some items.

    A verdict that a gate declined is evidence like any other, and stands in its row: without it a
    gate fitted on the rest would see only what an earlier one let through.

    Parameters
    ----------
    arm : str
        Its name, for messages.
    rows : mapping of str to Row
        Its rows by item.
    subjects : sequence of str
        The items, in order; one without a row, or without a body, has no verdict.
    measure : str
        The uncertainty, one of :data:`.UNCERTAINTIES`.

    Raises
    ------
    InputError
        Naming the row: a score without a cut, a verdict that was declined and is not disclosed, a
        disclosure off its scale; or the arm, if no row has the measure.
    """
    try:
        read = measure_named(measure)
    except InputError as error:
        raise InputError(f"arm {arm!r}: {error}") from None
    verdicts, scores, absence, flipped = [], [], [], []
    for subject in subjects:
        row = rows.get(subject)
        verdict, absent = (-1, _NO_VERDICT) if row is None else _said(row)
        score = None
        if row is not None and verdict >= 0:
            score = _measured(row, read)
            absent = _NO_CONFIDENCE if score is None else -1
        verdicts.append(verdict)
        scores.append(np.nan if score is None else score)
        absence.append(absent)
        flipped.append(None if row is None else flips(row))
    found = Cells(
        np.array(verdicts, dtype=np.int64),
        np.array(scores, dtype=np.float64),
        np.array(absence, dtype=np.int64),
        flipped,
    )
    if (found.verdicts >= 0).any() and np.isnan(found.scores).all():
        with_verdict = [rows[s] for s, v in zip(subjects, verdicts, strict=True) if v >= 0]
        there = [name for name in UNCERTAINTIES if any(_has(row, name) for row in with_verdict)]
        raise InputError(
            f"arm {arm!r} has no {measure!r} on any row; it has {', '.join(there) or 'none at all'}"
        )
    return found


_CODES = {reason: code for code, reason in enumerate(ABSENCES)}
_NO_VERDICT = _CODES[FailureKind.NO_VERDICT]
_NO_CONFIDENCE = _CODES[FailureKind.NO_CONFIDENCE]
# Declined verdicts as :func:`.describe` writes them.
_DECLINED = {"true": 1, "false": 0, "a": 1, "b": 0}


def _said(row: Row) -> tuple[int, int]:
    """The verdict of a row (-1: none), and why there is none."""
    match row.outcome:
        case BooleanVerdict(value):
            return int(value), -1
        case WinnerVerdict(winner):
            return int(winner is Winner.A), -1
        case ScoreVerdict():
            raise InputError(f"row {row.id!r} holds a score; a trace needs a cut on it")
        case Abstention(AbstainReason.BELOW_CONFORMAL):
            declined = _DECLINED.get(str(row.disclosure.get("gated")))
            if declined is None:
                raise InputError(
                    f"row {row.id!r} was declined by a gate and does not disclose which verdict; what "
                    "is left is no sample of the items, so judge them without the gate"
                )
            return declined, -1
        case Abstention(reason):
            return -1, _CODES[reason]
        case Failure(kind, _):
            return -1, _CODES[kind]
        case Undecided():
            return -1, _CODES[UNDECIDED]
    return -1, _NO_VERDICT


def _measured(row: Row, measure: Measure) -> float | None:
    try:
        return measure(row)
    except InputError as error:
        raise InputError(f"row {row.id!r}: {error}") from None


def _has(row: Row, name: str) -> bool:
    try:
        return UNCERTAINTIES[name](row) is not None
    except InputError:
        return False
