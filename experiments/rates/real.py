"""Real answers with human judgements: does the corrected interval cover the human rate?

    RISKJUDGE_REAL=folder python experiments/rates/real.py

Every row has a human label. Some are drawn at random and kept, the others are hidden; then the
interval from those few labels is held against the human rate over all rows. Repeated, this gives
``results/real.csv``: one line a system and number of labels.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from riskjudge.io.files import replacing
from riskjudge.rates import ESTIMATORS, RateSample

HERE = Path(__file__).resolve().parent
REAL = Path(os.environ.get("RISKJUDGE_REAL", "."))
SHOWN = ("raw", "stratified", "classical", "ppi_plus_plus", "rogan_gladen")


def contained(answer: str | None, gold: str) -> int:
    """Whether one of the gold answers stands in the answer: the crudest of judges; -1 without one."""
    if not answer:
        return -1
    text = answer.lower()
    return int(any(part.strip() and part.strip().lower() in text for part in gold.split("/")))


def data() -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Name of the data, of the system or judge, and columns label, v, u, group."""
    for name in ("NQ", "TQ"):
        rows = json.loads((REAL / "evouna" / f"{name}.json").read_text("utf-8"))
        rows = [row for row in rows if not row["improper"]]
        for system in ("fid", "gpt35", "chatgpt", "gpt4", "newbing"):
            yield (
                f"EVOUNA {name}, gold answer contained",
                system,
                pd.DataFrame(
                    {
                        "label": [int(str(row[f"judge_{system}"]) == "True") for row in rows],
                        "v": [
                            contained(row[f"answer_{system}"], row["golden_answer"]) for row in rows
                        ],
                    }
                ),
            )
        small = pd.read_csv(REAL / f"evouna_{name.lower()}_qwen05b_two_mode.csv")
        small = small.rename(columns={"v2": "v", "u2": "u"})
        for system, part in small.groupby("system"):
            yield f"EVOUNA {name}, 0.5B judge with a passage", str(system), part
    openqa = pd.read_csv(REAL / "openqa_nq301_bem_gpt4_human.csv")
    openqa["group"] = openqa["question_id"]
    yield "OpenQA-eval, BEM", "all", openqa.rename(columns={"v1": "v", "u1": "u"})
    yield "OpenQA-eval, GPT-4", "all", openqa.rename(columns={"v2": "v"})
    bar = pd.read_csv(REAL / "llmbar_two_mode_by_judge.csv").rename(columns={"v1": "v", "u1": "u"})
    for judge, part in bar.groupby("judge"):
        yield "LLMBar, no reference", str(judge), part


def sample_of(frame: pd.DataFrame, kept: np.ndarray) -> RateSample:
    """The rows with the labels that are kept."""
    verdicts = frame["v"].fillna(-1).to_numpy(dtype=np.int64)
    labels = np.where(kept, frame["label"].to_numpy(dtype=np.int64), -1)
    unsure = frame["u"].to_numpy(dtype=float) if "u" in frame.columns else None
    group = frame["group"].to_numpy() if "group" in frame.columns else None
    return RateSample.from_arrays(verdicts, labels, uncertainty=unsure, group=group)


def study(runs: int) -> Iterator[dict[str, object]]:
    """One line a data set, system, number of labels and estimator."""
    for place, (name, system, frame) in enumerate(data()):
        frame = frame[frame["label"].notna()].reset_index(drop=True)
        human = float(frame["label"].mean())
        for n in (100, 200):
            if n > len(frame) / 2:
                continue
            rng = np.random.default_rng([20261203, place, n])
            found = {key: [] for key in SHOWN}
            for _ in range(runs):
                if "group" in frame.columns:  # whole questions are labelled
                    groups = rng.permutation(frame["group"].unique())
                    kept = np.isin(frame["group"], groups[: n * len(groups) // len(frame)])
                else:
                    kept = np.isin(np.arange(len(frame)), rng.permutation(len(frame))[:n])
                some = sample_of(frame, kept)
                for key in SHOWN:
                    found[key].append(ESTIMATORS[key](some))
            for key, estimates in found.items():
                good = [e for e in estimates if e.low is not None]
                if not good:
                    continue
                yield {
                    "data": name,
                    "system": system,
                    "rows": len(frame),
                    "human_rate": round(human, 4),
                    "labels": n,
                    "estimator": key,
                    "runs": runs,
                    "defined": len(good),
                    "mean_estimate": round(float(np.mean([e.estimate for e in good])), 4),
                    "covers": round(float(np.mean([e.low <= human <= e.high for e in good])), 4),
                    "width": round(float(np.mean([e.width for e in good])), 4),
                }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--output", type=Path, default=HERE / "results")
    given = parser.parse_args()
    if not REAL.is_dir():
        raise SystemExit(f"{REAL} is not here; point RISKJUDGE_REAL at the public data")
    rows = list(study(given.runs))
    with replacing(given.output / "real.csv") as path, path.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
