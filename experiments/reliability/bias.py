"""Length and position bias of six real judges on LLMBar's stored trials.

    RISKJUDGE_REAL=folder python experiments/reliability/bias.py [--output DIR]

`folder` holds ``llmbar_judge_trials_long.csv.gz`` (both orders of 13 subsets, 15 prompting strategies,
pooled; calls about one item count as one) and ``llmbar/Dataset`` (the texts). Writes
``results/bias.csv`` and ``figures/bias.png``. Who wrote the answers is not stored, so that
self-preference cannot be measured on these.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd

from riskjudge.cli.bias import load_comparisons
from riskjudge.plots.style import COLUMN_WIDTH, INK, RC, look, save_figure
from riskjudge.reliability.bias import JudgeBias, measure_bias

mpl.use("Agg")
HERE = Path(__file__).resolve().parent


def row(bias: JudgeBias) -> dict[str, object]:
    """A line a judge."""
    v, first = bias.verbosity, bias.first_wins
    return {
        "judge": bias.judge,
        "items": v.items,
        "calls": v.calls,
        "longer_wins": v.longer_wins.value,
        "longer_is_right": v.longer_right.value,
        "length": v.coefficient.value,
        "length_low": v.coefficient.low,
        "length_high": v.coefficient.high,
        "odds_of_twice_as_long": v.doubling.value,
        "odds_low": v.doubling.low,
        "odds_high": v.doubling.high,
        "p_holm": v.coefficient.p_holm,
        "first_wins": first.value,
        "first_low": first.low,
        "first_high": first.high,
        "leaning_first": bias.position.first,
        "leaning_second": bias.position.second,
    }


def figure(table: pd.DataFrame, path: Path) -> None:
    """Two forests: odds of the longer answer, and wins of the one shown first."""
    from matplotlib import pyplot, rc_context

    table = table.sort_values("odds_of_twice_as_long", ignore_index=True)
    with rc_context(RC):
        size = (2 * COLUMN_WIDTH, 2.2)
        drawn, axes = pyplot.subplots(1, 2, figsize=size, layout="constrained", sharey=True)
        places = np.arange(len(table))
        for ax, value, low, high, times, fair, i in (
            (axes[0], "odds_of_twice_as_long", "odds_low", "odds_high", 1.0, 1.0, 0),
            (axes[1], "first_wins", "first_low", "first_high", 100.0, 50.0, 1),
        ):
            middle = times * table[value]
            ends = [middle - times * table[low], times * table[high] - middle]
            style = look(i)
            ax.errorbar(middle, places, xerr=ends, color=style.colour, marker=style.marker, ls="")
            ax.axvline(fair, color=INK, linewidth=0.8)
            ax.grid(axis="x")
        axes[0].set_yticks(places, table["judge"])
        axes[0].set_xlabel("odds of winning for an answer twice as long\n(equal labels and order)")
        axes[1].set_xlabel(
            "wins of the answer shown first, %\n(both orders asked: 50 without bias)"
        )
        axes[0].set_title("Length", loc="left", fontweight="bold")
        axes[1].set_title("Position", loc="left", fontweight="bold")
        save_figure(drawn, path)


def main() -> None:
    """Measure and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=HERE)
    asked = parser.parse_args()
    folder = Path(os.environ.get("RISKJUDGE_REAL", "."))
    calls = load_comparisons(folder / "llmbar_judge_trials_long.csv.gz", llmbar=folder / "llmbar")
    table = pd.DataFrame([row(bias) for bias in measure_bias(calls)])
    for part in ("results", "figures"):
        (asked.output / part).mkdir(parents=True, exist_ok=True)
    results = asked.output / "results" / "bias.csv"
    table.to_csv(results, index=False, float_format="%.4g", lineterminator="\n")
    figure(table, asked.output / "figures" / "bias.png")


if __name__ == "__main__":
    main()
