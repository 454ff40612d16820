"""Whatever stands in a cell: an answer that adds up, or an error that is ours."""

import json
import math
import os

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from riskjudge.agreement import position_consistency, promote, rater_agreement, validate_judge
from riskjudge.data.verdict import BooleanVerdict, Undecided, Winner, WinnerVerdict
from riskjudge.errors import InputError
from riskjudge.evaluation import summarize
from riskjudge.gate.outcomes import Outcomes
from riskjudge.judges import Judgement
from riskjudge.ledger.uncertainty import UNCERTAINTIES

EXAMPLES = int(os.environ.get("RISKJUDGE_FUZZ", "150"))

CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(),
    st.floats(),
    st.text(max_size=4),
    st.sampled_from(["graded", "abstained", "score_failed", "panel_split", "timeout", "undecided"]),
    st.sampled_from(["a", "A ", "b", "tie", "Yes", "yes ", "true", "1", "0", "1.0", "", " "]),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=1),
)
GOOD = [
    ("graded", "small", 1, None, None, False, True, 1, 1),
    ("graded", "big", 0, None, None, False, False, 2, 1),
    ("abstained", None, None, "panel_split", None, False, True, 2, 0),
    ("score_failed", None, None, None, "timeout", False, True, 2, None),
    ("graded", None, None, None, None, True, True, 2, None),
]
COLUMNS = (
    *("status", "mode", "verdict", "abstain_reason", "failure", "undecided", "certified"),
    *("asked", "label"),
)
LABELS = st.dictionaries(st.integers(0, 8), CELLS, max_size=8)


@settings(max_examples=EXAMPLES)
@given(
    st.lists(st.sampled_from(GOOD), min_size=1, max_size=6),
    st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from(("item_id", *COLUMNS)), CELLS), max_size=2
    ),
    st.one_of(st.none(), st.integers(-1, 40)),
)
def test_outcomes_add_up_or_are_refused(rows, changes, floor):
    frame = pd.DataFrame(rows, columns=list(COLUMNS), dtype=object)
    frame.insert(0, "item_id", pd.Series([f"i{k}" for k in range(len(rows))], dtype=object))
    for row, column, value in changes:
        frame.at[row % len(rows), column] = value
    try:
        outcomes = Outcomes.from_frame(frame)
        report = summarize(outcomes, by="mode", floor=floor)
    except InputError:
        return
    whole = report.whole
    assert whole.items == whole.accepted + whole.abstained + whole.failed + whole.undecided
    assert whole.items == len(rows) == len(set(outcomes.item_id))
    assert sum(whole.accepted_by.values()) == whole.accepted
    assert (outcomes.verdict[outcomes.accepted] >= 0).all()
    assert 0 <= whole.asked <= 2**31 * len(rows)
    json.dumps(report.to_dict(), allow_nan=False)
    again = Outcomes.from_frame(outcomes.to_frame())
    assert summarize(again).to_dict() == summarize(outcomes).to_dict()


@settings(max_examples=EXAMPLES)
@given(
    LABELS,
    st.lists(LABELS, min_size=1, max_size=3),
    st.sampled_from(["nominal", "ordinal", "interval", "ratio"]),
    st.one_of(st.none(), st.lists(CELLS, max_size=4)),
)
def test_agreement_is_a_number_or_a_reason(judge, humans, level, categories):
    human = pd.DataFrame(
        {f"h{k}": pd.Series(labels, dtype=object) for k, labels in enumerate(humans)}
    )
    options = {"level": level, "categories": categories, "replicates": 5}
    for measured in (
        lambda: validate_judge(judge, human, **options),
        lambda: rater_agreement(human, **options),
    ):
        try:
            report = measured()
        except InputError:
            continue
        for said in report.to_dict()["coefficients"].values():
            assert (said["value"] is None) is (said["undefined"] is not None)
            if said["value"] is not None:
                assert -1.0 <= said["low"] <= said["value"] + 1e-9
                assert said["value"] - 1e-9 <= said["high"] <= 1.0
        json.dumps(report.to_dict(), allow_nan=False)
        if report.judge is not None:
            promote(report)


@settings(max_examples=EXAMPLES)
@given(LABELS, LABELS, st.lists(CELLS, max_size=2))
def test_every_trial_is_counted_once(first, second, ties):
    try:
        found = position_consistency(first, second, ties)
    except InputError:
        return
    assert found.trials + found.undecided + found.failed == len(set(first) | set(second))


@settings(max_examples=EXAMPLES)
@given(
    st.dictionaries(
        st.sampled_from(
            ["preference", "orders", "votes", "score", "cut", "scale", "p_true", "log_odds"]
        ),
        st.one_of(CELLS, st.just({"ab": "a", "ba": "b"}), st.just([0, 1]), st.floats(0, 1)),
    ),
    st.sampled_from([BooleanVerdict(True), WinnerVerdict(Winner.A), Undecided()]),
)
def test_a_disclosure_is_read_on_its_scale_or_refused(disclosure, outcome):
    judged = Judgement(outcome, disclosure=disclosure)
    for measure in UNCERTAINTIES.values():
        try:
            value = measure(judged)
        except InputError:
            continue
        assert value is None or (math.isfinite(value) and -1e-12 <= value <= 1.0 + 1e-12)
