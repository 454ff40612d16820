"""The boundary between stored records and rows: what is valid survives, nothing else gets in."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
from riskjudge.errors import InputError
from riskjudge.ledger import Row, from_record, to_record
from riskjudge.ledger.jsonl import format_line, parse_line
from riskjudge.ledger.records import COLUMNS, plain

BASE = {"id": "r7", "subject": "q7", "judge": "j", "mode": "direct"}


def record(**columns):
    return {**BASE, **columns}


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        # A zero beside an abstention is a fabricated fail.
        ({"status": "abstained", "reason": "panel_split", "score": 0}, "carries no `score`"),
        ({"status": "abstained", "reason": "panel_split", "boolean": False}, "no `boolean`"),
        ({"status": "abstained", "reason": "panel_split", "undecided": True}, "no `undecided`"),
        ({"status": "abstained", "reason": "panel_split", "value": 0}, "unknown column `value`"),
        ({"status": "abstained", "reason": "panel_split", "pass": False}, "column `pass`"),
        ({"status": "abstained", "reason": "panel_split", "error": "parse"}, "no `error`"),
        ({"status": "abstained"}, "says its `reason`"),
        ({"status": "abstained", "reason": "tired"}, "unknown abstain reason 'tired'"),
        ({"status": "graded", "boolean": True, "reason": "panel_split"}, "carries no `reason`"),
        ({"status": "graded", "boolean": True, "winner": "a"}, "exactly one of"),
        ({"status": "graded"}, "exactly one of"),
        ({"status": "graded", "score": math.nan}, "exactly one of"),
        ({"status": "graded", "boolean": 1}, "`boolean` is a bool"),
        ({"status": "graded", "boolean": "true"}, "`boolean` is a bool"),
        ({"status": "graded", "winner": "c"}, "'a' or 'b'"),
        ({"status": "graded", "undecided": False}, "true or left out"),
        ({"status": "score_failed", "error": "timeout", "score": 0.0}, "carries no `score`"),
        ({"status": "score_failed", "error": "timeout", "reason": "panel_split"}, "no `reason`"),
        ({"status": "score_failed", "error": "oops"}, "unknown `error`"),
        ({"status": "score_failed"}, "unknown `error`"),
        ({"status": "score_failed", "error": "timeout", "confidence": 0.5}, "no confidence"),
        ({"status": "skipped_no_body", "boolean": True}, "carries no `boolean`"),
        ({"status": "skipped_no_body", "reason": "out_of_scope"}, "carries no `reason`"),
        ({"status": "skipped_no_body", "confidence": 0.5}, "without a body"),
        ({"status": "missing_from_ledger"}, "cannot be `missing_from_ledger`"),
        ({"status": "undecided"}, "unknown status"),
        ({"status": "graded", "boolean": True, "confidence": 1.2}, "lies in"),
        ({"status": "graded", "boolean": True, "confidence": "high"}, "`confidence` is a float"),
        ({"status": "graded", "boolean": True, "calls": 1.5}, "`calls` is a int"),
        ({"status": "graded", "boolean": True, "calls": -1}, "at least 0"),
        ({"status": "graded", "boolean": True, "seed": 2**64}, "64 bits"),
        ({"status": "graded", "boolean": True, "label": "a"}, "label of another kind"),
        ({"status": "graded", "winner": "a", "label": True}, "label of another kind"),
        ({"status": "graded", "boolean": True, "label": "maybe"}, "`label` is one of"),
        ({"status": "graded", "boolean": True, "ledger_abstain_reason": "no"}, "abstain reason"),
        ({"status": "graded", "boolean": True, "judge": None}, "`judge` is missing"),
        ({"status": "graded", "score": 10**400}, "too large"),
    ],
)
def test_turned_away_with_the_row_named(columns, problem):
    with pytest.raises(InputError, match="row 'r7'") as caught:
        from_record(record(**columns))
    assert problem in str(caught.value)


def test_what_is_no_object_is_turned_away():
    for value in (None, [], "row", 3):
        with pytest.raises(InputError, match="JSON object"):
            from_record(value)


def test_provenance_may_stand_on_any_row():
    row = from_record(record(status="graded", boolean=True, ledger_abstain_reason="out_of_scope"))
    assert row.outcome == BooleanVerdict(True)
    assert row.ledger_abstain_reason is AbstainReason.OUT_OF_SCOPE


def test_a_bare_nan_is_read_as_null_and_never_written():
    line = b'{"id":"r","subject":"q","judge":"j","mode":"m","status":"graded","boolean":true,'
    row = parse_line(line + b'"confidence":NaN,"seconds":Infinity,"disclosure":{"p":[NaN,1]}}\n')
    assert row.confidence is None
    assert row.seconds is None
    written = format_line(row)
    assert b"NaN" not in written
    assert json.loads(written)["disclosure"] == {"p": [None, 1]}


def test_a_disclosure_holds_json_values():
    with pytest.raises(InputError, match="JSON values, got set"):
        plain({"votes": {1, 2}})


def test_a_field_that_occurs_twice_is_damage():
    with pytest.raises(InputError, match="twice"):
        parse_line(b'{"id":"a","id":"b"}\n')


# Texts without surrogates, as files hold them.
names = st.text(min_size=1, max_size=8)
outcomes = st.one_of(
    st.none(),
    st.booleans().map(BooleanVerdict),
    st.floats(allow_nan=False, allow_infinity=False).map(ScoreVerdict),
    st.sampled_from(Winner).map(WinnerVerdict),
    st.just(Undecided()),
    st.sampled_from(AbstainReason).map(Abstention),
    st.builds(Failure, st.sampled_from(FailureKind), st.text(max_size=20)),
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@st.composite
def rows(draw):
    outcome = draw(outcomes)
    labels = {BooleanVerdict: st.booleans(), WinnerVerdict: st.sampled_from(Winner)}
    either = st.booleans() | st.sampled_from(Winner)
    confident = outcome is not None and not isinstance(outcome, Failure)
    return Row(
        subject=draw(names),
        judge=draw(names),
        mode=draw(names),
        outcome=outcome,
        confidence=draw(st.none() | st.floats(0, 1)) if confident else None,
        label=draw(st.none() | labels.get(type(outcome), either)),
        subset=draw(st.none() | st.text(max_size=5)),
        group=draw(st.none() | st.text(max_size=5)),
        seed=draw(st.none() | st.integers(-(2**63), 2**63 - 1)),
        order=draw(st.sampled_from([None, "ab", "ab+ba"])),
        calls=draw(st.integers(0, 100)),
        seconds=draw(st.none() | st.floats(0, 1e6)),
        started=draw(st.none() | st.just("2026-01-01T00:00:00.000+00:00")),
        disclosure=draw(st.dictionaries(st.text(max_size=3), json_values, max_size=3)),
        ledger_abstain_reason=draw(st.none() | st.sampled_from(AbstainReason)),
    )


@given(rows())
def test_every_row_survives_the_round_trip(row):
    again = parse_line(format_line(row))
    assert to_record(again) == to_record(row)
    assert again.outcome == row.outcome
    assert again.label == row.label


values = {
    "status": st.sampled_from(
        ["graded", "abstained", "score_failed", "skipped_no_body", "missing_from_ledger", "?"]
    ),
    "boolean": st.booleans() | st.just(1),
    "score": st.floats() | st.integers() | st.just("7"),
    "winner": st.sampled_from(["a", "b", "c"]),
    "undecided": st.booleans(),
    "reason": st.sampled_from([*AbstainReason, "tired"]),
    "error": st.sampled_from([*FailureKind, "oops"]),
    "message": st.just("m"),
    "confidence": st.floats(),
    "label": st.sampled_from(["true", "false", "a", "b", True, "x"]),
    "calls": st.integers(-1, 3),
    "value": st.just(0),
}


@st.composite
def records(draw):
    """A valid record with one to three columns of it changed, dropped or added."""
    found = {**to_record(draw(rows())), "id": "r7"}
    for column in draw(st.lists(st.sampled_from(list(values)), min_size=1, max_size=3)):
        found[column] = draw(values[column] | st.none())
    return found


def is_valid(found):
    """The closed vocabulary, written down a second time and another way."""
    said = {
        name: value
        for name, value in found.items()
        if value is not None and not (isinstance(value, float) and not math.isfinite(value))
    }
    if "value" in found:
        return False
    outcome = {"boolean", "score", "winner", "undecided", "reason", "error", "message"} & set(said)
    expected = {
        "graded": [{"boolean"}, {"score"}, {"winner"}, {"undecided"}],
        "abstained": [{"reason"}],
        "score_failed": [{"error"}, {"error", "message"}],
        "skipped_no_body": [set()],
    }
    if outcome not in expected.get(said.get("status"), []):
        return False
    kinds = {bool: ("boolean", "undecided"), str: ("winner", "reason", "error")}
    if any(not isinstance(said.get(c, t()), t) for t in kinds for c in kinds[t]):
        return False
    if type(said.get("score", 0.0)) not in (int, float):
        return False
    if said.get("winner", "a") not in ("a", "b") or said.get("undecided", True) is not True:
        return False
    if said.get("reason", "panel_split") not in tuple(AbstainReason):
        return False
    if said.get("error", "parse") not in tuple(FailureKind):
        return False
    if not 0 <= said.get("confidence", 0) <= 1 or said.get("calls", 0) < 0:
        return False
    if "confidence" in said and said["status"] in ("score_failed", "skipped_no_body"):
        return False
    label = {True: "true"}.get(said.get("label"), said.get("label"))
    allowed = {"boolean": ("true", "false"), "winner": ("a", "b")}
    kind = next(iter(outcome & set(allowed)), None)
    return label is None or label in allowed.get(kind, ("true", "false", "a", "b"))


@settings(max_examples=250)
@given(records())
def test_no_invalid_record_gets_in_and_no_valid_one_is_lost(found):
    if not is_valid(found):
        with pytest.raises(InputError, match="row 'r7'"):
            from_record(found)
        return
    row = from_record(found)
    assert set(to_record(row)) <= set(COLUMNS)
    assert to_record(parse_line(format_line(row))) == to_record(row)
