"""A scripted OpenAI-compatible server on loopback, for tests and benchmarks.

By itself it answers every question with a verdict and log-probabilities that a hash of the request
decides, so that the same question gets the same answer. A script may make it do worse.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Script = Callable[[Mapping[str, Any], int], "Play | None"]
"""From a request's body and its number (from 0) to what is played; None for a sound answer."""

_DECISION = re.compile(r'with one line, "(\w+):')


class Play:
    """What the server does with one request.

    Parameters
    ----------
    status
        Of the HTTP reply.
    body
        What is sent: bytes as they are, anything else as JSON.
    hang
        Seconds to wait first.
    cut
        Send half of the body and drop the connection.
    headers
        Further ones.
    """

    def __init__(
        self,
        status: int = 200,
        body: Any = b"",
        *,
        hang: float = 0.0,
        cut: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.status, self.hang, self.cut = status, hang, cut
        self.body: bytes = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.headers = dict(headers or {})


def completion(
    text: str, p_first: float | None = None, *, finish: str = "stop", refusal: str | None = None
) -> dict[str, Any]:
    """A chat completion whose last word has the probability `p_first`, or has none (None).

    Examples
    --------
    >>> completion("Verdict: True", 0.9)["choices"][0]["message"]["content"]
    'Verdict: True'
    """
    choice: dict[str, Any] = {
        "index": 0,
        "finish_reason": finish,
        "message": {"role": "assistant", "content": text, "refusal": refusal},
        "logprobs": None,
    }
    head, space, last = text.rpartition(" ")
    if p_first is not None:
        choice["logprobs"] = {"content": [_token(head, 1.0), _token(space + last, p_first)]}
    usage = {"prompt_tokens": 100, "completion_tokens": 4, "total_tokens": 104}
    return {"id": "scripted", "object": "chat.completion", "choices": [choice], "usage": usage}


def sound(body: Mapping[str, Any]) -> dict[str, Any]:
    """The answer that a hash of the request decides: a verdict, and a belief in it over a half."""
    asked = json.dumps(body.get("messages"), sort_keys=True) + str(body.get("seed"))
    digest = hashlib.blake2b(asked.encode(), digest_size=8).digest()
    belief = int.from_bytes(digest[1:]) / 2**56
    decision = _DECISION.search(body["messages"][-1]["content"])
    name = decision[1] if decision else "Verdict"
    label = ("True", "False")[digest[0] % 2]
    return completion(f"{name}: {label}", 0.5 + belief / 2 if body.get("logprobs") else None)


class ScriptedServer:
    """Serves for as long as the block lasts.

    Attributes
    ----------
    base_url
        Where.
    asked
        The bodies of the requests so far.

    Examples
    --------
    >>> from riskjudge.llm import Endpoint, ModelClient, Request
    >>> with ScriptedServer() as server:
    ...     client = ModelClient(Endpoint(server.base_url))
    ...     client.ask(Request("m", ({"role": "user", "content": "?"},)), lambda r: r.text[:8])
    'Verdict:'
    """

    def __init__(
        self, script: Script = lambda body, number: None, latency: float = 0.0, port: int = 0
    ) -> None:
        self.asked: list[Mapping[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.most_at_once = 0
        self._under_way = 0
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._script, self._latency = script, latency
        handler = type("Handler", (_Handler,), {"owner": self})
        self._server = _Server(("127.0.0.1", port), handler)
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def play(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> Play:
        """Take note of a request and decide what to do with it."""
        with self._lock:
            number = len(self.asked)
            self.asked.append(body)
            self.headers.append(headers)
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
        play = self._script(body, number) or Play(body=sound(body))
        # An event, so that a server that hangs can be stopped.
        self._stopped.wait(self._latency + play.hang)
        with self._lock:
            self._under_way -= 1
        return play

    def start(self) -> Self:
        """Serve in a thread."""
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed is part of the play."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    owner: ScriptedServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_POST(self) -> None:
        try:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        except ValueError:
            # Half a request: the client was killed while it sent it.
            self.close_connection = True
            return
        play = self.owner.play(body, {k.lower(): v for k, v in self.headers.items()})
        try:
            self.send_response(play.status)
            for name, value in play.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(play.body)))
            self.end_headers()
            self.wfile.write(play.body[: len(play.body) // 2] if play.cut else play.body)
            self.wfile.flush()
        except OSError:
            # The client has given up, which is what a test of time-outs wants.
            play.cut = True
        self.close_connection = self.close_connection or play.cut

    def log_message(self, *_: Any) -> None:
        pass


def _token(text: str, p: float) -> dict[str, Any]:
    other = " False" if text.strip() == "True" else " True"
    entries = [{"token": text, "logprob": math.log(p), "bytes": list(text.encode())}]
    if p < 1.0:
        entries.append({"token": other, "logprob": math.log1p(-p), "bytes": list(other.encode())})
    return {**entries[0], "top_logprobs": entries}


if __name__ == "__main__":
    with ScriptedServer(latency=float(sys.argv[1]) if sys.argv[1:] else 0.0) as _server:
        print(_server.base_url, flush=True)
        while sys.stdin.read(1):
            time.sleep(0.1)
        print(json.dumps({"asked": len(_server.asked)}), flush=True)
