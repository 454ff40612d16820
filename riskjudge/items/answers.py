"""Which spellings of an answer are the same answer.

The usual normalisation of question answering [1]_ deletes all punctuation and articles. That is
harmless on names and wrong on the rest: it makes 3.5 into 35, -5 into 5, C# into C, and leaves
nothing of "A", "the" or "?". :func:`answer_key` merges two spellings only where they cannot mean two
things:

====================================  ==============================================================
merged                                kept apart
====================================  ==============================================================
case, forms of one character (NFKC),  signs, decimals, fractions, exponents, per cent, currency:
runs of spaces                        5/-5, 35/3.5, 10²/102, 1½/11/2, 50%/50, €5/$5, +5/5
thousands: 1,000 / 1000               1,5 / 15 and 1.000 / 1000, which may be decimals
forms of minus, dash and quotation    symbols within or around a word: C#/C, C++/C, AT&T/ATT, .NET/NET
mark; marks around a phrase
, . ; : at the end of a word; ! and ?  "?" alone; 5!/5 and A?/A
after a word of two letters or more
dots of an abbreviation: U.S.A. / USA  other dots: Node.js / Nodejs, 10.30 / 1030
a hyphen between letters / a space    any other hyphen: 1990-1995, A-, covid-19
"the", "an" before a longer word, "a"  "A" and "the"; "vitamin A"; "A B" / "B"
before the first one
parentheses around words              around anything with digits: (0, 1) / [0, 1]
====================================  ==============================================================

A key is empty only where the answer is blank, and a blank answer equals nothing.

References
----------
.. [1] P. Rajpurkar et al., "SQuAD: 100,000+ Questions for Machine Comprehension of Text",
   EMNLP 2016, arXiv:1606.05250.
"""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u2060\ufeff\u00ad"))
_SAME = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63\uff0d", "-")
    | dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc\uff07", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\u300c\u300d\uff02", '"')
    | {"\u2044": "/"}
)
_FRACTIONS = "".join(
    c for c in map(chr, range(0x2500)) if unicodedata.decomposition(c).startswith("<fraction>")
)
_RAISED = "".join(
    c
    for c in map(chr, range(0x2100))
    if unicodedata.decomposition(c).startswith("<super>") and not c.isalpha()
)
_LETTER = r"[^\W\d_]"

_MIXED_NUMBER = re.compile(rf"(?<=\d)(?=[{_FRACTIONS}])")
_EXPONENT = re.compile(rf"(?<=[\d)])(?=[{re.escape(_RAISED)}])(?<![{re.escape(_RAISED)}])")
_NARROW_THOUSANDS = re.compile(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))")
_THOUSANDS = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?!,?\d)")
_BARE_DECIMAL = re.compile(r"(?<![\w.])\.(?=\d)")
_QUOTED = re.compile(r"\"([^\"]+)\"|(?<!\w)'([^']+)'(?!\w)")
_BRACKETED = re.compile(r"(?<!\w)[(\[]([^\d()\[\]]*[^\W\d_][^\d()\[\]]*)[)\]](?!\w)")
_ABBREVIATION = re.compile(
    rf"(?<![\w.])(?:{_LETTER}\.)+{_LETTER}\b\.?|(?<![\w.])(?:{_LETTER}\.){{2,}}"
)
_HYPHEN = re.compile(rf"(?<={_LETTER})-(?={_LETTER})")
_SPACED_UNIT = re.compile(r"(?<=\d) (?=[%‰])|(?<=[$€£¥]) (?=[\d.])")
_STOPS = ",.;:"


def answer_key(text: str) -> str:
    """The key that equal answers share.

    Parameters
    ----------
    text : str
        An answer, as short as a reference is.

    Returns
    -------
    str
        Empty only for a blank answer.

    Examples
    --------
    >>> [answer_key(text) for text in ("The “Beatles”!", "−5", "1,000", "C++.", "A", "U.S.A.")]
    ['beatles', '-5', '1000', 'c++', 'a', 'usa']
    """
    text = text.translate(_INVISIBLE)
    text = _MIXED_NUMBER.sub(" ", _EXPONENT.sub("^", _NARROW_THOUSANDS.sub("", text)))
    text = unicodedata.normalize("NFKC", text.translate(_SAME)).translate(_SAME).casefold()
    text = " ".join(unicodedata.normalize("NFKC", text).split())
    tidy = _QUOTED.sub(lambda m: m[1] or m[2], text)
    tidy = _BRACKETED.sub(r"\1", tidy)
    tidy = _ABBREVIATION.sub(lambda m: m[0].replace(".", ""), tidy)
    tidy = _THOUSANDS.sub(lambda m: m[0].replace(",", ""), tidy)
    tidy = _BARE_DECIMAL.sub("0.", _SPACED_UNIT.sub("", _HYPHEN.sub(" ", tidy)))
    words = _without_articles(tidy.split())
    return " ".join(_without_stops(word) for word in words) or text


def _without_stops(word: str) -> str:
    """A word without the punctuation that ends a clause."""
    bare = word.lstrip("¿¡").rstrip(_STOPS)
    name = bare.rstrip(_STOPS + "!?")
    if len(name) > 1 and name[-1].isalpha():
        return name
    return bare if any(c.isalnum() for c in bare) else word


def _without_articles(words: list[str]) -> list[str]:
    """The words without the articles that no letter or name could be mistaken for."""
    kept = []
    for place, word in enumerate(words):
        following = _without_stops(words[place + 1]) if place + 1 < len(words) else ""
        longer = len(following) > 1 and following not in ("the", "an")
        if word in ("the", "an") and longer and following[0].isalnum():
            continue
        if word == "a" and place == 0 and longer and following.isalpha():
            continue
        kept.append(word)
    return kept
