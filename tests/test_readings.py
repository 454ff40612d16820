"""Readings: what moves which counter, and what a rate over nothing is."""

from __future__ import annotations

import json

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from riskjudge.cli import census, judge, reading
from riskjudge.data.verdict import (
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
from riskjudge.errors import InputError, OperationalError
from riskjudge.items.llmbar import MAIN_SUBSETS
from riskjudge.ledger import (
    PositionPreference,
    Reading,
    Row,
    census_line,
    item_statuses,
    position_preference,
    readings,
    write_ledger,
)

ROWS = [
    Row("q0", "j", "m", BooleanVerdict(True), label=True, subset="x"),
    Row("q1", "j", "m", BooleanVerdict(True), label=False, subset="x"),
    Row("q2", "j", "m", BooleanVerdict(True), subset="x"),
    Row("q3", "j", "m", ScoreVerdict(0.5), label=True, subset="x"),
    Row("q4", "j", "m", Undecided(), label=True, subset="y"),
    Row("q5", "j", "m", Abstention(AbstainReason.PANEL_SPLIT), label=True, subset="y"),
    Row("q6", "j", "m", Abstention(AbstainReason.PANEL_SPLIT), subset="y"),
    Row("q7", "j", "m", Failure(FailureKind.TIMEOUT), label=True, subset="y"),
    Row("q8", "j", "m", Failure(FailureKind.CANCELLED), label=True, subset="y"),
    Row("q9", "j", "m", None, label=True, subset="y", calls=0),
]


def test_every_item_is_in_exactly_one_column():
    [reading] = readings(ROWS)
    assert reading.to_dict() == {
        "items": 10,
        "graded": 4,
        "abstained": 2,
        "undecided": 1,
        "failed": 2,
        "skipped_no_body": 1,
        "missing_from_ledger": 0,
        "reasons": {"panel_split": 2},
        "errors": {"cancelled": 1, "timeout": 1},
        "evaluator": {
            "evaluated": 5,
            "skipped": {"abstained": 2, "evaluator_error": 1, "cancelled": 1},
        },
        "compared": 2,
        "agreed": 1,
        "agreement": 0.5,
        "abstention_rate": 2 / 7,
        "calls": 9,
    }


def test_an_absent_reason_is_absent_and_a_rate_over_nothing_is_undefined():
    [reading] = readings(ROWS[4:5])
    assert (reading.reasons, reading.errors, reading.skips) == ({}, {}, {})
    assert reading.agreement is None
    assert reading.abstention_rate == 0.0
    [nothing] = readings([])
    assert (nothing.items, nothing.agreement, nothing.abstention_rate) == (0, None, None)
    assert json.loads(json.dumps(nothing.to_dict(), allow_nan=False))["agreement"] is None


@given(st.lists(st.sampled_from(ROWS[4:]), max_size=8, unique_by=lambda row: row.subject))
def test_what_is_no_verdict_moves_neither_half_of_the_rate(others):
    [reading] = readings([*ROWS[:3], *others])
    assert (reading.agreed, reading.compared, reading.graded) == (1, 2, 3)
    assert reading.items == 3 + len(others)


def test_a_segment_with_too_little_evidence_says_need_and_have():
    x, y = readings(ROWS, ("subset",), need=2)
    assert (x.segment, x.sufficient, x.to_dict()["agreement"]) == (("x",), True, 0.5)
    assert "insufficient" not in x.to_dict()
    record = y.to_dict()
    assert (record["subset"], record["agreement"]) == ("y", None)
    assert record["insufficient"] == {"need": 2, "have": 0}


def test_arms_keep_abstentions_and_failures_apart():
    declining = [
        Row(f"q{i}", "decline", "m", Abstention(AbstainReason.OUT_OF_SCOPE)) for i in (1, 2)
    ]
    broken = [Row(f"q{i}", "broken", "m", Failure(FailureKind.STATUS)) for i in (1, 2, 3)]
    arms = readings([*declining, *broken], ("judge", "mode"))
    assert [(arm.segment[0], arm.abstained, arm.failed) for arm in arms] == [
        ("broken", 0, 3),
        ("decline", 2, 0),
    ]
    assert [census_line(arm) for arm in arms] == [
        "broken/m pairs=3 graded=0 abstained=0 undecided=0 calls=3 agreement=undefined failed=3",
        "decline/m pairs=2 graded=0 abstained=2 undecided=0 calls=2 agreement=undefined",
    ]


def test_what_was_expected_and_has_no_row_is_missing():
    expected = {f"q{i}": "x" if i < 4 else "y" for i in range(12)}
    x, y = readings(ROWS, ("subset",), expected=expected)
    assert (x.missing_from_ledger, y.missing_from_ledger) == (0, 2)
    [nothing] = readings([], expected=expected)
    assert (nothing.items, nothing.missing_from_ledger) == (12, 12)
    with pytest.raises(InputError, match="row 'j/m/q0' judges 'q0'"):
        readings(ROWS, expected={"q1": None})


def test_item_statuses_are_five():
    statuses = item_statuses(ROWS, ["q0", "q4", "q5", "q7", "q9", "q10"])
    assert list(statuses.values()) == [
        "graded",
        "graded",
        "abstained",
        "score_failed",
        "skipped_no_body",
        "missing_from_ledger",
    ]
    with pytest.raises(InputError, match="'q0' has two rows"):
        item_statuses([ROWS[0], Row("q0", "other", "m", Undecided())])


def test_a_duplicate_row_and_an_unknown_column_are_refused():
    with pytest.raises(InputError, match="duplicate row id 'j/m/q0'"):
        readings([ROWS[0], ROWS[0]])
    with pytest.raises(InputError, match="cannot split by 'colour'"):
        readings(ROWS, ("colour",))


def test_segments_of_labels_and_seeds_are_texts():
    rows = [
        Row("q0", "j", "m", BooleanVerdict(True), label=True, seed=3),
        Row("q1", "j", "m", WinnerVerdict(Winner.A), label=Winner.B),
    ]
    assert [r.segment for r in readings(rows, ("label", "seed"))] == [("b", None), ("true", "3")]


def trial(subject, position, mode="m"):
    return Row(
        subject,
        "j",
        mode,
        Abstention(AbstainReason.SWAP_INCONSISTENT),
        disclosure={"position": position},
    )


def test_position_preference_counts_an_item_once():
    rows = [trial(f"q{i}", "first") for i in range(9)] + [trial("q9", "second")]
    assert position_preference(rows) == PositionPreference(9, 1)
    # Ten prompts over the same ten items are no more evidence than one.
    again = [trial(f"q{i}", "first", mode) for i in range(9) for mode in "abcdefghij"]
    level = [trial("q9", "first"), trial("q9", "second", "b")]
    assert position_preference([*again, *level]) == PositionPreference(9, 0)


def test_position_intervals_are_exact():
    from scipy.stats import binomtest

    for first, second in ((9, 1), (0, 5), (5, 0), (30, 41)):
        lean = PositionPreference(first, second)
        exact = binomtest(first, first + second).proportion_ci(0.9, method="exact")
        assert lean.interval(0.9) == pytest.approx((exact.low, exact.high), abs=1e-12)
    assert PositionPreference(0, 0).share is None
    assert PositionPreference(0, 0).interval() is None


@pytest.fixture
def run():
    """Run a command; an error that the command line would report is raised."""
    app = typer.Typer()
    census.register(app)
    reading.register(app)
    judge.register(app)

    def invoke(*arguments):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.stdout

    return invoke


ITEMS = [
    {"id": "q1", "prompt": "?", "responses": ["long", "x"], "label": "a", "subset": "g"},
    {"id": "q2", "prompt": "?", "responses": ["x", "long"], "label": "a", "subset": "g"},
    {"id": "q3", "prompt": "?", "responses": ["x", None], "label": "b", "subset": "h"},
]
CONFIG = """
[judges.longest]
type = "longest"
[judges.trial]
type = "pairwise"
judge = "longest"
"""


@pytest.fixture
def job(tmp_path):
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, ITEMS)))
    (tmp_path / "judges.toml").write_text(CONFIG)
    return tmp_path


