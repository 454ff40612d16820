"""What the modes said of the items that were decided, kept so that people can sort and review them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from riskjudge._typing import BoolArray, FloatArray, IntArray
from riskjudge.data.grading import Grading
from riskjudge.data.modes import ABSENCES, ModeColumns, ModeTable, default_modes
from riskjudge.data.trace import Trace, shown
from riskjudge.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

LAST_MODE = "last_mode"
SUMMARY = (LAST_MODE, "last_verdict", "uncertainty")
"""Columns that say it in one glance: the last mode asked that gave a verdict, and what it said."""


@dataclass(frozen=True, slots=True, eq=False)
class Readings:
    """Verdicts and scores of K modes on n items, and which of them the decision came down to.

    Attributes
    ----------
    verdicts : ndarray of int, shape (n, K)
        0 or 1; -1 where the mode gave none.
    scores : ndarray of float, shape (n, K)
        Uncertainty; NaN where the mode has no usable verdict.
    absence : ndarray of int, shape (n, K)
        -1 where the mode has a usable verdict, else an index into
        :data:`riskjudge.data.modes.ABSENCES`.
    last : ndarray of int, shape (n,)
        The accepting mode, or else the last one asked that gave a usable verdict; -1 for none.
    """

    verdicts: IntArray
    scores: FloatArray
    absence: IntArray
    last: IntArray

    @classmethod
    def of(cls, trace: Trace, accepted_by: IntArray, asked: Sequence[int] | IntArray) -> Readings:
        """What a trace holds of the items.

        Parameters
        ----------
        trace : Trace
        accepted_by : ndarray of int, shape (n,)
            Accepting mode, -1 where there is none.
        asked : sequence of int
            The modes that are asked where none accepts, in order.
        """
        last = np.full(len(trace), -1)
        for k in asked:
            last = np.where(trace.absence[:, k] < 0, k, last)
        last = np.where(accepted_by >= 0, accepted_by, last)
        return cls(trace.verdicts, trace.scores, trace.absence, last)

    def at(self, index: IntArray | BoolArray) -> Readings:
        """Those of some of the items, in the order given."""
        return Readings(
            self.verdicts[index], self.scores[index], self.absence[index], self.last[index]
        )

    @property
    def verdict(self) -> IntArray:
        """Verdict of the last mode, -1 for none, shape (n,)."""
        said = self.verdicts[np.arange(len(self.last)), np.maximum(self.last, 0)]
        return np.where(self.last >= 0, said, -1)

    @property
    def uncertainty(self) -> FloatArray:
        """Score of the last mode, NaN for none, shape (n,)."""
        score = self.scores[np.arange(len(self.last)), np.maximum(self.last, 0)]
        return np.where(self.last >= 0, score, np.nan)

    def columns(self, modes: Sequence[str], grading: Grading | None = None) -> dict[str, Any]:
        """As columns of a table: the summary, then name, verdict, score and absence of each mode."""
        names = np.array([*modes, None], dtype=object)
        reasons = np.array([*ABSENCES, None], dtype=object)
        found: dict[str, Any] = dict(
            zip(
                SUMMARY,
                (names[self.last], shown(self.verdict, grading), self.uncertainty),
                strict=True,
            )
        )
        for k, mode in enumerate(modes):
            found[f"mode{k + 1}"] = mode
            found[f"v{k + 1}"] = shown(self.verdicts[:, k], grading)
            found[f"u{k + 1}"] = self.scores[:, k]
            found[f"why{k + 1}"] = reasons[self.absence[:, k]]
        return found

    @classmethod
    def stacked(cls, parts: Sequence[Readings | None]) -> Readings | None:
        """Those of several parts, one below the other; None if a part has none."""
        known = [part for part in parts if part is not None]
        if not known or len(known) < len(parts):
            return None
        return cls(
            *(
                np.concatenate([getattr(part, name) for part in known])
                for name in ("verdicts", "scores", "absence", "last")
            )
        )


def has_readings(columns: Collection[Any]) -> bool:
    """Whether a table of outcomes holds what the modes said (older ones do not)."""
    return LAST_MODE in columns


def columns_of(n_modes: int) -> list[str]:
    """Names of the columns that :meth:`Readings.columns` writes."""
    return [*SUMMARY, *(f"{c}{k + 1}" for k in range(n_modes) for c in ("mode", "v", "u", "why"))]


def read_readings(
    frame: pd.DataFrame, source: str, grading: Grading | None = None
) -> tuple[tuple[str, ...], Readings]:
    """The modes' names, and what they said.

    Raises
    ------
    InputError
        If a cell holds what its column does not admit, or the last mode is none of the modes.
    """
    table = ModeTable(frame, source)
    columns = [
        ModeColumns(c.name, c.verdict, c.uncertainty, f"why{c.verdict[1:]}")
        for c in default_modes(list(frame.columns), source)
    ]
    modes = tuple(table.mode_name(column) or column.name for column in columns)
    parts = [table.mode(column, grading) for column in columns]
    verdicts, scores, absence = (np.column_stack(each) for each in zip(*parts, strict=True))
    place = {name: k for k, name in enumerate(modes)}
    last = np.full(len(frame), -1)
    for row, name in enumerate(table.texts(LAST_MODE)):
        if name is None:
            continue
        if name not in place:
            raise table.wrong(LAST_MODE, row, name, f"one of {', '.join(modes)}")
        last[row] = place[name]
    said = last >= 0
    silent = said & (verdicts[np.arange(len(last)), np.maximum(last, 0)] < 0)
    if silent.any():
        row = int(silent.argmax())
        raise InputError(
            f"{source}, row {row + 1}: `{LAST_MODE}` is {modes[last[row]]!r}, which gave no verdict"
        )
    return modes, Readings(verdicts, scores, absence, last)
