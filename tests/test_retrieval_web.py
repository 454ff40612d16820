"""Web search against a local HTTP server that plays the services: every way to fail, by name."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from riskjudge.data.verdict import FailureKind
from riskjudge.errors import InputError
from riskjudge.retrieval import (
    DDGS,
    Passage,
    Recorder,
    RetrievalError,
    Serper,
    Tavily,
    make_retriever,
    record_queries,
)

KEY = "tvly-0123456789-secret"
SERVICES = {
    "tavily": (Tavily, "results", ("title", "content", "url")),
    "serper": (Serper, "organic", ("title", "snippet", "link")),
}


class Service:
    """Plays a script of replies; the last one is repeated. Keeps what it was sent."""

    def __init__(self):
        self.script, self.received = [], []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                service.received.append((self.path, dict(self.headers), body))
                step = service.script[min(len(service.received), len(service.script)) - 1]
                step(self)

            do_GET = do_POST

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


def says(content, status=200, **headers):
    def step(handler):
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return step


def hangs(handler):
    time.sleep(0.6)


def hangs_up(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"results": [{"ti')


@pytest.fixture
def service(monkeypatch):
    for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TAVILY_API_KEY", KEY)
    monkeypatch.setenv("SERPER_API_KEY", KEY)
    playing = Service()
    yield playing
    playing.server.shutdown()
    playing.server.server_close()


def reply(name, *results):
    _, where, fields = SERVICES[name]
    return {where: [dict(zip(fields, result, strict=True)) for result in results]}


def ask(name, service, k=3, query="capital of Togo", **settings):
    waits = []
    settings = {"timeout": 5.0, "attempts": 1, **settings}
    source = SERVICES[name][0](service.url, sleep=waits.append, **settings)
    return source.search(query, k), waits


def failure(name, service, **settings):
    with pytest.raises(RetrievalError) as caught:
        ask(name, service, **settings)
    assert KEY not in str(caught.value)
    assert caught.value.failure.kind is caught.value.kind
    return caught.value


@pytest.mark.parametrize("name", SERVICES)
def test_results_become_passages(name, service):
    two = [("Togo", "Lomé \n is the capital.", "http://a"), ("Lomé", "A port.", "http://b")]
    service.script = [says(reply(name, *two, ("3", "x", "u"), ("4", "x", "u")))]
    found, _ = ask(name, service)
    assert found[:2] == [
        Passage("Togo", "Lomé is the capital.", "http://a", 1),
        Passage("Lomé", "A port.", "http://b", 2),
    ]
    assert len(found) == 3
    path, headers, body = service.received[0]
    assert path == "/search"
    if name == "tavily":
        assert headers["Authorization"] == f"Bearer {KEY}"
        assert json.loads(body) == {"query": "capital of Togo", "max_results": 3}
    else:
        assert headers["X-Api-Key"] == KEY
        assert json.loads(body) == {"q": "capital of Togo", "num": 3}


@pytest.mark.parametrize("name", SERVICES)
def test_no_result_is_an_answer_and_a_missing_list_is_a_failure(name, service):
    service.script = [says(reply(name))]
    assert ask(name, service)[0] == []
    for wrong in ({"error": "quota"}, [], "text", {SERVICES[name][1]: None},
                  {SERVICES[name][1]: ["x"]}):  # fmt: skip
        service.script = [says(wrong)]
        assert failure(name, service).kind is FailureKind.PARSE


@pytest.mark.parametrize("name", SERVICES)
def test_odd_results_are_cleaned_or_refused(name, service):
    odd = [
        (None, "only a snippet", None),
        ("", "", "http://blank"),
        ("\ud800 half\x1b[2J", "x", "u"),
    ]
    service.script = [says(reply(name, *odd))]
    found, _ = ask(name, service)
    assert [(p.title, p.url, p.rank) for p in found] == [("", "", 1), ("? half [2J", "u", 2)]
    service.script = [says(reply(name, (5, "x", "u")))]
    assert failure(name, service).kind is FailureKind.PARSE


@pytest.mark.parametrize(
    ("step", "kind", "calls"),
    [
        (says({}, 401), FailureKind.STATUS, 1),
        (says({}, 400), FailureKind.STATUS, 1),
        (says({}, 429), FailureKind.STATUS, 3),
        (says({}, 500), FailureKind.STATUS, 3),
        (says({}, 302, Location="/elsewhere"), FailureKind.STATUS, 1),
        (says(b"<html>sorry</html>"), FailureKind.PARSE, 1),
        (says(b"\xff\xfe"), FailureKind.PARSE, 1),
        (says(b"[" * 100_000), FailureKind.PARSE, 1),
        (hangs, FailureKind.TIMEOUT, 3),
        (hangs_up, FailureKind.TRANSPORT, 3),
    ],
)
def test_each_way_to_fail_has_its_kind_and_only_passing_ones_are_retried(
    service, step, kind, calls
):
    service.script = [step]
    assert failure("tavily", service, attempts=3, timeout=0.2).kind is kind
    assert len(service.received) == calls


def test_a_busy_service_is_asked_again_when_it_says(service):
    good = says(reply("serper", ("Togo", "x", "http://a")))
    service.script = [says({}, 429, Retry_After="7"), says({}, 503), says({}, 503), good]
    found, waits = ask("serper", service, attempts=4)
    assert len(found) == 1
    assert waits == [7.0, 2.0, 4.0]
    service.received, service.script = [], [says({}, 429, Retry_After="86400"), good]
    assert ask("serper", service, attempts=2)[1] == [60.0]


def test_nobody_listens(service):
    service.server.shutdown()
    service.server.server_close()
    assert failure("tavily", service).kind is FailureKind.TRANSPORT


def test_the_key_comes_from_the_environment_and_shows_nowhere(service, monkeypatch, tmp_path):
    source = make_retriever(f"tavily:{service.url}")
    assert KEY not in source.describe()
    service.script = [says(reply("tavily", ("Togo", "x", "http://a")))]
    with Recorder(source, tmp_path / "s.jsonl") as recorder:
        recorder.search("capital of Togo", 3)
    assert KEY not in (tmp_path / "s.jsonl").read_text()
    for key, problem in (("", "set TAVILY_API_KEY"), ("a\nb", "no key has"), ("é", "no key has")):
        monkeypatch.setenv("TAVILY_API_KEY", key)
        with pytest.raises(InputError, match=problem):
            make_retriever("tavily:")


@pytest.mark.parametrize("url", ["ftp://x", "localhost:80", "http://u:p@host", "http://h?key=1"])
def test_an_address_that_is_none_or_holds_a_secret_is_refused(service, url):
    with pytest.raises(InputError, match=r"address of|address like"):
        Serper(url)


def test_a_depth_beyond_the_service_is_refused(service):
    with pytest.raises(InputError, match="at most 20 results"):
        ask("tavily", service, k=21)


PAGE = """<html><body>{}</body></html>"""
RESULT = """<div class="result body"><h2>{0}</h2><a href="{1}">{2}</a></div>"""


@pytest.fixture
def duckduckgo(service, monkeypatch):
    """The ddgs package as it is, its engine's address pointed at the local server."""
    engine = pytest.importorskip("ddgs.engines.duckduckgo").Duckduckgo
    monkeypatch.setattr(engine, "search_url", f"{service.url}/html/")
    return service


