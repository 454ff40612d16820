"""What is attainable at a small risk level, and with which rules?

    python experiments/validity/oracle.py            # about a quarter of an hour of one core
    python experiments/validity/oracle.py --quick    # a smoke run for CI

In every scenario that is no null, at alpha = .05 and .10: the coverage of

`pointwise`
    the paper's Algorithm 1, which promises nothing;
`hybrid`
    the default;
`taught by all`
    the default with error curves learned from *all* labels, those it is tested on included. It breaks
    the proof, and tells what the labels that teach are worth;
`oracle`
    one fixed sequence along the pairs of least *true* risk: a ceiling for one threshold a mode;
`fused`
    ``calibrate --fuse``: thresholds on a probability made of the verdicts and scores of all modes, so
    that modes which agree count for more. It asks every mode of every item.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np
from looks import write

from riskjudge import Trace, binomial
from riskjudge._typing import FloatArray
from riskjudge.audit import SCENARIOS, Population, audit, worlds_named
from riskjudge.audit.worlds import World
from riskjudge.calibration import (
    PROCEDURES,
    Guarantee,
    Hybrid,
    PlannedProcedure,
    Sample,
    Target,
)
from riskjudge.calibration.learning.ranking import rank_risks
from riskjudge.calibration.paths import coverage_levels
from riskjudge.calibration.plan import Chain, Family, Plan
from riskjudge.calibration.procedure import Planner
from riskjudge.calibration.procedures.portfolio import PresetChains
from riskjudge.counts import NONE
from riskjudge.signals import FusedGate

HERE = Path(__file__).resolve().parent
WORLDS = tuple(name for name, scenario in SCENARIOS.items() if scenario.kind != "null")
GRID = 100
BINS = 50
DELTA, N, POOL = 0.05, 1000, 1000


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


@dataclass(frozen=True, kw_only=True)
class TaughtByAll(Hybrid):
    """The default, with curves that have seen the labels it is tested on. Not valid; a ceiling."""

    name: ClassVar[str] = "taught by all"

    def planner(self, sample: Sample, seed: int) -> Planner:
        reserved, rest = sample.reserve(self.reserve, seed)
        ranking = rank_risks(sample, seed)
        presets = PresetChains.over(ranking.pool, coverage_levels(self.start_coverage, self.steps))

        def plan(target: Target) -> Plan:
            tolerated = binomial.max_errors(rest.n, target.alpha, target.delta * self.learned_share)
            learned = ranking.path(self.steps, tolerated)
            left = 1.0 - self.learned_share if len(learned) else 1.0
            chains = list(presets.chains(rest.n, target, left))
            if len(learned):
                chains.insert(0, Chain(learned, 1.0 - sum(chain.weight for chain in chains)))
            return Plan((Family(rest, tuple(chains)),), reserved.n)

        return plan


def fused(world: World, alpha: float, runs: int, seed: int) -> tuple[FloatArray, int]:
    """Coverage of each run, and the runs whose rule errs more often than alpha.

    Both are measured on 50,000 fresh items, the same for all runs.
    """
    fresh = world.draw(50_000, np.random.default_rng([seed, zlib.crc32(b"fresh")]))
    items = _trace(fresh, "fresh")
    coverage, broken = np.zeros(runs), 0
    for r in range(runs):
        rng = np.random.default_rng([seed, zlib.crc32(world.name.encode()), r])
        drawn = world.draw(N + POOL, rng)
        labelled, pool = drawn.rows(np.arange(N)), drawn.rows(np.arange(N, N + POOL))
        gate = FusedGate(alpha, DELTA, seed=r).fit(
            _trace(labelled, "labelled"), _trace(pool, "pool", labels=False)
        )
        if gate.certificate_.certified:
            outcomes = gate.decide(items)
            taken = np.asarray(outcomes.accepted)
            coverage[r] = taken.mean()
            broken += bool(np.asarray(outcomes.wrong)[taken].mean() > alpha)
    return coverage, broken


def _trace(sample: Sample, name: str, *, labels: bool = True) -> Trace:
    ids = [f"{name} {i}" for i in range(sample.n)]
    known = sample.labels if labels else np.full(sample.n, -1)
    return Trace.from_arrays(
        sample.scores, sample.verdicts, known, item_id=ids, modes=list(sample.modes)
    )


def measure(
    worlds: Sequence[str],
    alphas: Sequence[float],
    runs: int,
    seed: int,
    cache: Path | None,
) -> list[dict[str, object]]:
    """One line a world, level and kind of rule."""
    rows: list[dict[str, object]] = []
    for world in worlds_named(worlds):
        for alpha in alphas:
            procedures = [
                PROCEDURES["pointwise"](),
                Hybrid(),
                TaughtByAll(),
                Oracle(world=world.name),
            ]
            cells = audit(
                procedures, [world], ns=(N,), alphas=(alpha,), pool=POOL, replicates=runs,
                seed=seed, cache=cache,
            )  # fmt: skip
            found = [(c.procedure, c.coverage, c.coverage_sd, c.violations) for c in cells]
            coverage, broken = fused(world, alpha, runs, seed)
            found.append(("fused", float(coverage.mean()), float(coverage.std()), broken))
            for name, mean, spread, violations in found:
                rows.append(
                    {
                        "world": world.name,
                        "alpha": alpha,
                        "rule": name.partition(" (world")[0].partition("(")[0].strip(),
                        "runs": runs,
                        "coverage": round(mean, 4),
                        "se": round(spread / runs**0.5, 4),
                        "violations": violations,
                    }
                )
                print(rows[-1], flush=True)
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a smoke run")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", type=Path, default=None, help="folder of finished cells")
    parser.add_argument("--output", type=Path, default=HERE / "results")
    given = parser.parse_args(arguments)
    worlds = WORLDS[:1] if given.quick else WORLDS
    runs = given.runs or (2 if given.quick else 60)
    levels = (0.1,) if given.quick else (0.05, 0.1)
    write(measure(worlds, levels, runs, given.seed, given.cache), given.output / "oracle.csv")
    return 0


if __name__ == "__main__":
    sys.exit(main())
