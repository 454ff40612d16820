"""Test error rate of the accepted verdicts against the risk level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

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
from riskjudge.plots.style import INK, QUIET

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from riskjudge.evaluation.splits import Sweep


@dataclass(eq=False)
class FDRDisplay(Display):
    """Test FDR at each risk level beside the diagonal: mean over the splits, with a band.

    A split in which nothing is accepted has no FDR and is left out of the mean. A hollow marker
    says that some splits were left out, the note below the title how many.

    Attributes
    ----------
    curves : tuple of Curve
        One a sweep.
    heading, details : str

    Examples
    --------
    >>> import numpy as np
    >>> from riskjudge.evaluation.splits import Sweep
    >>> accepted, errors = np.array([[0, 40], [0, 60]]), np.array([[0, 4], [0, 12]])
    >>> two = Sweep((0.1, 0.2), np.array([100, 100]), accepted, errors, accepted[:, :, None],
    ...             ("judge",), "portfolio, delta = 0.05, 2 random splits, seed 0")
    >>> display = FDRDisplay.from_sweep(two)
    >>> display.curves[0].mean, display.curves[0].n_undefined
    (array([ nan, 0.15]), array([2, 0]))
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
        """From one sweep, or several to be compared; see :meth:`CoverageDisplay.from_sweep`."""
        given, run = names_and_details(sweeps, names)
        curves = tuple(
            curve_over_splits(name, sweep.alphas, sweep.fdr, band)
            for name, sweep in zip(given, sweeps, strict=True)
        )
        lines = [source, run, BAND_TEXT[Band(band)], undefined_note(curves)]
        return cls(curves, "Test FDR at each risk level", "\n".join(filter(None, lines)))

    def _draw(self, ax: Axes) -> None:
        right, top = draw_fdr(ax, self.curves)
        ax.text(0.03 * right, 0.97 * top, "above the line: FDR > α", va="top", color=INK)
        ax.set_xlabel("risk level α")
        ax.set_ylabel("FDR (wrong among accepted test items)")
        label_curves(ax, self.curves)


def draw_fdr(ax: Axes, curves: Sequence[Curve]) -> tuple[float, float]:
    """The curves and the diagonal in their frame, without any words; its right and upper ends."""
    draw_curves(ax, curves)
    right = 1.04 * max(curve.alphas.max() for curve in curves)
    highest = np.max([np.nan_to_num(rate) for curve in curves for rate in (curve.mean, curve.high)])
    top = max(right, 1.04 * float(highest))
    ax.plot([0, right], [0, right], color=QUIET, lw=0.8, zorder=1)
    ax.fill_between([0, right], [0, right], [top, top], color="#F4F4F4", lw=0, zorder=0)
    ax.set_xlim(0, right)
    ax.set_ylim(0, top)
    return right, top


def undefined_note(curves: Sequence[Curve]) -> str:
    """What was left out of the means; empty if nothing was.

    Examples
    --------
    >>> curve = curve_over_splits("a", [0.1, 0.2], np.array([[0.1, np.nan], [0.3, np.nan]]))
    >>> undefined_note([curve])
    'undefined (nothing accepted) and left out: 2 of 2 splits at α = 0.2'
    """
    notes: list[str] = []
    for curve in curves:
        missing = np.flatnonzero(curve.n_undefined)
        parts = [
            f"{curve.n_undefined[a]} of {curve.n_splits} splits at α = {curve.alphas[a]:g}"
            if not notes and a == missing[0]
            else f"{curve.n_undefined[a]} at {curve.alphas[a]:g}"
            for a in missing
        ]
        if parts:
            notes.append((f"{curve.name} " if len(curves) > 1 else "") + ", ".join(parts))
    return "undefined (nothing accepted) and left out: " + "; ".join(notes) if notes else ""
