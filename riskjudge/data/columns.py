"""Columns of a table read one by one, with the row named where a cell is not what it must be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from riskjudge._typing import IntArray, ObjectArray
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
