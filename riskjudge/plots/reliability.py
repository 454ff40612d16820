"""Are the probabilities what they say? Share of right claims against the probability given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, Self

from riskjudge._typing import FloatArray
from riskjudge.errors import InputError
from riskjudge.plots.display import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 4  # lines that can be told apart


class Bins(Protocol):
    """What a picture needs of a reliability; see :class:`riskjudge.signals.reliability.Reliability`."""

    @property
    def name(self) -> str: ...
    @property
    def brier(self) -> float: ...
    @property
    def ece(self) -> float: ...
    @property
    def mean(self) -> FloatArray: ...
    @property
    def share(self) -> FloatArray: ...
    @property
    def low(self) -> FloatArray: ...
    @property
    def high(self) -> FloatArray: ...


@dataclass(eq=False)
class ReliabilityDisplay(Display):
    """Reliability diagram: one line a signal, with exact 95 % limits of each bin."""

    found: tuple[Bins, ...]
    heading: str
    details: str

    height: ClassVar[float] = 3.0

    @classmethod
    def from_reliability(cls, found: Sequence[Bins], *, source: str = "") -> Self:
        """From the first few of what was measured.

        Parameters
        ----------
        found : sequence of Reliability
            At most four are drawn; the first one with its limits.
        source : str
            On what it was run.
        """
        if not found:
            raise InputError("there is nothing to draw: no signal has a value")
        more = f"{len(found) - _MOST} more signals are not drawn" if len(found) > _MOST else ""
        details = "bins of equal size, cross-fitted; bars: exact 95 % limits of the first"
        return cls(
            tuple(found[:_MOST]),
            "Reliability of the signals",
            "\n".join(filter(None, [source, details, more])),
        )

    def _draw(self, ax: Axes) -> None:
        ax.plot([0, 1], [0, 1], color="0.6", linewidth=0.8, linestyle=":")
        for i, one in enumerate(self.found):
            label = f"{one.name} (Brier {one.brier:.3f}, ECE {one.ece:.3f})"
            (line,) = ax.plot(one.mean, one.share, marker="osD^"[i], markersize=3, label=label)
            if i == 0:
                ax.vlines(one.mean, one.low, one.high, colors=line.get_color(), linewidth=0.8)
        ax.set_xlim(0.0, 1.0)
        ax.set_ylim(0.0, 1.0)
        ax.set_xlabel("probability given")
        ax.set_ylabel("share of claims that hold")
        ax.legend(loc="upper left", fontsize="x-small", frameon=False)
