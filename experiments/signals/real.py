"""Does fused certification pay on real files?

    python experiments/signals/real.py --data DIR [--splits 60]

`DIR` holds ``evouna_{tq,nq}_qwen05b_two_mode.csv``, ``openqa_nq301_bem_gpt4_human.csv`` and
``llmbar_two_mode_by_judge.csv``; files that are not there are left out. Writes ``results/real.csv``,
one line a cell as soon as it is done; cells that are there already are not run again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from riskjudge import counts
from riskjudge.calibration import Fused, Hybrid, Sample
from riskjudge.data.modes import ModeColumns
from riskjudge.data.trace import Trace
from riskjudge.signals import Signal, fit_fusion, fused_trace, parse_signals, split_teaching
from riskjudge.signals.teaching import taught_sample

DELTA = 0.05
ALPHAS = (0.10, 0.15, 0.20)
MOST = 1_000  # labels to calibrate on
HERE = Path(__file__).resolve().parent


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


def cell(name: str, trace: Trace, specs: list[str], splits: int) -> pd.DataFrame:
    """Mean certified coverage on the other half, paired over the splits; a line for each level."""
    start = time.process_time()
    signals = parse_signals(specs, trace)
    trace = trace.rows(trace.labelled)
    found = [one_split(trace, signals, seed) for seed in range(splits)]
    lines = []
    for i, alpha in enumerate(ALPHAS):
        table = np.array([split[i] for split in found])  # hybrid, by verdict, fused
        mean = table.mean(axis=0)
        gain = table[:, 2] - table[:, int(np.argmax(mean[:2]))]
        lines.append(
            {
                "data": name,
                "n": min(len(trace) // 2, MOST),
                "signals": len(signals),
                "alpha": alpha,
                "splits": splits,
                "hybrid": mean[0],
                "by_verdict": mean[1],
                "fused": mean[2],
                "gain": gain.mean(),
                "gain_se": gain.std(ddof=1) / np.sqrt(splits),
                "cpu_seconds": time.process_time() - start,
                "seed": f"1000 to {999 + splits}",
                "command": f"real.py --splits {splits}",
            }
        )
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
        also_tested=fusion.taught.one_of_each_group,
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


def main() -> None:
    """Run the cells that are not there yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--splits", type=int, default=60)
    parser.add_argument("--output", type=Path, default=HERE / "results")
    chosen = parser.parse_args()
    chosen.output.mkdir(parents=True, exist_ok=True)
    path = chosen.output / "real.csv"
    done = pd.read_csv(path) if path.exists() else pd.DataFrame({"data": []})
    for name, trace, specs in real_traces(chosen.data):
        if name in set(done["data"]):
            continue
        lines = cell(name, trace, specs, chosen.splits)
        print(lines.iloc[:, :10].to_string(header=False, index=False), flush=True)
        done = pd.concat([done, lines], ignore_index=True)
        done.to_csv(path, index=False, float_format="%.4f")


if __name__ == "__main__":
    main()
