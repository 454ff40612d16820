"""What only one process may do at a time: read a file, decide, and write it again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # no advisory locks on this platform
    _LOCKS = False
else:
    _LOCKS = True


@contextmanager
def alone_in(folder: str | Path) -> Iterator[None]:
    """Wait until no other process is in such a block for this folder, and keep others out.

    The folder itself is locked, so that no file is left behind, and a process that dies gives the lock
    up. Where there are no advisory locks (some network disks), nobody waits.

    Examples
    --------
    >>> import tempfile
    >>> with alone_in(tempfile.mkdtemp()):
    ...     pass
    """
    if not _LOCKS or not Path(folder).is_dir():
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # this file system has no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
