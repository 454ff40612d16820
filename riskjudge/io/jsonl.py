"""JSON from files, read strictly: one object a line, or one document a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from riskjudge.errors import InputError
from riskjudge.io.files import open_binary

_BOM = b"\xef\xbb\xbf"
_SHOWN = 40


def json_lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that are not blank, with their numbers and line ends.

    A line ends with LF, CRLF or CR: none of them can stand inside a JSON text.

    Raises
    ------
    InputError, OperationalError
        As :func:`riskjudge.io.files.open_binary`.
    """
    number = 0
    with open_binary(path) as file:
        for block in file:
            for line in block.splitlines(keepends=True):
                number += 1
                if number == 1:
                    line = line.removeprefix(_BOM)
                if line.strip():
                    yield number, line


def read_objects(
    path: str | Path, constant: Callable[[str], Any] = lambda name: None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of a JSON Lines file, with the numbers of their lines.

    Parameters
    ----------
    path : str or Path
        Plain or compressed.
    constant : callable
        What the bare words ``NaN``, ``Infinity`` and ``-Infinity`` stand for; null by default.

    Raises
    ------
    InputError
        At the first line that is not one JSON object, or holds a key twice.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rows.jsonl"
    >>> _ = path.write_text('{"u": 1}\\n\\n{"u": NaN}\\n')
    >>> list(read_objects(path))
    [(1, {'u': 1}), (3, {'u': None})]
    """
    for number, line in json_lines(path):
        try:
            yield number, parse_object(line, constant)
        except InputError as error:
            raise InputError(f"{path}, line {number}: {error}") from None


def parse_object(
    text: bytes | str, constant: Callable[[str], Any] = lambda name: None
) -> dict[str, Any]:
    """One JSON object from a text.

    Raises
    ------
    InputError
        If the text is not JSON, is another JSON value, or names a key twice.

    Examples
    --------
    >>> parse_object('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ...
    riskjudge.errors.InputError: the key 'a' occurs twice in one JSON object
    """
    value = parse_json(text, constant)
    if not isinstance(value, dict):
        shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        raise InputError(f"a JSON object is needed, got {shown.strip()[:_SHOWN]!r}")
    return value


def parse_json(text: bytes | str, constant: Callable[[str], Any] = lambda name: None) -> Any:
    """One JSON value from a text; see :func:`parse_object`."""
    try:
        return json.loads(
            text if isinstance(text, str) else text.decode("utf-8"),
            parse_constant=constant,
            object_pairs_hook=_no_key_twice,
        )
    except InputError:
        raise
    except UnicodeDecodeError as error:
        raise InputError(f"not JSON (not UTF-8 text: {error.reason})") from None
    except RecursionError:
        raise InputError("not JSON that can be read: it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON ({error.msg} at character {error.pos + 1})") from None
    except ValueError:  # Python reads no longer one
        raise InputError("not JSON that can be read: an integer of over 4,300 digits") from None


def read_document(path: str | Path) -> Any:
    """The one JSON value that a file holds; NaN and the infinities are read as null.

    Raises
    ------
    InputError
        If the file is missing, is not JSON, or an object in it names a key twice.
    """
    with open_binary(path) as file:
        content = file.read()
    try:
        return parse_json(content.removeprefix(_BOM))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InputError(f"the key {twice!r} occurs twice in one JSON object")
    return record
