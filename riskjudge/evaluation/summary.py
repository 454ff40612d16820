"""Counts and rates of a set of outcomes, whole and by segment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np

from riskjudge._typing import BoolArray, IntArray
from riskjudge.data.modes import ABSENCES
from riskjudge.data.verdict import UNDECIDED, AbstainReason, FailureKind
from riskjudge.display.table import Table
from riskjudge.errors import InputError
from riskjudge.gate.outcomes import Outcomes
from riskjudge.proportion import share_of
from riskjudge.share import Rate


@dataclass(frozen=True, slots=True)
class Segment:
    """Counts and rates of some of the outcomes.

    Attributes
    ----------
    items : int
        All items. ``items = accepted + abstained + undecided + failed``.
    accepted_by : mapping of str to int
        Accepted verdicts by mode.
    abstained_by : mapping of AbstainReason to int
        Abstentions by reason; a reason that did not occur is absent.
    failed_by : mapping of FailureKind to int
        Failures by kind; likewise.
    undecided : int
        Items on which the last mode asked found no preference.
    uncertified : int
        Accepted verdicts that no certificate stands behind.
    without_certificate : int
        Items, whatever became of them, that were decided without a certificate: by a gate that was
        not fitted, or one used on scores it was not fitted for.
    asked : int
        Modes asked in all: the calls that this routing costs.
    coverage : Rate
        Accepted over all items.
    fdr : Rate
        Wrong over graded items: accepted verdicts with a label. UNDEFINED if there are none.
    agreement : Rate
        Right over graded items: ``agreed / graded``.
    """

    items: int
    labelled: int
    accepted: int
    accepted_by: Mapping[str, int]
    abstained: int
    abstained_by: Mapping[str, int]
    failed: int
    failed_by: Mapping[str, int]
    undecided: int
    uncertified: int
    without_certificate: int
    asked: int
    coverage: Rate
    fdr: Rate
    agreement: Rate

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}


@dataclass(frozen=True, slots=True)
class Insufficient:
    """A segment with too few graded items to be reported: `need` and `have` say how many."""

    need: int
    have: int
    status: str = "insufficient"


@dataclass(frozen=True, slots=True)
class Spent:
    """What the decisions cost in one unit.

    Attributes
    ----------
    total, an_item : float
    an_accepted_verdict : float or None
        The total over the accepted verdicts; UNDEFINED where none is accepted.
    """

    total: float
    an_item: float
    an_accepted_verdict: float | None


@dataclass(frozen=True, slots=True)
class Report:
    """The whole, and its segments by the values of a column.

    `group` names the column of dependent items that the intervals allow for, if there is one.
    `calibrated_on` counts items that the gate was calibrated on; `notes` say what that means.
    `cost` says by unit (calls, tokens, money, seconds) what the decisions cost, as far as the gate
    knows; None where it knows of none.
    """

    whole: Segment
    by: str | None = None
    segments: Mapping[str, Segment | Insufficient] = field(default_factory=dict)
    group: str | None = None
    calibrated_on: int = 0
    notes: tuple[str, ...] = ()
    cost: Mapping[str, Spent] | None = None

    def _repr_html_(self) -> str:
        """For Jupyter: the whole, and a line for each segment."""
        header = (self.by or "", "items", "accepted", "abstained", "failed", "coverage", "FDR")
        rows = [_cells("all", self.whole)]
        rows += [_cells(name, segment) for name, segment in self.segments.items()]
        return Table("Report", header, tuple(rows), self.notes)._repr_html_()

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary."""
        segments = {
            value: {"need": s.need, "have": s.have, "status": s.status}
            if isinstance(s, Insufficient)
            else s.to_dict()
            for value, s in self.segments.items()
        }
        grouped = {} if self.group is None else {"group": self.group}
        return {
            "whole": self.whole.to_dict(),
            "by": self.by,
            "segments": segments,
            "calibrated_on": self.calibrated_on,
            "notes": list(self.notes),
            "cost": None if self.cost is None else {u: asdict(c) for u, c in self.cost.items()},
        } | grouped


def _cells(name: str, segment: Segment | Insufficient) -> tuple[str, ...]:
    if isinstance(segment, Insufficient):
        return (name, f"insufficient: need {segment.need}, have {segment.have}", *[""] * 5)
    counted = (segment.items, segment.accepted, segment.abstained, segment.failed)
    return (name, *map(str, counted), *(str(rate) for rate in (segment.coverage, segment.fdr)))


DEFAULT_FLOOR = 30
"""Graded items below which a segment is insufficient, unless another floor is given."""


