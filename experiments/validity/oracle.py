"""A ceiling: the fixed sequence of someone who knows the truth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from riskjudge import binomial
from riskjudge._typing import FloatArray
from riskjudge.audit import Population, worlds_named
from riskjudge.calibration import Guarantee, PlannedProcedure, Sample, Target
from riskjudge.calibration.plan import Chain, Family, Plan
from riskjudge.calibration.procedure import Planner
from riskjudge.counts import NONE

GRID = 100
BINS = 50


@dataclass(frozen=True, kw_only=True)
class Oracle(PlannedProcedure):
    """For each coverage the pair of least *true* risk, tested upwards at the full delta.

    It starts where the coverage to expect is largest. Not a procedure anyone could use: what it loses
    against the pointwise rule is the price of the promise, what others lose against it is the price
    of not knowing the error curves.
    """

    name: ClassVar[str] = "oracle"
    guarantee: ClassVar[Guarantee] = Guarantee.HIGH_PROBABILITY
    world: str

    def planner(self, sample: Sample, seed: int) -> Planner:
        def plan(target: Target) -> Plan:
            path = _path(self.world, sample.n, target.alpha, target.delta)
            return Plan((Family(sample, (Chain(path, 1.0),)),))

        return plan


@lru_cache(maxsize=64)
def _path(world: str, n: int, alpha: float, delta: float) -> FloatArray:
    vectors, coverage, risk = _plane(world)
    best: dict[int, int] = {}
    for j in np.lexsort((-coverage, risk)):
        best.setdefault(int(coverage[j] * BINS), int(j))
    chosen = np.array([best[level] for level in sorted(best)])
    return vectors[chosen[_best_start(coverage[chosen], risk[chosen], n, alpha, delta) :]]


def _best_start(coverage: FloatArray, risk: FloatArray, n: int, alpha: float, delta: float) -> int:
    """Start with the largest expected coverage, by simulated walks up the path.

    The items a step adds are taken to err at the rate that the path's risks imply.
    """
    rng = np.random.default_rng(0)
    tolerated = binomial.max_errors(n, alpha, delta)
    added = np.maximum(np.diff(coverage, prepend=0.0), 0.0)
    rate = np.diff(coverage * risk, prepend=0.0) / np.maximum(added, 1e-12)
    counted = np.zeros((1000, len(coverage)), dtype=np.int64)
    left = np.full(1000, n)
    for i in range(len(coverage)):
        taken = rng.binomial(left, min(1.0, added[i] / max(1.0 - (coverage[i] - added[i]), 1e-12)))
        counted[:, i] = taken
        left = left - taken
    errors = rng.binomial(counted, np.clip(rate, 0.0, 1.0)).cumsum(axis=1)
    passed = errors <= tolerated[counted.cumsum(axis=1)]
    reached = np.zeros((1000, len(coverage) + 1))
    for i in range(len(coverage) - 1, -1, -1):
        # From a start at i on: fails, or reaches i, or whatever lies beyond.
        reached[:, i] = np.where(passed[:, i], np.maximum(coverage[i], reached[:, i + 1]), 0.0)
    return int(np.argmax(reached[:, :-1].mean(axis=0)))


@lru_cache(maxsize=2)
def _plane(world: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Pairs on a lattice of quantiles with their true coverage and risk, empty ones left out."""
    (found,) = worlds_named([world])
    rng = np.random.default_rng(0)
    items = found.draw(20_000, rng)
    population: Population = found.population(20_000, rng, False)
    levels = np.arange(1, GRID + 1) / GRID
    axes = [
        np.append(NONE, np.unique(np.nanquantile(column, levels, method="inverted_cdf")))
        for column in items.scores.T
    ]
    vectors = np.array(np.meshgrid(*axes, indexing="ij")).reshape(len(axes), -1).T
    measured = [population.risk(vector) for vector in vectors]
    risk = np.array([np.nan if r is None else r for r, _ in measured])
    coverage = np.array([c for _, c in measured])
    inside = ~np.isnan(risk)
    return vectors[inside], coverage[inside], risk[inside]
