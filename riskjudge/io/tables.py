"""Tables in files: CSV, JSON Lines and Parquet, with the row named where one is damaged."""

from __future__ import annotations

import bz2
import csv
import gzip
import json
import lzma
from collections.abc import Callable, Iterable, Mapping
from io import StringIO, TextIOWrapper
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from riskjudge.errors import InputError, OperationalError
from riskjudge.io.cells import column_array, read_column, value_array
from riskjudge.io.files import is_stream, open_binary, replacing
from riskjudge.io.jsonl import read_objects

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst", ".lz4")


def _gzip(path: Path, mode: str) -> IO[bytes]:
    """Without name and time in the file, so that the same rows are the same bytes."""
    binary: Any = open(path, mode)  # noqa: SIM115  # closed by what wraps it
    file = gzip.GzipFile("", "wb", fileobj=binary, mtime=0)
    file.myfileobj = binary
    return file  # type: ignore[return-value]


_COMPRESSED: Mapping[str, Callable[..., Any]] = {
    ".gz": _gzip,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
_ENDINGS = {
    "csv": (".csv", ".tsv"),
    "jsonl": (".jsonl", ".ndjson"),
    "parquet": (".parquet", ".pq"),
}
_INDEX = "__index_level_"
# Prompts and answers may be longer than the 128 kB at which the csv module stops.
csv.field_size_limit(2**31 - 1)

Columns = list[tuple[str, "pa.Array | pa.ChunkedArray"]]


def table_format(path: str | Path) -> str:
    """``csv``, ``jsonl`` or ``parquet``, by the file's name.

    Examples
    --------
    >>> table_format("trace.csv.gz"), table_format("trace.parquet")
    ('csv', 'parquet')
    """
    name = _stem(path)
    for known, endings in _ENDINGS.items():
        if name.endswith(endings):
            return known
    raise InputError(f"{path}: the name must end in .csv, .tsv, .jsonl or .parquet")


def _stem(path: str | Path) -> str:
    """The name without the ending of a compression, in lower case."""
    name = Path(path).name.lower()
    for ending in _COMPRESSIONS:
        name = name.removesuffix(ending)
    return name


def read_table(path: str | Path, *, text: Iterable[str] = ()) -> pd.DataFrame:
    """Read a table; the same data give the same table in every format.

    Parameters
    ----------
    path : str or Path
        CSV or JSONL (plain or compressed) or Parquet, told apart by name.
    text : iterable of str
        Columns that name things: they are kept as text, so that the ids ``1`` and ``01`` stay two.

    Returns
    -------
    DataFrame
        What the cells are is said in :mod:`riskjudge.io.cells`.

    Raises
    ------
    InputError
        If the file is missing, empty or damaged, two columns share a name, a column has none, or a
        row is longer or shorter than the header.
    """
    import pandas as pd

    names = set(text)
    readers = {"csv": _csv_columns, "jsonl": _jsonl_columns, "parquet": _parquet_columns}
    columns = readers[table_format(path)](path)
    if not columns or len(columns[0][1]) == 0:
        raise InputError(f"{path} has no rows; at least one is needed")
    data: dict[str, pd.Series] = {}
    for name, values in columns:
        if name in data:
            raise InputError(f"{path}: the column {name!r} occurs twice; which one is meant?")
        if not name or name != name.strip():
            raise InputError(
                f"{path}: the column {name!r} has a name with spaces around it, or none; rename it"
            )
        try:
            data[name] = read_column(values, text=name in names)
        except InputError as error:
            raise InputError(f"{path}, column {name!r}: {error}") from None
    return pd.DataFrame(data)


def write_table(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a table in the format of the file's name, in one step: whole or not at all.

    A device (``/dev/stdout``) takes CSV. What is missing or infinite is an empty cell or a null.
    """
    import pyarrow
    import pyarrow.parquet

    kind = "csv" if is_stream(path) else table_format(path)
    table = {
        str(name): column_array(frame.iloc[:, k], finite=True)
        for k, name in enumerate(frame.columns)
    }
    with replacing(path) as temporary:
        if kind == "parquet":
            try:
                pyarrow.parquet.write_table(pyarrow.table(table), temporary)
            except (pyarrow.ArrowException, ValueError) as error:
                raise InputError(
                    f"{path}: Parquet cannot hold the table: {' '.join(str(error).split())}"
                ) from None
            return
        rows = zip(*(values.to_pylist() for values in table.values()), strict=True)
        with _open_to_write(path, temporary) as file:
            if kind == "jsonl":
                for row in rows:
                    record = dict(zip(table, row, strict=True))
                    file.write(json.dumps(record, allow_nan=False) + "\n")
            else:
                delimiter = "\t" if _stem(path).endswith(".tsv") else ","
                writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
                writer.writerow(table)
                writer.writerows(rows)


def _open_to_write(path: str | Path, temporary: Path) -> IO[str]:
    """The temporary file, compressed as the name says."""
    ending = Path(path).suffix.lower()
    if ending in _COMPRESSIONS and ending not in _COMPRESSED:
        raise InputError(f"{path}: tables are written as {', '.join(_COMPRESSED)} or plain")
    binary: IO[bytes] = _COMPRESSED.get(ending, open)(temporary, "wb")
    return TextIOWrapper(binary, encoding="utf-8", newline="")


def _csv_columns(path: str | Path) -> Columns:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    with open_binary(path) as file:
        content = file.read().removeprefix(b"\xef\xbb\xbf")
    if b"\0" in content:
        line = content[: content.index(b"\0")].count(b"\n") + 1
        raise InputError(f"{path}, line {line}: a zero byte; is it a text file in UTF-8?")
    if not content.strip():
        raise InputError(f"{path} is empty; a header and at least one row are needed")
    delimiter = "\t" if _stem(path).endswith(".tsv") else ","
    if b'"' in content:  # what follows a closing quote is checked there
        return _csv_row_by_row(content, delimiter, path)
    if b"\n" not in content:
        content = content.replace(b"\r", b"\n")
    first, _, rest = content.lstrip(b"\r\n").partition(b"\n")
    try:
        header = [name.lstrip(" ") for name in first.decode().rstrip("\r").split(delimiter)]
        _check_header(header, path)
        if not rest.strip():
            return []
        places = [str(k) for k in range(len(header))]
        table = arrow_csv.read_csv(
            pa.BufferReader(rest),
            arrow_csv.ReadOptions(column_names=places),
            arrow_csv.ParseOptions(delimiter=delimiter, quote_char=False),
            arrow_csv.ConvertOptions(column_types=dict.fromkeys(places, pa.string())),
        )
    except (UnicodeDecodeError, pa.ArrowInvalid):
        return _csv_row_by_row(content, delimiter, path)
    return _named(header, table.columns, path)


def _csv_row_by_row(content: bytes, delimiter: str, path: str | Path) -> Columns:
    """The slower way, which names the row of any damage."""
    import pyarrow as pa

    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError(f"{path}, line {line}: not UTF-8 text ({error.reason})") from None
    reader = csv.reader(
        StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True
    )
    rows: list[list[str]] = []
    header: list[str] = []
    try:
        for fields in reader:
            if len(fields) < 2 and not "".join(fields).strip():  # a blank line
                continue
            if not header:
                header = fields
                _check_header(header, path)
                continue
            rows.append(fields)
            if len(fields) != len(header):
                long = len(fields) > len(header)
                perhaps = "a trailing comma?" if long else "was the file cut off?"
                raise InputError(
                    f"{path}, row {len(rows)} has {len(fields)} fields and the header "
                    f"{len(header)} ({perhaps})"
                )
    except csv.Error as error:
        raise InputError(
            f"{path}, line {reader.line_num}: not a table: {error} (a quote that is not closed?)"
        ) from None
    return _named(header, [pa.array(cells, pa.string()) for cells in zip(*rows, strict=True)], path)


def _check_header(header: list[str], path: str | Path) -> None:
    for other, name in ((";", "semicolon"), ("\t", "tab"), ("|", "bar")):
        if len(header) == 1 and other in header[0]:
            raise InputError(
                f"{path}: the header is one field with a {name} in it; fields are divided by commas "
                "in .csv and by tabs in .tsv"
            )


def _named(header: list[str], columns: Iterable[Any], path: str | Path) -> Columns:
    """Columns with their names; one without a name is left out if it is empty or counts rows."""
    found: Columns = []
    for k, (name, cells) in enumerate(zip(header, columns, strict=False)):
        if name.strip():
            found.append((name, cells))
            continue
        texts = cells.to_pylist()
        counts = k == 0 and texts == [str(row) for row in range(len(texts))]
        if any(text.strip() for text in texts) and not counts:
            raise InputError(f"{path}: column {k + 1} has no name in the header")
    return found


def _parquet_columns(path: str | Path) -> Columns:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if Path(path).is_dir():
        raise InputError(f"{path} is a folder, not a file")
    if not Path(path).exists():
        raise InputError(f"{path}: no such file")
    try:
        with pq.ParquetFile(path) as file:
            table = file.read()
    except (pa.ArrowException, OSError) as error:
        said = f"{path}: not a Parquet file: {' '.join(str(error).split())}"
        if isinstance(error, OSError) and error.errno:
            raise OperationalError(f"{path} cannot be read: {error.strerror}") from None
        raise InputError(said) from None
    names = table.schema.names
    return [(n, c) for n, c in zip(names, table.columns, strict=True) if not n.startswith(_INDEX)]


def _jsonl_columns(path: str | Path) -> Columns:
    columns: dict[str, list[Any]] = {}
    for place, (_, row) in enumerate(read_objects(path, float)):
        for name in row:
            if name not in columns:
                columns[name] = [None] * place
        for name, values in columns.items():
            values.append(row.get(name))
    found: Columns = []
    for name in columns:
        try:
            found.append((name, value_array(columns[name])))
        except InputError as error:
            raise InputError(f"{path}, column {name!r}: {error}") from None
    return found
