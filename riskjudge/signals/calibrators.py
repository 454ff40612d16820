"""Calibrators: from a raw signal to the log-odds that the claim holds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy import special

from riskjudge._typing import FloatArray, IntArray, ObjectArray
from riskjudge.errors import InputError
from riskjudge.signals.signal import Family

_LARGEST = 6.0  # log-odds: no teaching set is large enough to be surer than 1 in 400
_PRIOR = 4.0  # imagined rows at the base rate in each level of a category
_NEWTON_STEPS = 30
_RIDGE = 1e-2  # keeps separable teaching rows from an infinite slope


class Calibrator(ABC):
    """A fitted map from raw values (NaN or None: missing) to log-odds, 0 where the value is missing."""

    name: ClassVar[str]

    @classmethod
    @abstractmethod
    def fit(cls, values: Any, labels: IntArray) -> Self:
        """Fit on teaching rows; rows without a value are left out."""

    @abstractmethod
    def log_odds(self, values: Any) -> FloatArray:
        """Shape (n,); 0 where there is no value."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, the name included."""


@dataclass(frozen=True, slots=True)
class Platt(Calibrator):
    """Log-odds linear in the value (Platt 1999).

    Examples
    --------
    >>> values = np.repeat([-1.0, 1.0], 100)
    >>> labels = np.tile([0, 0, 0, 1], 50) ^ (values > 0)
    >>> Platt.fit(values, labels).log_odds(np.array([1.0, np.nan])).round(1)
    array([1.1, 0. ])
    """

    name: ClassVar[str] = "platt"
    slope: float
    intercept: float

    @classmethod
    def fit(cls, values: FloatArray, labels: IntArray) -> Self:
        (fitted,) = cls.fit_columns(values[:, None], labels)
        return fitted

    @classmethod
    def fit_columns(cls, values: FloatArray, labels: IntArray) -> list[Self]:
        """One for each column of shape (n, S), by Newton's method in all of them at once."""
        known = ~np.isnan(values)
        n = known.sum(axis=0)
        x = np.where(known, values, 0.0)
        centre = x.sum(axis=0) / np.maximum(n, 1)
        x = np.where(known, values - centre, 0.0)
        spread = np.sqrt((x**2).sum(axis=0) / np.maximum(n, 1))
        varied = spread > 1e-12 * np.abs(centre)
        scale = np.where(varied, spread, 1.0)
        x = np.where(varied, x / scale, 0.0)
        at, slope, y = np.zeros(len(n)), np.zeros(len(n)), labels[:, None]
        ridge = _RIDGE * np.maximum(n, 1) / 100
        for _ in range(_NEWTON_STEPS):
            p = np.where(known, special.expit(at + slope * x), 0.0)
            error, weight = p - np.where(known, y, 0), p * (1.0 - p)
            first = error.sum(axis=0) + 1e-6 * at
            second = (error * x).sum(axis=0) + ridge * slope
            a, b = weight.sum(axis=0) + 1e-6, (weight * x).sum(axis=0)
            c = (weight * x**2).sum(axis=0) + ridge
            whole = a * c - b**2
            steps = np.array([(c * first - b * second) / whole, (a * second - b * first) / whole])
            largest = np.abs(steps).max(axis=0)
            at, slope = np.array([at, slope]) - steps * np.minimum(1.0, 4.0 / (largest + 1e-12))
            if largest.max(initial=0.0) < 1e-6:
                break
        found = []
        for k, by in enumerate(slope / scale):
            if n[k] and varied[k]:
                found.append(cls(float(by), float(at[k] - by * centre[k])))
            else:
                found.append(cls(0.0, _base(labels[known[:, k]])))
        return found

    def log_odds(self, values: FloatArray) -> FloatArray:
        return np.where(np.isnan(values), 0.0, self.intercept + self.slope * np.nan_to_num(values))

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "slope": self.slope, "intercept": self.intercept}


@dataclass(frozen=True, slots=True)
class Beta(Calibrator):
    """Beta calibration (Kull, Silva Filho, Flach 2017): for values that are log-odds themselves."""

    name: ClassVar[str] = "beta"
    a: float
    b: float
    c: float

    @classmethod
    def fit(cls, values: FloatArray, labels: IntArray) -> Self:
        known = ~np.isnan(values)
        x, y = values[known], labels[known]
        if len(x) == 0 or np.ptp(x) == 0.0:
            return cls(0.0, 0.0, _base(y))
        parts = np.column_stack((np.ones(len(x)), *_log_sides(x)))
        c, a, b = _logistic(parts, y)
        # Monotone: a part that would fall is left out.
        if a < 0.0:
            (c, b), a = _logistic(parts[:, [0, 2]], y), 0.0
        elif b < 0.0:
            (c, a), b = _logistic(parts[:, [0, 1]], y), 0.0
        return cls(max(float(a), 0.0), max(float(b), 0.0), float(c))

    def log_odds(self, values: FloatArray) -> FloatArray:
        low, high = _log_sides(np.nan_to_num(values))
        return np.where(np.isnan(values), 0.0, self.c + self.a * low + self.b * high)

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "a": self.a, "b": self.b, "c": self.c}


