"""Labels that several raters gave to the same units, read once and counted as patterns.

Which labels a unit got is all that an agreement coefficient looks at, so units with the same labels
are one *pattern* with a count. Two raters and two labels make at most eight patterns, whether there
are a hundred units or a million; a bootstrap over units is a multinomial draw over patterns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from riskjudge._typing import FloatArray, IntArray
from riskjudge.errors import InputError

Labels = Mapping[Any, Any] | pd.Series
"""Labels of one rater: a mapping of id to label, or a Series indexed by id."""

Table = pd.DataFrame | ArrayLike
"""Units in rows, raters in columns; None or NaN where a rater gave no label."""


class Level(StrEnum):
    """What the labels mean: names only, an order, differences, or ratios."""

    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"
    RATIO = "ratio"

    @classmethod
    def of(cls, level: str) -> Self:
        """Return the level of that name, or say which there are."""
        try:
            return cls(level)
        except ValueError:
            raise InputError(f"level must be one of {', '.join(cls)}, got {level!r}") from None


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """Units x raters labels as distinct patterns.

    Attributes
    ----------
    patterns : ndarray of int, shape (P, R)
        Code of the label by each of R raters, -1 where there is none. Every pattern holds a label.
    counts : ndarray of int, shape (P,)
        Units that show the pattern.
    unit_pattern : ndarray of int, shape (N,)
        Pattern of each unit that has a label.
    units : pandas.Index, length N
        Ids of those units.
    values : ndarray of float, shape (V,)
        The label of each code in ascending order; at the nominal level, the code itself.
    raters : tuple of str
        Names of the R raters that gave any label.
    unlabelled : int
        Units without any label.
    """

    patterns: IntArray
    counts: IntArray
    unit_pattern: IntArray
    units: pd.Index
    values: FloatArray
    raters: tuple[str, ...]
    unlabelled: int

    @property
    def labels_per_unit(self) -> IntArray:
        """Number of labels in each pattern, shape (P,)."""
        return np.asarray((self.patterns >= 0).sum(axis=1))

    @property
    def pairable(self) -> NDArray[np.bool_]:
        """Patterns with at least two labels: those that can show agreement. Shape (P,)."""
        return self.labels_per_unit >= 2

    def value_counts(self, rater: int | None = None) -> sparse.csr_array:
        """How often each value occurs in each pattern, by one rater or all. Shape (P, V)."""
        codes = self.patterns if rater is None else self.patterns[:, [rater]]
        pattern, column = np.nonzero(codes >= 0)
        entries = (np.ones(len(pattern)), (pattern, codes[pattern, column]))
        return sparse.csr_array(entries, shape=(len(codes), len(self.values)))

    @classmethod
    def from_table(cls, table: Table, level: Level) -> Ratings:
        """Read a units x raters table.

        Raises
        ------
        InputError
            For a duplicate id, or a label that the level does not admit; the message names the
            unit, the rater and the label.
        """
        frame = table if isinstance(table, pd.DataFrame) else _frame(table)
        check_ids(frame.index, "the table")
        frame = frame.loc[:, frame.notna().any().to_numpy()]
        raters = tuple(str(name) for name in frame.columns)
        labels = frame.to_numpy(dtype=object)
        first_codes, found = pd.factorize(labels.ravel(), use_na_sentinel=True)
        plain = _plain_labels(found, first_codes, frame.index, raters, level)
        domain = sorted(set(plain))
        code_of = {label: code for code, label in enumerate(domain)}
        # The sentinel -1 of a missing label picks the last entry, which is -1 again.
        recode = np.array([*(code_of[label] for label in plain), -1], dtype=np.int64)
        codes = recode[first_codes].reshape(labels.shape)

        labelled = np.asarray((codes >= 0).any(axis=1))
        units, codes = frame.index[labelled], codes[labelled]
        patterns, unit_pattern = _distinct_rows(codes)
        nominal = level is Level.NOMINAL
        values = np.arange(len(domain)) if nominal else np.asarray(domain)
        return cls(
            patterns=patterns,
            counts=np.bincount(unit_pattern, minlength=len(patterns)),
            unit_pattern=unit_pattern,
            units=units,
            values=values.astype(np.float64),
            raters=raters,
            unlabelled=int(np.count_nonzero(~labelled)),
        )


def as_series(labels: Labels, name: str) -> pd.Series:
    """Return one rater's labels as a Series indexed by id; `name` if it has no name of its own.

    Raises
    ------
    InputError
        If the labels carry no ids, or an id occurs twice.
    """
    if isinstance(labels, pd.Series):
        series = labels
    elif isinstance(labels, Mapping):
        # A tuple is one id here, not the levels of a MultiIndex.
        ids = pd.Index(list(labels.keys()), tupleize_cols=False)
        series = pd.Series(list(labels.values()), index=ids, dtype=object)
    else:
        raise InputError(
            f"{name} labels must be a mapping id -> label or a pandas Series indexed by id, "
            f"got {type(labels).__name__}: labels are joined by id, never by position"
        )
    check_ids(series.index, f"the {name} labels")
    return series if series.name is not None else series.rename(name)


def check_ids(ids: pd.Index, where: str) -> None:
    """Raise `InputError` for a missing or a repeated id, and name it."""
    if ids.hasnans:
        row = int(np.flatnonzero(ids.isna())[0])
        raise InputError(f"{where}: row {row} has no id")
    repeated = ids.duplicated()
    if repeated.any():
        raise InputError(f"{where}: id {_bare(ids[repeated][0])!r} occurs more than once")


def _plain_labels(
    found: NDArray[np.object_],
    codes: NDArray[np.intp],
    units: pd.Index,
    raters: Sequence[str],
    level: Level,
) -> list[Any]:
    """Distinct labels as plain numbers or strings, each checked against the level."""

    def where(code: int) -> str:
        unit, rater = divmod(int(np.argmax(codes == code)), len(raters))
        return f"label {_bare(found[code])!r} by {raters[rater]} of unit {_bare(units[unit])!r}"

    plain = [_bare(label) for label in found]
    text: int | None = None
    number: int | None = None
    for code, label in enumerate(plain):
        if isinstance(label, str):
            text = code if text is None else text
            if level is not Level.NOMINAL:
                raise InputError(f"{where(code)}: a label at the {level} level must be a number")
        elif isinstance(label, (bool, int, float)) and math.isfinite(label):
            number = code if number is None else number
            if level is Level.RATIO and label < 0:
                raise InputError(f"{where(code)}: a label at the ratio level is not negative")
        else:
            raise InputError(f"{where(code)}: must be true/false, a finite number or text")
    if text is not None and number is not None:
        # '1' and 1 would never agree: a silent kappa of zero.
        raise InputError(f"labels mix text and numbers: {where(text)}, but {where(number)}")
    return plain


def _bare(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _distinct_rows(codes: IntArray) -> tuple[IntArray, IntArray]:
    """Distinct rows in ascending order, and the position of each row among them."""
    if not len(codes):
        return codes, np.zeros(0, dtype=np.int64)
    # Twenty times faster than np.unique(axis=0) on a million rows.
    rows = pd.DataFrame(codes)
    groups = rows.groupby(list(rows.columns), sort=True)
    position = np.asarray(groups.ngroup(), dtype=np.int64)
    first = np.unique(position, return_index=True)[1]
    return codes[first], position


def _frame(table: ArrayLike) -> pd.DataFrame:
    labels = np.array(table, dtype=object)
    if not labels.size:
        return pd.DataFrame()
    if labels.ndim != 2:
        raise InputError(f"a table has units in rows and raters in columns, got {labels.ndim}-D")
    return pd.DataFrame(labels)
