"""Risk against what an accepted verdict costs: certified cascades beside everything else one might do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from riskjudge._typing import FloatArray
from riskjudge.errors import InputError
from riskjudge.evaluation.escalation import (
    ACCEPT_ALL,
    CERTIFIED,
    FIXED,
    FIXED_ALL,
    Escalation,
    Strategy,
)
from riskjudge.plots.display import Display
from riskjudge.plots.style import INK, QUIET, Look, legend_below, look, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEGEND = {
    CERTIFIED: "certified cascade (dash: its alpha)",
    ACCEPT_ALL: "one judge, accept all",
    FIXED: "fixed threshold, else decline",
    FIXED_ALL: "fixed threshold, last judge accepts",
}
_LEAST = 0.02
_NEAR = 0.25  # of the logarithm of costs: names would overlap


@dataclass(eq=False)
class EscalationDisplay(Display):
    """Error rate of the accepted verdicts against their cost, a point a strategy.

    Attributes
    ----------
    strategies : tuple of Strategy
        Those that accept 2 % of the items or more; the others have no error rate to speak of.
    heading, details : str

    Examples
    --------
    >>> import riskjudge
    >>> from riskjudge.evaluation.escalation import compare_escalation
    >>> costs = {"parametric": 1, "retrieval": 5}
    >>> found = compare_escalation(riskjudge.demo_trace(), costs, alphas=[0.2], thresholds=[0.3])
    >>> len(EscalationDisplay.from_escalation(found).strategies)
    5
    """

    strategies: tuple[Strategy, ...]
    heading: str
    details: str

    height = 3.1

    @classmethod
    def from_escalation(cls, found: Escalation, *, source: str = "") -> Self:
        """From strategies that were compared.

        Parameters
        ----------
        found : Escalation
        source : str
            On what it was run (say so here if it is synthetic); printed in the title.

        Raises
        ------
        InputError
            If every verdict is free.
        """
        if not any(found.costs.values()):
            raise InputError("every verdict is free: there is no cost to draw")
        drawn = tuple(s for s in found.strategies if s.accepted >= max(1.0, _LEAST * s.items))
        costs = ", ".join(f"{mode} {cost:g}" for mode, cost in found.costs.items())
        items = found.strategies[0].items
        lines = [
            source,
            f"{items} labelled items; cost of a verdict: {costs}; bars: exact 95 % intervals; "
            f"percentages: accepted items; δ = {found.delta:g}, {found.folds} folds, seed {found.seed}",
        ]
        left = [f"{s.kind} {s.name}" for s in found.strategies if s not in drawn]
        if left:
            lines.append(f"accept less than {_LEAST:.0%}, not drawn: {', '.join(left)}")
        return cls(
            drawn,
            "Risk and cost of accepted verdicts",
            "\n".join(filter(None, lines)),
        )

    def _draw(self, ax: Axes) -> None:
        for i, kind in enumerate(_LEGEND):
            points = [s for s in self.strategies if s.kind == kind]
            if points:
                self._draw_kind(ax, kind, points, look(i))
        ax.set_xscale("log")
        ax.set_xlabel("cost of an accepted verdict, declined items included")
        ax.set_ylabel("wrong among the accepted, %")
        ax.set_ylim(0.0, 1.12 * self._top())
        ax.margins(x=0.12)
        _plain_ticks(ax)
        ax.grid(axis="y")
        legend_below(ax, 1)

    def _draw_kind(self, ax: Axes, kind: str, points: list[Strategy], style: Look) -> None:
        xs = [_known(s.cost_per_accepted) for s in points]
        ys = [100 * _known(s.risk.value) for s in points]
        ends = [[100 * (_known(s.risk.value) - _known(s.risk.low)) for s in points],
                [100 * (_known(s.risk.high) - _known(s.risk.value)) for s in points]]  # fmt: skip
        strong = kind == CERTIFIED
        ax.errorbar(
            xs,
            ys,
            yerr=ends,
            color=style.colour,
            marker=style.marker,
            linestyle=style.line if kind != ACCEPT_ALL else "",
            linewidth=1.3 if strong else 0.8,
            elinewidth=0.6,
            zorder=4 if strong else 3,
            label=_LEGEND[kind],
        )
        if strong:
            ax.plot(
                xs, [100 * _known(s.setting) for s in points], "_", color=style.colour, markersize=9
            )
        self._label(ax, kind, points, np.array(xs), np.array(ys), style.colour if strong else QUIET)

    def _label(
        self,
        ax: Axes,
        kind: str,
        points: list[Strategy],
        xs: FloatArray,
        ys: FloatArray,
        colour: str,
    ) -> None:
        """Names of judges above their bars, or below where another is above; shares of items else."""
        if kind == ACCEPT_ALL:
            for s, x, y in zip(points, xs, ys, strict=True):
                under = (
                    bool(((np.abs(np.log(xs / x)) < _NEAR) & (ys > y)).any()) if x > 0 else False
                )
                end = 100 * _known(s.risk.low if under else s.risk.high)
                _note(ax, s.name, (x, end), (0, -2 if under else 2), INK, "center", under)
        elif kind != FIXED_ALL:
            left = kind == CERTIFIED
            # Levels that end up with the same rule share a point, and a label.
            _, once = np.unique(np.column_stack((xs, ys)), axis=0, return_index=True)
            points, xs, ys = [points[i] for i in once], xs[once], ys[once]
            places = spread(ys, 0.05 * self._top(), 0.0, self._top())
            for s, x, y in zip(points, xs, places, strict=True):
                share = f"{100 * s.accepted / s.items:.0f} %"
                _note(
                    ax, share, (x, y), (-6 if left else 5, -3), colour, "right" if left else "left"
                )

    def _top(self) -> float:
        return 100 * max(_known(s.risk.high) for s in self.strategies)


def _note(
    ax: Axes,
    text: str,
    at: tuple[float, float],
    offset: tuple[float, float],
    colour: str,
    side: str,
    below: bool = False,
) -> None:
    ax.annotate(
        text, at, offset, textcoords="offset points", color=colour, ha=side, zorder=5,
        va="top" if below else "bottom",
    )  # fmt: skip


def _plain_ticks(ax: Axes) -> None:
    """1, 2, 5, 10 … in place of powers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def _known(value: float | None) -> float:
    """A strategy that accepts anything has rates and a cost."""
    assert value is not None
    return value
