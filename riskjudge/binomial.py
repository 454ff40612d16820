"""Exact binomial inference for error counts: tests, Clopper-Pearson bounds, critical counts.

Counts are integers and stay integers: a rate is never multiplied back into a count. Every function
is vectorised over its arguments. A rate with no trials is UNDEFINED, which is NaN in the arrays
returned here and ``None`` wherever a result is stored or printed.

`scipy.special.bdtr` decides (it is monotone in the counts and quick); `scipy.stats.beta.isf`
reports (``ppf(1 - delta)`` would round ``1 - delta`` to one for a tiny ``delta``).

References
----------
.. [1] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the
   case of the binomial", Biometrika 26(4), 1934.
.. [2] S. Badshah, A. Emami, H. Sajjad, "Judge, Retrieve, or Abstain", arXiv:2608.17994, Eq. 7.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from riskjudge._checks import check_level as check_level
from riskjudge._typing import BoolArray, FloatArray, IntArray
from riskjudge.errors import InputError

_MANY = 1000
_LARGEST = 2**31 - 1  # the largest sample that the exact test computes
_SMALLEST = 1e-6  # below it the counts that could certify no longer fit an exact computation


def p_value(errors: ArrayLike, accepted: ArrayLike, alpha: float) -> FloatArray:
    """Exact p-value of "the error rate exceeds `alpha`": ``P(Bin(accepted, alpha) <= errors)``.

    Parameters
    ----------
    errors, accepted : array_like of int
        Error counts ``w`` and trial counts ``m``, broadcast together, ``0 <= w <= m``.
    alpha : float
        Risk level, strictly between 0 and 1.

    Returns
    -------
    ndarray of float
        1 where nothing was accepted: no evidence rejects nothing.

    Notes
    -----
    If ``w`` is binomial with ``m`` trials and an error rate above `alpha`, then
    ``P(p_value <= x) <= x`` for every x: the distribution function of a binomial falls as its rate
    grows, so the p-value is stochastically larger than the one at rate `alpha`, and that one is
    stochastically at least uniform.

    Examples
    --------
    >>> p_value(5, 100, 0.1).round(4)
    np.float64(0.0576)
    """
    w, m = _counts(errors, accepted)
    p = special.bdtr(w.astype(np.float64), m, check_level(alpha, "alpha"))
    return np.asarray(p, dtype=np.float64)[()]


def certifies(errors: ArrayLike, accepted: ArrayLike, alpha: float, delta: float) -> BoolArray:
    """Whether the counts certify a rate of at most `alpha` at significance `delta`.

    Equivalent to ``upper_bound(errors, accepted, delta) <= alpha`` (Eq. 7 of [2]_), without the
    inversion.

    Examples
    --------
    >>> certifies([0, 0], [28, 29], alpha=0.1, delta=0.05)
    array([False,  True])
    """
    w, m = _counts(errors, accepted)
    check_level(alpha, "alpha")
    check_level(delta, "delta")
    if w.size < _MANY or delta >= 0.5:
        return np.asarray(p_value(w, m, alpha) <= delta)
    w, m, shape = w.ravel(), m.ravel(), w.shape
    # Chernoff's bound decides most of many counts: P(Bin(m, alpha) <= w) <= exp(-m KL(w/m, alpha))
    # with KL(p, alpha) >= (alpha - p)^2 / (2 alpha) for p < alpha, while it is at least 1/2 from
    # m alpha errors on. The rest is computed.
    short = m * alpha
    enough = short * (-2.0 * math.log(delta) * (1.0 + 1e-9))
    short -= w
    passed = short > 0.0
    open_ = passed.copy()
    short *= short
    passed &= short > enough
    open_ &= ~passed
    undecided = np.flatnonzero(open_)
    passed[undecided] = p_value(w[undecided], m[undecided], alpha) <= delta
    return np.asarray(passed.reshape(shape))


def upper_bound(errors: ArrayLike, accepted: ArrayLike, delta: float) -> FloatArray:
    """One-sided Clopper-Pearson upper confidence bound at confidence ``1 - delta``.

    Returns
    -------
    ndarray of float
        ``BetaInv(1 - delta; w + 1, m - w)``; 1 where every trial is an error; NaN (UNDEFINED) where
        there is no trial.

    Examples
    --------
    >>> upper_bound([0, 5, 10], [10, 10, 10], delta=0.05).round(4)
    array([0.2589, 0.7776, 1.    ])
    """
    w, m = _counts(errors, accepted)
    level = check_level(delta, "delta")
    inner = w < m
    # betainccinv is the inverse of the survival function, exact for a delta far below 1e-16.
    bound = special.betainccinv(np.where(inner, w + 1, 1), np.where(inner, m - w, 1), level)
    return np.where(inner, bound, np.where(m > 0, 1.0, np.nan))[()]


def lower_bound(errors: ArrayLike, accepted: ArrayLike, delta: float) -> FloatArray:
    """One-sided Clopper-Pearson lower confidence bound at confidence ``1 - delta``.

    Examples
    --------
    >>> lower_bound([0, 5, 10], [10, 10, 10], delta=0.05).round(4)
    array([0.    , 0.2224, 0.7411])
    """
    w, m = _counts(errors, accepted)
    level = check_level(delta, "delta")
    inner = w > 0
    bound = special.betaincinv(np.where(inner, w, 1), np.where(inner, m - w + 1, 1), level)
    return np.where(inner, bound, np.where(m > 0, 0.0, np.nan))[()]


def interval(
    errors: ArrayLike, accepted: ArrayLike, confidence: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Two-sided Clopper-Pearson interval: both one-sided bounds at half the significance.

    Examples
    --------
    >>> low, high = interval(5, 10)
    >>> round(float(low), 4), round(float(high), 4)
    (0.1871, 0.8129)
    """
    tail = (1.0 - check_level(confidence, "confidence")) / 2.0
    return lower_bound(errors, accepted, tail), upper_bound(errors, accepted, tail)


