"""Judges that follow a rule: to test a pipeline, and to show what a bias does to it.

Random ones draw from a hash of their seed and the item, so that neither the order of the items
nor an interruption changes a draw.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from riskjudge.data.verdict import (
    BooleanVerdict,
    Failure,
    FailureKind,
    Outcome,
    ScoreVerdict,
    Undecided,
    Winner,
    WinnerVerdict,
)
from riskjudge.errors import InputError
from riskjudge.items.item import Item
from riskjudge.judges.protocol import FunctionJudge, Judge, Judgement, ask


def first_slot(name: str = "first-slot") -> FunctionJudge:
    """Whatever is shown first is better; a response shown alone is in the first slot, so right.

    Examples
    --------
    >>> first_slot()(Item("q1", "?", ("x", "y"))).outcome
    WinnerVerdict(value=<Winner.A: 'a'>)
    """
    return FunctionJudge(name, lambda item: _pick(item, first=True))


def second_slot(name: str = "second-slot") -> FunctionJudge:
    """Whatever is shown second is better; a response shown alone is not second, so wrong."""
    return FunctionJudge(name, lambda item: _pick(item, first=False))


def longest(name: str = "longest") -> FunctionJudge:
    """The longer response is better, equal lengths undecided; alone, its length is its score."""

    def rule(item: Item) -> Outcome:
        lengths = [len(response) for response in item.responses]
        if len(lengths) == 1:
            return ScoreVerdict(float(lengths[0]))
        if lengths[0] == lengths[1]:
            return Undecided()
        return _pick(item, first=lengths[0] > lengths[1])

    return FunctionJudge(name, rule)


def random_judge(seed: int, name: str = "random") -> FunctionJudge:
    """A fair coin, thrown anew for every presentation of every item.

    Parameters
    ----------
    seed : int
        Same seed, same coin for the same presentation.
    name : str
        What it is called.
    """

    def rule(item: Item) -> Outcome:
        return _pick(item, first=uniform(seed, item.id, *item.responses) < 0.5)

    return FunctionJudge(name, rule, seed)


def oracle(error_rate: float, seed: int, name: str = "oracle") -> FunctionJudge:
    """Knows the label and misses it on a share of the items, in every presentation alike.

    An item without a label is a failure, `no_verdict`.

    Examples
    --------
    >>> sure = oracle(error_rate=0.0, seed=0)
    >>> sure(Item("q1", "?", ("x", "y"), label=Winner.B)).outcome
    WinnerVerdict(value=<Winner.B: 'b'>)
    """
    if not 0.0 <= error_rate <= 1.0:
        raise InputError(f"`error_rate` lies in [0, 1], got {error_rate!r}")

    def rule(item: Item) -> Outcome:
        if item.label is None:
            return Failure(FailureKind.NO_VERDICT, "the oracle needs a label")
        misses = uniform(seed, item.id) < error_rate
        return _pick(item, first=(item.label in (True, Winner.A)) is not misses)

    return FunctionJudge(name, rule, seed)


def constant(score: float, name: str = "constant") -> FunctionJudge:
    """Gives every response the same score; between two of them it is undecided."""
    verdict = ScoreVerdict(score)
    return FunctionJudge(name, lambda item: Undecided() if len(item.responses) == 2 else verdict)


@dataclass
class FailingEvery:
    """A judge that fails on every n-th call and passes the others on.

    It counts its calls, so the order of the items matters to it.

    Examples
    --------
    >>> flaky = FailingEvery(first_slot(), every=2)
    >>> [type(flaky(Item(i, "?", ("x",))).outcome).__name__ for i in "abcd"]
    ['BooleanVerdict', 'Failure', 'BooleanVerdict', 'Failure']
    """

    judge: Judge
    every: int
    kind: FailureKind = FailureKind.TIMEOUT
    name: str = "failing"
    _calls: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.every < 1:
            raise InputError(f"`every` is at least 1, got {self.every!r}")

    @property
    def mode(self) -> str:
        """The mode of the judge behind it."""
        return self.judge.mode

    def __call__(self, item: Item) -> Judgement:
        self._calls += 1
        if self._calls % self.every == 0:
            return Judgement(Failure(self.kind, f"call {self._calls} fails by script"))
        return ask(self.judge, item)


SCRIPTED: dict[str, Callable[[int], Judge]] = {
    "first-slot": lambda seed: first_slot(),
    "second-slot": lambda seed: second_slot(),
    "longest": lambda seed: longest(),
    "random": lambda seed: random_judge(seed),
    "oracle": lambda seed: oracle(0.0, seed),
    "constant": lambda seed: constant(1.0),
    "failing": lambda seed: FailingEvery(first_slot(), every=10),
}
"""Scripted judges by name, made from a seed."""


def uniform(seed: int, *parts: str) -> float:
    """A number in [0, 1) that depends on the seed and the texts alone."""
    digest = hashlib.blake2b(repr((seed, parts)).encode("utf-8", "replace"), digest_size=8)
    return int.from_bytes(digest.digest()) / 2**64


def _pick(item: Item, first: bool) -> Outcome:
    if len(item.responses) == 2:
        return WinnerVerdict(Winner.A if first else Winner.B)
    return BooleanVerdict(first)
