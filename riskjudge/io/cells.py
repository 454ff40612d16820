"""What the cells of a column are: one reading of CSV, JSON Lines and Parquet.

A CSV file knows texts only, JSON has no dates, Parquet has nine kinds of number. So that the same
data give the same answer in each, every column is brought to the one form that all three can hold:

* Spaces around a text are no part of it, and an empty text is a missing value.
* A column of texts that all spell numbers holds numbers, unless a leading zero (``01``) or two
  spellings of one number (``1.1`` and ``1.10``) show that they are names. A column of true and
  false in any case holds booleans.
* Among numbers, ``NA``, ``NaN``, ``null``, ``None`` … are missing values; among texts they are
  texts (a country, a class).
* Whole numbers are integers: 2020.0 is 2020. A 32-bit number is the decimal number that it prints
  as, so that 0.1 is 0.1.
* A date is its ISO text; a nested value its JSON text; a column of mixed kinds holds texts.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from riskjudge._typing import FloatArray
from riskjudge.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "<na>"})
"""Spellings of a missing value, in lower case."""

_NUMBER = r"^[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$|^[+-]?(?i:inf|infinity)$"
_EXACT = 2.0**53


def read_column(values: pa.Array | pa.ChunkedArray, *, text: bool = False) -> pd.Series:
    """A column in its one form, of dtype int64, Int64, float64, bool, boolean or object (texts).

    Parameters
    ----------
    values : Array or ChunkedArray
        As a file holds them, of any type.
    text : bool
        Whether the column names things, and so stays text: 1, 1.0 and ``"1.0"`` are ``"1"``, and
        ``"01"`` is another name.

    Raises
    ------
    InputError
        If the column holds bytes that are no text.

    Examples
    --------
    >>> import pyarrow as pa
    >>> read_column(pa.array(["0.5", "NA", "2"])).tolist()
    [0.5, nan, 2.0]
    >>> read_column(pa.array(["CH", "NA", " "])).tolist()
    ['CH', 'NA', None]
    >>> read_column(pa.array([0.1, 0.7], pa.float32())).tolist()
    [0.1, 0.7]
    """
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
        if isinstance(values, pa.ChunkedArray):  # more than one array can hold
            values = pa.concat_arrays(values.chunks)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    values = _plain(values)
    if pa.types.is_null(values.type):
        return pd.Series([None] * len(values), dtype=object)
    if text and not pa.types.is_string(values.type):
        values = _as_text(values)
    if pa.types.is_string(values.type):
        values = pc.utf8_trim_whitespace(values)
        values = pc.if_else(pc.equal(values, ""), pa.scalar(None, pa.string()), values)
        if text:
            values = pc.replace_substring_regex(values, r"^(-?(?:0|[1-9][0-9]*))\.0$", r"\1")
        else:
            values = _numbers_or_flags(values)
    if pa.types.is_string(values.type):
        return pd.Series(values.to_numpy(zero_copy_only=False), dtype=object)
    if pa.types.is_boolean(values.type):
        dtype = "boolean" if values.null_count else "bool"
        return pd.Series(values.to_numpy(zero_copy_only=False), dtype=dtype)
    return _numbers(values)


def widened(values: np.ndarray[Any, np.dtype[Any]]) -> FloatArray:
    """Numbers of 16 or 32 bits as the decimal numbers that they print as.

    Examples
    --------
    >>> widened(np.array([0.1], np.float32)).tolist()
    [0.1]
    """
    import pyarrow as pa

    if values.dtype == np.float32:
        texts = pa.array(values).cast(pa.string())
        return np.asarray(texts.cast(pa.float64()).to_numpy(zero_copy_only=False))
    return values.astype(str).astype(np.float64)


def _plain(values: pa.Array) -> pa.Array:
    """Without the types that only Parquet has."""
    import pyarrow as pa

    kind = values.type
    if pa.types.is_float16(kind) or pa.types.is_float32(kind):
        wide = widened(values.to_numpy(zero_copy_only=False).astype(kind.to_pandas_dtype()))
        return pa.array(wide, from_pandas=True)
    if pa.types.is_decimal(kind):
        return values.cast(pa.string()).cast(pa.float64())
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return pa.array(_dates(values), pa.string())
    if pa.types.is_nested(kind):
        return pa.array([None if v is None else nested_text(v) for v in values.to_pylist()])
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return values.cast(pa.string())
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        try:
            return values.cast(pa.string())
        except pa.ArrowInvalid:
            raise InputError("it holds bytes that are no UTF-8 text") from None
    known = (pa.types.is_string, pa.types.is_boolean, pa.types.is_null)
    if any(test(kind) for test in known) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return values
    return pa.array([None if v is None else str(v) for v in values.to_pylist()], pa.string())


def _dates(values: pa.Array) -> list[str | None]:
    """ISO texts; times of day only where the column has any."""
    found = [None if v is None else str(v) for v in values.to_pylist()]
    if all(v is None or v.endswith(" 00:00:00") for v in found):
        return [v and v.removesuffix(" 00:00:00") for v in found]
    return found


def nested_text(value: Any) -> str:
    """A list or mapping as JSON text, keys in order."""
    try:
        return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    except (RecursionError, ValueError):
        raise InputError("it holds a value that is nested too deeply") from None
    except TypeError:
        return str(value)


def _as_text(values: pa.Array) -> pa.Array:
    """Names: whole numbers without a fraction."""
    import pyarrow as pa

    if pa.types.is_floating(values.type):
        return pa.array([_number_text(v) for v in values.to_pylist()], pa.string())
    if pa.types.is_boolean(values.type):
        return pa.array([None if v is None else str(v) for v in values.to_pylist()], pa.string())
    return values.cast(pa.string())


def _number_text(value: float | None) -> str | None:
    if value is None or value != value:
        return None
    return str(int(value)) if value.is_integer() and abs(value) < _EXACT else repr(value)


def value_text(value: Any) -> str | None:
    """A cell of a column of mixed kinds as a text."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float):
        return _number_text(value)
    if isinstance(value, int):
        return str(value)
    return nested_text(value)


