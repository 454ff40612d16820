"""Draws ``figures/coverage.png`` and ``figures/real.png`` from the results beside it."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd

from riskjudge.plots.style import RC, look, save_figure

mpl.use("Agg")
HERE = Path(__file__).resolve().parent
LABELS = (50, 100, 200, 1000)


def coverage(counts: pd.DataFrame) -> None:
    """Coverage of every cell of the default, and the labels it saves."""
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(7.0, 2.9), layout="constrained")
    ours = counts[counts["estimator"] == "stratified"]
    for i, n in enumerate(LABELS):
        cells = ours[ours["labels"] == n]
        style = look(i)
        left.plot(
            100 * cells["rate"] + 0.6 * (i - 1.5), 100 * cells["coverage"], style.marker,
            color=style.colour, markersize=2.5, label=f"{n} labels",
        )  # fmt: skip
    left.axhline(95, color="#222222", linewidth=0.8)
    left.axhline(94, color="#222222", linewidth=0.8, linestyle=":")
    left.set_ylim(92.2, 100.2)
    left.set_xlabel("true pass rate, %")
    left.set_ylabel("coverage of the 95 % interval, %")
    left.set_title("Every cell of the default", loc="left", fontweight="bold")
    left.legend(ncols=2, loc="lower center")
    many = ours[(ours["labels"] == 200) & (ours["rows"] == 10_000)]
    for i, judge in enumerate(("good", "lenient", "medium", "bad")):
        cells, style = many[many["judge"] == judge], look(i)
        right.plot(
            100 * cells["rate"], cells["labels_saved"], marker=style.marker, linestyle=style.line,
            color=style.colour, label=judge,
        )  # fmt: skip
    right.axhline(1, color="#222222", linewidth=0.8)
    right.set_ylim(0, 2.6)
    right.set_xlabel("true pass rate, %")
    right.set_ylabel("labels alone / labels with the judge")
    right.set_title("Labels saved, 200 labels, 10,000 rows", loc="left", fontweight="bold")
    right.legend(ncols=2, loc="lower center")
    save_figure(figure, HERE / "figures" / "coverage.png")


def real(results: pd.DataFrame) -> None:
    """Human rate, the judge's own, and the corrected one with its mean width."""
    from matplotlib import pyplot

    rows = results[results["labels"] == 100]
    names = list(dict.fromkeys(zip(rows["data"], rows["system"], strict=True)))
    figure, ax = pyplot.subplots(figsize=(7.0, 0.9 + 0.19 * len(names)), layout="constrained")
    places = np.arange(len(names))[::-1]
    for i, (key, name) in enumerate((("raw", "raw (judge alone)"), ("stratified", "corrected"))):
        part = rows[rows["estimator"] == key].set_index(["data", "system"]).loc[names]
        style = look(i)
        ax.errorbar(
            100 * part["mean_estimate"], places, xerr=50 * part["width"], linestyle="none",
            marker=style.marker, color=style.colour, label=f"{name}, 100 labels" if i else name,
        )  # fmt: skip
        human = part["human_rate"]
    ax.plot(100 * human, places, "|", color="#222222", markersize=9, markeredgewidth=1.5,
            label="human, all rows")  # fmt: skip
    ax.set_yticks(places, [f"{data}: {system}" for data, system in names])
    ax.set_ylim(-0.7, len(names) - 0.3)
    ax.grid(axis="x")
    ax.set_xlabel("pass rate, %; mean over draws of the labels, with the mean interval")
    ax.legend(loc="upper left", bbox_to_anchor=(0, 1.07), ncols=3, borderaxespad=0)
    save_figure(figure, HERE / "figures" / "real.png")


def main() -> None:
    (HERE / "figures").mkdir(exist_ok=True)
    with mpl.rc_context(RC):
        coverage(pd.read_csv(HERE / "results" / "counts.csv"))
        real(pd.read_csv(HERE / "results" / "real.csv"))


if __name__ == "__main__":
    main()
