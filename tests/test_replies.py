"""From a reply to a number: what is no verdict is none, and what is no probability is none."""

import json
import math

import pytest

pytest.importorskip("openai", reason="the extra `openai` is not installed")

from scripted_server import Play, ScriptedServer, completion

from riskjudge.data.verdict import BooleanVerdict, FailureKind
from riskjudge.errors import InputError
from riskjudge.items import Item
from riskjudge.judges.model import ModelJudge, ModelSettings
from riskjudge.llm import Budget, Endpoint, ModelClient, RateLimit, ReplyCache
from riskjudge.llm import client as client_module
from riskjudge.prompts import load_prompt, read_decision
from riskjudge.prompts.decision import Undecidable
from riskjudge.uncertainty import Alternative, NoConfidence, Token, tokens_at, verdict_mass

LABELS = ("True", "False")


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch):
    monkeypatch.setattr(client_module, "FIRST_WAIT", 0.01)


def judge_for(server, prompt="parametric", tries=1, cache=None, budget=None, **settings):
    client = ModelClient(Endpoint(server.base_url), cache, budget, tries=tries)
    return ModelJudge(client, load_prompt(prompt), ModelSettings("m", **settings))


def outcome_of(body, status=200, prompt="parametric", **settings):
    with ScriptedServer(lambda *_: Play(status, body)) as server:
        return judge_for(server, prompt, **settings)(Item("q1", "?", ("x",))).outcome


def with_member(**members):
    return {**completion("Verdict: True", 0.9), **members}


def with_choice(**members):
    body = completion("Verdict: True", 0.9)
    body["choices"][0].update(members)
    return body


@pytest.mark.parametrize("finish", ["length", "max_tokens", "MAX_TOKENS", "model_length"])
@pytest.mark.parametrize("text", ["Verdict: True", "Verdict: True\nConfidence: 9", "Verdict:"])
def test_a_reply_that_was_cut_off_is_no_verdict(finish, text):
    body = completion(text, 0.9, finish=finish)
    assert outcome_of(body).kind is FailureKind.TRUNCATED
    assert outcome_of(body, prompt="verbalised").kind is FailureKind.TRUNCATED


@pytest.mark.parametrize("finish", ["stop", None])
@pytest.mark.parametrize("opens", ["<think>", "<thinking>", "<THINK>", "[THINK]", "◁think▷"])
def test_reasoning_that_does_not_end_is_cut_off(opens, finish):
    body = completion(f"{opens}Draft. Verdict: True\nWait, no", 0.98, finish=finish)
    assert outcome_of(body).kind is FailureKind.TRUNCATED


@pytest.mark.parametrize(
    "draft",
    [
        "<think>\nVerdict: True\n</think>\n",
        "The template opened it.\nVerdict: True\n</think>",
        "<reasoning>Verdict: True</reasoning> ",
        "<|channel|>analysis<|message|>\nVerdict: True<|end|><|channel|>final<|message|>",
    ],
)
def test_a_draft_is_no_verdict(draft):
    assert read_decision(draft + "Verdict: False", "Verdict", LABELS).label == "False"
    assert outcome_of(completion(draft + "Verdict: False")) == BooleanVerdict(False)
    assert outcome_of(completion(draft + "Hm.")).kind is FailureKind.PARSE


def test_reasoning_in_a_field_of_its_own_is_not_read():
    body = completion("")
    for name in ("reasoning_content", "reasoning"):
        body["choices"][0]["message"][name] = "Verdict: True"
    assert outcome_of(body).kind is FailureKind.PARSE
    body["choices"][0]["message"]["content"] = None
    assert outcome_of(body).kind is FailureKind.PARSE


def test_a_message_in_parts_is_read_without_its_thoughts():
    body = completion("")
    body["choices"][0]["message"]["content"] = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Verdict: True"}]},
        {"type": "text", "text": "Verdict: False"},
    ]
    assert outcome_of(body) == BooleanVerdict(False)


@pytest.mark.parametrize("status", [201, 202, 203, 206, 207])
def test_another_status_than_200_is_a_failure(status):
    assert outcome_of(completion("Verdict: True", 0.9), status).kind is FailureKind.STATUS


