"""Does the promise hold in use: for a batch, both errors, known weights, an alarm, a path, as `plan` says?

    python experiments/validity/in_use.py                 # about ten minutes of one core
    python experiments/validity/in_use.py --quick         # a smoke run for CI
    python experiments/validity/in_use.py --part batch

`batch`
    Calibrate, then judge a new batch until 300 verdicts are accepted. Counted are the runs in which
    more of them are wrong than `batch_bound` says (promised: at most delta + 5 %); beside it the runs
    in which their share exceeds alpha (no promise), and those beyond the bound that holds for a rule
    fixed in advance (no promise either: the rule was chosen).
`both`
    Levels for passes and fails, and rates among right passes and right fails. In the flat worlds the
    level of one kind is out of reach by a little: whatever is accepted breaks it.
`weights`
    Easy items are labelled nine times as often as hard ones, and the risk of the target population is
    just above alpha. Calibrated with the weights, and as if there were none.
`watch`
    A batch of 1,000 accepted verdicts that keeps the promise with nothing to spare, in the order of its
    uncertainty: alarms where it is counted in the order of a hash of the ids, and as it comes.
`path`
    The order of tests from a `pointwise` gate: of the same labels (which a gate refuses), and of others.
`plan`
    Labels for a wanted power by `plan --pilot`, from pilots of 300; how often the default procedure
    then certifies in the world that the pilot came from.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from looks import write

from riskjudge import Trace, binomial, counts
from riskjudge._typing import FloatArray
from riskjudge.audit import Mode, Scenario, ScenarioWorld, TraceWorld, worlds_named
from riskjudge.audit.planning import SimulatedPower, labels_for_power, simulate_power
from riskjudge.audit.worlds import World
from riskjudge.calibration import (
    Certificate,
    FixedSequence,
    Pointwise,
    Portfolio,
    Procedure,
    Sample,
    Target,
    default_procedure,
)
from riskjudge.calibration.predictive import batch_bound
from riskjudge.monitor import RiskAlarm
from riskjudge.monitor.selection import thin_by_weight

HERE = Path(__file__).resolve().parent
DELTA = 0.05
Row = dict[str, object]


def generator(world: str, seed: int, run: int) -> np.random.Generator:
    """One stream a world, seed and run."""
    return np.random.default_rng([seed, zlib.crc32(world.encode()), run])


def counted(part: str, world: str, claim: str, promised: float | None, hits: int, runs: int) -> Row:
    """One line: how often a claim was false, with exact 99 % limits."""
    low, high = (float(limit) for limit in binomial.interval(hits, runs, 0.99))
    row: Row = {
        "part": part, "world": world, "claim": claim,
        "promised": "" if promised is None else promised,
        "runs": runs, "broken": hits, "rate": round(hits / runs, 5),
        "low99": round(low, 5), "high99": round(high, 5),
    }  # fmt: skip
    print(row, flush=True)
    return row


def certificate_of(procedure: Procedure, sample: Sample, target: Target, seed: int) -> Certificate:
    return procedure.prepare(sample, seed).certify_at(target)


def with_pool(items: Sample, n: int) -> Sample:
    """The first n items with their labels, the others as the pool."""
    sample = items.rows(np.arange(n))
    return replace(sample, pool_scores=items.scores[n:], pool_verdicts=items.verdicts[n:])


def batch(runs: int, seed: int) -> list[Row]:
    """Wrong verdicts among 300 accepted ones."""
    size, n, level, procedure = 300, 500, 0.05, default_procedure(2)
    names = ("trivia", "equal", "null_flat_same")
    claims = {
        "more wrong than the bound of the batch": DELTA + level,
        "more wrong than the bound for a rule fixed in advance": None,
        "more than alpha of the batch are wrong": None,
    }
    rows = []
    for world in worlds_named(names):
        broken = dict.fromkeys(claims, 0)
        certified = 0
        for r in range(runs):
            rng = generator(world.name, seed, r)
            sample = with_pool(world.draw(n + 1000, rng), n)
            certificate = certificate_of(procedure, sample, Target(world.alpha, DELTA), r)
            if certificate.thresholds is None:
                continue
            certified += 1
            errors = accepted_errors(world, certificate, size, rng)
            bound = batch_bound(certificate, size, level)
            assert bound is not None
            first, second, third = claims
            broken[first] += errors > bound.wrong
            broken[second] += errors > (bound.wrong_if_fixed or 0)
            broken[third] += errors > world.alpha * size
        for claim, promised in claims.items():
            rows.append(counted("batch", world.name, claim, promised, broken[claim], runs))
        rows[-1]["certified"] = certified
    for row in rows:
        row.setdefault("certified", "")
    return rows


def accepted_errors(
    world: World, certificate: Certificate, size: int, rng: np.random.Generator
) -> int:
    """Errors among the next `size` verdicts that a certified rule accepts."""
    vector = np.array(
        [-np.inf if t is None else t for t in (certificate.thresholds or {}).values()]
    )
    errors: list[bool] = []
    while len(errors) < size:
        items = world.draw(2 * size, rng)
        mode = counts.route(items.scores, vector)
        taken = np.flatnonzero(mode >= 0)
        errors += items.errors[taken, mode[taken]].tolist()
    return sum(errors[:size])


def flat(name: str, wrong: tuple[float, float]) -> Scenario:
    """One judge whose error rate depends on the label alone: on right passes, on right fails."""
    rate, lean = sum(wrong) / 2, (wrong[1] - wrong[0]) / sum(wrong)
    return Scenario(name, "null", (Mode((rate, rate), lean=lean),))


@dataclass(frozen=True)
class Both:
    """A setting of part `both`: what is asked, and the kind that is out of reach or at the edge."""

    world: Scenario
    alpha: float
    levels: dict[str, float]


# Of right passes a share b is failed, of right fails a share a is passed; labels are even. Then
# a / (a + 1 - b) of the passes and b / (b + 1 - a) of the fails are wrong.
BOTH = (
    Both(flat("passes .105 wrong", (0.02, 0.115)), 0.2, {"alpha_pass": 0.1, "alpha_fail": 0.2}),
    Both(flat("fails .105 wrong", (0.115, 0.02)), 0.2, {"alpha_pass": 0.2, "alpha_fail": 0.1}),
    Both(flat("TPR .895", (0.105, 0.02)), 0.2, {"min_tpr": 0.9, "min_tnr": 0.8}),
    Both(flat("TNR .895", (0.02, 0.105)), 0.2, {"min_tpr": 0.8, "min_tnr": 0.9}),
)


def both(runs: int, seed: int) -> list[Row]:
    """Each kind by itself, where one of them is out of reach."""
    rows = []
    for setting in BOTH:
        world = ScenarioWorld(setting.world)
        split = "alpha_pass" in setting.levels
        name = world.name
        kept, careless = "a level is broken", "without the levels: a level is broken"
        hits, tries = dict.fromkeys((kept, careless), 0), {kept: runs, careless: min(runs, 200)}
        truth = world.draw(100_000, generator(name, seed, 1_000_000))
        truth = truth.by_verdict() if split else truth
        for r in range(runs):
            sample = with_pool(world.draw(1600, generator(name, seed, r)), 600)
            sample = sample.by_verdict() if split else sample
            select = Portfolio().selector(sample, r)
            for claim, levels in ((kept, setting.levels), (careless, {})):
                if r < tries[claim]:
                    rule = select(Target(setting.alpha, DELTA, **levels)).thresholds
                    hits[claim] += rule is not None and breaks(truth, rule, setting)
        promised = {kept: DELTA, careless: None}
        rows += [counted("both", name, c, promised[c], hits[c], tries[c]) for c in hits]
    return rows


def breaks(truth: Sample, rule: FloatArray, setting: Both) -> bool:
    """Whether any of the levels is broken on a population of labelled items."""
    mode = counts.route(truth.scores, rule)
    taken = np.flatnonzero(mode >= 0)
    wrong = truth.errors[taken, mode[taken]]
    verdict, label = truth.verdicts[taken, mode[taken]], truth.labels[taken]
    kinds: dict[str, tuple[np.ndarray, Callable[[float], float]]] = {
        "alpha_pass": (verdict == 1, lambda level: level),
        "alpha_fail": (verdict == 0, lambda level: level),
        "min_tpr": (label == 1, lambda rate: 1.0 - rate),
        "min_tnr": (label == 0, lambda rate: 1.0 - rate),
    }
    if wrong.mean() > setting.alpha:
        return True
    for name, level in setting.levels.items():
        inside, largest = kinds[name]
        if inside.any() and wrong[inside].mean() > largest(level):
            return True
    return False


def weights(runs: int, seed: int) -> list[Row]:
    """Easy and hard items are even in the target, nine to one among the labelled; its risk is .105."""
    n, procedure, claims = 1500, default_procedure(1), {"with weights": 0, "without weights": 0}
    kept = 0
    for r in range(runs):
        rng = generator("weights", seed, r)
        easy = rng.random(n) < 0.9
        label = rng.integers(0, 2, n)
        wrong = rng.random(n) < np.where(easy, 0.02, 0.19)
        trace = Trace.from_arrays(
            rng.random((n, 1)), (label ^ wrong)[:, None], label,
            item_id=[f"{r}-{i}" for i in range(n)],
        )  # fmt: skip
        trace = replace(trace, extra=pd.DataFrame({"w": np.where(easy, 1.0, 9.0)}))
        for claim in claims:
            used = thin_by_weight(trace, "w", 9.0, seed) if claim == "with weights" else trace
            sample = Sample(used.scores, used.verdicts, used.labels, used.modes)
            rule = procedure.selector(sample, r)(Target(0.1, DELTA)).thresholds
            claims[claim] += rule is not None  # scores say nothing: every rule has the risk .105
            kept += sample.n if claim == "with weights" else 0
    print(f"kept {kept / runs:.1f} of {n}", flush=True)
    return [
        counted("weights", "two topics", claim, DELTA if claim == "with weights" else None, hits, runs)
        for claim, hits in claims.items()
    ]  # fmt: skip


def watch(runs: int, seed: int) -> list[Row]:
    """False alarms of a batch that is sorted by uncertainty; its error rate is alpha to the digit."""
    alpha, size = 0.1, 1000
    hits = {"an alarm, items in the order of a hash": 0, "an alarm, items as they come": 0}
    hashed, as_is = hits
    for r in range(runs):
        rng = generator("watch", seed, r)
        wrong = list(rng.random(size) < 2 * alpha * np.sort(rng.random(size)))
        ids = [f"{r}-{i}" for i in range(size)]
        hits[hashed] += RiskAlarm(alpha, DELTA).add_batch(ids, wrong).raised
        hits[as_is] += RiskAlarm(alpha, DELTA).add(ids, wrong).raised
    promised = {hashed: DELTA, as_is: None}
    return [counted("watch", "sorted batch", c, promised[c], n, runs) for c, n in hits.items()]


def path(runs: int, seed: int) -> list[Row]:
    """An order that has seen the labels, and one from other items, where nothing may be accepted."""
    (world,) = worlds_named(("null_flat",))
    hits = {"the order is from other items": 0, "the order has seen the labels": 0}
    for r in range(runs):
        items = world.draw(1000, generator("path", seed, r))
        tested, others = items.rows(np.arange(500)), items.rows(np.arange(500, 1000))
        for claim, source in zip(hits, (others, tested), strict=True):
            order = Pointwise().certify(source, world.alpha, DELTA).path
            if order:
                rule = FixedSequence(path=order).selector(tested, r)(Target(world.alpha, DELTA))
                hits[claim] += rule.thresholds is not None
    promised = dict.fromkeys(hits, None) | {"the order is from other items": DELTA}
    return [counted("path", world.name, c, promised[c], n, runs) for c, n in hits.items()]


def plan(pilots: int, replicates: int, seed: int) -> list[Row]:
    """Power promised from a pilot, and realised in the world that it came from.

    `again` is the power in the pilot's own model with other draws: what the simulation's error makes.
    """
    rows: list[Row] = []
    for world in worlds_named(("trivia", "strong_second", "equal", "second_only", "hotpot")):

        def power(source: World, repeats: int, chance: int, labels: int) -> SimulatedPower:
            return simulate_power(
                source, labels, source.alpha, DELTA, coverage=0.2, pool=500, replicates=repeats,
                seed=chance,
            )  # fmt: skip

        for p in range(pilots):
            items = world.draw(300, generator(world.name, seed, 10_000 + p))
            pilot = Trace.from_arrays(items.scores, items.verdicts, items.labels)
            model = TraceWorld.from_trace(pilot, alpha=world.alpha)
            found = labels_for_power(partial(power, model, replicates, p), 0.8, 200)
            row: Row = {"world": world.name, "pilot": p, "wanted": 0.8}
            if found is None:
                row |= dict.fromkeys(("labels", "promised", "realised", "low", "high", "again"), "")
            else:
                real = power(world, 2 * replicates, 1000 + p, found.labels)
                again = power(model, 2 * replicates, 1000 + p, found.labels)
                row |= {
                    "labels": found.labels, "promised": round(found.power, 4),
                    "realised": round(real.power, 4), "low": round(real.low, 4),
                    "high": round(real.high, 4), "again": round(again.power, 4),
                }  # fmt: skip
            rows.append(row)
            print(row, flush=True)
    return rows


PARTS = {"batch": batch, "both": both, "weights": weights, "watch": watch, "path": path}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a smoke run")
    parser.add_argument("--part", choices=(*PARTS, "plan"), help="one only")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=HERE / "results")
    given = parser.parse_args(arguments)
    runs = given.runs or (5 if given.quick else 2000)
    for name, part in PARTS.items():
        if given.part in (None, name):
            write(part(runs, given.seed), given.output / f"use_{name}.csv")
    if given.part in (None, "plan"):
        pilots, replicates = (1, 5) if given.quick else (5, 80)
        write(plan(pilots, replicates, given.seed), given.output / "use_plan.csv")
    return 0


if __name__ == "__main__":
    sys.exit(main())
