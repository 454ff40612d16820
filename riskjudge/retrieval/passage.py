"""A piece of evidence, who may search for it, and the way a search fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from riskjudge.data.verdict import Failure, FailureKind
from riskjudge.errors import InputError, OperationalError


@dataclass(frozen=True, slots=True)
class Passage:
    """One search result.

    What it says is data and may be wrong or hostile: whoever puts it into a prompt fences it.

    Parameters
    ----------
    title, snippet : str
        What the source shows of it; at least one of them is not blank.
    url : str
        Where it stands. Two passages are the same piece of evidence if their URLs agree.
    rank : int
        1 for the best result of its search.

    Examples
    --------
    >>> Passage("Chad", "The capital is N'Djamena.", "https://example.org/chad", 1).rank
    1
    >>> Passage("Chad", "The capital is N'Djamena.", "https://example.org/chad", 0)
    Traceback (most recent call last):
    ...
    riskjudge.errors.InputError: passage 'https://example.org/chad': the rank is 1 or more, got 0
    """

    title: str
    snippet: str
    url: str
    rank: int

    def __post_init__(self) -> None:
        for name in ("title", "snippet", "url"):
            value = getattr(self, name)
            if not isinstance(value, str):
                raise InputError(f"passage {self.url!r}: the {name} is a text, got {value!r}")
        if not isinstance(self.rank, int) or isinstance(self.rank, bool) or self.rank < 1:
            raise InputError(f"passage {self.url!r}: the rank is 1 or more, got {self.rank!r}")
        if not (self.title.strip() or self.snippet.strip()):
            raise InputError(f"passage {self.url!r}: both title and snippet are blank")


@runtime_checkable
class Retriever(Protocol):
    """Whatever finds passages for a query. May be called from several threads at once."""

    def search(self, query: str, k: int) -> list[Passage]:
        """The best passages, at most `k`, ranked from 1.

        An empty list means that the source answered and has nothing. A search that broke raises
        :class:`RetrievalError`, so that no judge mistakes an outage for missing evidence.
        """

    def describe(self) -> str:
        """One line for the ledger row: which source, and what fixes its answers. No secrets."""


class RetrievalError(OperationalError):
    """A search broke; `kind` says how, in the words of the closed set of failures.

    Examples
    --------
    >>> RetrievalError(FailureKind.TIMEOUT, "no answer within 10 s").failure
    Failure(kind=<FailureKind.TIMEOUT: 'timeout'>, message='retrieval: no answer within 10 s')
    """

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind

    @property
    def failure(self) -> Failure:
        """The outcome of a judgement that needed this evidence."""
        return Failure(self.kind, f"retrieval: {self}")


def check_search(query: str, k: int) -> None:
    """Refuse a search that no source could answer."""
    if not isinstance(query, str) or not query.strip():
        raise InputError(f"a query is a text that is not blank, got {query!r}")
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise InputError(f"k, the number of passages, is 1 or more, got {k!r}")
