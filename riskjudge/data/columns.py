"""Columns of a table read one by one, with the row named where a cell is not what it must be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from riskjudge._typing import BoolArray, FloatArray, IntArray, ObjectArray
from riskjudge.errors import InputError
from riskjudge.io.cells import MISSING, column_array, read_column, widened

if TYPE_CHECKING:
    import pandas as pd

_BINARY: dict[Any, float] = {"0": 0, "1": 1, "false": 0, "true": 1}
_SHOWN = 60


def number_in(value: Any) -> float | None:
    """The number that a cell holds or spells, NaN where it is empty, None where it is another thing.

    Examples
    --------
    >>> number_in(" 1.0"), number_in("NA"), number_in("low"), number_in(True)
    (1.0, nan, None, None)
    """
    import pandas as pd

    if isinstance(value, str):
        text = value.strip()
        if text.lower() in MISSING:
            return float("nan")
        value = "" if "_" in text else text
    elif pd.api.types.is_scalar(value) and pd.isna(value):
        return float("nan")
    if isinstance(value, bool | np.bool_):
        return None
    try:
        return float(value)
    except OverflowError:
        return float("inf")
    except (TypeError, ValueError):
        return None


class Columns:
    """Reads one column of a table after the other, and names the row of whatever is wrong.

    Parameters
    ----------
    frame : DataFrame
        One row an item; the first is row 1 of every message.
    source : str
        How messages call the table.
    """

    def __init__(self, frame: pd.DataFrame, source: str) -> None:
        self.frame = frame
        self.source_name = source

    def values(self, column: str) -> ObjectArray:
        """The cells of a column, shape (n,).

        Raises
        ------
        InputError
            If there is no such column.
        """
        return self.series(column).to_numpy(dtype=object)

    def series(self, column: str) -> pd.Series:
        """A column as it stands, without a copy; see :meth:`values`."""
        if column not in self.frame.columns:
            have = ", ".join(map(str, self.frame.columns))
            raise InputError(f"{self.source_name} has no column {column!r}; its columns are {have}")
        return self.frame[column]

    def wrong(self, column: str, row: int, value: Any, right: str) -> InputError:
        """The error that says what is wrong with a cell; `row` counts from 0."""
        import pandas as pd

        value = None if pd.api.types.is_scalar(value) and pd.isna(value) else value
        shown = repr(value)
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
        return InputError(f"{self.source_name}, row {row + 1}, {column}: {shown} is not {right}")

    def _names(self, column: str, right: str) -> ObjectArray:
        """Texts that name things, none missing: 1, 1.0 and "1" are one name."""
        series = self.series(column)
        try:
            named = read_column(column_array(series), text=True)
        except InputError as error:
            raise InputError(f"{self.source_name}, {column}: {error}") from None
        names = named.to_numpy(dtype=object)
        blank = named.isna().to_numpy()
        if blank.any():
            raise self.wrong(column, int(blank.argmax()), None, right)
        return names

    def ids(self, column: str) -> ObjectArray:
        """Ids as texts, shape (n,): none missing, none twice."""
        import pandas as pd

        ids = self._names(column, "an id")
        twice = pd.Series(ids).duplicated().to_numpy()
        if twice.any():
            row = int(twice.argmax())
            first = int(np.flatnonzero(ids == ids[row])[0])
            raise InputError(
                f"{self.source_name}, row {row + 1}: the id {ids[row]!r} is that of row {first + 1}; every "
                f"item needs an id of its own in {column!r}"
            )
        return ids

    def groups(self, column: str) -> ObjectArray:
        """Name of each item's group, shape (n,): none missing."""
        return self._names(column, "a group")

    def distinct(self, column: str, right: str) -> tuple[IntArray, ObjectArray]:
        """The different values of a column and the place of each cell's (-1: empty), shape (n,)."""
        import pandas as pd

        values = self.values(column)
        try:
            return pd.factorize(values)
        except TypeError:
            row = next(i for i, v in enumerate(values) if isinstance(v, list | dict | set))
            raise self.wrong(column, row, values[row], right) from None

    def binary(self, column: str) -> IntArray:
        """0, 1, or -1 where the cell is empty, shape (n,)."""
        import pandas as pd

        series = self.series(column)
        if pd.api.types.is_numeric_dtype(series.dtype):
            numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
            bad = ~(np.isnan(numbers) | (numbers == 0) | (numbers == 1))
            if bad.any():
                row = int(bad.argmax())
                raise self.wrong(column, row, self.values(column)[row], "0, 1, true or false")
            return np.where(np.isnan(numbers), -1, numbers).astype(np.int64)
        which, distinct = self.distinct(column, "0, 1, true or false")
        codes = np.full(len(distinct) + 1, -1)
        for i, value in enumerate(distinct):
            text = str(value).strip().lower()
            number = _BINARY.get(text, number_in(value))
            if number is None or (number not in (0, 1) and not np.isnan(number)):
                row = int(np.flatnonzero(which == i)[0])
                raise self.wrong(column, row, value, "0, 1, true or false")
            codes[i] = -1 if np.isnan(number) else int(number)
        return codes[which]

    def numbers(self, column: str) -> FloatArray:
        """Finite numbers, NaN where a cell is empty, shape (n,)."""
        import pandas as pd

        series = self.series(column)
        kind = series.dtype
        if pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind):
            if kind in (np.float32, np.float16):
                numbers = widened(series.to_numpy())
            else:
                numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            found = [number_in(value) for value in self.values(column)]
            if None in found:
                row = found.index(None)
                raise self.wrong(column, row, self.values(column)[row], "a number")
            numbers = np.array(found, dtype=np.float64)
        if np.isinf(numbers).any():
            row = int(np.isinf(numbers).argmax())
            raise self.wrong(column, row, self.values(column)[row], "a finite number")
        return numbers + 0.0  # a copy, and -0.0 is 0.0

    def flags(self, column: str) -> BoolArray:
        """True or false in every cell, shape (n,)."""
        codes = self.binary(column)
        if (codes < 0).any():
            raise self.wrong(column, int((codes < 0).argmax()), None, "true or false")
        return np.asarray(codes == 1)

    def texts(self, column: str) -> list[str | None]:
        """Texts of n cells, None where a cell is empty."""
        import pandas as pd

        values = self.values(column)
        found: list[str | None] = [None] * len(values)
        for row in np.flatnonzero(~pd.isna(values)):
            text = values[row]
            if not isinstance(text, str) or text != text.strip():
                raise self.wrong(column, int(row), text, "a text without spaces around it")
            found[row] = text or None
        return found

    def choice(self, column: str, choices: Sequence[str], *, required: bool = False) -> IntArray:
        """Place among the choices, -1 where the cell is empty, shape (n,)."""
        place = {str(choice): k for k, choice in enumerate(choices)}
        codes = np.full(len(self.frame), -1)
        for row, text in enumerate(self.texts(column)):
            if text is None and not required:
                continue
            if text not in place:
                raise self.wrong(column, row, text, f"one of {', '.join(place)}")
            codes[row] = place[text]
        return codes

    def whole(self, column: str) -> IntArray:
        """Counts, whole numbers from 0 to 2 ** 31 - 1, in every cell, shape (n,)."""
        counts = np.zeros(len(self.frame), dtype=np.int64)
        for row, value in enumerate(self.values(column)):
            try:
                number = float("nan") if isinstance(value, bool) else float(value)
            except (TypeError, ValueError, OverflowError):
                number = float("nan")
            if not 0 <= number < 2**31 or number % 1:
                raise self.wrong(column, row, value, "a whole number from 0 to 2147483647")
            counts[row] = int(number)
        return counts
