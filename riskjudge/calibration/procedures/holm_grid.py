"""Holm's procedure on a coarse grid that an unlabelled pool places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from riskjudge._checks import check_count
from riskjudge._typing import FloatArray
from riskjudge.calibration.paths import pool_of
from riskjudge.calibration.plan import Chain, Family, Plan
from riskjudge.calibration.procedure import PlannedProcedure, Planner
from riskjudge.calibration.sample import Sample
from riskjudge.counts import NONE
from riskjudge.errors import InputError

_MOST_VECTORS = 4096
_STEPS = 12


@dataclass(frozen=True, kw_only=True)
class HolmGrid(PlannedProcedure):
    """Test every vector of a coarse grid, without an order, with Holm's step-down correction.

    It is what one does without an idea where good rules lie; here for comparison. A procedure that
    orders its tests reaches a larger coverage.

    Parameters
    ----------
    steps : int, optional
        Thresholds of each mode (by verdict: of each of its two columns), at equal quantiles of the
        pool; "no threshold in this mode" comes on top. With K of them there are
        ``(steps + 1)^K - 1`` vectors. By default 12, or as many as keep them below 4,096.
    reserve : float
        Share of the labelled rows that places the grid where there is no pool.

    Notes
    -----
    *Guarantee:* P(risk of the chosen rule > alpha) <= delta, whatever the distribution.

    *Proof.* The pool is independent of the tested rows, so the grid is fixed. Each vector is a chain
    of its own with the share 1/L of delta. When r of them are rejected, each of the others owns
    1/(L - r): the weight-passing test of :mod:`riskjudge.calibration.plan` is Holm's procedure, and
    the proof there covers it. Vectors that are equal only add their shares up.

    References
    ----------
    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics 6, 1979.
    """

    name: ClassVar[str] = "holm_grid"
    steps: int | None = None
    reserve: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steps is not None:
            check_count(self.steps, "steps")

    def planner(self, sample: Sample, seed: int) -> Planner:
        pool, rest, taken = pool_of(sample, self.reserve, seed)
        fitting = min(_STEPS, most_steps(pool.shape[1]))
        grid = quantile_grid(pool, fitting if self.steps is None else self.steps)
        chains = tuple(Chain(vector[None, :], 1.0 / len(grid)) for vector in grid)
        plan = Plan((Family(rest, chains),), taken)
        return lambda target: plan


def most_steps(n_columns: int) -> int:
    """Most thresholds of each column that keep a grid within 4,096 vectors.

    Examples
    --------
    >>> [most_steps(k) for k in (1, 2, 4, 5, 12)]
    [4095, 63, 7, 4, 1]
    """
    return int(_MOST_VECTORS ** (1.0 / n_columns) + 1e-9) - 1


def quantile_grid(pool: FloatArray, steps: int) -> FloatArray:
    """All vectors of the pool's quantiles, without the one that accepts nothing; shape (L, K).

    Examples
    --------
    >>> quantile_grid(np.array([[0.1, 0.5], [0.2, 0.6]]), 1)
    array([[-inf,  0.6],
           [ 0.2, -inf],
           [ 0.2,  0.6]])
    """
    n_modes = pool.shape[1]
    if steps < 1 or (steps + 1) ** n_modes > _MOST_VECTORS:
        raise InputError(
            f"a grid of {steps} steps over {n_modes} thresholds has no or more than {_MOST_VECTORS} "
            "vectors; set another number of steps"
        )
    axes = []
    for column in pool.T:
        usable = column[~np.isnan(column)]
        levels = np.arange(1, steps + 1) / steps
        values = np.quantile(usable, levels, method="inverted_cdf") if len(usable) else usable
        axes.append(np.concatenate(([NONE], np.unique(values))))
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, n_modes)
    return grid[1:]