@pytest.mark.parametrize(
    "body",
    [
        with_member(error={"message": "boom", "code": 502}),
        with_member(error="boom"),
        with_member(status_code=500),
        with_member(status=503),
        with_member(code="429", message="slow down"),
        with_choice(error={"code": 502, "message": "provider"}),
        with_choice(finish_reason="error"),
    ],
)
def test_an_error_beside_the_answer_is_a_failure(body):
    assert outcome_of(body).kind is FailureKind.STATUS


@pytest.mark.parametrize("member", [{"error": None}, {"status_code": 200}, {"code": 0}])
def test_no_error_is_none(member):
    assert outcome_of(with_member(**member)) == BooleanVerdict(True)


FILTERED = {
    "error": {
        "code": "content_filter",
        "message": "The response was filtered due to the prompt triggering our content policy",
        "innererror": {"code": "ResponsibleAIPolicyViolation"},
    }
}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (completion("I can't fulfill this"), 200),
        (completion("I\u2019m sorry, but I can\u2019t help with that."), 200),
        (completion("I am unable to comply with this request."), 200),
        (completion("I must decline to answer."), 200),
        (completion("", finish="refusal"), 200),
        (completion("Verdict: True", 0.9, finish="content_filter"), 200),
        (completion("", finish="SAFETY"), 200),
        (completion("Verdict: True", 0.9, refusal="No."), 200),
        (FILTERED, 400),
        (FILTERED, 200),
        ({"error": {"code": "content_policy_violation"}}, 400),
        ({"error": {"message": "Your input was flagged by moderation"}}, 403),
    ],
)
def test_every_refusal_has_one_name(body, status):
    assert outcome_of(body, status).kind is FailureKind.REFUSAL


def test_not_to_know_is_no_refusal():
    assert outcome_of(completion("I cannot determine whether it is so.")).kind is FailureKind.PARSE


@pytest.mark.parametrize(
    "reply",
    [
        "Verdict: __True__ / __False__",
        "Verdict: True\nVerdict: Unsure",
        "Verdict: Unsure\nVerdict: True",
        "Verdict: True\n\n**Verdict:** depends",
        "Verdict: True\nFinal verdict: False",
        "Verdict: True\nMy verdict is False.",
        "Verdict: True_False",
        "Verdict: True_x",
        "Verdict: True/False",
        "Verdict: not True",
        "Verdict: True?",
        "Verdict: Tru\u0435",
        "Verdict: True\u0435",
        "Verdict: \u771f",
        "True or False",
    ],
)
def test_what_is_not_clear_is_undecided(reply):
    with pytest.raises(Undecidable):
        read_decision(reply, "Verdict", LABELS)


@pytest.mark.parametrize(
    "reply",
    [
        "Verdict: __True__",
        "**Verdict**: **True**",
        "Verdict\uff1a\uff34\uff52\uff55\uff45",
        "Verdict: \u201cTrue\u201d",
        "\u200bVerdict:\u200b True\u3002",
        "> - Verdict: `True`",
        "Verdict: [True]",
        "__True__",
        "I am not sure about other verdicts.\nVerdict: True",
        "Verdict: True\r\nBecause it is.",
        "Verdict: True<|im_end|>",
    ],
)
def test_the_same_decision_in_other_clothes(reply):
    assert read_decision(reply, "Verdict", LABELS).label == "True"


def test_an_underscore_is_part_of_the_word():
    with pytest.raises(Undecidable):
        read_decision("GRADE: C_I", "GRADE", ("C", "I"))
    assert read_decision("GRADE: C. No downgrade: insufficient", "GRADE", ("C", "I")).label == "C"


# Tokens


def spell(reply, *tokens):
    """The tokens of a reply, each given as (text, {alternative: probability})."""
    return [
        Token(text, math.log(ps[text]), tuple(Alternative(t, math.log(p)) for t, p in ps.items()))
        for text, ps in tokens
    ]


def mass_of(reply, label, labels, *tokens):
    start = reply.rindex(label)
    spelled = tokens_at(spell(reply, *tokens), reply, start, start + len(label))
    return verdict_mass(spelled, label, labels)


