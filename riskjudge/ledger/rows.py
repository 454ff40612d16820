"""The ledger row: what one judge said about one item.

A :class:`Row` holds an outcome, which is one of the disjoint types of :mod:`riskjudge.data.verdict`, so
an invalid row cannot be built.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from riskjudge.data.verdict import (
    AbstainReason,
    Abstention,
    BooleanVerdict,
    Failure,
    ItemStatus,
    Outcome,
    Winner,
    WinnerVerdict,
)
from riskjudge.errors import InputError
from riskjudge.items.item import Label

_INT64 = 2**63


@dataclass(frozen=True, slots=True)
class Row:
    """What one judge said about one item.

    Parameters
    ----------
    subject, judge, mode : str
        The judged item's id, the judge's name and the form of the question.
    outcome : Outcome, optional
        The judge's outcome, or None where the item had no body to judge.
    confidence : float, optional
        In [0, 1], or None where it is missing. A failure carries none.
    label : Label, optional
        The gold verdict that came with the item, if any.
    subset, group : str, optional
        What a reading may split the items by, and which items depend on one another.
    seed, order, calls : int, str, int; the first two optional
        What it takes to ask again: the judge's seed, the order(s) in which a pair was shown
        (``"ab"``, or ``"ab+ba"`` for both) and the number of calls made.
    seconds, started : float, str; each optional
        Wall time of the judgement, and when it began (ISO 8601, UTC).
    disclosure : Mapping[str, Any]
        What stands behind the outcome: votes, orders, the score before a cut. JSON values.
    ledger_abstain_reason : AbstainReason, optional
        What the judged subject had recorded before this run. Provenance, never the outcome.
    id : str
        Names the row; by default ``judge/mode/subject``.

    Examples
    --------
    >>> Row("q1", "panel", "direct", Abstention(AbstainReason.PANEL_SPLIT)).status.value
    'abstained'
    >>> from riskjudge.data.verdict import FailureKind
    >>> Row("q1", "panel", "direct", Failure(FailureKind.TIMEOUT), confidence=0.9)
    Traceback (most recent call last):
    ...
    riskjudge.errors.InputError: row 'panel/direct/q1': a failure carries no confidence, got 0.9
    """

    subject: str
    judge: str
    mode: str
    outcome: Outcome | None
    confidence: float | None = None
    label: Label | None = None
    subset: str | None = None
    group: str | None = None
    seed: int | None = None
    order: str | None = None
    calls: int = 1
    seconds: float | None = None
    started: str | None = None
    disclosure: Mapping[str, Any] = field(default_factory=dict)
    ledger_abstain_reason: AbstainReason | None = None
    id: str = ""

    def __post_init__(self) -> None:
        if not self.id:
            object.__setattr__(self, "id", f"{self.judge}/{self.mode}/{self.subject}")
        for problem in self._problems():
            raise InputError(f"row {self.id!r}: {problem}")

    def _problems(self) -> list[str]:
        problems = []
        if not (self.subject and self.judge and self.mode):
            problems.append("`subject`, `judge` and `mode` are texts that are not empty")
        names = (self.id, self.subject, self.judge, self.mode, self.subset, self.group, self.order)
        try:
            "".join(name or "" for name in names).encode()
        except UnicodeEncodeError:
            problems.append(f"a name holds half a surrogate pair: {names}")
        if self.confidence is not None:
            if not 0.0 <= self.confidence <= 1.0:
                problems.append(f"a confidence lies in [0, 1], got {self.confidence!r}")
            if self.outcome is None:
                problems.append(f"an item without a body has no confidence: {self.confidence!r}")
            if isinstance(self.outcome, Failure):
                problems.append(f"a failure carries no confidence, got {self.confidence!r}")
        if self.calls < 0:
            problems.append(f"`calls` is at least 0, got {self.calls}")
        if self.seconds is not None and not 0.0 <= self.seconds < math.inf:
            problems.append(f"`seconds` is finite and at least 0, got {self.seconds!r}")
        if self.seed is not None and not -_INT64 <= self.seed < _INT64:
            problems.append(f"`seed` fits 64 bits, got {self.seed}")
        if self.label is not None and isinstance(self.outcome, (BooleanVerdict, WinnerVerdict)):
            comparable = isinstance(self.outcome, WinnerVerdict) is isinstance(self.label, Winner)
            if not comparable:
                problems.append(
                    f"the verdict {self.outcome.value!r} has a label of another kind, "
                    f"{self.label!r}"
                )
        return problems

    @property
    def status(self) -> ItemStatus:
        """One of the five item statuses; an undecided judge answered, so its row is graded."""
        if self.outcome is None:
            return ItemStatus.SKIPPED_NO_BODY
        if isinstance(self.outcome, Abstention):
            return ItemStatus.ABSTAINED
        if isinstance(self.outcome, Failure):
            return ItemStatus.SCORE_FAILED
        return ItemStatus.GRADED

    @property
    def content(self) -> str | None:
        """A hash of what was judged; None where the row does not say."""
        content = self.disclosure.get("content")
        return content if isinstance(content, str) else None

    def may_follow(self, earlier: Row) -> bool:
        """Whether this row may stand in place of an earlier one of the same id.

        After a failure any row may; after an answer, one about another content.

        Parameters
        ----------
        earlier : Row
            Of the same id.
        """
        if earlier.status is ItemStatus.SCORE_FAILED:
            return True
        return None not in (self.content, earlier.content) and self.content != earlier.content

    @property
    def agrees(self) -> bool | None:
        """Whether the verdict equals its label; None where there is nothing to compare."""
        if self.label is None or not isinstance(self.outcome, (BooleanVerdict, WinnerVerdict)):
            return None
        return self.outcome.value == self.label
