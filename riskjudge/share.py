"""A share of counts with its exact interval: the one form in which rates are reported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from riskjudge import binomial
from riskjudge.errors import InputError
from riskjudge.proportion import clopper_pearson


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of counts, with its exact (Clopper-Pearson) two-sided interval.

    Parameters
    ----------
    count, of : int
        The share is ``count / of``.
    need : int
        The least `of` at which the share is evidence. With less it is insufficient: `value`, `low`
        and `high` are None, as they are (UNDEFINED) where `of` is zero, and the counts stay.
    confidence : float
        Of the interval.
    effective : float, optional
        How many independent rows the `of` rows are worth, where rows depend on one another
        (:func:`riskjudge.proportion.share_of`); the interval is the exact one of that number.

    Raises
    ------
    InputError
        If the counts contradict each other, or `need` is below 1.

    Examples
    --------
    >>> rate = Rate(1, 4)
    >>> rate.value, round(rate.low, 4), round(rate.high, 4)
    (0.25, 0.0063, 0.8059)
    >>> Rate(0, 0).value is None, Rate(1, 4, need=30).value is None
    (True, True)
    """

    count: int
    of: int
    need: int = 1
    confidence: float = 0.95
    effective: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.count <= self.of:
            raise InputError(f"a share of counts, got {self.count} of {self.of}")
        if self.need < 1:
            raise InputError(f"a floor must be at least 1, got {self.need}")

    @property
    def sufficient(self) -> bool:
        """Whether the evidence reaches what is needed."""
        return self.of >= self.need

    @property
    def value(self) -> float | None:
        """The share; None where it is UNDEFINED or insufficient."""
        return self.count / self.of if self.sufficient else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends; None where the share has no value."""
        if not self.sufficient:
            return None
        if self.effective is not None:
            low, high = clopper_pearson(self.count / self.of, self.effective, self.confidence)
        else:
            low, high = binomial.interval(self.count, self.of, self.confidence)
        return float(low), float(high)

    @property
    def low(self) -> float | None:
        """Lower end of the interval."""
        return None if self.interval is None else self.interval[0]

    @property
    def high(self) -> float | None:
        """Upper end of the interval."""
        return None if self.interval is None else self.interval[1]

    def __str__(self) -> str:
        """With its interval and counts.

        Examples
        --------
        >>> print(Rate(1, 4), Rate(0, 0), Rate(1, 4, need=30), sep="; ")
        25.0 % [0.6, 80.6] (1/4); undefined (0/0); insufficient: need 30, have 4 (1/4)
        """
        if self.interval is None or self.value is None:
            short = f"insufficient: need {self.need}, have {self.of}"
            return f"{short if self.need > 1 else 'undefined'} ({self.count}/{self.of})"
        low, high = self.interval
        return (
            f"{100 * self.value:.1f} % [{100 * low:.1f}, {100 * high:.1f}] ({self.count}/{self.of})"
        )

    def to_dict(self) -> dict[str, Any]:
        """A dictionary for strict JSON; an insufficient share says what it needs and has."""
        low, high = self.interval or (None, None)
        record: dict[str, Any] = {
            "count": self.count,
            "of": self.of,
            "value": self.value,
            "low": low,
            "high": high,
        }
        if self.effective is not None:
            record["effective"] = self.effective
        if self.need > 1 and not self.sufficient:
            record["insufficient"] = {"need": self.need, "have": self.of}
        return record
