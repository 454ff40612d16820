"""Reading a reply: the decision line, whole word, or nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_MARKUP = r"[\s*_`\"'#>]*"


@dataclass(frozen=True, slots=True)
class Decision:
    """The label that a reply decides for, and where in the reply it stands."""

    label: str
    start: int
    end: int


class Undecidable(ValueError):
    """A reply without one clear decision."""


def read_decision(reply: str, name: str, labels: tuple[str, str]) -> Decision:
    """Find the decision line ``name: label`` in a reply.

    The label is a whole word right behind the colon, followed by the line's end or by punctuation,
    and the rest of its line does not name the other one. Words elsewhere count for nothing. A reply
    that is the label and nothing else is its own decision line. Several decision lines must agree;
    the first is the one whose place is given.

    Raises
    ------
    Undecidable
        If there is no such line, or they disagree.

    Examples
    --------
    >>> labels = ("True", "False")
    >>> read_decision("It is true that ...\\n**Verdict: False**", "Verdict", labels).label
    'False'
    >>> read_decision("False.", "Verdict", labels)
    Decision(label='False', start=0, end=5)
    >>> read_decision("That seems true to me.", "Verdict", labels)
    Traceback (most recent call last):
    ...
    riskjudge.prompts.decision.Undecidable: no line 'Verdict: True' or 'Verdict: False'
    """
    line_of, alone = _patterns(name, labels)
    found = [Decision(*_label(match, labels)) for match in line_of.finditer(reply)]
    if not found and (whole := alone.fullmatch(reply)):
        found = [Decision(*_label(whole, labels))]
    if not found:
        raise Undecidable(f"no line '{name}: {labels[0]}' or '{name}: {labels[1]}'")
    if len({decision.label for decision in found}) > 1:
        raise Undecidable(f"two '{name}:' lines that disagree")
    for decision in found:
        other = labels[1] if decision.label == labels[0] else labels[0]
        rest = reply[decision.end :].partition("\n")[0]
        if re.search(rf"\b{re.escape(other)}\b", rest, re.IGNORECASE):
            raise Undecidable(f"the '{name}:' line names both labels")
    return found[0]


def _label(match: re.Match[str], labels: tuple[str, str]) -> tuple[str, int, int]:
    said = match["label"].casefold()
    label = labels[0] if said == labels[0].casefold() else labels[1]
    return label, match.start("label"), match.end("label")


@lru_cache
def _patterns(name: str, labels: tuple[str, str]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    label = rf"(?P<label>{'|'.join(map(re.escape, labels))})"
    # Behind the label: punctuation, an opening bracket or a dash after a space, or the end.
    closed = r"(?=[*_`\"'.,;:!)\]]|[ \t]+[(\[–—-]|[ \t]*(?:\r?$|<\|))"
    line = rf"^{_MARKUP}{re.escape(name)}[*_`]*[ \t]*:{_MARKUP.replace(chr(92) + 's', ' ')}{label}{closed}"
    return (
        re.compile(line, re.IGNORECASE | re.MULTILINE),
        re.compile(rf"{_MARKUP}{label}[\s*_`\"'.!]*", re.IGNORECASE),
    )
