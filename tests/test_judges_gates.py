"""Fitted gates behind judges: one item at a time they decide what `decide` decides at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from riskjudge.calibration import FixedSequence
from riskjudge.data.trace import Trace
from riskjudge.data.verdict import (
    AbstainReason,
    Abstention,
    BooleanVerdict,
    Failure,
    FailureKind,
    Undecided,
    Winner,
    WinnerVerdict,
    describe,
)
from riskjudge.errors import InputError
from riskjudge.gate import Router, SelectiveGate
from riskjudge.gate.grouped import GroupedGate
from riskjudge.items import Item
from riskjudge.judges import (
    Cascade,
    FunctionJudge,
    Judgement,
    PairwiseTrial,
    Panel,
    judge_items,
    read_judges,
)
from riskjudge.judges.cascade import route_from_file
from riskjudge.judges.fitted import fitted_route
from riskjudge.judges.judging import trace_table
from riskjudge.judges.scripted import longest, oracle, random_judge, second_slot, uniform
from riskjudge.judges.source import source_of
from riskjudge.ledger import readings
from riskjudge.ledger.traces import to_trace
from riskjudge.ledger.uncertainty import confidence_gap

OUT = Abstention(AbstainReason.OUT_OF_SCOPE)
LATE = Failure(FailureKind.TIMEOUT, "30 s")
TRUE = BooleanVerdict(True)
SINGLE = Item("q1", "?", ("x",), label=True)


def noisy(name, skill):
    """Errs more the less confident it is; fails, declines and forgets its confidence at times."""

    def rule(item):
        fate, doubt, luck = (uniform(0, item.id, name, part) for part in ("fate", "doubt", "luck"))
        if fate < 0.03:
            return Judgement(LATE)
        if fate < 0.06:
            return Judgement(OUT)
        right = luck > doubt * (1 - skill)
        confidence = None if fate < 0.09 else 1 - doubt
        return Judgement(BooleanVerdict(item.label is right), confidence)

    return FunctionJudge(name, rule)


CHEAP, DEAR = noisy("cheap", 0.4), noisy("dear", 0.8)
ITEMS = [Item(f"q{i}", "?", ("x",), label=i % 2 == 0) for i in range(1500)]
TRACE = to_trace(judge_items([CHEAP, DEAR], ITEMS))


@pytest.mark.parametrize("by_verdict", [False, True])
@pytest.mark.parametrize("alpha", [0.001, 0.1, 0.15])
def test_a_routed_judge_decides_what_the_router_decides(tmp_path, alpha, by_verdict):
    router = Router(alpha=alpha, by_verdict=by_verdict).fit(TRACE)
    assert router.certificate_.certified == (alpha > 0.01)
    router.save(tmp_path / "router.json")
    judge = route_from_file(tmp_path / "router.json", [CHEAP, DEAR], confidence_gap, "r")
    expected = router.decide(TRACE).to_frame().set_index("item_id")
    for item, row in zip(ITEMS, judge_items([judge], ITEMS), strict=True):
        decided = expected.loc[item.id]
        assert row.status == decided["status"]
        assert row.calls == decided["asked"]
        if isinstance(row.outcome, BooleanVerdict):
            assert int(row.outcome.value) == decided["verdict"]
        elif isinstance(row.outcome, Abstention):
            assert row.outcome.reason == decided["abstain_reason"]
        else:
            assert row.outcome.kind == decided["failure"]


def test_a_gate_file_in_a_configuration(tmp_path):
    (tmp_path / "judges.toml").write_text(
        """
        [judges.first]
        type = "first-slot"
        [judges.gated]
        type = "gate"
        judge = "trial"
        gate = "gate.json"
        uncertainty = "preference_entropy"
        [judges.trial]
        type = "pairwise"
        judge = "knower"
        [judges.knower]
        type = "oracle"
        """
    )
    pairs = [Item(f"q{i}", "?", ("x", "y"), label=Winner("ab"[i % 2])) for i in range(200)]
    knower = FunctionJudge("knower", lambda item: Judgement(WinnerVerdict(item.label), 0.9))
    rows = list(judge_items([PairwiseTrial(knower)], pairs))
    source = str(source_of(PairwiseTrial(oracle(0.0, 0, "knower")), "preference_entropy"))
    frame = to_trace(rows, uncertainty="preference_entropy").to_frame().assign(source1=source)
    SelectiveGate(alpha=0.2).fit(Trace.from_frame(frame)).save(tmp_path / "gate.json")
    [_, gated] = read_judges(tmp_path / "judges.toml")
    [reading] = readings(judge_items([gated], pairs[:4]))
    assert (reading.graded, reading.agreement) == (4, 1.0)
    [row] = judge_items([gated], pairs[:1])
    assert row.judge == "gated"
    assert row.disclosure["certified"] is True


def test_an_empty_region_declines_everything_and_asks_nobody(tmp_path):
    gate = SelectiveGate(alpha=0.0001).fit(TRACE)
    assert gate.thresholds_ is None
    gate.save(tmp_path / "gate.json")
    judge = route_from_file(tmp_path / "gate.json", [CHEAP], confidence_gap, "g")
    assert judge(ITEMS[0]) == Judgement(Abstention(AbstainReason.BELOW_CONFORMAL), calls=0)


@pytest.mark.parametrize(
    ("unfitted", "outcome"), [("pass", "true"), ("abstain", "below_conformal")]
)
def test_an_unfitted_gate_does_as_it_was_told(tmp_path, unfitted, outcome):
    SelectiveGate(unfitted=unfitted).save(tmp_path / "gate.json")
    sure = FunctionJudge("sure", lambda item: TRUE)  # without a confidence
    judge = route_from_file(tmp_path / "gate.json", [sure], confidence_gap, "g")
    assert judge.name == "g"
    judgement = judge(SINGLE)
    assert outcome in describe(judgement.outcome)
    assert judgement.disclosure == {"certified": False}


def test_the_number_of_judges_is_that_of_the_modes(tmp_path):
    Router(alpha=0.1).fit(TRACE).save(tmp_path / "router.json")
    with pytest.raises(InputError, match=r"fitted on 2 modes .* there are 1 judges"):
        route_from_file(tmp_path / "router.json", [CHEAP], confidence_gap, "r")


ROUTES = [
    ([TRUE, LATE], "true", 1),
    ([OUT, TRUE], "true", 2),
    ([LATE, TRUE], "true", 2),
    ([Undecided(), BooleanVerdict(False)], "false", 2),
    ([OUT, Undecided()], "undecided", 2),
    ([OUT, Abstention(AbstainReason.PANEL_SPLIT)], "abstained:panel_split", 2),
    ([LATE, OUT], "failed:timeout", 2),
    ([OUT, LATE, Undecided()], "failed:timeout", 3),
]


@pytest.mark.parametrize(("says", "outcome", "calls"), ROUTES)
def test_where_a_route_ends(says, outcome, calls):
    judges = [FunctionJudge(f"j{i}", lambda item, said=said: said) for i, said in enumerate(says)]
    judgement = Cascade(judges)(SINGLE)
    assert (describe(judgement.outcome), judgement.calls) == (outcome, calls)
    assert judgement.disclosure["said"] == [describe(said) for said in says[:calls]]


CONFIGURATION = """
run = ["gated"]
[judges.gated]
type = "{type}"
{judges}
gate = "gate.json"
{more}
[judges.trial]
type = "pairwise"
judge = "{first}"
[judges.panel]
type = "panel"
seats = ["longest", "random", "second-slot"]
[judges.longest]
type = "longest"
[judges.random]
type = "random"
[judges.second-slot]
type = "second-slot"
"""
PAIRS = [
    Item(f"q{i}", "?", ("x" * (1 + i % 7), "x" * (1 + i % 5)), label=Winner("ab"[i % 2]))
    for i in range(400)
]


def configured(tmp_path, *, type="gate", judges='judge = "trial"', more="", first="longest"):
    text = CONFIGURATION.format(type=type, judges=judges, more=more, first=first)
    (tmp_path / "judges.toml").write_text(text)
    return read_judges(tmp_path / "judges.toml")[0]


def save_gate(tmp_path, measured, *, sources=True):
    """A gate over these judges' scores, by these measures, that accepts what is at most a half."""
    tables = [trace_table(judge_items([j], PAIRS), [j], PAIRS, m) for j, m in measured.items()]
    table = tables[0]
    for k, other in enumerate(tables[1:], start=2):
        for name in ("v", "u", "source"):
            table[f"{name}{k}"] = other[f"{name}1"]
    if not sources:
        table = table.drop(columns="source1")
    path = [[0.5] * len(measured)]
    rule = Router(alpha=0.99, procedure=FixedSequence(path=path)).fit(Trace.from_frame(table))
    assert rule.certificate_.certified
    rule.save(tmp_path / "gate.json")


