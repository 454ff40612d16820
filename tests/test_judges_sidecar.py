"""The sidecar judge against a real HTTP server on loopback."""

from __future__ import annotations

import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from riskjudge.data.verdict import AbstainReason, Winner, describe
from riskjudge.errors import InputError
from riskjudge.items import Item
from riskjudge.judges import SidecarJudge

SINGLE = Item("q1", "Capital of Chad?", ("N'Djamena",), label=True, references=("N'Djamena",))
PAIR = Item("q1", "Capital of Chad?", ("N'Djamena", "Abuja"), label=Winner.A)


@pytest.fixture
def sidecar():
    """A server whose `reply` is bytes, (status, bytes) or a function of the handler."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.server.requests.append((self.path, json.loads(body)))
            reply = self.server.reply
            if callable(reply):
                reply(self)
                return
            status, content = reply if isinstance(reply, tuple) else (200, reply)
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads, server.requests = True, []
    server.handle_error = lambda *_: None  # the judge hangs up on purpose
    server.url = f"http://127.0.0.1:{server.server_port}/judge?v=1"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


REPLIES = [
    (SINGLE, b'{"boolean": true}', "true"),
    (SINGLE, b'{"boolean": false, "confidence": 0.25}', "false"),
    (SINGLE, b'{"score": 7}', "7.0"),
    (PAIR, b'{"winner": "b"}', "b"),
    (PAIR, b'{"undecided": true}', "undecided"),
    *((SINGLE, json.dumps({"abstain": r}).encode(), f"abstained:{r}") for r in AbstainReason),
    # A bare NaN is null: no confidence, and as a score no answer.
    (SINGLE, b'{"boolean": true, "confidence": NaN}', "true"),
    (SINGLE, b'{"score": NaN}', "failed:no_verdict"),
    (SINGLE, b'{"abstain": "tired"}', "failed:parse"),
    (SINGLE, b'{"abstain": "panel_split", "boolean": true}', "failed:parse"),
    (SINGLE, b'{"boolean": true, "score": 1}', "failed:parse"),
    (SINGLE, b'{"boolean": true, "error": "boom"}', "failed:status"),
    (SINGLE, b'{"boolean": true, "status_code": 500}', "failed:status"),
    (SINGLE, b'{"boolean": true, "error": null}', "true"),
    (SINGLE, b'{"boolean": 1}', "failed:parse"),
    (SINGLE, b'{"score": "90"}', "failed:parse"),
    (SINGLE, b'{"score": 1e999}', "failed:out_of_range"),
    (SINGLE, b'{"winner": "a"}', "failed:parse"),
    (PAIR, b'{"boolean": true}', "failed:parse"),
    (PAIR, b'{"winner": "A"}', "failed:parse"),
    (SINGLE, b'{"undecided": false}', "failed:parse"),
    (SINGLE, b"{}", "failed:no_verdict"),
    (SINGLE, b'{"preference": null}', "failed:no_verdict"),
    (SINGLE, b'{"boolean": true, "confidence": 90}', "failed:out_of_range"),
    (SINGLE, b'{"boolean": true, "disclosure": "x"}', "failed:parse"),
    (SINGLE, b"[ERROR] HTTP 429", "failed:parse"),
    (SINGLE, b"\xff\xfe", "failed:parse"),
    (SINGLE, b"", "failed:parse"),
    (SINGLE, b'["boolean"]', "failed:parse"),
    (SINGLE, (401, b'{"boolean": true}'), "failed:status"),
    (SINGLE, (429, b'{"boolean": true}'), "failed:status"),
    (SINGLE, (500, b"oops"), "failed:status"),
    (SINGLE, (302, b""), "failed:status"),
    (SINGLE, b" " * (1 << 21), "failed:parse"),
]


@pytest.mark.parametrize(("item", "reply", "outcome"), REPLIES)
def test_each_reply_ends_as_one_outcome(sidecar, item, reply, outcome):
    sidecar.reply = reply
    assert describe(SidecarJudge(sidecar.url, timeout=5)(item).outcome) == outcome


def test_the_request_never_holds_the_label(sidecar):
    sidecar.reply = b'{"winner": "a", "confidence": 0.75, "disclosure": {"model": "m"}}'
    judgement = SidecarJudge(sidecar.url, seed=7)(PAIR)
    assert sidecar.requests == [
        (
            "/judge?v=1",
            {
                "contract": 1,
                "id": "q1",
                "prompt": "Capital of Chad?",
                "responses": ["N'Djamena", "Abuja"],
                "reference": None,
                "seed": 7,
            },
        )
    ]
    assert (judgement.confidence, judgement.seed, judgement.order) == (0.75, 7, "ab")
    assert judgement.disclosure == {"model": "m"}


def hang(handler):
    time.sleep(0.6)


def drip(handler):
    handler.send_response(200)
    handler.end_headers()
    for _ in range(10):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.06)


def cut_in_half(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", "100")
    handler.end_headers()
    handler.wfile.write(b'{"boolean": tr')


def hang_up(handler):
    handler.connection.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (hang, "failed:timeout"),
        (drip, "failed:timeout"),
        (cut_in_half, "failed:transport"),
        (hang_up, "failed:transport"),
    ],
)
def test_a_server_that_breaks_is_a_failure(sidecar, reply, outcome):
    sidecar.reply = reply
    started = time.monotonic()
    assert describe(SidecarJudge(sidecar.url, timeout=0.3)(SINGLE).outcome) == outcome
    assert time.monotonic() - started < 5


def test_no_server_is_a_failure():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    assert describe(SidecarJudge(url, timeout=1)(SINGLE).outcome) == "failed:transport"


@pytest.mark.parametrize("url", ["ftp://x", "localhost:80", "http://", ""])
def test_a_url_that_is_none_is_turned_away(url):
    with pytest.raises(InputError, match="`url`"):
        SidecarJudge(url)
    with pytest.raises(InputError, match="`timeout`"):
        SidecarJudge("http://x", timeout=0)
