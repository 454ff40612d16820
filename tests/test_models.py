"""The model client against a real HTTP server that misbehaves in every way it can."""

import json
import logging
import math
import sqlite3
import threading
import time

import pytest

pytest.importorskip("openai", reason="the extra `openai` is not installed")

from scripted_server import Play, ScriptedServer, completion

from riskjudge.data.verdict import BooleanVerdict, Failure, FailureKind, ItemStatus
from riskjudge.errors import InputError, OperationalError
from riskjudge.items import Item
from riskjudge.judges import judge_item, run_into_ledger
from riskjudge.judges.model import ModelJudge, ModelSettings
from riskjudge.ledger import LedgerWriter, read_ledger
from riskjudge.llm import (
    Budget,
    Endpoint,
    ModelClient,
    ModelError,
    RateLimit,
    ReplyCache,
    Request,
    parse_reply,
)
from riskjudge.llm import client as client_module
from riskjudge.prompts import load_prompt

ITEM = Item("q1", "Capital of Chad?", ("Abuja",), references=("N'Djamena",))
SECRET = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch):
    monkeypatch.setattr(client_module, "FIRST_WAIT", 0.01)


def judge_for(server, *, cache=None, budget=None, rate=None, tries=2, timeout=5.0, **settings):
    endpoint = Endpoint(server.base_url, timeout=timeout)
    client = ModelClient(endpoint, cache, budget, rate, tries)
    return ModelJudge(client, load_prompt("parametric"), ModelSettings("m", **settings))


def played(play, **options):
    """The row that one item ends as if the server always does this, and the calls it got."""
    with ScriptedServer(lambda body, number: play) as server:
        row = judge_item(judge_for(server, **options), ITEM)
        return row, len(server.asked)


@pytest.mark.parametrize(
    ("play", "kind", "calls"),
    [
        pytest.param(Play(401, b"bad key"), FailureKind.STATUS, 1, id="401"),
        pytest.param(Play(400, b"bad request"), FailureKind.STATUS, 1, id="400"),
        pytest.param(Play(404, b"no model"), FailureKind.STATUS, 1, id="404"),
        pytest.param(Play(408, b""), FailureKind.STATUS, 1, id="408"),
        pytest.param(Play(409, b""), FailureKind.STATUS, 1, id="409"),
        pytest.param(Play(429, b"slow down"), FailureKind.STATUS, 2, id="429"),
        pytest.param(Play(500, b"oops"), FailureKind.STATUS, 2, id="500"),
        pytest.param(Play(503, b""), FailureKind.STATUS, 2, id="503"),
        pytest.param(
            Play(302, b"", headers={"Location": "http://127.0.0.1:9/"}),
            FailureKind.STATUS,
            1,
            id="redirect",
        ),
        pytest.param(Play(200, b"<html>busy</html>"), FailureKind.PARSE, 1, id="garbage"),
        pytest.param(Play(200, b""), FailureKind.PARSE, 1, id="empty"),
        pytest.param(Play(200, b"\xff\xfe\x00"), FailureKind.PARSE, 1, id="bytes"),
        pytest.param(Play(200, b"[" * 100_000), FailureKind.PARSE, 1, id="deep"),
        pytest.param(Play(200, {"choices": []}), FailureKind.PARSE, 1, id="no choice"),
        pytest.param(Play(200, {"error": "x"}), FailureKind.PARSE, 1, id="error object"),
        pytest.param(Play(200, completion("No idea")), FailureKind.PARSE, 1, id="no decision"),
        pytest.param(
            Play(200, completion("[ERROR] HTTP 429")), FailureKind.PARSE, 1, id="digits in an error"
        ),
        pytest.param(
            Play(200, completion("Verdict:", finish="length")),
            FailureKind.TRUNCATED,
            1,
            id="cut off",
        ),
        pytest.param(
            Play(200, completion("", refusal="I can't help")), FailureKind.REFUSAL, 1, id="refusal"
        ),
        pytest.param(
            Play(200, completion("", finish="content_filter")), FailureKind.REFUSAL, 1, id="filter"
        ),
        pytest.param(
            Play(200, completion("Verdict: True", 0.9), cut=True),
            FailureKind.TRANSPORT,
            1,
            id="cut in half",
        ),
    ],
)
def test_each_failure_ends_as_its_own_kind(play, kind, calls):
    row, asked = played(play)
    assert row.status is ItemStatus.SCORE_FAILED
    assert row.outcome.kind is kind
    assert row.confidence is None
    assert asked == calls


