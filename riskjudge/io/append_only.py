"""A file of JSON lines that only grows, and loses nothing that was acknowledged."""

from __future__ import annotations

import json
import os
from pathlib import Path

from riskjudge.errors import OperationalError
from riskjudge.io.files import Closing

try:
    import fcntl
except ImportError:  # no advisory locks on this platform
    _LOCKS = False
else:
    _LOCKS = True


class AppendOnlyFile(Closing):
    """Whole lines, on the disk when :meth:`append` returns; one writer at a time.

    A kill at any byte leaves at most one line without its line feed. Opening the file repairs that:
    a last line that is JSON gets its line feed, any other was never acknowledged and is cut off.

    Attributes
    ----------
    path : Path
    repaired : str or None
        What the repair did.

    Raises
    ------
    OperationalError
        If the file is open in another writer, or the disk refuses a write; the file then ends where
        it ended before, and is closed.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "lines.jsonl"
    >>> with AppendOnlyFile(path) as file:
    ...     file.append(b'{"n": 1}' + b"\\n")
    >>> _ = path.write_bytes(path.read_bytes() + b'{"n": 2')
    >>> with AppendOnlyFile(path) as file:
    ...     file.repaired
    'cut off 7 bytes of a line that was never acknowledged'
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
        except BaseException:
            self._file.close()
            raise

    def append(self, lines: bytes) -> None:
        """Append whole lines; on return they are on the disk."""
        self.check_open()
        end = os.fstat(self._file.fileno()).st_size
        try:
            view = memoryview(lines)
            while view:
                view = view[self._file.write(view) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            # Closed, because what its writer remembers is now more than what the file holds.
            with self._file:
                self._file.truncate(end)
            raise OperationalError(f"{self.path}: the write failed: {error.strerror}") from None

    def check_open(self) -> None:
        """Raise an OperationalError if the file is closed."""
        if self._file.closed:
            raise OperationalError(f"{self.path} is closed")

    def _lock(self) -> None:
        if not _LOCKS:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise OperationalError(f"{self.path} is being written by another process") from None

    def _repair(self) -> None:
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
            self.repaired = f"cut off {len(tail)} bytes of a line that was never acknowledged"
        else:
            self.append(b"\n")
            self.repaired = "added the line feed that the last line lacked"

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


def _sync_folder(folder: Path) -> None:
    # A new file's name is only on the disk once its folder is.
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
