"""Outcomes files: what is admitted, and what is turned away, with its row."""

import json

import numpy as np
import pandas as pd
import pytest

import riskjudge
from riskjudge.errors import InputError
from riskjudge.gate.outcomes import Outcomes, read_outcomes
from riskjudge.io.tables import write_table

ROWS = pd.DataFrame(
    [
        ("a", "graded", "small", 1, None, None, False, True, 1, 1),
        ("b", "graded", "big", 0, None, None, False, True, 2, 1),
        ("c", "abstained", None, None, "panel_split", None, False, True, 2, 0),
        ("d", "score_failed", None, None, None, "timeout", False, True, 2, None),
        ("e", "graded", None, None, None, None, True, True, 2, None),
    ],
    columns=[
        *("item_id", "status", "mode", "verdict", "abstain_reason", "failure"),
        *("undecided", "certified", "asked", "label"),
    ],
).astype(object)

REFUSED = [
    ("a", "verdict", None, "row 1: an item that is accepted in a mode has a verdict"),
    ("b", "verdict", 2, r"row 2, verdict: 2(.0)? is not 0, 1"),
    ("b", "verdict", 0.5, "row 2, verdict"),
    ("b", "verdict", "maybe", "row 2, verdict"),
    ("c", "verdict", 1, "row 3: there is a verdict, yet no mode"),
    ("a", "certified", None, "row 1, certified: None is not true or false"),
    ("e", "certified", None, "row 5, certified"),
    ("a", "certified", "perhaps", "row 1, certified"),
    ("a", "certified", 2, "row 1, certified"),
    ("b", "undecided", None, "row 2, undecided"),
    ("b", "asked", None, "row 2, asked: None is not a whole number|row 2, asked: nan"),
    ("b", "asked", -1, "row 2, asked"),
    ("b", "asked", 1.5, "row 2, asked"),
    ("b", "asked", "two", "row 2, asked: 'two'"),
    ("b", "asked", 1e300, "row 2, asked"),
    ("b", "asked", 0, "row 2: an item is accepted in a mode, yet `asked`"),
    ("b", "item_id", "a", "row 2: the id 'a' is that of row 1"),
    ("b", "item_id", None, "row 2, item_id"),
    ("b", "status", None, "row 2, status"),
    ("b", "status", "done", "row 2, status: 'done' is not one of graded"),
    ("b", "status", "abstained", "row 2: `status` contradicts"),
    ("c", "status", "graded", "row 3: `status` contradicts"),
    ("d", "status", "abstained", "row 4: `status` contradicts"),
    ("e", "status", "abstained", "row 5: `status` contradicts"),
    ("c", "abstain_reason", "tired", "row 3, abstain_reason: 'tired' is not one of panel_split"),
    ("c", "abstain_reason", "timeout", "row 3, abstain_reason"),
    ("c", "abstain_reason", None, "row 3: an item is accepted in a mode or carries one"),
    ("d", "failure", "panel_split", "row 4, failure"),
    ("d", "abstain_reason", "panel_split", "row 4: an item is accepted in a mode or carries one"),
    ("a", "failure", "timeout", "row 1: an item is accepted in a mode or carries one"),
    ("a", "undecided", True, "row 1: an item is accepted in a mode or carries one"),
    ("c", "mode", "small", "row 3"),
    ("a", "mode", None, "row 1: an item is accepted in a mode or carries one"),
    ("d", "label", 3, "row 4, label"),
]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize(("item", "column", "value", "said"), REFUSED)
def test_a_row_that_does_not_say_what_it_must_is_named(
    tmp_path, command, form, item, column, value, said
):
    rows = ROWS.copy()
    rows.loc[rows["item_id"] == item, column] = value
    path = tmp_path / f"outcomes.{form}"
    write_table(rows, path)
    with pytest.raises(InputError, match=said.replace("None", "(None|nan)")):
        read_outcomes(path)
    code, out, err = command("report", path)
    assert (code, out) == (2, "")
    assert ", row " in err


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_a_whole_file_comes_back_as_it_was(tmp_path, form):
    path = tmp_path / f"outcomes.{form}"
    whole = Outcomes.from_frame(ROWS)
    write_table(whole.to_frame(), path)
    again = read_outcomes(path)
    assert again.modes == ("small", "big")
    for name in ("mode", "verdict", "why_not", "certified", "asked", "labels"):
        assert np.array_equal(getattr(again, name), getattr(whole, name)), name


@pytest.mark.parametrize("value", [True, 1, "true", "1", 1.0])
def test_truth_may_be_written_in_several_ways(value):
    rows = ROWS.copy()
    rows.loc[0, ["certified", "verdict", "label"]] = value
    read = Outcomes.from_frame(rows)
    assert read.certified[0]
    assert read.verdict[0] == read.labels[0] == 1


def test_every_column_is_needed():
    for column in ROWS.columns.drop("label"):
        with pytest.raises(InputError, match=f"no column '{column}'"):
            Outcomes.from_frame(ROWS.drop(columns=column))
    assert (Outcomes.from_frame(ROWS.drop(columns="label")).labels == -1).all()


