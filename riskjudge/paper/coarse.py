"""The paper's protocol over a coarse grid of thresholds: what the fit looks at.

Some five times quicker than the exact plane, and within the Monte Carlo error of it. Nothing that
is reported comes from here; see :mod:`riskjudge.paper.protocol`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from riskjudge._typing import BoolArray, FloatArray, IntArray
from riskjudge.binomial import max_errors
from riskjudge.counts import Plane
from riskjudge.paper.model import SyntheticTrace

GRID_SIZE = 140
DENSITY = 1.6  # > 1: denser where few items are accepted
Means = dict[tuple[str, float], float]


def coarse_protocol(
    trace: SyntheticTrace,
    alphas: Sequence[float],
    splits: int,
    seed: int,
    objective: str = "coverage",
    test: SyntheticTrace | None = None,
    delta: float = 0.05,
) -> Means:
    """Means over splits of what a pointwise calibration gives on the test half.

    Parameters
    ----------
    trace : SyntheticTrace
    alphas : sequence of float
    splits, seed : int
    objective : str
        ``coverage``, ``correct`` or ``coverage_then_cost``.
    test : SyntheticTrace, optional
        The same items to test on, if not the trace itself.
    delta : float
        Significance.

    Returns
    -------
    dict
        From (metric, alpha) to the mean. A split that accepts nothing counts as FDR 0: the paper's
        means do, or its FDR of .05 at a coverage of .03 would not be what it is.
    """
    errors = _errors(trace)
    tested = trace if test is None else test
    test_errors = _errors(tested)
    rng = np.random.default_rng(seed)
    sums: defaultdict[tuple[str, float], float] = defaultdict(float)
    half = trace.n // 2
    for _ in range(splits):
        shuffled = rng.permutation(trace.n)
        first, second = shuffled[:half], shuffled[half:]
        cells = _Cells.of(
            trace.scores[first], errors[first], tested.scores[second], test_errors[second]
        )
        for alpha in alphas:
            for metric, value in cells.chosen(alpha, delta, objective).items():
                sums[metric, alpha] += value / splits
    for k in (0, 1):
        readable = trace.verdicts[:, k] >= 0
        sums[f"accuracy{k + 1}", 0.0] = 1.0 - float(errors[readable, k].mean())
    return dict(sums)


def _errors(trace: SyntheticTrace) -> BoolArray:
    return np.asarray(trace.verdicts != trace.labels[:, None])


@dataclass(frozen=True, slots=True)
class _Cells:
    """Counts of both halves over one grid of threshold pairs, flattened in Algorithm 1's order."""

    columns: int
    accepted: IntArray
    errors: IntArray
    test_accepted: IntArray
    test_errors: IntArray
    n: int
    n_test: int

    @classmethod
    def of(
        cls, scores: FloatArray, errors: BoolArray, test_scores: FloatArray, test_errors: BoolArray
    ) -> _Cells:
        grids = (_grid(scores[:, 0]), _grid(scores[:, 1]))
        accepted, wrong = Plane(scores, errors, grids).counts()
        test_accepted, test_wrong = Plane(test_scores, test_errors, grids).counts()
        return cls(
            accepted.shape[1],
            accepted.ravel(),
            wrong.ravel(),
            test_accepted.ravel(),
            test_wrong.ravel(),
            len(scores),
            len(test_scores),
        )

    def chosen(self, alpha: float, delta: float, objective: str) -> dict[str, float]:
        tolerated = max_errors(self.n, alpha, delta)
        certified = self.errors <= tolerated[self.accepted]
        gain = self.accepted - self.errors if objective == "correct" else self.accepted
        gain = np.where(certified, gain, -1)
        best = int(gain.argmax())
        if objective == "coverage_then_cost":
            best = int(np.flatnonzero(gain == gain[best])[-1])
        result = {"coverage": 0.0, "fdr": 0.0, "share_mode1": 0.0, "coverage_mode1": 0.0}
        m = int(self.test_accepted[best])
        if gain[best] > 0 and m > 0:
            row = best - best % self.columns
            result["coverage"] = m / self.n_test
            result["fdr"] = int(self.test_errors[best]) / m
            result["share_mode1"] = int(self.test_accepted[row]) / self.n_test
        alone = np.where(certified, self.accepted, -1)[:: self.columns]  # column 0: no mode 2
        if alone.max() > 0:
            single = int(alone.argmax()) * self.columns
            result["coverage_mode1"] = int(self.test_accepted[single]) / self.n_test
        return result


def _grid(column: FloatArray) -> FloatArray:
    values = np.sort(column[~np.isnan(column)])
    levels = (np.arange(1, GRID_SIZE + 1) / GRID_SIZE) ** DENSITY
    return np.unique(values[np.ceil(levels * len(values)).astype(int) - 1])
