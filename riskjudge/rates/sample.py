"""The rows that a pass rate speaks of: the judge's verdict on all, labels on some."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from riskjudge._typing import BoolArray, FloatArray, IntArray, ObjectArray
from riskjudge.data.grading import refuse_numbers
from riskjudge.data.modes import ABSENCES, FIRST_FAILURE
from riskjudge.data.trace import Trace
from riskjudge.data.verdict import UNDECIDED
from riskjudge.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from riskjudge.gate.outcomes import Outcomes

PARTS = ("accepted", "abstained", "undecided", "failed")
"""What became of a row. Without a gate, every verdict counts as accepted."""

WEIGHT = "weight"
STRATUM = "stratum"


@dataclass(frozen=True, eq=False)
class RateSample:
    """Verdicts on n rows, labels on some of them.

    Attributes
    ----------
    item_id : ndarray of str, shape (n,)
    verdicts : ndarray of int, shape (n,)
        1 pass, 0 fail, -1 where the judge gave none.
    labels : ndarray of int, shape (n,)
        Likewise; -1 where nobody labelled.
    part : ndarray of int, shape (n,)
        Index into :data:`PARTS`.
    uncertainty : ndarray of float, shape (n,)
        NaN where there is none.
    weight : ndarray of float or None, shape (n,)
        One over the probability with which a labelled row was drawn to be labelled; None where all
        were equally likely.
    group : ndarray of int or None, shape (n,)
        Rows of one group depend on one another.
    stratum : ndarray of int or None, shape (n,)
        Strata within which labels were drawn.
    """

    item_id: ObjectArray
    verdicts: IntArray
    labels: IntArray
    part: IntArray
    uncertainty: FloatArray
    weight: FloatArray | None = None
    group: IntArray | None = None
    stratum: IntArray | None = None

    def __len__(self) -> int:
        return len(self.verdicts)

    @property
    def labelled(self) -> BoolArray:
        """Which rows have a label."""
        return self.labels >= 0

    @property
    def n_labelled(self) -> int:
        return int(np.count_nonzero(self.labels >= 0))

    @property
    def unequal(self) -> bool:
        """Whether labelled rows were drawn with unequal probabilities."""
        if self.weight is None:
            return False
        drawn = self.weight[self.labelled]
        return len(drawn) > 0 and bool(drawn.max() > drawn.min() * (1.0 + 1e-9))

    def rows(self, index: BoolArray) -> RateSample:
        """The rows at `index`."""
        return RateSample(
            self.item_id[index],
            self.verdicts[index],
            self.labels[index],
            self.part[index],
            self.uncertainty[index],
            None if self.weight is None else self.weight[index],
            None if self.group is None else self.group[index],
            None if self.stratum is None else self.stratum[index],
        )

    def drawn(self) -> tuple[IntArray, IntArray, FloatArray | None, IntArray | None]:
        """Labels, verdicts, weights and groups of the labelled rows."""
        on = self.labelled
        return (
            self.labels[on],
            self.verdicts[on],
            None if self.weight is None else self.weight[on],
            None if self.group is None else self.group[on],
        )

    @classmethod
    def from_arrays(
        cls,
        verdicts: IntArray,
        labels: IntArray,
        *,
        uncertainty: FloatArray | None = None,
        weight: FloatArray | None = None,
        group: ObjectArray | IntArray | None = None,
    ) -> RateSample:
        """From arrays of 1, 0 and -1 (no verdict, no label).

        Examples
        --------
        >>> RateSample.from_arrays(np.array([1, 0, -1]), np.array([1, -1, -1])).n_labelled
        1
        """
        given = np.asarray(verdicts, dtype=np.int64)
        n = len(given)
        return cls(
            np.arange(n).astype(str).astype(object),
            given,
            np.asarray(labels, dtype=np.int64),
            np.where(given >= 0, 0, PARTS.index("failed")),
            np.full(n, np.nan) if uncertainty is None else np.asarray(uncertainty, np.float64),
            weight,
            None if group is None else _codes(np.asarray(group, dtype=object)),
        )

    @classmethod
    def from_trace(cls, trace: Trace, *, mode: str | None = None) -> RateSample:
        """From one mode of a trace, the first by default.

        A column ``weight`` holds the design weights of the labelled rows, a column ``stratum`` the
        strata that they were drawn from; :func:`~riskjudge.rates.drawing.draw_labels` writes both.

        Raises
        ------
        InputError
            If a labelled row has no positive weight although there is such a column.
        """
        trace.refuse_numbers("a rate of passes")
        k = 0 if mode is None else trace.mode_index(mode)
        verdicts, absence = trace.verdicts[:, k], trace.absence[:, k]
        undecided = ABSENCES.index(UNDECIDED)
        part = np.where(absence < undecided, 1, np.where(absence >= FIRST_FAILURE, 3, 2))
        part[verdicts >= 0] = 0
        return cls._carried(
            trace.item_id,
            verdicts,
            trace.labels,
            part,
            trace.scores[:, k],
            trace.extra,
            trace.group,
        )

    @classmethod
    def from_outcomes(cls, outcomes: Outcomes) -> RateSample:
        """From what a gate did.

        Parameters
        ----------
        outcomes : Outcomes
            Rows that were not accepted keep the verdict of the last mode that gave one, where the
            outcomes hold it: it still tells something of them.
        """
        refuse_numbers(outcomes.grading, "a rate of passes")
        part = np.zeros(len(outcomes), dtype=np.int64)
        for i, which in enumerate((outcomes.abstained, outcomes.undecided, outcomes.failed), 1):
            part[which] = i
        verdicts = outcomes.verdict.copy()
        scores = np.full(len(outcomes), np.nan)
        if (seen := outcomes.readings) is not None:
            for k in range(len(outcomes.modes)):
                open_ = (outcomes.verdict < 0) & (seen.verdicts[:, k] >= 0)
                verdicts[open_] = seen.verdicts[open_, k]
                scores = np.where(open_ | (outcomes.mode == k), seen.scores[:, k], scores)
        extra = outcomes.extra
        group = extra["group"].to_numpy(dtype=object) if "group" in extra.columns else None
        return cls._carried(outcomes.item_id, verdicts, outcomes.labels, part, scores, extra, group)

    @classmethod
    def _carried(
        cls,
        item_id: ObjectArray,
        verdicts: IntArray,
        labels: IntArray,
        part: IntArray,
        scores: FloatArray,
        extra: pd.DataFrame,
        group: ObjectArray | None,
    ) -> RateSample:
        weight = stratum = None
        if WEIGHT in extra.columns:
            weight = _weights(extra[WEIGHT], labels, item_id)
            if STRATUM in extra.columns:
                stratum = _codes(extra[STRATUM].to_numpy(dtype=object))
        codes = None if group is None else _codes(group)
        return cls(item_id, verdicts, labels, part, scores, weight, codes, stratum)

    def grouped_by(self, column: ObjectArray) -> RateSample:
        """The same rows, with groups from `column`."""
        return replace(self, group=_codes(column))


def _codes(values: ObjectArray) -> IntArray:
    """Numbers for distinct values; a missing one is a value of its own."""
    import pandas as pd

    codes, _ = pd.factorize(values, use_na_sentinel=False)
    return np.asarray(codes, dtype=np.int64)


def _weights(column: pd.Series, labels: IntArray, item_id: ObjectArray) -> FloatArray | None:
    import pandas as pd

    weight = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
    wrong = (labels >= 0) & ~(np.isfinite(weight) & (weight > 0.0))
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(
            f"row {row + 1} ({item_id[row]}), weight: {column.iloc[row]!r} is not a positive number; a "
            "labelled row needs one over the probability with which it was drawn"
        )
    return weight if (labels >= 0).any() else None
