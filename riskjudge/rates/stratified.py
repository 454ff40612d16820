r"""The default: post-stratified by the judge's verdict, with an interval that holds at the edges.

Rows of one cell are alike to the judge. With :math:`W_h` the share of rows in cell `h` and
:math:`\hat p_h` the share of passes among its labels, the estimate is :math:`\sum_h W_h \hat p_h`.
It needs no model of the judge: a useless judge makes cells that are alike, and costs little; a good
one makes cells in which nearly all labels agree.

The interval recovers variances from exact ones ([1]_): with :math:`[l_h, u_h]` the Clopper-Pearson
interval of cell `h`,

.. math:: L = \hat\theta - \sqrt{\textstyle\sum_h W_h^2 (\hat p_h - l_h)^2 + z^2 B}, \qquad
          U = \hat\theta + \sqrt{\textstyle\sum_h W_h^2 (u_h - \hat p_h)^2 + z^2 B},

where :math:`B = (\sum_h W_h \hat p_h^2 - \hat\theta^2) / N` is the variance of the cell shares
themselves. A cell without a single failure thus still has an upper limit, where a variance
estimate would be zero.

The rows are taken as a sample of those the system will meet; for these very rows the interval is
too wide rather than too narrow.

References
----------
.. [1] G. Y. Zou, A. Donner, "Construction of confidence limits about effect measures: a general
   approach", Statistics in Medicine 27, 2008.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from riskjudge._typing import FloatArray
from riskjudge.proportion import (
    clopper_pearson,
    cluster_square,
    few_clusters,
    normal_quantile,
    share_of,
)
from riskjudge.rates.cells import Cells, make_cells
from riskjudge.rates.estimate import Estimate, undefined
from riskjudge.rates.sample import RateSample

METHOD = "post-stratified by verdict, exact limits in each cell"
ASSUMPTIONS = (
    "within a cell, labelled rows are a random draw of its rows",
    "rows are independent, or groups of rows are where groups are given",
)


@dataclass(frozen=True, eq=False)
class Strata:
    """What the interval is made of, one entry a cell.

    Attributes
    ----------
    share : ndarray of float, shape (H,)
        Share of all rows in the cell.
    rate : ndarray of float, shape (H,)
        Passes among its labels; NaN where nothing is known.
    labels : ndarray of float, shape (H,)
        Effective number of labels.
    rows : float
        Effective number of rows in all.
    """

    share: FloatArray
    rate: FloatArray
    labels: FloatArray
    rows: float

    def interval(self, confidence: float) -> tuple[float | None, float, float]:
        """Estimate and limits; cells of which nothing is known count 0 below and 1 above."""
        known = ~np.isnan(self.rate)
        low, high = limits(self.share, self.rate, self.labels, self.rows, confidence)
        estimate = float(self.share @ self.rate) if known.all() else None
        return estimate, float(low), float(high)


def limits(
    share: FloatArray, rate: FloatArray, labels: FloatArray, rows: float, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """Both limits; cells along the last axis, any number of samples along the others.

    Examples
    --------
    >>> low, high = limits(np.array([1.0]), np.array([0.0]), np.array([10.0]), 1e9, 0.95)
    >>> float(low), round(float(high), 4)
    (0.0, 0.3085)
    """
    z = normal_quantile(confidence)
    known = ~np.isnan(rate)
    least, most = clopper_pearson(np.where(known, rate, 0.5), labels, confidence)
    ends = []
    for filled, limit, sign in ((0.0, least, -1.0), (1.0, most, 1.0)):
        p = np.where(known, rate, filled)
        value = np.sum(share * p, axis=-1)
        between = np.maximum(np.sum(share * p**2, axis=-1) - value**2, 0.0) / rows
        within = np.sum(np.where(known, share * (limit - p), 0.0) ** 2, axis=-1)
        ends.append(value + sign * np.sqrt(within + z * z * between))
    return np.maximum(ends[0], 0.0), np.minimum(ends[1], 1.0)


def strata_of(sample: RateSample, cells: Cells, confidence: float) -> Strata:
    """Counts of a sample in its cells, with effective numbers where rows are not independent."""
    labels, _, weight, _ = sample.drawn()
    code = cells.code[sample.labelled]
    size = len(cells.rows)
    counts = cells.labels.astype(np.float64)
    if weight is None:
        with np.errstate(invalid="ignore"):
            rate = np.bincount(code, weights=labels, minlength=size) / counts
        effective = counts
    else:
        rate, effective = np.full(size, np.nan), np.zeros(size)
        for h in range(size):
            inside = code == h
            if inside.any():
                rate[h], _, effective[h] = share_of(labels[inside], weight[inside])
    rate[cells.unknown] = np.nan
    strata = Strata(cells.rows / len(sample), rate, effective, float(len(sample)))
    if sample.group is None:
        return strata
    loss = _design_effect(sample, cells, strata)
    clusters = len(np.unique(sample.group[sample.labelled]))
    worth = few_clusters(clusters, confidence) / loss
    return Strata(strata.share, rate, effective * worth, strata.rows / loss)


def influence(sample: RateSample, cells: Cells, strata: Strata) -> FloatArray:
    """How much each row moves the estimate, shape (n,): they sum to 0, their squares to its variance."""
    labels, _, weight, _ = sample.drawn()
    on, code = sample.labelled, cells.code
    rate = np.where(np.isnan(strata.rate), 0.5, strata.rate)
    moved: FloatArray = (rate[code] - float(strata.share @ rate)) / len(sample)
    drawn = np.ones(len(labels)) if weight is None else weight
    inside = np.bincount(code[on], weights=drawn, minlength=len(rate))
    moved[on] += strata.share[code[on]] * drawn / inside[code[on]] * (labels - rate[code[on]])
    return moved


def _design_effect(sample: RateSample, cells: Cells, strata: Strata) -> float:
    """How much larger the variance is for whole groups than for single rows; at least 1."""
    labels, _, _, group = sample.drawn()
    assert group is not None
    if np.all(labels == strata.rate[cells.code[sample.labelled]]):
        # Labels vary in no cell: no variance to learn from, so a group is worth one label.
        return max(len(labels) / len(np.unique(group)), 1.0)
    moved = influence(sample, cells, strata)
    return max(cluster_square(moved, sample.group) / cluster_square(moved, None), 1.0)


def of_one_group(sample: RateSample) -> bool:
    """Whether all labels are of one group of several rows."""
    if sample.group is None or len(sample) < 2:
        return False
    return len(np.unique(sample.group[sample.labelled])) < 2


def post_stratified(
    sample: RateSample, *, confidence: float = 0.95, cells: Cells | None = None
) -> Estimate:
    """The post-stratified pass rate.

    Parameters
    ----------
    sample : RateSample
    confidence : float
    cells : Cells, optional
        :func:`~riskjudge.rates.cells.make_cells` by default.

    Returns
    -------
    Estimate
        The interval without an estimate where chance cannot explain why a cell has no label: its
        rate then counts 0 in the lower limit and 1 in the upper one.

    Examples
    --------
    >>> verdicts = np.repeat([0, 1], 500)
    >>> labels = np.where(np.arange(1000) % 10 == 0, verdicts, -1)
    >>> found = post_stratified(RateSample.from_arrays(verdicts, labels))
    >>> found.estimate, round(found.low, 3), round(found.high, 3)
    (0.5, 0.453, 0.547)
    """
    n = sample.n_labelled
    if n == 0:
        return undefined(METHOD, "there are no labels", 0, len(sample), confidence)
    if of_one_group(sample):
        one = "all labels are of one group: nothing tells how groups differ"
        return undefined(METHOD, one, n, len(sample), confidence)
    used = make_cells(sample) if cells is None else cells
    strata = strata_of(sample, used, confidence)
    estimate, low, high = strata.interval(confidence)
    why = None
    if estimate is None:
        names = "; ".join(name for name, on in zip(used.names, used.unknown, strict=True) if on)
        share = float(strata.share[used.unknown].sum())
        why = f"no label among the rows {names} ({share:.1%} of all): their rate may be 0 or 1"
    detail = {
        "cells": [
            {
                "name": name,
                "rows": int(used.rows[h]),
                "labels": int(used.labels[h]),
                "rate": None if np.isnan(strata.rate[h]) else float(strata.rate[h]),
            }
            for h, name in enumerate(used.names)
        ]
    }
    return Estimate(
        METHOD, estimate, low, high, n, len(sample), confidence, ASSUMPTIONS, detail, why
    )
