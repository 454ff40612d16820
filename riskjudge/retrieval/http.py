"""One JSON request to a search service, and every way in which it can fail by name."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from riskjudge.data.verdict import FailureKind
from riskjudge.retrieval.passage import RetrievalError

_LARGEST_REPLY = 16 * 1024 * 1024
_LONGEST_WAIT = 60.0


class _NoRedirect(HTTPRedirectHandler):
    """A redirect would carry the key to another host, so it is reported instead."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = build_opener(_NoRedirect)


def post_json(
    url: str,
    headers: Mapping[str, str],
    body: Mapping[str, Any],
    *,
    timeout: float,
    attempts: int,
    sleep: Callable[[float], None] = time.sleep,
) -> Any:
    """POST `body` and return the parsed reply.

    Asks again, after 1, 2, 4 … seconds or what the service says in ``Retry-After``, when the
    service is busy (429), broken (5xx), silent or out of reach; not when it says no.

    Raises
    ------
    RetrievalError
        ``timeout``, ``status`` (with the code), ``transport``, or ``parse`` for a reply that is
        no JSON. The message never holds a header or the body that was sent.
    """
    for attempt in range(attempts):
        try:
            return _post(url, headers, body, timeout)
        except _Busy as busy:
            if attempt + 1 == attempts:
                raise busy.error from None
            sleep(min(busy.wait if busy.wait is not None else 2.0**attempt, _LONGEST_WAIT))
    raise AssertionError("attempts is at least 1")


class _Busy(Exception):
    """Worth asking again; `error` is what it comes to if that does not help."""

    def __init__(self, error: RetrievalError, wait: float | None = None) -> None:
        self.error = error
        self.wait = wait


def _post(url: str, headers: Mapping[str, str], body: Mapping[str, Any], timeout: float) -> Any:
    data = json.dumps(body).encode()
    request = Request(url, data, {"Content-Type": "application/json", **headers}, method="POST")
    try:
        with _OPENER.open(request, timeout=timeout) as reply:
            content = reply.read(_LARGEST_REPLY + 1)
            missing = reply.length or 0  # a read with a limit does not notice a short reply
    except HTTPError as error:
        error.close()
        failure = RetrievalError(FailureKind.STATUS, f"{url} answered HTTP {error.code}")
        if error.code == 429 or error.code >= 500:
            raise _Busy(failure, _seconds(error.headers.get("Retry-After"))) from None
        raise failure from None
    except TimeoutError:
        raise _Busy(_timeout(url, timeout)) from None
    except (URLError, HTTPException, OSError) as error:
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError):
            raise _Busy(_timeout(url, timeout)) from None
        said = f"{url} cannot be reached: {type(reason).__name__}"
        raise _Busy(RetrievalError(FailureKind.TRANSPORT, said)) from None
    if len(content) > _LARGEST_REPLY:
        raise RetrievalError(FailureKind.PARSE, f"{url}: the reply is longer than 16 MiB")
    if missing:
        raise _Busy(RetrievalError(FailureKind.TRANSPORT, f"{url}: the reply was cut off"))
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise RetrievalError(FailureKind.PARSE, f"{url}: the reply is not JSON") from None


def _timeout(url: str, timeout: float) -> RetrievalError:
    return RetrievalError(FailureKind.TIMEOUT, f"{url}: no answer within {timeout:g} s")


def _seconds(text: str | None) -> float | None:
    try:
        return max(0.0, float(text or ""))
    except ValueError:
        return None
