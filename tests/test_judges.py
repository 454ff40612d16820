"""Judges and what they are composed of: outcomes as tables, failures as values."""

from __future__ import annotations

import json
import math
from concurrent.futures import CancelledError

import pytest
from hypothesis import given
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
    describe,
)
from riskjudge.errors import InputError
from riskjudge.items import Item, ShapeError
from riskjudge.judges import (
    Cut,
    FailingEvery,
    FunctionJudge,
    Gated,
    Judgement,
    PairwiseTrial,
    Panel,
    PointwiseComparison,
    Scoped,
    ask,
    constant,
    first_slot,
    judge_item,
    judge_items,
    longest,
    oracle,
    random_judge,
    run_into_ledger,
    second_slot,
)
from riskjudge.ledger import LedgerWriter, readings, resolve_orders
from riskjudge.ledger.uncertainty import cut_nearness, preference_entropy, variation_ratio

A, B, TIE = WinnerVerdict(Winner.A), WinnerVerdict(Winner.B), Undecided()
TRUE, FALSE = BooleanVerdict(True), BooleanVerdict(False)
OUT = Abstention(AbstainReason.OUT_OF_SCOPE)
SPLIT = Abstention(AbstainReason.PANEL_SPLIT)
SWAP = Abstention(AbstainReason.SWAP_INCONSISTENT)
LATE = Failure(FailureKind.TIMEOUT, "30 s")
GARBLED = Failure(FailureKind.PARSE, "no verdict line")
PAIR = Item("q1", "Capital of Chad?", ("N'Djamena", "Abuja"), label=Winner.A)
SINGLE = Item("q1", "Capital of Chad?", ("N'Djamena",), label=True)


def says(outcome, name="j", **parts):
    return FunctionJudge(name, lambda item: Judgement(outcome, **parts))


def by_order(forward, reverse, **parts):
    """A judge that answers by the place of the first response, in positions."""
    return FunctionJudge(
        "j",
        lambda item: Judgement(forward if item.responses[0] == PAIR.responses[0] else reverse),
    )


FIRST, SECOND = A, B  # what a judge says about the pair it is shown

TRIALS = [
    # in order ab, in order ba (as positions), the trial, the position picked twice
    (FIRST, SECOND, "a", None),
    (SECOND, FIRST, "b", None),
    (FIRST, FIRST, "abstained:swap_inconsistent", "first"),
    (SECOND, SECOND, "abstained:swap_inconsistent", "second"),
    (TIE, TIE, "undecided", None),
    (FIRST, TIE, "undecided", None),
    (TIE, SECOND, "undecided", None),
    (OUT, FIRST, "abstained:out_of_scope", None),
    (TIE, OUT, "abstained:out_of_scope", None),
    (OUT, SPLIT, "abstained:out_of_scope", None),
    (LATE, FIRST, "failed:timeout", None),
    (FIRST, LATE, "failed:timeout", None),
    (TIE, LATE, "failed:timeout", None),
    (OUT, LATE, "failed:timeout", None),
    (LATE, GARBLED, "failed:timeout", None),
    (GARBLED, LATE, "failed:parse", None),
    (LATE, LATE, "failed:timeout", None),
    (TRUE, FIRST, "failed:no_verdict", None),
    (FIRST, ScoreVerdict(0.5), "failed:no_verdict", None),
]


@pytest.mark.parametrize(("forward", "reverse", "trial", "position"), TRIALS)
def test_what_two_orders_amount_to(forward, reverse, trial, position):
    judgement = PairwiseTrial(by_order(forward, reverse))(PAIR)
    assert describe(judgement.outcome) == trial
    assert judgement.disclosure.get("position") == position
    assert (judgement.calls, judgement.order) == (2, "ab+ba")


def test_a_dead_judge_is_a_failure_that_says_where():
    both = PairwiseTrial(by_order(LATE, LATE))(PAIR).outcome
    one = PairwiseTrial(by_order(FIRST, LATE))(PAIR).outcome
    assert (both.message, one.message) == ("both orders: 30 s", "order ba: 30 s")


@given(st.sampled_from([A, B, TIE, OUT]), st.sampled_from([A, B, TIE, OUT]))
def test_only_two_different_winners_are_inconsistent(ab, ba):
    assert (resolve_orders(ab, ba) == SWAP) == ({ab, ba} == {A, B})


