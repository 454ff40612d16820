"""How far two snapshots of the same queries have drifted apart.

The thresholds of a retrieval mode were fitted on what the source answered then. Where it answers
otherwise now, the judge reads other evidence, and the certificate speaks of the past. The paper
(Table 3) re-asks its queries after three months and finds a mean Jaccard overlap of the top-3 URLs
of .30 on TriviaQA and .24 on HotpotQA.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from riskjudge.errors import InputError
from riskjudge.retrieval.passage import Passage
from riskjudge.retrieval.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class QueryOverlap:
    """Overlap of one query's top-k.

    Attributes
    ----------
    unranked : float or None
        Jaccard index of the two sets of URLs: shared over all.
    ranked : float or None
        Jaccard index of the two sets of (rank, URL): only a page that kept its place counts. It
        is 1 exactly where the judge would be shown the same pages in the same order.

    Notes
    -----
    Both are None (undefined) where neither snapshot has any result.
    """

    query: str
    unranked: float | None
    ranked: float | None


@dataclass(frozen=True, slots=True)
class Drift:
    """Two snapshots compared on the queries that they share.

    Attributes
    ----------
    k : int
        Depth of the comparison.
    queries : tuple of QueryOverlap
        In the order of the first snapshot.
    only_first, only_second : tuple of str
        Queries that the other does not answer; they are in no mean.
    """

    k: int
    queries: tuple[QueryOverlap, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]

    @property
    def mean_unranked(self) -> float | None:
        """Mean over the shared queries where it is defined; None if there is none."""
        return _mean(overlap.unranked for overlap in self.queries)

    @property
    def mean_ranked(self) -> float | None:
        """Mean over the shared queries where it is defined; None if there is none."""
        return _mean(overlap.ranked for overlap in self.queries)

    @property
    def undefined(self) -> int:
        """Shared queries to which neither snapshot has a result."""
        return sum(overlap.unranked is None for overlap in self.queries)

    @property
    def unchanged(self) -> int:
        """Shared queries with the same pages in the same order."""
        return sum(overlap.ranked == 1.0 for overlap in self.queries)

    def to_dict(self) -> dict[str, Any]:
        """JSON values; an undefined mean is null."""
        return {
            "k": self.k,
            "shared": len(self.queries),
            "mean_unranked": self.mean_unranked,
            "mean_ranked": self.mean_ranked,
            "unchanged": self.unchanged,
            "undefined": self.undefined,
            "only_first": list(self.only_first),
            "only_second": list(self.only_second),
            "queries": [
                {"query": entry.query, "unranked": entry.unranked, "ranked": entry.ranked}
                for entry in self.queries
            ],
        }


def compare_snapshots(first: Snapshot, second: Snapshot, k: int) -> Drift:
    """Jaccard overlap of the top-k, ranked and unranked, query by query.

    Raises
    ------
    InputError
        If they share no query, or either was recorded with a smaller k.

    Examples
    --------
    >>> from riskjudge.retrieval.snapshot import Search
    >>> def taken(*urls):
    ...     pages = tuple(Passage(url, "", url, rank) for rank, url in enumerate(urls, start=1))
    ...     return Snapshot("s", {"q": Search("q", "2026-01-31", "web", 3, pages)}, "")
    >>> compare_snapshots(taken("a", "b", "c"), taken("a", "c", "d"), 3).queries
    (QueryOverlap(query='q', unranked=0.5, ranked=0.2),)
    """
    shared = [query for query in first.searches if query in second.searches]
    if not shared:
        raise InputError(f"{first.name} and {second.name} share no query")
    overlaps = tuple(
        _overlap(query, first.searches[query].top(k), second.searches[query].top(k))
        for query in shared
    )
    return Drift(
        k,
        overlaps,
        tuple(query for query in first.searches if query not in second.searches),
        tuple(query for query in second.searches if query not in first.searches),
    )


def page(passage: Passage) -> str:
    """What makes two results the same page: the URL, less what does not change the page.

    Scheme, case of the host, a trailing slash and the fragment of a web address are left out. A
    passage without an address is known by its text.

    Examples
    --------
    >>> page(Passage("t", "s", "http://Example.org/a/#part", 1))
    'example.org/a'
    """
    parts = urlsplit(passage.url)
    if parts.scheme in ("http", "https"):
        query = f"?{parts.query}" if parts.query else ""
        return f"{parts.netloc.lower()}{parts.path.rstrip('/')}{query}"
    return passage.url or f"{passage.title}\n{passage.snippet}"


def _overlap(query: str, first: Sequence[Passage], second: Sequence[Passage]) -> QueryOverlap:
    a, b = ([page(passage) for passage in found] for found in (first, second))
    return QueryOverlap(
        query, _jaccard(set(a), set(b)), _jaccard(set(enumerate(a)), set(enumerate(b)))
    )


def _jaccard(a: set[Any], b: set[Any]) -> float | None:
    return len(a & b) / len(a | b) if a | b else None


def _mean(values: Iterable[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return sum(defined) / len(defined) if defined else None