def _numbers_or_flags(values: pa.Array) -> pa.Array:
    """A column of texts as what all of them spell, if they spell one kind of thing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    head = {str(v).lower() for v in values.slice(0, 1000).to_pylist() if v is not None}
    if head <= {"true", "false"}:
        lower = pc.utf8_lower(values)
        if head and set(lower.unique().to_pylist()) <= {"true", "false", None}:
            return pc.equal(lower, "true")
    number = pc.match_substring_regex(values, _NUMBER)
    if not pc.any(number).as_py():
        return values
    others = values.filter(pc.fill_null(pc.invert(number), False)).unique().to_pylist()
    if not {str(v).lower() for v in others} <= MISSING:
        return values
    spelled = pc.if_else(number, values, pa.scalar(None, pa.string()))
    numbers = _cast(spelled)
    if numbers is None or pc.count_distinct(spelled).as_py() != pc.count_distinct(numbers).as_py():
        return values
    return numbers


def _cast(spelled: pa.Array) -> pa.Array | None:
    import pyarrow as pa

    for kind in (pa.int64(), pa.float64()):
        try:
            return spelled.cast(kind)
        except pa.ArrowInvalid:
            continue
    return None


def _numbers(values: pa.Array) -> pd.Series:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(values.type):
        numbers = values.to_numpy(zero_copy_only=False).astype(np.float64)
        there = numbers[~np.isnan(numbers)]
        if not (np.abs(there) < _EXACT).all() or (there % 1).any():
            return pd.Series(numbers + 0.0)  # -0.0 is 0.0
        values = pa.array(numbers, from_pandas=True).cast(pa.int64())
    elif pa.types.is_uint64(values.type):
        try:
            values = values.cast(pa.int64())
        except pa.ArrowInvalid:
            return pd.Series(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    else:
        values = values.cast(pa.int64())
    if not values.null_count:
        return pd.Series(values.to_numpy())
    missing = values.is_null().to_numpy(zero_copy_only=False)
    filled = pc.fill_null(values, 0).to_numpy()
    return pd.Series(pd.arrays.IntegerArray(filled.astype(np.int64), missing))


def column_array(column: pd.Series, *, finite: bool = False) -> pa.Array:
    """A column of a table as an Arrow array of a type that every format holds.

    Parameters
    ----------
    column : Series
    finite : bool
        Whether the infinities are missing values.
    """
    import pandas as pd
    import pyarrow as pa

    if pd.api.types.is_object_dtype(column.dtype):
        if pd.api.types.infer_dtype(column, skipna=True) == "string":
            try:
                return pa.array(column, pa.string(), from_pandas=True)
            except UnicodeEncodeError:
                raise InputError("a text holds half a surrogate pair") from None
        return value_array([_cell(value, finite) for value in column.tolist()])
    if finite and pd.api.types.is_float_dtype(column.dtype):
        column = column.where(np.isfinite(column.to_numpy(dtype=np.float64, na_value=np.nan)))
    try:
        values = pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # categories of mixed kinds
        return value_array([_cell(value, finite) for value in column.astype(object).tolist()])
    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    return _plain(values)


def value_array(values: list[Any]) -> pa.Array:
    """Values of one kind as an array of it, of several kinds as texts.

    Raises
    ------
    InputError
        If a text is no text (half a surrogate pair).
    """
    import pyarrow as pa

    kinds = {type(value) for value in values} - {type(None)}
    try:
        if kinds and kinds <= {int, float}:
            whole = kinds == {int} and all(v is None or -(2**63) <= v < 2**63 for v in values)
            return pa.array(values, pa.int64() if whole else pa.float64(), from_pandas=True)
        if kinds <= {bool} or kinds <= {str}:
            return pa.array(values)
        return pa.array([value_text(value) for value in values], pa.string())
    except UnicodeEncodeError:
        raise InputError("a text holds half a surrogate pair") from None
    except (pa.ArrowException, OverflowError):  # a whole number that is too large
        return pa.array([value_text(value) for value in values], pa.string())


def _cell(value: Any, finite: bool) -> Any:
    """A cell of an object column as a JSON value, None where it is missing."""
    import pandas as pd

    if value is None or isinstance(value, str):
        return value
    if isinstance(value, dict | list | tuple | set | frozenset):
        return nested_text(sorted(value, key=str) if isinstance(value, set | frozenset) else value)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, np.ndarray):
        return nested_text(value.tolist())
    value = value.item() if isinstance(value, np.generic) else value
    if pd.isna(value):
        return None
    if isinstance(value, float):
        return value if not finite or abs(value) < np.inf else None
    return value if isinstance(value, int) else str(value)