def test_judge_and_reading_commands(run, job):
    ledger, config = job / "l.jsonl", job / "judges.toml"
    arguments = ("judge", job / "items.jsonl", "--config", config, "-o", ledger)
    line = "trial/pairwise pairs=3 graded=2 abstained=0 undecided=0 calls=4 agreement=0.5000"
    assert run(*arguments) == f"{line} skipped_no_body=1\n"
    before = ledger.read_bytes()
    run(*arguments)
    assert ledger.read_bytes() == before

    found = json.loads(run("reading", ledger, "--by", "subset", "--need", "1", "--json"))[
        "readings"
    ]
    assert [(r["subset"], r["graded"], r["agreement"]) for r in found] == [
        ("g", 2, 0.5),
        ("h", 0, None),
    ]
    assert found[1]["insufficient"] == {"need": 1, "have": 0}
    fast = run(
        "reading", ledger, "--by", "subset", "--need", 1, "--json", "--parquet", job / "p.parquet"
    )
    assert json.loads(fast)["readings"] == found
    assert "need 1, have 0" in run("reading", ledger, "--by", "subset", "--need", "1")


def test_reading_counts_what_is_missing(run, job):
    write_ledger(job / "l.jsonl", [Row("q1", "j", "m", Undecided(), subset="g")])
    [found] = json.loads(run("reading", job / "l.jsonl", "--items", job / "items.jsonl", "--json"))[
        "readings"
    ]
    assert (found["items"], found["missing_from_ledger"]) == (3, 2)


