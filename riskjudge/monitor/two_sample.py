"""Exact and permutation tests of "two samples come from one population", from counts.

Everything is a table: a row of counts for each of two samples, over categories or over ordered bins.
If the pooled items are exchangeable, the new sample's row is a draw without replacement from the
column totals (multivariate hypergeometric), whatever the population. A test that compares the
observed statistic with that distribution has the promised level for every sample size, with ties
and empty cells, and assumes nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy import stats

from riskjudge._typing import FloatArray, IntArray

_BINS = 256
_TIE = 1.0 - 1e-9  # a statistic that differs by rounding only counts as equal


class Method(StrEnum):
    """How a p-value was computed."""

    EXACT = "exact"
    PERMUTATION = "permutation"


@dataclass(frozen=True, slots=True)
class TwoSample:
    """P-value of a comparison, and how it was computed.

    Both are None where there is nothing to compare: one side is empty, or all items are equal.
    """

    p_value: float | None
    method: Method | None


def compare_ordered(
    old: FloatArray, new: FloatArray, *, permutations: int, rng: np.random.Generator
) -> TwoSample:
    """Compare two distributions of a score: the Cramér-von Mises statistic, by permutation.

    Scores are first put into at most 256 bins between quantiles of the *pooled* scores; equal
    scores share a bin. The bins do not know which sample a score came from, so the test stays exact.

    Parameters
    ----------
    old, new : ndarray of float
        Without NaN.
    permutations : int
        The p-value is ``(1 + b) / (1 + permutations)``, where b counts the permuted statistics that
        are at least as large as the observed one.
    rng : np.random.Generator
        Source of randomness.

    References
    ----------
    T. W. Anderson, "On the distribution of the two-sample Cramér-von Mises criterion", Annals of
    Mathematical Statistics 33, 1962; B. Phipson, G. Smyth, "Permutation p-values should never be
    zero", 2010.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> compare_ordered(np.arange(50.0), np.arange(50.0) + 40, permutations=999, rng=rng)
    TwoSample(p_value=0.001, method=<Method.PERMUTATION: 'permutation'>)
    """
    edges = np.unique(
        np.quantile(np.concatenate((old, new)), np.arange(1, _BINS) / _BINS, method="lower")
        if len(old) + len(new)
        else np.zeros(0)
    )
    rows = [
        np.bincount(np.searchsorted(edges, values, side="left"), minlength=len(edges) + 1)
        for values in (old, new)
    ]
    return _test(rows[0], rows[1], ordered=True, permutations=permutations, rng=rng)


def compare_categories(
    old: IntArray, new: IntArray, *, permutations: int, rng: np.random.Generator
) -> TwoSample:
    """Compare two rows of counts: Pearson's statistic, exactly for two categories.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> table = np.array([8, 2]), np.array([1, 9])
    >>> round(compare_categories(*table, permutations=999, rng=rng).p_value, 4)
    0.0055
    """
    return _test(old, new, ordered=False, permutations=permutations, rng=rng)


def gap_of_distributions(old: FloatArray, new: FloatArray) -> float | None:
    """Largest distance of two empirical distribution functions (Kolmogorov-Smirnov)."""
    if not len(old) or not len(new):
        return None
    points = np.unique(np.concatenate((old, new)))
    share = [np.searchsorted(np.sort(v), points, side="right") / len(v) for v in (old, new)]
    return float(np.abs(share[0] - share[1]).max())


def gap_of_shares(old: IntArray, new: IntArray) -> float | None:
    """Largest difference of the share of any category."""
    if not old.sum() or not new.sum():
        return None
    return float(np.abs(old / old.sum() - new / new.sum()).max())


def holm(p_values: list[float | None]) -> list[float | None]:
    """Holm's adjusted p-values; what has none is not counted.

    Examples
    --------
    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    known = [i for i, p in enumerate(p_values) if p is not None]
    known.sort(key=lambda i: p_values[i] or 0.0)
    adjusted: list[float | None] = [None] * len(p_values)
    running = 0.0
    for rank, i in enumerate(known):
        running = max(running, (len(known) - rank) * (p_values[i] or 0.0))
        adjusted[i] = min(1.0, running)
    return adjusted


def _test(
    old: IntArray, new: IntArray, *, ordered: bool, permutations: int, rng: np.random.Generator
) -> TwoSample:
    used = (old + new) > 0
    old, new = old[used], new[used]
    totals, m = old + new, int(new.sum())
    if not old.sum() or not m or len(totals) == 1:
        # Decided by the pooled items alone, so that it may be left out of Holm's count.
        return TwoSample(None, None)
    measure = _cramer_von_mises if ordered else _pearson
    observed = measure(new[None, :], totals)[0]
    if len(totals) == 2:
        first = np.arange(max(0, m - totals[1]), min(m, totals[0]) + 1)
        chance = stats.hypergeom.pmf(first, totals.sum(), totals[0], m)
        extreme = measure(np.column_stack((first, m - first)), totals) >= observed * _TIE
        return TwoSample(float(min(1.0, chance[extreme].sum())), Method.EXACT)
    drawn = rng.multivariate_hypergeometric(totals, m, size=permutations, method="marginals")
    extreme = measure(drawn, totals) >= observed * _TIE
    return TwoSample(
        float((1 + np.count_nonzero(extreme)) / (1 + permutations)), Method.PERMUTATION
    )


def _pearson(new: IntArray, totals: IntArray) -> FloatArray:
    """Pearson's statistic of each row, up to a factor that is the same for all rows."""
    expected = totals * (new[0].sum() / totals.sum())
    return np.asarray(((new - expected) ** 2 / totals).sum(axis=1))


def _cramer_von_mises(new: IntArray, totals: IntArray) -> FloatArray:
    """Squared gaps of the distribution functions, weighted by the pooled counts; same remark."""
    expected = np.cumsum(totals) * (new[0].sum() / totals.sum())
    return np.asarray(((np.cumsum(new, axis=1) - expected) ** 2 * totals).sum(axis=1))
