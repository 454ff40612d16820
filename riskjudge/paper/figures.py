"""The paper's figures from the same runs as its tables, drawn by :mod:`riskjudge.plots`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from riskjudge._typing import FloatArray
from riskjudge.evaluation.splits import Sweep
from riskjudge.paper.protocol import Run
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
    from matplotlib.figure import Figure

    from riskjudge.plots.curves import Curve

Outcomes = Mapping[Run, Sweep]

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
    from riskjudge.plots.style import drawing_style

    with drawing_style():
        figure = spec.draw(spec, outcomes, settings)
        kind = "synthetic traces" if source.synthetic else source.description
        figure.suptitle(
            f"{spec.title}\n{kind}, {settings.procedure} ({settings.objective}), "
            f"{settings.splits} random halves",
            fontsize=9,
        )
    return figure


def _lines(metric: Literal["fdr", "coverage"]) -> Callable[..., Figure]:
    def drawn(spec: FigureSpec, outcomes: Outcomes, settings: Settings) -> Figure:
        from riskjudge.plots.coverage import draw_coverage
        from riskjudge.plots.fdr import draw_fdr
        from riskjudge.plots.style import look

        one = len(spec.datasets) == 1
        figure, axes = _panels((1, 2), (7.0, 3.6)) if one else _panels((2, 4), (10.0, 5.4))
        panels = [(c, d) for c in CANDIDATES for d in spec.datasets]
        for ax, (candidate, dataset) in zip(axes.ravel(), panels, strict=True):
            curves = [
                _curve(judge, outcomes.get(run), run.alphas, metric)
                for judge in JUDGES
                for run in [settings.run(Configuration(candidate, judge, dataset))]
            ]
            draw_fdr(ax, curves) if metric == "fdr" else draw_coverage(ax, curves)
            ax.set_title(f"{dataset}, candidate {candidate}")
        for ax in axes[-1]:
            ax.set_xlabel("risk level α")
        for ax in axes[:, 0]:
            ax.set_ylabel("test FDR" if metric == "fdr" else "coverage")
        handles = [
            axes[0, 0].plot([], [], color=s.colour, marker=s.marker, ls=s.line, label=judge)[0]
            for judge, s in ((judge, look(i)) for i, judge in enumerate(JUDGES))
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=len(JUDGES))
        return figure

    return drawn


def _curve(judge: str, outcome: Sweep | None, alphas: tuple[float, ...], metric: str) -> Curve:
    """A judge's curve; levels at which too few splits have the rate are left out."""
    from riskjudge.plots.curves import curve_over_splits

    if outcome is None:
        return curve_over_splits(judge, alphas, np.full((1, len(alphas)), np.nan))
    rates: FloatArray = getattr(outcome, metric)
    enough = np.sum(~np.isnan(rates), axis=0) >= min(_FEWEST_SPLITS, len(rates))
    return curve_over_splits(judge, outcome.alphas, np.where(enough, rates, np.nan))


def _routing(spec: FigureSpec, outcomes: Outcomes, settings: Settings) -> Figure:
    from riskjudge.plots.routing import NOT_ACCEPTED, draw_shares

    figure, axes = _panels((1, 2), (9.0, 5.4))
    for ax, candidate in zip(axes.ravel(), CANDIDATES, strict=True):
        rows, shares = [], []
        for dataset in spec.datasets:
            for judge in JUDGES:
                run = settings.run(Configuration(candidate, judge, dataset))
                rows.append(f"{dataset}, {judge}")
                outcome = outcomes.get(run)
                if outcome is None:
                    shares.append(np.zeros(3))
                else:
                    accepted = outcome.shares[:, outcome.at(_LEVEL)].mean(axis=0)
                    shares.append(np.append(accepted, 1.0 - accepted.sum()))
        draw_shares(ax, rows, ("mode 1", "mode 2", NOT_ACCEPTED), 2, np.array(shares))
        ax.set_title(f"candidate {candidate}")
        ax.set_xlabel("share of items")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def _panels(shape: tuple[int, int], size: tuple[float, float]) -> tuple[Figure, np.ndarray]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(*shape, squeeze=False)


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
