"""A panel of judges and its strict majority."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from riskjudge.data.verdict import (
    AbstainReason,
    Abstention,
    BooleanVerdict,
    Failure,
    FailureKind,
    Outcome,
    ScoreVerdict,
    WinnerVerdict,
    describe,
)
from riskjudge.errors import InputError
from riskjudge.items.item import Item
from riskjudge.judges.protocol import Judge, Judgement, ask


class Panel:
    """Any number of seats, each with one ballot; more than half of *all* seats decide.

    A seat's ballot is its whole answer: a boolean, a winner, undecided, or an abstention with its
    reason. The answer that more than half of the seats gave is the panel's; if none has that many
    (a level tally, or a majority short by the seats that declined), the panel abstains with
    ``panel_split``. A seat that abstains therefore fills its seat without helping any verdict, and
    two of three seats that find an item out of scope make the panel say so.

    Any seat that fails, or gives a score (put a :class:`~riskjudge.judges.Cut` on it), refuses the
    whole invocation: the panel's outcome is a failure of that kind, naming the seat. So neither a
    verdict nor a split ever rests on fewer ballots than there are seats.

    Every judgement discloses `members`, `votes`, `rule` and `margin` (the votes by which the
    leading answer is ahead; null where a seat failed). The confidence is the share of the seats
    behind a verdict.

    Parameters
    ----------
    seats : sequence of Judge
        The judges; their names are told apart in the disclosure, so none may occur twice.
    name : str
        The panel's name.

    Examples
    --------
    >>> from riskjudge.judges import first_slot, second_slot
    >>> judgement = Panel([first_slot(), second_slot()])(Item("q1", "?", ("x", "y")))
    >>> describe(judgement.outcome), judgement.disclosure["votes"], judgement.disclosure["margin"]
    ('abstained:panel_split', ['a', 'b'], 0)
    """

    def __init__(self, seats: Sequence[Judge], name: str = "panel") -> None:
        if not seats:
            raise InputError(f"panel {name!r} has no seats")
        for member, count in Counter(seat.name for seat in seats).items():
            if count > 1:
                raise InputError(f"panel {name!r}: {member!r} sits on {count} seats; name each")
        self.seats = tuple(seats)
        self.name = name

    @property
    def mode(self) -> str:
        """The mode that all seats share, or ``"mixed"``."""
        modes = {seat.mode for seat in self.seats}
        return modes.pop() if len(modes) == 1 else "mixed"

    def __call__(self, item: Item) -> Judgement:
        ballots = [ask(seat, item) for seat in self.seats]
        outcomes = [ballot.outcome for ballot in ballots]
        tally = Counter(describe(outcome) for outcome in outcomes).most_common()
        votes, behind = tally[0]
        refusal = self._refusal(outcomes)
        disclosure: dict[str, Any] = {
            "members": [seat.name for seat in self.seats],
            "votes": [describe(outcome) for outcome in outcomes],
            "rule": "strict_majority",
            "margin": None if refusal else behind - (tally[1][1] if len(tally) > 1 else 0),
            "seeds": [ballot.seed for ballot in ballots],
        }
        outcome: Outcome
        if refusal is not None:
            outcome = refusal
        elif 2 * behind > len(self.seats):
            outcome = next(vote for vote in outcomes if describe(vote) == votes)
        else:
            outcome = Abstention(AbstainReason.PANEL_SPLIT)
        decided = not isinstance(outcome, (Failure, Abstention))
        return Judgement(
            outcome,
            confidence=behind / len(self.seats) if decided else None,
            disclosure=disclosure,
            order=ballots[0].order,
            calls=sum(ballot.calls for ballot in ballots),
        )

    def _refusal(self, outcomes: Sequence[Outcome]) -> Failure | None:
        """The failure of the first seat that cast no ballot."""
        for seat, outcome in zip(self.seats, outcomes, strict=True):
            if isinstance(outcome, Failure):
                message = f"seat {seat.name}: {outcome.message}".rstrip(": ")
                return Failure(outcome.kind, message)
            if isinstance(outcome, ScoreVerdict):
                message = f"seat {seat.name} gave a score; a panel counts booleans or winners"
                return Failure(FailureKind.NO_VERDICT, message)
        if {BooleanVerdict, WinnerVerdict} <= {type(outcome) for outcome in outcomes}:
            return Failure(FailureKind.NO_VERDICT, "some seats gave booleans, others winners")
        return None
