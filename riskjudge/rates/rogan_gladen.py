r"""The judge's rate, corrected by its true positive and true negative rates.

.. math:: \hat\theta = (\hat p + \mathrm{TNR} - 1) / (\mathrm{TPR} + \mathrm{TNR} - 1)

([1]_). The interval is that of Lang and Reiczigel ([2]_), which carries the uncertainty of the two
rates and of the judge's own share; reports on language models as judges advise it ([3]_). Where
TPR + TNR is not above 1 the judge tells passes from failures no better than a coin does, and the
rate is UNDEFINED.

References
----------
.. [1] W. J. Rogan, B. Gladen, "Estimating prevalence from the results of a screening test",
   American Journal of Epidemiology 107, 1978.
.. [2] Z. Lang, J. Reiczigel, "Confidence limits for prevalence of disease adjusted for estimated
   sensitivity and specificity", Preventive Veterinary Medicine 113, 2014.
.. [3] C. Lee et al., "How to correctly report LLM-as-a-judge evaluations", arXiv:2511.21140, 2025.
"""

from __future__ import annotations

import math

import numpy as np

from riskjudge._typing import FloatArray, IntArray
from riskjudge.proportion import Share, normal_quantile, share_of
from riskjudge.rates.estimate import Estimate, undefined
from riskjudge.rates.sample import RateSample

METHOD = "Rogan-Gladen"
ASSUMPTIONS = (
    "among right answers, and among wrong ones, labelled rows are a random draw",
    "rows without a verdict are like the others",
)


def rogan_gladen(sample: RateSample, *, confidence: float = 0.95) -> Estimate:
    """The Rogan-Gladen rate with the interval of Lang and Reiczigel.

    Examples
    --------
    >>> verdicts = np.repeat([1, 0], [600, 400])
    >>> labels = np.full(1000, -1)
    >>> labels[:100], labels[600:700] = np.repeat([1, 0], [90, 10]), np.repeat([1, 0], [10, 90])
    >>> found = rogan_gladen(RateSample.from_arrays(verdicts, labels))
    >>> round(found.estimate, 3), found.detail["tpr"]
    (0.625, 0.9)
    """
    labels, verdicts, weight, group = sample.drawn()
    n = int(np.count_nonzero(verdicts >= 0))
    whole = int(np.count_nonzero(sample.verdicts >= 0))
    tpr, tnr = judge_shares(labels, verdicts, weight, group, confidence)
    if tpr is None or tnr is None:
        which = "passes" if tpr is None else "failures"
        why = f"no label says {which} on a row with a verdict: the judge's error rate there is unknown"
        return undefined(METHOD, why, n, whole, confidence)
    own = own_share(sample, confidence)
    return corrected(own, tpr, tnr, n, whole, confidence, METHOD, ASSUMPTIONS)


def judge_shares(
    labels: IntArray,
    verdicts: IntArray,
    weight: FloatArray | None,
    group: IntArray | None,
    confidence: float,
) -> tuple[Share | None, Share | None]:
    """True positive and true negative rate of the verdicts; None where no label is of that kind."""
    shares: list[Share | None] = []
    for truth in (1, 0):
        on = (labels == truth) & (verdicts >= 0)
        shares.append(
            share_of(
                (verdicts[on] == truth).astype(np.int64),
                None if weight is None else weight[on],
                None if group is None else group[on],
                confidence=confidence,
            )
            if on.any()
            else None
        )
    return shares[0], shares[1]


def own_share(sample: RateSample, confidence: float) -> Share:
    """Share of passes among the judge's verdicts, of which there is at least one."""
    judged = sample.verdicts >= 0
    group = None if sample.group is None else sample.group[judged]
    return share_of(sample.verdicts[judged], group=group, confidence=confidence)


def corrected(
    own: Share,
    tpr: Share,
    tnr: Share,
    n_labelled: int,
    n_all: int,
    confidence: float,
    method: str,
    assumptions: tuple[str, ...],
) -> Estimate:
    """Correct the judge's share `own` by its rates; the shares carry their effective numbers."""
    detail = {"tpr": tpr.value, "tnr": tnr.value, "judged": own.value}
    skill = tpr.value + tnr.value - 1.0
    if skill <= 0.0:
        why = f"TPR + TNR = {tpr.value + tnr.value:.3f} is not above 1"
        return undefined(method, why, n_labelled, n_all, confidence, detail)
    value = min(max((own.value + tnr.value - 1.0) / skill, 0.0), 1.0)
    z = normal_quantile(confidence)
    n, m1, m0 = own.effective, tpr.effective, tnr.effective
    if min(n, m1, m0) <= 0.0:
        why = "all labels of one kind are of one group: nothing tells how groups differ"
        return undefined(method, why, n_labelled, n_all, confidence, detail)
    p = (n * own.value + z * z / 2.0) / (n + z * z)
    sens = (m1 * tpr.value + 1.0) / (m1 + 2.0)
    spec = (m0 * tnr.value + 1.0) / (m0 + 2.0)
    gain = sens + spec - 1.0
    if gain <= 0.0:
        why = f"with {m1:.0f} and {m0:.0f} labels, TPR + TNR cannot be told from 1"
        return undefined(method, why, n_labelled, n_all, confidence, detail)
    centre = (p + spec - 1.0) / gain
    spread_sens = sens * (1.0 - sens) / m1
    spread_spec = spec * (1.0 - spec) / m0
    shift = 2.0 * z * z * (centre * spread_sens - (1.0 - centre) * spread_spec)
    variance = (
        p * (1.0 - p) / (n + z * z) + (1.0 - centre) ** 2 * spread_spec + centre**2 * spread_sens
    ) / gain**2
    half = z * math.sqrt(variance)
    low, high = (min(max(centre + shift + side * half, 0.0), 1.0) for side in (-1.0, 1.0))
    # The limits belong to shares drawn in towards one half, which may leave the estimate outside.
    low, high = min(low, value), max(high, value)
    return Estimate(method, value, low, high, n_labelled, n_all, confidence, assumptions, detail)
