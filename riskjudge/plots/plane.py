"""The upper bound of the error rate over the plane of threshold pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from riskjudge import binomial, counts
from riskjudge._typing import BoolArray, FloatArray, IntArray
from riskjudge.calibration.certificate import Guarantee
from riskjudge.errors import InputError
from riskjudge.plots.display import Display
from riskjudge.plots.style import INK, LETTER, root_figure, width_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable

    from riskjudge.calibration import Certificate
    from riskjudge.data.trace import Trace
    from riskjudge.gate import Router, SelectiveGate

_MOST_LEVELS = 160


@dataclass(eq=False)
class ThresholdPlaneDisplay(Display):
    """Heat map of the bound for each pair of thresholds, the line at alpha, the chosen pair.

    The axes run through the distinct scores of each mode in equal steps ("none", no threshold in
    this mode, first), and are marked in scores. More than 160 distinct scores are thinned to 160 by
    rank; a chosen pair stays.

    Attributes
    ----------
    grids : pair of ndarray of float, shapes (G1,) and (G2,)
        Thresholds of both modes, ``-inf`` first.
    accepted, errors : ndarray of int, shape (G1, G2)
    bound : ndarray of float, shape (G1, G2)
        Clopper-Pearson upper bound at `delta` for each pair by itself; NaN (UNDEFINED) where nothing
        is accepted.
    chosen : pair of int or None
        Indices of the certified pair.
    n, alpha, delta, modes : int, float, float, tuple[str, str]
        Labelled items; risk level; significance; names of the two modes.
    heading, details : str

    Notes
    -----
    A pair picked because its bound lies below alpha has no guarantee: a million pairs were looked
    at. The certified pair of a valid procedure lies inside the line, not on it.

    Examples
    --------
    >>> import riskjudge
    >>> display = ThresholdPlaneDisplay.from_trace(riskjudge.demo_trace(), alpha=0.15)
    >>> display.bound.shape, bool(np.isnan(display.bound[0, 0]))
    ((161, 161), True)
    """

    grids: tuple[FloatArray, FloatArray]
    accepted: IntArray
    errors: IntArray
    bound: FloatArray
    chosen: tuple[int, int] | None
    n: int
    alpha: float
    delta: float
    modes: tuple[str, str]
    heading: str
    details: str

    height: ClassVar[float] = 3.1

    @classmethod
    def from_trace(
        cls,
        trace: Trace,
        alpha: float = 0.1,
        delta: float = 0.05,
        gate: Router | SelectiveGate | None = None,
        *,
        source: str = "",
    ) -> Self:
        """From the labelled items of a trace with two modes.

        Parameters
        ----------
        trace : Trace
        alpha, delta : float
        gate : Router or SelectiveGate, optional
            With two modes. If it is fitted, its pair is marked.
        source : str
            On what it was run (say so here if it is synthetic); printed in the title.

        Raises
        ------
        InputError
            If there are not two modes with one threshold each, or the trace could not be calibrated
            on.
        """
        if gate is None:
            from riskjudge.gate import Router

            gate = Router(alpha, delta)
        binomial.check_level(gate.alpha, "alpha")
        binomial.check_level(gate.delta, "delta")
        prepared = gate.prepare(trace)
        sample = gate.sample_of(prepared.labelled)
        if sample.n_modes != 2 or sample.columns_per_mode != 1:
            raise InputError(
                f"the plane shows two modes with one threshold each, got {', '.join(sample.modes)}; "
                "the risk-coverage curves show any number"
            )
        certificate = gate.certificate_ if gate.fitted else None
        pair = _pair(certificate)
        axes = tuple(_levels(sample.scores[:, k], pair[k] if pair else None) for k in range(2))
        plane = counts.Plane(sample.scores, sample.errors, (axes[0], axes[1]))
        accepted, errors = plane.counts()
        grid1, grid2 = plane.grids
        chosen = None
        if pair is not None:
            chosen = int(np.searchsorted(grid1, pair[0])), int(np.searchsorted(grid2, pair[1]))
        lines = [
            source,
            f"{sample.n} labelled items, α = {alpha:g}, δ = {delta:g}; each bound is for its pair alone",
        ]
        if certificate is not None:
            lines.append(_chosen_text(certificate, alpha))
        return cls(
            plane.grids,
            accepted,
            errors,
            binomial.upper_bound(errors, accepted, delta),
            chosen,
            sample.n,
            alpha,
            delta,
            (sample.modes[0], sample.modes[1]),
            "Error bound of each threshold pair",
            "\n".join(filter(None, lines)),
        )

    @property
    def passes(self) -> BoolArray:
        """Pairs whose bound is at most alpha, shape (G1, G2)."""
        return np.nan_to_num(self.bound, nan=np.inf) <= self.alpha

    def _draw(self, ax: Axes) -> None:
        from matplotlib.collections import LineCollection

        defined = self.bound[~np.isnan(self.bound)]
        lowest = float(min(defined.min(), self.alpha))
        highest = float(min(max(np.quantile(defined, 0.98), 1.25 * self.alpha), 1.0))
        edges = _edges(self.grids[0]), _edges(self.grids[1])
        image = ax.pcolormesh(
            *edges,
            np.ma.masked_invalid(self.bound.T),
            cmap="cividis",
            vmin=lowest,
            vmax=highest,
            rasterized=True,
        )
        ax.axvline(edges[0][1], color="white", lw=0.6)
        ax.axhline(edges[1][1], color="white", lw=0.6)
        outline = _outline(self.passes, np.isnan(self.bound), *edges)
        for width, colour in ((2.6, INK), (1.3, "white")):
            ax.add_collection(
                LineCollection(outline, colors=colour, lw=width, capstyle="projecting")
            )
        if self.chosen is not None:
            ax.plot(
                *(_middles(edge)[i] for edge, i in zip(edges, self.chosen, strict=True)),
                marker="*",
                markersize=11,
                color="#E69F00",
                markeredgecolor=INK,
                markeredgewidth=0.8,
                ls="",
                clip_on=False,
                zorder=5,
            )
        ax.set_xlabel(f"threshold of {self.modes[0]} (score, spaced by rank)")
        ax.set_ylabel(f"threshold of {self.modes[1]}")
        room = 0.82 * width_points(ax), 144.0  # the colour bar takes some of the width
        labels = [[_score(t) for t in grid] for grid in self.grids]
        for axis, edge, texts, letters, points in (
            (ax.xaxis, edges[0], labels[0], None, room[0]),
            (ax.yaxis, edges[1], labels[1], 4, room[1]),
        ):
            ticks = _ticks(texts, points, letters)
            axis.set_ticks(_middles(edge)[ticks], [texts[i] for i in ticks])
        self._colour_bar(ax, image, clipped=bool(defined.max() > highest))

    def _colour_bar(self, ax: Axes, image: ScalarMappable, *, clipped: bool) -> None:
        figure = root_figure(ax)
        extend = "max" if clipped else "neither"
        bar = figure.colorbar(image, ax=ax, extend=extend, fraction=0.06, pad=0.03)
        bar.outline.set_linewidth(0.4)
        bar.set_label(f"upper bound at δ = {self.delta:g} (line: α = {self.alpha:g})")
        bar.ax.axhline(self.alpha, color=INK, lw=2.6)
        bar.ax.axhline(self.alpha, color="white", lw=1.3)


def _pair(certificate: Certificate | None) -> tuple[float, float] | None:
    if certificate is None or certificate.thresholds is None:
        return None
    first, second = (counts.NONE if t is None else t for t in certificate.thresholds.values())
    return first, second


def _levels(scores: FloatArray, chosen: float | None) -> FloatArray:
    """Distinct scores, or evenly ranked ones if they are many; with the chosen threshold."""
    values = np.unique(scores[~np.isnan(scores)])
    if len(values) > _MOST_LEVELS:
        values = values[np.linspace(0, len(values) - 1, _MOST_LEVELS).round().astype(np.int64)]
    return values if chosen is None else np.union1d(values, [chosen])


def _edges(grid: FloatArray) -> FloatArray:
    """Cell edges: "none" is a strip that can be seen beside however many thresholds."""
    strip = max(1.0, 0.05 * len(grid))
    return np.concatenate(([-strip], np.arange(len(grid), dtype=np.float64)))


def _middles(edges: FloatArray) -> FloatArray:
    return (edges[1:] + edges[:-1]) / 2


def _outline(
    inside: BoolArray, undefined: BoolArray, edges1: FloatArray, edges2: FloatArray
) -> list[list[tuple[float, float]]]:
    """Exact borders between cells inside and outside; undefined cells have none."""
    lines = []
    across = (inside[1:] != inside[:-1]) & ~undefined[1:] & ~undefined[:-1]
    for i, j in np.argwhere(across):
        lines.append([(edges1[i + 1], edges2[j]), (edges1[i + 1], edges2[j + 1])])
    along = (inside[:, 1:] != inside[:, :-1]) & ~undefined[:, 1:] & ~undefined[:, :-1]
    for i, j in np.argwhere(along):
        lines.append([(edges1[i], edges2[j + 1]), (edges1[i + 1], edges2[j + 1])])
    return lines


def _ticks(texts: list[str], points: float, letters: int | None = None) -> list[int]:
    """Index 0 ("none"), and as many more as have room side by side."""
    widest = letters or max(len(text) for text in texts)
    fit = max(int(points / (LETTER * (widest + 1.6))), 2)
    last = len(texts) - 1
    stride = -(-last // (fit - 1))
    return [0, *range(last, 0, -stride)[::-1]]


def _score(threshold: float) -> str:
    """Three digits, or one and a short exponent.

    Examples
    --------
    >>> _score(0.12345), _score(0.0), _score(4.1e-6), _score(-np.inf)
    ('0.123', '0', '4e-6', 'none')
    """
    if threshold == counts.NONE:
        return "none"
    if threshold == 0 or 1e-2 <= abs(threshold) < 1e4:
        return f"{threshold:.3g}"
    digits, _, exponent = f"{threshold:.0e}".partition("e")
    return f"{digits}e{int(exponent)}"


def _chosen_text(c: Certificate, alpha: float) -> str:
    if c.thresholds is None or c.upper_bound is None or c.level is None:
        return f"{c.procedure}: no pair is certified at α = {c.alpha:g}, nothing accepted"
    at = "" if c.alpha == alpha else f" for α = {c.alpha:g}"
    promise = "; searched without correction, no guarantee" if c.guarantee == Guarantee.NONE else ""
    return (
        f"star: chosen by {c.procedure}{at}, {c.errors} wrong of {c.accepted} accepted, bound "
        f"{100 * c.upper_bound:.2f} % at level {c.level:.3g}{promise}"
    )