TRIAL = PairwiseTrial(longest())
BY_ENTROPY = {TRIAL: "preference_entropy"}


def test_a_gate_measures_what_it_was_fitted_on(tmp_path):
    """By default it once measured confidence, whatever the gate was fitted on."""
    save_gate(tmp_path, BY_ENTROPY)
    plain = {row.subject: row for row in judge_items([configured(tmp_path)], PAIRS[:50])}
    named = configured(tmp_path, more='uncertainty = "preference_entropy"')
    for row in judge_items([named], PAIRS[:50]):
        assert row.outcome == plain[row.subject].outcome
        assert row.disclosure == plain[row.subject].disclosure
    seen = [row.disclosure for row in plain.values() if "certified" in row.disclosure]
    assert seen
    assert all(said["certified"] is True for said in seen)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"more": 'uncertainty = "confidence"'},
            "measure: 'preference_entropy' in the gate, 'conf",
        ),
        ({"first": "second-slot"}, r"judge: 'pairwise\(longest\)' in the gate, 'pairwise\(second"),
        ({"judges": 'judge = "longest"'}, "judge: 'pairwise"),
        ({"more": 'on_mismatch = "shrug"', "first": "second-slot"}, "refuse or uncertify"),
    ],
)
def test_a_gate_of_other_scores_is_refused(tmp_path, change, says):
    save_gate(tmp_path, BY_ENTROPY)
    with pytest.raises(InputError, match=says):
        configured(tmp_path, **change)