@pytest.mark.parametrize("mark", ["\u2581", "\u0120", " ", ""])
def test_marks_for_spaces_are_spaces(mark):
    tokens = ("V:", {"V:": 1.0}), (f"{mark}True", {f"{mark}True": 0.7, f"{mark}False": 0.2})
    written = "V: True" if mark else "V:True"
    assert mass_of(written, "True", LABELS, *tokens).p_first == pytest.approx(0.7 / 0.9)


def test_a_line_feed_before_the_label():
    tokens = ("V:", {"V:": 1.0}), ("\u010aTrue", {"\u010aTrue": 0.6, "\u010aFalse": 0.3})
    assert mass_of("V:\nTrue", "True", LABELS, *tokens).p_first == pytest.approx(0.6 / 0.9)


def test_labels_with_a_shared_beginning_are_read_where_they_part():
    labels = ("Incorrect", "Inconsistent")
    tokens = (
        (" Inc", {" Inc": 0.9, " Incons": 0.06, " So": 0.04}),
        ("orrect", {"orrect": 0.8, "onsistent": 0.15, "x": 0.05}),
    )
    mass = mass_of("V: Incorrect", "Incorrect", labels, ("V:", {"V:": 1.0}), *tokens)
    first, second = 0.9 * 0.8, 0.06 + 0.9 * 0.15
    assert mass.p_first == pytest.approx(first / (first + second))
    assert not mass.bounded


def test_an_alternative_that_begins_both_labels_is_doubt():
    labels = ("Incorrect", "Inconsistent")
    clear = mass_of("Incorrect", "Incorrect", labels, ("Incorrect", {"Incorrect": 0.7, "Inc": 0.2}))
    assert clear.p_first == pytest.approx(0.7 / 0.9)
    assert clear.bounded
    unclear = mass_of(
        "Incorrect", "Incorrect", labels, ("Incorrect", {"Incorrect": 0.4, "Inc": 0.6})
    )
    assert unclear == NoConfidence("the likeliest alternative begins both labels")


def test_where_one_label_begins_the_other_nothing_is_read():
    found = mass_of("No", "No", ("No", "Not sure"), ("No", {"No": 0.9, "Not": 0.1}))
    assert "begins with the other" in found.reason


def test_without_alternatives_where_the_labels_part_nothing_is_read():
    labels = ("Incorrect", "Inconsistent")
    tokens = [Token("Inc", -0.1, (Alternative("Inc", -0.1),)), Token("orrect", -0.1)]
    assert "no alternatives" in verdict_mass(tokens, "Incorrect", labels).reason


def test_a_doubled_alternative_counts_once():
    top = (Alternative("True", math.log(0.6)), *[Alternative("False", math.log(0.3))] * 2)
    mass = verdict_mass([Token("True", math.log(0.6), top)], "True", LABELS)
    assert mass.p_first == pytest.approx(0.6 / 0.9)


@pytest.mark.parametrize(
    "change",
    [
        lambda token: token.update(bytes=10**12),
        lambda token: token.update(top_logprobs=[{"token": str(n), "logprob": 0} for n in "ab"]),
        lambda token: token.update(logprob="high"),
        lambda token: token.update(bytes=[300]),
    ],
)
def test_log_probabilities_that_are_none_leave_the_verdict_without_a_confidence(change):
    body = completion("Verdict: True", 0.9)
    change(body["choices"][0]["logprobs"]["content"][1])
    with ScriptedServer(lambda *_: Play(body=body)) as server:
        judgement = judge_for(server)(Item("q1", "?", ("x",)))
    assert judgement.outcome == BooleanVerdict(True)
    assert judgement.confidence is None
    assert judgement.disclosure["confidence_missing"]


# Samples, calls, budgets


def test_samples_are_calls_even_where_the_seed_is_taken_away(tmp_path):
    def alternate(body, number):
        return Play(body=completion(f"Verdict: {number % 2 == 0}"))

    with ScriptedServer(alternate) as server, ReplyCache(tmp_path / "c.sqlite") as cache:
        judge = judge_for(server, cache=cache, score="samples", samples=5, extra={"seed": None})
        first = judge(Item("q1", "?", ("x",)))
        assert len(server.asked) == first.calls == 5
        assert first.confidence == pytest.approx(3 / 5)
        again = judge(Item("q1", "?", ("x",)))
        assert len(server.asked) == 5
        assert (again.outcome, again.confidence, again.calls) == (
            first.outcome,
            first.confidence,
            0,
        )


