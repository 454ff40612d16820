"""Reading a reply: the decision line, whole word, or nothing."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

_SPACE = r" \t\u200b\u200e\u200f\ufeff"
_MARKS = rf"{_SPACE}*_`\"'#>“”‘’«»„「」『』【】\[\]()-"
_MARKUP = f"[{_MARKS}]*"
# A word ends where no letter or digit follows; an underscore is markup, and no letter.
_BEGINS, _ENDS = r"(?<![^\W_])", r"(?![^\W_])"

_THOUGHTS = (
    "think",
    "thinking",
    "thought",
    "thoughts",
    "reason",
    "reasoning",
    "reflection",
    "scratchpad",
    "analysis",
    "seed:think",
)
_OPENS = re.compile(
    rf"<({'|'.join(_THOUGHTS)})\b[^<>\n]*>|\[THINK\]|◁think▷|<\|begin_of_thought\|>"
    r"|<\|channel\|>(?:analysis|commentary)<\|message\|>",
    re.IGNORECASE,
)
_CLOSES = re.compile(
    rf"</({'|'.join(_THOUGHTS)})\s*>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>"
    r"|<\|channel\|>final<\|message\|>",
    re.IGNORECASE,
)


_CONFIDENCE = re.compile(r"^[\W_]*confidence\b.*$", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Decision:
    """The label that a reply decides for, and where in the reply it stands.

    Parameters
    ----------
    label : str
        One of the two labels, as the prompt writes it.
    start, end : int
        Its place, in characters of the reply.
    """

    label: str
    start: int
    end: int


def rationale_of(reply: str, decision: Decision) -> str:
    """The reply without the lines of its decision and confidence; empty where it says nothing more.

    Examples
    --------
    >>> reply = "It is in Chad.\\nVerdict: True"
    >>> rationale_of(reply, Decision("True", 24, 28))
    'It is in Chad.'
    """
    start = reply.rfind("\n", 0, decision.start) + 1
    end = reply.find("\n", decision.end)
    after = "" if end < 0 else reply[end:]
    return _CONFIDENCE.sub("", reply[:start] + after.removeprefix("\n")).strip()


class Undecidable(ValueError):
    """A reply without one clear decision."""


class Unfinished(Undecidable):
    """A reply that ends in the middle of its reasoning."""


def without_reasoning(reply: str) -> str:
    """The reply with its reasoning blanked out, every character in its old place.

    What stands between ``<think>`` and ``</think>``, or tags like these, is a draft. So is all that
    comes before a closing tag: some chat templates open the draft themselves.

    Parameters
    ----------
    reply : str
        The message as it came.

    Returns
    -------
    str
        As long as the reply.

    Raises
    ------
    Unfinished
        If the reasoning never ends.

    Examples
    --------
    >>> without_reasoning("<think>Verdict: True?</think>\\nVerdict: False").strip()
    'Verdict: False'
    """
    closed = max((match.end() for match in _CLOSES.finditer(reply)), default=0)
    if _OPENS.search(reply, closed):
        raise Unfinished("the reasoning does not end")
    return "".join(c if c == "\n" else " " for c in reply[:closed]) + reply[closed:]


def read_decision(reply: str, name: str, labels: tuple[str, str]) -> Decision:
    """Find the decision line ``name: label`` in a reply.

    The label is a whole word right behind the colon, followed by the line's end or by punctuation,
    and the rest of its line does not name the other one. Words elsewhere count for nothing. A reply
    that is the label and nothing else is its own decision line. All lines that open with the name
    and a colon must agree, and so must a ``Final name: label`` or the like; the first is the one
    whose place is given. Reasoning that the reply begins with is not read. Full-width letters count
    as their plain ones.

    Parameters
    ----------
    reply : str
        The message as it came.
    name : str
        The word that opens the decision line.
    labels : tuple of str
        The two words that it may hold.

    Returns
    -------
    Decision

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
    text = _narrow(without_reasoning(reply))
    patterns = _patterns(name, labels)
    opened = list(patterns.opening.finditer(text))
    found = [patterns.label.match(text, match.end()) for match in opened]
    if not opened and (whole := patterns.alone.fullmatch(text)):
        found = [whole]
    if not found:
        raise Undecidable(f"no line '{name}: {labels[0]}' or '{name}: {labels[1]}'")
    decisions = [Decision(*_label(match, labels)) for match in found if match is not None]
    if len(decisions) < len(found):
        raise Undecidable(f"a '{name}:' line that holds neither {labels[0]} nor {labels[1]} alone")
    said = {decision.label for decision in decisions}
    said |= {_label(match, labels)[0] for match in patterns.mention.finditer(text)}
    if len(said) > 1:
        raise Undecidable(f"two '{name}:' lines that disagree")
    for decision in decisions:
        other = labels[1] if decision.label == labels[0] else labels[0]
        rest = text[decision.end :].partition("\n")[0]
        if re.search(_BEGINS + re.escape(other) + _ENDS, rest, re.IGNORECASE):
            raise Undecidable(f"the '{name}:' line names both labels")
    return decisions[0]


