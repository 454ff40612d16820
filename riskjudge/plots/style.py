"""How every figure looks: sizes, type, colours that read in grey, and files that repeat.

Nothing here imports matplotlib; the settings are handed to it by whoever draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from riskjudge._typing import FloatArray
from riskjudge.errors import InputError
from riskjudge.io.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMN_WIDTH = 3.5
"""Width of a one-column figure, inches. Text sizes below are meant at this size, unscaled."""

TEXT_SIZE = 7.0
"""Smallest text in any figure, points."""

INK = "#222222"
QUIET = "#666666"

RC: Any = {
    # Ships with matplotlib, so that a figure has the same letters on every machine.
    "font.family": "DejaVu Sans",
    "font.size": TEXT_SIZE,
    "axes.labelsize": TEXT_SIZE,
    "axes.titlesize": TEXT_SIZE + 1,
    "xtick.labelsize": TEXT_SIZE,
    "ytick.labelsize": TEXT_SIZE,
    "legend.fontsize": TEXT_SIZE,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": QUIET,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.0,
    "hatch.linewidth": 0.6,
    "legend.frameon": False,
    "figure.facecolor": "white",
    "savefig.dpi": 200,
    "savefig.bbox": None,
    "pdf.fonttype": 42,  # text stays text
    "svg.hashsalt": "riskjudge",
}
"""Settings of matplotlib while one of our figures is drawn; see :func:`drawing_style`."""


@contextmanager
def drawing_style() -> Iterator[None]:
    """Draw with the settings of :data:`RC`, and put back what they replaced.

    Nothing else is put back, as ``matplotlib.rc_context`` would: in a notebook the first figure
    loads the backend, which makes drawing interactive, and with that undone no later figure would
    be shown, the user's own included.
    """
    from matplotlib import rcParams

    before = {key: rcParams[key] for key in RC}
    rcParams.update(RC)
    try:
        yield
    finally:
        rcParams.update(before)


class Look(NamedTuple):
    """Colour, marker, line style and hatch: any one of the four tells two series apart."""

    colour: str
    marker: str
    line: Any
    hatch: str


# The colours of Okabe and Ito, "Color Universal Design" (2008), without the yellow.
LOOKS: tuple[Look, ...] = (
    Look("#0072B2", "o", "-", ""),
    Look("#E69F00", "s", (0, (5, 1.5)), "////"),
    Look("#009E73", "^", (0, (5, 1.5, 1, 1.5)), "...."),
    Look("#CC79A7", "D", (0, (1.2, 1.2)), "\\\\\\\\"),
    Look("#D55E00", "v", (0, (8, 2)), "xxxx"),
    Look("#56B4E9", "P", (0, (3, 1, 1, 1, 1, 1)), "----"),
)

_NO_DATES: dict[str, dict[str, str | None]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "svg": {"Date": None},
}


def look(i: int) -> Look:
    """Look of series `i`; they repeat after six."""
    return LOOKS[i % len(LOOKS)]


def figure_format(path: str | Path) -> str:
    """``png``, ``pdf`` or ``svg``, by the file's name.

    Examples
    --------
    >>> figure_format("coverage.PDF")
    'pdf'
    """
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in _NO_DATES:
        raise InputError(f"{path}: a figure's name must end in .png, .pdf or .svg")
    return kind


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure in the format of the file's name: whole or not at all, same figure same bytes.

    Raises
    ------
    InputError
        If the name ends in anything but ``.png``, ``.pdf`` or ``.svg``.
    """
    kind = figure_format(path)
    with drawing_style(), replacing(path) as temporary:
        figure.savefig(temporary, format=kind, metadata=_NO_DATES[kind])


def write_title(ax: Axes, heading: str, lines: Sequence[str]) -> None:
    """A heading above the axes, and below it the lines that say what was run."""
    details = ax.annotate(
        "\n".join(lines),
        (0, 1),
        (0, 5),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=TEXT_SIZE,
        color=QUIET,
        va="bottom",
        linespacing=1.15,
    )
    details.set_in_layout(False)  # the heading makes the room; its width asks for none
    ax.set_title(
        heading, loc="left", fontweight="bold", pad=(9 if lines else 5) + LINE * len(lines)
    )


def legend_below(ax: Axes, columns: int) -> None:
    """A legend below the axes and their labels, where it covers no data.

    On axes that are alone in a laid-out figure the layout makes room for it; elsewhere it hangs
    below the axes, and the room is the caller's.
    """
    from matplotlib.transforms import ScaledTranslation

    figure = root_figure(ax)
    shape = {"ncols": columns, "handlelength": 2.6, "columnspacing": 1.4}
    if figure.axes == [ax] and figure.get_layout_engine() is not None:
        # A legend of the axes would be a margin that grows as the axes shrink: no layout settles.
        figure.legend(loc="outside lower center", **shape)
        return
    below = ax.transAxes + ScaledTranslation(0, -28 / 72, figure.dpi_scale_trans)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=below, **shape)


LINE = 1.16 * TEXT_SIZE
"""Height of a line of the details, points."""


def wrap(text: str, width: float) -> list[str]:
    """Break text into lines of at most `width` points; its own line breaks stay.

    Examples
    --------
    >>> wrap("seed 0, 100 splits\\nsynthetic", 50.0)
    ['seed 0, 100', 'splits', 'synthetic']
    """
    import textwrap

    letters = max(int(width / LETTER), 12)
    return [line for part in text.split("\n") for line in textwrap.wrap(part, letters)]


LETTER = 0.53 * TEXT_SIZE
"""Width of a letter of DejaVu Sans on average, points."""


def spread(positions: FloatArray, gap: float, low: float, high: float) -> FloatArray:
    """Move label positions apart: at least `gap` between any two, as near to their places as can be.

    The least-squares solution, in the order of the positions; within ``[low, high]`` if they fit.

    Examples
    --------
    >>> spread(np.array([1.0, 0.98, 0.2]), 0.1, 0.0, 1.0)
    array([1. , 0.9, 0.2])
    """
    from scipy.optimize import isotonic_regression

    if len(positions) == 0:
        return positions
    order = np.argsort(positions, kind="stable")
    steps = gap * np.arange(len(order))
    level = isotonic_regression(positions[order] - steps).x
    placed = np.empty(len(order))
    placed[order] = np.clip(level, low, max(high - steps[-1], low)) + steps
    return placed


def root_figure(ax: Axes) -> Figure:
    """The figure that axes, or the subfigure that holds them, belong to."""
    return ax.figure.figure  # a figure's figure is itself


def width_points(ax: Axes, *, to_edge: bool = False) -> float:
    """Width of the axes, or from their left to the edge of the figure, points."""
    figure = root_figure(ax)
    box = ax.get_window_extent()
    right = figure.bbox.x1 if to_edge else box.x1
    return float(72 * (right - box.x0) / figure.dpi)
