"""The paper's figures from the same runs as its tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from riskjudge._typing import FloatArray
from riskjudge.paper.protocol import Outcome, Run
from riskjudge.paper.published import (
    CANDIDATES,
    DATASETS,
    JUDGES,
    Configuration,
    main_configurations,
)
from riskjudge.paper.tables import Settings
from riskjudge.paper.traces import TraceSource

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Outcomes = Mapping[Run, Outcome]

# Okabe-Ito colours with a marker each: told apart in grey and by the colour-blind.
_LOOKS = {
    "Qwen3-4B": ("#0072B2", "o", "-"),
    "Qwen3-8B": ("#E69F00", "s", "--"),
    "Qwen3-14B": ("#009E73", "^", "-."),
    "Llama-3.1-8B": ("#CC79A7", "D", ":"),
}
_BARS = (("mode 1", "#0072B2", ""), ("mode 2", "#E69F00", "///"), ("abstain", "#E8E8E8", ""))
_FEWEST_SPLITS = 5
_LEVEL = 0.2


@dataclass(frozen=True, slots=True)
class FigureSpec:
    """A figure of the paper: its name, the configurations it needs, how it is drawn."""

    name: str
    title: str
    datasets: tuple[str, ...]
    draw: Callable[[FigureSpec, Outcomes, Settings], Figure]

    def runs(self, settings: Settings) -> list[Run]:
        """The runs the figure needs."""
        return [settings.run(c) for c in main_configurations() if c.dataset in self.datasets]


def draw(spec: FigureSpec, outcomes: Outcomes, settings: Settings, source: TraceSource) -> Figure:
    """Draw a figure; its title says on what it was run.

    Configurations without an outcome are left out.
    """
    figure = spec.draw(spec, outcomes, settings)
    kind = "synthetic traces" if source.synthetic else source.description
    figure.suptitle(
        f"{spec.title}\n{kind}, {settings.procedure} ({settings.objective}), "
        f"{settings.splits} random halves",
        fontsize=10,
    )
    return figure


def _lines(metric: str) -> Callable[[FigureSpec, Outcomes, Settings], Figure]:
    def drawn(spec: FigureSpec, outcomes: Outcomes, settings: Settings) -> Figure:
        one = len(spec.datasets) == 1
        panels = [(c, d) for c in CANDIDATES for d in spec.datasets]
        shape = (1, 2) if one else (len(CANDIDATES), len(spec.datasets))
        figure, axes = _panels(shape, (7.0, 3.6) if one else (10.0, 5.4), sharey="row")
        for ax, (candidate, dataset) in zip(axes.ravel(), panels, strict=True):
            for judge in JUDGES:
                run = settings.run(Configuration(candidate, judge, dataset))
                if run in outcomes:
                    _line(ax, judge, outcomes[run], metric)
            top = 1.05 * max(settings.run(Configuration(candidate, JUDGES[0], dataset)).alphas)
            ax.set_xlim(0, top)
            if metric == "fdr":
                ax.plot([0, top], [0, top], color="0.35", lw=1, ls=(0, (4, 2)), label="FDR = α")
                ax.set_ylim(0, 1.3 * top if top < 0.3 else 0.7 * top)
            else:
                ax.set_ylim(0, 1.03)
            ax.set_title(f"{dataset}, candidate {candidate}", fontsize=8)
            ax.grid(color="0.9", lw=0.6)
        _outer_labels(axes, "risk level α", "test FDR" if metric == "fdr" else "coverage")
        _legend(figure, axes)
        return figure

    return drawn


def _line(ax: Axes, judge: str, outcome: Outcome, metric: str) -> None:
    colour, marker, style = _LOOKS[judge]
    alphas, mean, std = [], [], []
    for alpha in outcome.alphas:
        values = outcome.fdr(alpha) if metric == "fdr" else outcome.coverage(alpha)
        values = values[~np.isnan(values)]
        if len(values) >= min(_FEWEST_SPLITS, len(outcome.errors)):
            alphas.append(alpha)
            mean.append(float(values.mean()))
            std.append(float(values.std()))
    x, y, band = np.array(alphas), np.array(mean), np.array(std)
    ax.plot(x, y, color=colour, marker=marker, ls=style, lw=1.4, ms=4, label=judge)
    low, high = np.maximum(y - band, 0.0), np.minimum(y + band, 1.0)
    ax.fill_between(x, low, high, color=colour, alpha=0.15, lw=0)


def _routing(spec: FigureSpec, outcomes: Outcomes, settings: Settings) -> Figure:
    figure, axes = _panels((2, 1), (9.0, 5.4), sharey="all")
    for ax, candidate in zip(axes.ravel(), CANDIDATES, strict=True):
        ticks, labels = [], []
        for d, dataset in enumerate(spec.datasets):
            for j, judge in enumerate(JUDGES):
                run = settings.run(Configuration(candidate, judge, dataset))
                x = d * (len(JUDGES) + 1) + j
                ticks.append(x)
                labels.append(judge.replace("Qwen3-", "Q").replace("Llama-3.1-", "L"))
                if run in outcomes:
                    _stack(ax, x, _shares(outcomes[run]))
            middle = d * (len(JUDGES) + 1) + (len(JUDGES) - 1) / 2
            ax.text(middle, 1.03, dataset, ha="center", va="bottom", fontsize=8)
        ax.set_xticks(ticks, labels, fontsize=7)
        ax.set_ylim(0, 1)
        ax.set_ylabel(f"share of items\n(candidate {candidate})", fontsize=8)
        ax.spines[["top", "right"]].set_visible(False)
    axes.ravel()[-1].set_xlabel("judge (Q = Qwen3, L = Llama-3.1)", fontsize=8)
    _legend(figure, axes)
    return figure


def _shares(outcome: Outcome) -> FloatArray:
    first = float(outcome.share(_LEVEL, 0).mean())
    second = float(outcome.share(_LEVEL, 1).mean())
    return np.array([first, second, 1.0 - first - second])


def _stack(ax: Axes, x: float, shares: FloatArray) -> None:
    bottom = 0.0
    for share, (label, colour, hatch) in zip(shares, _BARS, strict=True):
        ax.bar(
            x,
            share,
            0.85,
            bottom=bottom,
            color=colour,
            hatch=hatch,
            edgecolor="white",
            lw=0.5,
            label=label,
        )
        bottom += float(share)


def _panels(
    shape: tuple[int, int], size: tuple[float, float], sharey: Literal["row", "all"]
) -> tuple[Figure, np.ndarray]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(*shape, squeeze=False, sharey=False if shape == (1, 2) else sharey)
    return figure, axes


def _outer_labels(axes: np.ndarray, x: str, y: str) -> None:
    for ax in axes[-1]:
        ax.set_xlabel(x, fontsize=8)
    for ax in axes[:, 0]:
        ax.set_ylabel(y, fontsize=8)
    for ax in axes.ravel():
        ax.tick_params(labelsize=7)


def _legend(figure: Figure, axes: np.ndarray) -> None:
    found: dict[str, Artist] = {}
    for ax in axes.ravel():
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    figure.legend(
        list(found.values()),
        list(found),
        loc="outside lower center",
        ncols=5,
        fontsize=8,
        frameon=False,
    )


FIGURES: dict[str, FigureSpec] = {
    spec.name: spec
    for spec in (
        FigureSpec(
            "fig01",
            "Test FDR against α, mean ± std over the splits that accept something",
            DATASETS,
            _lines("fdr"),
        ),
        FigureSpec("fig02", "Routing at α = .20, mean over splits", DATASETS, _routing),
        FigureSpec(
            "fig03", "Coverage against α, mean ± std over splits", DATASETS, _lines("coverage")
        ),
        *(
            FigureSpec(
                f"fig0{i}",
                f"FDR control on {name}, mean ± std over the splits that accept something",
                (name,),
                _lines("fdr"),
            )
            for i, name in enumerate(DATASETS, start=4)
        ),
    )
}
"""Every figure by its name."""
