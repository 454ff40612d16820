"""Which interval of a corrected pass rate holds, and what it costs: the study behind the default.

    python experiments/rates/study.py                # all parts; about ten minutes of one core
    python experiments/rates/study.py --quick        # a smoke run, a few seconds
    python experiments/rates/study.py --part draws

Every part writes ``results/<part>.csv``, one line a cell and estimator; ``figure.py`` draws from it.
Every cell has a seed of its own, so a part gives the same file however it is run.
"""

from __future__ import annotations

import argparse
import csv
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from riskjudge.io.files import replacing
from riskjudge.rates import ESTIMATORS, Estimate, RateSample, rank_systems

HERE = Path(__file__).resolve().parent
LABELS = (50, 100, 200, 1000)
RATES = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)
# Share of right verdicts on right and on wrong answers.
JUDGES = {"good": (0.9, 0.9), "medium": (0.75, 0.75), "bad": (0.55, 0.5)}
ROWS_A_LABEL = 5


def answers(
    rng: np.random.Generator, rows: int, rate: float, judge: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What is right, what the judge says, and how unsure it is (more so where it errs)."""
    truth = (rng.random(rows) < rate).astype(int)
    right = rng.random(rows) < np.where(truth == 1, judge[0], judge[1])
    unsure = rng.beta(np.where(right, 2.0, 3.0), np.where(right, 4.0, 2.5))
    return truth, np.where(right, truth, 1 - truth), unsure


def simple(rng: np.random.Generator, n: int, rate: float, judge: tuple[float, float]) -> RateSample:
    """Independent rows, `n` of them labelled at random."""
    truth, verdicts, unsure = answers(rng, ROWS_A_LABEL * n, rate, judge)
    labels = np.where(np.arange(len(truth)) < n, truth, -1)
    return RateSample.from_arrays(verdicts, labels, uncertainty=unsure)


def grouped(
    rng: np.random.Generator, n: int, rate: float, judge: tuple[float, float]
) -> RateSample:
    """Five answers to a question, right or wrong together half of the time; questions are labelled whole."""
    size = 5
    questions = ROWS_A_LABEL * n // size
    rows = questions * size
    group = np.repeat(np.arange(questions), size)
    shared = np.repeat(rng.random(questions) < rate, size)
    truth = np.where(rng.random(rows) < 0.5, shared, rng.random(rows) < rate).astype(int)
    right = rng.random(rows) < np.where(truth == 1, judge[0], judge[1])
    labels = np.where(group < n // size, truth, -1)
    return RateSample.from_arrays(np.where(right, truth, 1 - truth), labels, group=group)


def adaptive(
    rng: np.random.Generator, n: int, rate: float, judge: tuple[float, float]
) -> RateSample:
    """Labels drawn by `riskjudge label next`: more where the judge is unsure."""
    from riskjudge.rates.drawing import draw, weights_of

    truth, verdicts, unsure = answers(rng, ROWS_A_LABEL * n, rate, judge)
    blank = RateSample.from_arrays(verdicts, np.full(len(truth), -1), uncertainty=unsure)
    drawn = draw(blank, n, seed=int(rng.integers(1 << 31)))
    labels = np.full(len(truth), -1)
    labels[drawn.index] = truth[drawn.index]
    return RateSample(
        blank.item_id,
        verdicts,
        labels,
        blank.part,
        unsure,
        weights_of(drawn.stratum, labels >= 0),
        None,
        drawn.stratum,
    )


def counts(runs: int, quick: bool) -> Iterator[dict[str, object]]:
    """The default and labels alone, simulated as counts: as many runs as a sharp answer takes.

    Without uncertainties the rows of a sample matter only as counts of verdicts and labels, and the
    limits are computed for all runs at once by the function that the package uses.
    """
    from riskjudge.proportion import clopper_pearson
    from riskjudge.rates.cells import FEWEST
    from riskjudge.rates.stratified import limits

    judges = {**JUDGES, "lenient": (0.97, 0.6), "perfect": (1.0, 1.0)}
    rates = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98)
    for place, (n, judge, rate) in enumerate(itertools.product(LABELS, judges, rates)):
        if quick and place % 9:
            continue
        rng = np.random.default_rng([20261204, place])
        tpr, tnr = judges[judge]
        passed = rate * tpr + (1 - rate) * (1 - tnr)
        chance = np.array([1 - passed, passed])
        right = np.array([rate * (1 - tpr), rate * tpr]) / np.maximum(chance, 1e-300)
        for times in (ROWS_A_LABEL, 50):
            labels = rng.multinomial(n, chance, size=runs)
            rows = labels + rng.multinomial((times - 1) * n, chance, size=runs)
            passes = rng.binomial(labels, np.minimum(right, 1.0)).astype(float)
            share, size = rows / rows.sum(axis=1, keepdims=True), labels.astype(float)
            joined = size.min(axis=1) < FEWEST
            total = passes.sum(axis=1)
            passes[joined, 0], size[joined, 0], share[joined, 0] = total[joined], n, 1.0
            passes[joined, 1], size[joined, 1], share[joined, 1] = 0.0, 1.0, 0.0
            low, high = limits(share, passes / size, size, float(times * n), 0.95)
            least, most = clopper_pearson(total / n, float(n), 0.95)
            for name, (down, up) in {"stratified": (low, high), "classical": (least, most)}.items():
                yield {
                    "labels": n,
                    "rows": times * n,
                    "judge": judge,
                    "rate": rate,
                    "estimator": name,
                    "runs": runs,
                    "coverage": round(float(np.mean((down <= rate) & (rate <= up))), 5),
                    "width": round(float(np.mean(up - down)), 5),
                    "width_to_labels_alone": round(
                        float(np.mean(up - down) / np.mean(most - least)), 4
                    ),
                    "labels_saved": round(
                        float(np.mean(most - least) / np.mean(up - down)) ** 2, 3
                    ),
                }


Make = Callable[[np.random.Generator, int, float, tuple[float, float]], RateSample]


def cells(make: Make, runs: int, quick: bool) -> Iterator[dict[str, object]]:
    """Coverage and width of every estimator in every cell."""
    grid = list(itertools.product(LABELS, JUDGES, RATES))
    for place, (n, judge, rate) in enumerate(grid):
        if quick and (n > 100 or rate not in (0.1, 0.5)):
            continue
        rng = np.random.default_rng([20261201, place])
        found: dict[str, list[Estimate]] = {name: [] for name in ESTIMATORS}
        for _ in range(runs):
            some = make(rng, n, rate, JUDGES[judge])
            for name, estimator in ESTIMATORS.items():
                found[name].append(estimator(some))
        alone = width(found["classical"])
        for name, estimates in found.items():
            defined = [e for e in estimates if e.low is not None and e.high is not None]
            hits = sum(e.low <= rate <= e.high for e in defined)  # type: ignore[operator]
            yield {
                "labels": n,
                "judge": judge,
                "rate": rate,
                "estimator": name,
                "runs": runs,
                "defined": len(defined),
                "coverage": round(hits / len(defined), 4) if defined else None,
                "width": round(width(estimates), 5) if defined else None,
                "width_to_labels_alone": round(width(estimates) / alone, 4) if defined else None,
                "labels_saved": round((alone / width(estimates)) ** 2, 3) if defined else None,
            }


def width(estimates: list[Estimate]) -> float:
    """Mean width of those that are defined."""
    return float(np.mean([e.width for e in estimates if e.width is not None]))


def rankings(runs: int, quick: bool) -> Iterator[dict[str, object]]:
    """How often all intervals of all differences hold together, and how often a rank is wrong."""
    from scipy import stats

    for place, (k, n, labels) in enumerate(
        ((3, 500, 100), (3, 1000, 200), (6, 500, 100), (10, 500, 200))
    ):
        if quick and k > 3:
            continue
        rates = np.linspace(0.5, 0.8, k)
        rates[1] = rates[0]
        rng = np.random.default_rng([20261202, place])
        together = apart = wrong = 0
        for _ in range(runs):
            hard = rng.standard_normal(n)
            samples = {}
            for i, rate in enumerate(rates):
                score = 0.8 * hard + 0.6 * rng.standard_normal(n)
                truth = (score < stats.norm.ppf(rate)).astype(int)
                verdicts = np.where(rng.random(n) < 0.85, truth, 1 - truth)
                given = np.where(np.arange(n) < labels, truth, -1)
                samples[str(i)] = RateSample.from_arrays(verdicts, given, group=np.arange(n))
            ranking = rank_systems(samples)
            inside = [
                d.simultaneous[0] <= rates[int(d.better)] - rates[int(d.than)] <= d.simultaneous[1]
                for d in ranking.differences
            ]
            together += all(inside)
            told = [d for d in ranking.differences if d.told_apart]
            apart += len(told)
            wrong += any(rates[int(d.better)] <= rates[int(d.than)] for d in told)
        yield {
            "systems": k,
            "questions": n,
            "labels_each": labels,
            "runs": runs,
            "all_intervals_hold": together / runs,
            "a_wrong_order": wrong / runs,
            "pairs_told_apart": round(apart / runs / (k * (k - 1) / 2), 4),
        }


PARTS: dict[str, Callable[[int, bool], Iterator[dict[str, object]]]] = {
    "counts": lambda runs, quick: counts(10 * runs, quick),
    "coverage": lambda runs, quick: cells(simple, runs, quick),
    "groups": lambda runs, quick: cells(grouped, runs, quick),
    "draws": lambda runs, quick: cells(adaptive, runs, quick),
    "rankings": rankings,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=PARTS, action="append", help="default: all")
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--quick", action="store_true", help="40 runs of a few cells")
    parser.add_argument("--output", type=Path, default=HERE / "results")
    given = parser.parse_args()
    runs = 40 if given.quick else given.runs
    given.output.mkdir(parents=True, exist_ok=True)
    for part in given.part or PARTS:
        rows = list(PARTS[part](runs, given.quick))
        with replacing(given.output / f"{part}.csv") as path, path.open("w", newline="") as lines:
            writer = csv.DictWriter(lines, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        print(f"{part}: {len(rows)} lines")


if __name__ == "__main__":
    main()
