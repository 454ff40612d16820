"""The two rates that need no correction: the judge's own, and that of the labels alone."""

from __future__ import annotations

from riskjudge.proportion import clopper_pearson, share_of
from riskjudge.rates.estimate import Estimate, undefined
from riskjudge.rates.sample import RateSample


def raw(sample: RateSample, *, confidence: float = 0.95) -> Estimate:
    """The share of passes among the judge's verdicts, taken at face value.

    Its interval speaks of what the judge would say, not of what is right.

    Examples
    --------
    >>> import numpy as np
    >>> raw(RateSample.from_arrays(np.array([1, 1, 0, -1]), np.full(4, -1))).estimate
    0.6666666666666666
    """
    method = "the judge's verdicts as they are"
    judged = sample.verdicts >= 0
    n = int(judged.sum())
    if n == 0:
        return undefined(method, "the judge gave no verdict", 0, 0, confidence)
    group = None if sample.group is None else sample.group[judged]
    share = share_of(sample.verdicts[judged], group=group, confidence=confidence)
    low, high = clopper_pearson(share.value, share.effective, confidence)
    return Estimate(
        method,
        share.value,
        float(low),
        float(high),
        0,
        n,
        confidence,
        ("the judge makes no errors", "rows without a verdict are like the others"),
    )


def classical(sample: RateSample, *, confidence: float = 0.95) -> Estimate:
    """The share of passes among the labels, the judge left aside: exact limits of Clopper and Pearson.

    Examples
    --------
    >>> import numpy as np
    >>> classical(RateSample.from_arrays(np.ones(4), np.array([1, 0, -1, -1]))).estimate
    0.5
    """
    method = "labels alone"
    labels, _, weight, group = sample.drawn()
    if len(labels) == 0:
        return undefined(method, "there are no labels", 0, len(sample), confidence)
    share = share_of(labels, weight, group, confidence=confidence)
    low, high = clopper_pearson(share.value, share.effective, confidence)
    return Estimate(
        method,
        share.value,
        float(low),
        float(high),
        len(labels),
        len(sample),
        confidence,
        ("labelled rows are a random draw of all rows",),
        {"n_effective": share.effective},
    )
