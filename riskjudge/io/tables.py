"""Tables from files: CSV, JSON Lines and Parquet, with the row named where one is damaged."""

from __future__ import annotations

import csv
import io
import json
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riskjudge.errors import InputError, OperationalError
from riskjudge.io.files import open_text, replacing

if TYPE_CHECKING:
    import pandas as pd

_MISSING = ["", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "<NA>"]
_COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst", ".lz4")


def table_format(path: str | Path) -> str:
    """``csv``, ``jsonl`` or ``parquet``, by the file's name.

    Examples
    --------
    >>> table_format("trace.csv.gz"), table_format("trace.parquet")
    ('csv', 'parquet')
    """
    name = Path(path).name.lower()
    for ending in _COMPRESSIONS:
        name = name.removesuffix(ending)
    for known, endings in {
        "csv": (".csv", ".tsv"),
        "jsonl": (".jsonl", ".ndjson"),
        "parquet": (".parquet", ".pq"),
    }.items():
        if name.endswith(endings):
            return known
    raise InputError(f"{path}: the name must end in .csv, .tsv, .jsonl or .parquet")


def read_table(path: str | Path, *, text: Iterable[str] = ()) -> pd.DataFrame:
    """Read a table.

    Parameters
    ----------
    path : str or Path
        CSV or JSONL (plain or compressed) or Parquet, told apart by name.
    text : iterable of str
        Columns to keep as text, so that the ids ``1`` and ``01`` stay two ids.

    Raises
    ------
    InputError
        If the file is missing, empty, damaged, or has no column header.
    """
    import pandas as pd

    kind = table_format(path)
    if kind == "parquet":
        frame = _read_parquet(path)
    elif kind == "jsonl":
        frame = pd.DataFrame(_json_lines(path))
    else:
        frame = _read_csv(path, set(text))
    if frame.empty:
        raise InputError(f"{path} has no rows; at least one is needed")
    doubled = frame.columns[frame.columns.duplicated()]
    if len(doubled):
        raise InputError(f"{path}: the column {doubled[0]!r} occurs twice")
    for column in sorted(set(text) & set(frame.columns)):
        frame[column] = frame[column].map(str, na_action="ignore")
    return frame


def write_table(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a table in the format of the file's name, in one step: whole or not at all."""
    import pyarrow

    kind = table_format(path)
    with replacing(path) as temporary:
        if kind == "parquet":
            try:
                frame.to_parquet(temporary, index=False)
            except (pyarrow.ArrowException, ValueError) as error:
                raise InputError(
                    f"{path}: Parquet cannot hold the table, .jsonl can: "
                    f"{' '.join(str(error).split())}"
                ) from None
        elif kind == "jsonl":
            present = frame.astype(object).where(frame.notna(), None)
            present = present.replace([float("inf"), float("-inf")], None)
            with temporary.open("w", encoding="utf-8") as lines:
                for row in present.to_dict("records"):  # pandas' own writer rounds the floats
                    lines.write(json.dumps(row, allow_nan=False, default=_plain) + "\n")
        else:
            frame.to_csv(temporary, index=False, sep="\t" if Path(path).suffix == ".tsv" else ",")


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


def _read_csv(path: str | Path, text: set[str]) -> pd.DataFrame:
    import pandas as pd

    with open_text(path) as lines:
        content = lines.read()
    options: dict[str, Any] = {
        "sep": "\t" if ".tsv" in Path(path).name.lower() else ",",
        "skipinitialspace": True,
        "index_col": False,  # else a trailing comma would shift every column by one
    }
    try:
        header = pd.read_csv(io.StringIO(content), nrows=0, **options).columns
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame: pd.DataFrame = pd.read_csv(
                io.StringIO(content),
                dtype=dict.fromkeys(text & set(header), str),
                # The id "NA" is an id; elsewhere it is a missing value.
                keep_default_na=False,
                na_values={name: [""] if name in text else _MISSING for name in header},
                **options,
            )
        _check_last_row(content, len(header), options["sep"], path)
        return frame
    except pd.errors.ParserWarning:
        raise InputError(
            f"{path}: rows have more fields than the {len(header)} of the header (a trailing comma?)"
        ) from None
    except pd.errors.EmptyDataError:
        raise InputError(f"{path} is empty; a header and at least one row are needed") from None
    except (pd.errors.ParserError, ValueError) as error:
        raise InputError(f"{path}: not a table: {' '.join(str(error).split())}") from None


def _check_last_row(content: str, width: int, separator: str, path: str | Path) -> None:
    """A file cut off in the middle ends in a row that is too short."""
    last = content.rstrip("\r\n").rpartition("\n")[2]
    fields = next(csv.reader([last], delimiter=separator), [])
    if '"' not in last and len(fields) < width:
        raise InputError(
            f"{path}: the last row has {len(fields)} of {width} fields; was the file cut off?"
        )


def _read_parquet(path: str | Path) -> pd.DataFrame:
    import pandas as pd
    import pyarrow

    if not Path(path).is_file():
        raise InputError(f"{path}: no such file")
    try:
        return pd.read_parquet(path)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
        raise InputError(f"{path}: not a Parquet file: {' '.join(str(error).split())}") from None
    except OSError as error:
        raise OperationalError(f"{path} cannot be read: {error}") from None


def _json_lines(path: str | Path) -> list[dict[str, Any]]:
    rows = []
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise InputError(f"{path}, line {number}: not JSON ({error.msg})") from None
            if not isinstance(row, dict):
                raise InputError(
                    f"{path}, line {number}: a JSON object is needed, got {line[:40]!r}"
                )
            rows.append(row)
    return rows
