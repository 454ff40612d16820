"""What every estimator of a pass rate returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Estimate:
    """A pass rate, or a difference of two, with its interval.

    Attributes
    ----------
    method : str
        How it was computed, in words.
    estimate, low, high : float or None
        None where the data do not define them; `undefined` says why.
    n_labelled, n_all : int
        Labelled rows used, and rows that the rate speaks of.
    confidence : float
        Nominal level of the interval.
    assumptions : tuple of str
        What has to hold, in words.
    detail : mapping
        Further figures of the method (the judge's rates, the tuning weight, …).
    undefined : str or None

    Examples
    --------
    >>> Estimate("labels alone", 0.5, 0.4, 0.6, 100, 100).to_dict()["interval"]
    [0.4, 0.6]
    """

    method: str
    estimate: float | None
    low: float | None
    high: float | None
    n_labelled: int
    n_all: int
    confidence: float = 0.95
    assumptions: tuple[str, ...] = ()
    detail: Mapping[str, Any] = field(default_factory=dict)
    undefined: str | None = None

    @property
    def width(self) -> float | None:
        """Length of the interval."""
        return None if self.low is None or self.high is None else self.high - self.low

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary with ``estimate``, ``interval`` and ``method``."""
        known = self.low is not None and self.high is not None
        return {
            "estimate": self.estimate,
            "interval": [self.low, self.high] if known else None,
            "method": self.method,
            "confidence": self.confidence,
            "n_labelled": self.n_labelled,
            "n_all": self.n_all,
            "assumptions": list(self.assumptions),
            **dict(self.detail),
            **({"undefined": self.undefined} if self.undefined else {}),
        }


def undefined(
    method: str,
    why: str,
    n_labelled: int,
    n_all: int,
    confidence: float,
    detail: Mapping[str, Any] | None = None,
) -> Estimate:
    """An estimate that the data do not define."""
    return Estimate(method, None, None, None, n_labelled, n_all, confidence, (), detail or {}, why)
