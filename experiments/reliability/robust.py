"""A gate and the other order of the answers: what the promise is worth there, and what `--robust` costs.

    RISKJUDGE_REAL=folder python experiments/reliability/robust.py [--quick] [--output DIR]

`folder` holds ``llmbar_judge_trials_long.csv.gz``: six judges of LLMBar, each asked in both orders with up
to 15 prompting strategies. A judge's verdict on an item is the majority of its strategies in one order,
its uncertainty the share of the others; a tie is no verdict. The given order are the items as they came,
the swapped order is the perturbation ``position.swap``. In each of 50 splits half of the items calibrate
two gates at the same level, one on the given order alone and one with ``stressed=``; the other half is
decided by both, in both orders. The shares of wrong verdicts are pooled over the splits in which a gate
was certified: items recur in them, so they are estimates and have no binomial interval. Writes
``results/robust.csv``.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from riskjudge import Router, Trace

HERE = Path(__file__).resolve().parent
JUDGES = ("GPT-4", "PaLM2", "ChatGPT-0301", "ChatGPT", "Falcon", "LLaMA2")
ALPHAS = (0.1, 0.15, 0.2, 0.25, 0.3)
SWAP = "position.swap"
ORDERS = {"given": "w_ab", "swapped": "w_ba"}


def votes(trials: pd.DataFrame, column: str) -> Trace:
    """Majority and dissent of a judge's strategies in one order, an item a row."""
    said = trials.assign(first=(trials[column] == 1).where(trials[column].notna()))
    by_item = said.groupby("item_id").agg(label=("label", "first"), share=("first", "mean"))
    share = by_item["share"].astype(float)
    frame = pd.DataFrame(
        {
            "item_id": by_item.index,
            "label": (by_item["label"] == 1).astype(int),
            "v1": (share > 0.5).astype(float).where(share != 0.5),
            "u1": np.minimum(share, 1 - share).where(share != 0.5),
        }
    )
    return Trace.from_frame(frame)


def taken(router: Router, trace: Trace) -> tuple[int, int]:
    """Accepted verdicts, and the wrong ones among them."""
    outcomes = router.decide(trace)
    accepted = outcomes.accepted
    return int(accepted.sum()), int((outcomes.verdict != trace.labels)[accepted].sum())


def one_judge(name: str, trials: pd.DataFrame, splits: int) -> Iterator[dict[str, object]]:
    """A line for each level and gate."""
    orders = {order: votes(trials, column) for order, column in ORDERS.items()}
    n = len(orders["given"])
    for alpha in ALPHAS:
        counts = {gate: np.zeros(6, dtype=int) for gate in ("plain", "robust")}
        for split in range(splits):
            shuffled = np.random.default_rng(split).permutation(n)
            half = n // 2
            fit = {order: trace.rows(shuffled[:half]) for order, trace in orders.items()}
            test = {order: trace.rows(shuffled[half:]) for order, trace in orders.items()}
            for gate, stressed in (("plain", None), ("robust", {SWAP: fit["swapped"]})):
                router = Router(alpha, seed=split).fit(fit["given"], stressed=stressed)
                if not router.certificate_.certified:
                    continue
                given, swapped = (taken(router, test[order]) for order in ORDERS)
                above = swapped[1] > alpha * swapped[0]
                counts[gate] += [1, *given, *swapped, above]
        for gate, row in counts.items():
            certified, accepted, wrong, accepted_swapped, wrong_swapped, above = row
            yield {
                "judge": name,
                "alpha": alpha,
                "gate": gate,
                "items": n,
                "splits": splits,
                "certified": certified,
                # A split without a gate accepts nothing.
                "coverage": accepted / (splits * (n - n // 2)),
                "risk_given": wrong / accepted if accepted else np.nan,
                "risk_swapped": wrong_swapped / accepted_swapped if accepted_swapped else np.nan,
                "above_alpha_swapped": above / certified if certified else np.nan,
            }


def main() -> None:
    """Run all judges."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two splits, one judge")
    parser.add_argument("--output", type=Path, default=HERE)
    asked = parser.parse_args()
    if "RISKJUDGE_REAL" not in os.environ:
        sys.exit("RISKJUDGE_REAL names the folder with llmbar_judge_trials_long.csv.gz")
    trials = pd.read_csv(Path(os.environ["RISKJUDGE_REAL"]) / "llmbar_judge_trials_long.csv.gz")
    judges, splits = (JUDGES[:1], 2) if asked.quick else (JUDGES, 50)
    table = pd.DataFrame(
        line
        for judge in judges
        for line in one_judge(judge, trials[trials["judge"] == judge], splits)
    )
    (asked.output / "results").mkdir(parents=True, exist_ok=True)
    table.to_csv(
        asked.output / "results" / "robust.csv",
        index=False,
        float_format="%.4g",
        lineterminator="\n",
    )


if __name__ == "__main__":
    main()
