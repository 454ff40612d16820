"""Were labelled rows drawn at random? What every row shows can speak against it, never for it."""

from __future__ import annotations

import numpy as np
from scipy import stats

from riskjudge.rates.sample import RateSample

_LEVEL = 1e-3
_VERDICTS = ("no verdict", "fail", "pass")


def selection_notes(sample: RateSample) -> list[str]:
    """Sentences on how labelled rows differ from the others; none where no difference shows.

    Examples
    --------
    >>> verdicts = np.repeat([0, 1], 100)
    >>> selection_notes(RateSample.from_arrays(verdicts, np.where(verdicts == 1, 1, -1)))[0][:35]
    'labelled rows differ from the other'
    """
    on = sample.labelled
    if sample.weight is not None or on.all() or not on.any():
        return []
    notes = []
    table = np.array([np.bincount(sample.verdicts[which] + 1, minlength=3) for which in (on, ~on)])
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] > 1 and stats.chi2_contingency(table, correction=False).pvalue < _LEVEL:
        kinds = np.flatnonzero(np.bincount(sample.verdicts + 1, minlength=3))
        shares = table / table.sum(axis=1, keepdims=True)
        which = int(np.argmax(np.abs(shares[0] - shares[1])))
        notes.append(
            f"labelled rows differ from the others: {shares[0, which]:.0%} of them are "
            f"'{_VERDICTS[kinds[which]]}', {shares[1, which]:.0%} of the others. The corrected rate "
            "allows for that; the labels alone, PPI and betting do not"
        )
    for verdict in (0, 1):
        inside = (sample.verdicts == verdict) & ~np.isnan(sample.uncertainty)
        drawn, rest = sample.uncertainty[inside & on], sample.uncertainty[inside & ~on]
        if len(drawn) < 2 or len(rest) < 2:
            continue
        test = stats.mannwhitneyu(drawn, rest)
        if test.pvalue < _LEVEL:
            less = "less" if np.median(drawn) > np.median(rest) else "more"
            notes.append(
                f"among '{_VERDICTS[verdict + 1]}' verdicts the judge is {less} sure of labelled rows "
                f"than of the others (p = {test.pvalue:.1g}): labels were hardly drawn at random, and "
                "no rate here is safe; draw with `riskjudge label next`"
            )
    return notes
