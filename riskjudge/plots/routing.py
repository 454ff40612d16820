"""What became of the items: stacked bars of accepted, abstained and failed."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from riskjudge._typing import FloatArray
from riskjudge.data.verdict import AbstainReason
from riskjudge.errors import InputError
from riskjudge.evaluation.summary import Insufficient, Report, Segment, summarize
from riskjudge.plots.display import Display
from riskjudge.plots.style import (
    COLUMN_WIDTH,
    INK,
    LETTER,
    QUIET,
    Look,
    legend_below,
    look,
    root_figure,
    spread,
    width_points,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from riskjudge.evaluation.splits import Sweep
    from riskjudge.gate.outcomes import Outcomes

FAILED = "failed"
NOT_ACCEPTED = "not accepted"
_ROW_LETTERS = 18

_GREYS: dict[str, Look] = {
    AbstainReason.BELOW_CONFORMAL: Look("#E3E3E3", "", "", ""),
    AbstainReason.PANEL_SPLIT: Look("#CBCBCB", "", "", "...."),
    AbstainReason.SWAP_INCONSISTENT: Look("#B5B5B5", "", "", "\\\\\\\\"),
    AbstainReason.OUT_OF_SCOPE: Look("#D7D7D7", "", "", "++++"),
    NOT_ACCEPTED: Look("#E3E3E3", "", "", ""),
    FAILED: Look("#7A2E00", "", "", "xxxx"),
}


@dataclass(eq=False)
class RoutingDisplay(Display):
    """Shares of the items by what became of them, a bar a row.

    Attributes
    ----------
    rows : tuple of str, length R
    parts : tuple of str, length C
        The accepting modes, in the order of asking; then the reasons of abstention that occurred;
        then ``failed``. Of a sweep, which does not tell the last two apart, the modes and
        ``not accepted``.
    n_modes : int
        How many of the parts are modes.
    shares : ndarray of float, shape (R, C)
        Each row adds up to 1.
    heading, details : str

    Examples
    --------
    >>> import riskjudge
    >>> trace = riskjudge.demo_trace()
    >>> outcomes = riskjudge.Router(unfitted="abstain").decide(trace)
    >>> display = RoutingDisplay.from_outcomes(outcomes)
    >>> display.parts, display.shares
    (('parametric', 'retrieval', 'below_conformal', 'failed'), array([[0., 0., 1., 0.]]))
    """

    rows: tuple[str, ...]
    parts: tuple[str, ...]
    n_modes: int
    shares: FloatArray
    heading: str
    details: str

    @classmethod
    def from_outcomes(
        cls, outcomes: Outcomes, *, by: str | None = None, floor: int = 30, source: str = ""
    ) -> Self:
        """From what a gate decided.

        Parameters
        ----------
        outcomes : Outcomes
        by : str, optional
            Column whose values get a bar each, below that of the whole.
        floor : int
            Segments of fewer items get no bar; the title names them.
        source : str
            On what it was run (say so here if it is synthetic); printed in the title.
        """
        return cls.from_report(summarize(outcomes, by=by, floor=floor), source=source)

    @classmethod
    def from_report(cls, report: Report, *, source: str = "") -> Self:
        """From a report's counts."""
        whole = report.whole
        if whole.items == 0:
            raise InputError("no item to draw")
        drawn = {f"all ({whole.items})": whole}
        small = []
        for value, segment in report.segments.items():
            if isinstance(segment, Insufficient):
                small.append(f"{value} ({segment.have}, need {segment.need})")
            else:
                drawn[f"{value} ({segment.items})"] = segment
        modes, reasons = tuple(whole.accepted_by), tuple(whole.abstained_by)
        shares = [_shares(segment, modes, reasons) for segment in drawn.values()]
        items = f"{whole.items} items" + (f", by {report.by}" if report.by else "")
        lines = [
            source,
            f"{items}; coverage {_percent(whole.accepted / whole.items)}, {_fdr(whole)}",
        ]
        if whole.uncertified:
            lines.append(f"{whole.uncertified} accepted verdicts are uncertified (unfitted gate)")
        if small:
            lines.append(f"insufficient, no bar: {', '.join(small)}")
        return cls(
            tuple(drawn),
            (*modes, *reasons, FAILED),
            len(modes),
            np.array(shares),
            "What became of the items",
            "\n".join(filter(None, lines)),
        )

    @classmethod
    def from_sweep(cls, sweep: Sweep, *, source: str = "") -> Self:
        """From a sweep: shares of the test items, averaged over the splits, a bar a risk level."""
        accepted = sweep.shares.mean(axis=0)
        rest = 1.0 - accepted.sum(axis=1, keepdims=True)
        run = sweep.description.replace("delta =", "δ =") + "; mean shares of the test items"
        return cls(
            tuple(f"α = {alpha:g}" for alpha in sweep.alphas),
            (*sweep.modes, NOT_ACCEPTED),
            len(sweep.modes),
            np.hstack([accepted, rest]),
            "Who accepts at each risk level",
            "\n".join(filter(None, [source, run])),
        )

    def _height(self) -> float:
        legend = -(-len(self.parts) // self._legend_columns())
        return 0.85 + 0.30 * len(self.rows) + 0.15 * legend

    def _draw(self, ax: Axes) -> None:
        legend = [self._legend_text(c) for c in range(len(self.parts))]
        draw_shares(ax, self.rows, self.parts, self.n_modes, self.shares, legend)
        ax.set_xlabel("share of items")
        legend_below(ax, self._legend_columns())
        figure = root_figure(ax)
        figure.draw_without_rendering()  # the names of the rows take what they need of the width
        for row in range(len(self.rows)):
            self._print_shares(ax, row)

    def _print_shares(self, ax: Axes, row: int) -> None:
        """Percentages inside the parts that hold them, above the bar for those that do not."""
        width = width_points(ax)
        edges = np.concatenate(([0.0], np.cumsum(self.shares[row])))
        outside = []
        for c, share in enumerate(self.shares[row]):
            middle = (edges[c] + edges[c + 1]) / 2
            if share < 1e-12:
                continue
            text = _percent(share)
            if share * width < LETTER * len(text) + 3:
                outside.append((middle, text))
                continue
            style = _look(c, self.parts, self.n_modes)
            ax.text(
                middle,
                row,
                text,
                ha="center",
                va="center_baseline",
                color=_ink_on(style.colour),
                # The hatch would run through the digits.
                bbox={"facecolor": style.colour, "edgecolor": "none", "pad": 0.8},
            )
        gap = LETTER * 6 / width
        placed = spread(np.array([middle for middle, _ in outside]), gap, 0.03, 0.97)
        for (middle, text), x in zip(outside, placed, strict=True):
            ax.plot([middle, x], [row - 0.31, row - 0.37], color=QUIET, lw=0.5, clip_on=False)
            ax.text(x, row - 0.37, text, ha="center", va="bottom")

    def _legend_text(self, c: int) -> str:
        part = self.parts[c]
        if c < self.n_modes:
            text = f"accepted by {part}"
        else:
            text = part if part in (FAILED, NOT_ACCEPTED) else f"abstained: {part}"
        return text if self.shares[:, c].any() else f"{text} (none)"

    def _legend_columns(self) -> int:
        widest = sorted(len(self._legend_text(c)) for c in range(len(self.parts)))[-2:]
        return 2 if LETTER * sum(widest) + 70 < 72 * COLUMN_WIDTH else 1


def draw_shares(
    ax: Axes,
    rows: Sequence[str],
    parts: Sequence[str],
    n_modes: int,
    shares: FloatArray,
    legend: Sequence[str] | None = None,
) -> None:
    """Stacked bars of shares (R, C), a bar for each row; `legend` names the parts otherwise."""
    left = np.zeros(len(rows))
    at = np.arange(len(rows))
    for c, part in enumerate(parts):
        style = _look(c, parts, n_modes)
        ax.barh(
            at,
            shares[:, c],
            0.62,
            left=left,
            color=style.colour,
            hatch=style.hatch,
            edgecolor="white",
            lw=0.4,
            label=part if legend is None else legend[c],
        )
        left += shares[:, c]
    ax.set_yticks(at, [_row_text(row) for row in rows])
    ax.tick_params(axis="y", length=0)
    ax.set_xlim(0, 1)
    ax.set_ylim(len(rows) - 0.55, -0.75)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    ax.spines["left"].set_visible(False)


def _look(c: int, parts: Sequence[str], n_modes: int) -> Look:
    return look(c) if c < n_modes else _GREYS[parts[c]]


def _row_text(name: str) -> str:
    """At most two lines of about twenty letters, broken at slashes if need be.

    Examples
    --------
    >>> print(_row_text("suite/adversarial/neighbours (134)"))
    suite/adversarial/
    neighbours (134)
    """
    if len(name) <= _ROW_LETTERS:
        return name
    lines = textwrap.wrap(name.replace("/", "/ ").replace("_", "_ "), _ROW_LETTERS + 3)
    lines = [line.replace("/ ", "/").replace("_ ", "_") for line in lines]
    return "\n".join(lines if len(lines) < 3 else (lines[0], f"… {lines[-1]}"))


def _shares(segment: Segment, modes: tuple[str, ...], reasons: tuple[str, ...]) -> list[float]:
    counted = [segment.accepted_by.get(mode, 0) for mode in modes]
    counted += [segment.abstained_by.get(reason, 0) for reason in reasons]
    return [count / segment.items for count in (*counted, segment.failed)]


def _fdr(segment: Segment) -> str:
    rate = segment.fdr
    if rate.value is None:
        return f"FDR undefined ({'no accepted item has a label' if segment.accepted else 'none accepted'})"
    return f"FDR {_percent(rate.value)} ({rate.count} wrong of {rate.of} with a label)"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 0.0005 or share == 0 else "< 0.1 %"


def _ink_on(colour: str) -> str:
    """Black or white, whichever reads better on a colour."""
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
