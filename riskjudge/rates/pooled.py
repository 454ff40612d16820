"""Labels of one system for another: only if the judge errs alike on both, which is tested.

A judge that is easy on one system's style need not be so on another's, so nothing is shared unless
it is asked for. What is shared then are the judge's true positive and true negative rates; the
assumption is written beside the result, and a test of it, which can refute it and never prove it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy import stats

from riskjudge.rates.estimate import Estimate, undefined
from riskjudge.rates.rogan_gladen import corrected, judge_shares, own_share
from riskjudge.rates.sample import RateSample

METHOD = "Rogan-Gladen, the judge's rates pooled over systems"
ASSUMPTIONS = (
    "the judge's true positive and true negative rates are the same for every system",
    "among right answers, and among wrong ones, labelled rows are a random draw",
)


def same_error_rates(samples: Mapping[str, RateSample]) -> tuple[float | None, float | None]:
    """P-values of "the judge's true positive (negative) rate is the same for every system".

    None where fewer than two systems have labels of that kind, or where nothing varies.

    Examples
    --------
    >>> labels = np.repeat([1, 0], 50)
    >>> a = RateSample.from_arrays(labels, labels)
    >>> b = RateSample.from_arrays(1 - labels, labels)
    >>> max(same_error_rates({"a": a, "b": b})) < 0.001
    True
    """
    found = []
    for truth in (1, 0):
        rows = []
        for sample in samples.values():
            on = (sample.labels == truth) & (sample.verdicts >= 0)
            right = int(np.count_nonzero(sample.verdicts[on] == truth))
            if on.any():
                rows.append((right, int(on.sum()) - right))
        table = np.array(rows)
        varies = len(rows) > 1 and bool((table.sum(axis=0) > 0).all())
        found.append(
            float(stats.chi2_contingency(table, correction=False).pvalue) if varies else None
        )
    return found[0], found[1]


def pooled_rates(
    samples: Mapping[str, RateSample], *, confidence: float = 0.95
) -> dict[str, Estimate]:
    """The rate of every system, those without labels too, by the judge's rates over all systems."""
    labels = np.concatenate([s.labels for s in samples.values()])
    verdicts = np.concatenate([s.verdicts for s in samples.values()])
    grouped = all(s.group is not None for s in samples.values())
    group = (
        np.concatenate([s.group for s in samples.values() if s.group is not None])
        if grouped
        else None
    )
    weighted = [s.weight for s in samples.values() if s.weight is not None]
    weight = np.concatenate(weighted) if len(weighted) == len(samples) else None
    n_labelled = int(np.count_nonzero(labels >= 0))
    tpr, tnr = judge_shares(labels, verdicts, weight, group, confidence)
    result = {}
    for name, sample in samples.items():
        if tpr is None or tnr is None or not (sample.verdicts >= 0).any():
            why = "no label of either kind on a row with a verdict"
            result[name] = undefined(METHOD, why, n_labelled, len(sample), confidence)
            continue
        own = own_share(sample, confidence)
        result[name] = corrected(
            own, tpr, tnr, n_labelled, len(sample), confidence, METHOD, ASSUMPTIONS
        )
    return result
