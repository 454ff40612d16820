"""Does a pairwise judge name the same winner when the two answers change places?"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

import pandas as pd

from riskjudge.agreement.labels import label_text
from riskjudge.agreement.ratings import Labels, as_series
from riskjudge.errors import InputError
from riskjudge.share import Rate


@dataclass(frozen=True, slots=True)
class PositionConsistency:
    """Outcomes of trials in which a judge was asked in both orders.

    Attributes
    ----------
    consistent : int
        The same winner in both orders.
    inconsistent : int
        Different winners.
    undecided : int
        A tie in one order or both: no two winners to compare. Not in the rate. A swap trial calls
        the same thing undecided.
    failed : int
        No answer in one order or both. Not in the rate.
    """

    consistent: int
    inconsistent: int
    undecided: int = 0
    failed: int = 0

    def __post_init__(self) -> None:
        for name in ("consistent", "inconsistent", "undecided", "failed"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} is a count and cannot be {getattr(self, name)}")

    @property
    def trials(self) -> int:
        """Trials in the rate: those that named a winner in both orders."""
        return self.consistent + self.inconsistent

    @property
    def rate(self) -> float | None:
        """Share of the trials with the same winner; None (UNDEFINED) without trials."""
        return self.consistent / self.trials if self.trials else None

    def interval(self, confidence: float = 0.95) -> tuple[float, float] | None:
        """Exact (Clopper-Pearson) two-sided interval of the rate; None without trials.

        Examples
        --------
        >>> low, high = PositionConsistency(consistent=90, inconsistent=10).interval()
        >>> round(low, 4), round(high, 4)
        (0.8238, 0.951)
        """
        return Rate(self.consistent, self.trials, confidence=confidence).interval

    def to_dict(self) -> dict[str, int | float | None]:
        """Return a dictionary for strict JSON; UNDEFINED is None."""
        return {
            "consistent": self.consistent,
            "inconsistent": self.inconsistent,
            "undecided": self.undecided,
            "failed": self.failed,
            "rate": self.rate,
        }


TIES = ("tie", "tied", "draw", "both", "neither", "undecided")
"""Words that mean a tie, by themselves or before anything but a letter: "tie (bothbad)"."""

_PAIRS = ({"a", "b"}, {"1", "2"}, {"model_a", "model_b"}, {"first", "second"}, {"left", "right"})


def position_consistency(
    first: Labels, second: Labels, ties: Collection[object] = ()
) -> PositionConsistency:
    """Compare the winners that a judge named in the given and in the swapped order.

    Parameters
    ----------
    first, second : mapping of trial id to winner, or Series indexed by id
        The winner's identity (not its position) in each order; None where the judge gave no answer.
        Case and stray spaces do not matter, nor whether a number is written as text.
    ties : collection
        Answers that mean "neither", beside those that begin with one of :data:`TIES`.

    Raises
    ------
    InputError
        If trials come without ids, an id occurs twice, or an answer beside the two names of a pair
        is no tie that was named.

    Examples
    --------
    >>> given = {1: "a", 2: "a", 3: "b", 4: "tie", 5: None}
    >>> swapped = {1: "A", 2: "b", 3: "tie (bothbad)", 4: "tie", 5: "a"}
    >>> position_consistency(given, swapped)
    PositionConsistency(consistent=1, inconsistent=1, undecided=2, failed=1)
    """
    orders = {"first": as_series(first, "first-order"), "second": as_series(second, "second-order")}
    both = pd.concat({name: winners.astype(object) for name, winners in orders.items()}, axis=1)
    both = both.map(label_text)
    named = {text for text in map(label_text, ties) if text is not None}
    said = {text for text in both.to_numpy().ravel() if isinstance(text, str)}
    tied = {text for text in said if text in named or _TIE.match(text)}
    for pair in _PAIRS:
        strange = sorted(said - tied - pair)
        if strange and pair <= said - tied:
            raise InputError(
                f"{strange[0]!r} is neither a winner ({', '.join(sorted(pair))}) nor a tie that was "
                "named (ties=, --tie)"
            )
    failed = both.isna().any(axis=1)
    same = both["first"].eq(both["second"]) & ~failed
    undecided = both.isin(tied).any(axis=1) & ~failed
    return PositionConsistency(
        consistent=int((same & ~undecided).sum()),
        inconsistent=int((~same & ~undecided & ~failed).sum()),
        undecided=int(undecided.sum()),
        failed=int(failed.sum()),
    )


_TIE = re.compile(rf"(?:{'|'.join(TIES)})(?![^\W\d_])")