def test_reading_goes_on_past_a_damaged_line_when_asked(run, job):
    write_ledger(job / "l.jsonl", ROWS)
    with (job / "l.jsonl").open("ab") as file:
        file.write(b'{"torn')
    with pytest.raises(InputError, match="line 11"):
        run("reading", job / "l.jsonl")
    assert "panel_split 2" in run("reading", job / "l.jsonl", "--on-error", "skip")


def test_a_dead_judge_is_an_operational_failure(run, job):
    (job / "judges.toml").write_text('[judges.s]\ntype = "sidecar"\nurl = "http://127.0.0.1:9"\n')
    (job / "items.jsonl").write_text('{"id": "q1", "prompt": "?", "response": "x"}\n')
    with pytest.raises(OperationalError, match="every judgement failed"):
        run("judge", job / "items.jsonl", "--config", job / "judges.toml", "-o", job / "l.jsonl")


def test_an_empty_reading_is_printed():
    assert Reading().to_dict()["items"] == 0


def test_a_census_says_what_is_insufficient_in_text_as_in_json(real, command):
    folder = real / "llmbar" / "Dataset"
    options = ("--llmbar", folder, "--judge", "random", "--by", "subset")
    for need in (60, 10_000):
        records = json.loads(command("census", *options, "--need", need, "--json")[1])["arms"]
        lines = command("census", *options, "--need", need)[1].splitlines()
        assert len(lines) == len(records)
        short = 0
        for record, line in zip(records, lines, strict=True):
            said = record.get("insufficient")
            short += said is not None
            if said is None:
                assert "insufficient" not in line
            else:
                assert f"insufficient(need={need}, have={said['have']})" in line
        assert short


def test_an_insufficient_arm_is_named_without_public_data(tmp_path, command):
    pair = {"input": "?", "output_1": "x", "output_2": "yy", "label": 2}
    for subset in MAIN_SUBSETS:
        folder = tmp_path / subset
        folder.mkdir(parents=True)
        (folder / "dataset.json").write_text(json.dumps([pair]))
    code, out, _ = command("census", "--llmbar", tmp_path, "--judge", "longest", "--need", 60)
    assert code == 0
    assert "agreement=insufficient(need=60, have=5)" in out


@pytest.mark.parametrize("confidence", ["nan", 0, 1, 95, -1, "x"])
def test_a_confidence_that_is_none_is_refused_whether_or_not_it_is_used(
    tmp_path, command, confidence
):
    write_ledger(tmp_path / "l.jsonl", [Row("q1", "j", "m", BooleanVerdict(True), label=True)])
    for options in (("reading", tmp_path / "l.jsonl"), ("census", "--llmbar", tmp_path)):
        code, out, err = command(*options, "--confidence", confidence)
        assert (code, out) == (2, "")
        assert "confidence" in err
    assert command("census", "--llmbar", tmp_path, "--seed", -1)[0] == 2
