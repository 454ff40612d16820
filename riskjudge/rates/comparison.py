r"""Which system is better: differences of corrected rates, and a ranking that holds as a whole.

The limits of a difference are recovered from those of the two rates and their correlation ([1]_):
with :math:`[l_a, u_a]`, :math:`[l_b, u_b]` and :math:`\rho`,

.. math:: L = d - \sqrt{(a - l_a)^2 - 2 \rho (a - l_a)(u_b - b) + (u_b - b)^2}.

The correlation comes from what each group of rows (answers to one question, say) adds to either
estimate; without groups the systems are taken as independent. Of several systems all pairs are
compared at once, at the quantile of the largest of the standardised differences under normality, so
that with the wanted confidence *every* interval holds. The ranks that these intervals leave open are
the ranking ([2]_).

References
----------
.. [1] R. G. Newcombe, "Improved confidence intervals for the difference between binomial proportions
   based on paired data", Statistics in Medicine 17, 1998.
.. [2] M. Klein, T. Wright, J. Wieczorek, "A joint confidence region for an overall ranking of
   populations", J. R. Stat. Soc. C 69, 2020.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from riskjudge._typing import FloatArray
from riskjudge.proportion import normal_quantile
from riskjudge.rates.cells import make_cells
from riskjudge.rates.sample import RateSample
from riskjudge.rates.stratified import Strata, influence, of_one_group, strata_of

_DRAWS = 20_000
_MOST_PAIRS = 500


@dataclass(frozen=True, slots=True)
class Difference:
    """How much better `better` is than `than`: the difference of their corrected rates.

    Attributes
    ----------
    better, than : str
        The one with the higher estimate first.
    estimate, low, high : float
        With the interval of this one comparison.
    simultaneous : tuple of float
        Limits that hold for all comparisons together.
    told_apart : bool
        Whether the simultaneous interval leaves 0 out.
    """

    better: str
    than: str
    estimate: float
    low: float
    high: float
    simultaneous: tuple[float, float]
    told_apart: bool

    def sentence(self) -> str:
        """What the comparison says, in words."""
        if self.told_apart:
            return f"{self.better} is better than {self.than}"
        return f"{self.better} and {self.than} cannot be told apart"

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary."""
        return {
            "better": self.better,
            "than": self.than,
            "estimate": self.estimate,
            "interval": [self.low, self.high],
            "simultaneous_interval": list(self.simultaneous),
            "told_apart": self.told_apart,
            "sentence": self.sentence(),
        }


