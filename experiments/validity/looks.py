"""Labels in batches: does the promise hold over all looks, and how many labels do looks save?

    python experiments/validity/looks.py            # about 40 minutes of one core
    python experiments/validity/looks.py --quick    # a smoke run for CI

Three parts, each a CSV in ``results/``:

`looks_rule`
    One rule fixed in advance, without a procedure around it: violation over all looks if its risk is
    all but alpha, and labels to certify a risk of half of alpha at power .8 (many runs, seconds).

`looks_nulls`
    Five looks at one more batch each, where nothing may be accepted. Counted are the runs in which
    *any* look certified a rule whose true risk exceeds alpha; beside them what happens without a
    schedule: every look at the full delta.
`looks_labels`
    Labels until a rule that covers the target is certified. The target is nine tenths of what the
    default certifies on average with 1,000 labels. `single` is one test of the size that reaches it
    with probability .8; each spending has five equal batches, as large as needed for the same power.
"""

from __future__ import annotations

import argparse
import csv
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from riskjudge import binomial
from riskjudge.audit import worlds_named
from riskjudge.audit.worlds import World
from riskjudge.calibration import Procedure, Sample, Target, default_procedure
from riskjudge.calibration.looks import Schedule, Spending
from riskjudge.io.files import replacing

HERE = Path(__file__).resolve().parent
DELTA, LOOKS, POOL, POWER = 0.05, 5, 1000, 0.8
CLOSED = (Spending.LINEAR, Spending.RISING, Spending.OBRIEN_FLEMING)
WORLDS = ("trivia", "hotpot", "strong_second", "equal", "independent", "late_rise")


def draws(world: World, n: int, seed: int, runs: int) -> Iterator[tuple[int, Sample]]:
    """Run number, and n labelled items with a pool."""
    for r in range(runs):
        rng = np.random.default_rng([seed, zlib.crc32(world.name.encode()), r])
        items = world.draw(n + POOL, rng)
        yield (
            r,
            replace(
                items.rows(np.arange(n)),
                pool_scores=items.scores[n:],
                pool_verdicts=items.verdicts[n:],
            ),
        )


def nulls(worlds: Sequence[str], runs: int, batch: int, seed: int) -> list[dict[str, object]]:
    """Violations over the whole sequence of looks."""
    procedure = default_procedure(2)
    designs = {str(s): Schedule(batch=batch, looks=LOOKS, spending=s) for s in CLOSED}
    designs[str(Spending.SERIES)] = Schedule(batch=batch)
    rows = []
    for world in worlds_named(worlds):
        truth = world.population(200_000, np.random.default_rng(seed), False)
        broken = dict.fromkeys([*designs, "no schedule"], 0)
        for r, sample in draws(world, batch * LOOKS, seed, runs):
            safe = set(broken)
            for j in range(1, LOOKS + 1):
                # What a look learns does not depend on the level it is tested at.
                select = procedure.selector(sample.rows(np.arange(batch * j)), r)
                for name in sorted(safe):
                    delta = designs[name].level(j, DELTA) if name in designs else DELTA
                    found = select(Target(world.alpha, delta)).thresholds
                    if found is not None and (truth.risk(found)[0] or 0.0) > world.alpha:
                        broken[name] += 1
                        safe.remove(name)
        for name, count in broken.items():
            rows.append(
                {
                    "world": world.name,
                    "spending": name,
                    "looks": LOOKS,
                    "batch": batch,
                    "alpha": world.alpha,
                    "delta": DELTA,
                    "runs": runs,
                    "violations": count,
                    "violation": count / runs,
                }
            )
            print(rows[-1], flush=True)
    return rows


def reaches(
    procedure: Procedure,
    world: World,
    target: float,
    sizes_and_levels: Sequence[tuple[int, float]],
    runs: int,
    seed: int,
) -> tuple[float, float]:
    """Share of runs in which some look covers the target, and mean labels until it or the end."""
    last = sizes_and_levels[-1][0]
    hits, labels = 0, 0
    for r, sample in draws(world, last, seed, runs):
        for n, level in sizes_and_levels:
            chosen = procedure.selector(sample.rows(np.arange(n)), r)(Target(world.alpha, level))
            if chosen.thresholds is not None and chosen.accepted >= target * chosen.n:
                hits += 1
                labels += n
                break
        else:
            labels += last
    return hits / runs, labels / runs


