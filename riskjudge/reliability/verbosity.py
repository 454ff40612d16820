"""Does the longer of two answers win because it is longer?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from riskjudge._typing import FloatArray, IntArray
from riskjudge.reliability.index import NEED, Index, item_codes, rate_of_calls
from riskjudge.share import Rate

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Verbosity:
    """Does the longer answer win because it is longer?

    Attributes
    ----------
    items, calls : int
        With two lengths that differ.
    longer_wins : Rate
        Share of the calls that the longer answer wins.
    longer_right : Rate
        Share of the labelled items on which the longer answer is the better one.
    coefficient : Index
        Of the standardised logarithm of the ratio of lengths, in a logistic regression of who wins
        on it, on which answer is better by the label and on which was shown first, as far as
        labels and orders are known.
    doubling : Index
        Odds ratio of winning for an answer that is twice as long, from the same regression.
    controls : tuple of str
        What else was in it: ``label``, ``position``.
    """

    items: int
    calls: int
    longer_wins: Rate
    longer_right: Rate
    coefficient: Index
    doubling: Index
    controls: tuple[str, ...]


def verbosity(calls: pd.DataFrame, *, need: int = NEED, confidence: float = 0.95) -> Verbosity:
    """How length sways one judge.

    The regression has no constant and every regressor changes sign when a and b are exchanged:
    ``logit P(a wins) = length x + label l + position s`` with x the logarithm of ``length_a / length_b``
    divided by its root mean square over items, and l and s one half for the answer that is better
    and that was shown first, minus one half for the other. Standard errors are clustered by item.

    Parameters
    ----------
    calls : DataFrame
        Of one judge; see :class:`.Comparisons`.
    need : int
    confidence : float

    Notes
    -----
    UNDEFINED is the coefficient where too few items differ in length, where length cannot be told
    apart from label and position, and where the data are separated: some weighing of the regressors
    foretells every call, and no finite coefficient fits best.
    """
    known = calls[(calls["length_a"] > 0) & (calls["length_b"] > 0)]
    ratio = np.log(known["length_a"].to_numpy(float) / known["length_b"].to_numpy(float))
    known, ratio = known[ratio != 0.0], ratio[ratio != 0.0]
    codes = item_codes(known)
    per_item = known.assign(ratio=ratio).drop_duplicates("item")
    longer = np.sign(ratio) * known["a_wins"].to_numpy() > 0
    labelled = per_item[per_item["a_right"] != 0]
    right = int((np.sign(labelled["ratio"]) * labelled["a_right"] > 0).sum())
    scale = float(np.sqrt(np.mean(per_item["ratio"] ** 2))) if len(per_item) else 0.0
    names, index, spread = _regression(known, ratio, scale, codes, need, confidence)
    return Verbosity(
        items=len(per_item),
        calls=len(known),
        longer_wins=rate_of_calls(longer, codes, confidence),
        longer_right=Rate(right, len(labelled), confidence=confidence),
        coefficient=index,
        doubling=index if index.undefined else _scaled(index, math.log(2.0) / spread),
        controls=names,
    )


def _regression(
    known: pd.DataFrame,
    ratio: FloatArray,
    scale: float,
    codes: IntArray,
    need: int,
    confidence: float,
) -> tuple[tuple[str, ...], Index, float]:
    items = len(np.unique(codes))
    if items < need:
        return (), Index(undefined=f"need {need} items of different length, have {items}"), scale
    columns, names = [ratio / scale], []
    for name, column in (("label", "a_right"), ("position", "a_first")):
        values = known[column].to_numpy(float)
        if (values != 0.0).any():
            columns.append(0.5 * values)
            names.append(name)
    design, wins = np.column_stack(columns), known["a_wins"].to_numpy()
    if np.linalg.matrix_rank(design) < design.shape[1]:
        others = " and ".join(names)
        return tuple(names), Index(undefined=f"length cannot be told from {others}"), scale
    if _separated(design * wins[:, None]):
        return tuple(names), Index(undefined="separated: a rule foretells every call"), scale
    import statsmodels.api as sm

    fit = sm.Logit((wins > 0).astype(float), design).fit(
        disp=0, method="newton", maxiter=100, cov_type="cluster", cov_kwds={"groups": codes}
    )
    low, high = (float(end) for end in fit.conf_int(1.0 - confidence)[0])
    if not (fit.mle_retvals["converged"] and math.isfinite(low) and math.isfinite(high)):
        return tuple(names), Index(undefined="the regression does not converge"), scale
    return tuple(names), Index(float(fit.params[0]), low, high, float(fit.pvalues[0])), scale


def _separated(signed: FloatArray) -> bool:
    """Whether some direction is on the right side of every call, and strictly so of some.

    Then the likelihood has no maximum (Albert and Anderson, Biometrika 71, 1984). `signed` holds the
    regressors times 1 for a win of a and -1 for one of b.
    """
    from scipy.optimize import linprog

    rows = np.unique(signed, axis=0)
    best = linprog(-rows.sum(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=(-1.0, 1.0))
    return best.status == 0 and best.fun is not None and best.fun < -1e-9


def _scaled(index: Index, factor: float) -> Index:
    """The odds ratio of a change of so many standard units."""
    assert index.value is not None
    assert index.low is not None
    assert index.high is not None
    low, high = sorted((math.exp(factor * index.low), math.exp(factor * index.high)))
    return replace(index, value=math.exp(factor * index.value), low=low, high=high)
