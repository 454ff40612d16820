"""Curves over risk levels: the mean of many splits with a band, several overlaid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from riskjudge._typing import FloatArray, IntArray
from riskjudge.errors import InputError
from riskjudge.plots.style import look, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from riskjudge.evaluation.splits import Sweep


class Band(StrEnum):
    """What a band over splits shows.

    ``std`` is one standard deviation to either side of the mean, cut off at 0 and 1; ``quantiles``
    holds the central 80 % of the splits.
    """

    STD = "std"
    QUANTILES = "quantiles"


_LABEL_GAP = 0.085  # of the axes' height, which is some 130 points in a new figure

BAND_TEXT = {
    Band.STD: "band: mean ± 1 std over splits",
    Band.QUANTILES: "band: central 80 % of splits",
}


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Mean and band of a rate over splits, at A risk levels.

    Attributes
    ----------
    name : str
    alphas : ndarray of float, shape (A,)
    mean, low, high : ndarray of float, shape (A,)
        Over the splits in which the rate is defined; NaN where there is none, and (`low`, `high`)
        where there is only one.
    n_undefined : ndarray of int, shape (A,)
        Splits in which the rate is UNDEFINED.
    n_splits : int
    """

    name: str
    alphas: FloatArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    n_undefined: IntArray
    n_splits: int


def known_band(name: str) -> Band:
    """A band by its name.

    Raises
    ------
    InputError
        If there is none of that name.
    """
    if name not in list(Band):
        raise InputError(f"unknown band {name!r}; the bands are {', '.join(Band)}")
    return Band(name)


def curve_over_splits(
    name: str, alphas: Sequence[float], rates: FloatArray, band: str = Band.STD
) -> Curve:
    """Average rates of shape (S, A) over S splits; NaN is UNDEFINED and left out.

    Examples
    --------
    >>> rates = np.array([[0.1, np.nan], [0.3, np.nan]])
    >>> curve = curve_over_splits("a", [0.1, 0.2], rates)
    >>> curve.mean, curve.n_undefined
    (array([0.2, nan]), array([0, 2]))
    """
    band = known_band(band)
    mean, low, high = np.full((3, len(alphas)), np.nan)
    for a, column in enumerate(rates.T):
        values = column[~np.isnan(column)]
        if len(values):
            mean[a] = values.mean()
        if len(values) < 2:
            continue
        if band == Band.STD:
            std = values.std(ddof=1)
            low[a], high[a] = max(mean[a] - std, 0.0), min(mean[a] + std, 1.0)
        else:
            low[a], high[a] = np.quantile(values, [0.1, 0.9])
    undefined = np.isnan(rates).sum(axis=0)
    return Curve(name, np.asarray(alphas, float), mean, low, high, undefined, len(rates))


def names_and_details(
    sweeps: Sequence[Sweep], names: Sequence[str] | None
) -> tuple[list[str], str]:
    """A name for each sweep (its procedure unless given), and what was run."""
    if not sweeps:
        raise InputError("at least one sweep is needed")
    if names is not None and len(names) != len(sweeps):
        raise InputError(f"{len(sweeps)} sweeps need {len(sweeps)} names, got {len(names)}")
    split = [sweep.description.replace("delta =", "δ =").partition(", ") for sweep in sweeps]
    given = list(names) if names is not None else [procedure for procedure, _, _ in split]
    rest = list(dict.fromkeys(settings for _, _, settings in split))
    if len(sweeps) == 1:
        return given, split[0][0] + ", " + rest[0]
    if len(rest) == 1:
        return given, rest[0]
    return given, "\n".join(f"{name}: {part[2]}" for name, part in zip(given, split, strict=True))


def draw_curves(ax: Axes, curves: Sequence[Curve]) -> None:
    """Draw curves with bands; a hollow marker is a mean over only some of the splits."""
    for i, curve in enumerate(curves):
        style = look(i)
        ax.fill_between(curve.alphas, curve.low, curve.high, color=style.colour, alpha=0.18, lw=0)
        ax.plot(curve.alphas, curve.mean, color=style.colour, ls=style.line)
        for some, face in ((False, style.colour), (True, "white")):
            at = (curve.n_undefined > 0) == some
            ax.plot(
                curve.alphas[at],
                curve.mean[at],
                ls="",
                marker=style.marker,
                color=style.colour,
                markerfacecolor=face,
            )
    ax.grid(True)


def label_curves(ax: Axes, curves: Sequence[Curve]) -> None:
    """Name each curve beside its right end, with its marker; nothing if there is only one."""
    drawn = [(i, c) for i, c in enumerate(curves) if not np.isnan(c.mean).all()]
    if len(curves) < 2:
        return
    low, high = ax.get_ylim()
    ends = np.array([(c.mean[~np.isnan(c.mean)][-1] - low) / (high - low) for _, c in drawn])
    # Curves that end together are listed in the order of their means.
    ends += 1e-6 * np.array([np.nanmean(c.mean) for _, c in drawn])
    for (i, curve), y in zip(drawn, spread(ends, _LABEL_GAP, 0.03, 1.0), strict=True):
        style = look(i)
        ax.plot(
            [1.035],
            [y],
            transform=ax.transAxes,
            clip_on=False,
            marker=style.marker,
            color=style.colour,
        )
        ax.text(1.065, y, curve.name, transform=ax.transAxes, va="center", color=style.colour)
