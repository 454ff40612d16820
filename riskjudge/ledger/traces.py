"""From a ledger to the trace that a gate is fitted on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from riskjudge.data.source import ScoreSource
from riskjudge.data.trace import ModeColumns, Trace
from riskjudge.data.verdict import (
    UNDECIDED,
    Abstention,
    BooleanVerdict,
    Failure,
    ScoreVerdict,
    Undecided,
    Winner,
    WinnerVerdict,
)
from riskjudge.errors import InputError
from riskjudge.ledger.reading import refuse_duplicates
from riskjudge.ledger.rows import Row
from riskjudge.ledger.uncertainty import UNCERTAINTIES, Judged, measure_named

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
    a group of its own. `subset` is carried along.

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
    import pandas as pd

    rows = list(rows)
    refuse_duplicates(rows)
    by_arm: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_arm.setdefault(f"{row.judge}/{row.mode}", {})[row.subject] = row
    chosen = list(by_arm) if arms is None else list(arms)
    for arm in chosen:
        if arm not in by_arm:
            raise InputError(f"the ledger has no arm {arm!r}; it has {', '.join(by_arm)}")
    items = _items([row for arm in chosen for row in by_arm[arm].values()])
    data: dict[str, Any] = {name: [item[name] for item in items.values()] for name in _ITEM}
    columns = []
    for number, arm in enumerate(chosen, start=1):
        measure = uncertainty if isinstance(uncertainty, str) else uncertainty.get(arm, "")
        cells = _arm_cells(arm, by_arm[arm], measure)
        for name in _CELL:
            data[f"{name}{number}"] = [cells.get(subject, {}).get(name) for subject in items]
        names = [f"{name}{number}" for name in _CELL]
        if source := _source(arm, by_arm[arm].values(), measure):
            names.append(f"source{number}")
            data[f"source{number}"] = [str(source)] * len(items)
        columns.append(ModeColumns(arm, *names))
    frame = pd.DataFrame(data, dtype=object)
    if all(value is None for value in data["group"]):
        frame = frame.drop(columns="group")
    else:
        frame["group"] = frame["group"].where(frame["group"].notna(), frame["item_id"])
    return Trace.from_frame(frame, modes=columns, source="the ledger")


_ITEM = ("item_id", "label", "group", "subset")
_CELL = ("v", "u", "why")


def _items(rows: Iterable[Row]) -> dict[str, dict[str, Any]]:
    """What is known about each item that any arm was asked about."""
    items: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row.outcome is None:
            continue
        known = items.setdefault(row.subject, dict.fromkeys(_ITEM) | {"item_id": row.subject})
        label = row.label if row.label is None else int(row.label in (True, Winner.A))
        for name, value in (("label", label), ("group", row.group), ("subset", row.subset)):
            if value is None:
                continue
            if known[name] not in (None, value):
                raise InputError(
                    f"row {row.id!r}: another row of {row.subject!r} has another {name}"
                )
            known[name] = value
    return items


def _source(arm: str, rows: Iterable[Row], measure: str) -> ScoreSource | None:
    """What made an arm's scores, as its rows disclose it; None where none does."""
    found: dict[ScoreSource | None, Row] = {}
    for row in rows:
        if not isinstance(row.outcome, BooleanVerdict | WinnerVerdict):
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


def _arm_cells(arm: str, rows: Mapping[str, Row], measure: str) -> dict[str, dict[str, Any]]:
    try:
        read = measure_named(measure)
    except InputError as error:
        raise InputError(f"arm {arm!r}: {error}") from None
    cells = {subject: _cell(row, read) for subject, row in rows.items()}
    verdicts = [row for subject, row in rows.items() if "v" in cells[subject]]
    if verdicts and all(cells[row.subject]["u"] is None for row in verdicts):
        there = [name for name in UNCERTAINTIES if any(_has(row, name) for row in verdicts)]
        raise InputError(
            f"arm {arm!r} has no {measure!r} on any row; it has {', '.join(there) or 'none at all'}"
        )
    return cells


def _cell(row: Row, measure: Measure) -> dict[str, Any]:
    match row.outcome:
        case BooleanVerdict(value):
            return {"v": int(value), "u": _measured(row, measure)}
        case WinnerVerdict(winner):
            return {"v": int(winner is Winner.A), "u": _measured(row, measure)}
        case ScoreVerdict():
            raise InputError(f"row {row.id!r} holds a score; a trace needs a cut on it")
        case Abstention(reason):
            return {"why": reason.value}
        case Failure(kind, _):
            return {"why": kind.value}
        case Undecided():
            return {"why": UNDECIDED}
        case None:
            return {}


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
