"""What became of each item: accepted in a mode, abstained for a reason, or failed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from riskjudge._typing import BoolArray, FloatArray, IntArray, ObjectArray
from riskjudge.counts import NONE
from riskjudge.data.trace import ABSENCES, FIRST_FAILURE, Trace
from riskjudge.data.verdict import UNDECIDED, AbstainReason, ItemStatus
from riskjudge.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

_BELOW = ABSENCES.index(str(AbstainReason.BELOW_CONFORMAL))
_UNDECIDED = ABSENCES.index(UNDECIDED)
_COLUMNS = (
    "item_id",
    "status",
    "mode",
    "verdict",
    "abstain_reason",
    "failure",
    "undecided",
    "certified",
    "asked",
)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Decisions on n items.

    Every item is exactly one of *accepted* (a mode's verdict stands), *failed* (not accepted, and
    a mode that was asked broke), *undecided* (not accepted, and the last mode asked found no
    preference) and *abstained* (the rest: the last mode asked was not sure enough, or declined for
    a reason of its own).

    Attributes
    ----------
    item_id : ndarray of str, shape (n,)
    modes : tuple of str
    mode : ndarray of int, shape (n,)
        Index of the mode whose verdict was accepted, -1 where none was.
    verdict : ndarray of int, shape (n,)
        The accepted verdict, -1 where none was.
    why_not : ndarray of int, shape (n,)
        Index into :data:`riskjudge.data.trace.ABSENCES`, -1 where accepted.
    certified : ndarray of bool, shape (n,)
        False where an unfitted gate let the verdict through.
    asked : ndarray of int, shape (n,)
        Modes that had to be asked.
    labels : ndarray of int, shape (n,)
        What is right, -1 where nobody knows.
    extra : DataFrame
        Carried along from the trace.
    """

    item_id: ObjectArray
    modes: tuple[str, ...]
    mode: IntArray
    verdict: IntArray
    why_not: IntArray
    certified: BoolArray
    asked: IntArray
    labels: IntArray
    extra: pd.DataFrame

    def __len__(self) -> int:
        return len(self.item_id)

    @property
    def accepted(self) -> BoolArray:
        """Which items have an accepted verdict."""
        return self.mode >= 0

    @property
    def abstained(self) -> BoolArray:
        """Which items left as a named abstention."""
        return (self.why_not >= 0) & (self.why_not < _UNDECIDED)

    @property
    def undecided(self) -> BoolArray:
        """Which items the last mode asked found no preference on."""
        return np.equal(self.why_not, _UNDECIDED)

    @property
    def failed(self) -> BoolArray:
        """Which items failed."""
        return np.asarray(self.why_not >= FIRST_FAILURE)

    @property
    def wrong(self) -> BoolArray:
        """Which accepted verdicts contradict a label."""
        wrong: BoolArray = self.verdict != self.labels
        return self.accepted & (self.labels >= 0) & wrong

    def rows(self, index: BoolArray) -> Outcomes:
        """The items where `index` is true."""
        return Outcomes(
            self.item_id[index],
            self.modes,
            self.mode[index],
            self.verdict[index],
            self.why_not[index],
            self.certified[index],
            self.asked[index],
            self.labels[index],
            self.extra[index],
        )

    def column(self, name: str) -> pd.Series:
        """A carried column, or one of this table's own.

        Raises
        ------
        InputError
            If there is none of that name.
        """
        frame = self.to_frame()
        if name not in frame.columns:
            raise InputError(f"no column {name!r}; there are {', '.join(map(str, frame.columns))}")
        return frame[name]

    def to_frame(self) -> pd.DataFrame:
        """One row an item; nulls where something does not apply."""
        import pandas as pd

        names = np.array([*self.modes, None], dtype=object)
        reasons = np.array([*ABSENCES, None], dtype=object)
        status = np.full(len(self), str(ItemStatus.GRADED), dtype=object)
        status[self.abstained] = str(ItemStatus.ABSTAINED)
        status[self.failed] = str(ItemStatus.SCORE_FAILED)
        data = {
            "item_id": self.item_id,
            "status": status,
            "mode": names[self.mode],
            "verdict": _nullable(self.verdict),
            "abstain_reason": reasons[np.where(self.abstained, self.why_not, -1)],
            "failure": reasons[np.where(self.failed, self.why_not, -1)],
            "undecided": self.undecided,
            "certified": self.certified,
            "asked": self.asked,
            "label": _nullable(self.labels),
        }
        return pd.concat([pd.DataFrame(data), self.extra.reset_index(drop=True)], axis=1)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, source: str = "the outcomes") -> Outcomes:
        """The inverse of :meth:`to_frame`.

        Raises
        ------
        InputError
            If a column is missing or a row contradicts itself.
        """
        missing = [column for column in _COLUMNS if column not in frame.columns]
        if missing:
            raise InputError(
                f"{source} has no column {missing[0]!r}; a file that `riskjudge decide` wrote is needed"
            )
        # A mode that is asked later accepts with more modes asked: that gives back their order.
        modes = tuple(frame.groupby("mode")["asked"].min().sort_values(kind="stable").index)
        reason = frame["abstain_reason"].combine_first(frame["failure"]).to_numpy(dtype=object)
        known = {absence: i for i, absence in enumerate(ABSENCES)}
        why_not = np.array([known.get(r, -1) for r in reason], dtype=np.int64)
        why_not[frame["undecided"].to_numpy(dtype=bool)] = _UNDECIDED
        mode = np.array([modes.index(m) if m in modes else -1 for m in frame["mode"]])
        confused = np.flatnonzero((mode >= 0) == (why_not >= 0))
        if len(confused):
            raise InputError(
                f"{source}, row {confused[0] + 1}: an item is accepted in a mode or carries one of the "
                f"reasons {', '.join(ABSENCES)}"
            )
        return cls(
            frame["item_id"].map(str).to_numpy(dtype=object),
            modes,
            mode,
            _codes(frame["verdict"], source),
            why_not,
            frame["certified"].to_numpy(dtype=bool),
            frame["asked"].to_numpy(dtype=np.int64),
            _codes(frame["label"], source) if "label" in frame.columns else np.full(len(frame), -1),
            frame.drop(columns=[*_COLUMNS, "label"], errors="ignore").reset_index(drop=True),
        )


