"""Differences of corrected pass rates, all pairs of systems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from riskjudge._typing import FloatArray
from riskjudge.errors import InputError
from riskjudge.plots.display import Display
from riskjudge.plots.style import QUIET, legend_below, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from riskjudge.rates.comparison import Ranking

_MOST = 45


@dataclass(eq=False)
class DifferencesDisplay(Display):
    """How much better each system is than each below it in the ranking.

    Attributes
    ----------
    names : tuple of str, length P
        ``better − than``.
    values : ndarray, shape (P, 5)
        Estimate, limits of this pair, limits that hold for all pairs together.
    heading, details : str

    Examples
    --------
    >>> from riskjudge.rates import RateSample, rank_systems
    >>> verdicts = np.repeat([1, 0], [900, 100])
    >>> ranking = rank_systems({k: RateSample.from_arrays(v, v) for k, v in
    ...                         {"a": verdicts, "b": 1 - verdicts}.items()})
    >>> DifferencesDisplay.from_ranking(ranking).names
    ('a − b',)
    """

    names: tuple[str, ...]
    values: FloatArray
    heading: str
    details: str

    @classmethod
    def from_ranking(cls, ranking: Ranking, *, source: str = "") -> Self:
        """From a ranking of two systems or more.

        Raises
        ------
        InputError
            If there is no pair, or there are more pairs than fit a picture.
        """
        pairs = len(ranking.differences)
        if not 0 < pairs <= _MOST:
            raise InputError(f"a picture of differences takes 1 to {_MOST} pairs, got {pairs}")
        values = [(d.estimate, d.low, d.high, *d.simultaneous) for d in ranking.differences]
        names = tuple(f"{d.better} − {d.than}" for d in ranking.differences)
        apart = sum(d.told_apart for d in ranking.differences)
        paired = "in pairs" if ranking.paired else "as independent"
        details = f"{apart} of {pairs} pairs told apart at {100 * ranking.confidence:g} %, {paired}"
        return cls(
            names,
            np.array(values),
            "Differences of corrected rates",
            "\n".join(filter(None, [source, details])),
        )

    def _height(self) -> float:
        return 0.95 + 0.2 * len(self.names)

    def _draw(self, ax: Axes) -> None:
        places = np.arange(len(self.names))[::-1]
        value, low, high, least, most = 100 * self.values.T
        joint, single = look(1), look(0)
        ax.axvline(0.0, color=QUIET, linewidth=0.8)
        ax.hlines(
            places, least, most, color=joint.colour, linewidth=1.2, label="all pairs together"
        )
        ax.hlines(places, low, high, color=single.colour, linewidth=3.0, label="this pair")
        ax.plot(value, places, "o", color="white", markersize=2.5, markeredgecolor=single.colour)
        ax.set_yticks(places, self.names)
        ax.set_ylim(-0.7, len(self.names) - 0.3)
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="x")
        ax.set_xlabel("difference, points")
        legend_below(ax, 2)
