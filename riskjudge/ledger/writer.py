"""Appending to a ledger so that a kill at any byte loses no answer.

A row is *acknowledged* when :meth:`LedgerWriter.append` returns: its line is then on the disk
(`fsync`). A kill in the middle leaves at most one line without its line feed; opening the file for
writing repairs that (:mod:`riskjudge.io.append_only`), and readers name it.
"""

from __future__ import annotations

from pathlib import Path

from riskjudge.data.verdict import ItemStatus
from riskjudge.io.append_only import AppendOnlyFile
from riskjudge.io.files import Closing
from riskjudge.ledger.jsonl import Settled, format_line, read_ledger
from riskjudge.ledger.rows import Row


class LedgerWriter(Closing):
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
    >>> from riskjudge.data.verdict import BooleanVerdict
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "ledger.jsonl"
    >>> with LedgerWriter(path) as ledger:
    ...     ledger.append(Row("q1", "oracle", "direct", BooleanVerdict(True)))
    >>> with LedgerWriter(path) as ledger:
    ...     sorted(ledger.done)
    ['oracle/direct/q1']
    """

    def __init__(self, path: str | Path) -> None:
        self._file = AppendOnlyFile(path)
        self.path, self.repaired = self._file.path, self._file.repaired
        try:
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
        self._file.check_open()
        lines = [format_line(row) for row in rows]
        for row in rows:
            self._settled.add(row)
        self._file.append(b"".join(lines))

    def close(self) -> None:
        """Close the file and give up the lock."""
        self._file.close()
