"""What became of each item: accepted in a mode, abstained for a reason, or failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from riskjudge._typing import BoolArray, IntArray, ObjectArray
from riskjudge.counts import contradicts
from riskjudge.data.grading import Grading
from riskjudge.data.modes import ABSENCES, FIRST_FAILURE, GRADING, MODE_COLUMN
from riskjudge.data.trace import Trace, shown
from riskjudge.data.verdict import UNDECIDED, AbstainReason, ItemStatus
from riskjudge.errors import InputError
from riskjudge.gate.labels import LabelPrints
from riskjudge.gate.outcome_rows import COLUMNS, outcome_rows
from riskjudge.gate.readings import LAST_MODE, SUMMARY, Readings, columns_of

if TYPE_CHECKING:
    import pandas as pd

_BELOW = ABSENCES.index(str(AbstainReason.BELOW_CONFORMAL))
_UNDECIDED = ABSENCES.index(UNDECIDED)


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
        Index into :data:`riskjudge.data.modes.ABSENCES`, -1 where accepted.
    certified : ndarray of bool, shape (n,)
        False where no certificate stands behind the decision, whatever it is: an unfitted gate
        took it, or one that was used on scores it was not fitted for.
    asked : ndarray of int, shape (n,)
        Modes that had to be asked.
    labels : ndarray of int, shape (n,)
        What is right, -1 where nobody knows.
    extra : DataFrame
        Carried along from the trace.
    readings : Readings or None
        What each mode said, accepted or not; None where a file does not hold it.
    grading : Grading or None
        Of scores with a tolerance: verdicts and labels are scores in its steps.
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
    readings: Readings | None = None
    grading: Grading | None = None

    def __len__(self) -> int:
        return len(self.item_id)

    @property
    def accepted(self) -> BoolArray:
        """Which items have an accepted verdict."""
        return self.mode >= 0

    @property
    def calibrated_on(self) -> BoolArray:
        """Which items the gate was calibrated on, as far as their ids tell."""
        return self.flag(CALIBRATED_ON)

    def flag(self, name: str) -> BoolArray:
        """A carried column of true and false; false throughout where there is none."""
        if name not in self.extra.columns:
            return np.zeros(len(self), dtype=bool)
        told = self.extra[name].map(str).str.lower()
        return np.asarray(told.isin(["true", "1", "1.0"]), dtype=bool)

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
        reach = 0 if self.grading is None else self.grading.reach
        return self.accepted & (self.labels >= 0) & contradicts(self.verdict, self.labels, reach)

    def rows(self, index: BoolArray) -> Outcomes:
        """The items where `index` is true."""
        return self.at(np.flatnonzero(index))

    def at(self, order: IntArray) -> Outcomes:
        """The items in another order."""
        return Outcomes(
            self.item_id[order],
            self.modes,
            self.mode[order],
            self.verdict[order],
            self.why_not[order],
            self.certified[order],
            self.asked[order],
            self.labels[order],
            self.extra.iloc[order].reset_index(drop=True),
            None if self.readings is None else self.readings.at(order),
            self.grading,
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
            "verdict": shown(self.verdict, self.grading),
            "abstain_reason": reasons[np.where(self.abstained, self.why_not, -1)],
            "failure": reasons[np.where(self.failed, self.why_not, -1)],
            "undecided": self.undecided,
            "certified": self.certified,
            "asked": self.asked,
            "label": shown(self.labels, self.grading),
            **({} if self.readings is None else self.readings.columns(self.modes, self.grading)),
        }
        if self.grading is not None:
            data[GRADING] = self.grading.to_json()
        return pd.concat([pd.DataFrame(data), self.extra.reset_index(drop=True)], axis=1)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, source: str = "the outcomes") -> Outcomes:
        """The inverse of :meth:`to_frame`.

        Raises
        ------
        InputError
            If a column is missing, or a row leaves out what it must say or contradicts itself; see
            :func:`riskjudge.gate.outcome_rows.outcome_rows`.
        """
        rows, readings, grading = outcome_rows(frame, source)
        read = [*COLUMNS, "label", *([] if grading is None else [GRADING])]
        if readings is not None:
            read += columns_of(len(rows.modes))
        extra = frame.drop(columns=read, errors="ignore").reset_index(drop=True)
        return cls(*rows, extra=extra, readings=readings, grading=grading)


def read_outcomes(path: str | Path) -> Outcomes:
    """Read outcomes that `riskjudge decide` wrote.

    Parameters
    ----------
    path : str or Path
        CSV, JSONL or Parquet, told apart by name.

    Raises
    ------
    InputError
        If the file is damaged or a row is not admitted; see :meth:`Outcomes.from_frame`.
    """
    from riskjudge.io.tables import read_table

    names = ["item_id", "mode", LAST_MODE, *(f"mode{k}" for k in range(1, 100))]
    return Outcomes.from_frame(read_table(path, text=names), str(path))


CALIBRATED_ON = "calibrated_on"
TAUGHT_FUSION = "taught_fusion"


def mark_calibrated(trace: Trace, used: LabelPrints) -> Trace:
    """The trace with a column that says which items a gate was calibrated on, if any.

    Items are known by the hash of their id.
    """
    seen = used.knows(trace.item_id)
    if not seen.any() and CALIBRATED_ON not in trace.extra.columns:
        return trace
    return replace(trace, extra=trace.extra.assign(**{CALIBRATED_ON: seen}))


def stack_outcomes(parts: Sequence[Outcomes]) -> Outcomes:
    """Outcomes over the same modes, one below the other."""
    import pandas as pd

    first = parts[0]
    extra = pd.concat([part.extra for part in parts], ignore_index=True)
    if CALIBRATED_ON in extra.columns:  # a part without the column has none
        extra[CALIBRATED_ON] = np.concatenate([part.calibrated_on for part in parts])
    return Outcomes(
        np.concatenate([part.item_id for part in parts]),
        first.modes,
        np.concatenate([part.mode for part in parts]),
        np.concatenate([part.verdict for part in parts]),
        np.concatenate([part.why_not for part in parts]),
        np.concatenate([part.certified for part in parts]),
        np.concatenate([part.asked for part in parts]),
        np.concatenate([part.labels for part in parts]),
        extra,
        Readings.stacked([part.readings for part in parts]),
        first.grading,
    )


def decide_all(
    trace: Trace, accepted_by: IntArray, used: BoolArray, *, certified: bool
) -> Outcomes:
    """Outcomes of a fitted rule.

    Parameters
    ----------
    trace : Trace
    accepted_by : ndarray of int, shape (n,)
        Accepting mode, -1 where there is none.
    used : ndarray of bool, shape (K,)
        Modes that have a threshold. Modes without one are not asked.
    certified : bool
        Whether the certificate covers these items.
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
    return _outcomes(trace, accepted_by, why_not, asked, order, certified=certified)


