"""What the names of abstentions and failures mean, for people."""

from __future__ import annotations

from collections.abc import Mapping

from riskjudge.data.verdict import UNDECIDED, AbstainReason, FailureKind

IN_WORDS: Mapping[str, str] = {
    AbstainReason.BELOW_CONFORMAL: "too unsure to accept",
    AbstainReason.PANEL_SPLIT: "the judges of a panel disagree",
    AbstainReason.SWAP_INCONSISTENT: "the verdict changes when the two answers are swapped",
    AbstainReason.OUT_OF_SCOPE: "outside what the judge is meant for",
    UNDECIDED: "the judge found no preference",
    FailureKind.PARSE: "the reply could not be read",
    FailureKind.TRUNCATED: "the reply was cut off",
    FailureKind.TIMEOUT: "no reply came in time",
    FailureKind.STATUS: "the service answered with an error",
    FailureKind.REFUSAL: "the model refused to answer",
    FailureKind.BUDGET: "the budget was spent",
    FailureKind.TRANSPORT: "the service could not be reached",
    FailureKind.CANCELLED: "the call was cancelled",
    FailureKind.OUT_OF_RANGE: "the reply was outside the scale",
    FailureKind.NO_VERDICT: "there is no verdict",
    FailureKind.NO_CONFIDENCE: "there is a verdict, and no uncertainty beside it",
    FailureKind.CRASH: "the judge broke down",
}
"""One entry for each of :data:`riskjudge.data.modes.ABSENCES`."""


def said(verdict: int) -> str | None:
    """A verdict or label in words; None where there is none.

    Examples
    --------
    >>> said(1), said(0), said(-1)
    ('right', 'wrong', None)
    """
    return {0: "wrong", 1: "right"}.get(int(verdict))
