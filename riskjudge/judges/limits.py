"""Judges that bound another judge: a cut on its score, a scope before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from riskjudge.data.verdict import (
    AbstainReason,
    Abstention,
    BooleanVerdict,
    Failure,
    FailureKind,
    ScoreVerdict,
)
from riskjudge.errors import InputError
from riskjudge.items.item import Item
from riskjudge.judges.protocol import Judge, Judgement, ask


@dataclass(frozen=True, slots=True)
class Cut:
    """Turns a score into a boolean: at or above the cut is right.

    The judgement discloses the score, the cut and the scale. A score off the scale is a failure,
    `out_of_range`, and is never clamped; anything that is no score passes through.

    Parameters
    ----------
    judge : Judge
        Gives scores.
    cut : float
        On the judge's scale.
    low, high : float
        The ends of the scale.

    Examples
    --------
    >>> from riskjudge.judges import constant
    >>> from riskjudge.data.verdict import describe
    >>> describe(Cut(constant(90.0), cut=0.5)(Item("q1", "?", ("x",))).outcome)
    'failed:out_of_range'
    """

    judge: Judge
    cut: float
    low: float = 0.0
    high: float = 1.0
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.judge.name)
        if not self.low <= self.cut <= self.high:
            raise InputError(f"the cut {self.cut} is not on the scale [{self.low}, {self.high}]")

    @property
    def mode(self) -> str:
        """The mode of the judge behind it."""
        return self.judge.mode

    def __call__(self, item: Item) -> Judgement:
        judgement = ask(self.judge, item)
        if not isinstance(judgement.outcome, ScoreVerdict):
            return judgement
        score = judgement.outcome.value
        disclosed = {"score": score, "cut": self.cut, "scale": [self.low, self.high]}
        disclosure = {**judgement.disclosure, **disclosed}
        if not self.low <= score <= self.high:
            text = f"the score {score} is off the scale [{self.low}, {self.high}]"
            failure = Failure(FailureKind.OUT_OF_RANGE, text)
            return replace(judgement, outcome=failure, confidence=None, disclosure=disclosure)
        verdict = BooleanVerdict(score >= self.cut)
        return replace(judgement, outcome=verdict, disclosure=disclosure)


@dataclass(frozen=True, slots=True)
class Scoped:
    """Asks a judge only about items in its validated scope; others abstain, `out_of_scope`.

    Parameters
    ----------
    judge : Judge
        Asked about what is in scope; no call is made for the rest.
    in_scope : callable
        Tells whether an item is.

    Examples
    --------
    >>> from riskjudge.judges import first_slot
    >>> from riskjudge.data.verdict import describe
    >>> short = Scoped(first_slot(), lambda item: len(item.prompt) < 100)
    >>> describe(short(Item("q1", "?" * 100, ("x",))).outcome)
    'abstained:out_of_scope'
    """

    judge: Judge
    in_scope: Callable[[Item], bool]
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.judge.name)

    @property
    def mode(self) -> str:
        """The mode of the judge behind it."""
        return self.judge.mode

    def __call__(self, item: Item) -> Judgement:
        if not self.in_scope(item):
            return Judgement(Abstention(AbstainReason.OUT_OF_SCOPE), calls=0)
        return ask(self.judge, item)
