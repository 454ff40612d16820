"""Pass rates of systems: the judge's own, and corrected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from riskjudge._typing import FloatArray
from riskjudge.plots.display import Display
from riskjudge.plots.style import legend_below, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from riskjudge.rates.estimate import Estimate
    from riskjudge.rates.systems import SystemRates

SHOWN = (("raw", "raw (judge alone)"), ("stratified", "corrected"), ("classical", "labels alone"))


@dataclass(eq=False)
class RatesDisplay(Display):
    """Rates with intervals, one line a system; the best estimate on top.

    Attributes
    ----------
    names : tuple of str, length K
    series : tuple of str
        What is drawn for every system.
    values : ndarray, shape (series, K, 3)
        Estimate, lower and upper limit; NaN where undefined.
    heading, details : str

    Examples
    --------
    >>> from riskjudge.rates import RateSample, rate_systems
    >>> verdicts = np.tile([1, 1, 0, 1], 100)
    >>> rates = rate_systems(RateSample.from_arrays(verdicts, verdicts))
    >>> RatesDisplay.from_rates(rates).values[1, 0, 0]
    np.float64(0.75)
    """

    names: tuple[str, ...]
    series: tuple[str, ...]
    values: FloatArray
    heading: str
    details: str

    @classmethod
    def from_rates(cls, rates: SystemRates, *, source: str = "") -> Self:
        """From the rates of one system or of several."""
        reports = {"all rows": rates.whole}
        if rates.ranking is not None:
            names = (*rates.ranking.systems, *rates.ranking.left_out)
            reports = {name: rates.systems[name] for name in names}
        values = np.array(
            [[_numbers(r.estimates[key]) for r in reports.values()] for key, _ in SHOWN]
        )
        labelled, rows = rates.whole.n_labelled, rates.whole.n_all
        level = f"{100 * rates.whole.corrected.confidence:g} % intervals"
        details = "\n".join(
            filter(None, [source, f"{rows} rows, {labelled} with a label, {level}"])
        )
        return cls(tuple(reports), tuple(name for _, name in SHOWN), values, "Pass rates", details)

    def _height(self) -> float:
        return 0.95 + 0.36 * len(self.names)

    def _draw(self, ax: Axes) -> None:
        places = np.arange(len(self.names))[::-1].astype(float)
        for i, name in enumerate(self.series):
            style = look(i)
            value, low, high = self.values[i].T
            ax.errorbar(
                100 * value,
                places + 0.2 * (1 - i),
                xerr=100 * np.stack([value - low, high - value]),
                color=style.colour,
                marker=style.marker,
                linestyle="none",
                elinewidth=1.2,
                label=name,
            )
        ax.set_yticks(places, self.names)
        ax.set_ylim(-0.6, len(self.names) - 0.4)
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="x")
        ax.set_xlabel("pass rate, %")
        legend_below(ax, len(self.series))


def _numbers(found: Estimate) -> tuple[float, float, float]:
    values = (found.estimate, found.low, found.high)
    if None in values:
        return (np.nan, np.nan, np.nan)
    return tuple(float(v) for v in values)  # type: ignore[arg-type, return-value]
