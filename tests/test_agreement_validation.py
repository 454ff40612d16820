"""Validating a judge: joining, UNDEFINED and its reasons, intervals and their coverage."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from riskjudge.agreement import Coefficient, Reliability, Undefined, rater_agreement, validate_judge
from riskjudge.agreement import intervals as intervals_module
from riskjudge.agreement.intervals import share_interval
from riskjudge.errors import InputError


def labels(n: int, error: float, seed: int) -> tuple[dict[int, int], dict[int, int]]:
    """A judge and a human that differ on a share `error` of balanced labels."""
    rng = np.random.default_rng(seed)
    human = rng.integers(0, 2, n)
    judge = np.where(rng.random(n) < error, 1 - human, human)
    return dict(enumerate(judge.tolist())), dict(enumerate(human.tolist()))


def test_labels_are_joined_by_id_not_by_position():
    judge = {"a": 1, "b": 0, "c": 1, "d": 0}
    human = pd.Series({"d": 0, "x": 1, "c": 1, "b": 0, "a": 1})
    report = validate_judge(judge, human)
    assert report.n == 4
    assert report.left_out == 1
    assert report.percent_agreement.value == 1.0
    assert report.kappa.value == report.alpha.value == report.fleiss.value == 1.0


def test_a_small_perfect_sample_is_good_at_the_value_only():
    report = validate_judge(dict(enumerate([1, 1, 0, 0])), dict(enumerate([1, 1, 0, 0])))
    assert report.point_verdict is Reliability.GOOD
    assert report.verdict is Reliability.UNRELIABLE
    # kappa at the exact lower end of 4 of 4: (0.3976 - 0.5) / 0.5.
    exact = binomtest(4, 4).proportion_ci().low
    assert report.kappa.low == pytest.approx((exact - 0.5) / 0.5)
    assert report.kappa.high == 1.0


def test_verdict_follows_the_evidence():
    verdicts = []
    for n in (10, 100, 1000):
        half = [0, 1] * (n // 2)
        verdicts.append(validate_judge(dict(enumerate(half)), dict(enumerate(half))).verdict)
    assert verdicts == [Reliability.UNRELIABLE, Reliability.GOOD, Reliability.GOOD]


@pytest.mark.parametrize(
    ("judge", "human", "reason"),
    [
        ({}, {}, Undefined.EMPTY),
        ({1: None, 2: None}, {1: 1, 2: 0}, Undefined.EMPTY),
        ({1: 1}, {1: float("nan")}, Undefined.EMPTY),
        ({1: 1, 2: 0}, {3: 1, 4: 0}, Undefined.NO_OVERLAP),
        ({1: 1, 2: None}, {1: None, 2: 0}, Undefined.NO_OVERLAP),
        ({1: 0, 2: 0}, {1: 0, 2: 0}, Undefined.CONSTANT_LABELS),
        ({1: "x"}, {1: "x"}, Undefined.CONSTANT_LABELS),
    ],
)
def test_undefined_has_a_reason(judge, human, reason):
    report = validate_judge(judge, human)
    assert report.verdict is None
    assert report.point_verdict is None
    for name in (Coefficient.KAPPA, Coefficient.ALPHA, Coefficient.FLEISS, Coefficient.AC1):
        estimate = report.estimate(name)
        assert estimate.undefined is reason
        assert estimate.value is estimate.low is estimate.high is None
    share = report.percent_agreement
    assert share.value == 1.0 if reason is Undefined.CONSTANT_LABELS else share.undefined is reason


def test_too_few_units_say_need_and_have():
    judge, human = labels(12, 0.2, seed=0)
    report = validate_judge(judge, human, min_n=30)
    assert (report.need, report.n) == (30, 12)
    assert {report.estimate(name).undefined for name in Coefficient} == {Undefined.TOO_FEW_UNITS}


def test_coefficients_that_do_not_apply():
    three = rater_agreement([[1, 2, 2], [3, 3, None], [2, 2, 1]], level="ordinal")
    assert three.kappa.undefined is Undefined.NOT_TWO_RATERS
    assert three.fleiss.undefined is three.ac1.undefined is Undefined.NOT_NOMINAL
    unequal = rater_agreement([[1, 2, 2], [3, 3, None]])
    assert unequal.fleiss.undefined is Undefined.UNEQUAL_LABELS
    assert unequal.alpha.value is not None


def test_several_humans_and_one_that_labelled_nothing():
    judge = {"a": 1, "b": 0, "c": 1, "d": None, "e": 1}
    humans = pd.DataFrame(
        {"h1": [1, 0, 0, 1], "h2": [1, None, 1, 1], "h3": [None] * 4}, index=["a", "b", "c", "d"]
    )
    report = validate_judge(judge, humans)
    assert report.raters == ("judge", "h1", "h2")
    assert report.n == 3
    assert report.left_out == 2  # d has no judge, e no human
    assert report.percent_agreement.value == pytest.approx((1 + 1 + 1 / 2) / 3)


def test_bad_input_is_named():
    good = {1: 1, 2: 0}
    with pytest.raises(InputError, match="never by position"):
        validate_judge([1, 0], [1, 0])
    with pytest.raises(InputError, match="the judge labels: id 'u' occurs more than once"):
        validate_judge(pd.Series([1, 0], index=["u", "u"]), {"u": 1})
    with pytest.raises(InputError, match="the human labels: id 7 occurs more than once"):
        validate_judge(good, pd.DataFrame({"h": [1, 0]}, index=[7, 7]))
    with pytest.raises(InputError, match="row 1 has no id"):
        validate_judge(pd.Series([1, 0], index=["u", None]), {"u": 1})
    with pytest.raises(InputError, match="unit 2 has no group"):
        validate_judge(good, good, groups={1: "g"})
    with pytest.raises(InputError, match="confidence must lie strictly between 0 and 1"):
        validate_judge(good, good, confidence=95)
    with pytest.raises(InputError, match="replicates must be at least 1"):
        validate_judge(good, good, replicates=0)
    with pytest.raises(InputError, match="mix text and numbers"):
        validate_judge({1: "1"}, {1: 1})


def test_report_is_strict_json_and_repeats_byte_for_byte():
    judge, human = labels(60, 0.1, seed=3)
    texts = [
        json.dumps(validate_judge(judge, human, seed=seed).to_dict(), allow_nan=False)
        for seed in (5, 5, np.random.default_rng(5), 6)
    ]
    assert texts[0] == texts[1] == texts[2] != texts[3]
    empty = json.dumps(validate_judge({}, {}).to_dict(), allow_nan=False)
    assert '"value": null' in empty
    assert '"undefined": "empty"' in empty


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(*[st.one_of(st.none(), st.integers(0, 3))] * 3), min_size=1, max_size=15),
    st.sampled_from(["nominal", "ordinal", "interval", "ratio"]),
)
def test_an_interval_holds_its_value(table, level):
    report = rater_agreement(table, level=level, replicates=50)
    for name in Coefficient:
        estimate = report.estimate(name)
        if estimate.undefined is None:
            assert -1.0 <= estimate.low <= estimate.value <= estimate.high <= 1.0
        else:
            assert estimate.value is estimate.low is estimate.high is None


@pytest.mark.parametrize(("k", "n"), [(0, 7), (7, 7), (3, 20), (999, 1000)])
def test_share_interval_is_scipys_exact_one(k, n):
    expected = binomtest(k, n).proportion_ci(0.9)
    assert share_interval(k, n, 0.9) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_bootstrap_is_near_the_asymptotic_error_in_a_large_sample():
    # irrCAC: standard errors .0589 (kappa), .0432 (AC1) on 100 units; intervals scale with it.
    units = [(0, 0)] * 13 + [(1, 1)] * 20 + [(1, 2)] * 7 + [(2, 1)] * 4 + [(2, 2)] * 56
    report = rater_agreement(units, seed=1)
    assert report.kappa.high - report.kappa.low == pytest.approx(2 * 1.984 * 0.0589, rel=0.15)
    assert report.ac1.high - report.ac1.low == pytest.approx(2 * 1.984 * 0.0432, rel=0.15)


# Coverage against known truth. Judge and human are each wrong on an independent share of balanced
# or skewed labels; the truth is the coefficient of the joint distribution. 300 samples: a miss rate
# of .025 has a Monte Carlo standard error of .009, and three of them are allowed.

SAMPLES = 300
ALLOWED = 0.025 + 3 * np.sqrt(0.025 * 0.975 / SAMPLES)


def joint(positive: float, judge_error: float, human_error: float) -> np.ndarray:
    given = np.array([[1 - judge_error, judge_error], [judge_error, 1 - judge_error]])
    human = np.array([[1 - human_error, human_error], [human_error, 1 - human_error]])
    return np.einsum("t,tj,th->jh", [1 - positive, positive], given, human)


def true_kappa(p: np.ndarray) -> float:
    chance = p.sum(axis=1) @ p.sum(axis=0)
    return (np.trace(p) - chance) / (1 - chance)


def lower_misses(p: np.ndarray, n: int) -> float:
    """Share of samples whose lower end of kappa lies above the truth."""
    rng = np.random.default_rng(0)
    truth, missed = true_kappa(p), 0
    for seed in range(SAMPLES):
        cells = rng.choice(4, size=n, p=p.ravel())
        table = np.column_stack([cells // 2, cells % 2])
        low = rater_agreement(table, replicates=300, seed=seed).kappa.low
        missed += low is not None and low > truth + 1e-12
    return missed / SAMPLES


@pytest.mark.parametrize(
    ("positive", "judge_error", "human_error", "n"),
    [(0.5, 0.02, 0.0, 20), (0.5, 0.1, 0.05, 60), (0.9, 0.05, 0.02, 100)],
)
def test_the_lower_end_is_above_the_truth_no_more_often_than_it_says(
    positive, judge_error, human_error, n
):
    assert lower_misses(joint(positive, judge_error, human_error), n) <= ALLOWED


def test_the_bootstrap_alone_would_miss(monkeypatch):
    # With the exact end taken away, 20 units without a disagreement claim kappa = 1 for certain.
    monkeypatch.setattr(intervals_module, "share_interval", lambda k, n, confidence: (k / n, k / n))
    assert lower_misses(joint(0.5, 0.02, 0.0), 20) > 0.5


def test_groups_widen_the_interval_where_units_depend_on_each_other():
    rng = np.random.default_rng(4)
    error = rng.beta(0.2, 1.8, 60).repeat(5)
    human = rng.integers(0, 2, 300)
    judge = np.where(rng.random(300) < error, 1 - human, human)
    table = np.column_stack([judge, human])
    groups = {unit: unit // 5 for unit in range(300)}
    alone = rater_agreement(table).alpha
    grouped = rater_agreement(table, groups=groups)
    assert grouped.groups == 60
    assert grouped.alpha.value == alone.value
    assert grouped.alpha.high - grouped.alpha.low > 1.3 * (alone.high - alone.low)


def test_without_disagreement_groups_count_and_not_units():
    table = [[0, 0], [1, 1]] * 50
    groups = {unit: unit // 10 for unit in range(100)}
    low = rater_agreement(table, groups=groups).kappa.low
    assert low == pytest.approx(1 - 2 * binomtest(0, 10).proportion_ci().high)


def test_groups_of_one_are_no_groups():
    judge, human = labels(80, 0.1, seed=9)
    alone = validate_judge(judge, human).alpha
    grouped = validate_judge(judge, human, groups={unit: unit for unit in judge}).alpha
    assert grouped.low == pytest.approx(alone.low, abs=0.03)
    assert grouped.high == pytest.approx(alone.high, abs=0.03)


def test_continuous_labels_of_many_units():
    rng = np.random.default_rng(6)
    truth = rng.normal(size=3000)
    table = truth[:, None] + 0.5 * rng.normal(size=(3000, 2))
    report = rater_agreement(table, level="interval", replicates=200)
    assert report.alpha.low < 0.8 < report.alpha.high  # 1 / (1 + .25), the intraclass correlation


def test_a_real_table_with_dependent_rows():
    here = Path(__file__).resolve().parents[2]
    folder = Path(os.environ.get("RISKJUDGE_REAL", here / "shared" / "real"))
    file = folder / "openqa_nq301_bem_gpt4_human.csv"
    if not file.is_file():
        pytest.skip(f"{file.name} is not there; set RISKJUDGE_REAL to the folder that holds it")
    rows = pd.read_csv(file).set_index("item_id")
    report = validate_judge(rows.v2, rows.label, groups=rows.question_id)
    assert (report.n, report.left_out, report.groups) == (1484, 2, 301)
    assert report.percent_agreement.value == pytest.approx(1259 / 1484)
    assert (report.point_verdict, report.verdict) == ("tentative", "unreliable")
