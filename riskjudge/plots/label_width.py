"""Width of the interval against the number of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from riskjudge._typing import FloatArray
from riskjudge.errors import InputError
from riskjudge.plots.display import Display
from riskjudge.plots.style import legend_below, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from riskjudge.rates.sample import RateSample


@dataclass(eq=False)
class LabelWidthDisplay(Display):
    """What labels buy: expected width of the interval with the judge's help, and without.

    Attributes
    ----------
    labels : ndarray, shape (m,)
    corrected, alone : ndarray, shape (m,)
        Expected widths.
    now : tuple of float
        Labels there are, and the width of their interval.
    heading, details : str

    Examples
    --------
    >>> from riskjudge.rates import RateSample
    >>> verdicts = np.resize([1, 1, 0], 3000)
    >>> pilot = RateSample.from_arrays(verdicts, np.where(np.arange(3000) < 60, verdicts, -1))
    >>> drawn = LabelWidthDisplay.from_sample(pilot)
    >>> bool((drawn.corrected < drawn.alone).all())
    True
    """

    labels: FloatArray
    corrected: FloatArray
    alone: FloatArray
    now: tuple[float, float]
    heading: str
    details: str

    height: ClassVar[float] = 2.5

    @classmethod
    def from_sample(cls, sample: RateSample, *, confidence: float = 0.95, source: str = "") -> Self:
        """From the labels there are, which serve as a pilot.

        Raises
        ------
        InputError
            If there are no labels, or some part of the rows has none.
        """
        from riskjudge.rates.planning import widths_from_pilot
        from riskjudge.rates.stratified import post_stratified

        labels = np.unique(np.geomspace(20, max(len(sample), 40), 40).astype(np.int64))
        corrected, alone = widths_from_pilot(sample, labels, confidence=confidence)
        found = post_stratified(sample, confidence=confidence)
        if found.width is None:
            raise InputError("the corrected rate is undefined")
        details = f"planned from {sample.n_labelled} labels on {len(sample)} rows"
        return cls(
            labels.astype(np.float64),
            corrected,
            alone,
            (float(sample.n_labelled), found.width),
            f"Width of the {100 * confidence:g} % interval",
            "\n".join(filter(None, [source, details])),
        )

    def _draw(self, ax: Axes) -> None:
        for i, (name, widths) in enumerate(
            (("labels alone", self.alone), ("corrected", self.corrected))
        ):
            style = look(1 - i)
            ax.plot(self.labels, 100 * widths, color=style.colour, linestyle=style.line, label=name)
        ax.plot(
            self.now[0],
            100 * self.now[1],
            look(0).marker,
            color=look(0).colour,
            label="corrected, now",
        )
        ax.set_xscale("log")
        ax.set_ylim(bottom=0)
        ax.grid(True)
        ax.set_xlabel("labels")
        ax.set_ylabel("width, points")
        legend_below(ax, 3)