def decline_all(trace: Trace) -> Outcomes:
    """Everything declined as ``below_conformal`` by a gate that is not fitted, nothing asked."""
    n = len(trace)
    nobody = np.zeros(n, dtype=np.int64)
    return _outcomes(trace, np.full(n, -1), np.full(n, _BELOW), nobody, (), certified=False)


def pass_through(trace: Trace) -> Outcomes:
    """The first mode's verdicts let through uncertified."""
    absent = trace.absence[:, 0]
    # A mode may give a verdict without a confidence; uncertified, the verdict stands.
    accepted_by = np.where(trace.verdicts[:, 0] >= 0, 0, -1)
    why_not = np.where(accepted_by >= 0, -1, absent)
    first = np.ones(len(trace), dtype=np.int64)
    return _outcomes(trace, accepted_by, why_not, first, (0,), certified=False)


def _outcomes(
    trace: Trace,
    accepted_by: IntArray,
    why_not: IntArray,
    asked: IntArray,
    order: Sequence[int] | IntArray,
    *,
    certified: bool,
) -> Outcomes:
    verdict = np.where(
        accepted_by >= 0, trace.verdicts[np.arange(len(trace)), np.maximum(accepted_by, 0)], -1
    )
    extra = trace.extra.reset_index(drop=True)
    if trace.group is not None:
        extra = extra.assign(group=trace.group)
    numeric = trace.grading if trace.grading is not None and trace.grading.numeric else None
    taken = {*COLUMNS, "label", *SUMMARY, *([] if numeric is None else [GRADING])}
    names = {}
    for column in extra.columns:
        free = column
        while free in taken or MODE_COLUMN.fullmatch(str(free)):
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
        Readings.of(trace, accepted_by, order),
        numeric,  # after a cut, a verdict is 0 or 1 like any other
    )
