"""Gates behind judges, and routes from one judge to the next: the source of `below_conformal`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riskjudge.data.verdict import (
    AbstainReason,
    Abstention,
    Failure,
    FailureKind,
    ScoreVerdict,
    Verdict,
    Winner,
    describe,
)
from riskjudge.errors import InputError
from riskjudge.items.item import Item
from riskjudge.judges.protocol import FunctionJudge, Judge, Judgement, ask
from riskjudge.ledger.uncertainty import Judged, confidence_gap

if TYPE_CHECKING:
    from riskjudge.gate import Router, SelectiveGate

Accept = Callable[[Verdict, float], bool]
Measure = Callable[[Judged], float | None]


@dataclass(frozen=True, slots=True)
class Gated:
    """Lets a verdict through if the gate accepts it; else abstains, `below_conformal`.

    Only verdicts are gated: abstentions, undecided answers and failures pass through as they are.
    A verdict without an uncertainty cannot be accepted or declined, so it becomes a failure,
    `no_confidence`. What the gate saw is disclosed, and whether a certificate stands behind it.

    Parameters
    ----------
    judge : Judge
        Gives the verdicts.
    accept : Accept
        Tells whether a verdict of this uncertainty is accepted.
    uncertainty : Measure
        The uncertainty of a judgement; it must be the one the gate was fitted on.
    certified : bool
        Whether `accept` comes from a fitted gate and not from somebody's choice.

    Examples
    --------
    >>> from riskjudge.data.verdict import BooleanVerdict
    >>> unsure = FunctionJudge("unsure", lambda _: Judgement(BooleanVerdict(True), confidence=0.6))
    >>> describe(Gated(unsure, lambda verdict, u: u <= 0.2)(Item("q1", "?", ("x",))).outcome)
    'abstained:below_conformal'
    """

    judge: Judge
    accept: Accept
    uncertainty: Measure = confidence_gap
    certified: bool = False
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.judge.name)

    @property
    def mode(self) -> str:
        """The mode of the judge behind it."""
        return self.judge.mode

    def __call__(self, item: Item) -> Judgement:
        judgement = ask(self.judge, item)
        verdict = judgement.outcome
        if not isinstance(verdict, Verdict):
            return judgement
        uncertainty = self.uncertainty(judgement)
        seen = {
            "gated": describe(verdict),
            "uncertainty": uncertainty,
            "certified": self.certified,
        }
        disclosure = {**judgement.disclosure, **seen}
        if uncertainty is None:
            failure = Failure(FailureKind.NO_CONFIDENCE, "the gate needs an uncertainty")
            return replace(judgement, outcome=failure, disclosure=disclosure, confidence=None)
        if self.accept(verdict, uncertainty):
            return replace(judgement, disclosure=disclosure)
        declined = Abstention(AbstainReason.BELOW_CONFORMAL)
        return replace(judgement, outcome=declined, disclosure=disclosure)


class Cascade:
    """Asks judges in order and stops at the first verdict.

    Whatever is no verdict (an abstention of any reason, undecided, a failure) sends the item on to
    the next judge. Where none gives a verdict, a failure on the way is the outcome (the first one,
    naming its judge); else what the last judge said. Every judgement discloses who was asked and
    what each said.

    Parameters
    ----------
    judges : sequence of Judge
        In the order in which they are asked, as a rule from cheap to dear.
    name : str
        The route's name.

    Examples
    --------
    >>> from riskjudge.judges import Scoped, first_slot
    >>> never = Scoped(first_slot("cheap"), lambda item: False)
    >>> judgement = Cascade([never, first_slot("dear")])(Item("q1", "?", ("x",)))
    >>> describe(judgement.outcome), judgement.disclosure["asked"]
    ('true', ['cheap', 'dear'])
    """

    def __init__(self, judges: Sequence[Judge], name: str = "router") -> None:
        if not judges:
            raise InputError(f"router {name!r} has no judges")
        self.judges = tuple(judges)
        self.name = name

    @property
    def mode(self) -> str:
        """The mode that all judges share, or ``"mixed"``."""
        modes = {judge.mode for judge in self.judges}
        return modes.pop() if len(modes) == 1 else "mixed"

    def __call__(self, item: Item) -> Judgement:
        said: list[Judgement] = []
        for judge in self.judges:
            said.append(ask(judge, item))
            if isinstance(said[-1].outcome, Verdict):
                break
        last = said[-1]
        outcome, confidence = last.outcome, last.confidence
        if not isinstance(outcome, Verdict):
            for judge, judgement in zip(self.judges, said, strict=True):
                if isinstance(judgement.outcome, Failure):
                    broken = judgement.outcome
                    message = f"judge {judge.name}: {broken.message}".rstrip(": ")
                    outcome, confidence = Failure(broken.kind, message), None
                    break
        route: dict[str, Any] = {
            "asked": [judge.name for judge in self.judges[: len(said)]],
            "said": [describe(judgement.outcome) for judgement in said],
        }
        return replace(
            last,
            outcome=outcome,
            confidence=confidence,
            disclosure={**last.disclosure, **route},
            calls=sum(judgement.calls for judgement in said),
        )


def route_from_file(
    path: str | Path, judges: Sequence[Judge], uncertainty: Measure, name: str
) -> Judge:
    """Judges behind a gate or router that was fitted and saved; see :func:`route`.

    Whether its scores were made as these judges make them is not looked at: the caller vouches for
    that. A configuration compares (:func:`riskjudge.judges.fitted.fitted_route`).

    Raises
    ------
    InputError
        If the file is damaged or has another number of modes than there are judges.
    """
    from riskjudge.gate import load_router

    return route(load_router(path), judges, [uncertainty] * len(judges), name, what=path)


def route(
    gate: Router | SelectiveGate,
    judges: Sequence[Judge],
    uncertainties: Sequence[Measure],
    name: str,
    *,
    certified: bool = True,
    what: str | Path = "the gate",
) -> Judge:
    """Judges behind a gate, one for each of its modes and in its order.

    As :meth:`riskjudge.Router.decide` does: a mode without a threshold is never asked; an empty
    region declines everything and asks nobody; an unfitted gate lets the first judge's verdicts
    through, uncertified, or declines everything, as it was saved.

    Parameters
    ----------
    gate : Router or SelectiveGate
    judges : sequence of Judge, length K
    uncertainties : sequence of callable, length K
        The measures that the gate's modes were fitted on.
    name : str
        The route's name.
    certified : bool
        Whether the gate's certificate covers these judges' scores; disclosed with every verdict.
    what : str or path
        What messages call the gate.

    Raises
    ------
    InputError
        If the gate has another number of modes than there are judges.
    """
    if not gate.fitted:
        if gate.unfitted == "pass":
            return _passing(judges[0], name)
        return _declining(judges[0], name, {"certified": False})
    refuse_other_number(gate, judges, what)
    if gate.thresholds_ is None:
        return _declining(judges[0], name, {})
    # One threshold for each mode, or one for each of its verdicts; -inf is none.
    rows = gate.thresholds_.reshape(len(judges), -1).tolist()
    stages = [
        Gated(judge, _accept(row), measure, certified=certified)
        for judge, row, measure in zip(judges, rows, uncertainties, strict=True)
        if max(row) > float("-inf")
    ]
    if len(judges) == 1:
        return replace(stages[0], name=name)
    return Cascade(stages, name)


def refuse_other_number(
    gate: Router | SelectiveGate, judges: Sequence[Judge], what: str | Path
) -> None:
    """Raise `InputError` unless there is one judge for each mode of a fitted gate."""
    if len(gate.modes_) != len(judges):
        raise InputError(
            f"{what} was fitted on {len(gate.modes_)} modes ({', '.join(gate.modes_)}), "
            f"and there are {len(judges)} judges"
        )


def _accept(thresholds: Sequence[float]) -> Accept:
    def accept(verdict: Verdict, uncertainty: float) -> bool:
        if isinstance(verdict, ScoreVerdict):
            raise InputError("a fitted gate takes booleans and winners; put a cut on the score")
        # As in a trace, the first candidate's win is 1.
        code = int(verdict.value in (True, Winner.A))
        return uncertainty <= thresholds[code if len(thresholds) == 2 else 0]

    return accept


def _declining(judge: Judge, name: str, disclosure: Mapping[str, Any]) -> Judge:
    below = Abstention(AbstainReason.BELOW_CONFORMAL)
    declined = Judgement(below, calls=0, disclosure=disclosure)
    return FunctionJudge(name, lambda item: declined, mode=judge.mode)


def _passing(judge: Judge, name: str) -> Judge:
    def ask_uncertified(item: Item) -> Judgement:
        judgement = ask(judge, item)
        return replace(judgement, disclosure={**judgement.disclosure, "certified": False})

    return FunctionJudge(name, ask_uncertified, mode=judge.mode)