def test_a_hanging_server_times_out_and_is_asked_again():
    row, asked = played(Play(hang=30.0), timeout=0.3)
    assert row.outcome == Failure(FailureKind.TIMEOUT, "no reply in time")
    assert asked == 2


def test_no_server_is_a_transport_failure():
    with ScriptedServer() as server:
        judge = judge_for(server)
    assert judge(ITEM).outcome.kind is FailureKind.TRANSPORT


def test_a_failure_that_passes_costs_only_a_retry():
    with ScriptedServer(lambda body, number: Play(503) if number == 0 else None) as server:
        judgement = judge_for(server)(ITEM)
    assert isinstance(judgement.outcome, BooleanVerdict)
    assert len(server.asked) == 2


def test_the_endpoint_says_how_long_to_wait():
    slow = Play(429, headers={"Retry-After": "0.4"})
    with ScriptedServer(lambda body, number: slow if number == 0 else None) as server:
        started = time.monotonic()
        judge_for(server)(ITEM)
    assert time.monotonic() - started >= 0.4


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda choice: choice.update(logprobs=None), "no logprobs in the reply"),
        (lambda choice: choice.pop("logprobs"), "no logprobs in the reply"),
        (lambda choice: choice["logprobs"].update(content=[]), "no logprobs in the reply"),
        (
            lambda choice: [t.update(top_logprobs=None) for t in choice["logprobs"]["content"]],
            "no alternatives (top_logprobs) at the verdict token",
        ),
        (
            lambda choice: [t.update(top_logprobs=[]) for t in choice["logprobs"]["content"]],
            "no alternatives (top_logprobs) at the verdict token",
        ),
        (lambda choice: choice["logprobs"]["content"].pop(), "the tokens do not spell the reply"),
        (
            lambda choice: choice["logprobs"]["content"][0].update(logprob="high"),
            "no logprobs in the reply",
        ),
    ],
)
def test_a_verdict_without_logprobs_stands_and_says_why_its_confidence_is_missing(change, reason):
    body = completion("Verdict: True", 0.9)
    change(body["choices"][0])
    row, _ = played(Play(body=body))
    assert row.outcome == BooleanVerdict(True)
    assert row.status is ItemStatus.GRADED
    assert row.confidence is None
    assert row.disclosure["confidence_missing"] == reason


def test_what_a_sound_reply_leaves_in_the_row():
    row, _ = played(Play(body=completion("Verdict: False", 0.8)))
    assert row.outcome == BooleanVerdict(False)
    assert row.confidence == pytest.approx(0.8)
    assert row.disclosure["p_true"] == pytest.approx(0.2)
    assert row.disclosure["label_mass"] == pytest.approx(1.0)
    assert row.disclosure["prompt"] == load_prompt("parametric").id


def test_the_request_is_one_greedy_pass_with_logprobs():
    with ScriptedServer() as server:
        judge_for(server, extra={"max_tokens": None, "max_completion_tokens": 9})(ITEM)
    (body,) = server.asked
    assert body["temperature"] == 0
    assert body["logprobs"] is True
    assert body["top_logprobs"] == 20
    assert "max_tokens" not in body
    assert body["max_completion_tokens"] == 9
    assert [message["role"] for message in body["messages"]] == ["system", "user"]


