"""The walk that promotes a judge: enough labels, enough agreement, no eye for the position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from riskjudge.agreement.coefficients import Coefficient
from riskjudge.agreement.position import PositionConsistency
from riskjudge.agreement.report import TENTATIVE, AgreementReport
from riskjudge.errors import InputError


class PromotionState(StrEnum):
    """Where a judge stands after the walk."""

    PROMOTED = "promoted"
    """Every floor is met."""
    HELD = "held"
    """There is evidence enough, and some floor is not met."""
    INSUFFICIENT = "insufficient"
    """Too few units, or a figure with a floor is UNDEFINED."""


@dataclass(frozen=True, slots=True)
class Floors:
    """What a judge has to reach.

    Attributes
    ----------
    n : int
        Units with the judge's and a human's label.
    agreement : float
        Lower end of the interval of `coefficient`.
    consistency : float or None
        Lower end of the exact interval of position consistency; None for a judge that is not
        pairwise.
    coefficient : Coefficient
        The coefficient on which the agreement floor lies.
    """

    n: int = 100
    agreement: float = TENTATIVE
    consistency: float | None = None
    coefficient: Coefficient = Coefficient.ALPHA

    def __post_init__(self) -> None:
        if self.n < 1:
            raise InputError(f"the floor on n must be at least 1, got {self.n!r}")
        if not -1.0 <= self.agreement <= 1.0:
            raise InputError(f"the floor on agreement lies in [-1, 1], got {self.agreement!r}")
        if self.consistency is not None and not 0.0 <= self.consistency <= 1.0:
            raise InputError(f"the floor on consistency lies in [0, 1], got {self.consistency!r}")


@dataclass(frozen=True, slots=True)
class FloorCheck:
    """One floor and the number that decides it.

    Attributes
    ----------
    floor : str
        What was asked: ``n``, the name of a coefficient, or ``position_consistency``.
    need, have : float
        The floor, and what there is: a count, or the lower end of an interval. `have` is None where
        the figure is UNDEFINED.
    point : float or None
        The point estimate whose lower end `have` is. Where it reaches `need` and `have` does not,
        more evidence may settle the matter.
    undefined : str or None
        Why `have` is None.
    """

    floor: str
    need: float
    have: float | None
    point: float | None = None
    undefined: str | None = None

    @property
    def met(self) -> bool:
        """Whether there is a figure and it reaches the floor."""
        return self.have is not None and self.have >= self.need

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for strict JSON."""
        return {
            "floor": self.floor,
            "need": self.need,
            "have": self.have,
            "point": self.point,
            "met": self.met,
            "undefined": self.undefined,
        }


@dataclass(frozen=True, slots=True)
class Promotion:
    """The state of a judge, and the floors that decided it."""

    state: PromotionState
    checks: tuple[FloorCheck, ...]

    @property
    def missed(self) -> tuple[FloorCheck, ...]:
        """Floors that are not met."""
        return tuple(check for check in self.checks if not check.met)

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for strict JSON."""
        return {"state": self.state, "floors": [check.to_dict() for check in self.checks]}


def promote(
    report: AgreementReport,
    position: PositionConsistency | None = None,
    *,
    floors: Floors = Floors(),
) -> Promotion:
    """Walk a judge past its floors.

    Parameters
    ----------
    report : AgreementReport
        Agreement of the judge with humans, from `validate_judge` (or, of two raters, from
        `rater_agreement`).
    position : PositionConsistency, optional
        Outcomes of two-order trials, for a pairwise judge. Needed if there is a floor on it.
    floors : Floors
        What the judge has to reach.

    Returns
    -------
    Promotion
        `insufficient` if there are too few units or a figure is UNDEFINED; else `held` if a floor
        is not met; else `promoted`.

    Notes
    -----
    A judge is promoted only if the lower end of every interval reaches its floor. A judge that is
    truly below some floor therefore passes no more often than that one lower end errs, which is
    half of one minus the report's confidence: several floors need no correction (an
    intersection-union test). The lower end of the consistency is exact, that of a coefficient is
    approximate.

    Examples
    --------
    >>> from riskjudge.agreement import rater_agreement
    >>> report = rater_agreement([[1, 1], [0, 0]] * 60 + [[1, 0]] * 4)
    >>> walk = promote(report, PositionConsistency(90, 10), floors=Floors(n=100, consistency=0.85))
    >>> str(walk.state)
    'held'
    >>> for check in walk.checks:
    ...     print(check.floor, check.need, round(check.have, 3), check.met)
    n 100 124 True
    alpha 0.667 0.84 True
    position_consistency 0.85 0.824 False
    """
    if report.judge is None and len(report.raters) > 2:
        raise InputError(
            "a judge is promoted on its agreement with the humans, not on that of all raters with "
            "one another: validate_judge measures it"
        )
    agreement = report.estimate(floors.coefficient)
    checks = [
        FloorCheck("n", floors.n, report.n),
        FloorCheck(
            str(floors.coefficient),
            floors.agreement,
            agreement.low,
            agreement.value,
            agreement.undefined,
        ),
    ]
    if floors.consistency is not None:
        if position is None:
            raise InputError("a floor on position consistency needs two-order trials")
        ends = position.interval(report.confidence)
        checks.append(
            FloorCheck(
                "position_consistency",
                floors.consistency,
                None if ends is None else ends[0],
                position.rate,
                "no_trials" if ends is None else None,
            )
        )
    return Promotion(state_of(checks), tuple(checks))


def state_of(checks: Sequence[FloorCheck]) -> PromotionState:
    """The state that floors and evidence make.

    Examples
    --------
    >>> str(state_of([FloorCheck("n", 100, 120), FloorCheck("alpha", 0.7, 0.6)]))
    'held'
    """
    by_count = [check for check in checks if check.floor == "n"]
    if any(not check.met for check in by_count) or any(check.have is None for check in checks):
        return PromotionState.INSUFFICIENT
    if all(check.met for check in checks):
        return PromotionState.PROMOTED
    return PromotionState.HELD
