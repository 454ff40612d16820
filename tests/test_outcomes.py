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
