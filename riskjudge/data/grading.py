"""Numeric scores as verdicts: a declared scale, and what makes a score of the judge wrong."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from riskjudge._typing import FloatArray, IntArray
from riskjudge.errors import InputError

_STEPS = 1_000_000_000  # per unit: scores are compared, and written, at nine decimals
_LARGEST = 1_000_000.0  # beyond it a float no longer tells nine decimals apart


@dataclass(frozen=True, slots=True)
class Grading:
    """How a judge's number becomes a verdict, and when it contradicts the number of a human.

    With a `cut`, a score becomes the verdict 1 if it is at least the cut and 0 if it is below, and
    so does the label: an error is a wrong side of the cut. With a `tolerance` the score itself is
    the verdict, and an error is a label that lies *further* than the tolerance from it. Nothing of
    this needs a label when verdicts are gated: the label only tells, where it is known, whether a
    verdict was wrong.

    Scores are held as whole steps of a billionth above `low`, so that 0.9 and 0.7 are 0.2 apart and
    not a little more.

    Parameters
    ----------
    low, high : float
        Ends of the scale, both possible scores.
    cut : float, optional
        Above `low`, at most `high`.
    tolerance : float, optional
        At least 0, below ``high - low``. Exactly one of the two is given.

    Raises
    ------
    InputError
        If the scale is empty, or both or neither of cut and tolerance are given.

    Examples
    --------
    >>> str(Grading(1, 5, tolerance=0.5)), str(Grading(0, 1, cut=0.7))
    ('scores from 1 to 5, wrong if more than 0.5 from the label', 'scores from 0 to 1, cut at 0.7')
    """

    low: float
    high: float
    cut: float | None = None
    tolerance: float | None = None

    def __post_init__(self) -> None:
        for name in ("low", "high", "cut", "tolerance"):
            value = getattr(self, name)
            if value is None and name in ("cut", "tolerance"):
                continue
            # A comparison refuses NaN, too.
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise InputError(f"the {name} of scores is a number, got {value!r}")
            if not -_LARGEST <= value <= _LARGEST:
                raise InputError(f"the {name} of scores lies within ±{_LARGEST:g}, got {value!r}")
            object.__setattr__(self, name, float(value))
        if not self.low < self.high:
            raise InputError(f"a scale goes from low to high, got {self.low:g} to {self.high:g}")
        if (self.cut is None) == (self.tolerance is None):
            raise InputError("numeric scores need a cut or a tolerance, and not both")
        if self.cut is not None and not self.low < self.cut <= self.high:
            raise InputError(
                f"a cut lies above {self.low:g} and at most at {self.high:g}, got {self.cut:g}: "
                "every score would be on one side of it"
            )
        if self.tolerance is not None and not 0.0 <= self.tolerance < self.high - self.low:
            raise InputError(
                f"a tolerance is at least 0 and below {self.high - self.low:g}, the length of the "
                f"scale, got {self.tolerance:g}"
            )

    @classmethod
    def parse(
        cls, scale: str, *, cut: float | None = None, tolerance: float | None = None
    ) -> Grading:
        """From a scale written ``1-5``, ``0-1`` or ``-1:1``.

        Examples
        --------
        >>> Grading.parse("1-10", cut=6).high
        10.0
        """
        ends = re.fullmatch(r"\s*([+-]?[\d.]+)\s*(?:-|:|\.\.|to)\s*([+-]?[\d.]+)\s*", scale)
        try:
            low, high = (float(end) for end in ends.groups()) if ends else (0.0, 0.0)
        except ValueError:
            ends = None
        if ends is None:
            raise InputError(f"a scale is written LOW-HIGH, as 1-5 or 0:1, got {scale!r}")
        return cls(low, high, cut, tolerance)

    @property
    def numeric(self) -> bool:
        """Whether verdicts stay numbers (a tolerance) and are not 0 or 1 (a cut)."""
        return self.tolerance is not None

    @property
    def reach(self) -> int:
        """The tolerance in steps: the largest distance of a verdict from its label that is no error."""
        return 0 if self.tolerance is None else round(self.tolerance * _STEPS)

    def codes(self, scores: FloatArray) -> IntArray:
        """Scores of the scale as verdicts: 0 and 1 with a cut, else steps above `low`; -1 for NaN.

        Examples
        --------
        >>> Grading(1, 5, cut=3).codes(np.array([2.9, 3.0, np.nan])).tolist()
        [0, 1, -1]
        """
        missing = np.isnan(scores)
        steps = _steps(np.where(missing, self.low, scores))
        if self.cut is not None:
            found = (steps >= _steps(np.array(self.cut))).astype(np.int64)
        else:
            found = steps - _steps(np.array(self.low))
        return np.where(missing, -1, found)

    def scores(self, codes: IntArray) -> FloatArray:
        """The inverse of :meth:`codes` where verdicts stay numbers; NaN for -1.

        Examples
        --------
        >>> grading = Grading(-1, 1, tolerance=0.1)
        >>> grading.scores(grading.codes(np.array([0.7, np.nan, -1.0]))).tolist()
        [0.7, nan, -1.0]
        """
        numbers = (codes + _steps(np.array(self.low))) / _STEPS
        return np.where(codes < 0, np.nan, numbers if self.numeric else codes)

    def outside(self, scores: FloatArray) -> int | None:
        """Row of the first score off the scale, None if there is none; NaN is no score."""
        off = (scores < self.low) | (scores > self.high)
        return int(off.argmax()) if off.any() else None

    def __str__(self) -> str:
        scale = f"scores from {self.low:.9g} to {self.high:.9g}"
        if self.cut is not None:
            return f"{scale}, cut at {self.cut:.9g}"
        return f"{scale}, wrong if more than {self.tolerance:.9g} from the label"

    @property
    def defines(self) -> str:
        """What an error is, as a certificate states it."""
        if self.cut is not None:
            return (
                f"scores from {self.low:.9g} to {self.high:.9g} are verdicts by a cut: 1 from "
                f"{self.cut:.9g} on; an error is a score on the other side of the cut than its label"
            )
        return (
            f"an error is a score more than {self.tolerance:.9g} from its label, on the scale from "
            f"{self.low:.9g} to {self.high:.9g}"
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)

    def to_json(self) -> str:
        """The one text of it, as a table carries it in each row."""
        return json.dumps({k: v for k, v in asdict(self).items() if v is not None}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Grading:
        """The inverse of :meth:`to_json`.

        Examples
        --------
        >>> Grading.from_json(Grading(1, 5, cut=3).to_json())
        Grading(low=1.0, high=5.0, cut=3.0, tolerance=None)
        """
        try:
            return cls(**json.loads(text))
        except (TypeError, ValueError):
            raise InputError(f"{text!r} does not say how scores are graded") from None


def refuse_numbers(grading: Grading | None, what: str) -> None:
    """Raise where verdicts are scores with a tolerance, for `what` needs verdicts 0 and 1.

    Raises
    ------
    InputError
    """
    if grading is not None and grading.numeric:
        raise InputError(
            f"{what} needs verdicts 0 or 1, and these are {grading}; a cut (cut=, --cut) makes "
            "verdicts of them"
        )


def _steps(scores: FloatArray) -> IntArray:
    return np.rint(scores * _STEPS).astype(np.int64)
