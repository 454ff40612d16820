"""What the two orders of one pairwise trial say together, and which position a judge prefers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from riskjudge.data.verdict import (
    AbstainReason,
    Abstention,
    BooleanVerdict,
    Failure,
    FailureKind,
    Outcome,
    ScoreVerdict,
    Undecided,
    WinnerVerdict,
    describe,
)
from riskjudge.ledger.rows import Row
from riskjudge.share import Rate

BOTH_ORDERS = "ab+ba"


def resolve_orders(ab: Outcome, ba: Outcome) -> Outcome:
    """The one outcome of a trial that was asked in both orders.

    Both arguments name candidates by identity, so a judge that picks the same *position* twice
    shows up as two different winners. The first line that applies decides:

    ===========================================  =============================================
    the two orders                               the trial
    ===========================================  =============================================
    a failure in either                          the failure (of `ab` first), saying which order
    an abstention in either                      that abstention (of `ab` first)
    a tie in both                                undecided
    a winner in one, a tie in the other          undecided: a preference that the order makes or
                                                 unmakes is none, but nothing contradicts it
    the same winner in both                      that winner
    two different winners                        abstention, ``swap_inconsistent``
    ===========================================  =============================================

    Examples
    --------
    >>> from riskjudge.data.verdict import Winner
    >>> a, b = WinnerVerdict(Winner.A), WinnerVerdict(Winner.B)
    >>> [describe(resolve_orders(*pair)) for pair in [(a, a), (a, b), (a, Undecided())]]
    ['a', 'abstained:swap_inconsistent', 'undecided']
    """
    orders = {"ab": ab, "ba": ba}
    for name, outcome in orders.items():
        if isinstance(outcome, Failure):
            both = isinstance(ab, Failure) and isinstance(ba, Failure)
            where = "both orders" if both else f"order {name}"
            return Failure(outcome.kind, f"{where}: {outcome.message}".rstrip(": "))
        if isinstance(outcome, (BooleanVerdict, ScoreVerdict)):
            return Failure(
                FailureKind.NO_VERDICT,
                f"order {name}: a comparison names a winner, got {describe(outcome)}",
            )
    for outcome in orders.values():
        if isinstance(outcome, Abstention):
            return outcome
    if isinstance(ab, Undecided) or isinstance(ba, Undecided):
        return Undecided()
    return ab if ab == ba else Abstention(AbstainReason.SWAP_INCONSISTENT)


def disclose_orders(ab: Outcome, ba: Outcome) -> dict[str, Any]:
    """What both orders said, and the position that was picked twice, if one was."""
    disclosure: dict[str, Any] = {"orders": {"ab": describe(ab), "ba": describe(ba)}}
    if isinstance(ab, WinnerVerdict) and isinstance(ba, WinnerVerdict) and ab != ba:
        # Shown first in order ab is candidate a.
        disclosure["position"] = "first" if describe(ab) == "a" else "second"
    return disclosure


@dataclass(frozen=True, slots=True)
class PositionPreference:
    """On how many items a judge leans to the first and to the second position.

    An item on which several trials were made counts once, by the position picked in more of its
    inconsistent trials (level: neither), because the trials of one item are not independent. With
    one trial per item these are the inconsistent trials themselves.
    """

    first: int
    second: int

    @property
    def share(self) -> float | None:
        """Share of the leaning items that lean to the first position; None where none leans."""
        leaning = self.first + self.second
        return self.first / leaning if leaning else None

    def interval(self, confidence: float = 0.95) -> tuple[float, float] | None:
        """Exact two-sided Clopper–Pearson interval of the share; None where none leans.

        Examples
        --------
        >>> low, high = PositionPreference(first=9, second=1).interval()
        >>> round(low, 4), round(high, 4)  # R: binom.test(9, 10)
        (0.555, 0.9975)
        """
        return Rate(self.first, self.first + self.second, confidence=confidence).interval


def position_preference(rows: Iterable[Row]) -> PositionPreference:
    """Tally the positions that inconsistent trials disclose, one lean per item."""
    lean: dict[str, int] = defaultdict(int)
    for row in rows:
        position = row.disclosure.get("position")
        if position in ("first", "second"):
            lean[row.subject] += 1 if position == "first" else -1
    return PositionPreference(
        first=sum(balance > 0 for balance in lean.values()),
        second=sum(balance < 0 for balance in lean.values()),
    )