def test_a_gate_of_other_scores_may_be_used_uncertified(tmp_path):
    save_gate(tmp_path, BY_ENTROPY)
    gated = configured(tmp_path, first="second-slot", more='on_mismatch = "uncertify"')
    seen = [row.disclosure for row in judge_items([gated], PAIRS[:50])]
    assert {said["certified"] for said in seen if "certified" in said} <= {False}


def test_a_gate_that_records_no_source_needs_the_measure(tmp_path):
    """Nothing can be compared then; its certificate says that it rests on this."""
    save_gate(tmp_path, BY_ENTROPY, sources=False)
    with pytest.raises(InputError, match="does not record which measure"):
        configured(tmp_path)
    gated = configured(tmp_path, more='uncertainty = "preference_entropy"')
    seen = [row.disclosure for row in judge_items([gated], PAIRS[:50])]
    assert {said["certified"] for said in seen if "certified" in said} == {True}


def test_a_gate_for_each_group_is_refused(tmp_path):
    frame = TRACE.to_frame()
    topics = pd.DataFrame({"topic": np.repeat(["a", "b"], [700, len(frame) - 700])})
    grouped = GroupedGate(Router(alpha=0.2), by="topic").fit(replace(TRACE, extra=topics))
    grouped.save(tmp_path / "gate.json")
    with pytest.raises(InputError, match="has a certificate for each topic"):
        configured(tmp_path)


def test_a_router_measures_each_mode_as_it_was_fitted(tmp_path):
    panel = Panel([longest(), random_judge(0), second_slot()])
    save_gate(tmp_path, BY_ENTROPY | {panel: "variation_ratio"})
    judge = configured(tmp_path, type="router", judges='judges = ["trial", "panel"]')
    seen = [row.disclosure for row in judge_items([judge], PAIRS[:50])]
    assert {said["certified"] for said in seen if "certified" in said} == {True}
    with pytest.raises(
        InputError, match=r"pairwise: judge: 'pairwise\(longest\)' in the gate, 'panel"
    ):
        configured(tmp_path, type="router", judges='judges = ["panel", "trial"]')


def test_judges_in_another_order_than_the_modes_of_their_names_are_refused(tmp_path):
    Router(alpha=0.1).fit(TRACE).save(tmp_path / "router.json")
    with pytest.raises(InputError, match="list the judges in the gate's order"):
        fitted_route(tmp_path / "router.json", [DEAR, CHEAP], "r", uncertainty="confidence")
