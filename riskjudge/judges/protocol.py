"""What a judge is: a named callable from an item to a judgement.

Everything that judges has this one shape, from a scripted rule to a panel of gated swap trials, so
they nest. No model client is imported anywhere: :class:`FunctionJudge` takes the caller's own
function.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import Any, Protocol

from riskjudge.data.verdict import Failure, FailureKind, Outcome
from riskjudge.errors import InputError
from riskjudge.items.item import Item, ShapeError

DIRECT = "direct"
"""The mode of a judge that is asked about an item as it stands."""

_MESSAGE_LENGTH = 500


@dataclass(frozen=True, slots=True)
class Judgement:
    """One judge's outcome on one item, and what stands behind it.

    Parameters
    ----------
    outcome : Outcome
        Verdict, abstention, undecided or failure.
    confidence : float, optional
        In [0, 1], or None where the judge has none. A failure has none.
    disclosure : mapping of str
        JSON values: votes, orders, the score before a cut.
    seed, order, calls : int or None, str or None, int
        What it takes to ask again, and how many calls were made.
    """

    outcome: Outcome
    confidence: float | None = None
    disclosure: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    order: str | None = None
    calls: int = 1

    def __post_init__(self) -> None:
        if self.confidence is None:
            return
        if isinstance(self.outcome, Failure):
            raise InputError("a failure carries no confidence")
        if not 0.0 <= self.confidence <= 1.0:
            raise InputError(f"a confidence lies in [0, 1], got {self.confidence!r}")


class Judge(Protocol):
    """The protocol: a `name`, a `mode` (the form of the question), and a call.

    Shown two responses, a judge names the better one by its place in *this* item: `Winner.A` is
    the item's first response. It returns its failures; what it raises all the same, :func:`ask`
    turns into one.
    """

    @property
    def name(self) -> str: ...

    @property
    def mode(self) -> str: ...

    def __call__(self, item: Item) -> Judgement: ...


@dataclass(frozen=True, slots=True)
class FunctionJudge:
    """A judge made of a function that returns an outcome or a whole judgement.

    Examples
    --------
    >>> from riskjudge.data.verdict import BooleanVerdict
    >>> polite = FunctionJudge("polite", lambda item: BooleanVerdict("please" in item.prompt))
    >>> polite(Item("q1", "please", ("yes",))).outcome
    BooleanVerdict(value=True)
    """

    name: str
    function: Callable[[Item], Outcome | Judgement]
    seed: int | None = None
    mode: str = DIRECT

    def __call__(self, item: Item) -> Judgement:
        answer = self.function(item)
        order = "ab" if len(item.responses) == 2 else None
        if isinstance(answer, Judgement):
            return answer
        return Judgement(answer, seed=self.seed, order=order)


def ask(judge: Judge, item: Item) -> Judgement:
    """Ask a judge; whatever it raises becomes a failure of a closed kind.

    Raises
    ------
    ShapeError
        If the item has the wrong number of responses for the judge: a configuration mistake.

    Examples
    --------
    >>> def hang(item):
    ...     raise TimeoutError("no reply in 30 s")
    >>> ask(FunctionJudge("slow", hang), Item("q1", "?", ("yes",))).outcome
    Failure(kind=<FailureKind.TIMEOUT: 'timeout'>, message='TimeoutError: no reply in 30 s')
    """
    try:
        judgement: object = judge(item)
    except ShapeError:
        raise
    except Exception as error:
        return Judgement(failure_from(error))
    if not isinstance(judgement, Judgement):
        text = f"the judge returned a {type(judgement).__name__}, not an outcome"
        return Judgement(Failure(FailureKind.NO_VERDICT, text))
    return judgement


def failure_from(error: Exception) -> Failure:
    """The failure that an exception amounts to."""
    text = f"{type(error).__name__}: {error}"[:_MESSAGE_LENGTH]
    for types, kind in _KINDS:
        if isinstance(error, types):
            return Failure(kind, text)
    return Failure(FailureKind.CRASH, text)


# The first match decides: a time-out is also an OSError, and a JSON error also a ValueError.
_KINDS: tuple[tuple[type[Exception] | tuple[type[Exception], ...], FailureKind], ...] = (
    (TimeoutError, FailureKind.TIMEOUT),
    (CancelledError, FailureKind.CANCELLED),
    ((json.JSONDecodeError, UnicodeDecodeError), FailureKind.PARSE),
    # The verdict types refuse what is no verdict: a score that is not finite, say.
    (InputError, FailureKind.OUT_OF_RANGE),
    ((OSError, http.client.HTTPException), FailureKind.TRANSPORT),
)