def summarize(
    outcomes: Outcomes,
    *,
    by: str | None = None,
    floor: int | None = None,
    group: str | None = None,
) -> Report:
    """Count what became of the items.

    Parameters
    ----------
    outcomes : Outcomes
    by : str, optional
        Column whose values make the segments.
    floor : int, optional
        With fewer graded items (accepted verdicts with a label), a segment comes back
        :class:`Insufficient`, and the whole's rates of errors have no value. By default 30 for
        segments, while the whole is reported however small it is. Where no item has a label there
        is only coverage to report, and the floor counts items.
    group : str, optional
        Column of groups of items that depend on one another, several answers to one question, say:
        intervals are those of the effective number of items.

    Raises
    ------
    InputError
        If there is no such column, an item has no group, or the floor is below 1.

    Examples
    --------
    >>> import riskjudge
    >>> trace = riskjudge.demo_trace()
    >>> outcomes = riskjudge.Router(unfitted="abstain").decide(trace)
    >>> report = summarize(outcomes)
    >>> report.whole.abstained_by, report.whole.fdr.value is None
    ({'below_conformal': 2000}, True)
    """
    if floor is not None and floor < 1:
        raise InputError(f"floor must be at least 1, got {floor}")
    groups = None if group is None else _groups(outcomes, group)
    whole = _segment(outcomes, 1 if floor is None else floor, groups)
    seen = int(np.count_nonzero(outcomes.calibrated_on))
    notes = (SEEN.format(seen, len(outcomes)),) if seen else ()
    if by is None:
        return Report(whole, group=group, calibrated_on=seen, notes=notes)
    need = DEFAULT_FLOOR if floor is None else floor
    column = outcomes.column(by).astype("object")
    values = column.where(column.notna(), "(missing)").map(str).to_numpy()
    evidence = (
        outcomes.accepted & (outcomes.labels >= 0)
        if whole.labelled
        else np.ones(len(values), dtype=bool)
    )
    segments: dict[str, Segment | Insufficient] = {}
    for value in sorted(set(values)):
        inside = values == value
        have = int(np.count_nonzero(inside & evidence))
        segments[value] = (
            _segment(outcomes.rows(inside), need, None if groups is None else groups[inside])
            if have >= need
            else Insufficient(need, have)
        )
    return Report(whole, by, segments, group, seen, notes)


SEEN = (
    "the gate was calibrated on {} of these {} items: its thresholds were picked for them, so the "
    "intervals of FDR and agreement are not valid here; report on fresh labelled rows"
)


def _groups(outcomes: Outcomes, column: str) -> IntArray:
    """Numbers of the groups, shape (n,)."""
    import pandas as pd

    values = outcomes.column(column)
    if values.isna().any():
        row = int(values.isna().to_numpy().argmax())
        raise InputError(
            f"row {row + 1} ({outcomes.item_id[row]}), {column}: an item needs a group"
        )
    return np.asarray(pd.factorize(values.map(str))[0], dtype=np.int64)


def _rate(hits: BoolArray, of: BoolArray, need: int, groups: IntArray | None) -> Rate:
    """Share of `hits` among the items `of`."""
    count, size = int(np.count_nonzero(hits & of)), int(np.count_nonzero(of))
    if groups is None or size == 0:
        return Rate(count, size, need)
    worth = share_of(hits[of].astype(np.int64), group=groups[of]).effective
    return Rate(count, size, need, effective=worth)


def _plain(value: Any) -> Any:
    if isinstance(value, Rate):
        return value.to_dict()
    return dict(value) if isinstance(value, Mapping) else value


def _segment(outcomes: Outcomes, need: int, groups: IntArray | None) -> Segment:
    accepted = outcomes.accepted
    graded = accepted & (outcomes.labels >= 0)
    by_mode = np.bincount(outcomes.mode[accepted], minlength=len(outcomes.modes))
    why = np.bincount(outcomes.why_not[~accepted], minlength=len(ABSENCES))
    reasons = {reason: int(m) for reason, m in zip(ABSENCES, why, strict=True) if m}
    abstained_by = {r: m for r, m in reasons.items() if r in list(AbstainReason)}
    failed_by = {r: m for r, m in reasons.items() if r in list(FailureKind)}
    n_accepted = int(np.count_nonzero(accepted))
    labelled = int(np.count_nonzero(outcomes.labels >= 0))
    return Segment(
        items=len(outcomes),
        labelled=labelled,
        accepted=n_accepted,
        accepted_by={mode: int(m) for mode, m in zip(outcomes.modes, by_mode, strict=True)},
        abstained=sum(abstained_by.values()),
        abstained_by=abstained_by,
        failed=sum(failed_by.values()),
        failed_by=failed_by,
        undecided=reasons.get(UNDECIDED, 0),
        uncertified=int(np.count_nonzero(accepted & ~outcomes.certified)),
        without_certificate=int(np.count_nonzero(~outcomes.certified)),
        asked=int(outcomes.asked.sum()),
        coverage=_rate(accepted, np.ones(len(outcomes), dtype=bool), 1, groups),
        fdr=_rate(outcomes.wrong, graded, need if labelled else 1, groups),
        agreement=_rate(~outcomes.wrong, graded, need if labelled else 1, groups),
    )
