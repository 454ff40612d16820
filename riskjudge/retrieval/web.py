"""Web search: two services that take a key, and one library that takes none.

A web index moves under a judge's feet. Wrap any of these in a
:class:`~riskjudge.retrieval.Recorder`, so that a certificate stays tied to what was seen.
"""

from __future__ import annotations

import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlsplit

from riskjudge.data.verdict import FailureKind
from riskjudge.errors import InputError, OperationalError
from riskjudge.retrieval.http import post_json
from riskjudge.retrieval.passage import Passage, RetrievalError, check_search


@dataclass(frozen=True, slots=True)
class _Fields:
    """Where a service puts its results, and what it calls their parts."""

    results: str
    title: str
    snippet: str
    url: str


class _KeyedSearch(ABC):
    """A search service over HTTPS; its key comes from the environment and goes nowhere else.

    Parameters
    ----------
    url : str
        Another address that speaks the same interface (a proxy of one's own, a test server).
    timeout : float
        Seconds to wait for one answer.
    attempts : int
        How often to ask in all when the service is busy, broken or out of reach.
    sleep : callable
        Waits between attempts; tests pass another.

    Raises
    ------
    InputError
        If the key is missing from the environment or the address is none.
    """

    name: ClassVar[str]
    variable: ClassVar[str]
    home: ClassVar[str]
    most: ClassVar[int]
    fields: ClassVar[_Fields]

    def __init__(
        self,
        url: str = "",
        *,
        timeout: float = 20.0,
        attempts: int = 4,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._url = _address(url or self.home)
        self._key = _key(self.variable)
        self._timeout, self._attempts, self._sleep = timeout, attempts, sleep

    @abstractmethod
    def _ask(self, query: str, k: int) -> tuple[dict[str, str], dict[str, Any]]:
        """Headers and body of the request."""

    def search(self, query: str, k: int) -> list[Passage]:
        """The service's best results, at most `k`.

        Raises
        ------
        RetrievalError
            If the service could not be asked or did not answer in its own form.
        """
        check_search(query, k)
        if k > self.most:
            raise InputError(f"{self.name} returns at most {self.most} results, got k={k}")
        headers, body = self._ask(query, k)
        reply = post_json(
            f"{self._url}/search",
            headers,
            body,
            timeout=self._timeout,
            attempts=self._attempts,
            sleep=self._sleep,
        )
        return _passages(self.name, reply, self.fields, k)

    def describe(self) -> str:
        """The service and its address; never the key."""
        return f"{self.name}:{self._url}"


class Tavily(_KeyedSearch):
    """Tavily's search API; the key is read from ``TAVILY_API_KEY``."""

    name = "tavily"
    variable = "TAVILY_API_KEY"
    home = "https://api.tavily.com"
    most = 20
    fields = _Fields("results", "title", "content", "url")

    def _ask(self, query: str, k: int) -> tuple[dict[str, str], dict[str, Any]]:
        return {"Authorization": f"Bearer {self._key}"}, {"query": query, "max_results": k}


class Serper(_KeyedSearch):
    """Serper's Google search API; the key is read from ``SERPER_API_KEY``."""

    name = "serper"
    variable = "SERPER_API_KEY"
    home = "https://google.serper.dev"
    most = 100
    fields = _Fields("organic", "title", "snippet", "link")

    def _ask(self, query: str, k: int) -> tuple[dict[str, str], dict[str, Any]]:
        return {"X-API-KEY": self._key}, {"q": query, "num": k}


class DDGS:
    """Metasearch without a key, through the ``ddgs`` package (extra ``web``).

    Parameters
    ----------
    backend : str
        One of the package's text engines, or several with commas; ``auto`` lets it choose.
    timeout : int
        Seconds to wait for the engines.

    Raises
    ------
    OperationalError
        If ddgs is not installed.
    InputError
        If the backend is none of the package's; it would fall back to another in silence.

    Notes
    -----
    An engine that blocks the caller and one that finds nothing look the same from here, so "no
    results" is a failure (``status``) and not an empty list.
    """

    def __init__(self, backend: str = "auto", *, timeout: int = 15) -> None:
        try:
            import ddgs
            from ddgs.engines import ENGINES
        except ImportError:
            raise OperationalError(
                "searching the web without a key needs ddgs: pip install 'riskjudge[web]'"
            ) from None
        self._backend = backend or "auto"
        known = ["auto", *sorted(ENGINES["text"])]
        for name in self._backend.split(","):
            if name.strip() not in known:
                raise InputError(f"ddgs has no engine {name!r}; it has {', '.join(known)}")
        self._library, self._timeout = ddgs, timeout

    def search(self, query: str, k: int) -> list[Passage]:
        """The engines' best results, at most `k`."""
        check_search(query, k)
        errors = self._library.exceptions
        try:
            reply = self._library.DDGS(timeout=self._timeout).text(
                query, backend=self._backend, max_results=k
            )
        except errors.TimeoutException:
            raise RetrievalError(
                FailureKind.TIMEOUT, f"ddgs: no answer within {self._timeout} s"
            ) from None
        except errors.RatelimitException:
            raise RetrievalError(FailureKind.STATUS, "ddgs: the engine limits the rate") from None
        except errors.DDGSException as error:
            if "No results" in str(error):
                message = "ddgs: no results, which is also what a blocked engine looks like"
                raise RetrievalError(FailureKind.STATUS, message) from None
            said = " ".join(str(error).split())[:200]
            raise RetrievalError(FailureKind.TRANSPORT, f"ddgs: {said}") from None
        fields = _Fields("results", "title", "body", "href")
        return _passages("ddgs", {"results": reply}, fields, k)

    def describe(self) -> str:
        """The package's version and engine."""
        return f"ddgs:{self._backend} {self._library.__version__}"


def _passages(name: str, reply: Any, fields: _Fields, k: int) -> list[Passage]:
    """Results in the service's own form as passages; one with no text at all is left out."""
    results = reply.get(fields.results) if isinstance(reply, Mapping) else None
    if not isinstance(results, list) or not all(isinstance(entry, Mapping) for entry in results):
        raise RetrievalError(FailureKind.PARSE, f"{name}: the reply has no list `{fields.results}`")
    texts = [
        (
            _text(name, entry, fields.title),
            _text(name, entry, fields.snippet),
            _text(name, entry, fields.url),
        )
        for entry in results
    ]
    kept = [(title, snippet, url) for title, snippet, url in texts if title or snippet]
    return [
        Passage(title, snippet, url, rank)
        for rank, (title, snippet, url) in enumerate(kept[:k], start=1)
    ]


def _text(name: str, entry: Mapping[str, Any], field: str) -> str:
    value = entry.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise RetrievalError(FailureKind.PARSE, f"{name}: `{field}` of a result is no text")
    # Half a surrogate pair is valid JSON and no text, and a control character steers a terminal.
    text = value.encode("utf-8", "replace").decode()
    return " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", text).split())


def _address(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"a search service has an address like https://host, got {url!r}")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise InputError("the address of a search service holds a host and a path, nothing secret")
    return url.rstrip("/")


def _key(variable: str) -> str:
    key = os.environ.get(variable, "").strip()
    if not key:
        raise InputError(f"no key: set {variable} in the environment")
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise InputError(f"{variable} holds characters that no key has")
    return key
