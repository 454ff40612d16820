"""From ledgers to traces: nothing changes its kind on the way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from riskjudge.cli.trace import register
from riskjudge.data.modes import ABSENCES, ModeColumns
from riskjudge.data.trace import Trace, read_trace
from riskjudge.data.verdict import (
    UNDECIDED,
    AbstainReason,
    Abstention,
    BooleanVerdict,
    Failure,
    FailureKind,
    ScoreVerdict,
    Undecided,
    Winner,
    WinnerVerdict,
)
from riskjudge.errors import InputError
from riskjudge.io.tables import write_table
from riskjudge.items import Item
from riskjudge.judges import Cut, FunctionJudge, Judgement, PairwiseTrial, Panel, judge_items
from riskjudge.ledger import Row, read_ledger, read_parquet, write_ledger, write_parquet
from riskjudge.ledger.traces import to_trace

# A gate's own is another matter: see the test of declined verdicts.
REASONS = [reason for reason in AbstainReason if reason is not AbstainReason.BELOW_CONFORMAL]


def absences(trace, mode=0):
    return [None if code < 0 else ABSENCES[code] for code in trace.absence[:, mode]]


def test_verdicts_abstentions_and_failures_keep_their_kind():
    outcomes = [
        BooleanVerdict(True),
        BooleanVerdict(False),
        *map(Abstention, REASONS),
        Failure(FailureKind.BUDGET),
        Undecided(),
    ]
    rows = [
        Row(f"q{i}", "j", "m", outcome, 0.75 if i < 2 else None, label=i % 2 == 0, subset="s")
        for i, outcome in enumerate(outcomes)
    ]
    trace = to_trace([*rows, Row("q9", "j", "m", None)])
    assert trace.item_id.tolist() == [f"q{i}" for i in range(7)]
    assert trace.verdicts[:, 0].tolist() == [1, 0, -1, -1, -1, -1, -1]
    assert trace.labels.tolist() == [1, 0, 1, 0, 1, 0, 1]
    assert trace.scores[:2, 0].tolist() == [0.25, 0.25]
    assert np.isnan(trace.scores[2:]).all()
    assert absences(trace) == [
        None,
        None,
        *REASONS,
        FailureKind.BUDGET,
        UNDECIDED,
    ]
    assert trace.extra["subset"].tolist() == ["s"] * 7
    assert trace.group is None


def test_each_measure_reads_what_its_judge_discloses():
    pair = Item("q1", "?", ("x", "y"), label=Winner.B)
    sure = FunctionJudge(
        "sure",
        lambda item: Judgement(
            WinnerVerdict(Winner.A if item.responses[0] == "x" else Winner.B), confidence=0.9
        ),
    )
    trial = to_trace(judge_items([PairwiseTrial(sure)], [pair]), uncertainty="preference_entropy")
    assert trial.scores[0, 0] == pytest.approx(0.325082973391)  # entropy of (.9, .1) in nats
    assert (trial.verdicts[0, 0], trial.labels[0]) == (1, 0)

    single = Item("q1", "?", ("x",))
    seats = [
        FunctionJudge(f"s{i}", lambda item, vote=vote: BooleanVerdict(vote))
        for i, vote in enumerate([True, True, True, False])
    ]
    panel = to_trace(judge_items([Panel(seats)], [single]), uncertainty="variation_ratio")
    assert panel.scores[0, 0] == 0.25

    grader = FunctionJudge("g", lambda item: ScoreVerdict(7.0))
    cut = to_trace(judge_items([Cut(grader, 5.0, 0.0, 10.0)], [single]), uncertainty="cut")
    assert cut.scores[0, 0] == pytest.approx(0.6)


def two_arms():
    return [
        Row("q1", "cheap", "m", BooleanVerdict(True), 0.6, label=True, group="g"),
        Row("q2", "cheap", "m", BooleanVerdict(True), 0.9),
        Row("q1", "dear", "m", BooleanVerdict(False), 0.8),
    ]


def test_arms_are_modes_joined_by_item():
    trace = to_trace(two_arms(), ["dear/m", "cheap/m"])
    assert trace.modes == ("dear/m", "cheap/m")
    first, second = (trace.item_id.tolist().index(name) for name in ("q1", "q2"))
    assert trace.verdicts[first].tolist() == [0, 1]
    assert trace.verdicts[second].tolist() == [-1, 1]
    assert trace.labels[[first, second]].tolist() == [1, -1]
    assert trace.group[[first, second]].tolist() == ["g", "q2"]


def test_mistakes_are_named():
    with pytest.raises(InputError, match="no arm 'best/m'; it has cheap/m, dear/m"):
        to_trace(two_arms(), ["best/m"])
    with pytest.raises(InputError, match=r"arm 'cheap/m': .* one of confidence, .* got 'luck'"):
        to_trace(two_arms(), uncertainty="luck")
    with pytest.raises(
        InputError, match=r"'cheap/m' has no 'variation_ratio' .* it has confidence"
    ):
        to_trace(two_arms(), uncertainty="variation_ratio")
    with pytest.raises(InputError, match="row 's/m/q1' holds a score"):
        to_trace([Row("q1", "s", "m", ScoreVerdict(0.5), 0.5)])
    other = Row("q1", "other", "m", BooleanVerdict(True), 0.5, label=False)
    with pytest.raises(InputError, match=r"row 'other/m/q1': another row .* another label"):
        to_trace([*two_arms(), other])


def test_the_command_writes_a_trace_that_reads_back(tmp_path):
    write_ledger(tmp_path / "l.jsonl", two_arms())
    app = typer.Typer()
    register(app)
    app.command("another")(lambda: None)
    arguments = ["trace", tmp_path / "l.jsonl", "-o", tmp_path / "t.csv", "--arm", "cheap/m"]
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0
    again = read_trace(tmp_path / "t.csv")
    assert again.fingerprint() != ""
    assert again.verdicts[:, 0].tolist() == [1, 1]
    assert again.scores[:, 0] == pytest.approx([0.4, 0.1])


@pytest.mark.parametrize(
    ("measure", "disclosed", "said"),
    [
        (
            "predictive_entropy",
            {"p_true": "0.5"},
            r"row 'j/m/q1': the disclosed `p_true` is a number",
        ),
        ("predictive_entropy", {"p_true": 1.5}, r"`p_true` is a number in \[0, 1\], got 1.5"),
        ("predictive_entropy", {"p_true": True}, "`p_true` is a number"),
        ("predictive_entropy", {"log_odds": [1.0]}, "`log_odds` is a number"),
        ("preference_entropy", {"preference": 2}, r"`preference` is a number in \[0, 1\], got 2"),
        ("preference_entropy", {"orders": "ab"}, "has no 'preference_entropy'"),
        ("variation_ratio", {"votes": 3}, "`votes` are a list"),
        ("cut", {"score": "7", "cut": 5, "scale": [0, 10]}, "`score` is a number"),
        ("cut", {"score": 7, "cut": 5, "scale": 10}, "`scale` is two numbers"),
        ("cut", {"score": 70, "cut": 5, "scale": [0, 10]}, r"`score` is a number in \[0, 10\]"),
    ],
)
def test_a_disclosure_off_its_scale_is_refused_with_its_row(measure, disclosed, said):
    row = Row("q1", "j", "m", BooleanVerdict(True), disclosure=disclosed)
    with pytest.raises(InputError, match=said):
        to_trace([row], uncertainty=measure)


def test_the_old_name_of_a_measure_is_answered_with_the_new_one():
    with pytest.raises(InputError, match="'dissent' is now called 'variation_ratio'"):
        to_trace(two_arms(), uncertainty="dissent")


def with_source(subject, outcome=None, **facts):
    verdict = BooleanVerdict(True) if outcome is None else outcome
    return Row(subject, "j", "m", verdict, 0.9, disclosure={"source": facts} if facts else {})


def test_what_made_the_scores_goes_from_the_ledger_into_the_trace():
    rows = [with_source("q1", model="a", measure="x"), with_source("q2", model="a", measure="x")]
    (source,) = to_trace(rows).sources
    assert dict(source) == {"model": "a", "measure": "confidence"}
    assert to_trace([with_source("q1")]).sources == (None,)


@pytest.mark.parametrize(
    ("facts", "said"),
    [({"model": "b"}, "model: 'a' in the one, 'b' in the other"), ({}, "nothing")],
)
def test_one_arm_has_one_source(facts, said):
    with pytest.raises(InputError, match=said):
        to_trace([with_source("q1", model="a"), with_source("q2", **facts)])
    with pytest.raises(InputError, match=said):
        to_trace(
            [with_source("q2", **facts), with_source("q1", model="a")][:: 1 if facts == {} else -1]
        )


def test_a_verdict_that_a_gate_declined_is_evidence():
    sure = Row("q1", "j", "m", BooleanVerdict(True), 0.9, disclosure={"gated": "true"})
    declined = Row(
        "q2",
        "j",
        "m",
        Abstention(AbstainReason.BELOW_CONFORMAL),
        0.6,
        disclosure={"gated": "false", "uncertainty": 0.4},
    )
    trace = to_trace([sure, declined])
    assert trace.verdicts[:, 0].tolist() == [1, 0]
    assert trace.scores[:, 0] == pytest.approx([0.1, 0.4])
    never_asked = Row("q3", "j", "m", Abstention(AbstainReason.BELOW_CONFORMAL))
    with pytest.raises(InputError, match="row 'j/m/q3' was declined by a gate and does not"):
        to_trace([sure, never_asked])


def test_names_of_arms_sources_and_what_items_bring_are_in_every_format(tmp_path):
    items = [
        Item("q1", "?", ("x",), label=True, extra={"tier": "NA", "year": 2020}),
        Item("q2", "?", ("y",), label=False, extra={"tier": "hard", "year": 2021}),
    ]
    judges = [
        FunctionJudge(name, lambda item: Judgement(BooleanVerdict(True), 0.75)) for name in "ab"
    ]
    rows = [
        replace(row, disclosure={**row.disclosure, "source": {"model": row.judge}})
        for row in judge_items(judges, items)
    ]
    write_ledger(tmp_path / "l.jsonl", rows)
    write_parquet(tmp_path / "l.parquet", rows)
    expected = to_trace(rows)
    assert expected.extra["tier"].tolist() == ["NA", "hard"]
    for ledger in (read_ledger(tmp_path / "l.jsonl").rows, read_parquet(tmp_path / "l.parquet")):
        trace = to_trace(ledger)
        for ending in ("csv", "jsonl", "parquet"):
            write_table(trace.to_frame(), tmp_path / f"t.{ending}")
            again = read_trace(tmp_path / f"t.{ending}")
            assert again.modes == tuple(f"{judge.name}/{judge.mode}" for judge in judges)
            assert [source["model"] for source in again.sources] == ["a", "b"]
            assert again.fingerprint() == expected.fingerprint()
            assert again.extra.to_dict("list") == {"tier": ["NA", "hard"], "year": [2020, 2021]}


def test_modes_in_other_places_are_refused():
    trace = to_trace(two_arms())
    swapped = [replace(trace.columns[1], verdict="v1"), replace(trace.columns[0], verdict="v2")]
    modes = [ModeColumns(m.name, f"v{k}", f"u{k}") for k, m in enumerate(swapped, start=1)]
    with pytest.raises(InputError, match="'mode1' says that they are those of 'cheap/m'"):
        Trace.from_frame(trace.to_frame(), modes=modes)
