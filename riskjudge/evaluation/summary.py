"""Counts and rates of a set of outcomes, whole and by segment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from riskjudge import binomial
from riskjudge.data.trace import ABSENCES
from riskjudge.data.verdict import UNDECIDED, AbstainReason, FailureKind
from riskjudge.errors import InputError
from riskjudge.gate.outcomes import Outcomes


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of counts, with its exact two-sided 95 % interval.

    `value`, `low` and `high` are None (UNDEFINED) where `of` is zero.

    Examples
    --------
    >>> Rate.from_counts(1, 4)
    Rate(count=1, of=4, value=0.25, low=0.0063..., high=0.8058...)
    >>> Rate.from_counts(0, 0).value is None
    True
    """

    count: int
    of: int
    value: float | None
    low: float | None
    high: float | None

    @classmethod
    def from_counts(cls, count: int, of: int) -> Rate:
        if of == 0:
            return cls(count, of, None, None, None)
        low, high = binomial.interval(count, of)
        return cls(count, of, count / of, float(low), float(high))


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
        Wrong over accepted verdicts with a label. UNDEFINED if there are none.
    agreement : Rate
        Right over accepted verdicts with a label: ``agreed / graded``.
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


@dataclass(frozen=True, slots=True)
class Insufficient:
    """A segment with too few items to be reported: `need` and `have` say how many."""

    need: int
    have: int
    status: str = "insufficient"


@dataclass(frozen=True, slots=True)
class Report:
    """The whole, and its segments by the values of a column.

    `calibrated_on` counts items that the gate was calibrated on; `notes` say what that means.
    """

    whole: Segment
    by: str | None = None
    segments: Mapping[str, Segment | Insufficient] = field(default_factory=dict)
    calibrated_on: int = 0
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary."""
        return asdict(self)


def summarize(outcomes: Outcomes, *, by: str | None = None, floor: int = 30) -> Report:
    """Count what became of the items.

    Parameters
    ----------
    outcomes : Outcomes
    by : str, optional
        Column whose values make the segments.
    floor : int
        Segments of fewer items come back :class:`Insufficient`.

    Examples
    --------
    >>> import riskjudge
    >>> trace = riskjudge.demo_trace()
    >>> outcomes = riskjudge.Router(unfitted="abstain").decide(trace)
    >>> report = summarize(outcomes)
    >>> report.whole.abstained_by, report.whole.fdr.value is None
    ({'below_conformal': 2000}, True)
    """
    if floor < 1:
        raise InputError(f"floor must be at least 1, got {floor}")
    whole = _segment(outcomes)
    seen = int(np.count_nonzero(outcomes.calibrated_on))
    notes = (SEEN.format(seen, len(outcomes)),) if seen else ()
    if by is None:
        return Report(whole, calibrated_on=seen, notes=notes)
    column = outcomes.column(by).astype("object")
    values = column.where(column.notna(), "(missing)").map(str).to_numpy()
    segments: dict[str, Segment | Insufficient] = {}
    for value in sorted(set(values)):
        inside = values == value
        have = int(np.count_nonzero(inside))
        segments[value] = (
            _segment(outcomes.rows(inside)) if have >= floor else Insufficient(floor, have)
        )
    return Report(whole, by, segments, seen, notes)


SEEN = (
    "the gate was calibrated on {} of these {} items: its thresholds were picked for them, so the "
    "intervals of FDR and agreement are not valid here; report on fresh labelled rows"
)


def _segment(outcomes: Outcomes) -> Segment:
    accepted = outcomes.accepted
    graded = int(np.count_nonzero(accepted & (outcomes.labels >= 0)))
    wrong = int(np.count_nonzero(outcomes.wrong))
    by_mode = np.bincount(outcomes.mode[accepted], minlength=len(outcomes.modes))
    why = np.bincount(outcomes.why_not[~accepted], minlength=len(ABSENCES))
    reasons = {reason: int(m) for reason, m in zip(ABSENCES, why, strict=True) if m}
    abstained_by = {r: m for r, m in reasons.items() if r in list(AbstainReason)}
    failed_by = {r: m for r, m in reasons.items() if r in list(FailureKind)}
    n_accepted = int(np.count_nonzero(accepted))
    return Segment(
        items=len(outcomes),
        labelled=int(np.count_nonzero(outcomes.labels >= 0)),
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
        coverage=Rate.from_counts(n_accepted, len(outcomes)),
        fdr=Rate.from_counts(wrong, graded),
        agreement=Rate.from_counts(graded - wrong, graded),
    )