_REFUSAL = re.compile(
    r"^\W*(?:(?:i(?:'m| am)(?: very| so| really)? sorry|sorry|apologies|i apologi[sz]e|unfortunately"
    r"|my apologies|as an ai(?: language)?(?: model| assistant)?)\b[^.!?\n]{0,40}?[\s,.;:!–—-]*){0,3}"
    r"(?:but |however,? )?i (?:"
    r"(?:can(?:'t|not| not)|could(?:n't| not)|won't|will not|am (?:not able|unable) to)"
    r"(?:\W+(?:\w+\W+){0,3}?(?:help|assist|fulfil|fulfill|comply|answer|provide|complete|continue"
    r"|do (?:that|this)|engage|support|participate|generate|judge|evaluate|grade|rate|process|respond"
    r"|discuss|accommodate|proceed)\b|\W*$)"
    r"|(?:am not (?:going|permitted|allowed|willing) to|do(?:n't| not) feel comfortable"
    r"|(?:must|have to|will)? ?(?:respectfully )?(?:decline|refuse))\b)",
    re.IGNORECASE,
)


def is_refusal(reply: str) -> bool:
    """Whether a reply without a decision declines to give one ("I can't help with that").

    Parameters
    ----------
    reply : str
        The message as it came.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_refusal("I’m sorry, but I can’t fulfill this request."), is_refusal("I can't tell.")
    (True, False)
    """
    return _REFUSAL.match(_narrow(reply).replace("’", "'").replace("I'm", "I am")) is not None


def _narrow(text: str) -> str:
    """Full-width and other compatibility characters as their plain ones, each in its old place."""
    if text.isascii():
        return text
    return "".join(
        plain if len(plain := unicodedata.normalize("NFKC", c)) == 1 else c for c in text
    )


def _label(match: re.Match[str], labels: tuple[str, str]) -> tuple[str, int, int]:
    said = match["label"].casefold()
    label = labels[0] if said == labels[0].casefold() else labels[1]
    return label, match.start("label"), match.end("label")


@dataclass(frozen=True, slots=True)
class _Patterns:
    opening: re.Pattern[str]
    label: re.Pattern[str]
    mention: re.Pattern[str]
    alone: re.Pattern[str]


@lru_cache
def _patterns(name: str, labels: tuple[str, str]) -> _Patterns:
    label = rf"(?P<label>{'|'.join(map(re.escape, labels))})"
    word = _BEGINS + re.escape(name) + _ENDS
    # Behind the label: punctuation, an opening bracket or a dash after a space, or the end.
    closed = (
        rf"(?=[*_`\"'”’»」』】.,;:!)\]。、]+(?:[^\w]|$)|[*_]+{_ENDS}|[{_SPACE}]+[(\[–—-]"
        rf"|[{_SPACE}]*(?:\r?$|<\|))"
    )
    opening = rf"^{_MARKUP}{word}[*_`\"'”’]*[{_SPACE}]*:"
    # "Final Verdict: …", "the verdict is …"; the line itself need not be well formed.
    mention = (
        rf"^{_MARKUP}(?:[^\W\d_]+[{_SPACE}]+){{1,4}}{word}[*_`\"'”’]*[{_SPACE}]*(?::|=|is\b)"
        rf"{_MARKUP}{_BEGINS}{label}{_ENDS}"
    )
    flags = re.IGNORECASE | re.MULTILINE
    return _Patterns(
        re.compile(opening, flags),
        re.compile(rf"{_MARKUP}{_BEGINS}{label}{closed}", flags),
        re.compile(mention, flags),
        re.compile(rf"[\s{_MARKS}]*{label}[\s*_`\"'”’.!。]*", re.IGNORECASE),
    )
