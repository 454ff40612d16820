"""What the displays share: `plot` on given or new axes, `save` to files that repeat."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from riskjudge.errors import InputError
from riskjudge.plots.style import (
    COLUMN_WIDTH,
    LINE,
    drawing_style,
    figure_format,
    root_figure,
    save_figure,
    width_points,
    wrap,
    write_title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Display(ABC):
    """Plain arrays, computed by a ``from_*`` constructor, and their picture.

    Attributes
    ----------
    heading : str
        What is shown.
    details : str
        What was run; printed below the heading.
    ax_, figure_ : Axes, Figure
        Present after :meth:`plot`.
    """

    heading: str
    details: str
    ax_: Axes
    figure_: Figure

    height: ClassVar[float] = 2.6

    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure, one print column wide, by default.
        title : str, optional
            In place of the heading; the details below it stay.

        Returns
        -------
        self
        """
        from matplotlib import pyplot

        with drawing_style():
            own = ax is None
            if ax is None:
                size = (COLUMN_WIDTH, self._height())
                _, ax = pyplot.subplots(figsize=size, layout="constrained")
            figure = root_figure(ax)
            self._draw(ax)
            if own:
                # Only the layout tells how wide the details may be, hence how many lines they take.
                figure.draw_without_rendering()
            lines = wrap(self.details, width_points(ax, to_edge=own))
            write_title(ax, self.heading if title is None else title, lines)
            if own:
                figure.set_size_inches(COLUMN_WIDTH, self._height() + len(lines) * LINE / 72)
        self.ax_, self.figure_ = ax, figure
        return self

    def save(self, *paths: str | Path) -> Self:
        """Write the drawn figure, in the format each name ends in (.png, .pdf, .svg).

        PNG files have 200 dots an inch. The same figure gives the same bytes.

        Raises
        ------
        InputError
            If a name ends otherwise, or nothing was drawn yet.
        """
        if not hasattr(self, "figure_"):
            raise InputError(f"this {type(self).__name__} is not drawn yet; call plot() first")
        for path in paths:
            figure_format(path)
        for path in paths:
            save_figure(self.figure_, path)
        return self

    def _height(self) -> float:
        """Height of a new figure without the details, inches."""
        return self.height

    @abstractmethod
    def _draw(self, ax: Axes) -> None:
        """Draw on axes, inside the style's settings."""