@pytest.mark.parametrize(
    ("ab", "ba", "preference", "confidence", "entropy"),
    [
        ((FIRST, 0.9), (SECOND, 0.7), 0.8, 0.8, 0.500402423538),
        ((SECOND, 0.9), (FIRST, 0.7), 0.2, 0.8, 0.500402423538),
        ((FIRST, 0.9), (FIRST, 0.9), 0.5, None, 0.693147180560),
        ((FIRST, 1.0), (SECOND, 1.0), 1.0, 1.0, 0.0),
        ((FIRST, 1.0), (TIE, None), 0.75, None, 0.562335144619),
        ((FIRST, None), (SECOND, 0.7), None, None, 0.0),
        ((FIRST, None), (FIRST, None), None, None, 0.693147180560),
    ],
)
def test_a_trials_preference_over_both_orders(ab, ba, preference, confidence, entropy):
    shown = {PAIR.responses[0]: ab, PAIR.responses[1]: ba}
    judge = FunctionJudge("j", lambda item: Judgement(*shown[item.responses[0]]))
    judgement = PairwiseTrial(judge)(PAIR)
    assert judgement.disclosure.get("preference") == pytest.approx(preference)
    assert judgement.confidence == pytest.approx(confidence)
    assert preference_entropy(judgement) == pytest.approx(entropy, abs=1e-11)


ARMS = [
    (TRUE, FALSE, "a"),
    (FALSE, TRUE, "b"),
    (TRUE, TRUE, "undecided"),
    (FALSE, FALSE, "undecided"),
    (ScoreVerdict(0.7), ScoreVerdict(0.2), "a"),
    (ScoreVerdict(0.2), ScoreVerdict(0.2), "undecided"),
    (TRUE, ScoreVerdict(1.0), "failed:no_verdict"),
    (A, B, "failed:no_verdict"),
    (TIE, TIE, "failed:no_verdict"),
    (OUT, TRUE, "abstained:out_of_scope"),
    (TRUE, LATE, "failed:timeout"),
    (GARBLED, LATE, "failed:parse"),
    (OUT, LATE, "failed:timeout"),
]


@pytest.mark.parametrize(("a", "b", "comparison"), ARMS)
def test_what_two_grades_amount_to(a, b, comparison):
    grades = dict(zip(PAIR.responses, (a, b), strict=True))
    judge = FunctionJudge("j", lambda item: grades[item.responses[0]])
    judgement = PointwiseComparison(judge)(PAIR)
    assert describe(judgement.outcome) == comparison
    assert judgement.calls == 2


PANELS = [
    ([TRUE], "true", 1),
    ([TRUE, FALSE, TRUE], "true", 1),
    ([FALSE, FALSE, FALSE], "false", 3),
    ([A, B, B], "b", 1),
    ([TRUE, TRUE, FALSE, FALSE], "abstained:panel_split", 0),
    ([TRUE, FALSE], "abstained:panel_split", 0),
    ([TRUE, TRUE, TRUE, FALSE], "true", 2),
    # An abstaining seat fills its seat: two of three decide, one of two does not.
    ([TRUE, TRUE, OUT], "true", 1),
    ([TRUE, OUT], "abstained:panel_split", 0),
    ([TRUE, FALSE, OUT], "abstained:panel_split", 0),
    ([TRUE, TRUE, FALSE, OUT], "abstained:panel_split", 1),
    ([OUT, OUT, TRUE], "abstained:out_of_scope", 1),
    ([OUT, SWAP, TRUE], "abstained:panel_split", 0),
    ([TIE, TIE, A], "undecided", 1),
    # Any seat that fails refuses the whole, wherever it sits and however clear the rest.
    ([TRUE, LATE, FALSE], "failed:timeout", None),
    ([FALSE, LATE, TRUE], "failed:timeout", None),
    ([TRUE, TRUE, LATE], "failed:timeout", None),
    ([GARBLED, TRUE, LATE], "failed:parse", None),
    ([TRUE, ScoreVerdict(1.0), TRUE], "failed:no_verdict", None),
    ([TRUE, A, TRUE], "failed:no_verdict", None),
]


