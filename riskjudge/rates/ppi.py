r"""Prediction-powered inference: the judge's rate, plus what the labels say it is wrong by.

.. math:: \hat\theta = \lambda \bar f_N + \overline{(y - \lambda f)}_n

with the judge's verdicts `f` on the `N` rows without a label and on the `n` rows with one. PPI has
:math:`\lambda = 1` ([1]_); PPI++ takes the :math:`\lambda` that makes the estimated variance
smallest, so that a useless judge does no harm ([2]_). Both intervals are normal, and too short where
few labels are passes or few are failures.

References
----------
.. [1] A. N. Angelopoulos et al., "Prediction-powered inference", Science 382, 2023.
.. [2] A. N. Angelopoulos, J. C. Duchi, T. Zrnic, "PPI++: efficient prediction-powered inference",
   arXiv:2311.01453, 2023.
"""

from __future__ import annotations

import math

import numpy as np

from riskjudge._typing import FloatArray
from riskjudge.proportion import cluster_square, few_clusters, normal_quantile
from riskjudge.rates.estimate import Estimate, undefined
from riskjudge.rates.sample import RateSample

ASSUMPTIONS = (
    "labelled rows are a random draw of all rows",
    "a row without a verdict is predicted to fail; labels correct for it",
    "enough labels of both kinds for the normal approximation",
)


def ppi(sample: RateSample, *, confidence: float = 0.95) -> Estimate:
    """Prediction-powered inference without tuning.

    Examples
    --------
    >>> verdicts = np.repeat([0, 1], 500)
    >>> labels = np.where(np.arange(1000) % 7 == 0, verdicts, -1)
    >>> round(ppi(RateSample.from_arrays(verdicts, labels)).estimate, 3)
    0.501
    """
    return _powered(sample, 1.0, "PPI", confidence)


def ppi_plus_plus(sample: RateSample, *, confidence: float = 0.95) -> Estimate:
    """PPI++: the weight of the judge is tuned to the labels; it lies between 0 and 1."""
    return _powered(sample, None, "PPI++", confidence)


def _powered(sample: RateSample, tuning: float | None, method: str, confidence: float) -> Estimate:
    labels, verdicts, weight, group = sample.drawn()
    n = len(labels)
    if n < 2:
        return undefined(method, "fewer than two labels", n, len(sample), confidence)
    rest = ~sample.labelled
    drawn = np.full(n, 1.0) if weight is None else weight * (n / weight.sum())
    # With unequal weights the rows without a label are no random draw of all rows, so the mean of
    # the judge is taken over all of them.
    pool = np.ones(len(sample), dtype=bool) if sample.unequal else rest
    if not pool.any():
        pool = np.ones(len(sample), dtype=bool)
    there = (sample.verdicts[pool] == 1).astype(np.float64)
    here = (verdicts == 1).astype(np.float64)
    lam = _tuned(labels.astype(np.float64), here, there, drawn) if tuning is None else tuning
    rectifier = labels - lam * here
    correction = float(drawn @ rectifier) / n
    mean = lam * float(there.mean())
    moved = np.zeros(len(sample))
    moved[pool] += (lam * there - mean) / len(there)
    moved[sample.labelled] += drawn * (rectifier - correction) / n
    if group is None:
        alone = np.zeros(len(sample))
        alone[sample.labelled] = drawn * (rectifier - correction) / n
        variance = cluster_square(alone, None) + lam**2 * float(there.var()) / len(there)
    else:
        variance = cluster_square(moved, sample.group)
        variance /= max(few_clusters(len(np.unique(group)), confidence), 1e-12)
    half = normal_quantile(confidence) * math.sqrt(variance)
    value = mean + correction
    return Estimate(
        method,
        value,
        max(value - half, 0.0),
        min(value + half, 1.0),
        n,
        len(sample),
        confidence,
        ASSUMPTIONS,
        {"lambda": lam},
    )


def _tuned(labels: FloatArray, here: FloatArray, there: FloatArray, drawn: FloatArray) -> float:
    """Eq. 7 of [2]_ for a mean, cut off at 0 and 1."""
    n = len(labels)
    spread = float(np.var(np.concatenate([here, there]), ddof=1))
    if spread == 0.0:
        return 0.0
    y, f = labels - drawn @ labels / n, here - drawn @ here / n
    covariance = float(drawn @ (y * f)) / n
    return float(np.clip(covariance / ((1.0 + n / len(there)) * spread), 0.0, 1.0))
