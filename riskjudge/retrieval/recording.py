"""Recording a snapshot for many queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from riskjudge.data.verdict import FailureKind
from riskjudge.errors import InputError, OperationalError
from riskjudge.retrieval.passage import Passage, RetrievalError
from riskjudge.retrieval.snapshot import Recorder

HOPELESS = 20
"""This many failures before any answer end a recording: a wrong key would fail ten thousand times."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of the queries; every one is in exactly one of the three.

    Attributes
    ----------
    answered : int
        With at least one passage.
    empty : int
        The source answered that it has nothing.
    failed : mapping of FailureKind to int
        Not in the snapshot; only kinds that occurred.
    first_failure : str
        The first failure's message, or empty.
    """

    answered: int
    empty: int
    failed: Mapping[FailureKind, int]
    first_failure: str = ""


def record_queries(
    recorder: Recorder,
    queries: Iterable[str],
    k: int,
    *,
    concurrency: int = 4,
    progress: Callable[[int], None] = lambda _: None,
) -> Tally:
    """Ask the source for every query that the snapshot lacks.

    Parameters
    ----------
    queries : iterable of str
        A repeated one is asked once.
    concurrency : int
        Searches under way at the same time.
    progress : callable
        Called with the number of queries done so far.
    recorder : Recorder
        Keeps what was found.
    k : int
        Passages a query.

    Raises
    ------
    OperationalError
        If the first :data:`HOPELESS` searches all fail; what failed is named.
    """
    if concurrency < 1:
        raise InputError(f"the concurrency is 1 or more, got {concurrency!r}")
    wanted = list(dict.fromkeys(queries))
    answered = empty = 0
    failed: Counter[FailureKind] = Counter()
    first_failure = ""
    with ThreadPoolExecutor(concurrency) as pool:
        searches = _as_completed(pool, recorder, wanted, k, concurrency)
        for done, (query, search) in enumerate(searches, start=1):
            try:
                found = search.result()
            except RetrievalError as error:
                failed[error.kind] += 1
                first_failure = first_failure or f"{query!r}: {error}"
                if answered + empty == 0 and failed.total() >= HOPELESS:
                    raise OperationalError(
                        f"the first {HOPELESS} searches all failed; {first_failure}"
                    ) from None
            else:
                answered, empty = answered + bool(found), empty + (not found)
            progress(done)
    return Tally(answered, empty, dict(failed), first_failure)


def _as_completed(
    pool: ThreadPoolExecutor, recorder: Recorder, queries: Iterable[str], k: int, window: int
) -> Iterator[tuple[str, Future[list[Passage]]]]:
    """Searches as they end, never more than `window` begun, so that stopping stops."""
    running: dict[Future[list[Passage]], str] = {}
    for query in queries:
        if len(running) == window:
            yield from _ended(running)
        running[pool.submit(recorder.search, query, k)] = query
    while running:
        yield from _ended(running)


def _ended(
    running: dict[Future[list[Passage]], str],
) -> list[tuple[str, Future[list[Passage]]]]:
    done, _ = wait(running, return_when=FIRST_COMPLETED)
    return [(running.pop(search), search) for search in done]