def test_ddgs_results_become_passages(duckduckgo):
    rows = [("Togo capital", "http://a.org/", "Lomé is the capital of Togo")]
    duckduckgo.script = [says(PAGE.format("".join(RESULT.format(*r) for r in rows)).encode())]
    found = make_retriever("ddgs:duckduckgo").search("capital of Togo", 3)
    assert found == [Passage("Togo capital", "Lomé is the capital of Togo", "http://a.org/", 1)]
    assert b"capital" in duckduckgo.received[0][2]


@pytest.mark.parametrize("step", [says(b"blocked", 403), says(PAGE.format("").encode())])
def test_ddgs_cannot_tell_a_block_from_nothing_so_both_are_failures(duckduckgo, step):
    duckduckgo.script = [step]
    with pytest.raises(RetrievalError, match="blocked engine") as caught:
        DDGS("duckduckgo").search("capital of Togo", 3)
    assert caught.value.kind is FailureKind.STATUS


def test_ddgs_hangs_and_hangs_up(duckduckgo):
    duckduckgo.script = [lambda handler: time.sleep(1.5)]
    with pytest.raises(RetrievalError) as caught:
        DDGS("duckduckgo", timeout=1).search("capital of Togo", 3)
    assert caught.value.kind is FailureKind.TIMEOUT
    duckduckgo.server.shutdown()
    duckduckgo.server.server_close()
    with pytest.raises(RetrievalError) as caught:
        DDGS("duckduckgo").search("capital of Togo", 3)
    assert caught.value.kind is FailureKind.TRANSPORT


def test_ddgs_refuses_an_engine_that_it_would_replace_in_silence():
    pytest.importorskip("ddgs")
    with pytest.raises(InputError, match=r"no engine 'altavista'; it has auto, "):
        make_retriever("ddgs:altavista")


def test_a_recording_with_an_outage_in_the_middle_is_completed_by_a_second_run(service, tmp_path):
    good = says(reply("serper", ("Togo", "x", "http://a")))
    service.script = [good, says({}, 500), good]
    source = Serper(service.url, attempts=1)
    queries = ["q1", "q2", "q3"]
    with Recorder(source, tmp_path / "s.jsonl") as recorder:
        tally = record_queries(recorder, queries, 3, concurrency=1)
    assert (tally.answered, tally.failed) == (2, {FailureKind.STATUS: 1})
    with Recorder(source, tmp_path / "s.jsonl") as recorder:
        tally = record_queries(recorder, queries, 3, concurrency=1)
    assert (tally.answered, tally.failed) == (3, {})
    assert len(service.received) == 4
