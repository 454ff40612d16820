"""A portfolio of label-free chains that pass their share of delta on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from riskjudge._typing import FloatArray
from riskjudge.calibration.paths import (
    coverage_levels,
    drop_hopeless,
    most_sent,
    pool_of,
    quantile_path,
)
from riskjudge.calibration.plan import Chain, Family, Plan, Target
from riskjudge.calibration.procedure import PlannedProcedure, Planner
from riskjudge.calibration.sample import Sample
from riskjudge.counts import NONE


@dataclass(frozen=True, kw_only=True)
class Portfolio(PlannedProcedure):
    """Several chains over the quantiles of an unlabelled pool, each with a share of delta.

    For two modes: both modes with the first at half speed (.35), both at equal speed (.25), the
    second mode alone (.30), the first alone (.10). A chain that is through hands its share on. For
    one mode it is a single chain; for more, the modes alone and all modes together.

    Parameters
    ----------
    start_coverage : float
        Pool coverage at which each chain starts.
    steps : int
        Vectors of each chain.
    reserve : float
        Share of the labelled rows that serves as the pool where there is none.

    Notes
    -----
    Valid without assumption: the pool is independent of the tested rows, so the plan is fixed, and
    :mod:`riskjudge.calibration.plan` proves the test of a fixed plan.
    """

    name: ClassVar[str] = "portfolio"
    start_coverage: float = 0.25
    steps: int = 40
    reserve: float = 0.1

    def planner(self, sample: Sample, seed: int) -> Planner:
        pool, rest, taken = pool_of(sample, self.reserve, seed)
        coverages = coverage_levels(self.start_coverage, self.steps)
        presets = PresetChains.over(pool, coverages, sample.columns_per_mode)
        return lambda target: Plan((Family(rest, presets.chains(rest.n, target)),), taken)


@dataclass(frozen=True, slots=True, eq=False)
class PresetChains:
    """The portfolio's paths over a pool, from which each target takes what is worth a test.

    Attributes
    ----------
    pool : ndarray of float, shape (N, columns)
    paths : tuple of (ndarray of float of shape (L, columns), float)
        Each path with its weight.
    steps : int
    columns_per_mode : int
        The columns of one mode (one for each verdict class) move together.
    """

    pool: FloatArray
    paths: tuple[tuple[FloatArray, float], ...]
    steps: int
    columns_per_mode: int

    @classmethod
    def over(cls, pool: FloatArray, coverages: FloatArray, columns_per_mode: int = 1) -> Self:
        """Draw the paths, with a vector at each coverage."""
        paths = []
        for speeds, weight in preset_speeds(pool.shape[1] // columns_per_mode):
            by_column = tuple(speed for speed in speeds for _ in range(columns_per_mode))
            paths.append((quantile_path(pool, by_column, coverages), weight))
        return cls(pool, tuple(paths), len(coverages), columns_per_mode)

    def chains(self, n: int, target: Target, share: float = 1.0) -> tuple[Chain, ...]:
        """Chains for `n` tested items; their shares of delta sum to `share`.

        Vectors that the pool shows to be hopeless are left out. Under a retrieval budget there is
        one more chain: the first mode accepts just what the budget asks of it, and the second more
        and more of the rest.
        """
        pool, paths = self.pool, list(self.paths)
        if target.max_retrieval is not None and pool.shape[1] == 2 and self.columns_per_mode == 1:
            kept = 1.0 - most_sent(target, n, len(pool))
            paths.append((_budget_path(pool, kept, self.steps), 0.5))
        if target.more_than_risk and self.columns_per_mode == 2:
            paths += self._by_verdict()
        total = sum(weight for _, weight in paths)
        chains = []
        for path, weight in paths:
            level = target.delta * share * weight / total
            path = drop_hopeless(path, pool, n, target, level, self.columns_per_mode)
            if len(path):
                chains.append(Chain(path, weight))
        total = sum(chain.weight for chain in chains)
        return tuple(Chain(chain.path, share * chain.weight / total) for chain in chains)

    def _by_verdict(self) -> list[tuple[FloatArray, float]]:
        """Paths on which one kind of verdict goes ahead of the other, or goes alone."""
        coverages = np.linspace(1.0 / self.steps, 1.0, self.steps)
        paths = []
        for speeds, weight in preset_speeds(self.pool.shape[1] // 2):
            for kinds in ((1.0, 0.4), (0.4, 1.0), (1.0, 0.0), (0.0, 1.0)):
                by_column = tuple(speed * kind for speed in speeds for kind in kinds)
                paths.append((quantile_path(self.pool, by_column, coverages), 0.5 * weight))
        return paths


def _budget_path(pool: FloatArray, kept: float, steps: int) -> FloatArray:
    """First threshold at the quantile `kept`, second one rising from the middle of the rest."""
    first = np.sort(pool[~np.isnan(pool[:, 0]), 0])
    at = int(np.ceil(kept * len(pool)))
    if not 0 < at <= len(first):
        return np.empty((0, 2))
    t1 = first[at - 1]
    rest = pool[~(pool[:, 0] <= t1), 1]
    rest = np.sort(rest[~np.isnan(rest)])
    if len(rest) == 0:
        return np.array([[t1, NONE]])
    ranks = np.unique(np.ceil(np.linspace(0.5, 1.0, steps) * len(rest)).astype(np.int64))
    second = np.unique(rest[ranks - 1])
    return np.column_stack((np.full(len(second), t1), second))


def preset_speeds(n_modes: int) -> list[tuple[tuple[float, ...], float]]:
    """Speeds of the modes, and the share of delta, of each preset chain.

    Examples
    --------
    >>> preset_speeds(2)
    [((0.5, 1.0), 0.35), ((1.0, 1.0), 0.25), ((0.0, 1.0), 0.3), ((1.0, 0.0), 0.1)]
    """
    if n_modes == 1:
        return [((1.0,), 1.0)]
    slow = tuple(0.5 ** (n_modes - 1 - k) for k in range(n_modes))
    last = (0.0,) * (n_modes - 1) + (1.0,)
    others = [
        (tuple(float(j == k) for j in range(n_modes)), 0.1 / (n_modes - 1))
        for k in range(n_modes - 1)
    ]
    return [(slow, 0.35), ((1.0,) * n_modes, 0.25), (last, 0.3), *others]