def read_outcomes(path: str | Path) -> Outcomes:
    """Read outcomes that `riskjudge decide` wrote."""
    from riskjudge.io.tables import read_table

    return Outcomes.from_frame(read_table(path, text=["item_id", "mode"]), str(path))


def decide_all(trace: Trace, accepted_by: IntArray, used: BoolArray) -> Outcomes:
    """Outcomes of a fitted rule.

    Parameters
    ----------
    trace : Trace
    accepted_by : ndarray of int, shape (n,)
        Accepting mode, -1 where there is none.
    used : ndarray of bool, shape (K,)
        Modes that have a threshold. Modes without one are not asked.
    """
    n = len(trace)
    order = np.flatnonzero(used)
    # An accepting mode ends the questions; without one every used mode is asked.
    place = np.searchsorted(order, accepted_by)
    asked = np.where(accepted_by >= 0, place + 1, len(order))
    why_not = np.full(n, _BELOW)
    for k in order:
        # The reason of the last mode asked stands: below its threshold, or its own.
        why_not = np.where(trace.absence[:, k] >= 0, trace.absence[:, k], _BELOW)
    for k in order[::-1]:
        broke = trace.absence[:, k] >= FIRST_FAILURE
        why_not = np.where(broke, trace.absence[:, k], why_not)
    why_not[accepted_by >= 0] = -1
    return _outcomes(trace, accepted_by, why_not, asked, certified=True)


def decline_all(trace: Trace) -> Outcomes:
    """Everything declined as ``below_conformal``, nothing asked."""
    n = len(trace)
    return _outcomes(
        trace, np.full(n, -1), np.full(n, _BELOW), np.zeros(n, dtype=np.int64), certified=True
    )


def pass_through(trace: Trace) -> Outcomes:
    """The first mode's verdicts let through uncertified."""
    absent = trace.absence[:, 0]
    # A mode may give a verdict without a confidence; uncertified, the verdict stands.
    accepted_by = np.where(trace.verdicts[:, 0] >= 0, 0, -1)
    why_not = np.where(accepted_by >= 0, -1, absent)
    return _outcomes(
        trace, accepted_by, why_not, np.ones(len(trace), dtype=np.int64), certified=False
    )


def _outcomes(
    trace: Trace, accepted_by: IntArray, why_not: IntArray, asked: IntArray, *, certified: bool
) -> Outcomes:
    verdict = np.where(
        accepted_by >= 0, trace.verdicts[np.arange(len(trace)), np.maximum(accepted_by, 0)], -1
    )
    extra = trace.extra.reset_index(drop=True)
    if trace.group is not None:
        extra = extra.assign(group=trace.group)
    taken = {*_COLUMNS, "label"}
    names = {}
    for column in extra.columns:
        free = column
        while free in taken:
            free = f"trace_{free}"
        taken.add(free)
        names[column] = free
    return Outcomes(
        trace.item_id,
        trace.modes,
        accepted_by,
        verdict,
        why_not,
        np.full(len(trace), certified),
        asked,
        trace.labels,
        extra.rename(columns=names),
    )


def used_modes(thresholds: FloatArray) -> BoolArray:
    """Which modes have a threshold, from an array of shape (K,) or (K, 2)."""
    return np.asarray((thresholds.reshape(len(thresholds), -1) > NONE).any(axis=1))


def _nullable(codes: IntArray) -> pd.api.extensions.ExtensionArray:
    import pandas as pd

    return pd.arrays.IntegerArray(np.maximum(codes, 0), codes < 0)


def _codes(column: pd.Series, source: str) -> IntArray:
    """0, 1, or -1 where the cell is empty."""
    wrong = np.flatnonzero(column.notna() & ~column.isin([0, 1]))
    if len(wrong):
        row = int(wrong[0])
        raise InputError(
            f"{source}, row {row + 1}, {column.name}: {column.iloc[row]!r} is not 0 or 1"
        )
    return np.asarray(column.astype("Float64").fillna(-1), dtype=np.int64)
