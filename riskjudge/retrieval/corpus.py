"""Passages on this machine: a JSONL file, or a folder of text files cut into paragraphs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riskjudge.errors import InputError
from riskjudge.io.files import open_text
from riskjudge.io.jsonl import read_objects

PARAGRAPH_WORDS = 120
"""Paragraphs of a text file are joined up to this many words; a longer one stays whole."""

_TEXT_ENDINGS = (".txt", ".md")


@dataclass(frozen=True, slots=True)
class Document:
    """A passage that can be found; `url` names it and is unique in its corpus."""

    title: str
    text: str
    url: str


def read_corpus(path: str | Path) -> list[Document]:
    """Read the passages of a file or a folder.

    Parameters
    ----------
    path : str or path
        A JSONL file, a line an object with `text` (or `snippet`), and optionally `title` and
        `url` (or `id`; by default the file's name and line). A ``.txt`` or ``.md`` file, cut at
        blank lines. Or a folder with any of these at any depth; hidden ones are left out.

    Raises
    ------
    InputError
        Naming the file and line: broken JSON, a missing text, a URL that occurs twice; or if
        there is no passage at all.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "chad.txt").write_text("The capital is N'Djamena.")
    >>> read_corpus(folder)
    [Document(title='chad', text="The capital is N'Djamena.", url='chad.txt#1')]
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path}: no such file or folder of passages")
    seen: set[str] = set()
    documents = []
    for where, document in _folder(path) if path.is_dir() else _file(path, path.name):
        if document.url in seen:
            raise InputError(f"{where}: duplicate passage {document.url!r}")
        seen.add(document.url)
        documents.append(document)
    if not documents:
        raise InputError(f"{path}: no passage in it; .jsonl, .txt and .md files are read")
    return documents


def fingerprint(documents: Iterable[Document]) -> str:
    """SHA-256 over all that the passages say, in their order."""
    digest = hashlib.sha256()
    for document in documents:
        line = json.dumps([document.title, document.text, document.url])
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()


def _folder(folder: Path) -> Iterator[tuple[str, Document]]:
    for path in sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).parts):
        inside = path.relative_to(folder)
        if any(part.startswith(".") for part in inside.parts) or not path.is_file():
            continue
        if path.suffix in (".jsonl", *_TEXT_ENDINGS):
            yield from _file(path, inside.as_posix())


def _file(path: Path, name: str) -> Iterator[tuple[str, Document]]:
    if path.suffix not in _TEXT_ENDINGS:
        yield from _jsonl(path, name)
        return
    with open_text(path) as file:
        text = file.read()
    for number, paragraph in enumerate(_paragraphs(text), start=1):
        yield str(path), Document(path.stem, paragraph, f"{name}#{number}")


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs, short neighbours joined."""
    held: list[str] = []
    for block in text.replace("\r\n", "\n").split("\n\n"):
        words = block.split()
        if held and len(held) + len(words) > PARAGRAPH_WORDS:
            yield " ".join(held)
            held = []
        held += words
    if held:
        yield " ".join(held)


def _jsonl(path: Path, name: str) -> Iterator[tuple[str, Document]]:
    for number, record in read_objects(path):
        where = f"{path}, line {number}"
        yield where, _document(record, f"{name}#{number}", where)


def _document(record: dict[str, Any], default_url: str, where: str) -> Document:
    def field(*names: str) -> str:
        for name in names:
            value = record.get(name)
            if value is not None:
                if not isinstance(value, str):
                    raise InputError(f"{where}: `{name}` is a text, got {value!r}")
                return value
        return ""

    text = field("text", "snippet")
    if not text.strip():
        raise InputError(f"{where}: a passage needs a `text` (or `snippet`) that is not blank")
    return Document(field("title"), text, field("url", "id") or default_url)
