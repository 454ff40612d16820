"""Does the promise of fused certification hold where the truth is known?

    python experiments/signals/study.py                    # every cell; about an hour of one core
    python experiments/signals/study.py --quick            # a smoke run, for CI

Writes ``results/validity.csv``, one line a cell as soon as it is done; cells that are there already
are not run again.
"""

from __future__ import annotations

import argparse
import time
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from riskjudge import counts
from riskjudge.calibration import Fused, Sample
from riskjudge.calibration.sample import scores_by_verdict
from riskjudge.signals.calibrators import calibrator_names
from riskjudge.signals.fusion import LinearFusion, cross_fitted, fit_linear
from riskjudge.signals.signal import Family
from riskjudge.signals.teaching import rows_to_teach

DELTA = 0.05

WORLDS = {
    "coins": "labels are coins, signals and judges are noise; every rule errs in half of the cases",
    "near": "nine of ten labels are 1 and all judges say 1; every rule errs in a tenth of the cases or "
    "more, and alpha is just below",
    "gone": "as near; one signal is the label itself in the teaching rows, and noise in all others",
    "skill": "labels follow the signals; the truth of a rule is its mean error probability over "
    "20,000 further items",
}
CELLS = [
    *(("near", s, n) for n in (100, 300, 1000) for s in (3, 30)),
    *(("coins", s, n) for n, s in ((100, 3), (300, 10), (1000, 30))),
    *(("gone", s, n) for n, s in ((100, 3), (300, 10), (1000, 30))),
    *(("skill", s, n) for n, s in ((100, 3), (300, 10), (1000, 30))),
    ("near", 10, 300),
]
BROKEN = ("coins", 10, 300)


def draw(world: str, n: int, n_signals: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Signals, P(label is 1), verdicts and uncertainties of two judges."""
    x = rng.normal(size=(n, n_signals))
    u = rng.uniform(0.0, 0.5, (n, 2))
    if world == "coins":
        return x, np.full(n, 0.5), rng.integers(0, 2, (n, 2)), u
    if world in ("near", "gone"):
        return x, np.full(n, 0.9), np.ones((n, 2), dtype=np.int64), u
    logit = 1.2 * x[:, :3].sum(axis=1)
    p = 1.0 / (1.0 + np.exp(-logit))
    noisy = logit[:, None] + 2.0 * rng.normal(size=(n, 2))
    return x, p, (noisy > 0).astype(np.int64), 0.5 * np.exp(-np.abs(noisy) / 2.0)


def risk_level(world: str) -> float:
    """Where the nulls are null, as closely as the exact tests can tell."""
    return {"coins": 0.47, "near": 0.095, "gone": 0.095, "skill": 0.15}[world]


def one_calibration(
    world: str, n: int, n_signals: int, r: int, population: tuple[np.ndarray, ...], broken: str
) -> tuple[bool, float]:
    """Whether the certified rule is riskier than alpha, and its coverage of the tested rows."""
    rng = np.random.default_rng([zlib.crc32(world.encode()), n, n_signals, r])
    x, p, verdicts, u = draw(world, n, n_signals, rng)
    labels = (rng.random(n) < p).astype(np.int64)
    teach = np.zeros(n, dtype=bool)
    teach[rng.permutation(n)[: rows_to_teach(n, n_signals)]] = True
    if world == "gone":
        x[teach, 0] = 2.0 * labels[teach] - 1.0
    names = calibrator_names(None)
    families = [Family.NUMBER] * n_signals

    def fit(values: Any, y: np.ndarray) -> LinearFusion:
        return fit_linear(values, y, families, names)

    def fused(fusion: LinearFusion, x: np.ndarray, v: np.ndarray, u: np.ndarray) -> Any:
        q = fusion.probability(list(x.T))
        return (
            np.column_stack((np.minimum(q, 1.0 - q), u)),
            np.column_stack((q >= 0.5, v)).astype(np.int64),
        )

    def sample(s: np.ndarray, v: np.ndarray, y: np.ndarray) -> Sample:
        return Sample(s, v, y, ("fused", "judge 1", "judge 2"))

    # Broken on purpose: the fusion also learns from the rows that it will be tested on.
    learn = np.ones(n, dtype=bool) if broken == "taught_by_tested_rows" else teach
    fusion = fit(list(x[learn].T), labels[learn])
    honest = cross_fitted(list(x[teach].T), labels[teach], fit, r)
    taught = sample(
        np.column_stack((np.minimum(honest, 1.0 - honest), u[teach])),
        np.column_stack((honest >= 0.5, verdicts[teach])).astype(np.int64),
        labels[teach],
    )
    tested = sample(*fused(fusion, x[~teach], verdicts[~teach], u[~teach]), labels[~teach])
    certificate = Fused().certify(
        replace(tested, taught=taught, also_tested=np.ones(taught.n, dtype=bool)).by_verdict(),
        risk_level(world),
        DELTA,
        seed=r,
    )
    if certificate.thresholds is None:
        return False, 0.0
    if world != "skill":
        return True, certificate.coverage or 0.0  # every rule is riskier than alpha
    x, p, verdicts, u = population
    vector = np.array([counts.NONE if t is None else t for t in certificate.thresholds.values()])
    s, v = fused(fusion, x, verdicts, u)
    column = counts.route(scores_by_verdict(s, v), vector)
    accepted = column >= 0
    said = column[accepted] % 2
    true_risk = float(np.where(said == 1, 1.0 - p[accepted], p[accepted]).mean())
    return true_risk > risk_level(world), certificate.coverage or 0.0


def cell(world: str, n_signals: int, n: int, broken: str, replicates: int) -> dict[str, object]:
    """Violations in one cell, with exact 99 % limits."""
    start = time.process_time()
    population = draw(world, 20_000, n_signals, np.random.default_rng(99))
    found = [one_calibration(world, n, n_signals, r, population, broken) for r in range(replicates)]
    broke = sum(f[0] for f in found)
    low, high = binomtest(broke, replicates).proportion_ci(0.99)
    return {
        "world": world,
        "signals": n_signals,
        "n": n,
        "alpha": risk_level(world),
        "broken": broken or "no",
        "calibrations": replicates,
        "violations": broke,
        "rate": broke / replicates,
        "low": low,
        "high": high,
        "coverage": float(np.mean([f[1] for f in found])),
        "cpu_seconds": time.process_time() - start,
        "seed": f"crc32(world), n, signals, 0 to {replicates - 1}",
        "command": "study.py",
    }


def main() -> None:
    """Run the cells that are not there yet; one that is broken on purpose must stand out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=2_000)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", type=Path, default=Path(__file__).resolve().parent / "results")
    chosen = parser.parse_args()
    chosen.output.mkdir(parents=True, exist_ok=True)
    path = chosen.output / "validity.csv"
    lines = pd.read_csv(path).to_dict("records") if path.exists() else []
    done = {(line["world"], line["signals"], line["n"], line["broken"]) for line in lines}
    jobs = [(*BROKEN, "taught_by_tested_rows"), *((*cell, "") for cell in CELLS)]
    for world, n_signals, n, broken in jobs:
        if (world, n_signals, n, broken or "no") in done:
            continue
        replicates = min(200, chosen.replicates) if broken else chosen.replicates
        lines.append(cell(world, n_signals, n, broken, 2 if chosen.quick else replicates))
        print(lines[-1], flush=True)
        pd.DataFrame(lines).to_csv(path, index=False, float_format="%.4f")


if __name__ == "__main__":
    main()
