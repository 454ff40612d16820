"""Draw the study's figures from its CSV files.

python experiments/validity/figures.py [--results DIR] [--output DIR]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib import pyplot, rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from riskjudge import binomial
from riskjudge.plots.style import COLUMN_WIDTH, QUIET, RC, look, save_figure

HERE = Path(__file__).resolve().parent
WIDE = 2 * COLUMN_WIDTH
SERIES = ("hybrid", "learned", "portfolio", "fixed_sequence", "holm_grid", "bonferroni")
"""In the order of their looks, so that a procedure looks the same in every figure."""


def series_of(frame: pd.DataFrame) -> list[tuple[str, Any]]:
    """The procedures that occur, with their looks."""
    present = set(frame["procedure"])
    return [(name, look(i)) for i, name in enumerate(SERIES) if name in present]


def price_figure(cells: pd.DataFrame) -> Figure:
    """Coverage ratio of every procedure in every scenario in which pointwise covers 15 %."""
    pointwise = cells[(cells["procedure"] == "pointwise") & (cells["kind"] != "null")]
    counted = pointwise[pointwise["coverage"] >= 0.15].sort_values("coverage")
    figure, ax = pyplot.subplots(figsize=(WIDE, 4.0), layout="constrained")
    for i, name in enumerate(counted["scenario"]):
        ax.axhline(i, color="#E4E4E4", linewidth=0.6, zorder=0)
        for procedure, style in series_of(cells):
            here = cells[(cells["procedure"] == procedure) & (cells["scenario"] == name)]
            if len(here):
                ax.plot(here["ratio"].iloc[0], i, style.marker, color=style.colour, ms=5)
    for procedure, style in series_of(cells):
        mean = cells[
            (cells["procedure"] == procedure) & cells["scenario"].isin(counted["scenario"])
        ]["ratio"].mean()
        ax.plot([], [], style.marker, color=style.colour, label=f"{procedure} (mean {mean:.3f})")
    ax.axvline(1, color=QUIET, linewidth=0.8)
    ax.set_yticks(
        range(len(counted)),
        [f"{s} ({c:.2f})" for s, c in zip(counted["scenario"], counted["coverage"], strict=True)],
    )
    ax.set_xlabel("coverage relative to the pointwise rule, which keeps no promise")
    ax.set_xlim(-0.02, 1.05)
    oracle = cells[cells["procedure"] == "oracle"].set_index("scenario")["ratio"]
    for i, name in enumerate(counted["scenario"]):
        if name in oracle.index:
            ax.plot(oracle[name], i, "|", color="black", ms=9, mew=1.4)
    mean = oracle[oracle.index.isin(counted["scenario"])].mean()
    ax.plot([], [], "|", color="black", label=f"knows the truth (mean {mean:.3f})")
    first = cells.iloc[0]
    ax.set_title(
        f"The price of validity by scenario (coverage of the pointwise rule)\n"
        f"n = {first['n']:,}, pool {first['pool']:,}, delta = {first['delta']:g}, "
        f"{first['replicates']} replicates",
        loc="left",
    )
    figure.legend(loc="outside lower center", ncols=3)
    return figure


def violations_figure(cells: pd.DataFrame) -> Figure:
    """Violation rates on the nulls with exact 99 % bounds, and delta."""
    nulls = list(dict.fromkeys(cells["scenario"]))
    drawn = [*series_of(cells), ("pointwise", look(len(SERIES)))]
    drawn = [(p, style) for p, style in drawn if p in set(cells["procedure"])]
    figure, ax = pyplot.subplots(figsize=(WIDE, 3.8), layout="constrained")
    for s, (procedure, style) in enumerate(drawn):
        shift = 0.8 * ((s + 0.5) / len(drawn) - 0.5)
        colour = "black" if procedure == "pointwise" else style.colour
        marker = "X" if procedure == "pointwise" else style.marker
        here = cells[cells["procedure"] == procedure].set_index("scenario")
        for i, name in enumerate(nulls):
            row = here.loc[name]
            error = [[row["violation"] - row["low99"]], [row["high99"] - row["violation"]]]
            ax.errorbar(
                row["violation"], i + shift, xerr=error, fmt=marker, color=colour, ms=3.5,
                elinewidth=0.8, label=procedure if i == 0 else None,
            )  # fmt: skip
    delta = cells["delta"].iloc[0]
    ax.axvline(delta, color=QUIET, linewidth=0.8)
    ax.annotate(
        f"delta = {delta:g}", (delta, len(nulls) - 0.45), (2, 0), textcoords="offset points"
    )
    ax.set_xscale("symlog", linthresh=0.1)
    ax.set_xlim(-0.004, 1)
    ax.set_xticks([0, 0.02, 0.05, 0.1, 0.2, 0.5, 1], ["0", ".02", ".05", ".1", ".2", ".5", "1"])
    ax.minorticks_off()
    ax.set_yticks(range(len(nulls)), nulls)
    ax.set_xlabel("share of calibrations that break the promise (linear up to .1)")
    first = cells.iloc[0]
    ax.set_title(
        "Where nothing may be accepted\n"
        f"n = {first['n']:,}, {first['replicates']:,} replicates, exact 99 % bounds",
        loc="left",
    )
    figure.legend(loc="outside lower center", ncols=4)
    return figure


def sizes_figure(cells: pd.DataFrame, at_1000: pd.DataFrame) -> Figure:
    """Coverage against the number of labels, a panel a scenario."""
    cells = pd.concat([cells, at_1000[at_1000["procedure"].isin(cells["procedure"])]])
    names = [s for s in dict.fromkeys(cells["scenario"]) if not s.startswith("null")]
    names = [s for s in names if s in set(cells[cells["n"] == cells["n"].min()]["scenario"])]
    figure, axes = pyplot.subplots(
        1, len(names), figsize=(WIDE, 2.7), sharey=True, layout="constrained"
    )
    for ax, name in zip(axes, names, strict=True):
        _size_panel(ax, cells[cells["scenario"] == name])
        ax.set_title(name, loc="left")
    axes[0].set_ylabel("true coverage")
    axes[len(axes) // 2].set_xlabel("labelled items")  # a figure's own label would meet the legend
    figure.suptitle(
        "Coverage against the number of labels (alpha of each scenario, delta = 0.05, pool 1,000)",
        fontsize=RC["axes.titlesize"],
    )
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5)
    return figure


def _size_panel(ax: Axes, cells: pd.DataFrame) -> None:
    reference = cells[cells["procedure"] == "pointwise"].sort_values("n")
    ax.plot(
        reference["n"], reference["coverage"], ":", color="black", label="pointwise (no promise)"
    )
    for procedure, style in series_of(cells):
        here = cells[cells["procedure"] == procedure].sort_values("n")
        ax.plot(
            here["n"], here["coverage"], style.marker, linestyle=style.line, color=style.colour,
            label=procedure, ms=3,
        )  # fmt: skip
    ax.set_xscale("log")
    ax.set_xticks([200, 1000, 5000], ["200", "1,000", "5,000"])
    ax.minorticks_off()
    ax.grid(True, axis="y")
    ax.set_ylim(0, 1)


def peers_figure(table: pd.DataFrame) -> Figure:
    """Worst violation rate against mean coverage ratio, ours and other people's."""
    table = table.sort_values("ratio").reset_index(drop=True)
    figure, (left, right) = pyplot.subplots(
        1, 2, figsize=(WIDE, 0.7 + 0.2 * len(table)), sharey=True, layout="constrained"
    )
    colours = {"ours": look(0), "peer": look(4), "none": look(1)}
    for i, row in table.iterrows():
        style = colours[row["group"]]
        left.plot(row["ratio"], i, style.marker, color=style.colour)
        right.plot(row["worst"], i, style.marker, color=style.colour)
        for ax in (left, right):
            ax.axhline(i, color="#E4E4E4", linewidth=0.6, zorder=0)
    for group, text in (("ours", "riskjudge"), ("peer", "others"), ("none", "no such promise")):
        style = colours[group]
        left.plot([], [], style.marker, color=style.colour, label=text)
    left.set_yticks(range(len(table)), table["procedure"])
    left.set_xlabel("coverage relative to pointwise (mean)")
    left.set_xlim(-0.02, None)
    figure.suptitle(
        "Ours and other people's methods: 12 scenarios, n = 1,000, 100 replicates",
        fontsize=RC["axes.titlesize"],
    )
    right.axvline(0.05, color=QUIET, linewidth=0.8)
    right.set_xscale("symlog", linthresh=0.1)
    right.set_xticks([0, 0.05, 0.1, 0.2, 0.5, 1], ["0", ".05", ".1", ".2", ".5", "1"])
    right.set_xlim(-0.01, 1.4)  # a rate of 1 is not cut off
    right.minorticks_off()
    right.set_xlabel("worst violation rate of any scenario (delta = .05)")
    figure.legend(loc="outside lower center", ncols=3)
    return figure


