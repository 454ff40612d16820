"""A lattice graph, in the style of BalanceRAG (Jia et al., arXiv:2605.20084)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from base import Peer

from riskjudge import binomial, counts
from riskjudge._typing import BoolArray, FloatArray
from riskjudge.calibration import Guarantee
from riskjudge.calibration.paths import pool_of
from riskjudge.calibration.sample import Sample
from riskjudge.counts import NONE


@dataclass(frozen=True, kw_only=True)
class LatticeGraph(Peer):
    """Threshold pairs on a lattice of pool quantiles; a rejected pair hands its delta to its neighbours.

    **Not verified against the paper.** Its abstract says: pairs as points of a two-dimensional lattice,
    safe points by sequential graphical testing. How the paper places the lattice, spreads delta at
    the start and draws the edges could not be read here. This is the plainest such graph: 12 x 12
    quantiles of the unlabelled pool, and "none" in either mode; delta spread evenly over the first
    pair of each row whose pool coverage reaches `start`; an edge of one half to the next pair in
    either direction, of one where there is only one. Rejected: p <= delta x weight (Bretz et al.
    2009). All edges lead upwards, so one pass in that order is the whole graph. Valid whatever the
    paper does.
    """

    name: ClassVar[str] = "lattice graph (BalanceRAG style)"
    guarantee: ClassVar[Guarantee] = Guarantee.HIGH_PROBABILITY
    source: ClassVar[str] = "after arXiv:2605.20084"
    checked: ClassVar[str] = "the abstract only: start weights and edges are our own choice"
    steps: int = 12
    start: float = 0.3
    reserve: float = 0.1

    def rule(self, sample: Sample, alpha: float, delta: float, seed: int) -> FloatArray | None:
        if sample.n_modes != 2:
            return None
        pool, rest, _ = pool_of(sample, self.reserve, seed)
        levels = np.arange(1, self.steps + 1) / self.steps
        axes = [
            np.concatenate(([NONE], np.nanquantile(column, levels, method="inverted_cdf")))
            for column in pool.T
        ]
        shape = (len(axes[0]), len(axes[1]))
        path = np.array(np.meshgrid(*axes, indexing="ij")).reshape(2, -1).T
        nothing = np.zeros((len(pool), 2), dtype=bool)
        coverage = counts.path_counts(pool, nothing, path).accepted.reshape(shape) / len(pool)
        weight = np.zeros(shape)
        for i in range(shape[0]):
            reached = np.flatnonzero(coverage[i] >= self.start)
            if len(reached):
                weight[i, reached[0]] = 1.0
        if not weight.any():
            return None
        weight /= weight.sum()
        tested = counts.path_counts(rest.scores, rest.errors, path)
        p = binomial.p_value(tested.errors, tested.accepted, alpha).reshape(shape)
        rejected = _pass_on(p, weight * delta)
        if not rejected.any():
            return None
        best = np.argmax(np.where(rejected.ravel(), tested.accepted, -1))
        return np.asarray(path[best])


def _pass_on(p: FloatArray, level: FloatArray) -> BoolArray:
    """Rejections of a graph whose edges lead to the next row and the next column."""
    level = level.copy()
    rejected = np.zeros(p.shape, dtype=bool)
    rows, columns = p.shape
    for i in range(rows):
        for j in range(columns):
            if level[i, j] > 0 and p[i, j] <= level[i, j]:
                rejected[i, j] = True
                nexts = [(a, b) for a, b in ((i + 1, j), (i, j + 1)) if a < rows and b < columns]
                for node in nexts:
                    level[node] += level[i, j] / len(nexts)
    return rejected
