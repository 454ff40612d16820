"""What a validation says: coefficients with their intervals and their conventional verdict."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from riskjudge.agreement.coefficients import Coefficient, Undefined
from riskjudge.agreement.ratings import Level

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
    """Agreement of two or more raters.

    Attributes
    ----------
    level : Level
        Level of measurement of kappa and alpha.
    raters : tuple of str
        Raters that gave any label.
    n : int
        Units with labels by two raters or more; every figure rests on these.
    need : int
        Units that were asked for. With fewer, every coefficient is UNDEFINED.
    left_out : int
        Units without the labels it takes.
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
    n: int
    need: int
    left_out: int
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
            "n": self.n,
            "need": self.need,
            "left_out": self.left_out,
            "groups": self.groups,
            "confidence": self.confidence,
            "replicates": self.replicates,
            "verdict": self.verdict,
            "point_verdict": self.point_verdict,
            "coefficients": {str(name): self.estimate(name).to_dict() for name in Coefficient},
        }
