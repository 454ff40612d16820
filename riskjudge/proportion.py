"""Shares of weighted and clustered rows: their effective number, and exact intervals for it.

A share of `n` independent rows has the Clopper-Pearson interval. With unequal weights or with rows
that depend on one another it has the same interval at the *effective* number of rows: the number of
independent rows that would tell the share as precisely ([1]_). For clustered rows that number is
further multiplied by ``(z / t)**2`` with the quantile of t at one degree of freedom less than there
are clusters.

References
----------
.. [1] E. L. Korn, B. I. Graubard, "Confidence intervals for proportions with small expected number
   of positive counts estimated from survey data", Survey Methodology 24, 1998.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from riskjudge._typing import FloatArray, IntArray


class Share(NamedTuple):
    """A share, the rows it was counted on, and how many independent rows they are worth."""

    value: float
    n: int
    effective: float


def clopper_pearson(
    share: ArrayLike, n: ArrayLike, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """Two-sided exact limits; `n` may be effective, not whole, and ``n = 0`` gives ``[0, 1]``.

    Examples
    --------
    >>> [float(end.round(4)) for end in clopper_pearson(0.0, 10.0, 0.95)]
    [0.0, 0.3085]
    """
    p, size = np.broadcast_arrays(np.asarray(share, np.float64), np.asarray(n, np.float64))
    hits = p * size
    misses = np.maximum(size - hits, 0.0)
    # A share is exactly 0 or 1 only where every row says so: no rounding makes it so.
    none, every = (p <= 0.0) | (size <= 0.0), (p >= 1.0) | (size <= 0.0)
    tail = (1.0 - confidence) / 2.0
    low = special.betaincinv(np.where(none, 1.0, hits), misses + 1.0, tail)
    high = special.betainccinv(hits + 1.0, np.where(every, 1.0, misses), tail)
    return np.where(none, 0.0, low), np.where(every, 1.0, high)


def normal_quantile(confidence: float) -> float:
    """The two-sided quantile of the normal distribution.

    Examples
    --------
    >>> round(normal_quantile(0.95), 3)
    1.96
    """
    return float(-special.ndtri((1.0 - confidence) / 2.0))


def few_clusters(clusters: int, confidence: float) -> float:
    """``(z / t)**2``: what the number of rows is worth where few clusters tell the variance."""
    if clusters < 2:
        return 0.0
    t = float(-special.stdtrit(clusters - 1, (1.0 - confidence) / 2.0))
    return (normal_quantile(confidence) / t) ** 2


def cluster_square(influence: FloatArray, group: IntArray | None) -> float:
    """Variance of a sum of centred `influence` values, whole groups being independent."""
    if group is None:
        return float(influence @ influence)
    _, codes = np.unique(group, return_inverse=True)
    sums = np.bincount(codes, weights=influence)
    return float(sums @ sums) * len(sums) / max(len(sums) - 1, 1)


def share_of(
    values: IntArray | FloatArray,
    weight: FloatArray | None = None,
    group: IntArray | None = None,
    *,
    confidence: float = 0.95,
) -> Share:
    """The weighted share of ones, and its effective number of rows.

    Parameters
    ----------
    values : ndarray of 0 and 1, shape (n,)
        At least one.
    weight : ndarray of float, shape (n,), optional
        One over the probability with which a row was drawn, up to a factor.
    group : ndarray of int, shape (n,), optional
        Rows of one group depend on one another.
    confidence : float
        Of the interval.

    Examples
    --------
    >>> share_of(np.array([1, 1, 0, 0])).effective
    4.0
    >>> share_of(np.array([1, 1, 0, 0]), group=np.array([0, 0, 1, 1])).effective < 1
    True
    """
    n = len(values)
    share = float(np.average(values, weights=weight))
    scaled = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    kish = 1.0 / float(scaled @ scaled)
    clusters = n if group is None else len(np.unique(group))
    effective = kish if group is None else min(kish, float(clusters))
    if 0.0 < share < 1.0:
        variance = cluster_square(scaled * (values - share), group)
        effective = min(kish, share * (1.0 - share) / variance) if variance > 0.0 else effective
    if group is not None:
        effective *= few_clusters(clusters, confidence)
    return Share(share, n, effective)