def labels(
    worlds: Sequence[str], runs: int, seed: int, spendings: Sequence[str] = CLOSED
) -> list[dict[str, object]]:
    """Mean labels until the target is certified, at equal power."""
    procedure = default_procedure(2)
    rows = []
    for world in worlds_named(worlds):
        covered = [
            chosen.accepted / chosen.n
            for r, sample in draws(world, 1000, seed + 1, min(runs, 100))
            for chosen in [procedure.selector(sample, r)(Target(world.alpha, DELTA))]
        ]
        target = 0.9 * float(np.mean(covered))

        def design(name: str, n: int) -> list[tuple[int, float]]:
            if name == "single":
                return [(n, DELTA)]
            schedule = Schedule(batch=max(n // LOOKS, 2), looks=LOOKS, spending=name)
            return [(schedule.size(j), schedule.level(j, DELTA)) for j in range(1, LOOKS + 1)]

        single = 0.0
        for name in ("single", *map(str, spendings)):
            low, high = (50, 4000) if name == "single" else (0.9 * single, 1.7 * single)
            while high / low > 1.03:  # the same draws at every size: the search is nearly monotone
                n = round((low * high) ** 0.5)
                power, _ = reaches(procedure, world, target, design(name, n), runs, seed)
                low, high = (low, n) if power >= POWER else (n, high)
            high = round(high)
            power, mean = reaches(procedure, world, target, design(name, high), runs, seed + 2)
            single = single or mean
            rows.append(
                {
                    "world": world.name,
                    "spending": name,
                    "alpha": world.alpha,
                    "target": round(target, 4),
                    "most_labels": high,
                    "power": round(power, 4),
                    "mean_labels": round(mean, 1),
                    "to_single": round(mean / single, 4),
                    "runs": runs,
                }
            )
            print(rows[-1], flush=True)
    return rows


def one_rule(runs: int, seed: int) -> list[dict[str, object]]:
    """The hardest null, and labels at equal power, for one rule that accepts half of the items."""
    alpha, coverage, rows = 0.1, 0.5, []
    for name in ("single", *map(str, CLOSED)):

        def design(n: int, name: str = name) -> tuple[list[int], list[float]]:
            if name == "single":
                return [n], [DELTA]
            schedule = Schedule(batch=n // LOOKS, looks=LOOKS, spending=name)
            looks = range(1, LOOKS + 1)
            return [schedule.size(j) for j in looks], [schedule.level(j, DELTA) for j in looks]

        def passed(n: int, risk: float, design: object = design) -> tuple[float, float]:
            sizes, levels = design(n)  # type: ignore[operator]
            rng = np.random.default_rng(seed)
            steps = np.diff(sizes, prepend=0)
            accepted = rng.binomial(steps, coverage, (runs, len(sizes)))
            errors = rng.binomial(accepted, risk).cumsum(axis=1)
            hit = binomial.p_value(errors, accepted.cumsum(axis=1), alpha) <= np.array(levels)
            first = np.where(hit.any(axis=1), hit.argmax(axis=1), len(sizes) - 1)
            return float(hit.any(axis=1).mean()), float(np.array(sizes)[first].mean())

        low, high = 50, 2000
        while high - low > LOOKS:
            middle = (low + high) // 2
            low, high = (low, middle) if passed(middle, alpha / 2)[0] >= POWER else (middle, high)
        power, mean = passed(high, alpha / 2)
        rows.append(
            {
                "spending": name,
                "looks": len(design(high)[0]),
                "runs": runs,
                "most_labels": high,
                "power": round(power, 4),
                "mean_labels": round(mean, 1),
                "violation": round(passed(high, alpha + 1e-6)[0], 4),
                "delta": DELTA,
            }
        )
        print(rows[-1], flush=True)
    return rows


def write(rows: Sequence[dict[str, object]], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a smoke run")
    parser.add_argument("--part", choices=("rule", "nulls", "labels"), help="one part only")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=HERE / "results")
    given = parser.parse_args(arguments)
    if given.part in (None, "rule"):
        runs = given.runs or (2000 if given.quick else 100_000)
        write(one_rule(runs, given.seed), given.output / "looks_rule.csv")
    if given.part in (None, "nulls"):
        runs = given.runs or (20 if given.quick else 2000)
        worlds = ("null_flat",) if given.quick else ("null_flat", "null_flat_same", "null_tied")
        write(
            nulls(worlds, runs, 60 if given.quick else 200, given.seed),
            given.output / "looks_nulls.csv",
        )
    if given.part in (None, "labels"):
        runs = given.runs or (10 if given.quick else 250)
        worlds = WORLDS[:1] if given.quick else WORLDS
        write(labels(worlds, runs, given.seed), given.output / "looks_labels.csv")
    return 0


if __name__ == "__main__":
    sys.exit(main())