RULES = {
    "hybrid": ("hybrid (default)", 0),
    "taught by all": ("hybrid, taught by all labels (not valid)", 3),
    "oracle": ("one threshold a mode, knows the truth", 2),
    "fused": ("fused (calibrate --fuse)", 1),
}


def attainable_figure(cells: pd.DataFrame) -> Figure:
    """Coverage at small risk levels: what thresholds on scores can reach, and fused rules do."""
    levels = sorted(cells["alpha"].unique())
    at_most = cells[(cells["rule"] == "pointwise") & (cells["alpha"] == levels[-1])]
    worlds = list(at_most.sort_values("coverage")["world"])
    figure, axes = pyplot.subplots(
        1, len(levels), figsize=(WIDE, 4.4), sharey=True, layout="constrained"
    )
    for ax, alpha in zip(axes, levels, strict=True):
        here = cells[cells["alpha"] == alpha]
        reference = here[here["rule"] == "pointwise"].set_index("world")
        for i in range(len(worlds)):
            ax.axhline(i, color="#E4E4E4", linewidth=0.6, zorder=0)
        ax.plot(reference.loc[worlds, "coverage"], range(len(worlds)), "x", color="black", ms=4)
        for s, (rule, (_, number)) in enumerate(RULES.items()):
            style, rows = look(number), here[here["rule"] == rule].set_index("world").loc[worlds]
            shift = 0.18 * (s - 1.5)
            ax.errorbar(
                rows["coverage"], [i + shift for i in range(len(worlds))], xerr=1.96 * rows["se"],
                fmt=style.marker, color=style.colour, ms=3.2, elinewidth=0.8,
            )  # fmt: skip
        share = {
            rule: here[here["rule"] == rule]["coverage"].sum() / reference["coverage"].sum()
            for rule in RULES
        }
        told = ", ".join(f"{rule} {share[rule]:.2f}" for rule in ("hybrid", "oracle", "fused"))
        ax.set_title(f"alpha = {alpha:g}: of all coverage of pointwise\n{told}", loc="left")
        ax.set_xlim(-0.02, 1)
        ax.set_xlabel("true coverage (with 95 % intervals)")
    axes[0].set_yticks(range(len(worlds)), worlds)
    axes[0].plot([], [], "x", color="black", label="pointwise (promises nothing)")
    for _, (text, number) in RULES.items():
        axes[0].plot([], [], look(number).marker, color=look(number).colour, label=text)
    runs = cells["runs"].iloc[0]
    figure.suptitle(
        "What is attainable at a small risk level\n"
        f"17 scenarios, n = 1,000, pool 1,000, delta = 0.05, {runs} replicates",
        fontsize=RC["axes.titlesize"],
    )
    figure.legend(loc="outside lower center", ncols=3)
    return figure