@pytest.mark.parametrize(("votes", "outcome", "margin"), PANELS)
def test_a_panel_decides_by_strict_majority_of_all_seats(votes, outcome, margin):
    seats = [says(vote, f"seat-{number}") for number, vote in enumerate(votes)]
    judgement = Panel(seats)(SINGLE)
    assert describe(judgement.outcome) == outcome
    disclosure = judgement.disclosure
    assert disclosure["members"] == [seat.name for seat in seats]
    assert disclosure["votes"] == [describe(vote) for vote in votes]
    assert (disclosure["rule"], disclosure["margin"]) == ("strict_majority", margin)
    assert judgement.calls == len(votes)


@given(st.lists(st.sampled_from([TRUE, FALSE, OUT, TIE, LATE]), min_size=1, max_size=9))
def test_a_panel_does_not_depend_on_who_sits_where(votes):
    outcomes = set()
    for order in (votes, votes[::-1], sorted(votes, key=describe)):
        seats = [says(vote, f"seat-{number}") for number, vote in enumerate(order)]
        outcomes.add(describe(Panel(seats)(SINGLE).outcome))
    [outcome] = outcomes
    counts = {describe(vote): votes.count(vote) for vote in votes}
    majority = [vote for vote, count in counts.items() if 2 * count > len(votes)]
    expected = "failed:timeout" if LATE in votes else (majority or ["abstained:panel_split"])[0]
    assert outcome == expected


def test_a_panels_dissent_and_confidence():
    seats = [says(vote, f"seat-{n}") for n, vote in enumerate([TRUE, TRUE, TRUE, FALSE])]
    judgement = Panel(seats)(SINGLE)
    assert (judgement.confidence, variation_ratio(judgement)) == (0.75, 0.25)


def test_a_panel_needs_seats_with_names_of_their_own():
    with pytest.raises(InputError, match="no seats"):
        Panel([])
    with pytest.raises(InputError, match="'first-slot' sits on 2 seats"):
        Panel([first_slot(), first_slot()])


EXCEPTIONS = [
    (TimeoutError("30 s"), "timeout"),
    (ConnectionResetError("peer"), "transport"),
    (json.JSONDecodeError("Expecting value", "[ERROR] HTTP 429", 0), "parse"),
    (CancelledError(), "cancelled"),
    (InputError("a score verdict is a finite number"), "out_of_range"),
    (ZeroDivisionError("oops"), "crash"),
]


@pytest.mark.parametrize(("error", "kind"), EXCEPTIONS)
def test_what_a_judge_raises_is_a_failure_of_a_closed_kind(error, kind):
    def broken(item):
        raise error

    outcome = ask(FunctionJudge("broken", broken), SINGLE).outcome
    assert (outcome.kind, type(error).__name__ in outcome.message) == (kind, True)


def test_what_is_no_outcome_is_a_failure():
    assert describe(ask(lambda item: "GRADE: C", SINGLE).outcome) == "failed:no_verdict"
    nan = FunctionJudge("nan", lambda item: ScoreVerdict(math.nan))
    assert describe(ask(nan, SINGLE).outcome) == "failed:out_of_range"
    sure = FunctionJudge("sure", lambda item: Judgement(TRUE, confidence=90))
    assert describe(ask(sure, SINGLE).outcome) == "failed:out_of_range"


def test_an_interrupt_is_not_swallowed():
    def stop(item):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(FunctionJudge("stop", stop), SINGLE)


@pytest.mark.parametrize("judge", [PairwiseTrial(first_slot()), PointwiseComparison(first_slot())])
def test_a_comparison_of_one_response_is_a_mistake_and_no_failure(judge):
    with pytest.raises(ShapeError, match="item 'q1' has one response"):
        ask(Panel([judge]), SINGLE)


CUTS = [
    (0.5, "true"),
    (0.49, "false"),
    (1.0, "true"),
    (0.0, "false"),
    (90.0, "failed:out_of_range"),
]


@pytest.mark.parametrize(("score", "outcome"), CUTS)
def test_a_cut_never_clamps(score, outcome):
    judgement = Cut(constant(score), cut=0.5)(SINGLE)
    assert describe(judgement.outcome) == outcome
    assert judgement.disclosure["score"] == score


