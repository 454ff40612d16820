"""Position consistency, and the walk that promotes a judge."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from riskjudge.agreement import (
    Coefficient,
    Floors,
    PositionConsistency,
    PromotionState,
    position_consistency,
    promote,
    rater_agreement,
)
from riskjudge.data.verdict import Winner
from riskjudge.errors import InputError


def report(agree: int, disagree: int):
    pairs = [[0, 0], [1, 1]] * (agree // 2) + [[0, 1], [1, 0]] * (disagree // 2)
    return rater_agreement(pairs, replicates=300)


def test_the_outcomes_of_a_trial_are_told_apart():
    first = {1: Winner.A, 2: Winner.A, 3: "tie", 4: "tie", 5: None, 6: Winner.B, 7: Winner.A}
    second = {1: Winner.A, 2: Winner.B, 3: "tie", 4: Winner.B, 5: Winner.A, 6: Winner.B}
    counts = position_consistency(first, second)
    assert counts == PositionConsistency(consistent=2, inconsistent=1, undecided=2, failed=2)
    assert counts.rate == 2 / 3


def test_a_dead_judge_is_not_consistent():
    failed = position_consistency({1: None, 2: None}, {1: None, 2: None})
    assert failed == PositionConsistency(0, 0, failed=2)
    assert failed.rate is None
    assert failed.interval() is None
    ties = position_consistency({1: 0, 2: 0}, {1: 0, 2: 0}, ties=("tie", 0.0))
    assert ties == PositionConsistency(0, 0, undecided=2)


def test_always_first_is_never_consistent():
    trials = {i: i % 2 for i in range(20)}
    swapped = {i: 1 - winner for i, winner in trials.items()}
    assert position_consistency(trials, swapped).rate == 0.0


def test_trials_are_joined_by_id():
    assert position_consistency({1: "a", 2: "b"}, {2: "b", 1: "a"}).consistent == 2
    with pytest.raises(InputError, match="first-order labels must be a mapping"):
        position_consistency(["a"], ["a"])
    with pytest.raises(InputError, match="inconsistent is a count"):
        PositionConsistency(1, -1)


@given(st.integers(0, 200), st.integers(0, 200))
def test_interval_of_consistency_is_exact(consistent, inconsistent):
    counts = PositionConsistency(consistent, inconsistent)
    if counts.trials:
        exact = binomtest(consistent, counts.trials).proportion_ci()
        assert counts.interval() == pytest.approx((exact.low, exact.high), abs=1e-9)


def test_promoted_when_every_lower_end_reaches_its_floor():
    walk = promote(report(280, 20), PositionConsistency(190, 10), floors=Floors(consistency=0.9))
    assert walk.state is PromotionState.PROMOTED
    assert walk.missed == ()
    need = {check.floor: check.need for check in walk.checks}
    assert need == {"n": 100, "alpha": 0.667, "position_consistency": 0.9}


def test_held_names_the_floor_and_the_number():
    walk = promote(report(280, 20), PositionConsistency(90, 10), floors=Floors(consistency=0.9))
    assert walk.state is PromotionState.HELD
    (missed,) = walk.missed
    assert missed.floor == "position_consistency"
    assert missed.need == missed.point == 0.9  # the point reaches it, the evidence does not
    assert missed.have == pytest.approx(binomtest(90, 100).proportion_ci().low)


def test_held_on_agreement():
    walk = promote(report(160, 40), floors=Floors(agreement=0.6, coefficient=Coefficient.KAPPA))
    assert walk.state is PromotionState.HELD
    assert [check.floor for check in walk.missed] == ["kappa"]
    assert walk.missed[0].have < 0.6


@pytest.mark.parametrize(
    ("agreement", "position", "floors", "undefined"),
    [
        (report(40, 2), None, Floors(n=100), None),
        (rater_agreement([[1, 1]] * 200), None, Floors(), "constant_labels"),
        (
            report(280, 20),
            PositionConsistency(0, 0, failed=300),
            Floors(consistency=0.5),
            "no_trials",
        ),
        (rater_agreement([], level="nominal"), None, Floors(), "empty"),
    ],
)
def test_insufficient(agreement, position, floors, undefined):
    walk = promote(agreement, position, floors=floors)
    assert walk.state is PromotionState.INSUFFICIENT
    assert any(check.undefined == undefined for check in walk.missed)
    json.dumps(walk.to_dict(), allow_nan=False)


def test_a_floor_without_trials_is_an_error():
    with pytest.raises(InputError, match="needs two-order trials"):
        promote(report(280, 20), floors=Floors(consistency=0.9))


@pytest.mark.parametrize(
    "floors", [{"n": 0}, {"agreement": 1.5}, {"consistency": -0.1}, {"agreement": float("nan")}]
)
def test_floors_out_of_range(floors):
    with pytest.raises(InputError, match="the floor on"):
        Floors(**floors)


def test_a_judge_below_the_floor_is_rarely_promoted():
    # True kappa .8 on balanced labels (disagreement .1), floor .8: at most 2.5% pass. 300 samples:
    # Monte Carlo standard error .009, three are allowed.
    rng = np.random.default_rng(0)
    promoted = 0
    for seed in range(300):
        human = rng.integers(0, 2, 150)
        judge = np.where(rng.random(150) < 0.1, 1 - human, human)
        agreement = rater_agreement(np.column_stack([judge, human]), replicates=300, seed=seed)
        promoted += promote(agreement, floors=Floors(agreement=0.8)).state == "promoted"
    assert promoted / 300 <= 0.025 + 3 * 0.009
