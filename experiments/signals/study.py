"""Does fused certification pay on real files, and does its promise hold?

    python experiments/signals/study.py --part real --data DIR      # the files named below
    python experiments/signals/study.py --part validity             # known truth
    python experiments/signals/study.py --quick                     # a smoke run, for CI

Writes ``results/<part>.csv``, one line a cell. `--data` is a folder with
``evouna_{tq,nq}_qwen05b_two_mode.csv``, ``openqa_nq301_bem_gpt4_human.csv`` and
``llmbar_two_mode_by_judge.csv``; files that are not there are left out.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from riskjudge import counts
from riskjudge.calibration import Fused, Hybrid, Sample
from riskjudge.calibration.sample import scores_by_verdict
from riskjudge.data.modes import ModeColumns
from riskjudge.data.trace import Trace
from riskjudge.signals import Signal, fit_fusion, fused_trace, parse_signals, split_teaching
from riskjudge.signals.calibrators import calibrator_names
from riskjudge.signals.fusion import LinearFusion, cross_fitted, fit_linear
from riskjudge.signals.signal import Family
from riskjudge.signals.teaching import rows_to_teach, taught_sample

DELTA = 0.05
ALPHAS = (0.10, 0.15, 0.20)
MOST = 1_000  # labels to calibrate on


def sample_of(trace: Trace) -> Sample:
    """All modes, as they are."""
    return Sample(trace.scores, trace.verdicts, trace.labels, trace.modes)


def achieved(thresholds: dict[str, float | None] | None, sample: Sample) -> float:
    """Coverage of a rule on other items."""
    if thresholds is None:
        return 0.0
    vector = np.array([counts.NONE if t is None else t for t in thresholds.values()])
    return (
        int(counts.path_counts(sample.scores, sample.errors, vector[None]).accepted[0]) / sample.n
    )


# ----------------------------------------------------------------------------- real files


def real_traces(folder: Path) -> Iterator[tuple[str, Trace, list[str]]]:
    """Name, trace and signals."""
    for short in ("tq", "nq"):
        if (path := folder / f"evouna_{short}_qwen05b_two_mode.csv").exists():
            yield f"evouna {short}", Trace.from_frame(pd.read_csv(path)), ["modes"]
    if (path := folder / "openqa_nq301_bem_gpt4_human.csv").exists():
        frame = pd.read_csv(path, dtype={"item_id": str})
        frame["u2"] = np.where(frame["v2"].isna(), np.nan, 0.0)
        both = [ModeColumns("bem", "v1", "u1"), ModeColumns("gpt4", "v2", "u2")]
        one = frame.sample(frac=1, random_state=0).drop_duplicates("question_id")
        for name, table in (("all rows", frame), ("one row a question", one)):
            # GPT-4 gives no uncertainty: as a signal beside one mode, and as a second mode.
            signals = ["modes:bem", "number:v2"]
            yield f"openqa {name}, one mode", Trace.from_frame(table, modes=both[:1]), signals
            yield f"openqa {name}, two modes", Trace.from_frame(table, modes=both), ["modes"]
    if (path := folder / "llmbar_two_mode_by_judge.csv").exists():
        frame = pd.read_csv(path, dtype={"item_id": str})
        further = ["vanilla_ab", "vanilla_ba", "rating_gap"]
        numbers = [f"number:{name}" for name in further]
        for judge, table in frame.groupby("judge"):
            yield f"llmbar {judge}", Trace.from_frame(table), ["modes", *numbers]
        wide = frame.pivot(
            index="item_id", columns="judge", values=["v1", "u1", "v2", "u2", "p1", "p2", *further]
        )
        wide.columns = [f"{a}_{b}" for a, b in wide.columns]
        wide["label"] = frame.groupby("item_id")["label"].first()
        wide = wide.reset_index()
        judges = sorted(set(frame["judge"]))
        two = [ModeColumns(f"GPT-4 {k}", f"v{k}_GPT-4", f"u{k}_GPT-4") for k in (1, 2)]
        six = [ModeColumns(j, f"v1_{j}", f"u1_{j}") for j in judges]
        rest = [f"number:{f}_{j}" for j in judges for f in further]
        every = [f"probability:p{k}_{j}" for j in judges for k in (1, 2)]
        yield (
            "llmbar all judges, GPT-4's modes",
            Trace.from_frame(wide, modes=two),
            [
                "modes",
                *rest,
                *every,
            ],
        )
        yield (
            "llmbar all judges, six modes",
            Trace.from_frame(wide, modes=six),
            [
                "modes",
                *rest,
                *(f"probability:p2_{j}" for j in judges),
            ],
        )


def real(folder: Path, splits: int) -> pd.DataFrame:
    """Mean certified coverage on the other half, paired over the splits."""
    lines = []
    for name, trace, specs in real_traces(folder):
        signals = parse_signals(specs, trace)
        trace = trace.rows(trace.labelled)
        found = [one_split(trace, signals, seed) for seed in range(splits)]
        for i, alpha in enumerate(ALPHAS):
            table = np.array([split[i] for split in found])  # hybrid, by verdict, fused
            mean = table.mean(axis=0)
            best = int(np.argmax(mean[:2]))
            gain = table[:, 2] - table[:, best]
            lines.append(
                {
                    "data": name,
                    "n": min(len(trace) // 2, MOST),
                    "signals": len(signals),
                    "alpha": alpha,
                    "hybrid": mean[0],
                    "by_verdict": mean[1],
                    "fused": mean[2],
                    "gain": gain.mean(),
                    "gain_se": gain.std(ddof=1) / np.sqrt(splits),
                }
            )
        print(pd.DataFrame(lines[-len(ALPHAS) :]).to_string(header=False, index=False), flush=True)
    return pd.DataFrame(lines)


def one_split(trace: Trace, signals: tuple[Signal, ...], seed: int) -> list[list[float]]:
    """For each alpha the coverage of hybrid, hybrid by verdict, and fused."""
    order = np.random.default_rng(1000 + seed).permutation(len(trace))
    half = len(trace) // 2
    labelled, other = trace.rows(order[: min(half, MOST)]), trace.rows(order[half:])
    plain, test = sample_of(labelled), sample_of(other)
    teaching, rest = split_teaching(labelled, len(signals), seed=seed)
    fusion = fit_fusion(teaching, signals, seed=seed)
    fused = replace(
        sample_of(fused_trace(fusion, rest, "")),
        taught=taught_sample(fusion, tuple(range(trace.n_modes))),
    )
    prepared = [
        (Hybrid().prepare(plain, seed), test),
        (Hybrid().prepare(plain.by_verdict(), seed), test.by_verdict()),
        (
            Fused().prepare(fused.by_verdict(), seed),
            sample_of(fused_trace(fusion, other, "")).by_verdict(),
        ),
    ]
    return [
        [achieved(p.certify(alpha, DELTA).thresholds, sample) for p, sample in prepared]
        for alpha in ALPHAS
    ]


# ----------------------------------------------------------------------------- known truth

WORLDS = {
    "coins": "labels are coins, signals and judges are noise; every rule errs in half of the cases",
    "near": "nine of ten labels are 1 and all judges say 1; every rule errs in a tenth of the cases or "
    "more, and alpha is just below",
    "gone": "as near; one signal is the label itself in the teaching rows, and noise in all others",
    "skill": "labels follow the signals; the truth of a rule is its mean error probability over "
    "20,000 further items",
}
CELLS = [
    ("near", 3, 300),
    ("near", 30, 300),
    ("coins", 10, 300),
    ("gone", 10, 300),
    ("skill", 10, 300),
    ("near", 30, 100),
    ("near", 10, 1000),
    ("skill", 30, 1000),
    ("coins", 30, 1000),
    ("near", 3, 100),
]


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
        replace(tested, taught=taught).by_verdict(), risk_level(world), DELTA, seed=r
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


def validity(replicates: int, output: Path) -> None:
    """Violations in every cell, and in broken versions that the same count must give away."""
    jobs = [(*cell, "") for cell in CELLS]
    for cell in (("coins", 10, 300),):
        jobs.insert(3, (*cell, "taught_by_tested_rows"))
    lines = []
    for world, n_signals, n, broken in jobs:
        population = draw(world, 20_000, n_signals, np.random.default_rng(99))
        runs = 200 if broken else replicates
        found = [
            one_calibration(world, n, n_signals, r, population, broken)
            for r in range(min(runs, replicates))
        ]
        broke = sum(f[0] for f in found)
        low, high = binomtest(broke, len(found)).proportion_ci(0.99)
        lines.append(
            {
                "world": world,
                "signals": n_signals,
                "n": n,
                "alpha": risk_level(world),
                "broken": broken,
                "calibrations": len(found),
                "violations": broke,
                "rate": broke / len(found),
                "low": low,
                "high": high,
                "coverage": float(np.mean([f[1] for f in found])),
            }
        )
        print(lines[-1], flush=True)
        pd.DataFrame(lines).to_csv(output / "validity.csv", index=False, float_format="%.4f")


def main() -> None:
    """Run the parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=["real", "validity"], action="append")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--splits", type=int, default=50)
    parser.add_argument("--replicates", type=int, default=2_000)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results")
    chosen = parser.parse_args()
    chosen.output.mkdir(parents=True, exist_ok=True)
    quick = chosen.quick
    if "validity" in (chosen.part or ["validity"]):
        validity(4 if quick else chosen.replicates, chosen.output)
    if chosen.data is not None and "real" in (chosen.part or ["real"]):
        real(chosen.data, 2 if quick else chosen.splits).to_csv(
            chosen.output / "real.csv", index=False, float_format="%.4f"
        )


if __name__ == "__main__":
    main()
