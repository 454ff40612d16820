"""The ledger file: one JSON record a line, and readers that name a damaged one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from riskjudge.data.verdict import ItemStatus
from riskjudge.errors import InputError
from riskjudge.io.files import replacing
from riskjudge.io.jsonl import json_lines, parse_object
from riskjudge.ledger.records import from_record, to_record
from riskjudge.ledger.rows import Row


@dataclass(frozen=True, slots=True)
class Damage:
    """A line that holds no row, and why."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """The rows of a ledger, one for each id, and the lines that were skipped as damaged."""

    rows: tuple[Row, ...]
    damaged: tuple[Damage, ...] = ()


@dataclass
class Settled:
    """Rows by id. A later row replaces a failure, and an answer about another content."""

    rows: dict[str, Row] = field(default_factory=dict)

    def add(self, row: Row) -> None:
        earlier = self.rows.get(row.id)
        if earlier is not None and not row.may_follow(earlier):
            raise InputError(
                f"duplicate id {row.id!r}; only a failed row may be followed by another"
            )
        self.rows[row.id] = row


def read_ledger(path: str | Path, on_error: Literal["stop", "skip"] = "stop") -> Ledger:
    """Read a JSONL ledger.

    Where an id occurs again after a failure (a retry), its last row stands.

    Parameters
    ----------
    path : str | Path
        The file.
    on_error : Literal[stop, skip]
        At a damaged line, a row that is turned away or a repeated id: ``"stop"`` raises and names
        the line; ``"skip"`` goes on and lists it in `Ledger.damaged`.

    Raises
    ------
    InputError
        If the file is missing, or at the first damaged line under ``"stop"``.
    """
    settled, damaged = Settled(), []
    for number, line in json_lines(path):
        try:
            settled.add(parse_line(line))
        except InputError as error:
            if on_error == "stop":
                raise InputError(f"{path}, line {number}: {error}") from None
            damaged.append(Damage(number, str(error)))
    return Ledger(tuple(settled.rows.values()), tuple(damaged))


def stream_ledger(path: str | Path) -> Iterator[Row]:
    """The rows of :func:`read_ledger` one at a time, for a file larger than memory.

    Reads the file twice and holds only its ids.

    Raises
    ------
    InputError
        At the first damaged line or repeated id, before any row is handed out.
    """
    # Of the row that stands for an id: its line, whether it failed, and its content.
    standing: dict[str, tuple[int, bool, str | None]] = {}
    for number, line in json_lines(path):
        try:
            row = parse_line(line)
            _, failed, content = standing.get(row.id, (0, True, None))
            changed = None not in (content, row.content) and content != row.content
            if not failed and not changed:
                raise InputError(f"duplicate id {row.id!r}")
        except InputError as error:
            raise InputError(f"{path}, line {number}: {error}") from None
        standing[row.id] = number, row.status is ItemStatus.SCORE_FAILED, row.content
    for number, line in json_lines(path):
        row = parse_line(line)
        if standing[row.id][0] == number:
            yield row


def parse_line(line: bytes) -> Row:
    """One stored line as a row; `InputError` says what is wrong with it."""
    try:
        record = parse_object(line)
    except InputError as error:
        torn = "" if line.endswith((b"\n", b"\r")) else "; the write was cut short"
        raise InputError(f"{error}{torn}") from None
    return from_record(record)


def format_line(row: Row) -> bytes:
    """The row as its stored line, line feed included."""
    text = json.dumps(to_record(row), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


def write_ledger(path: str | Path, rows: Iterable[Row]) -> None:
    """Write a whole ledger at once, in one step: the file appears complete or not at all."""
    settled = Settled()
    with replacing(path) as temporary, open(temporary, "wb") as file:
        for row in rows:
            settled.add(row)
            file.write(format_line(row))
        file.flush()
        os.fsync(file.fileno())
