"""Coverage against the risk level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from riskjudge.plots.curves import (
    BAND_TEXT,
    Band,
    Curve,
    curve_over_splits,
    draw_curves,
    label_curves,
    names_and_details,
)
from riskjudge.plots.display import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from riskjudge.evaluation.splits import Sweep


@dataclass(eq=False)
class CoverageDisplay(Display):
    """Test coverage at each risk level: mean over the splits, with a band.

    Attributes
    ----------
    curves : tuple of Curve
        One a sweep. A split in which nothing is accepted counts with coverage 0.
    heading, details : str

    Examples
    --------
    >>> import numpy as np
    >>> from riskjudge.evaluation.splits import Sweep
    >>> counts = np.array([[0, 40], [20, 60]])
    >>> two = Sweep((0.1, 0.2), np.array([100, 100]), counts, counts // 10, counts[:, :, None],
    ...             ("judge",), "portfolio, delta = 0.05, 2 random splits, seed 0")
    >>> CoverageDisplay.from_sweep(two).curves[0].mean
    array([0.1, 0.5])
    """

    curves: tuple[Curve, ...]
    heading: str
    details: str

    height: ClassVar[float] = 2.5

    @classmethod
    def from_sweep(
        cls,
        *sweeps: Sweep,
        names: Sequence[str] | None = None,
        band: str = Band.STD,
        source: str = "",
    ) -> Self:
        """From one sweep, or several to be compared.

        Parameters
        ----------
        *sweeps : Sweep
        names : sequence of str, optional
            The sweeps' procedures by default.
        band : {"std", "quantiles"}
            See :class:`~riskjudge.plots.curves.Band`.
        source : str
            On what it was run (say so here if it is synthetic); printed in the title.
        """
        given, run = names_and_details(sweeps, names)
        curves = tuple(
            curve_over_splits(name, sweep.alphas, sweep.coverage, band)
            for name, sweep in zip(given, sweeps, strict=True)
        )
        details = "\n".join(filter(None, [source, run, BAND_TEXT[Band(band)]]))
        return cls(curves, "Coverage at each risk level", details)

    def _draw(self, ax: Axes) -> None:
        draw_coverage(ax, self.curves)
        ax.set_xlabel("risk level α")
        ax.set_ylabel("coverage (accepted share of test items)")
        label_curves(ax, self.curves)


def draw_coverage(ax: Axes, curves: Sequence[Curve]) -> None:
    """The curves in their frame, without any words."""
    draw_curves(ax, curves)
    ax.set_xlim(0, 1.04 * max(curve.alphas.max() for curve in curves))
    ax.set_ylim(0, 1.03)
