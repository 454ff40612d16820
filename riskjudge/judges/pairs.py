"""Two ways to compare a pair: show it in both orders, or grade each response by itself."""

from __future__ import annotations

from dataclasses import dataclass

from riskjudge.data.verdict import (
    Abstention,
    BooleanVerdict,
    Failure,
    FailureKind,
    Outcome,
    ScoreVerdict,
    Undecided,
    Winner,
    WinnerVerdict,
    describe,
)
from riskjudge.items.item import Item
from riskjudge.judges.protocol import Judge, Judgement, ask
from riskjudge.ledger.swap import BOTH_ORDERS, disclose_orders, resolve_orders


@dataclass(frozen=True, slots=True)
class PairwiseTrial:
    """Asks a comparing judge in both orders and derives one outcome from both.

    What each pair of answers amounts to is the table of
    :func:`riskjudge.ledger.swap.resolve_orders`. The confidence of a verdict is the mean of both
    orders' confidence in it; it is missing where either is.

    Examples
    --------
    >>> from riskjudge.judges import first_slot
    >>> trial = PairwiseTrial(first_slot())
    >>> judgement = trial(Item("q1", "Capital of Chad?", ("N'Djamena", "Abuja")))
    >>> describe(judgement.outcome), judgement.disclosure["position"]
    ('abstained:swap_inconsistent', 'first')
    """

    judge: Judge
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.judge.name)

    @property
    def mode(self) -> str:
        """Always ``"pairwise"``."""
        return "pairwise"

    def __call__(self, item: Item) -> Judgement:
        swapped = item.swapped()
        ab, ba = ask(self.judge, item), ask(self.judge, swapped)
        outcomes = ab.outcome, _by_identity(ba.outcome)
        disclosure = disclose_orders(*outcomes)
        preferences = _preference(outcomes[0], ab), _preference(outcomes[1], ba)
        outcome, confidence = resolve_orders(*outcomes), None
        if preferences[0] is not None and preferences[1] is not None:
            preference = (preferences[0] + preferences[1]) / 2
            disclosure["preference"] = preference
            if isinstance(outcome, WinnerVerdict):
                confidence = preference if outcome.value is Winner.A else 1 - preference
        return Judgement(
            outcome,
            confidence=confidence,
            disclosure=disclosure,
            seed=ab.seed,
            order=BOTH_ORDERS,
            calls=ab.calls + ba.calls,
        )


def _by_identity(outcome: Outcome) -> Outcome:
    """An answer about the swapped pair, said of the pair as it was given."""
    return WinnerVerdict(outcome.value.other) if isinstance(outcome, WinnerVerdict) else outcome


def _preference(outcome: Outcome, judgement: Judgement) -> float | None:
    """How much one order prefers candidate a: its confidence, 1 minus it, or a half for a tie."""
    if isinstance(outcome, Undecided):
        return 0.5
    if not isinstance(outcome, WinnerVerdict) or judgement.confidence is None:
        return None
    return judgement.confidence if outcome.value is Winner.A else 1 - judgement.confidence


@dataclass(frozen=True, slots=True)
class PointwiseComparison:
    """Lets a grading judge grade each response by itself and compares the two grades.

    The first line that applies decides:

    ==========================================  ==============================================
    the two grades                              the comparison
    ==========================================  ==============================================
    a failure on either arm                     the failure (of arm a first), saying which arm
    an abstention on either arm                 that abstention (of arm a first)
    not two booleans and not two scores         failure, ``no_verdict``
    alike                                       undecided
    different                                   the arm graded right, or higher, wins
    ==========================================  ==============================================

    Examples
    --------
    >>> from riskjudge.judges import first_slot
    >>> PointwiseComparison(first_slot())(Item("q1", "?", ("x", "y"))).outcome
    Undecided()
    """

    judge: Judge
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.judge.name)

    @property
    def mode(self) -> str:
        """Always ``"pointwise-bool"``."""
        return "pointwise-bool"

    def __call__(self, item: Item) -> Judgement:
        arms = [ask(self.judge, item.alone(position)) for position in (0, 1)]
        grades = {name: arm.outcome for name, arm in zip("ab", arms, strict=True)}
        return Judgement(
            _compare(grades),
            disclosure={"grades": {name: describe(grade) for name, grade in grades.items()}},
            seed=arms[0].seed,
            calls=sum(arm.calls for arm in arms),
        )


def _compare(grades: dict[str, Outcome]) -> Outcome:
    for name, grade in grades.items():
        if isinstance(grade, Failure):
            return Failure(grade.kind, f"arm {name}: {grade.message}".rstrip(": "))
    for grade in grades.values():
        if isinstance(grade, Abstention):
            return grade
    match grades["a"], grades["b"]:
        case (BooleanVerdict(a), BooleanVerdict(b)) | (ScoreVerdict(a), ScoreVerdict(b)):
            return Undecided() if a == b else WinnerVerdict(Winner.A if a > b else Winner.B)
    said = " and ".join(describe(grade) for grade in grades.values())
    return Failure(FailureKind.NO_VERDICT, f"two booleans or two scores are compared, got {said}")