def test_an_unfitted_gate_is_told_from_a_fitted_one_that_accepts_nothing(tmp_path, command):
    trace = riskjudge.demo_trace()
    unfitted = riskjudge.Router(unfitted="abstain").decide(trace)
    empty = riskjudge.Router(alpha=0.0001, delta=0.05).fit(trace).decide(trace)
    said = []
    for name, outcomes in (("unfitted", unfitted), ("empty", empty)):
        assert not outcomes.accepted.any()
        path = tmp_path / f"{name}.csv"
        write_table(outcomes.to_frame(), path)
        said.append(json.loads(command("report", path, "--json")[1])["whole"])
        text = command("report", path)[1]
        assert ("decided without a certificate" in text) is (name == "unfitted")
    assert [whole["without_certificate"] for whole in said] == [len(trace), 0]


def decided():
    """Outcomes of a gate over two modes, with everything that may be missing."""
    frame = riskjudge.demo_trace().to_frame()[:400]
    gate = riskjudge.Router(alpha=0.3).fit(riskjudge.Trace.from_frame(frame))
    frame.loc[3, ["v1", "u1"]] = None
    frame.loc[4, "u2"] = None
    frame.loc[5, ["v1", "u1", "v2", "u2"]] = None
    frame["why1"] = None
    frame.loc[3, "why1"] = "panel_split"
    frame["uncertainty"], frame["v7x"] = 0.5, "text"
    return riskjudge.Trace.from_frame(frame), gate.decide(riskjudge.Trace.from_frame(frame))


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_what_each_mode_said_is_kept_and_is_a_trace_again(tmp_path, form):
    trace, whole = decided()
    path = tmp_path / f"outcomes.{form}"
    write_table(whole.to_frame(), path)
    again = read_outcomes(path)
    assert again.modes == trace.modes == ("parametric", "retrieval")
    for kept in (again.readings, riskjudge.read_trace(path)):
        assert np.array_equal(kept.verdicts, trace.verdicts)
        assert np.array_equal(kept.scores, trace.scores, equal_nan=True)
        assert np.array_equal(kept.absence, trace.absence)
    assert np.array_equal(again.readings.last, whole.readings.last)
    assert {"trace_uncertainty", "v7x"} <= set(again.extra.columns)
    assert again.to_frame().columns.tolist() == whole.to_frame().columns.tolist()


def test_the_last_mode_that_said_anything_is_named():
    trace, whole = decided()
    frame = whole.to_frame().set_index("item_id")
    accepted = frame["mode"].notna()
    assert (frame["last_mode"] == frame["mode"])[accepted].all()
    assert (frame["last_verdict"] == frame["verdict"])[accepted].all()
    declined = frame[~accepted & frame["v2"].notna()]
    assert (declined["uncertainty"] == declined["u2"]).all()
    assert frame.loc[trace.item_id[5], ["last_mode", "last_verdict"]].isna().all()
    unfitted = riskjudge.Router(unfitted="abstain").decide(trace).to_frame()
    assert unfitted["last_mode"].isna().all()
    let_through = riskjudge.Router().decide(trace).to_frame()
    assert (let_through["last_mode"] == let_through["mode"])[let_through["v1"].notna()].all()


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("last_mode", "mode9", "row 1, last_mode: 'mode9' is not one of parametric, retrieval"),
        ("last_mode", "retrieval", "row 1: accepted in another mode"),
        ("v1", 0, "row 1: `verdict` is not what the accepting mode said"),
        ("v1", "perhaps", "row 1, v1"),
        ("why2", "tired", "row 1, why2"),
        ("u1", "low", "row 1, u1"),
    ],
)
def test_readings_that_deny_the_decision_are_refused(column, value, said):
    _, whole = decided()
    frame = whole.to_frame()
    first = frame[(frame["mode"] == "parametric") & (frame["verdict"] == 1)].index[0]
    frame = frame.loc[first:].reset_index(drop=True).astype(object)
    frame.loc[0, column] = value
    with pytest.raises(InputError, match=said):
        Outcomes.from_frame(frame)


def test_columns_of_a_mode_that_the_gate_does_not_use_are_no_readings(tmp_path):
    frame = riskjudge.demo_trace().to_frame()[:300].assign(v2="junk")
    frame["mode2"] = "search"
    one = [riskjudge.ModeColumns("plain", "v1", "u1")]
    trace = riskjudge.Trace.from_frame(frame, modes=one)
    write_table(riskjudge.Router().decide(trace).to_frame(), tmp_path / "o.csv")
    again = read_outcomes(tmp_path / "o.csv")
    assert again.modes == ("plain",)
    assert {"trace_v2", "trace_u2", "trace_mode2"} <= set(again.extra.columns)


def test_two_files_of_outcomes_of_one_gate_are_stacked():
    from riskjudge.gate.outcomes import stack_outcomes

    _, whole = decided()
    halves = [whole.at(np.arange(100)), whole.at(np.arange(100, 400))]
    assert stack_outcomes(halves).to_frame().equals(whole.to_frame())
