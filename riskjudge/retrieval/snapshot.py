"""Snapshots: what a source answered, when, and in which order; kept, replayed, never mixed.

A snapshot is a JSONL file, one search a line::

    {"query": "…", "time": "2026-01-31T12:00:00+00:00", "retriever": "tavily:…", "k": 3,
     "results": [{"rank": 1, "title": "…", "snippet": "…", "url": "…"}]}

A query stands in it once: two answers to one query are two snapshots. A search that failed is not
in it, so recording again asks for exactly what is missing.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from riskjudge.data.verdict import FailureKind
from riskjudge.errors import InputError
from riskjudge.io.append_only import AppendOnlyFile
from riskjudge.io.files import Closing
from riskjudge.io.jsonl import json_lines, parse_object
from riskjudge.retrieval.passage import Passage, RetrievalError, Retriever, check_search


@dataclass(frozen=True, slots=True)
class Search:
    """One search as it was answered: `k` passages were asked for at `time` (ISO 8601)."""

    query: str
    time: str
    retriever: str
    k: int
    passages: tuple[Passage, ...]

    def top(self, k: int) -> list[Passage]:
        """The best `k`; `InputError` if fewer were asked for, because the rest is unknown."""
        if k > self.k:
            raise InputError(
                f"the search {self.query!r} was recorded with k={self.k}, and {k} passages are "
                f"wanted; record a new snapshot with k={k}, or ask for at most {self.k}"
            )
        return list(self.passages[:k])


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A file of recorded searches, replayed offline.

    Attributes
    ----------
    name : str
        The file's name.
    searches : mapping of str to Search
        By query.
    fingerprint : str
        SHA-256 over the file's lines.
    """

    name: str
    searches: Mapping[str, Search]
    fingerprint: str

    def search(self, query: str, k: int) -> list[Passage]:
        """What the source answered when the snapshot was taken.

        Raises
        ------
        RetrievalError
            ``status``, if this query was never answered: that is a gap and no empty answer.
        InputError
            If more passages are wanted than were recorded.
        """
        check_search(query, k)
        found = self.searches.get(query)
        if found is None:
            raise RetrievalError(FailureKind.STATUS, f"{self.name} has no search {query!r}")
        return found.top(k)

    def describe(self) -> str:
        """The file by name and fingerprint."""
        return f"snapshot:{self.name}@{self.fingerprint[:12]}"


def read_snapshot(path: str | Path) -> Snapshot:
    """Read a snapshot.

    Raises
    ------
    InputError
        Naming the line: broken JSON, a missing or wrong field, a query that occurs twice.
    """
    searches: dict[str, Search] = {}
    digest = hashlib.sha256()
    for number, line in json_lines(path):
        try:
            found = _search(parse_object(line))
            if found.query in searches:
                raise InputError(f"duplicate query {found.query!r}")
        except InputError as error:
            raise InputError(f"{path}, line {number}: {error}") from None
        searches[found.query] = found
        digest.update(line.strip() + b"\n")
    return Snapshot(Path(path).name, searches, digest.hexdigest())


class Recorder(Closing):
    """A source whose answers are kept in a snapshot file as they come.

    A query that the file already answers is replayed from it, so a recording that was interrupted
    goes on where it stopped. A failed search is not kept. Safe for several threads; one process
    at a time.

    Parameters
    ----------
    retriever : Retriever
        The source.
    path : str or path
        The snapshot; made if it does not exist.
    clock : callable
        Gives the time of a search; tests pass another.

    Raises
    ------
    InputError
        If the file holds answers of another source, or is damaged other than in its last line.
    OperationalError
        If another process is recording into it, or the disk refuses a write.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from riskjudge.retrieval.bm25 import BM25Retriever
    >>> from riskjudge.retrieval.corpus import Document
    >>> source = BM25Retriever([Document("Togo", "The capital is Lomé.", "u1")])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "snapshot.jsonl"
    >>> with Recorder(source, path) as recorder:
    ...     live = recorder.search("capital of Togo", 3)
    >>> read_snapshot(path).search("capital of Togo", 3) == live
    True
    """

    def __init__(
        self,
        retriever: Retriever,
        path: str | Path,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.path = Path(path)
        self._retriever, self._clock = retriever, clock
        self._mutex = threading.Lock()
        self._turns: dict[str, threading.Lock] = {}
        self._file = AppendOnlyFile(self.path)
        try:
            self._searches = dict(read_snapshot(self.path).searches)
            self._refuse_other_sources()
        except BaseException:
            self._file.close()
            raise

    @property
    def searches(self) -> Mapping[str, Search]:
        """What has been recorded so far, by query."""
        return dict(self._searches)

    def search(self, query: str, k: int) -> list[Passage]:
        """Replay the query if it is recorded, else ask the source and record its answer."""
        check_search(query, k)
        with self._turn(query):
            found = self._searches.get(query)
            if found is None:
                time = self._clock().isoformat(timespec="seconds")
                passages = tuple(self._retriever.search(query, k))
                found = Search(query, time, self._retriever.describe(), k, passages)
                self._keep(found)
        return found.top(k)

    def describe(self) -> str:
        """The source's own description: what was recorded is what it said."""
        return self._retriever.describe()

    def _turn(self, query: str) -> threading.Lock:
        """One at a time for each query: five answers to one question are one search, not five."""
        with self._mutex:
            return self._turns.setdefault(query, threading.Lock())

    def _keep(self, search: Search) -> None:
        line = json.dumps(_record(search), ensure_ascii=False, separators=(",", ":")) + "\n"
        with self._mutex:
            self._file.append(line.encode())
            self._searches[search.query] = search

    def _refuse_other_sources(self) -> None:
        own = self._retriever.describe()
        for search in self._searches.values():
            if search.retriever != own:
                raise InputError(
                    f"{self.path} holds answers of {search.retriever!r}, and this is {own!r}; "
                    "a snapshot has one source, so record into a new file"
                )

    def close(self) -> None:
        """Close the file and give up the lock."""
        self._file.close()


def _record(search: Search) -> dict[str, Any]:
    return {
        "query": search.query,
        "time": search.time,
        "retriever": search.retriever,
        "k": search.k,
        "results": [asdict(passage) for passage in search.passages],
    }


def _search(record: Any) -> Search:
    """Admit a stored line, or say what is wrong with it."""
    if not isinstance(record, dict):
        raise InputError("a search is a JSON object")
    for name, kind in (("query", str), ("time", str), ("retriever", str), ("k", int)):
        if not isinstance(record.get(name), kind) or isinstance(record.get(name), bool):
            raise InputError(f"`{name}` is a {kind.__name__}, got {record.get(name)!r}")
    check_search(record["query"], record["k"])
    results = record.get("results")
    if not isinstance(results, list):
        raise InputError("`results` is a list of passages")
    if len(results) > record["k"]:
        raise InputError(f"{len(results)} results where k={record['k']} were asked for")
    passages = tuple(_passage(entry) for entry in results)
    if [passage.rank for passage in passages] != list(range(1, len(passages) + 1)):
        raise InputError("the ranks of `results` run 1, 2, 3 …")
    return Search(record["query"], record["time"], record["retriever"], record["k"], passages)


def _passage(entry: Any) -> Passage:
    names = ("title", "snippet", "url", "rank")
    if not isinstance(entry, dict) or any(name not in entry for name in names):
        raise InputError(f"a result is an object with {', '.join(names)}")
    return Passage(*(entry[name] for name in names))