def test_the_key_reaches_the_server_and_nothing_else(tmp_path, monkeypatch, caplog, capfd):
    """Even if the server quotes it, in an error, in a reply, or in garbage."""
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    caplog.set_level(logging.DEBUG)
    plays = [
        Play(401, f"Incorrect API key provided: {SECRET}".encode()),
        Play(500, f"proxy said: Authorization: Bearer {SECRET}".encode()),
        Play(200, f"{SECRET} is not JSON".encode()),
        Play(200, completion(f"You sent {SECRET}\nVerdict: True", 0.9)),
        Play(200, completion(f"{SECRET}")),
    ]
    items = [Item(f"q{n}", "?", (f"answer {n}",)) for n in range(len(plays))]
    path = tmp_path / "cache.sqlite"
    with (
        ScriptedServer(lambda body, number: plays[number]) as server,
        ReplyCache(path) as cache,
        LedgerWriter(tmp_path / "ledger.jsonl") as ledger,
    ):
        judge = judge_for(server, cache=cache, tries=1)
        assert run_into_ledger([judge], items, ledger) == len(plays)
        assert SECRET in server.headers[0]["authorization"]
        leaked = [file for file in tmp_path.iterdir() if SECRET.encode() in file.read_bytes()]
    assert not leaked
    assert SECRET not in caplog.text
    assert SECRET not in "".join(capfd.readouterr())
    assert len(read_ledger(tmp_path / "ledger.jsonl").rows) == len(plays)


def test_openai_itself_is_not_asked_without_a_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InputError, match="OPENAI_API_KEY holds no key"):
        Endpoint()


@pytest.mark.parametrize(
    "url",
    ["localhost:8000", "ftp://x/v1", "http://me:secret@host/v1", "https://host/v1?key=secret"],
)
def test_a_base_url_is_a_url_and_carries_no_secret(url):
    with pytest.raises(InputError) as raised:
        Endpoint(url)
    if "secret" in url:
        assert "secret" not in str(raised.value)


def test_nothing_is_asked_twice_and_no_failure_is_served_from_the_cache(tmp_path):
    path = tmp_path / "cache.sqlite"
    bad = [Play(500), Play(200, completion("hm")), Play(200, {"choices": None})]
    with ScriptedServer(lambda body, n: bad[n] if n < len(bad) else None) as server:
        for number in range(len(bad) + 3):
            with ReplyCache(path) as cache:
                judgement = judge_for(server, cache=cache, tries=1)(ITEM)
            assert isinstance(judgement.outcome, Failure) is (number < len(bad))
    assert len(server.asked) == len(bad) + 1
    with sqlite3.connect(path) as database:
        kinds = [kind for (kind,) in database.execute("SELECT kind FROM failures")]
        (stored,) = database.execute("SELECT request FROM replies").fetchall()
    assert kinds == ["status", "parse", "parse"]
    assert json.loads(stored[0])["model"] == "m"


def test_any_change_to_the_request_is_another_request():
    base = Request("m", ({"role": "user", "content": "?"},))
    others = [
        Request("n", base.messages),
        Request("m", ({"role": "user", "content": "!"},)),
        Request("m", base.messages, max_tokens=1),
        Request("m", base.messages, temperature=1.0),
        Request("m", base.messages, top_logprobs=5),
        Request("m", base.messages, extra={"top_p": 1}),
        base.with_seed(1),
    ]
    assert len({request.key("http://e/v1") for request in [base, *others]}) == len(others) + 1


def test_a_file_that_is_no_cache_is_named(tmp_path):
    path = tmp_path / "cache.sqlite"
    path.write_text("this is no database, and it is long enough to be looked at " * 20)
    with pytest.raises(InputError, match=r"cache\.sqlite is not a reply cache"):
        ReplyCache(path)


@pytest.mark.parametrize(
    ("budget", "calls"),
    [
        (Budget(calls=3), 3),
        (Budget(tokens=300), 3),  # a scripted reply takes 104 tokens
        (Budget(money=0.25, price_in=1000, price_out=1000), 3),
    ],
)
def test_a_budget_stops_cleanly(budget, calls, tmp_path):
    items = [Item(f"q{n}", "?", (f"answer {n}",)) for n in range(8)]
    with (
        ScriptedServer() as server,
        LedgerWriter(tmp_path / "ledger.jsonl") as ledger,
        ReplyCache(tmp_path / "cache.sqlite") as cache,
    ):
        run_into_ledger([judge_for(server, budget=budget, cache=cache)], items, ledger)
        spent = [row for row in ledger.rows if isinstance(row.outcome, Failure)]
        assert len(server.asked) == calls
        assert {row.outcome.kind for row in spent} == {FailureKind.BUDGET}
        assert len(spent) == len(items) - calls
        # With money again, only what is missing is asked.
        run_into_ledger([judge_for(server, cache=cache)], items, ledger)
        assert len(server.asked) == len(items)
        assert len(ledger.done) == len(items)


