"""A pool ranked by predicted risk, and the sequence of tests that this suggests."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from riskjudge._typing import BoolArray, FloatArray, IntArray
from riskjudge.calibration.learning.error_model import ErrorModel, fit_error_model
from riskjudge.calibration.learning.lattice import Lattice, build_lattice
from riskjudge.calibration.learning.simulation import best_start, simulate_tests
from riskjudge.calibration.sample import Sample
from riskjudge.counts import NONE

_POOL_ROWS = 2_000  # more rows would not sharpen an order that a few labels decide
_DRAWS = 64


@dataclass(frozen=True, eq=False)
class RiskRanking:
    """The pool's verdicts of K modes ranked by the risk that the reserved rows predict.

    Nothing in it depends on the risk level: it is made once, :meth:`path` looks from each level.

    Attributes
    ----------
    pool : ndarray of float, shape (N, K)
        A score for each mode, by which the pool is ordered: the mode's own score; or, where a mode
        has a column for each verdict class, the predicted risk. A judge that leans to one verdict is
        far safer in one class than in the other, and risks can be compared across classes.
    wrong : ndarray of float, shape (N, K)
        Most plausible error probabilities of the pool's verdicts.
    draws : ndarray of float, shape (N, K, S)
        The same under draws of the error model.
    model : ErrorModel
        Over the sample's columns.
    columns_per_mode : int
        See :class:`Sample`.
    seed : int
    """

    pool: FloatArray
    wrong: FloatArray
    draws: FloatArray
    model: ErrorModel
    columns_per_mode: int
    seed: int

    @cached_property
    def lattice(self) -> Lattice:
        """Predicted errors over the quantiles of the pool."""
        return build_lattice(self.pool, self.wrong)

    def path(self, steps: int, tolerated: IntArray, most_sent: float = 1.0) -> FloatArray:
        """Vectors of least predicted risk at each level of coverage, from the best start on.

        Parameters
        ----------
        steps : int
            Levels of coverage.
        tolerated : ndarray of int, shape (n + 1,)
            Largest error count that passes, for every accepted count out of the n tested items.
        most_sent : float
            Share of the pool that a vector may send past the first mode.

        Returns
        -------
        ndarray of float, shape (L, K)
            In terms of :attr:`pool`; :meth:`columns` turns them into the sample's terms.
        """
        path = self.lattice.frontier(len(tolerated) - 1, tolerated, steps, most_sent)
        if len(path) == 0:
            return path
        rng = np.random.default_rng([self.seed, 1])
        return path[best_start(*simulate_tests(self.pool, self.draws, path, tolerated, rng)) :]

    def columns(self, path: FloatArray) -> FloatArray:
        """The same rules as vectors over the sample's columns."""
        if self.columns_per_mode == 1:
            return path
        wanted = np.repeat(path, self.columns_per_mode, axis=1)
        vectors = np.full(wanted.shape, NONE)
        for c, (values, risks) in enumerate(_rising_risks(self.model)):
            within = np.searchsorted(risks, wanted[:, c], side="right")
            vectors[within > 0, c] = values[within[within > 0] - 1]
        return vectors


def rank_risks(reserved: Sample, seed: int) -> RiskRanking:
    """Fit the error model to the reserved rows, and apply it to the pool."""
    scores, disagree = _pool(reserved)
    model = fit_error_model(reserved, scores, disagree)
    wrong = model.predict(scores)
    draws = model.draw(scores, _DRAWS, np.random.default_rng([seed, 0]))
    width = reserved.columns_per_mode
    if width > 1:
        scores, wrong, draws = (
            _used_column(columns, width) for columns in (_risk_scores(model, scores), wrong, draws)
        )
    return RiskRanking(scores, wrong, draws, model, width, seed)


def _pool(reserved: Sample) -> tuple[FloatArray, BoolArray | None]:
    """Scores that define ranks and coverage, and where neighbouring modes disagree."""
    if reserved.pool_scores is None:
        return reserved.scores, None
    if len(reserved.pool_scores) < reserved.n:  # too few to tell ranks: the reserved rows help out
        return np.concatenate((reserved.pool_scores, reserved.scores)), None
    step = -(-len(reserved.pool_scores) // _POOL_ROWS)
    scores, verdicts = reserved.pool_scores[::step], reserved.pool_verdicts
    if verdicts is None or reserved.n_modes == 1 or reserved.columns_per_mode > 1:
        return scores, None
    return scores, verdicts[::step, 1:] != verdicts[::step, :-1]


def _rising_risks(model: ErrorModel) -> list[tuple[FloatArray, FloatArray]]:
    """Distinct pool scores of each column, and their predicted risk, made to rise strictly.

    It has to rise for a risk to be turned back into one threshold.
    """
    risen = []
    for c, reference in enumerate(model.reference):
        values = np.unique(reference)
        scores = np.full((len(values), len(model.reference)), np.nan)
        scores[:, c] = values
        risks = np.maximum.accumulate(model.predict(scores)[:, c])
        risen.append((values, risks + 1e-9 * np.arange(len(values))))
    return risen


def _risk_scores(model: ErrorModel, scores: FloatArray) -> FloatArray:
    """Risk of each score of the pool, shape (N, columns)."""
    result = np.full(scores.shape, np.nan)
    for c, (values, risks) in enumerate(_rising_risks(model)):
        usable = ~np.isnan(scores[:, c])
        result[usable, c] = risks[np.searchsorted(values, scores[usable, c])]
    return result


def _used_column(columns: FloatArray, width: int) -> FloatArray:
    """Of the columns of each mode the one that is not NaN, shape (N, K, ...)."""
    split = columns.reshape(len(columns), columns.shape[1] // width, width, *columns.shape[2:])
    used = split[:, :, 0]
    for c in range(1, width):
        used = np.where(np.isnan(used), split[:, :, c], used)
    return used
