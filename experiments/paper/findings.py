"""The numbers that FINDINGS.md quotes; every rate with its exact 95 % interval.

    python experiments/paper/findings.py --jobs 2

Calibration sets are drawn afresh from the fitted models (1,000 independent items each), and the
rule that a procedure picks is judged by its error rate on 200,000 further items: the model's true
FDR, as near as matters, not that of a test half. What the valid procedures do on known truth is
studied under ``experiments/validity``.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from riskjudge import counts
from riskjudge.binomial import interval
from riskjudge.calibration import Bonferroni, FixedSequence, Pointwise, Procedure, Sample
from riskjudge.paper.coarse import coarse_protocol
from riskjudge.paper.model import SyntheticTrace
from riskjudge.paper.parameters import fitted_parameters
from riskjudge.paper.protocol import Run, execute
from riskjudge.paper.published import ALPHAS, Configuration, main_configurations
from riskjudge.paper.targets import seed_of

RESULTS = Path(__file__).resolve().parent / "results"
N, POPULATION, DELTA = 1000, 200_000, 0.05
PARTS = ("objectives", "trace_noise", "violations", "cross_validation")
MODES = ("parametric", "retrieval")
PROCEDURES: dict[str, Procedure] = {
    "pointwise": Pointwise(),
    "conservative": Bonferroni(correction="paper", objective="coverage"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", choices=PARTS)
    options = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    if options.only in (None, "objectives"):
        write("objectives", objectives())
    if options.only in (None, "trace_noise"):
        write("trace_noise", trace_noise())
    if options.only in (None, "violations"):
        parts = Parallel(n_jobs=options.jobs)(
            delayed(violations)(c, options.replicates) for c in main_configurations()
        )
        write("violations", [row for part in parts for row in part])
    if options.only in (None, "cross_validation"):
        seeds = np.array_split(np.arange(400), 8)
        parts = Parallel(n_jobs=options.jobs)(delayed(cross_validation)(s) for s in seeds)
        write("cross_validation", pooled([row for part in parts for row in part]))


def objectives() -> list[dict[str, Any]]:
    """FDR, coverage and mode 1's share where everything is accepted, under three objectives."""
    rows = []
    for c in main_configurations()[:16]:
        trace = fitted_parameters().trace(c)
        for objective in ("coverage", "correct", "coverage_then_cost"):
            means = coarse_protocol(trace, (0.2, 0.6), 32, seed_of(c), objective)
            row: dict[str, Any] = {"configuration": c.name, "objective": objective}
            for alpha in (0.2, 0.6):
                for metric in ("coverage", "fdr", "share_mode1"):
                    row[f"{metric}_at_{alpha:g}"] = round(means[metric, alpha], 4)
            rows.append(row)
    return rows


def trace_noise(traces: int = 30, splits: int = 20) -> list[dict[str, Any]]:
    """How far the mean coverage of 2,000 other items from the same model is from these 2,000's."""
    rows = []
    for dataset in ("TriviaQA", "HotpotQA"):
        c = Configuration("Qwen3-8B", "Qwen3-8B", dataset)
        model = fitted_parameters().model(c)
        run = Run(c, ALPHAS, splits=splits)
        means = np.array(
            [
                execute(run, model.simulate(2000, 30_000_000 + i).to_trace()).coverage.mean(axis=0)
                for i in range(traces)
            ]
        )
        for alpha, column in zip(ALPHAS, means.T, strict=True):
            spread = {
                "mean": round(float(column.mean()), 4),
                "std": round(float(column.std(ddof=1)), 4),
            }
            rows.append({"dataset": dataset, "alpha": alpha, "traces": traces} | spread)
    return rows


def violations(c: Configuration, replicates: int) -> list[dict[str, Any]]:
    """How often each procedure's rule has a true FDR above alpha, and what it covers."""
    model = fitted_parameters().model(c)
    truth = Truth(model.simulate(POPULATION, seed_of(c) + 10_000_000))
    broken = {(name, alpha): 0 for name in PROCEDURES for alpha in ALPHAS}
    covered = dict.fromkeys(broken, 0.0)
    for replicate in range(replicates):
        sample = sample_of(model.simulate(N, seed_of(c) + 20_000_000 + replicate))
        for name, procedure in PROCEDURES.items():
            for alpha in ALPHAS:
                rule = procedure.certify(sample, alpha, DELTA, seed=replicate).thresholds
                if rule is not None:
                    m, w = truth.counts([rule[mode] for mode in MODES])
                    covered[name, alpha] += m / POPULATION / replicates
                    broken[name, alpha] += int(m > 0 and w / m > alpha)
    return [
        {"configuration": c.name, "procedure": name, "alpha": alpha}
        | rate(broken[name, alpha], replicates)
        | {"mean_coverage": round(float(covered[name, alpha]), 4)}
        for name, alpha in broken
    ]


