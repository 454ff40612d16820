"""Whatever a reply, a configuration or an option holds: an answer, or an error that says what is wrong."""

import contextlib
import json
import math
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskjudge.data.verdict import Failure, Outcome
from riskjudge.errors import InputError, RiskJudgeError
from riskjudge.items import Item
from riskjudge.judges.config import BUILDERS, compose
from riskjudge.judges.model import ModelJudge, ModelSettings
from riskjudge.judges.protocol import Judgement
from riskjudge.judges.sidecar import _outcome
from riskjudge.ledger.uncertainty import UNCERTAINTIES
from riskjudge.llm import Budget, ModelClient, ModelError, parse_reply
from riskjudge.llm.chat import usage_of
from riskjudge.prompts import load_prompt, read_decision
from riskjudge.prompts.decision import Undecidable, is_refusal
from riskjudge.uncertainty import VerdictMass, tokens_at, verdict_mass

pytest.importorskip("stamina", reason="the extra `openai` is not installed")

# More examples for a long search: RISKJUDGE_FUZZ=5000.
FUZZ = settings(max_examples=int(os.environ.get("RISKJUDGE_FUZZ", "150")), deadline=None)
LABELS = ("True", "False")

FRAGMENTS = st.sampled_from(
    [
        *(
            "Verdict",
            "verdict",
            "VERDICT",
            ":",
            "\uff1a",
            " ",
            "\n",
            "\r\n",
            "True",
            "False",
            "Unsure",
        ),
        *(
            "__",
            "**",
            "`",
            "_",
            "/",
            ".",
            "I can't help",
            "<think>",
            "</think>",
            "[THINK]",
            "\u200b",
        ),
        *(
            "Confidence: 90",
            "Confidence: 101",
            "Final ",
            "is",
            "=",
            "<|im_end|>",
            "\ud800",
            "\u2581",
        ),
    ]
)
TEXTS = st.lists(st.one_of(FRAGMENTS, st.text(max_size=8)), max_size=12).map("".join)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)


def mostly(strategy):
    """The right kind as a rule, and now and then anything."""
    return st.one_of(strategy, strategy, strategy, JSON)


ALTERNATIVES = st.fixed_dictionaries(
    {"token": mostly(FRAGMENTS), "logprob": mostly(st.floats(-40, 0))}
)
TOKENS = st.fixed_dictionaries(
    {
        "token": mostly(FRAGMENTS),
        "logprob": mostly(st.floats(-40, 0)),
        "bytes": mostly(st.none()),
        "top_logprobs": mostly(st.lists(mostly(ALTERNATIVES), max_size=4)),
    }
)
FINISH = st.sampled_from(["stop", "length", "content_filter", "refusal", "error", None])
CHOICES = st.fixed_dictionaries(
    {
        "message": mostly(
            st.fixed_dictionaries(
                {"content": mostly(TEXTS)},
                optional={"refusal": mostly(st.none()), "reasoning_content": JSON},
            )
        ),
        "finish_reason": mostly(FINISH),
        "logprobs": mostly(
            st.fixed_dictionaries({"content": mostly(st.lists(TOKENS, max_size=6))})
        ),
    },
    optional={"error": JSON},
)
BODIES = st.fixed_dictionaries(
    {"choices": mostly(st.lists(mostly(CHOICES), max_size=2))},
    optional={"error": JSON, "status_code": JSON, "usage": JSON},
)


class Always:
    """An endpoint that always replies the same."""

    base_url = "http://always"

    def __init__(self, body):
        self.body = body

    def send(self, request):
        return self.body


@FUZZ
@given(mostly(BODIES), st.sampled_from(["parametric", "verbalised"]), st.booleans())
def test_any_reply_ends_in_one_outcome(body, prompt, sampled):
    text = json.dumps(body)
    settings = ModelSettings("m", score="samples" if sampled else "tokens", samples=2)
    client = ModelClient(Always(text), budget=Budget(tokens=10**6), tries=1)
    judgement = ModelJudge(client, load_prompt(prompt), settings)(Item("q", "?", ("x",)))
    assert isinstance(judgement, Judgement)
    assert isinstance(judgement.outcome, Outcome)
    if isinstance(judgement.outcome, Failure):
        assert judgement.confidence is None
    for read in UNCERTAINTIES.values():
        value = read(judgement)
        assert value is None or 0 <= value <= 1


