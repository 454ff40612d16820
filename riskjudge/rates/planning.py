"""How many labels a wanted width takes, with the judge's help and without."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from riskjudge._typing import FloatArray, IntArray
from riskjudge.binomial import check_level
from riskjudge.errors import InputError
from riskjudge.proportion import clopper_pearson
from riskjudge.rates.cells import make_cells
from riskjudge.rates.sample import RateSample
from riskjudge.rates.simple import classical
from riskjudge.rates.stratified import Strata, strata_of

MOST = 10_000_000


@dataclass(frozen=True, slots=True)
class RatePlan:
    """Labels for an interval of a wanted width, if things are as expected.

    Attributes
    ----------
    width : float
        Wanted length of the interval, high minus low.
    rate, confidence : float
        Expected pass rate; level of the interval.
    rows : int or None
        Rows with a verdict; None for more than matter.
    labels : int or None
        Labels that the corrected rate needs; None where no number of them would do with so few rows.
    labels_alone : int
        Labels needed without the judge.
    saved : float or None
        The second over the first.
    """

    width: float
    rate: float
    confidence: float
    rows: int | None
    labels: int | None
    labels_alone: int
    saved: float | None


def plan_rate(
    width: float,
    *,
    rate: float = 0.8,
    tpr: float = 0.9,
    tnr: float = 0.9,
    rows: int | None = None,
    confidence: float = 0.95,
) -> RatePlan:
    """Labels needed for a judge with the given rates.

    Parameters
    ----------
    width : float
        Wanted length of the interval.
    rate, tpr, tnr : float
        Expected pass rate, and the judge's expected true positive and true negative rates.
    rows : int, optional
        Rows that have a verdict.
    confidence : float
        Of the interval.

    Raises
    ------
    InputError
        If a number is not between 0 and 1.

    Examples
    --------
    >>> plan = plan_rate(0.1, rate=0.7, tpr=0.9, tnr=0.9)
    >>> plan.labels, plan.labels_alone, plan.saved > 1.5
    (161, 341, True)
    """
    check_level(rate, "the expected rate")
    for value, name in ((tpr, "tpr"), (tnr, "tnr")):
        if not 0.0 <= value <= 1.0:
            raise InputError(f"{name} must be a number from 0 to 1, got {value!r}")
    passed = rate * tpr + (1.0 - rate) * (1.0 - tnr)
    shares = np.array([1.0 - passed, passed])
    rates = np.array([rate * (1.0 - tpr), rate * tpr]) / np.maximum(shares, 1e-300)
    used = shares > 0.0
    return _plan(
        Strata(shares[used], rates[used], shares[used], 1.0), width, rate, rows, confidence
    )


def plan_from_pilot(sample: RateSample, width: float, *, confidence: float = 0.95) -> RatePlan:
    """Labels needed in all, from labels that are there already.

    Raises
    ------
    InputError
        If there are no labels, or a part of the rows has none.

    Examples
    --------
    >>> verdicts = np.resize([1, 1, 0], 3000)
    >>> pilot = RateSample.from_arrays(verdicts, np.where(np.arange(3000) < 60, verdicts, -1))
    >>> plan_from_pilot(pilot, 0.1).rows
    3000
    """
    strata, rate, alone = _pilot(sample, confidence)
    return _plan(strata, width, rate, len(sample), confidence, alone)


def widths_from_pilot(
    sample: RateSample, labels: IntArray, *, confidence: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Expected widths of the corrected interval, and of that of labels alone, at each number of labels.

    Examples
    --------
    >>> verdicts = np.resize([1, 1, 0], 3000)
    >>> pilot = RateSample.from_arrays(verdicts, np.where(np.arange(3000) < 60, verdicts, -1))
    >>> widths_from_pilot(pilot, np.array([100]))[1].round(2)
    array([0.19])
    """
    strata, rate, alone = _pilot(sample, confidence)
    corrected = [_width(strata, int(n), len(sample), confidence) for n in labels]
    low, high = clopper_pearson(rate, labels * alone, confidence)
    return np.array(corrected), high - low


def _pilot(sample: RateSample, confidence: float) -> tuple[Strata, float, float]:
    """What a pilot shows: strata for one label in all, the rate, and what a label alone is worth.

    Where rows depend on one another, or were drawn with unequal weights, a label is worth less than
    one, and so it will be of further ones.
    """
    if sample.n_labelled == 0:
        raise InputError("a pilot needs some labels: `riskjudge label next` draws rows to label")
    cells = make_cells(sample)
    found = strata_of(sample, cells, confidence)
    if np.isnan(found.rate).any():
        names = "; ".join(n for n, on in zip(cells.names, cells.unknown, strict=True) if on)
        raise InputError(f"no row of {names} has a label: nothing can be planned for them")
    # A rate of 0 or 1 in few labels would plan too short: half a pass and half a failure more.
    rates = (found.rate * cells.labels + 0.5) / (cells.labels + 1.0)
    rate = float(found.share @ rates)
    worth = found.labels / np.maximum(cells.labels, 1)
    alone = classical(sample, confidence=confidence).detail["n_effective"] / sample.n_labelled
    strata = Strata(found.share, rates, found.share * worth, found.rows / len(sample))
    return strata, rate, float(alone)


def _plan(
    strata: Strata,
    width: float,
    rate: float,
    rows: int | None,
    confidence: float,
    worth_alone: float = 1.0,
) -> RatePlan:
    check_level(width, "the wanted width")
    check_level(confidence, "confidence")
    if rows is not None and rows < 1:
        raise InputError(f"rows must be at least 1, got {rows}")

    def corrected(n: int) -> float:
        return _width(strata, n, rows, confidence)

    def alone(n: int) -> float:
        low, high = clopper_pearson(rate, n * worth_alone, confidence)
        return float(high - low)

    labels = _smallest(corrected, width, MOST if rows is None else rows)
    without = _smallest(alone, width, MOST)
    assert without is not None
    saved = None if labels is None else without / labels
    return RatePlan(width, rate, confidence, rows, labels, without, saved)


def _width(strata: Strata, n: int, rows: int | None, confidence: float) -> float:
    """Expected width with `n` labels."""
    total = strata.rows * (float(MOST) * 100.0 if rows is None else float(rows))
    _, low, high = Strata(strata.share, strata.rate, strata.labels * n, total).interval(confidence)
    return high - low


def _smallest(width_at: Callable[[int], float], wanted: float, most: int) -> int | None:
    """The smallest number of labels at which the expected width is as wanted."""
    if width_at(most) > wanted:
        return None
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if width_at(middle) <= wanted else (middle, high)
    return high
