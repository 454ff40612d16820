"""Draws ``figures/real.png`` and ``figures/validity.png`` from the results beside it."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd

from riskjudge.plots.style import RC, look, save_figure

mpl.use("Agg")
HERE = Path(__file__).resolve().parent
KINDS = (("hybrid", "hybrid"), ("by_verdict", "hybrid by verdict"), ("fused", "fused"))


def real(results: pd.DataFrame) -> None:
    """Certified coverage of the other half, a panel for each level."""
    from matplotlib import pyplot

    some = results.groupby("data")[["hybrid", "by_verdict", "fused"]].max().max(axis=1) > 0
    names = [name for name in dict.fromkeys(results["data"]) if some[name]]
    figure, panels = pyplot.subplots(
        1, 3, figsize=(7.4, 0.8 + 0.27 * len(names)), sharey=True, layout="constrained"
    )
    for panel, (alpha, cells) in zip(panels, results.groupby("alpha"), strict=True):
        cells = cells.set_index("data").loc[names]
        for i, (column, name) in enumerate(KINDS):
            style = look(i)
            panel.plot(
                cells[column], np.arange(len(names)) + 0.16 * (i - 1), style.marker,
                color=style.colour, markersize=4, label=name,
            )  # fmt: skip
        panel.set_xlim(-0.03, 1.03)
        panel.set_title(f"alpha {alpha:.2f}", loc="left", fontweight="bold")
        panel.set_xlabel("certified coverage")
    panels[0].set_yticks(np.arange(len(names)), names)
    panels[0].invert_yaxis()
    figure.legend(*panels[0].get_legend_handles_labels(), ncols=3, loc="outside lower center")
    save_figure(figure, HERE / "figures" / "real.png")


def validity(results: pd.DataFrame) -> None:
    """How often the promise is broken, with exact 99 % limits, beside delta."""
    from matplotlib import pyplot

    names = [
        f"{row.world}, {row.signals} signals, n = {row.n:,}"
        + ("" if row.broken == "no" else ", broken on purpose")
        for row in results.itertuples()
    ]
    figure, ax = pyplot.subplots(figsize=(5.6, 0.8 + 0.2 * len(names)), layout="constrained")
    at = np.arange(len(names))
    ax.hlines(at, results["low"], results["high"], color=look(0).colour)
    ax.plot(results["rate"], at, "o", color=look(0).colour, markersize=4)
    ax.axvline(0.05, color="#222222", linewidth=0.8)
    ax.text(0.052, -0.9, "delta", va="center")
    ax.set_yticks(at, names)
    ax.set_ylim(len(names) - 0.4, -1.5)
    ax.set_xlabel("share of calibrations whose promise is broken (exact 99 % limits)")
    save_figure(figure, HERE / "figures" / "validity.png")


def main() -> None:
    """Draw both."""
    (HERE / "figures").mkdir(exist_ok=True)
    with mpl.rc_context(RC):
        real(pd.read_csv(HERE / "results" / "real.csv"))
        validity(pd.read_csv(HERE / "results" / "validity.csv"))


if __name__ == "__main__":
    main()
