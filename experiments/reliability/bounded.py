"""Does the noise of `riskjudge bound` keep its promise where the bias is known, and is it too much?

    python experiments/reliability/bounded.py            # 2,000 samples a cell, nine minutes of a core
    python experiments/reliability/bounded.py --quick    # a smoke run, for CI
    python experiments/reliability/bounded.py --figure   # the figure alone, from results/bounded.csv

Every world is a judge whose shifts have a known distribution of finitely many values, so that the mean
effect that a sigma leaves, and the smallest sigma that leaves tau, are known exactly. The shifts of n
items are drawn, sigma is taken from them, and held against that truth.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from scipy import optimize, stats

from riskjudge._typing import FloatArray
from riskjudge.plots.style import COLUMN_WIDTH, INK, RC, Look, look, save_figure
from riskjudge.reliability.bounded import effect, mask

mpl.use("Agg")
HERE = Path(__file__).resolve().parent
DELTA = 0.05
CELLS = ((0.1, 30), (0.1, 60), (0.1, 200), (0.1, 1000), (0.05, 200), (0.2, 200))

World = tuple[FloatArray, FloatArray]


def quantiles(distribution: stats.rv_continuous, k: int = 1000) -> World:
    """A distribution as k values that are equally likely."""
    return distribution.ppf((np.arange(k) + 0.5) / k), np.full(k, 1.0 / k)


def worlds(tau: float) -> dict[str, World]:
    """Values of a shift and their probabilities."""
    return {
        "always the same": (np.array([0.3]), np.array([1.0])),
        "normal": quantiles(stats.norm(0.0, 0.4)),
        "t, 2 degrees": quantiles(stats.t(2, scale=0.3)),
        "Cauchy": quantiles(stats.cauchy(scale=0.2)),
        "points of a scale": (np.array([-1.0, 0.0, 1.0, 2.0]), np.array([0.1, 0.6, 0.2, 0.1])),
        "sparse": (np.array([0.0, 2.0]), np.array([0.7, 0.3])),
        # A huge shift on a few more items than tau allows: no finite noise will do.
        "needle": (np.array([0.0, 1e6]), np.array([1.0 - 1.05 * tau, 1.05 * tau])),
    }


def smallest(risk: Callable[[float], float], tau: float) -> float:
    """The smallest sigma that leaves tau."""
    return 0.0 if risk(0.0) <= tau else float(optimize.brentq(lambda s: risk(s) - tau, 1e-9, 1e8))


def cell(name: str, world: World, tau: float, n: int, runs: int, seed: int) -> dict[str, object]:
    """One world, tau and n."""
    values, chance = world

    def risk(sigma: float) -> float:
        return float(effect(values, sigma) @ chance)

    needed = smallest(risk, tau)
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(runs):
        sigma = mask(rng.choice(values, n, p=chance), tau, DELTA).sigma
        found.append(np.inf if sigma is None else sigma)
    sigmas = np.array(found)
    broken = sum(np.isfinite(s) and risk(s) > tau * (1 + 1e-12) for s in sigmas)
    times = np.sort(sigmas) / needed
    return {
        "world": name,
        "tau": tau,
        "delta": DELTA,
        "n": n,
        "runs": runs,
        "needed": needed,
        "broken": int(broken),
        "undecided": int(np.isinf(sigmas).sum()),
        "times_needed_median": float(times[runs // 2]),
        "times_needed_p90": float(times[int(0.9 * (runs - 1))]),
    }


def figure(results: pd.DataFrame, path: Path) -> None:
    """How often the promise is broken, and how much noise beyond the needed."""
    from matplotlib import pyplot, rc_context

    with rc_context(RC):
        size = (2 * COLUMN_WIDTH, 2.9)
        drawn, (left, right) = pyplot.subplots(1, 2, figsize=size, layout="constrained")
        at = results[results["tau"] == 0.1]
        for i, (world, cells) in enumerate(at.groupby("world", sort=False)):
            style = Look(INK, "X", "-", "") if world == "needle" else look(i)
            marks = {"marker": style.marker, "color": style.colour, "linestyle": style.line}
            left.plot(cells["n"], 100 * cells["broken"] / cells["runs"], label=world, **marks)
            known = cells[cells["n"] >= 60]  # with 29 items at least, 30 ask for 18 times the noise
            right.plot(known["n"], known["times_needed_median"], **marks)
        left.axhline(100 * DELTA, color=INK, linewidth=0.8)
        left.annotate("delta", (1000, 100 * DELTA), (0, 2), textcoords="offset points", ha="right")
        right.axhline(1, color=INK, linewidth=0.8)
        right.annotate("needed", (60, 1), (0, -9), textcoords="offset points", ha="left")
        for ax in (left, right):
            ax.set_xscale("log")
            ticks = [30, 60, 200, 1000] if ax is left else [60, 200, 1000]
            ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
            ax.minorticks_off()
            ax.set_xlabel("items that shifts were measured on")
        left.set_ylim(0, 6.2)
        right.set_ylim(0.8, 4)
        left.set_ylabel("mean effect above tau, % of samples")
        right.set_ylabel("noise chosen / noise needed (median)")
        left.set_title("The promise is kept", loc="left", fontweight="bold")
        right.set_title("and costs less with more items", loc="left", fontweight="bold")
        drawn.legend(loc="outside lower center", ncols=4)
        save_figure(drawn, path)


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--figure", action="store_true", help="draw, do not measure")
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--output", type=Path, default=HERE)
    asked = parser.parse_args()
    results = asked.output / "results" / "bounded.csv"
    if not asked.figure:
        runs = 20 if asked.quick else asked.runs
        rows = [
            cell(name, world, tau, n, runs, seed=1000 * i + k)
            for i, (tau, n) in enumerate(CELLS)
            for k, (name, world) in enumerate(worlds(tau).items())
        ]
        results.parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(rows).to_csv(results, index=False, float_format="%.4g", lineterminator="\n")
    (asked.output / "figures").mkdir(exist_ok=True)
    figure(pd.read_csv(results), asked.output / "figures" / "bounded.png")


if __name__ == "__main__":
    main()
