r"""Observed and chance disagreement, the two terms of every agreement coefficient.

Each function takes weights of the distinct label patterns, one row for each of B replicates, and
returns both terms for all B at once. The point estimate is the row of the observed counts, so a
figure and its bootstrap cannot come from two formulas. Numbers in brackets: the references in
:mod:`riskjudge.agreement.coefficients`.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from riskjudge._typing import FloatArray
from riskjudge.agreement.labels import Level
from riskjudge.agreement.ratings import Ratings


class Disagreement(NamedTuple):
    """Observed disagreement and the disagreement that chance would bring, each of shape (B,)."""

    observed: FloatArray
    by_chance: FloatArray

    @property
    def coefficient(self) -> FloatArray:
        """``1 - observed / by_chance``; NaN (UNDEFINED) where chance brings no disagreement."""
        return 1.0 - _divide(self.observed, self.by_chance)


def percent(ratings: Ratings, weights: FloatArray, level: Level) -> Disagreement:
    """Pairs of labels within a unit that differ, averaged over units; nothing left to chance."""
    m = ratings.labels_per_unit
    unit = within_unit(ratings, ratings.values, Level.NOMINAL)
    share = unit / np.maximum(m * (m - 1) / 2, 1)
    observed = _divide(weights @ share, weights @ ratings.pairable)
    return Disagreement(observed, np.ones(len(weights)))


def kappa(ratings: Ratings, weights: FloatArray, level: Level) -> Disagreement:
    """Cohen's kappa of two raters, weighted by squared distance above the nominal level [1]."""
    weights = weights * ratings.pairable
    n = weights.sum(axis=1)
    first, second = (_pool(ratings, weights, rater) for rater in (0, 1))
    scores = _positions(ratings) if level is Level.ORDINAL else ratings.values
    observed = _divide(weights @ within_unit(ratings, scores, level), n)
    return Disagreement(observed, _divide(_between_pools(first, second, scores, level), n * n))


def fleiss(ratings: Ratings, weights: FloatArray, level: Level) -> Disagreement:
    """Fleiss' kappa [2]: all labels drawn from one pool."""
    pool = _pool(ratings, weights)
    by_chance = _between_pools(pool, pool, ratings.values, Level.NOMINAL)
    observed = percent(ratings, weights, level).observed
    return Disagreement(observed, _divide(by_chance, pool.sum(axis=1) ** 2))


def alpha(ratings: Ratings, weights: FloatArray, level: Level) -> Disagreement:
    """Krippendorff's alpha [3]: from one pool, without replacement."""
    # Summing a unit's pairs over (m - 1) and then over units is the sum over the coincidence
    # matrix of [3], without the matrix: V x V of it would not fit for continuous labels.
    m = ratings.labels_per_unit
    weights = weights * ratings.pairable
    pool = _pool(ratings, weights)
    n = pool.sum(axis=1)
    scores = _mid_ranks(pool) if level is Level.ORDINAL else ratings.values
    unit = 2.0 * within_unit(ratings, scores, level) / np.maximum(m - 1, 1)
    observed = _divide((weights * unit).sum(axis=1), n)
    by_chance = _divide(_between_pools(pool, pool, scores, level), n * (n - 1.0))
    return Disagreement(observed, by_chance)


def ac1(ratings: Ratings, weights: FloatArray, level: Level) -> Disagreement:
    """Gwet's AC1 [4]: only units on which raters guess agree by chance."""
    shares = ratings.value_counts() / ratings.labels_per_unit[:, None]
    prevalence = _divide(np.asarray(weights @ shares), weights.sum(axis=1)[:, None])
    guesses_agree = (prevalence * (1.0 - prevalence)).sum(axis=1) / (len(ratings.values) - 1)
    observed = percent(ratings, weights, level).observed
    return Disagreement(observed, 1.0 - guesses_agree)


def _squared_distance(a: FloatArray, b: FloatArray, level: Level) -> FloatArray:
    if level is Level.NOMINAL:
        return np.asarray(a != b, dtype=np.float64)
    difference = _divide(a - b, a + b, where_zero=0.0) if level is Level.RATIO else a - b
    return np.asarray(difference**2)


def within_unit(ratings: Ratings, scores: FloatArray, level: Level) -> FloatArray:
    """Sum of squared distances over the pairs of labels of each pattern.

    `scores` has shape (V,), or (B, V) where they differ by replicate; the result (P,) or (B, P).
    """
    total = np.zeros((*scores.shape[:-1], len(ratings.patterns)))
    for i, j in combinations(range(len(ratings.raters)), 2):
        a, b = ratings.patterns[:, i], ratings.patterns[:, j]
        distance = _squared_distance(scores[..., a], scores[..., b], level)
        total += np.where((a >= 0) & (b >= 0), distance, 0.0)
    return total


def _between_pools(
    first: FloatArray, second: FloatArray, scores: FloatArray, level: Level
) -> FloatArray:
    """Sum of squared distances over all pairs of a label in `first` and one in `second`.

    The pools have shape (B, V): how often each value occurs in each replicate.
    """
    n, m = first.sum(axis=1), second.sum(axis=1)
    differ: FloatArray = n * m - (first * second).sum(axis=1)
    if level is Level.NOMINAL:
        return differ
    if level is Level.RATIO:
        total = _ratio_between_pools(first, second, scores)
    else:
        # Centred, so that labels far from zero (years, say) lose no digits in the difference.
        s = scores - scores.mean(axis=-1, keepdims=True)
        total = m * (first * s**2).sum(axis=1) + n * (second * s**2).sum(axis=1)
        total -= 2.0 * (first * s).sum(axis=1) * (second * s).sum(axis=1)
    # Rounding must not turn the zero of a single label into a small distance.
    return np.where(differ > 0, total, 0.0)


def _ratio_between_pools(first: FloatArray, second: FloatArray, scores: FloatArray) -> FloatArray:
    total = np.zeros(len(first))
    for start in range(0, len(scores), 1024):  # in blocks: V x V would not fit for many values
        block = slice(start, start + 1024)
        distance = _squared_distance(scores[block, None], scores[None, :], Level.RATIO)
        total += ((first[:, block] @ distance) * second).sum(axis=1)
    return total


def _pool(ratings: Ratings, weights: FloatArray, rater: int | None = None) -> FloatArray:
    """How often each value occurs in each replicate, by one rater or all. Shape (B, V)."""
    return np.asarray(weights @ ratings.value_counts(rater))


def _positions(ratings: Ratings) -> FloatArray:
    """Position of each value, shape (V,): as declared, or among those on pairable units."""
    if ratings.declared:
        return np.arange(len(ratings.values), dtype=np.float64)
    used = np.unique(ratings.patterns[ratings.pairable])
    return np.asarray(np.searchsorted(used, np.arange(len(ratings.values))), dtype=np.float64)


def _mid_ranks(pool: FloatArray) -> FloatArray:
    """Mean rank of each value in the pool, shape (B, V).

    The ordinal distance of [3]_ between values c < k, ``sum(n[c..k]) - (n[c] + n[k]) / 2``, is the
    difference of their mean ranks: ordinal alpha is interval alpha on ranks.
    """
    return np.asarray(np.cumsum(pool, axis=1) - pool / 2.0)


def _divide(a: FloatArray, b: FloatArray, where_zero: float = np.nan) -> FloatArray:
    out: FloatArray = np.full(np.broadcast_shapes(a.shape, b.shape), where_zero)
    np.divide(a, b, out=out, where=b != 0)
    return out
