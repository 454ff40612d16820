"""What a validation says: coefficients with their intervals and their conventional verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from riskjudge.agreement.coefficients import Coefficient, Undefined
from riskjudge.agreement.labels import Level

GOOD = 0.8
"""Agreement from here on is good."""

TENTATIVE = 0.667
"""Below this, no conclusion: K. Krippendorff, Content Analysis, 2nd ed., 2004, section 11.4."""


class Reliability(StrEnum):
    """What a coefficient conventionally says about a rater."""

    GOOD = "good"
    TENTATIVE = "tentative"
    UNRELIABLE = "unreliable"

    @classmethod
    def of(cls, value: float | None) -> Self | None:
        """Read a coefficient; None (UNDEFINED) stays None.

        Examples
        --------
        >>> [str(Reliability.of(value)) for value in (0.8, 0.667, 0.5, None)]
        ['good', 'tentative', 'unreliable', 'None']
        """
        if value is None:
            return None
        return cls("good" if value >= GOOD else "tentative" if value >= TENTATIVE else "unreliable")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A coefficient with its interval, or the reason why it has no value."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    undefined: Undefined | None = None

    @property
    def verdict(self) -> Reliability | None:
        """What the lower end of the interval says: what the evidence supports."""
        return Reliability.of(self.low)

    @property
    def point_verdict(self) -> Reliability | None:
        """What the point estimate alone would say."""
        return Reliability.of(self.value)

    def to_dict(self) -> dict[str, float | str | None]:
        """Return a dictionary for strict JSON; UNDEFINED is None."""
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "verdict": self.verdict,
            "point_verdict": self.point_verdict,
            "undefined": self.undefined,
        }


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """Agreement of a judge with humans, or of raters with one another.

    Attributes
    ----------
    level : Level
        Level of measurement of kappa and alpha.
    raters : tuple of str
        Raters that gave any label.
    judge : str or None
        The rater that is measured against the others; None where all raters are one pool.
    n : int
        Units with labels by two raters or more; every figure rests on these.
    need : int
        Units that were asked for. With fewer, every coefficient is UNDEFINED.
    left_out : int
        Units without the labels it takes, for no reason that is known.
    abstained, failed : mapping of str to int
        Units with a human label on which the judge is known to have abstained or failed, by reason.
        They are evidence about its coverage and not about its agreement.
    undecided : int
        Likewise, units on which it found no preference.
    merged : tuple of tuple of str
        Spellings that were read as one label: they differ in case or spaces only.
    groups : int or None
        Groups of dependent units, or None if units count as independent.
    confidence : float
        Two-sided confidence of the intervals.
    replicates : int
        Bootstrap replicates behind them.
    percent_agreement, kappa, fleiss, alpha, ac1 : Estimate
        The coefficients.
    """

    level: Level
    raters: tuple[str, ...]
    judge: str | None
    n: int
    need: int
    left_out: int
    abstained: Mapping[str, int]
    undecided: int
    failed: Mapping[str, int]
    merged: tuple[tuple[str, ...], ...]
    groups: int | None
    confidence: float
    replicates: int
    percent_agreement: Estimate
    kappa: Estimate
    fleiss: Estimate
    alpha: Estimate
    ac1: Estimate

    @property
    def verdict(self) -> Reliability | None:
        """What the lower end of alpha's interval says; None where alpha is UNDEFINED."""
        return self.alpha.verdict

    @property
    def point_verdict(self) -> Reliability | None:
        """What alpha alone would say, were it known exactly."""
        return self.alpha.point_verdict

    def estimate(self, coefficient: Coefficient) -> Estimate:
        """Return the estimate of one coefficient."""
        found: Estimate = getattr(self, coefficient.value)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for strict JSON; UNDEFINED is None."""
        return {
            "level": self.level,
            "raters": list(self.raters),
            "judge": self.judge,
            "n": self.n,
            "need": self.need,
            "left_out": self.left_out,
            "abstained": dict(self.abstained),
            "undecided": self.undecided,
            "failed": dict(self.failed),
            "merged": [list(spellings) for spellings in self.merged],
            "groups": self.groups,
            "confidence": self.confidence,
            "replicates": self.replicates,
            "verdict": self.verdict,
            "point_verdict": self.point_verdict,
            "coefficients": {str(name): self.estimate(name).to_dict() for name in Coefficient},
        }
