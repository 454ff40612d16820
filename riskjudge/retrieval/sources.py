"""Sources of evidence by the short names that a command line takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from riskjudge.errors import InputError
from riskjudge.retrieval.bm25 import BM25Retriever
from riskjudge.retrieval.passage import Retriever
from riskjudge.retrieval.snapshot import read_snapshot
from riskjudge.retrieval.web import DDGS, Serper, Tavily

KNOWN_SOURCES: Mapping[str, str] = {
    "bm25": "bm25:PASSAGES.jsonl or bm25:FOLDER",
    "snapshot": "snapshot:FILE.jsonl",
    "ddgs": "ddgs: or ddgs:ENGINE",
    "tavily": "tavily: or tavily:URL",
    "serper": "serper: or serper:URL",
}
"""How each source is written."""

_MAKERS: Mapping[str, Callable[[str], Retriever]] = {
    "bm25": BM25Retriever.from_path,
    "snapshot": read_snapshot,
    "ddgs": DDGS,
    "tavily": Tavily,
    "serper": Serper,
}


def make_retriever(spec: str) -> Retriever:
    """A source from ``name:where``.

    Raises
    ------
    InputError
        If there is no such source, its file is missing or damaged, or its key is not in the
        environment.
    OperationalError
        If it needs a package that is not installed.

    Examples
    --------
    >>> make_retriever("altavista:")
    Traceback (most recent call last):
    ...
    riskjudge.errors.InputError: no source of evidence 'altavista:'; there are bm25:PASSAGES...
    """
    name, colon, where = spec.partition(":")
    if not colon or name not in _MAKERS:
        known = "; ".join(KNOWN_SOURCES.values())
        raise InputError(f"no source of evidence {spec!r}; there are {known}")
    if name in ("bm25", "snapshot") and not where:
        raise InputError(f"{spec!r} names no file; write {KNOWN_SOURCES[name]}")
    return _MAKERS[name](where)
