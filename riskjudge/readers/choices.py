"""What the user says where a file leaves a choice, and what is taken where it leaves none."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from riskjudge.errors import InputError
from riskjudge.readers.records import WORDS, Record, as_bool

_LABELS = re.compile(
    r"human|gold|expert|annotat|reviewer|label|ground_?truth|is_correct|user_(score|feedback)", re.I
)
_NEVER = re.compile(r"label_?(studio|er|set)|annotator|_(id|time|at|notes?|comment|reason)$", re.I)


@dataclass(frozen=True, slots=True)
class Choices:
    """Answers to the questions that a file may leave open.

    Attributes
    ----------
    judges : tuple of str
        Which judges, scorers or metrics become modes, in order.
    label : str or None
        Field that holds what is right, as ``name`` or ``name:right/wrong``.
    uncertainties, confidences : tuple of str
        For each mode a field with a number that is higher where the judge is less (more) sure.
    group : str or None
        Field whose equal values mark items that depend on one another.
    cut : float or None
        From which score on an item passes.
    verdicts : tuple of str
        For each mode the field that holds the verdict, as ``name`` or ``name:right/wrong``.
    correct : str or None
        Field that says whether the judge was right, where that is all there is.
    other : mapping of str to str
        Choices of single formats, such as ``filter``.
    """

    judges: tuple[str, ...] = ()
    label: str | None = None
    uncertainties: tuple[str, ...] = ()
    confidences: tuple[str, ...] = ()
    group: str | None = None
    cut: float | None = None
    verdicts: tuple[str, ...] = ()
    correct: str | None = None
    other: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.cut is not None and not math.isfinite(self.cut):
            raise InputError(f"the cut must be a finite number, got {self.cut!r}")
        if self.uncertainties and self.confidences:
            raise InputError("the modes have either uncertainties or confidences, not some of both")
        if self.correct is not None and (self.label is not None or self.verdicts):
            raise InputError("where `correct` is all there is, no label and no verdict is named")


@dataclass(frozen=True, slots=True)
class Field:
    """A named field, and the words in it that mean right and wrong.

    Examples
    --------
    >>> Field.parse("human:good/poor").read({"human": "Poor"}, "q1")
    False
    """

    name: str
    words: Mapping[str, bool]

    @classmethod
    def parse(cls, text: str) -> Field:
        """From ``name`` or ``name:right/wrong``; several words of a kind are joined by ``|``."""
        name, colon, words = text.partition(":")
        if not colon:
            return cls(name, WORDS)
        right, slash, wrong = words.partition("/")
        if not (name and slash and right and wrong):
            raise InputError(f"a field is given as name or name:right/wrong, got {text!r}")
        pairs = [(w, True) for w in right.split("|")] + [(w, False) for w in wrong.split("|")]
        return cls(name, {word.strip().casefold(): value for word, value in pairs})

    def read(self, fields: Mapping[str, Any], where: str) -> bool | None:
        """The value in one record; None where the field is empty.

        Raises
        ------
        InputError
            If the value is none of the words.
        """
        value = fields.get(self.name)
        if value is None or value == "" or value != value:
            return None
        told = value if self.words is WORDS else str(value)
        found = as_bool(told, self.words)
        if found is None:
            raise InputError(
                f"item {where!r}: {self.name} is {value!r}, which does not say right or wrong; name "
                f"the words: {self.name}:right/wrong"
            )
        return found


def pick(what: str, asked: str | None, candidates: Sequence[str], flag: str) -> str | None:
    """The one candidate, or the one that was asked for.

    Raises
    ------
    InputError
        If several would do, or the one that was asked for is not there.
    """
    if asked is not None:
        if asked not in candidates:
            have = ", ".join(candidates) or "none"
            raise InputError(f"there is no {what} {asked!r}; there are: {have}")
        return asked
    if len(candidates) > 1:
        raise InputError(
            f"several could be the {what}: {', '.join(candidates)}. Choose: {flag} {candidates[0]}"
        )
    return candidates[0] if candidates else None


def label_candidates(records: Iterable[Record], taken: Iterable[str]) -> list[str]:
    """Fields whose names speak of people's judgement and whose values are right or wrong."""
    values: dict[str, set[bool | None]] = {}
    for record in records:
        for name, value in record.fields.items():
            last = name.rpartition(".")[2]
            if value is None or not _LABELS.search(name) or _NEVER.search(last):
                continue
            values.setdefault(name, set()).add(as_bool(value))
    return [name for name, found in values.items() if None not in found and name not in set(taken)]
