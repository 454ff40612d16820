"""Columns of a table read one by one, with the row named where a cell is not what it must be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from riskjudge._typing import BoolArray, IntArray, ObjectArray
from riskjudge.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

_BINARY: dict[Any, int] = {"0": 0, "1": 1, "false": 0, "true": 1, "0.0": 0, "1.0": 1}


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
        if column not in self.frame.columns:
            have = ", ".join(map(str, self.frame.columns))
            raise InputError(f"{self.source_name} has no column {column!r}; its columns are {have}")
        return self.frame[column].to_numpy(dtype=object)

    def wrong(self, column: str, row: int, value: object, right: str) -> InputError:
        """The error that says what is wrong with a cell; `row` counts from 0."""
        return InputError(f"{self.source_name}, row {row + 1}, {column}: {value!r} is not {right}")

    def ids(self, column: str) -> ObjectArray:
        """Ids as texts, shape (n,): none missing, none twice."""
        import pandas as pd

        values = self.values(column)
        blank = pd.isna(values) | (values == "")
        if blank.any():
            raise self.wrong(column, int(blank.argmax()), None, "an id")
        ids = np.array([str(value) for value in values], dtype=object)
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
        """Group of each item, shape (n,): none missing."""
        import pandas as pd

        values = self.values(column)
        blank = pd.isna(values)
        if blank.any():
            raise self.wrong(column, int(blank.argmax()), None, "a group")
        return values

    def binary(self, column: str) -> IntArray:
        """0, 1, or -1 where the cell is empty, shape (n,)."""
        import pandas as pd

        values = self.values(column)
        try:
            which, distinct = pd.factorize(values)  # -1 where the cell is empty
        except TypeError:
            row = next(i for i, v in enumerate(values) if isinstance(v, list | dict | set))
            raise self.wrong(column, row, values[row], "0, 1, true or false") from None
        codes = np.full(len(distinct) + 1, -1)
        for i, value in enumerate(distinct):
            text = str(value).strip().lower()
            if text and text not in _BINARY:
                row = int(np.flatnonzero(which == i)[0])
                raise self.wrong(column, row, value, "0, 1, true or false")
            codes[i] = _BINARY.get(text, -1)
        return codes[which]

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
