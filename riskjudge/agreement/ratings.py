"""Labels that several raters gave to the same units, read once and counted as patterns.

Which labels a unit got is all that an agreement coefficient looks at, so units with the same labels
are one *pattern* with a count. Two raters and two labels make at most eight patterns, whether there
are a hundred units or a million; a bootstrap over units is a multinomial draw over patterns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from riskjudge._typing import FloatArray, IntArray
from riskjudge.agreement.labels import Level, bare, declared_keys, label_key, plain_label
from riskjudge.errors import InputError

Labels = Mapping[Any, Any] | pd.Series
"""Labels of one rater: a mapping of id to label, or a Series indexed by id."""

Table = pd.DataFrame | ArrayLike
"""Units in rows, raters in columns; None or NaN where a rater gave no label."""


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """Units x raters labels as distinct patterns.

    Attributes
    ----------
    patterns : ndarray of int, shape (P, R)
        Code of the label by each of R raters, -1 where there is none. Every pattern holds a label.
    counts : ndarray of int, shape (P,)
        Units that show the pattern; shares of units, floats, in :meth:`against`.
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
    declared : bool
        Whether the categories were declared; else they are the labels that occur.
    merged : tuple of tuple of str
        Spellings that were read as one category: they differ in case or spaces only.
    """

    patterns: IntArray
    counts: IntArray | FloatArray
    unit_pattern: IntArray
    units: pd.Index
    values: FloatArray
    raters: tuple[str, ...]
    unlabelled: int
    declared: bool = False
    merged: tuple[tuple[str, ...], ...] = ()

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

    def against(self, rater: int = 0) -> tuple[Self, sparse.csr_array]:
        """One rater against the others: each unit's label beside one of the others', at random.

        Returns
        -------
        Ratings
            The distinct pairs of labels, with the (fractional) number of units that show each.
        csr_array of float, shape (P, Q)
            Share of each pair in each pattern; a unit with m other labels has m pairs of 1/m.
        """
        own = self.patterns[:, [rater]]
        others = np.delete(self.patterns, rater, axis=1)
        pattern, column = np.nonzero((own >= 0) & (others >= 0))
        pairs = np.column_stack([own[pattern, 0], others[pattern, column]])
        distinct, position = _distinct_rows(pairs.astype(np.int64))
        share = 1.0 / np.bincount(pattern, minlength=len(own))[pattern]
        shape = (len(own), len(distinct))
        spread = sparse.csr_array((share, (pattern, position)), shape=shape)
        names = (self.raters[rater], "others") if self.raters else ()
        seen = replace(
            self, patterns=distinct, counts=np.asarray(self.counts @ spread), raters=names
        )
        return seen, spread

    @classmethod
    def from_table(
        cls, table: Table, level: Level, categories: Sequence[Any] | None = None
    ) -> Self:
        """Read a units x raters table.

        Texts that differ in case or in spaces around and between words are one label, and a text
        without anything in it is none.

        Parameters
        ----------
        table : DataFrame or array_like, shape (units, raters)
        level : Level
        categories : sequence, optional
            All labels that a rater may give, in ascending order.

        Raises
        ------
        InputError
            For a duplicate id, or a label that the level or the categories do not admit; the
            message names the unit, the rater and the label.
        """
        frame = table if isinstance(table, pd.DataFrame) else _frame(table)
        check_ids(frame.index, "the table")
        labels = frame.to_numpy(dtype=object)
        try:
            first_codes, found = pd.factorize(labels.ravel(), use_na_sentinel=True)
        except TypeError:
            raise InputError("a label must be true/false, a finite number or text") from None
        raters = tuple(str(name) for name in frame.columns)
        plain = [plain_label(label) for label in found]
        _check_labels(plain, first_codes, frame.index, raters, level, categories is not None)
        keys = [label_key(label) for label in plain]
        known = set(keys) - {None}
        domain = sorted(known) if categories is None else declared_keys(categories, known, level)
        code_of = {key: code for code, key in enumerate(domain)} | {None: -1}
        for code, key in enumerate(keys):
            if key not in code_of:
                allowed = ", ".join(map(str, categories or ()))
                said = _where(code, plain[code], first_codes, frame.index, raters)
                raise InputError(f"{said} is not one of the categories {allowed}")
        # The sentinel -1 of a missing label picks the last entry, which is -1 again.
        recode = np.array([*(code_of[key] for key in keys), -1], dtype=np.int64)
        codes = recode[first_codes].reshape(labels.shape)

        rated = (codes >= 0).any(axis=0)
        codes, raters = codes[:, rated], tuple(np.array(raters, dtype=object)[rated])
        labelled = np.asarray((codes >= 0).any(axis=1))
        units, codes = frame.index[labelled], codes[labelled]
        patterns, unit_pattern = _distinct_rows(codes)
        places = level is Level.NOMINAL or any(isinstance(key, str) for key in domain)
        values = np.arange(len(domain)) if places else np.asarray(domain)
        return cls(
            patterns=patterns,
            counts=np.bincount(unit_pattern, minlength=len(patterns)),
            unit_pattern=unit_pattern,
            units=units,
            values=values.astype(np.float64),
            raters=raters,
            unlabelled=int(np.count_nonzero(~labelled)),
            declared=categories is not None,
            merged=_merged(plain, keys),
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
        raise InputError(f"{where}: id {bare(ids[repeated][0])!r} occurs more than once")


def _where(
    code: int,
    label: Any,
    codes: NDArray[np.intp],
    units: pd.Index,
    raters: Sequence[str],
) -> str:
    """The first place at which a distinct label stands."""
    unit, rater = divmod(int(np.argmax(codes == code)), len(raters))
    return f"label {label!r} by {raters[rater]} of unit {bare(units[unit])!r}"


def _check_labels(
    plain: Sequence[Any],
    codes: NDArray[np.intp],
    units: pd.Index,
    raters: Sequence[str],
    level: Level,
    ordered: bool,
) -> None:
    """Refuse a distinct label that the level does not admit, and name it."""
    text: int | None = None
    number: int | None = None
    for code, label in enumerate(plain):
        if label is None:
            continue
        where = f"{_where(code, label, codes, units, raters)}:"
        if isinstance(label, str):
            text = code if text is None else text
            if level is not Level.NOMINAL and not (ordered and level is Level.ORDINAL):
                right = "a number"
                if level is Level.ORDINAL:
                    right += ", or the categories are declared in their order"
                raise InputError(f"{where} a label at the {level} level must be {right}")
        elif isinstance(label, (bool, int, float)) and _is_finite(label):
            number = code if number is None else number
            if level is Level.RATIO and label < 0:
                raise InputError(f"{where} a label at the ratio level is not negative")
        else:
            raise InputError(f"{where} must be true/false, a finite number or text")
    if text is not None and number is not None:
        # '1' and 1 would never agree: a silent kappa of zero.
        first, second = (_where(c, plain[c], codes, units, raters) for c in (text, number))
        raise InputError(f"labels mix text and numbers: {first}, but {second}")


def _is_finite(label: float) -> bool:
    # A comparison, because a whole number may be too large for a float.
    return -1e300 <= label <= 1e300


def _merged(plain: Sequence[Any], keys: Sequence[Any]) -> tuple[tuple[str, ...], ...]:
    spellings: dict[Any, set[str]] = {}
    for label, key in zip(plain, keys, strict=True):
        if isinstance(label, str):
            spellings.setdefault(key, set()).add(label)
    return tuple(tuple(sorted(said)) for said in spellings.values() if len(said) > 1)


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