@FUZZ
@given(TEXTS)
def test_any_text_is_decided_or_not(text):
    is_refusal(text)
    try:
        decision = read_decision(text, "Verdict", LABELS)
    except Undecidable:
        return
    assert decision.label in LABELS
    assert 0 <= decision.start < decision.end <= len(text)


@FUZZ
@given(st.one_of(st.text(), JSON.map(json.dumps), st.binary().map(lambda b: b.decode("latin-1"))))
def test_any_body_is_a_reply_or_a_failure(body):
    usage = usage_of(body)
    assert usage is None or min(usage) >= 0
    with contextlib.suppress(ModelError):
        parse_reply(body)


@FUZZ
@given(
    st.lists(TOKENS, min_size=1, max_size=6), st.sampled_from(["Incorrect", "Inconsistent", "No"])
)
def test_any_tokens_give_a_probability_or_a_reason(tokens, chosen):
    body = {"choices": [{"message": {"content": ""}, "logprobs": {"content": tokens}}]}
    try:
        found = parse_reply(json.dumps(body)).tokens
    except ModelError:
        return
    if found is None:
        return
    labels = {"No": ("No", "Not")}.get(chosen, ("Incorrect", "Inconsistent"))
    text = b"".join(token.data for token in found).decode("utf-8", "replace")
    tokens_at(found, text, 0, len(text))
    mass = verdict_mass(found, chosen, labels)
    if isinstance(mass, VerdictMass):
        assert math.isfinite(mass.log_odds)
        assert 0 <= mass.p_first <= 1
        assert 0 <= mass.mass <= 1


@FUZZ
@given(mostly(st.dictionaries(st.sampled_from(["boolean", "error", "confidence"]), JSON)))
def test_any_sidecar_reply_ends_in_one_outcome(reply):
    if isinstance(reply, dict):
        assert isinstance(_outcome(reply, pair=False), Outcome)


OPTIONS = (
    *("judge", "seats", "judges", "seed", "score", "cut", "low", "high", "every", "kind", "url"),
    *(
        "timeout",
        "max_chars",
        "subsets",
        "pattern",
        "threshold",
        "gate",
        "uncertainty",
        "error_rate",
    ),
    *("model", "mode", "base_url", "k", "samples", "temperature", "retriever", "extra_body"),
)
VALUES = st.one_of(
    JSON,
    st.sampled_from(
        ["a", "b", "c", ["a", "b"], "http://127.0.0.1:1/v1", "parametric", "confidence"]
    ),
)
TABLES = st.fixed_dictionaries(
    {"type": mostly(st.sampled_from(sorted(BUILDERS)))},
    optional=dict.fromkeys(OPTIONS, VALUES),
)
CONFIGS = st.fixed_dictionaries(
    {"judges": mostly(st.dictionaries(st.sampled_from("abc"), mostly(TABLES), max_size=3))},
    optional={"seed": mostly(st.integers()), "run": mostly(st.lists(st.sampled_from("abc")))},
)


@FUZZ
@given(CONFIGS)
def test_any_configuration_is_composed_or_refused(config):
    try:
        judges = compose(config)
    except RiskJudgeError:
        return
    for judge in judges:
        assert judge.name


NUMBERS = st.one_of(st.integers(-3, 3), st.floats(), st.none(), st.booleans(), st.text(max_size=3))


@FUZZ
@given(st.lists(NUMBERS, min_size=5, max_size=5))
def test_any_limits_are_a_budget_or_refused(limits):
    try:
        budget = Budget(*limits)
    except InputError:
        return
    assert all(limit is None or 0 <= limit < math.inf for limit in limits)
    budget.charge((1, 1))


@FUZZ
@given(
    st.dictionaries(
        st.sampled_from(
            ["p_true", "log_odds", "votes", "preference", "orders", "score", "cut", "scale"]
        ),
        VALUES,
    )
)
def test_any_disclosure_is_measured_or_refused(disclosure):
    from riskjudge.data.verdict import BooleanVerdict

    judgement = Judgement(BooleanVerdict(True), disclosure=disclosure)
    for read in UNCERTAINTIES.values():
        try:
            value = read(judgement)
        except InputError:
            continue
        assert value is None or 0 <= value <= 1
