r"""Intervals of agreement coefficients: a bootstrap over units, held open by an exact binomial end.

The percentile bootstrap over units is what comparisons of intervals for kappa and alpha recommend
([1]_). It fails where it matters most: a judge that disagreed on no unit, or on one, gives
replicates that are all 1, or nearly so, however few the units are. So each end is at least as far
out as an exact one. If `k` of `n` units show any disagreement, the Clopper-Pearson interval of that
share, times the size of a disagreement, gives the ends :math:`1 - \text{share} \times \text{size}`.
For two raters and nominal labels the size is :math:`1 / D_e`, and this is the coefficient at the
exact ends of percent agreement. Elsewhere disagreements differ in size; one not seen yet is taken
to be as large as a disagreement by chance, and is averaged with the `k` that were seen.

Where units come in groups (answers to one question, say), whole groups are resampled, and the exact
interval is that of the effective number of units: their number over the design effect that the
bootstrap shows ([2]_). With no disagreement to learn a design effect from, it is the number of
groups.

The intervals are approximate: the bootstrap holds for many units only, and the exact end takes the
chance term as known. The tests measure their coverage.

References
----------
.. [1] A. Zapf et al., "Measuring inter-rater reliability for nominal data: which coefficients and
   confidence intervals are appropriate?", BMC Med. Res. Methodol. 16:93, 2016.
.. [2] E. L. Korn, B. I. Graubard, "Confidence intervals for proportions with small expected number
   of positive counts estimated from survey data", Survey Methodology 24, 1998.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy import sparse, special

from riskjudge._typing import FloatArray, IntArray
from riskjudge.agreement.coefficients import Coefficient, disagreement
from riskjudge.agreement.disagreement import within_unit
from riskjudge.agreement.labels import Level
from riskjudge.agreement.ratings import Ratings

_CELLS = 1 << 22
"""Replicates are drawn in chunks of about this many numbers (32 MB)."""


def estimate(
    coefficients: Sequence[Coefficient],
    ratings: Ratings,
    level: Level,
    *,
    rater: int | None = None,
    groups: IntArray | None = None,
    confidence: float = 0.95,
    replicates: int = 2000,
    rng: np.random.Generator,
) -> dict[Coefficient, tuple[float, float, float]]:
    """Value, lower end and upper end of coefficients that are defined on the ratings.

    Parameters
    ----------
    rater : int, optional
        Measure this rater against the others; by default all are one pool.
    groups : ndarray of int, shape (N,), optional
        Group of each labelled unit, numbered from 0. Without it, units are independent.
    coefficients : Sequence[Coefficient]
        Names of the coefficients.
    ratings : Ratings
        What the raters said.
    level : Level
        Significance at which it is tested.
    confidence : float
        Of the interval.
    replicates : int
        Simulated repetitions.
    rng : np.random.Generator
        Source of randomness.

    Notes
    -----
    All coefficients are computed on the same replicates.
    """
    seen, spread = (ratings, None) if rater is None else ratings.against(rater)
    observed = seen.counts[None, :].astype(np.float64)
    disagrees = (within_unit(seen, seen.values, Level.NOMINAL) > 0).astype(np.float64)
    draws: dict[Coefficient, list[FloatArray]] = {name: [] for name in coefficients}
    shares = []
    for drawn in _replicates(ratings, groups, replicates, rng):
        weights = drawn if spread is None else np.asarray(drawn @ spread)
        shares.append((weights @ disagrees) / np.maximum(weights @ seen.pairable, 1))
        for name in coefficients:
            draws[name].append(disagreement(name, seen, weights, level).coefficient)

    n = round((observed @ seen.pairable)[0])
    share = float((observed @ disagrees)[0]) / n
    units = float(n)
    if groups is not None:
        units = _effective_units(share, n, np.concatenate(shares), int(groups.max()) + 1)
    result = {}
    for name in coefficients:
        value = float(disagreement(name, seen, observed, level).coefficient[0])
        chance = float(disagreement(name, seen, observed, Level.NOMINAL).by_chance[0])
        exact = _exact_ends(value, share * units, units, chance, confidence)
        bootstrap = _percentiles(np.concatenate(draws[name]), confidence)
        ends = [value, *exact, *bootstrap]
        result[name] = value, max(min(ends), -1.0), min(max(ends), 1.0)
    return result


def share_interval(k: float, n: float, confidence: float) -> tuple[float, float]:
    """Two-sided Clopper-Pearson interval of a share; the counts may be effective, not whole.

    Examples
    --------
    >>> [round(end, 4) for end in share_interval(0, 10, 0.95)]
    [0.0, 0.3085]
    """
    tail = (1.0 - confidence) / 2.0
    low = float(special.betaincinv(k, n - k + 1.0, tail)) if k > 0 else 0.0
    high = float(special.betainccinv(k + 1.0, n - k, tail)) if k < n else 1.0
    return low, high


def _exact_ends(
    value: float, disagreeing: float, n: float, chance: float, confidence: float
) -> tuple[float, float]:
    """Ends from the exact interval of the share of disagreeing units.

    `chance` is the probability that two labels differ by chance, so ``1 / chance`` is the size of a
    disagreement by chance on the scale on which the mean size is ``1 - value``.
    """
    size = ((1.0 - value) * n + 1.0 / chance) / (disagreeing + 1.0)
    least, most = share_interval(disagreeing, n, confidence)
    return 1.0 - size * most, 1.0 - size * least


def _percentiles(draws: FloatArray, confidence: float) -> list[float]:
    """Percentile interval; a replicate with one label only has no value and is left out."""
    defined = draws[~np.isnan(draws)]
    tail = (1.0 - confidence) / 2.0
    ends: list[float] = np.quantile(defined, [tail, 1.0 - tail]).tolist() if len(defined) else []
    return ends


def _replicates(
    ratings: Ratings, groups: IntArray | None, replicates: int, rng: np.random.Generator
) -> Iterator[FloatArray]:
    """Draw bootstrap replicates as pattern weights, in chunks of shape (b, P)."""
    cells = ratings.counts if groups is None else np.ones(int(groups.max()) + 1, dtype=np.int64)
    total = int(cells.sum())
    if groups is not None:
        entries = (np.ones(len(groups)), (groups, ratings.unit_pattern))
        of_group = sparse.csr_array(entries, shape=(total, len(ratings.patterns)))
    chunk = max(1, _CELLS // max(len(cells), len(ratings.patterns), len(ratings.values)))
    for start in range(0, replicates, chunk):
        size = min(chunk, replicates - start)
        drawn = rng.multinomial(total, cells / total, size=size).astype(np.float64)
        yield drawn if groups is None else np.asarray(drawn @ of_group)


def _effective_units(share: float, n: int, draws: FloatArray, groups: int) -> float:
    """Independent units that would tell `share` as precisely as the grouped units do ([2]_)."""
    variance = float(np.var(draws))
    if not 0.0 < share < 1.0 or variance == 0.0:
        return float(min(n, groups))
    return min(float(n), share * (1.0 - share) / variance)