@dataclass(frozen=True, slots=True)
class Isotonic(Calibrator):
    """A rising (or, where that fits better, falling) step function, smoothed at its ends."""

    name: ClassVar[str] = "isotonic"
    values: tuple[float, ...]
    levels: tuple[float, ...]

    @classmethod
    def fit(cls, values: FloatArray, labels: IntArray) -> Self:
        from sklearn.isotonic import IsotonicRegression

        known = ~np.isnan(values)
        x, y = values[known], labels[known]
        if len(x) == 0 or np.ptp(x) == 0.0:
            return cls((0.0,), (_base(y),))
        fitted = IsotonicRegression(increasing="auto", out_of_bounds="clip").fit(x, y)
        knots = np.unique(fitted.X_thresholds_)
        share = np.clip(fitted.predict(knots), 1.0 / (len(x) + 2), 1.0 - 1.0 / (len(x) + 2))
        return cls(tuple(map(float, knots)), tuple(map(float, special.logit(share))))

    def log_odds(self, values: FloatArray) -> FloatArray:
        found = np.interp(np.nan_to_num(values), self.values, self.levels)
        return np.where(np.isnan(values), 0.0, found)

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "values": list(self.values), "levels": list(self.levels)}


@dataclass(frozen=True, slots=True)
class Levels(Calibrator):
    """For categories: the smoothed log-odds of each; one never seen is at the base rate."""

    name: ClassVar[str] = "levels"
    levels: Mapping[str, float]
    base: float

    @classmethod
    def fit(cls, values: ObjectArray, labels: IntArray) -> Self:
        known = np.array([value is not None for value in values], dtype=bool)
        base = _base(labels[known])
        share = special.expit(base)
        levels = {}
        for level in sorted(set(values[known])):
            within = labels[values == level]
            odds = (within.sum() + _PRIOR * share) / (len(within) + _PRIOR)
            levels[level] = float(special.logit(odds))
        return cls(levels, base)

    def log_odds(self, values: ObjectArray) -> FloatArray:
        found = [0.0 if v is None else self.levels.get(v, self.base) for v in values]
        return np.array(found, dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "levels": dict(self.levels), "base": self.base}


CALIBRATORS: dict[str, type[Calibrator]] = {c.name: c for c in (Platt, Beta, Isotonic, Levels)}
"""Every calibrator by its name."""

BY_FAMILY: dict[Family, str] = {
    family: "levels" if family is Family.CATEGORY else "platt" for family in Family
}
"""The calibrator of each family, unless another is asked for."""


def calibrator_names(chosen: Mapping[str, str] | None) -> dict[Family, str]:
    """The calibrator of each family, with the `chosen` ones in place.

    Examples
    --------
    >>> calibrator_names({"probability": "beta"})[Family.PROBABILITY]
    'beta'
    """
    names = dict(BY_FAMILY)
    for family, name in (chosen or {}).items():
        if family not in list(Family):
            raise InputError(f"unknown family {family!r}; the families are {', '.join(Family)}")
        if name not in CALIBRATORS or (name == "levels") != (family == Family.CATEGORY):
            raise InputError(
                f"the family {family!r} takes "
                f"{'levels' if family == Family.CATEGORY else 'platt, beta or isotonic'}, got {name!r}"
            )
        names[Family(family)] = name
    return names


def fit_calibrators(
    columns: Sequence[FloatArray | ObjectArray], names: Sequence[str], labels: IntArray
) -> tuple[Calibrator, ...]:
    """One calibrator for each column of values, each by its name."""
    platt = [k for k, name in enumerate(names) if name == Platt.name]
    found: dict[int, Calibrator] = {}
    if platt:
        together = np.column_stack([columns[k] for k in platt]).astype(np.float64)
        found.update(zip(platt, Platt.fit_columns(together, labels), strict=True))
    for k, name in enumerate(names):
        if k not in found:
            found[k] = CALIBRATORS[name].fit(columns[k], labels)
    return tuple(found[k] for k in range(len(names)))


def calibrator_from_dict(data: Mapping[str, Any]) -> Calibrator:
    """The inverse of :meth:`Calibrator.to_dict`."""
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k != "name"}
    return CALIBRATORS[data["name"]](**values)


def bounded(log_odds: FloatArray) -> FloatArray:
    """Log-odds no surer than a teaching set can tell."""
    return np.clip(log_odds, -_LARGEST, _LARGEST)


def _base(labels: IntArray) -> float:
    """Smoothed log-odds of a label of 1."""
    ones = float(np.sum(labels))
    return float(np.log((ones + 0.5) / (len(labels) - ones + 0.5)))


def _log_sides(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``log p`` and ``-log(1 - p)`` of log-odds x."""
    return -np.logaddexp(0.0, -x), np.logaddexp(0.0, x)


def _logistic(design: FloatArray, labels: IntArray) -> FloatArray:
    """Logistic regression by Newton's method; the first column is the intercept."""
    ridge = np.diag(
        np.append(1e-6, np.full(design.shape[1] - 1, _RIDGE * max(len(labels), 1) / 100))
    )
    weights = np.zeros(design.shape[1])
    for _ in range(_NEWTON_STEPS):
        p = special.expit(design @ weights)
        gradient = design.T @ (p - labels) + ridge @ weights
        step = np.linalg.solve((design.T * (p * (1.0 - p))) @ design + ridge, gradient)
        largest = float(np.abs(step).max())
        weights = weights - step * min(1.0, 4.0 / max(largest, 1e-12))
        if largest < 1e-6:
            break
    return weights