@lru_cache(maxsize=256)
def max_errors(n: int, alpha: float, delta: float) -> IntArray:
    """Largest error count that still certifies, for every accepted count from 0 to `n`.

    Parameters
    ----------
    n : int
        Largest accepted count.
    alpha : float
        Risk level.
    delta : float
        Significance.

    Returns
    -------
    ndarray of int, shape (n + 1,), read-only
        Entry m is the largest w with ``P(Bin(m, alpha) <= w) <= delta``; -1 where not even an
        error-free sample of size m certifies. ``w <= max_errors(n, ...)[m]`` is then the exact
        test, as one integer comparison.

    Notes
    -----
    The entries never fall and grow by at most one as m grows by one, since
    ``P(Bin(m + 1, alpha) <= w + 1) >= P(Bin(m, alpha) <= w)``. So it is enough to find, for each w,
    the smallest m that tolerates w errors.

    Examples
    --------
    >>> max_errors(1000, alpha=0.1, delta=0.05)[[28, 29, 1000]]
    array([-1,  0, 84])
    """
    if n < 0:
        raise InputError(f"n must not be negative, got {n}")
    check_level(alpha, "alpha")
    check_level(delta, "delta")
    first = np.empty(0, dtype=np.int64)
    guess = math.ceil(n * alpha) + 2
    while first.size == 0 or first[-1] <= n:
        first = first_certifying(np.arange(guess), alpha, delta)
        guess *= 2
    steps = np.bincount(first[first <= n], minlength=n + 1)
    table = np.cumsum(steps) - 1
    table.flags.writeable = False
    return table


def min_accepted(alpha: float, delta: float, errors: int = 0) -> int:
    """Smallest accepted count that certifies `alpha` with the given number of errors.

    Examples
    --------
    >>> [min_accepted(a, 0.05) for a in (0.05, 0.10, 0.15, 0.20, 0.25)]
    [59, 29, 19, 14, 11]
    """
    if errors < 0:
        raise InputError(f"errors must not be negative, got {errors}")
    check_level(alpha, "alpha")
    check_level(delta, "delta")
    return int(first_certifying(np.array([errors]), alpha, delta)[0])


def first_certifying(w: IntArray, alpha: float, delta: float) -> IntArray:
    """Smallest m with ``P(Bin(m, alpha) <= w) <= delta`` for each error count w.

    m is the quantile of the trial at which error ``w + 1`` falls (negative binomial). Its
    Cornish-Fisher expansion is a guess, mostly right or off by one; the exact test brackets it and
    bisects the rest.

    Examples
    --------
    >>> first_certifying(np.arange(4), alpha=0.1, delta=0.05)
    array([29, 46, 61, 76])
    """

    if alpha < _SMALLEST:
        raise InputError(f"alpha must be at least {_SMALLEST:g}, got {alpha!r}")

    def passes(m: IntArray) -> BoolArray:
        return np.asarray(special.bdtr(w.astype(np.float64), m, alpha) <= delta)

    r = w + 1.0
    z = -special.ndtri(max(delta, 1e-16))  # further out the expansion leads astray
    skew = (2.0 - alpha) / np.sqrt(r * (1.0 - alpha))
    kurtosis = (6.0 + alpha**2 / (1.0 - alpha)) / r
    at = z + (z**2 - 1.0) * skew / 6.0 + (z**3 - 3.0 * z) * kurtosis / 24.0
    at -= (2.0 * z**3 - 5.0 * z) * skew**2 / 36.0
    guess = (r + np.sqrt(r * (1.0 - alpha)) * at) / alpha
    low = np.maximum(np.rint(guess).astype(np.int64) - 1, w)
    high = low + 1
    width = 1
    while not (ok := passes(high)).all():
        width *= 2
        low, high = np.where(ok, low, high), np.where(ok, high, high + width)
        if high.max() > _LARGEST:
            raise InputError(f"more than {_LARGEST:,} items would be needed at alpha = {alpha:g}")
    width = 1
    while (bad := passes(low) & (low > w)).any():  # m = w never certifies
        width *= 2
        low, high = np.where(bad, np.maximum(low - width, w), low), np.where(bad, low, high)
    while np.any(high - low > 1):
        middle = (low + high) // 2
        ok = passes(middle)
        low, high = np.where(ok, low, middle), np.where(ok, middle, high)
    return np.asarray(high, dtype=np.int64)


def _counts(errors: ArrayLike, accepted: ArrayLike) -> tuple[IntArray, IntArray]:
    w, m = np.broadcast_arrays(np.asarray(errors), np.asarray(accepted))
    for name, values in (("errors", w), ("accepted", m)):
        if values.dtype.kind not in "iub":
            raise InputError(f"{name} must be integer counts, got dtype {values.dtype}")
    if np.any(w < 0) or np.any(w > m):
        raise InputError("error counts must satisfy 0 <= errors <= accepted")
    return w.astype(np.int64, copy=False), m.astype(np.int64, copy=False)
