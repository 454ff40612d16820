"""The closed vocabularies and the sum type."""

from __future__ import annotations

import math

import pytest

from riskjudge.data.verdict import (
    AbstainReason,
    Abstention,
    BooleanVerdict,
    Failure,
    FailureKind,
    ItemStatus,
    ScoreVerdict,
    Undecided,
    Verdict,
    Winner,
    WinnerVerdict,
    describe,
)
from riskjudge.errors import InputError


def test_the_vocabularies_are_closed():
    assert set(AbstainReason) == {
        "panel_split",
        "swap_inconsistent",
        "below_conformal",
        "out_of_scope",
    }
    assert set(ItemStatus) == {
        "graded",
        "abstained",
        "skipped_no_body",
        "score_failed",
        "missing_from_ledger",
    }
    assert {"parse", "timeout", "status", "refusal", "budget"} <= set(FailureKind)


@pytest.mark.parametrize("value", [1, 0, "true", None, 0.0])
def test_a_boolean_verdict_is_a_boolean(value):
    with pytest.raises(InputError, match="True or False"):
        BooleanVerdict(value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "90", None, True, 10**400])
def test_a_score_is_a_finite_number(value):
    with pytest.raises(InputError, match="finite number"):
        ScoreVerdict(value)


@pytest.mark.parametrize("value", ["a", "A", 1, None])
def test_a_winner_is_one_of_two(value):
    with pytest.raises(InputError, match="a winner is"):
        WinnerVerdict(value)


@pytest.mark.parametrize("reason", ["panel_split", "tired", None, FailureKind.TIMEOUT])
def test_an_abstention_has_one_of_the_four_reasons(reason):
    with pytest.raises(InputError, match="panel_split"):
        Abstention(reason)


@pytest.mark.parametrize("kind", ["timeout", AbstainReason.PANEL_SPLIT, None])
def test_a_failure_has_one_of_the_closed_kinds(kind):
    with pytest.raises(InputError, match="the kinds are"):
        Failure(kind)


def test_outcomes_are_disjoint_types():
    outcomes = [
        Abstention(AbstainReason.PANEL_SPLIT),
        Undecided(),
        Failure(FailureKind.BUDGET, "stopped"),
    ]
    assert not any(isinstance(outcome, Verdict) for outcome in outcomes)
    assert not any(hasattr(outcome, "value") for outcome in outcomes)
    assert [describe(outcome) for outcome in outcomes] == [
        "abstained:panel_split",
        "undecided",
        "failed:budget",
    ]


def test_an_outcome_cannot_be_changed():
    verdict = BooleanVerdict(True)
    with pytest.raises(AttributeError):
        verdict.value = False
    with pytest.raises((AttributeError, TypeError)):
        Abstention(AbstainReason.PANEL_SPLIT).value = 0
    assert Winner.A.other is Winner.B
    assert Winner.B.other is Winner.A
