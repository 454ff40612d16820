"""The closed vocabularies, and the sum type of a judge's answer.

A judge that was asked gives exactly one of

* a verdict: :class:`BooleanVerdict`, :class:`ScoreVerdict` or :class:`WinnerVerdict`,
* an :class:`Abstention` with one of four reasons: it looked, and declines,
* :class:`Undecided`: it answered every time and found no preference,
* a :class:`Failure` with one of a closed set of kinds: the instrument broke.

The types are disjoint, so an abstention cannot carry a value and a failure cannot become an
abstention; there is nothing to validate later.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import StrEnum

from riskjudge.errors import InputError


class AbstainReason(StrEnum):
    """Why a judge declined. The set is closed at four."""

    PANEL_SPLIT = "panel_split"
    SWAP_INCONSISTENT = "swap_inconsistent"
    BELOW_CONFORMAL = "below_conformal"
    OUT_OF_SCOPE = "out_of_scope"


class FailureKind(StrEnum):
    """What broke, where no verdict came back."""

    PARSE = "parse"
    TRUNCATED = "truncated"
    TIMEOUT = "timeout"
    STATUS = "status"
    REFUSAL = "refusal"
    BUDGET = "budget"
    TRANSPORT = "transport"
    CANCELLED = "cancelled"
    OUT_OF_RANGE = "out_of_range"
    NO_VERDICT = "no_verdict"
    NO_CONFIDENCE = "no_confidence"
    CRASH = "crash"


UNDECIDED = "undecided"
"""How :class:`Undecided` is written in tables. Neither an abstain reason nor a failure kind."""


class ItemStatus(StrEnum):
    """Status of one item in a reading. The set is closed at five."""

    GRADED = "graded"
    ABSTAINED = "abstained"
    SKIPPED_NO_BODY = "skipped_no_body"
    SCORE_FAILED = "score_failed"
    MISSING_FROM_LEDGER = "missing_from_ledger"


class Winner(StrEnum):
    """Which of two candidates a pairwise verdict prefers, by identity and not by position.

    Examples
    --------
    >>> Winner.A.other
    <Winner.B: 'b'>
    """

    A = "a"
    B = "b"

    @property
    def other(self) -> Winner:
        """The candidate that did not win."""
        return Winner.B if self is Winner.A else Winner.A


@dataclass(frozen=True, slots=True)
class BooleanVerdict:
    """The candidate is right (`value` true) or wrong."""

    value: bool

    def __post_init__(self) -> None:
        if not isinstance(self.value, bool):
            raise InputError(f"a boolean verdict is True or False, got {self.value!r}")


@dataclass(frozen=True, slots=True)
class ScoreVerdict:
    """A finite score on the judge's own scale."""

    value: float

    def __post_init__(self) -> None:
        number = isinstance(self.value, (int, float)) and not isinstance(self.value, bool)
        # A comparison, because math.isfinite overflows on integers beyond the float range.
        if not number or not -sys.float_info.max <= self.value <= sys.float_info.max:
            raise InputError(f"a score verdict is a finite number, got {self.value!r}")


@dataclass(frozen=True, slots=True)
class WinnerVerdict:
    """One of two candidates is better."""

    value: Winner

    def __post_init__(self) -> None:
        value: object = self.value
        if not isinstance(value, Winner):
            raise InputError(f"a winner is Winner.A or Winner.B, got {value!r}")


@dataclass(frozen=True, slots=True)
class Abstention:
    """An answer whose content is that there is no verdict, and why.

    Examples
    --------
    >>> Abstention(AbstainReason.PANEL_SPLIT).reason.value
    'panel_split'
    >>> Abstention("tired")
    Traceback (most recent call last):
    ...
    riskjudge.errors.InputError: unknown abstain reason 'tired'; the reasons are panel_split, ...
    """

    reason: AbstainReason

    def __post_init__(self) -> None:
        reason: object = self.reason
        if not isinstance(reason, AbstainReason):
            known = ", ".join(AbstainReason)
            raise InputError(f"unknown abstain reason {reason!r}; the reasons are {known}")


@dataclass(frozen=True, slots=True)
class Undecided:
    """The judge answered every time and found no preference."""


@dataclass(frozen=True, slots=True)
class Failure:
    """No answer: the instrument broke. Never counted as an abstention or as a wrong verdict."""

    kind: FailureKind
    message: str = ""

    def __post_init__(self) -> None:
        kind: object = self.kind
        if not isinstance(kind, FailureKind):
            known = ", ".join(FailureKind)
            raise InputError(f"unknown failure kind {kind!r}; the kinds are {known}")


Verdict = BooleanVerdict | ScoreVerdict | WinnerVerdict
Answer = Verdict | Abstention | Undecided
Outcome = Answer | Failure


def describe(outcome: Outcome) -> str:
    """The outcome as one word, as disclosures and ballots quote it.

    Examples
    --------
    >>> describe(WinnerVerdict(Winner.A)), describe(BooleanVerdict(False)), describe(Undecided())
    ('a', 'false', 'undecided')
    >>> describe(Abstention(AbstainReason.OUT_OF_SCOPE)), describe(Failure(FailureKind.TIMEOUT))
    ('abstained:out_of_scope', 'failed:timeout')
    """
    match outcome:
        case BooleanVerdict(value):
            return "true" if value else "false"
        case WinnerVerdict(winner):
            return winner.value
        case ScoreVerdict(score):
            return repr(float(score))
        case Undecided():
            return UNDECIDED
        case Abstention(reason):
            return f"abstained:{reason.value}"
        case Failure(kind, _):
            return f"failed:{kind.value}"