@dataclass(frozen=True, slots=True)
class Ranking:
    """Systems by corrected rate, with the ranks that the data leave open.

    Attributes
    ----------
    systems : tuple of str
        The best estimate first.
    ranks : tuple of (int, int)
        Best and worst rank of each, all of them right together with the wanted confidence.
    differences : tuple of Difference
        All pairs, in the order of the ranking.
    left_out : tuple of str
        Systems whose corrected rate is undefined.
    paired : bool
        Whether groups tie the systems together.
    confidence, critical : float
        Nominal level, and the quantile that stands in for that of the normal distribution.
    """

    systems: tuple[str, ...]
    ranks: tuple[tuple[int, int], ...]
    differences: tuple[Difference, ...]
    left_out: tuple[str, ...]
    paired: bool
    confidence: float
    critical: float

    @property
    def perhaps_best(self) -> tuple[str, ...]:
        """Systems that may be the best."""
        return tuple(s for s, (best, _) in zip(self.systems, self.ranks, strict=True) if best == 1)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary."""
        return {
            "systems": [
                {"system": system, "rank": list(rank)}
                for system, rank in zip(self.systems, self.ranks, strict=True)
            ],
            "perhaps_best": list(self.perhaps_best),
            "left_out": list(self.left_out),
            "paired": self.paired,
            "confidence": self.confidence,
            "critical": self.critical,
        }


def rank_systems(
    samples: Mapping[str, RateSample], *, confidence: float = 0.95, seed: int = 0
) -> Ranking:
    """Compare all pairs of systems.

    Parameters
    ----------
    samples : mapping of str to RateSample
        Rows of each system. Their groups are numbered alike: the same number is the same group.
    seed : int
        Of the simulation of the largest difference.
    confidence : float
        Of the interval.

    Examples
    --------
    >>> verdicts = np.repeat([1, 0], [900, 100])
    >>> good = RateSample.from_arrays(verdicts, verdicts)
    >>> bad = RateSample.from_arrays(1 - verdicts, 1 - verdicts)
    >>> rank_systems({"a": bad, "b": good}).differences[0].sentence()
    'b is better than a'
    """
    strata: dict[str, Strata] = {}
    moved: dict[str, FloatArray] = {}
    values: dict[str, float] = {}
    for name in sorted(samples):
        sample = samples[name]
        if sample.n_labelled == 0 or of_one_group(sample):
            continue
        cells = make_cells(sample)
        found = strata_of(sample, cells, confidence)
        value, _, _ = found.interval(confidence)
        if value is not None:
            strata[name], values[name] = found, value
            moved[name] = influence(sample, cells, found)
    order = sorted(values, key=lambda name: (-values[name], name))
    left_out = tuple(sorted(set(samples) - set(order)))
    paired = all(samples[name].group is not None for name in order)
    covariance = _covariance([samples[name] for name in order], [moved[name] for name in order])
    z = normal_quantile(confidence)
    single = _limits([strata[name] for name in order], confidence)
    spread = np.maximum((single[:, 1] - single[:, 0]) / (2.0 * z), np.sqrt(np.diag(covariance)))
    correlation = _correlation(covariance, spread)
    critical = _critical(correlation, spread, confidence, seed)
    joint = _limits([strata[name] for name in order], 1.0 - 2.0 * float(stats.norm.sf(critical)))
    estimates = np.array([values[name] for name in order])
    differences = []
    for i, j in itertools.combinations(range(len(order)), 2):
        low, high = _difference(estimates, single, correlation[i, j], i, j)
        least, most = _difference(estimates, joint, correlation[i, j], i, j)
        differences.append(
            Difference(
                order[i],
                order[j],
                float(estimates[i] - estimates[j]),
                low,
                high,
                (least, most),
                bool(least > 0.0 or most < 0.0),
            )
        )
    return Ranking(
        tuple(order),
        _ranks(order, differences),
        tuple(differences),
        left_out,
        paired,
        confidence,
        critical,
    )


def _limits(strata: Sequence[Strata], confidence: float) -> FloatArray:
    """Interval of each system, shape (K, 2)."""
    return np.array([found.interval(confidence)[1:] for found in strata]).reshape(-1, 2)


def _covariance(samples: Sequence[RateSample], moved: Sequence[FloatArray]) -> FloatArray:
    """Covariance of the estimates, groups being independent of one another, shape (K, K)."""
    if not samples or any(sample.group is None for sample in samples):
        return np.diag([float(row @ row) for row in moved])
    groups = [sample.group for sample in samples if sample.group is not None]
    count = 1 + max(int(group.max()) for group in groups)
    sums = np.stack(
        [np.bincount(g, weights=m, minlength=count) for g, m in zip(groups, moved, strict=True)]
    )
    there = np.zeros(count, dtype=bool)
    for group in groups:
        there[group] = True
    used = int(there.sum())
    return np.asarray(sums @ sums.T) * (used / max(used - 1, 1))


def _correlation(covariance: FloatArray, spread: FloatArray) -> FloatArray:
    """Correlation of the estimates, drawn in where their intervals know of more spread.

    A cell in which all labels agree adds to an interval and nothing to the covariance; what is
    shared by two systems is then a smaller share of the spread. A negative correlation widens the
    interval of a difference, and is not drawn in.
    """
    own = np.sqrt(np.diag(covariance))
    with np.errstate(divide="ignore", invalid="ignore"):
        wide = covariance / np.outer(spread, spread)
        narrow = covariance / np.outer(own, own)
    correlation = np.nan_to_num(np.where(covariance > 0.0, wide, narrow), nan=0.0)
    np.fill_diagonal(correlation, 1.0)
    return np.asarray(np.clip(correlation, -1.0, 1.0))


def _critical(correlation: FloatArray, spread: FloatArray, confidence: float, seed: int) -> float:
    """Quantile of the largest standardised difference of all pairs."""
    k = len(spread)
    pairs = list(itertools.combinations(range(k), 2))
    if len(pairs) < 2:
        return normal_quantile(confidence)
    bonferroni = normal_quantile(1.0 - (1.0 - confidence) / len(pairs))
    if len(pairs) > _MOST_PAIRS:
        return bonferroni
    covariance = correlation * np.outer(spread, spread)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    draws = np.random.default_rng(seed).standard_normal((_DRAWS, k)) @ root.T
    largest = np.zeros(_DRAWS)
    for i, j in pairs:
        sd = math.sqrt(max(covariance[i, i] + covariance[j, j] - 2.0 * covariance[i, j], 0.0))
        if sd > 0.0:
            largest = np.maximum(largest, np.abs(draws[:, i] - draws[:, j]) / sd)
    quantile = float(np.quantile(largest, confidence, method="higher"))
    return min(max(quantile, normal_quantile(confidence)), bonferroni)


def _difference(
    estimates: FloatArray, limits: FloatArray, rho: float, i: int, j: int
) -> tuple[float, float]:
    """Limits of the difference of system `i` and system `j`."""
    value = float(estimates[i] - estimates[j])
    down, up = estimates - limits[:, 0], limits[:, 1] - estimates
    low = value - math.sqrt(max(down[i] ** 2 - 2 * rho * down[i] * up[j] + up[j] ** 2, 0.0))
    high = value + math.sqrt(max(up[i] ** 2 - 2 * rho * up[i] * down[j] + down[j] ** 2, 0.0))
    return max(low, -1.0), min(high, 1.0)


def _ranks(order: Sequence[str], differences: Sequence[Difference]) -> tuple[tuple[int, int], ...]:
    """Best and worst rank: one more than are surely better, and all but those surely worse."""
    better = dict.fromkeys(order, 0)
    worse = dict.fromkeys(order, 0)
    for found in differences:
        if found.told_apart:
            better[found.than] += 1
            worse[found.better] += 1
    return tuple((1 + better[name], len(order) - worse[name]) for name in order)
