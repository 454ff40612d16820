"""How many labels a certificate takes, before any are bought."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from riskjudge import binomial
from riskjudge._typing import BoolArray, FloatArray, IntArray
from riskjudge.errors import InputError

_MOST_ERRORS = 1 << 13  # nobody labels enough to see more errors than this


@dataclass(frozen=True, slots=True)
class LabelPlan:
    """Labels needed to certify one rule that is fixed in advance.

    Attributes
    ----------
    accepted_without_error : int
        Fewest accepted items that certify with no error at all.
    accepted : int or None
        Accepted items that certify when the share of errors is the assumed one; None where that
        share is not below alpha.
    accepted_with_power : int or None
        Accepted items with which a rule of that true error rate certifies with probability `power`.
    labels : int or None
        `accepted` as labelled items, at exactly the assumed coverage.
    labels_with_power : int or None
        Labelled items with which the rule certifies with probability `power`. How many of them it
        accepts is random, and counted in (see :func:`power_with`).
    """

    alpha: float
    delta: float
    error_rate: float | None
    coverage: float
    power: float
    accepted_without_error: int
    accepted: int | None
    accepted_with_power: int | None
    labels: int | None
    labels_with_power: int | None


def accepted_needed(error_rate: float, alpha: float, delta: float) -> int | None:
    """Fewest accepted items that certify `alpha` if a share `error_rate` of them is wrong.

    Returns None where `error_rate` is not below `alpha`, or so close to it that no number of items
    that anyone could label would do.

    Examples
    --------
    >>> [accepted_needed(rate, 0.1, 0.05) for rate in (0.0, 0.05, 0.1)]
    [29, 116, None]
    """
    return _smallest(error_rate, alpha, delta, lambda w, m: error_rate * m <= w)


def accepted_for_power(error_rate: float, alpha: float, delta: float, power: float) -> int | None:
    """Fewest accepted items with which a true error rate certifies with probability `power`.

    Examples
    --------
    >>> accepted_for_power(0.05, 0.1, 0.05, power=0.8)
    179
    """

    return _smallest(error_rate, alpha, delta, lambda w, m: special.bdtr(w, m, error_rate) >= power)


def power_with(
    labels: int, error_rate: float, alpha: float, delta: float, coverage: float = 1.0
) -> float:
    """Probability that a rule fixed in advance certifies with so many labelled items.

    The accepted count m is Binomial(labels, coverage), and given m the errors are Binomial(m,
    error_rate): ``sum over m of P(m) P(errors <= max_errors[m])``.

    Examples
    --------
    >>> round(power_with(179, 0.05, 0.1, 0.05), 3), round(power_with(358, 0.05, 0.1, 0.05, 0.5), 3)
    (0.813, 0.769)
    """
    tolerated = binomial.max_errors(labels, alpha, delta)
    m = np.arange(labels + 1)
    passes = np.where(tolerated >= 0, special.bdtr(np.maximum(tolerated, 0.0), m, error_rate), 0.0)
    if coverage >= 1.0:
        return float(passes[-1])
    from scipy import stats  # slow to import

    return float(stats.binom.pmf(m, labels, coverage) @ passes)


def labels_for_power(
    error_rate: float, alpha: float, delta: float, power: float, coverage: float = 1.0
) -> int | None:
    """Labelled items with which a rule of this error rate and coverage certifies with that power.

    Examples
    --------
    >>> labels_for_power(0.05, 0.1, 0.05, 0.8, coverage=0.5)
    384
    """
    accepted = accepted_for_power(error_rate, alpha, delta, power)
    if accepted is None or coverage >= 1.0:
        return accepted
    low, high = 0, math.ceil(accepted / coverage)
    while power_with(high, error_rate, alpha, delta, coverage) < power:
        low, high = high, high + max(high // 8, 1)
    while high - low > 1:
        middle = (low + high) // 2
        if power_with(middle, error_rate, alpha, delta, coverage) >= power:
            high = middle
        else:
            low = middle
    return high


def _smallest(
    error_rate: float,
    alpha: float,
    delta: float,
    enough: Callable[[FloatArray, IntArray], BoolArray],
) -> int | None:
    """Smallest m that tolerates w errors with ``enough(w, m)``, over all w.

    Only the smallest m that tolerates w errors needs a look, for each w: with more items and the
    same tolerance both criteria get harder.
    """
    if error_rate >= alpha:
        return None
    start, stop = 0, 256
    while start < _MOST_ERRORS:
        w = np.arange(start, stop)
        m = binomial.first_certifying(w, alpha, delta)
        hit = np.flatnonzero(enough(w.astype(np.float64), m))
        if len(hit):
            return int(m[hit[0]])
        start, stop = stop, 2 * stop
    return None


def plan_labels(
    alpha: float,
    delta: float,
    *,
    error_rate: float | None = None,
    coverage: float = 1.0,
    power: float = 0.8,
) -> LabelPlan:
    """How many labelled items are needed.

    Parameters
    ----------
    alpha, delta : float
        Risk level and significance.
    error_rate : float, optional
        Expected error rate among accepted items (from a pilot, say).
    coverage : float
        Expected share of accepted items, in (0, 1].
    power : float
        Probability with which the certificate is wanted.

    Examples
    --------
    >>> plan_labels(0.1, 0.05, error_rate=0.05, coverage=0.5).labels
    232
    """
    for name, value in (("alpha", alpha), ("delta", delta), ("power", power)):
        binomial.check_level(value, name)
    if not 0.0 < coverage <= 1.0:
        raise InputError(f"coverage must lie in (0, 1], got {coverage!r}")
    if error_rate is not None and not 0.0 <= error_rate <= 1.0:
        raise InputError(f"error_rate must lie in [0, 1], got {error_rate!r}")
    fewest = binomial.min_accepted(alpha, delta)
    accepted = powered = labels_powered = None
    if error_rate is not None:
        accepted = accepted_needed(error_rate, alpha, delta)
        powered = accepted_for_power(error_rate, alpha, delta, power)
        labels_powered = labels_for_power(error_rate, alpha, delta, power, coverage)

    def labels(m: int | None) -> int | None:
        return None if m is None else math.ceil(m / coverage)

    return LabelPlan(
        alpha=alpha,
        delta=delta,
        error_rate=error_rate,
        coverage=coverage,
        power=power,
        accepted_without_error=fewest,
        accepted=accepted,
        accepted_with_power=powered,
        labels=labels(fewest if error_rate is None else accepted),
        labels_with_power=labels_powered,
    )