def test_a_score_far_from_its_cut_is_sure():
    scores = [0.0, 4.0, 5.0, 6.0, 10.0]
    found = [cut_nearness(Cut(constant(s), 5.0, 0.0, 10.0)(SINGLE)) for s in scores]
    assert found == pytest.approx([0.0, 0.8, 1.0, 0.8, 0.0])


def test_a_scope_is_checked_before_any_call():
    judge = Scoped(says(LATE), lambda item: "Chad" not in item.prompt)
    assert judge(SINGLE) == Judgement(OUT, calls=0)


@pytest.mark.parametrize(
    ("inner", "confidence", "outcome"),
    [
        (TRUE, 0.8, "true"),  # a tie with the threshold is accepted
        (TRUE, 0.79, "abstained:below_conformal"),
        (FALSE, 0.9, "false"),
        (TRUE, None, "failed:no_confidence"),
        (SPLIT, None, "abstained:panel_split"),
        (TIE, None, "undecided"),
        (LATE, None, "failed:timeout"),
    ],
)
def test_a_gate_declines_verdicts_and_nothing_else(inner, confidence, outcome):
    judge = Gated(says(inner, confidence=confidence), lambda verdict, u: u <= 0.2 + 1e-12)
    assert describe(judge(SINGLE).outcome) == outcome


def test_scripted_judges_on_single_responses():
    assert first_slot()(SINGLE).outcome == TRUE
    assert second_slot()(SINGLE).outcome == FALSE
    assert longest()(SINGLE).outcome == ScoreVerdict(9.0)
    assert constant(0.3)(SINGLE).outcome == ScoreVerdict(0.3)
    assert oracle(1.0, seed=0)(SINGLE).outcome == FALSE
    assert describe(oracle(0.0, 0)(Item("q", "?", ("x",))).outcome) == "failed:no_verdict"


def test_an_oracle_errs_at_its_rate_and_alike_in_both_orders():
    items = [Item(f"q{i}", "?", ("x", "y"), label=Winner(random_side(i))) for i in range(2000)]
    rows = list(judge_items([PairwiseTrial(oracle(0.2, seed=3))], items))
    [reading] = readings(rows)
    assert (reading.graded, reading.abstained) == (2000, 0)
    assert reading.agreement == pytest.approx(0.8, abs=4 * math.sqrt(0.16 / 2000))


def random_side(number):
    return "ab"[number * 7 % 2]


def test_a_seed_is_all_that_a_random_judge_depends_on():
    items = [Item(f"q{i}", "?", ("x", "y")) for i in range(200)]
    judge = random_judge(seed=4)
    forward = {item.id: judge(item).outcome for item in items}
    backward = {item.id: judge(item).outcome for item in reversed(items)}
    other = {item.id: random_judge(seed=5)(item).outcome for item in items}
    assert forward == backward
    assert forward != other
    assert 60 < sum(outcome == A for outcome in forward.values()) < 140
    assert judge_item(judge, items[0]).seed == 4


def test_an_interrupted_run_goes_on_and_asks_only_failures_again(tmp_path):
    items = [Item(f"q{i}", "?", ("x",), label=True) for i in range(6)]
    flaky = FailingEvery(first_slot("j"), every=3, name="j")
    with LedgerWriter(tmp_path / "l.jsonl") as ledger:
        assert run_into_ledger([flaky], items[:4], ledger) == 4
    with LedgerWriter(tmp_path / "l.jsonl") as ledger:
        # q2 failed and is asked again; q4 and q5 are new.
        assert run_into_ledger([first_slot("j")], items, ledger) == 3
        [reading] = readings(ledger.rows)
    assert (reading.graded, reading.failed) == (6, 0)


def test_the_same_run_leaves_the_same_bytes(tmp_path):
    items = [Item(f"q{i}", "?", ("x", "y"), subset="g") for i in range(5)]
    for name in ("one", "two"):
        with LedgerWriter(tmp_path / name) as ledger:
            run_into_ledger([PairwiseTrial(random_judge(1))], items, ledger, timed=False)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_an_item_without_a_body_is_not_asked():
    row = judge_item(says(LATE), Item("q", "?", ("x", " ")))
    assert (row.status, row.calls) == ("skipped_no_body", 0)