def test_retries_count_against_the_budget():
    with ScriptedServer(lambda body, number: Play(500)) as server:
        judgement = judge_for(server, budget=Budget(calls=2), tries=10)(ITEM)
    assert len(server.asked) == 2
    assert judgement.outcome.kind is FailureKind.BUDGET


def test_a_budget_of_money_needs_prices():
    with pytest.raises(InputError, match="price"):
        Budget(money=1.0)


def test_the_rate_limit_spaces_calls():
    limit, started = RateLimit(50.0), time.monotonic()
    threads = [threading.Thread(target=limit.wait) for _ in range(11)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - started >= 10 / 50
    with pytest.raises(InputError, match="rate"):
        RateLimit(0)


def test_calls_run_at_once_and_not_more_than_allowed(tmp_path):
    items = [Item(f"q{n}", "?", (f"answer {n}",)) for n in range(24)]
    with ScriptedServer(latency=0.1) as server, LedgerWriter(tmp_path / "l.jsonl") as ledger:
        told = []
        appended = run_into_ledger(
            [judge_for(server)], items, ledger, concurrency=6, report=told.append
        )
    assert appended == told[-1] == len(items)
    assert 2 <= server.most_at_once <= 6
    assert {row.subject for row in read_ledger(tmp_path / "l.jsonl").rows} == {i.id for i in items}


def test_samples_vote_and_unreadable_ones_count_against_a_majority():
    said = ["True", "False", "True", "hm", "True"]
    with ScriptedServer(lambda b, n: Play(body=completion(f"Verdict: {said[n]}"))) as server:
        judgement = judge_for(server, score="samples", samples=5)(ITEM)
    assert judgement.outcome == BooleanVerdict(True)
    assert judgement.disclosure["samples"] == [True, False, True, None, True]
    assert judgement.confidence == pytest.approx(0.6)  # of all seats
    assert judgement.calls == 5
    assert [body["seed"] for body in server.asked] == [0, 1, 2, 3, 4]
    assert all("logprobs" not in body for body in server.asked)


def test_samples_without_a_majority_are_undecided_or_failed():
    with ScriptedServer(lambda b, n: Play(body=completion(f"Verdict: {bool(n % 2)}"))) as server:
        assert type(judge_for(server, score="samples", samples=4)(ITEM).outcome).__name__ == (
            "Undecided"
        )
    with ScriptedServer(lambda b, n: Play(body=completion("hm" if n else "True"))) as server:
        failed = judge_for(server, score="samples", samples=3)(ITEM)
    assert failed.outcome.kind is FailureKind.PARSE


@pytest.mark.parametrize(
    ("reply", "outcome", "confidence"),
    [
        ("Verdict: True\nConfidence: 85", BooleanVerdict(True), 0.85),
        ("Verdict: False\n**Confidence:** 100 %", BooleanVerdict(False), 1.0),
        ("Verdict: True\nConfidence: 0.9", BooleanVerdict(True), None),
        ("Verdict: True", BooleanVerdict(True), None),
        ("Verdict: True\nConfidence: 900", FailureKind.OUT_OF_RANGE, None),
        ("Verdict: True\nConfidence: -5", FailureKind.OUT_OF_RANGE, None),
    ],
)
def test_a_stated_confidence_is_read_and_never_clamped(reply, outcome, confidence):
    with ScriptedServer(lambda body, number: Play(body=completion(reply))) as server:
        client = ModelClient(Endpoint(server.base_url))
        judge = ModelJudge(client, load_prompt("verbalised"), ModelSettings("m"))
        judgement = judge(ITEM)
    if isinstance(outcome, FailureKind):
        assert judgement.outcome.kind is outcome
    else:
        assert judgement.outcome == outcome
    assert judgement.confidence == confidence
    assert ("confidence_missing" in judgement.disclosure) is (
        confidence is None and not isinstance(outcome, FailureKind)
    )


def test_a_reply_may_carry_a_null_logprob_but_no_nan():
    body = completion("Verdict: True", 0.9)
    body["choices"][0]["logprobs"]["content"][1]["top_logprobs"][1]["logprob"] = None
    assert parse_reply(json.dumps(body)).tokens[1].top[1].logprob == float("-inf")
    body["choices"][0]["logprobs"]["content"][1]["logprob"] = float("nan")
    assert parse_reply(json.dumps(body)).tokens is None


def test_a_reply_is_read_by_whoever_asks():
    with ScriptedServer() as server:
        client = ModelClient(Endpoint(server.base_url))
        request = Request("m", ({"role": "user", "content": "?"},))

        def refuse(reply):
            raise ModelError(FailureKind.PARSE, "not for me")

        with pytest.raises(ModelError, match="not for me"):
            client.ask(request, refuse)
        with pytest.raises(InputError, match="at least once"):
            ModelClient(Endpoint(server.base_url), tries=0)


def test_without_the_sdk_the_message_is_the_command_to_run(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(OperationalError, match=r"pip install 'riskjudge\[openai\]'"):
        Endpoint("http://127.0.0.1:1/v1")


def test_nothing_heavy_is_imported_before_a_model_is_asked():
    import subprocess
    import sys

    code = (
        "import sys, riskjudge, riskjudge.cli, riskjudge.llm, riskjudge.judges.modes; "
        "print([m for m in ('openai', 'stamina', 'xllamacpp', 'sklearn.linear_model') "
        "if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_a_model_compares_a_pair_in_both_orders(tmp_path):
    """A model that leans to the first slot at .7, and knows the better one: .95 and .45."""
    from riskjudge.data.verdict import Winner, WinnerVerdict
    from riskjudge.judges import read_judges
    from riskjudge.ledger.uncertainty import preference_entropy
    from riskjudge.uncertainty import bidirectional_preference_entropy

    def script(body, number):
        first_is_better = "<response_a>\ngood" in body["messages"][1]["content"]
        text, p = ("Better: A", 0.95) if first_is_better else ("Better: B", 0.55)
        reply = completion(text, p)
        other = {"token": " B" if text[-1] == "A" else " A", "logprob": math.log(1 - p)}
        reply["choices"][0]["logprobs"]["content"][1]["top_logprobs"][1] = other
        return Play(body=reply)

    with ScriptedServer(script) as server:
        config = tmp_path / "judges.toml"
        config.write_text(
            f'[judges.m]\ntype = "model"\nmodel = "m"\nbase_url = "{server.base_url}"\n'
            'mode = "comparison"\ncache = "replies.sqlite"\n'
            '[judges.both]\ntype = "pairwise"\njudge = "m"\n'
        )
        (trial,) = read_judges(config)
        judgement = trial(Item("p", "Which?", ("good", "bad"), label=Winner.A))
    assert (tmp_path / "replies.sqlite").exists()
    assert judgement.outcome == WinnerVerdict(Winner.A)
    assert judgement.disclosure["preference"] == pytest.approx((0.95 + 0.55) / 2)
    nats = bidirectional_preference_entropy([0.95, 0.45])
    assert preference_entropy(judgement) == pytest.approx(nats)


def test_a_rationale_is_kept_whole_and_is_a_finding(tmp_path):
    from typer.testing import CliRunner

    from riskjudge.cli import app

    why = "The capital is N'Djamena, not Abuja.\n" + "Abuja is that of Nigeria. " * 40
    row, _ = played(Play(body=completion(f"{why}\nVerdict: False\nConfidence: 90")))
    assert row.disclosure["rationale"] == why.strip()
    bare, _ = played(Play(body=completion("Verdict: False")))
    assert "rationale" not in bare.disclosure
    with LedgerWriter(tmp_path / "ledger.jsonl") as ledger:
        ledger.append(row)
    told = CliRunner().invoke(app, ["reading", str(tmp_path / "ledger.jsonl"), "--findings"])
    assert told.exit_code == 0
    assert "q1  " in told.output
    assert ": false" in told.output
    assert told.output.count("Abuja is that of Nigeria.") == 40
    as_json = CliRunner().invoke(
        app, ["reading", str(tmp_path / "ledger.jsonl"), "--findings", "--json"]
    )
    (found,) = json.loads(as_json.stdout)["findings"]
    assert found["rationale"] == why.strip()
