"""Admission functions: when a candidate answer counts as right, given reference answers.

A string measure compares a candidate with every reference, and the best one counts. `exact` and `f1`
compare keys that keep numbers, signs, symbols and single letters apart
(:mod:`riskjudge.items.answers`). `squad_exact` and `squad_f1` are the measures of question answering
as published [1]_, which papers report: all punctuation and articles go, so that "3.5" is "35", "C#"
is "C", and "A" is nothing. Numbers written as words are left alone by all.

References
----------
.. [1] P. Rajpurkar et al., "SQuAD: 100,000+ Questions for Machine Comprehension of Text",
   EMNLP 2016, arXiv:1606.05250.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from riskjudge.errors import InputError
from riskjudge.items.answers import answer_key
from riskjudge.items.item import Item

_ARTICLES = re.compile(r"\b(a|an|the)\b")

DEFAULT_THRESHOLD = 0.5
"""The paper's threshold on token F1."""


def normalise(text: str) -> str:
    """SQuAD's normalisation: lower case, no punctuation, no English articles, single spaces.

    Examples
    --------
    >>> normalise("The  “Beatles”!"), normalise("Röntgen") == normalise("Ro\\u0308ntgen")
    ('beatles', True)
    """
    text = unicodedata.normalize("NFKC", text).casefold()
    kept = "".join(
        c for c in text if unicodedata.category(c)[0] not in "P" and c not in "$+<=>^`|~"
    )
    return " ".join(_ARTICLES.sub(" ", kept).split())


Normaliser = Callable[[str], str]
Measure = Callable[[str, Sequence[str]], float]


def exact_match(
    candidate: str, references: Sequence[str], normaliser: Normaliser = answer_key
) -> float:
    """1 if the candidate equals a reference once both are normalised, else 0.

    A blank answer equals nothing, and neither does one of which the normaliser leaves nothing.

    Parameters
    ----------
    candidate : str
    references : sequence of str
        Any of them is right.
    normaliser : callable
        :func:`riskjudge.items.answers.answer_key`, or :func:`normalise` for SQuAD's exact match.

    Examples
    --------
    >>> exact_match("the Beatles.", ["The Rolling Stones", "Beatles"])
    1.0
    >>> exact_match("3.5", ["35"]), exact_match("3.5", ["35"], normalise)
    (0.0, 1.0)
    """
    said = normaliser(candidate)
    return float(bool(said) and any(said == normaliser(reference) for reference in references))


def token_f1(
    candidate: str, references: Sequence[str], normaliser: Normaliser = answer_key
) -> float:
    """F1 of the tokens that the candidate shares with the best reference, in [0, 1].

    0 where one side has no token.

    Parameters
    ----------
    candidate, references, normaliser : str, Sequence[str], Normaliser
        As for :func:`exact_match`.

    Examples
    --------
    >>> round(token_f1("Wilhelm Röntgen", ["Wilhelm Conrad Röntgen"]), 3)
    0.8
    """
    said = normaliser(candidate).split()
    return max((_f1(said, normaliser(reference).split()) for reference in references), default=0.0)


def _f1(said: Sequence[str], wanted: Sequence[str]) -> float:
    if not said or not wanted:
        return 0.0
    shared = sum((Counter(said) & Counter(wanted)).values())
    return 2 * shared / (len(said) + len(wanted))


MEASURES: Mapping[str, Measure] = {
    "exact": exact_match,
    "f1": token_f1,
    "squad_exact": partial(exact_match, normaliser=normalise),
    "squad_f1": partial(token_f1, normaliser=normalise),
}
"""The string measures by the name of the label."""

_WITH_THRESHOLD = ("f1", "squad_f1")
_KINDS = (*MEASURES, "llm", "column")


@dataclass(frozen=True, slots=True)
class Admission:
    """One way to label items.

    Parameters
    ----------
    kind : str
        ``exact``, ``f1``, ``squad_exact``, ``squad_f1``, ``llm`` (a model compares with the
        references), or ``column`` (the label that came with the item).
    threshold : float
        Of ``f1`` and ``squad_f1``: at or above it the candidate is right.

    Examples
    --------
    >>> item = Item("q1", "Who?", ("Wilhelm Röntgen",), references=("Wilhelm Conrad Röntgen",))
    >>> Admission.parse("f1").label(item), Admission.parse("f1:0.9").label(item)
    (True, False)
    >>> Admission.parse("bleu")
    Traceback (most recent call last):
    ...
    riskjudge.errors.InputError: no label 'bleu'; there are exact, f1 (or f1:0.6, say), ...
    """

    kind: str
    threshold: float = DEFAULT_THRESHOLD

    @classmethod
    def parse(cls, text: str) -> Admission:
        """From the form the command line takes: a kind, with ``:threshold`` for F1."""
        kind, colon, number = text.strip().partition(":")
        if kind not in _KINDS or (colon and kind not in _WITH_THRESHOLD):
            known = ", ".join(_KINDS).replace("f1,", "f1 (or f1:0.6, say),", 1)
            raise InputError(f"no label {text!r}; there are {known}")
        if not colon:
            return cls(kind)
        try:
            threshold = float(number)
        except ValueError:
            threshold = float("nan")
        if not 0 < threshold <= 1:
            raise InputError(f"the threshold of {kind} lies in (0, 1], got {number!r}")
        return cls(kind, threshold)

    @property
    def name(self) -> str:
        """The kind, with its threshold where that is not the usual one."""
        usual = self.threshold == DEFAULT_THRESHOLD
        return self.kind if usual else f"{self.kind}_{self.threshold:g}"

    def label(self, item: Item) -> bool | None:
        """Whether the item's one response is right; None where nothing says so.

        Raises
        ------
        InputError
            If the label is a model's, which has to be asked, or the item is a pair.
        """
        if len(item.responses) != 1:
            raise InputError(f"item {item.id!r} is a pair; admission takes one response")
        if self.kind == "column":
            return item.label if isinstance(item.label, bool) else None
        if self.kind not in MEASURES:
            raise InputError("an LLM evaluator's label comes from asking it")
        if not item.references or not item.has_body:
            return None
        return MEASURES[self.kind](item.responses[0], item.references) >= self.threshold


def admissions(texts: Iterable[str]) -> list[Admission]:
    """Several ways to label, each once, in the order given.

    Examples
    --------
    >>> [way.name for way in admissions(["f1,exact", "f1:0.8"])]
    ['f1', 'exact', 'f1_0.8']
    """
    found = [Admission.parse(part) for text in texts for part in text.split(",") if part.strip()]
    names = [way.name for way in found]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"the label {name!r} is asked for twice")
    return found
