r"""A finite-sample interval: bets against every value of the judge's error.

The rate is the judge's share plus the mean of :math:`y - f`, what the judge is wrong by. A gambler
who bets against a supposed mean of bounded variables cannot expect to gain if it is the true one, so
the values against which the wealth stays below :math:`2/\alpha` on either side make an interval that
holds for every number of labels ([1]_, hedged capital with predictable plug-in bets). The judge's
share has its exact interval at a tenth of :math:`\alpha`; the union of the two costs nothing else.

Nothing is approximate here, and the price is width.

References
----------
.. [1] I. Waudby-Smith, A. Ramdas, "Estimating means of bounded random variables by betting",
   J. R. Stat. Soc. B 86, 2024 (arXiv:2010.09686).
"""

from __future__ import annotations

import math

import numpy as np

from riskjudge._typing import FloatArray
from riskjudge.proportion import clopper_pearson
from riskjudge.rates.estimate import Estimate, undefined
from riskjudge.rates.sample import RateSample

METHOD = "betting"
ASSUMPTIONS = (
    "labelled rows are a random draw of all rows",
    "rows are independent of one another",
)
_SHARE = 0.1
_TRUNCATE = 0.75
_STEPS = 40


def finite_sample(sample: RateSample, *, confidence: float = 0.95, seed: int = 0) -> Estimate:
    """The betting interval.

    Parameters
    ----------
    seed : int
        The order of the bets is drawn at random, from the labelled rows ordered by id.
    sample : RateSample
        The labelled items.
    confidence : float
        Of the interval.

    Examples
    --------
    >>> verdicts = np.repeat([0, 1], 5000)
    >>> labels = np.where(np.arange(10000) % 50 == 0, verdicts, -1)
    >>> found = finite_sample(RateSample.from_arrays(verdicts, labels))
    >>> found.low < 0.5 < found.high
    True
    """
    n = sample.n_labelled
    if n == 0:
        return undefined(METHOD, "there are no labels", 0, len(sample), confidence)
    if sample.unequal:
        why = "labels were drawn with unequal probabilities"
        return undefined(METHOD, why, n, len(sample), confidence)
    if sample.group is not None and len(np.unique(sample.group)) < len(sample):
        return undefined(METHOD, "rows depend on one another", n, len(sample), confidence)
    alpha = 1.0 - confidence
    ids = sample.item_id[sample.labelled].astype(str)
    order = np.random.default_rng(seed).permutation(n)
    labels, verdicts, _, _ = sample.drawn()
    wrong_by = (labels - (verdicts == 1))[np.argsort(ids, kind="stable")][order]
    low, high = mean_interval((wrong_by + 1.0) / 2.0, 1.0 - alpha * (1.0 - _SHARE))
    passes = float(np.mean(sample.verdicts == 1))
    least, most = clopper_pearson(passes, len(sample), 1.0 - alpha * _SHARE)
    value = passes + float(wrong_by.mean())
    return Estimate(
        METHOD,
        min(max(value, 0.0), 1.0),
        max(float(least) + 2.0 * low - 1.0, 0.0),
        min(float(most) + 2.0 * high - 1.0, 1.0),
        n,
        len(sample),
        confidence,
        ASSUMPTIONS,
    )


def mean_interval(values: FloatArray, confidence: float) -> tuple[float, float]:
    """Interval of the mean of independent values in [0, 1], in the order of the bets.

    Examples
    --------
    >>> low, high = mean_interval(np.resize([0.0, 1.0], 100), 0.95)
    >>> round(low, 2), round(high, 2)
    (0.37, 0.63)
    """
    alpha = 1.0 - confidence
    t = np.arange(1, len(values) + 1)
    means = (0.5 + np.cumsum(values)) / (t + 1)
    spreads = (0.25 + np.cumsum((values - means) ** 2)) / (t + 1)
    before = np.concatenate([[0.25], spreads[:-1]])
    bets = np.sqrt(2.0 * math.log(2.0 / alpha) / (len(values) * before))
    low = _rejected_below(values, bets, math.log(2.0 / alpha))
    high = 1.0 - _rejected_below(1.0 - values, bets, math.log(2.0 / alpha))
    return low, high


def _rejected_below(values: FloatArray, bets: FloatArray, limit: float) -> float:
    """The largest mean so small that betting on more would have won: the wealth falls in it."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        mean = (low + high) / 2.0
        stake = np.minimum(bets, _TRUNCATE / mean)
        wealth = float(np.sum(np.log1p(stake * (values - mean))))
        low, high = (mean, high) if wealth >= limit else (low, mean)
    return low
