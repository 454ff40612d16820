"""A judge in a container of its own, asked over HTTP.

The contract, version 1. The request is a POST of a JSON object::

    {"contract": 1, "id": "q1", "prompt": "…", "responses": ["…"], "reference": null, "seed": 7}

with one response to grade or two to compare; the label is never sent. The reply has status 200
and is a JSON object with exactly one of ::

    {"boolean": true} | {"score": 0.7} | {"winner": "a"}   a verdict ("a": the first response sent)
    {"undecided": true}                                    it looked and found no preference
    {"abstain": "out_of_scope"}                            it declines, with one of the four reasons

and optionally `confidence` (in [0, 1]) and `disclosure` (an object). Whatever else comes back is
a failure: no answer in time `timeout`; no connection, or one that breaks off, `transport`; another
status, or an `error` beside whatever else, `status`; a body that is not such an object, two answers
at once or a reason outside the closed set `parse`; no answer in it `no_verdict`; a number off its
scale `out_of_range`.
"""

from __future__ import annotations

import http.client
import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from riskjudge.data.verdict import (
    AbstainReason,
    Abstention,
    BooleanVerdict,
    Failure,
    FailureKind,
    Outcome,
    ScoreVerdict,
    Undecided,
    Winner,
    WinnerVerdict,
)
from riskjudge.errors import InputError
from riskjudge.items.item import Item
from riskjudge.judges.protocol import DIRECT, Judgement, failure_from
from riskjudge.ledger.records import VALUES

CONTRACT = 1
_MAX_REPLY = 1 << 20
_ANSWERS = (*VALUES, "abstain")


@dataclass(frozen=True, slots=True)
class SidecarJudge:
    """Asks a judge container over HTTP; the module documents the contract.

    Redirects are not followed and nothing is retried: a failure is stored, and asking again is
    the run's business.

    Parameters
    ----------
    url : str
        Where to POST, ``http`` or ``https``.
    timeout : float
        Seconds for the whole call, connection and reply together.
    seed : int, optional
        Sent along, and stored with each judgement.
    """

    url: str
    timeout: float = 30.0
    seed: int | None = None
    name: str = "sidecar"
    mode: str = DIRECT

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"a sidecar's `url` is http(s)://host…, got {self.url!r}")
        if not 0 < self.timeout < math.inf:
            raise InputError(f"a sidecar's `timeout` is positive, got {self.timeout!r}")

    def __call__(self, item: Item) -> Judgement:
        order = "ab" if len(item.responses) == 2 else None
        reply: Mapping[str, Any] = {}
        try:
            reply = self._exchange(self._request(item))
            outcome = _outcome(reply, pair=len(item.responses) == 2)
        except _Refused as refused:
            outcome = refused.failure
        except Exception as error:
            outcome = failure_from(error)
        if isinstance(outcome, Failure):
            return Judgement(outcome, seed=self.seed, order=order)
        confidence, disclosure = reply.get("confidence"), reply.get("disclosure") or {}
        return Judgement(outcome, confidence, disclosure, seed=self.seed, order=order)

    def _request(self, item: Item) -> bytes:
        content = {
            "contract": CONTRACT,
            "id": item.id,
            "prompt": item.prompt,
            "responses": list(item.responses),
            "reference": item.reference,
            "seed": self.seed,
        }
        return json.dumps(content).encode()

    def _exchange(self, body: bytes) -> Mapping[str, Any]:
        """Send the request and return the reply's JSON object, within the time-out."""
        deadline = time.monotonic() + self.timeout
        parts = urlsplit(self.url)
        kind = (
            http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        )
        connection = kind(parts.hostname or "", parts.port, timeout=self.timeout)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            connection.request("POST", target, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            if response.status != http.client.OK:
                raise _Refused(FailureKind.STATUS, f"HTTP {response.status} {response.reason}")
            text = _read(response, connection, deadline)
        finally:
            connection.close()
        reply = json.loads(text, parse_constant=lambda _: None)
        if not isinstance(reply, dict):
            raise _Refused(FailureKind.PARSE, "the reply is not a JSON object")
        return reply


class _Refused(Exception):
    """A reply that is no answer."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.failure = Failure(kind, message)


def _read(
    response: http.client.HTTPResponse, connection: http.client.HTTPConnection, deadline: float
) -> bytes:
    """The reply's body; a server that drips bytes is cut off at the deadline."""
    text = bytearray()
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the reply did not end in time")
        if connection.sock is not None:
            connection.sock.settimeout(left)
        # read1 returns what is there; read would wait for a full block.
        block = response.read1(65536)
        if not block:
            break
        text += block
        if len(text) > _MAX_REPLY:
            raise _Refused(FailureKind.PARSE, f"the reply is longer than {_MAX_REPLY} bytes")
    if response.length:
        raise http.client.IncompleteRead(bytes(text), response.length)
    return bytes(text)


def _outcome(reply: Mapping[str, Any], pair: bool) -> Outcome:
    """The one answer in a reply, admitted into the closed vocabularies."""
    if reply.get("error"):
        return Failure(FailureKind.STATUS, f"an error in the reply: {reply['error']!r:.200}")
    status = reply.get("status_code")
    if isinstance(status, int) and not isinstance(status, bool) and status >= 400:
        return Failure(FailureKind.STATUS, f"the reply says status {status}")
    confidence, disclosure = reply.get("confidence"), reply.get("disclosure")
    number = isinstance(confidence, (int, float)) and not isinstance(confidence, bool)
    if confidence is not None and not (number and 0 <= confidence <= 1):
        return Failure(FailureKind.OUT_OF_RANGE, f"confidence {confidence!r} is not in [0, 1]")
    if disclosure is not None and not isinstance(disclosure, dict):
        return Failure(FailureKind.PARSE, "`disclosure` is not an object")
    said = [name for name in _ANSWERS if reply.get(name) is not None]
    if len(said) > 1:
        return Failure(FailureKind.PARSE, f"two answers at once: {', '.join(said)}")
    match said, reply.get(said[0]) if said else None:
        case [], _:
            return Failure(FailureKind.NO_VERDICT, "no answer in the reply")
        case ["boolean"], bool(value) if not pair:
            return BooleanVerdict(value)
        case ["score"], (int() | float()) as value if not (pair or isinstance(value, bool)):
            return ScoreVerdict(value)
        case ["winner"], ("a" | "b") as value if pair:
            return WinnerVerdict(Winner(value))
        case ["undecided"], True:
            return Undecided()
        case ["abstain"], value if value in tuple(AbstainReason):
            return Abstention(AbstainReason(value))
        case [name], value:
            shown = "two responses" if pair else "one response"
            return Failure(FailureKind.PARSE, f"`{name}`: {value!r} is no answer to {shown}")
    raise AssertionError("unreachable")