def looks_figure(nulls: pd.DataFrame, labels: pd.DataFrame) -> Figure:
    """Violation over all looks where nothing may be accepted; labels until the target is certified."""
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(WIDE, 3.4), layout="constrained")
    worlds, spendings = list(nulls["world"].unique()), list(nulls["spending"].unique())
    for s, spending in enumerate(spendings):
        style, rows = look(s), nulls[nulls["spending"] == spending].set_index("world").loc[worlds]
        low, high = binomial.interval(rows["violations"], rows["runs"], 0.99)
        error = [rows["violation"] - low, high - rows["violation"]]
        at = [i + 0.13 * (s - (len(spendings) - 1) / 2) for i in range(len(worlds))]
        left.errorbar(
            rows["violation"], at, xerr=error, fmt=style.marker, color=style.colour, ms=3.5,
            elinewidth=0.8, label=spending.replace("_", " "),
        )  # fmt: skip
    left.axvline(nulls["delta"].iloc[0], color=QUIET, linewidth=0.8)
    left.set_yticks(range(len(worlds)), worlds)
    left.set_xlim(0, None)
    left.set_xlabel("runs in which any look breaks the promise")
    left.set_title(f"{nulls['runs'].iloc[0]:,} runs, exact 99 % limits; delta = .05", loc="left")
    single = labels[labels["spending"] == "single"].set_index("world")
    worlds = list(single.index)[::-1]
    designs = [name for name in spendings if name in set(labels["spending"])]
    for s, name in enumerate(designs):
        style, rows = look(spendings.index(name)), labels[labels["spending"] == name]
        for world, ratio, power in zip(
            rows["world"], rows["to_single"], rows["power"], strict=True
        ):
            at = worlds.index(world) + 0.26 * (s - (len(designs) - 1) / 2)
            right.plot(ratio, at, style.marker, color=style.colour, ms=4)
            right.annotate(
                f"{power:.2f}", (ratio, at), (5, 0), textcoords="offset points", va="center"
            )
    right.axvline(1, color=QUIET, linewidth=0.8)
    right.set_yticks(
        range(len(worlds)),
        [f"{world} ({single.loc[world, 'power']:.2f})" for world in worlds],
    )
    right.set_ylim(-0.5, len(worlds) - 0.3)
    right.set_xlabel("mean labels until the target, relative to one test (its power)")
    right.set_title(f"power beside each; {labels['runs'].min()} runs or more", loc="left")
    figure.suptitle("Five looks: the promise, and the labels", fontsize=RC["axes.titlesize"])
    handles, texts = left.get_legend_handles_labels()
    figure.legend(handles, texts, loc="outside lower center", ncols=5)
    return figure


