"""What a format has to answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from riskjudge.readers.documents import Document
from riskjudge.readers.records import Record


class Format(Protocol):
    """Reads the files of one tool.

    Attributes
    ----------
    name : str
        As ``--format`` takes it.
    """

    name: str

    def recognises(self, document: Document) -> bool:
        """Whether a file looks like one of this tool's."""

    def records(self, document: Document, choices: Mapping[str, str]) -> Iterator[Record]:
        """The items of a file.

        Parameters
        ----------
        document : Document
        choices : mapping of str to str
            What the user said where the file leaves a choice: ``judge``, ``filter``, ``order`` …
        """


def has(row: Mapping[str, Any], *names: str) -> bool:
    """Whether a row has all these fields."""
    return all(name in row for name in names)
