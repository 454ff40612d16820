"""Whose file it is: a trace of ours, or one of another tool's formats."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

from riskjudge.errors import InputError
from riskjudge.io.files import open_text
from riskjudge.io.jsonl import read_objects
from riskjudge.io.tables import table_format
from riskjudge.readers.documents import Document
from riskjudge.readers.formats import FORMATS, Format

_OURS = ({"v1", "u1"}, {"item_id", "status", "verdict", "asked"})


def recognise(document: Document, name: str | None = None) -> Format:
    """The format of a file, by what it holds.

    Raises
    ------
    InputError
        If the name is unknown, or no format fits.
    """
    if name is not None:
        if name not in FORMATS:
            raise InputError(f"unknown format {name!r}; the formats are {', '.join(FORMATS)}")
        return FORMATS[name]
    for reader in FORMATS.values():
        if reader.recognises(document):
            return reader
    raise InputError(
        f"{document.path}: no known format fits; the formats are {', '.join(FORMATS)} (--format)"
    )


def is_ours(path: str | Path, columns: Iterable[str] = ()) -> bool:
    """Whether a file is a table with the columns of a trace or of outcomes; only its head is read.

    Parameters
    ----------
    path : str or Path
    columns : iterable of str
        Columns that hold verdicts and scores, where they are not called ``v1, u1``.

    Raises
    ------
    InputError
        If the file is missing or its head is damaged.
    """
    if Path(path).is_dir():
        return False
    try:
        kind = table_format(path)
    except InputError:
        return False
    header = _header(path, kind)
    named = set(columns)
    return any(known <= header for known in _OURS) or (bool(named) and named <= header)


def _header(path: str | Path, kind: str) -> set[str]:
    if kind == "jsonl":
        return set(next((row for _, row in read_objects(path)), {}))
    if kind == "parquet":
        import pyarrow.parquet as pq
        from pyarrow import ArrowException

        try:
            return set(pq.read_schema(path).names)
        except (ArrowException, OSError):
            return set()  # whoever reads it says what is wrong
    with open_text(path) as file:
        line = file.readline()
    delimiter = "\t" if ".tsv" in Path(path).name.lower() else ","
    return {name.strip() for name in next(csv.reader([line], delimiter=delimiter), [])}
