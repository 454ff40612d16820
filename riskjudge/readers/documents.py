"""Any file as JSON-like values: an object, a list of objects, or the rows of a table."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riskjudge.errors import InputError
from riskjudge.io.files import open_text
from riskjudge.io.jsonl import parse_json, parse_object

_TABLES = (".csv", ".tsv", ".parquet", ".pq")
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".lz4")


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file.

    Attributes
    ----------
    path : Path
    whole : mapping or None
        The one object that the file is.
    rows : list of mapping
        The objects that it lists, one a line, one an entry, or one a row.
    """

    path: Path
    whole: Mapping[str, Any] | None
    rows: list[Mapping[str, Any]]

    @property
    def first(self) -> Mapping[str, Any]:
        """The first row, or nothing."""
        return self.rows[0] if self.rows else {}


def read_document(path: str | Path) -> Document:
    """Parse a file by what it holds.

    Raises
    ------
    InputError
        If it is missing, empty, damaged, or holds neither objects nor a table.
    """
    path = Path(path)
    name = path.name.lower()
    for ending in _COMPRESSED:
        name = name.removesuffix(ending)
    if name.endswith(_TABLES):
        return Document(path, None, _table(path))
    if path.is_file() and zipfile.is_zipfile(path):
        return Document(path, _archive(path), [])
    with open_text(path) as file:
        text = file.read()
    if not text.strip():
        raise InputError(f"{path} is empty")
    try:
        value = parse_json(text)
    except InputError:
        return Document(path, None, _lines(path, text))
    if isinstance(value, Mapping):
        return Document(path, value, [value] if len(text.splitlines()) == 1 else [])
    if isinstance(value, list) and all(isinstance(row, Mapping) for row in value):
        return Document(path, None, value)
    raise InputError(f"{path}: a JSON object or a list of objects is needed")


def _lines(path: Path, text: str) -> list[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            rows.append(parse_object(line))
        except InputError as error:
            raise InputError(f"{path}, line {number}: {error}") from None
    return rows


def _table(path: Path) -> list[Mapping[str, Any]]:
    from riskjudge.io.tables import read_table

    frame = read_table(path)
    present = frame.astype(object).where(frame.notna(), None)
    return [{str(k): v for k, v in row.items()} for row in present.to_dict("records")]


def _archive(path: Path) -> Mapping[str, Any]:
    """A log that is a zip of a header and a file a sample."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if "header.json" not in names:
                raise InputError(f"{path}: a zip without header.json is no log that is known here")
            log: dict[str, Any] = json.loads(archive.read("header.json"))
            samples = [n for n in names if n.startswith("samples/") and n.endswith(".json")]
            log["samples"] = [json.loads(archive.read(name)) for name in sorted(samples)]
            return log
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError) as error:
        raise InputError(f"{path}: the archive cannot be read ({error})") from None