USED = ("batch", "both", "weights", "watch", "path")


def use_figure(frames: Sequence[pd.DataFrame]) -> Figure:
    """How often a claim was false in use, beside what is promised."""
    cells = pd.concat(frames, ignore_index=True)[::-1].reset_index(drop=True)
    figure, ax = pyplot.subplots(figsize=(WIDE, 0.8 + 0.19 * len(cells)), layout="constrained")
    for i, row in cells.iterrows():
        promised = not pd.isna(row["promised"])
        style = look(0 if promised else 1)
        error = [[row["rate"] - row["low99"]], [row["high99"] - row["rate"]]]
        ax.axhline(i, color="#E4E4E4", linewidth=0.6, zorder=0)
        ax.errorbar(row["rate"], i, xerr=error, fmt=style.marker, color=style.colour, ms=3.5)
        if promised:
            ax.plot(row["promised"], i, "|", color="black", ms=9, mew=1.4)
    ax.set_yticks(range(len(cells)), [f"{r.world}: {r.claim}" for r in cells.itertuples()])
    for text, number in (("promised", 0), ("no such promise", 1)):
        ax.plot([], [], look(number).marker, color=look(number).colour, label=text)
    ax.plot([], [], "|", color="black", label="at most")
    ax.set_xscale("symlog", linthresh=0.1)
    ax.set_xticks([0, 0.02, 0.05, 0.1, 0.2, 0.5, 1], ["0", ".02", ".05", ".1", ".2", ".5", "1"])
    ax.set_xlim(-0.004, 1.3)
    ax.minorticks_off()
    ax.set_xlabel("share of runs in which the claim is false (linear up to .1)")
    ax.set_title(
        f"Promises in use: {cells['runs'].iloc[0]:,} runs, exact 99 % limits",
        loc="left",
    )
    figure.legend(loc="outside lower center", ncols=3)
    return figure