def test_every_try_is_a_call():
    plays = {0: Play(500), 1: Play(503)}
    with ScriptedServer(lambda body, number: plays.get(number)) as server:
        judgement = judge_for(server, tries=5)(Item("q1", "?", ("x",)))
        assert judgement.calls == len(server.asked) == 3


@pytest.mark.parametrize("votes", ["TTTee", "TTTeF", "FFFee"])
def test_a_missing_seat_makes_less_sure(votes):
    said = [{"T": "Verdict: True", "F": "Verdict: False", "e": "hm"}[vote] for vote in votes]
    with ScriptedServer(lambda body, n: Play(body=completion(said[n]))) as server:
        judgement = judge_for(server, score="samples", samples=5)(Item("q1", "?", ("x",)))
    assert judgement.confidence == pytest.approx(3 / 5)
    assert judgement.disclosure["p_true"] == pytest.approx(0.6 if votes[0] == "T" else 0.4)


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, True, "5"])
@pytest.mark.parametrize("limit", ["calls", "tokens", "money", "price_in"])
def test_a_limit_is_a_finite_number(limit, value):
    with pytest.raises(InputError, match=f"`{limit}`"):
        Budget(**{limit: value})


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, 0.0])
def test_times_and_rates_are_finite_and_positive(value):
    with pytest.raises(InputError):
        RateLimit(value)
    with pytest.raises(InputError):
        Endpoint("http://127.0.0.1:1/v1", timeout=value)
    if value != 0.0:
        with pytest.raises(InputError):
            ModelSettings("m", temperature=value)


@pytest.mark.parametrize(
    "usage", [None, {}, {"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": "9"}]
)
@pytest.mark.parametrize("limit", [{"tokens": 10**6}, {"money": 9.0, "price_out": 1.0}])
def test_a_budget_that_cannot_be_kept_stops_the_run(usage, limit):
    body = {**completion("Verdict: True", 0.9), "usage": usage}
    with ScriptedServer(lambda *_: Play(body=body)) as server:
        judge = judge_for(server, budget=Budget(**limit))
        found = [judge(Item(f"q{n}", "?", (f"x{n}",))).outcome for n in range(4)]
        assert len(server.asked) == 1
    assert found[0] == BooleanVerdict(True)
    assert {outcome.kind for outcome in found[1:]} == {FailureKind.BUDGET}
    assert "cannot be kept" in found[1].message


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (429, {"error": {"code": "insufficient_quota", "message": "You exceeded your quota"}}),
        (402, {"error": {"message": "Insufficient credits"}}),
        (400, {"error": {"message": "Your credit balance is too low"}}),
    ],
)
def test_a_quota_that_is_used_up_stops_the_run_at_once(status, body):
    with ScriptedServer(lambda *_: Play(status, body)) as server:
        judge = judge_for(server, tries=5)
        found = [judge(Item(f"q{n}", "?", (f"x{n}",))) for n in range(4)]
        assert len(server.asked) == 1
    assert {judgement.outcome.kind for judgement in found} == {FailureKind.BUDGET}
    assert [judgement.calls for judgement in found] == [1, 0, 0, 0]


def test_a_429_that_will_not_go_away_stops_the_run_after_one_item():
    with ScriptedServer(lambda *_: Play(429, b"slow down")) as server:
        judge = judge_for(server, tries=3)
        kinds = [judge(Item(f"q{n}", "?", (f"x{n}",))).outcome.kind for n in range(4)]
        assert len(server.asked) == 3
    assert kinds == [FailureKind.STATUS, *[FailureKind.BUDGET] * 3]


def test_the_source_says_what_made_the_scores():
    with ScriptedServer() as server:
        source = judge_for(server, max_tokens=9, extra={"top_p": 0.5})(
            Item("q1", "?", ("x",))
        ).disclosure["source"]
    assert json.loads(json.dumps(source)) == source
    assert source["model"] == "m"
    assert source["max_tokens"] == 9
    assert source["extra.top_p"] == "0.5"
    assert source["endpoint"] == server.base_url
    assert (source["score"], source["measure"]) == ("tokens", "predictive_entropy")
    assert source["prompt"] == load_prompt("parametric").id
