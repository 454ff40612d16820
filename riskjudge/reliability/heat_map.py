"""What each perturbation did to the verdicts of each judge, as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from riskjudge._typing import BoolArray, FloatArray
from riskjudge.errors import InputError
from riskjudge.plots.display import Display
from riskjudge.plots.style import INK, QUIET
from riskjudge.reliability.reaction import Reaction

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FULL = 0.5
"""Share of changed verdicts from which on a cell is as dark as it gets."""
_INTERVALS = 3
"""Judges up to which a cell has room for an interval."""


@dataclass(eq=False)
class StressDisplay(Display):
    """Shares of changed verdicts, perturbations down and judges across.

    Attributes
    ----------
    perturbations, judges : tuple of str
        Names of the R rows and C columns.
    shares : FloatArray, shape (R, C)
        Verdicts that changed (or wrong answers that were passed), of those given both times; NaN where
        there are none.
    intervals : FloatArray, shape (R, C, 2)
        Their exact 95 % intervals.
    found : BoolArray, shape (R, C)
        Changed more than noise explains, Holm over the perturbations of a judge.
    heading, details : str

    Examples
    --------
    >>> from riskjudge.judges import judge_items, longest
    >>> from riskjudge.items import Item
    >>> from riskjudge.reliability import perturbations_named, plan_stress, reactions
    >>> items = [Item(f"q{i}", "Which?", ("Lima is it.", "Rabat it is, yes.")) for i in range(20)]
    >>> probes = plan_stress([longest()], items, perturbations_named(["position", "length.padding"]))
    >>> rows = [row for probe in probes for row in judge_items(probe.judges, probe.items)]
    >>> display = StressDisplay.from_reactions(reactions(rows))
    >>> display.perturbations, display.judges
    (('length.padding', 'position.swap'), ('longest',))
    """

    perturbations: tuple[str, ...]
    judges: tuple[str, ...]
    shares: FloatArray
    intervals: FloatArray
    found: BoolArray
    heading: str
    details: str

    @classmethod
    def from_reactions(
        cls, reactions: Sequence[Reaction], *, level: float = 0.05, source: str = ""
    ) -> Self:
        """From what a ledger (or several) says; segments are left out.

        Parameters
        ----------
        reactions : sequence of Reaction
            Of one or more judges.
        level : float
            Of the findings, for each judge.
        source : str
            On what it was run; printed in the title.

        Raises
        ------
        InputError
            If there is nothing to draw, or a judge has a perturbation twice.
        """
        whole = [r for r in reactions if not r.segment]
        if not whole:
            raise InputError("no perturbation was run: there is nothing to draw")
        perturbations = tuple(dict.fromkeys(r.perturbation for r in whole))
        modes = {r.mode for r in whole}
        names = [r.judge if len(modes) == 1 else f"{r.judge}/{r.mode}" for r in whole]
        judges = tuple(dict.fromkeys(names))
        shape = (len(perturbations), len(judges))
        shares, found = np.full(shape, np.nan), np.zeros(shape, dtype=np.bool_)
        intervals, seen = np.full((*shape, 2), np.nan), np.zeros(shape, dtype=np.bool_)
        for name, r in zip(names, whole, strict=True):
            cell = perturbations.index(r.perturbation), judges.index(name)
            if seen[cell]:
                raise InputError(f"{name} was put under {r.perturbation} twice; one ledger a judge")
            seen[cell], found[cell] = True, r.found(level)
            if r.changed.interval is not None:
                shares[cell], intervals[cell] = r.changed.count / r.changed.of, r.changed.interval
        of = [r.changed.of for r in whole]
        sizes = f"{min(of)}" if min(of) == max(of) else f"{min(of)} to {max(of)}"
        details = [
            source,
            f"% of {sizes} verdicts that changed (flip: wrong answers passed)"
            + (", exact 95 % intervals" if len(judges) <= _INTERVALS else ""),
            f"framed: more than noise explains (level {level:g} for each judge, after Holm)",
        ]
        return cls(
            perturbations,
            judges,
            shares,
            intervals,
            found,
            "Verdicts under perturbations",
            "\n".join(filter(None, details)),
        )

    def _height(self) -> float:
        return 0.75 + 0.22 * len(self.perturbations)

    def _draw(self, ax: Axes) -> None:
        from matplotlib.patches import Rectangle

        shown = np.ma.masked_invalid(np.minimum(self.shares, _FULL))
        ax.imshow(shown, cmap="Blues", vmin=0.0, vmax=2.0 * _FULL, aspect="auto")
        for row, column in np.ndindex(self.shares.shape):
            share = self.shares[row, column]
            ax.text(
                column,
                row,
                self._text(row, column),
                ha="center",
                va="center_baseline",
                color=QUIET if np.isnan(share) else INK,
                fontweight="bold" if self.found[row, column] else "normal",
            )
            if self.found[row, column]:
                corner = (column - 0.47, row - 0.42)
                ax.add_patch(Rectangle(corner, 0.94, 0.84, fill=False, edgecolor=INK, lw=1.0))
        slanted: dict[str, Any] = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"}
        ax.set_xticks(
            range(len(self.judges)),
            self.judges,
            **(slanted if len(self.judges) > _INTERVALS else {}),
        )
        ax.tick_params(axis="x", bottom=False)
        ax.set_yticks(range(len(self.perturbations)), self.perturbations)
        ax.tick_params(axis="y", left=False)
        for side in ("left", "bottom"):
            ax.spines[side].set_visible(False)

    def _text(self, row: int, column: int) -> str:
        share = self.shares[row, column]
        if np.isnan(share):
            return "–"
        text = f"{100 * share:.0f}"
        if len(self.judges) > _INTERVALS:
            return text
        low, high = self.intervals[row, column]
        return f"{text} [{100 * low:.0f}, {100 * high:.0f}]"
