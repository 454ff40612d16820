"""What each signal adds: coverage with and without it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from riskjudge._typing import FloatArray
from riskjudge.errors import InputError
from riskjudge.plots.display import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False)
class SignalsDisplay(Display):
    """Mean certified coverage with all signals, and without each of them.

    Attributes
    ----------
    names : tuple of str
    means, errors : ndarray of float, shape (1 + signals,)
        Mean coverage over the splits and its standard error; all signals first.
    """

    names: tuple[str, ...]
    means: FloatArray
    errors: FloatArray
    heading: str
    details: str

    @classmethod
    def from_coverages(
        cls, coverages: Mapping[str, FloatArray], *, alpha: float, source: str = ""
    ) -> Self:
        """From the coverage in each split, by what was left out.

        Parameters
        ----------
        coverages : mapping of str to ndarray of float, shape (splits,)
            The first one with nothing left out.
        alpha : float
        source : str
        """
        if not coverages:
            raise InputError("there is nothing to draw")
        values = list(coverages.values())
        splits = len(values[0])
        spread = [float(np.std(v, ddof=1)) / splits**0.5 if splits > 1 else 0.0 for v in values]
        details = f"alpha = {alpha:g}, {splits} random splits; bars: one standard error"
        return cls(
            tuple(coverages),
            np.array([float(np.mean(v)) for v in values]),
            np.array(spread),
            "What each signal adds",
            "\n".join(filter(None, [source, details])),
        )

    def _height(self) -> float:
        return 1.0 + 0.22 * len(self.names)

    def _draw(self, ax: Axes) -> None:
        y = np.arange(len(self.names))[::-1]
        ax.axvline(float(self.means[0]), color="0.6", linewidth=0.8, linestyle=":")
        ax.errorbar(self.means, y, xerr=self.errors, fmt="o", markersize=3, linewidth=0.8)
        ax.set_yticks(y, self.names)
        ax.set_xlim(0.0, 1.0)
        ax.set_xlabel("coverage of the test items")
