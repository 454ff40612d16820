"""Opening files that may be compressed, and replacing a file in one step."""

from __future__ import annotations

import gzip
import importlib
import io
import lzma
import os
import re
import shutil
import stat
import sys
import tempfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Self

from riskjudge.errors import InputError, OperationalError

# First bytes, what the format is called, and the module that reads it (None: no reader here).
_FORMATS: tuple[tuple[bytes, str, str | None], ...] = (
    (b"\x1f\x8b", "gzip", "gzip"),
    (b"BZh", "bzip2", "bz2"),
    (b"\xfd7zXZ\x00", "xz", "lzma"),
    (b"\x28\xb5\x2f\xfd", "zstandard", "zstandard"),
    (b"\x04\x22\x4d\x18", "lz4", "lz4.frame"),
    (b"PK\x03\x04", "zip", None),
    (b"7z\xbc\xaf\x27\x1c", "7z", None),
    (b"Rar!", "rar", None),
)
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Closing(ABC):
    """A resource that a ``with`` block closes."""

    @abstractmethod
    def close(self) -> None:
        """Give the resource back."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


@contextmanager
def open_binary(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file, plain or compressed; the compression is read off its first bytes.

    Raises
    ------
    InputError
        If the file does not exist, ends in the middle of its compressed stream, is UTF-16 text,
        or is compressed in a way that nothing here reads.
    OperationalError
        If the format needs a package that is not installed; the message is the command to run.
    """
    try:
        raw = open(path, "rb")  # noqa: SIM115
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder, not a file") from None
    except OSError as error:
        raise OperationalError(f"{path} cannot be opened: {error.strerror}") from None
    except ValueError:  # a NUL in the name
        raise InputError(f"{str(path)!r} is no name of a file") from None
    # Damage shows only while the caller reads, so these errors come back out of the yield.
    try:
        with raw, _decompressed(raw, path) as file:
            yield file
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: the compressed file is damaged ({error})") from None


@contextmanager
def open_text(path: str | Path) -> Iterator[IO[str]]:
    """Open a UTF-8 text file, plain or compressed; see :func:`open_binary`."""
    try:
        with open_binary(path) as raw, io.TextIOWrapper(raw, "utf-8-sig", newline="") as text:
            yield text
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error.reason})") from None


def _decompressed(raw: IO[bytes], path: str | Path) -> IO[bytes]:
    head = raw.read(8) if raw.seekable() else b""
    if head:
        raw.seek(0)
    if head.startswith(_UTF16):
        raise InputError(f"{path}: not UTF-8 text but UTF-16; save it as UTF-8")
    for magic, name, module in _FORMATS:
        if head.startswith(magic):
            if module is None:
                raise InputError(f"{path}: {name} archives are not read; unpack it first")
            try:
                opener = importlib.import_module(module)
            except ImportError:
                package = module.partition(".")[0]
                raise OperationalError(
                    f"{path} is {name}-compressed; to read it: pip install {package}"
                ) from None
            return opener.open(raw, "rb")  # type: ignore[no-any-return]
    return raw


def is_stream(path: str | Path) -> bool:
    """Whether a name stands for a device or a pipe (``/dev/stdout``), which nothing can replace.

    Examples
    --------
    >>> is_stream("/dev/null"), is_stream("gate.json")
    (True, False)
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    # /dev/stdout may be a regular file that the shell has open: it is written, not replaced.
    of_the_system = os.path.abspath(path).startswith(("/dev/", "/proc/"))
    in_memory = os.path.abspath(path).startswith("/dev/shm/")
    return not stat.S_ISDIR(mode) and (not stat.S_ISREG(mode) or (of_the_system and not in_memory))


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path; what the block writes there takes the place of `path` at its end.

    Every file is written through here: it appears whole or not at all. A symbolic link stays, and
    its target is replaced; a device or pipe is written to once the block has succeeded.

    Raises
    ------
    InputError
        If `path` is a folder.
    OperationalError
        If there is no such folder to write in, the disk is full or refuses the write. What was
        there before is then as it was.
    """
    if is_stream(path):
        with tempfile.TemporaryDirectory() as folder:
            temporary = Path(folder, "output")
            yield temporary
            with _disk_errors(path), _open_stream(path) as stream, open(temporary, "rb") as file:
                shutil.copyfileobj(file, stream)
        return
    target = writable_target(path)
    temporary = target.with_name(f".{target.name[:200]}.{os.getpid()}.tmp")
    try:
        with _disk_errors(path):
            yield temporary
            if target.exists():
                shutil.copymode(target, temporary)
            os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def writable_target(path: str | Path) -> Path:
    """Where a file to be written really goes; symbolic links are followed.

    Raises
    ------
    InputError, OperationalError
        If it is a folder, or in none. Whoever asks before a long or costly step loses nothing to a typo.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise InputError(f"{path} is a folder; name a file in it")
    if not target.parent.is_dir():
        raise OperationalError(f"{path} cannot be written: there is no folder {target.parent}")
    return target


def _open_stream(path: str | Path) -> IO[bytes]:
    known = {"/dev/stdout": 1, "/dev/stderr": 2}
    match = re.fullmatch(r"/(?:dev|proc/self)/fd/([0-9]+)", str(path))
    handle = int(match[1]) if match else known.get(str(path))
    if handle is None:
        return open(path, "ab")
    # What is open already is written where it stands; opened anew it would be written over.
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return os.fdopen(os.dup(handle), "wb")


@contextmanager
def _disk_errors(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OperationalError(f"{path} cannot be written: {error.strerror or error}") from None


def write_text(path: str | Path, text: str) -> None:
    """Write a UTF-8 text file, whole or not at all; see :func:`replacing`."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
