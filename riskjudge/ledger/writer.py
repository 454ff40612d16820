"""Appending to a ledger so that a kill at any byte loses no answer.

A row is *acknowledged* when :meth:`LedgerWriter.append` returns: its line is then on the disk
(`fsync`). A kill in the middle leaves at most one line without its line feed; opening the file for
writing repairs that, and readers name it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from riskjudge.errors import OperationalError
from riskjudge.ledger.jsonl import Settled, format_line, read_ledger
from riskjudge.ledger.rows import Row
from riskjudge.verdict import ItemStatus

try:
    import fcntl
except ImportError:  # no advisory locks on this platform
    _LOCKS = False
else:
    _LOCKS = True


class LedgerWriter:
    """Append rows to a JSONL ledger; one writer at a time.

    Opening an existing file reads it, repairs a torn last line (`repaired` says what was done) and
    refuses any other damage. `done` holds the ids that need not be asked again.

    Raises
    ------
    InputError
        On damage before the last line, and on a row whose id is already answered.
    OperationalError
        If the file is open in another writer, or the disk refuses a write; the file then ends
        where it ended before, and the writer is closed.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from riskjudge.verdict import BooleanVerdict
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "ledger.jsonl"
    >>> with LedgerWriter(path) as ledger:
    ...     ledger.append(Row("q1", "oracle", "direct", BooleanVerdict(True)))
    >>> with LedgerWriter(path) as ledger:
    ...     sorted(ledger.done)
    ['oracle/direct/q1']
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.repaired: str | None = None
        new = not self.path.exists()
        try:
            self._file = open(self.path, "a+b", buffering=0)  # noqa: SIM115  # closed by close()
        except OSError as error:
            raise OperationalError(f"{path} cannot be written: {error.strerror}") from None
        try:
            self._lock()
            self._repair()
            if new:
                _sync_folder(self.path.parent)
            self._settled = Settled({row.id: row for row in read_ledger(self.path).rows})
        except BaseException:
            self._file.close()
            raise

    @property
    def done(self) -> set[str]:
        """Ids with an outcome that stands; failures are not among them, they may be retried."""
        rows = self._settled.rows.values()
        return {row.id for row in rows if row.status is not ItemStatus.SCORE_FAILED}

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows so far, one for each id."""
        return tuple(self._settled.rows.values())

    def append(self, *rows: Row) -> None:
        """Append rows; on return they are on the disk."""
        if self._file.closed:
            raise OperationalError(f"{self.path} is closed")
        lines = [format_line(row) for row in rows]
        for row in rows:
            self._settled.add(row)
        self._write(b"".join(lines))

    def _write(self, data: bytes) -> None:
        end = os.fstat(self._file.fileno()).st_size
        try:
            view = memoryview(data)
            while view:
                view = view[self._file.write(view) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            # Closed, because what this writer remembers is now more than what the file holds.
            with self._file:
                self._file.truncate(end)
            raise OperationalError(f"{self.path}: the write failed: {error.strerror}") from None

    def _lock(self) -> None:
        if not _LOCKS:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise OperationalError(f"{self.path} is being written by another process") from None

    def _repair(self) -> None:
        """Finish a last line that only lacks its line feed; cut off one that is not JSON."""
        start = self._last_line_start()
        self._file.seek(start)
        tail = self._file.read()
        if not tail:
            return
        try:
            json.loads(tail)
        except (ValueError, RecursionError):
            self._file.truncate(start)
            os.fsync(self._file.fileno())
            self.repaired = f"cut off {len(tail)} bytes of a row that was never acknowledged"
        else:
            self._write(b"\n")
            self.repaired = "added the line feed that the last row lacked"

    def _last_line_start(self) -> int:
        """Offset behind the last line feed."""
        position = os.fstat(self._file.fileno()).st_size
        while position > 0:
            block_start = max(0, position - 65536)
            self._file.seek(block_start)
            found = self._file.read(position - block_start).rfind(b"\n")
            if found >= 0:
                return block_start + found + 1
            position = block_start
        return 0

    def close(self) -> None:
        """Close the file and give up the lock."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _sync_folder(folder: Path) -> None:
    # A new file's name is only on the disk once its folder is.
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