class Truth:
    """Counts over a large population for any pair, to one part in 2,000 of each mode's ranks."""

    def __init__(self, population: SyntheticTrace) -> None:
        wrong = population.verdicts != population.labels[:, None]
        levels = np.arange(1, 2001) / 2000
        grids = [np.unique(np.nanquantile(column, levels)) for column in population.scores.T]
        plane = counts.Plane(population.scores, wrong, (grids[0], grids[1]))
        self.grids = plane.grids
        self.accepted, self.errors = plane.counts()

    def counts(self, thresholds: list[float | None]) -> tuple[int, int]:
        """Accepted items and errors of a pair of thresholds."""
        cell = tuple(
            0 if t is None else int(np.searchsorted(grid, t, side="right")) - 1
            for grid, t in zip(self.grids, thresholds, strict=True)
        )
        return int(self.accepted[cell]), int(self.errors[cell])


def sample_of(trace: SyntheticTrace) -> Sample:
    return Sample(trace.scores, trace.verdicts, trace.labels, MODES)


FEATURES = 40
LEVELS = (0.1, 0.15, 0.2)


def cross_validation(seeds: Iterable[int]) -> list[dict[str, Any]]:
    """A learned score: trained on other items, or cross-validated on the calibration set itself.

    Hidden states are 40 normal features, of which the error depends on ten. The probe is a logistic
    regression. Cross-validated: each calibration item is scored by the fold model that has not seen
    it, a new item by the mean of the five fold models.
    """
    weights = np.zeros(FEATURES)
    weights[:10] = 0.45
    rows = []
    for seed in seeds:
        rng = np.random.default_rng([11, seed])
        x, chance = draw(rng, N, weights)
        wrong = rng.random(N) < chance
        other_x, other_chance = draw(rng, N, weights)
        other_wrong = rng.random(N) < other_chance
        new_x, new_chance = draw(rng, POPULATION // 10, weights)
        independent = LogisticRegression(max_iter=200).fit(other_x, other_wrong)
        inside = np.empty(N)
        outside = np.zeros(len(new_x))
        for train, held in KFold(5, shuffle=True, random_state=seed).split(x):
            fold = LogisticRegression(max_iter=200).fit(x[train], wrong[train])
            inside[held] = fold.decision_function(x[held])
            outside += fold.decision_function(new_x) / 5
        refit = LogisticRegression(max_iter=200).fit(x, wrong)
        scored = {
            "independent": (independent.decision_function(x), independent.decision_function(new_x)),
            "cross-validated": (inside, outside),
            "trained on itself": (refit.decision_function(x), refit.decision_function(new_x)),
        }
        for name, (score, new_score) in scored.items():
            sample = Sample(
                score[:, None], wrong.astype(np.int64)[:, None], np.zeros(N, np.int64), ("probe",)
            )
            for procedure in (FixedSequence(), Pointwise()):
                for alpha in LEVELS:
                    rule = procedure.certify(sample, alpha, DELTA, seed=int(seed)).thresholds
                    accepted = new_score <= (counts.NONE if rule is None else rule["probe"])
                    m, w = int(accepted.sum()), float(new_chance[accepted].sum())
                    rows.append(
                        {
                            "score": name,
                            "procedure": procedure.name,
                            "alpha": alpha,
                            "broken": int(m > 0 and w / m > alpha),
                            "coverage": m / len(new_x),
                        }
                    )
    return rows


def draw(rng: np.random.Generator, n: int, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Hidden states, and the chance that each verdict is wrong."""
    x = rng.standard_normal((n, FEATURES))
    return x, 1.0 / (1.0 + np.exp(1.6 - x @ weights))


def pooled(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    keys = dict.fromkeys((r["score"], r["procedure"], r["alpha"]) for r in rows)
    result = []
    for key in keys:
        mine = [r for r in rows if (r["score"], r["procedure"], r["alpha"]) == key]
        result.append(
            dict(zip(("score", "procedure", "alpha"), key, strict=True))
            | rate(sum(r["broken"] for r in mine), len(mine))
            | {"mean_coverage": round(float(np.mean([r["coverage"] for r in mine])), 4)}
        )
    return result


def rate(broken: int, n: int) -> dict[str, Any]:
    low, high = interval(broken, n)
    return {
        "violations": broken,
        "calibrations": n,
        "rate": round(broken / n, 4),
        "low": round(float(low), 4),
        "high": round(float(high), 4),
    }


def write(name: str, rows: list[dict[str, Any]]) -> None:
    with (RESULTS / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(f"wrote {RESULTS / name}.csv")


if __name__ == "__main__":
    main()
