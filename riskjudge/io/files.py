"""Opening text files that may be compressed, and replacing a file in one step."""

from __future__ import annotations

import gzip
import importlib
import io
import lzma
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

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


@contextmanager
def open_text(path: str | Path) -> Iterator[IO[str]]:
    """Open a UTF-8 text file, plain or compressed; the format is read off its first bytes.

    Raises
    ------
    InputError
        If the file does not exist, ends in the middle of its compressed stream, is not UTF-8,
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
    # Damage shows only while the caller reads, so these errors come back out of the yield.
    try:
        with raw, io.TextIOWrapper(_decompressed(raw, path), "utf-8-sig", newline="") as text:
            yield text
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error.reason})") from None
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: the compressed file is damaged ({error})") from None


def _decompressed(raw: IO[bytes], path: str | Path) -> IO[bytes]:
    head = raw.read(8)
    raw.seek(0)
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


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside `path` that takes its place if the block succeeds."""
    path = Path(path)
    if not path.parent.is_dir():
        raise OperationalError(f"{path} cannot be written: there is no folder {path.parent}")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