def plan_figure(cells: pd.DataFrame) -> Figure:
    """Power that a pilot promises, and power in the world that the pilot came from."""
    worlds = list(cells["world"].unique())
    figure, ax = pyplot.subplots(figsize=(WIDE, 3.0), layout="constrained")
    for w, world in enumerate(worlds):
        rows = cells[(cells["world"] == world) & cells["realised"].notna()]
        at = [w + 0.12 * (i - (len(rows) - 1) / 2) for i in range(len(rows))]
        error = [rows["realised"] - rows["low"], rows["high"] - rows["realised"]]
        ax.errorbar(
            at, rows["realised"], yerr=error, fmt=look(0).marker, color=look(0).colour, ms=3.5
        )
        ax.plot(at, rows["again"], look(1).marker, color=look(1).colour, ms=3.5)
    ax.plot([], [], look(0).marker, color=look(0).colour, label="in the world, with 95 % interval")
    ax.plot([], [], look(1).marker, color=look(1).colour, label="in the pilot's model, other draws")
    ax.axhline(cells["wanted"].iloc[0], color=QUIET, linewidth=0.8)
    ax.set_xticks(range(len(worlds)), worlds)
    ax.set_ylim(-0.02, 1.02)
    ax.set_ylabel("power")
    ax.set_title(
        f"Labels for power {cells['wanted'].iloc[0]:g} by a pilot of 300: the power they have "
        "(each pair is one pilot)",
        loc="left",
    )
    ax.legend(loc="lower right")
    return figure


def peer_table(cells: pd.DataFrame) -> pd.DataFrame:
    """One line a method: promise, worst violation, cells above delta, coverage ratio, time ratio.

    Times are relative to the portfolio's in the same run.
    """
    ours = {"hybrid", "learned", "portfolio", "fixed_sequence", "bonferroni", "holm_grid",
            "split_fixed_sequence"}  # fmt: skip
    pointwise = cells[(cells["procedure"] == "pointwise") & (cells["kind"] != "null")]
    counted = set(pointwise[pointwise["coverage"] >= 0.15]["scenario"])
    base = cells[cells["procedure"] == "portfolio"]["ms"].mean()
    rows = []
    for name, group in cells.groupby("procedure", sort=False):
        off, on = group[group["kind"] != "null"], group[group["kind"] == "null"]
        promised = group["promise"].iloc[0] == "high_probability"
        rows.append(
            {
                "procedure": name,
                "promise": group["promise"].iloc[0],
                "group": ("ours" if name in ours else "peer") if promised else "none",
                "cells above delta": f"{(group['verdict'] == 'exceeds').sum()} of {len(group)}",
                "worst off nulls": off["violation"].max(),
                "worst on nulls": on["violation"].max(),
                "worst": group["violation"].max(),
                "ratio": off[off["scenario"].isin(counted)]["ratio"].mean(),
                "ms": group["ms"].mean(),
                "time ratio": group["ms"].mean() / base,
            }
        )
    return pd.DataFrame(rows)


def draw_all(results: Path, output: Path) -> list[Path]:
    """Every figure whose CSV file is there, as PNG and PDF; and the table of the peers."""
    output.mkdir(parents=True, exist_ok=True)
    # "null" is a kind of scenario here, not a missing value.
    frames = {
        path.stem: pd.read_csv(path, keep_default_na=False, na_values=[""])
        for path in sorted(results.glob("*.csv"))
    }
    made: dict[str, Figure] = {}
    with rc_context(RC):
        if "scenarios" in frames:
            made["price"] = price_figure(frames["scenarios"])
        if "nulls" in frames:
            made["violations"] = violations_figure(frames["nulls"])
        if "sizes" in frames and "scenarios" in frames:
            made["sizes"] = sizes_figure(frames["sizes"], frames["scenarios"])
        if "oracle" in frames:
            made["attainable"] = attainable_figure(frames["oracle"])
        if "looks_nulls" in frames and "looks_labels" in frames:
            made["looks"] = looks_figure(frames["looks_nulls"], frames["looks_labels"])
        used = [frames[f"use_{p}"] for p in USED if f"use_{p}" in frames]
        if used:
            made["in_use"] = use_figure(used)
        if "use_plan" in frames:
            made["plan"] = plan_figure(frames["use_plan"])
        if "peers" in frames:
            table = peer_table(frames["peers"])
            made["peers"] = peers_figure(table)
            table.drop(columns=["group", "worst"]).round(4).to_csv(
                results / "peers-summary.csv", index=False, lineterminator="\n"
            )
        paths = [output / f"{name}.{kind}" for name in made for kind in ("png", "pdf")]
        for path in paths:
            save_figure(made[path.stem], path)
            if path.suffix == ".pdf":
                pyplot.close(made[path.stem])
    return paths


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--output", type=Path, default=HERE / "figures")
    options = parser.parse_args(arguments)
    for path in draw_all(options.results, options.output):
        print(path)


if __name__ == "__main__":
    main()
