"""Rates of the whole, of each system, and how the systems compare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from riskjudge._typing import IntArray, ObjectArray
from riskjudge.rates.comparison import Ranking, rank_systems
from riskjudge.rates.estimate import Estimate
from riskjudge.rates.pooled import pooled_rates, same_error_rates
from riskjudge.rates.report import RateReport, estimate_rates
from riskjudge.rates.sample import RateSample


@dataclass(frozen=True, slots=True)
class SystemRates:
    """Rates by system.

    Attributes
    ----------
    whole : RateReport
        Over the rows of all systems.
    by : str or None
        The column that names the system.
    systems : mapping of str to RateReport
    ranking : Ranking or None
        None without systems.
    pooled : mapping of str to Estimate
        Rates by pooled error rates of the judge, where they were asked for.
    same_judge : tuple of float or None
        The p-values that belong to them.
    """

    whole: RateReport
    by: str | None
    systems: Mapping[str, RateReport]
    ranking: Ranking | None
    pooled: Mapping[str, Estimate]
    same_judge: tuple[float | None, float | None] | None

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary: the whole, and below it the systems."""
        data = self.whole.to_dict()
        if self.by is None or self.ranking is None:
            return data
        data["by"] = self.by
        data["systems"] = {}
        for name, report in self.systems.items():
            data["systems"][name] = report.to_dict()
            if self.pooled:
                data["systems"][name]["rogan_gladen_pooled"] = self.pooled[name].to_dict()
        data["differences"] = [found.to_dict() for found in self.ranking.differences]
        data["ranking"] = self.ranking.to_dict()
        if self.same_judge is not None:
            data["same_judge"] = dict(zip(("tpr_p", "tnr_p"), self.same_judge, strict=True))
        return data


def rate_systems(
    sample: RateSample,
    system: ObjectArray | None = None,
    *,
    by: str = "system",
    confidence: float = 0.95,
    pool_judge: bool = False,
    seed: int = 0,
) -> SystemRates:
    """Rates of all rows, and of each system.

    Parameters
    ----------
    sample : RateSample
    system : ndarray of str, shape (n,), optional
        Whose answer each row is.
    by : str
        Name of the column `system` came from.
    pool_judge : bool
        Also correct each system by the judge's error rates over all systems.
    confidence : float
        Of the interval.
    seed : int
        Seeds whatever is drawn at random.

    Examples
    --------
    >>> verdicts = np.tile([1, 1, 0, 1], 100)
    >>> sample = RateSample.from_arrays(verdicts, verdicts)
    >>> rates = rate_systems(sample, np.repeat(["a", "b"], 200).astype(object))
    >>> rates.systems["a"].corrected.estimate, rates.ranking.perhaps_best
    (0.75, ('a', 'b'))
    """
    if system is None:
        whole = estimate_rates(sample, confidence=confidence, seed=seed)
        return SystemRates(whole, None, {}, None, {}, None)
    names, code = np.unique(system.astype(str), return_inverse=True)
    samples = {str(name): sample.rows(code == i) for i, name in enumerate(names)}
    systems = {
        name: estimate_rates(some, confidence=confidence, seed=seed)
        for name, some in samples.items()
    }
    pooled: Mapping[str, Estimate] = {}
    same = None
    if pool_judge:
        pooled, same = pooled_rates(samples, confidence=confidence), same_error_rates(samples)
    return SystemRates(
        estimate_rates(_by_system(sample, code), confidence=confidence, seed=seed),
        by,
        systems,
        rank_systems(samples, confidence=confidence, seed=seed),
        pooled,
        same,
    )


def _by_system(sample: RateSample, code: IntArray) -> RateSample:
    """The rows of all systems, with systems as strata where they were not labelled alike."""
    if sample.stratum is not None:
        return replace(sample, stratum=sample.stratum * (int(code.max()) + 1) + code)
    size = int(code.max()) + 1
    halves = (sample.labelled, ~sample.labelled)
    table = np.stack([np.bincount(code[on], minlength=size) for on in halves])
    table = table[:, table.sum(axis=0) > 0]
    if (table.sum(axis=1) == 0).any() or table.shape[1] < 2:
        return sample
    alike = stats.chi2_contingency(table, correction=False).pvalue >= 1e-3
    return sample if alike else replace(sample, stratum=code.astype(np.int64))
