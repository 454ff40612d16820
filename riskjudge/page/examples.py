"""Items as examples: some of each kind, with the beginning of their texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from riskjudge._typing import IntArray
from riskjudge.data.modes import ABSENCES
from riskjudge.data.reasons import IN_WORDS, said
from riskjudge.gate.outcomes import Outcomes

MOST = 5
TEXTS = ("question", "input", "prompt", "instruction", "user_input", "answer", "candidate",
         "response", "output")  # fmt: skip
"""Columns that are shown as texts, by the last part of their name."""
_LONGEST = 280


@dataclass(frozen=True, slots=True)
class Example:
    """One item as it is shown.

    Attributes
    ----------
    id : str
    texts : tuple of (str, str)
        Name and beginning of each text that the table carries.
    verdict : str
    uncertainty : float or None
        That of the mode which accepted it, else of the last mode asked that has one.
    mode : str or None
    label : str or None
    """

    id: str
    texts: tuple[tuple[str, str], ...]
    verdict: str
    uncertainty: float | None
    mode: str | None
    label: str | None


def text_columns(columns: Sequence[object]) -> list[str]:
    """Columns that hold what was judged: what was asked first, then what was answered.

    Examples
    --------
    >>> text_columns(["topic", "input.question", "answer", "source"])
    ['input.question', 'answer']
    """
    last = {str(name): str(name).rpartition(".")[2].lower() for name in columns}
    found = [name for name, short in last.items() if short in TEXTS]
    return sorted(found, key=lambda name: TEXTS.index(last[name]))[:3]


class Examples:
    """Picks items of some outcomes, and says what is shown of each."""

    def __init__(self, outcomes: Outcomes) -> None:
        self.outcomes = outcomes
        self.texts = text_columns(list(outcomes.extra.columns))
        seen = outcomes.readings
        self.last = outcomes.mode if seen is None else seen.last
        self.verdict = outcomes.verdict if seen is None else seen.verdict
        self.unsure = np.full(len(outcomes), np.nan) if seen is None else seen.uncertainty

    def by_reason(self) -> list[tuple[str, str, int, tuple[Example, ...]]]:
        """Why items were not accepted: name, meaning, number and some, the most frequent first."""
        why, found = self.outcomes.why_not, []
        for code in np.unique(why[why >= 0]):
            rows = np.flatnonzero(why == code)
            reason = ABSENCES[code]
            found.append((reason, IN_WORDS[reason], len(rows), self.some(rows)))
        return sorted(found, key=lambda entry: -entry[2])

    def some(self, rows: IntArray, *, surest_first: bool = True) -> tuple[Example, ...]:
        """The first few of some rows, sorted by uncertainty; those without one come last."""
        unsure = self.unsure[rows]
        order = np.argsort(unsure if surest_first else -unsure, kind="stable")[:MOST]
        return tuple(self._example(int(row)) for row in rows[order])

    def _example(self, row: int) -> Example:
        last, unsure = int(self.last[row]), float(self.unsure[row])
        texts = [(name, _short(self.outcomes.extra[name].iloc[row])) for name in self.texts]
        return Example(
            id=str(self.outcomes.item_id[row]),
            texts=tuple((name, text) for name, text in texts if text),
            verdict=self._said(int(self.verdict[row])) or "none",
            uncertainty=None if np.isnan(unsure) else unsure,
            mode=self.outcomes.modes[last] if last >= 0 else None,
            label=self._said(int(self.outcomes.labels[row])),
        )

    def _said(self, value: int) -> str | None:
        grading = self.outcomes.grading
        if value < 0 or grading is None:
            return said(value)
        return f"{grading.scores(np.array(value)):.9g}"


def _short(value: object) -> str:
    if value is None or value != value:
        return ""
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
