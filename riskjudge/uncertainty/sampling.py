"""Uncertainty of a black box: how its verdicts scatter, or how sure it says it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from riskjudge.errors import InputError
from riskjudge.uncertainty.entropy import NoConfidence, binary_entropy

_CONFIDENCE = re.compile(r"^[\W_]*confidence[\W_]*?[:=][\s*_`\"']*(.*)$", re.IGNORECASE)
_PERCENT = re.compile(r"^(-?\d{1,9})\s*%?[\s*_`\"'.]*$")


@dataclass(frozen=True, slots=True)
class Votes:
    """Verdicts of K samples of one question; a sample that could not be read is None.

    Parameters
    ----------
    samples : tuple of bool or None
        In the order of asking.

    Examples
    --------
    >>> votes = Votes((True, True, False, None))
    >>> votes.verdict, round(votes.share, 3), round(votes.entropy, 3)
    (None, 0.667, 0.637)

    Five of five are surer than three of which two seats stayed empty:

    >>> Votes((True,) * 5).support, Votes((True,) * 3 + (None,) * 2).support
    (1.0, 0.6)
    """

    samples: tuple[bool | None, ...]

    @property
    def read(self) -> tuple[bool, ...]:
        """The samples that gave a verdict."""
        return tuple(sample for sample in self.samples if sample is not None)

    @property
    def verdict(self) -> bool | None:
        """What a strict majority of *all* samples says, the unreadable ones counted; else None."""
        for value in (True, False):
            if 2 * self.samples.count(value) > len(self.samples):
                return value
        return None

    @property
    def support(self) -> float:
        """Share of *all* samples that are behind the leading verdict, in [0, 1]."""
        if not self.samples:
            return 0.0
        return max(self.samples.count(True), self.samples.count(False)) / len(self.samples)

    @property
    def share(self) -> float | None:
        """Share of true among the samples that could be read; None if none could."""
        return sum(self.read) / len(self.read) if self.read else None

    @property
    def entropy(self) -> float | None:
        """Entropy of the verdicts in nats; None if none could be read."""
        return None if self.share is None else binary_entropy(self.share)


class OutOfRange(InputError):
    """A number that is off its scale; it is never clamped onto it."""


def verbalised_confidence(reply: str) -> float | NoConfidence:
    """The confidence that a reply states on a line of its own, ``Confidence: 85`` (percent).

    Parameters
    ----------
    reply : str
        The message, its reasoning blanked out.

    Returns
    -------
    float or NoConfidence
        In [0, 1]; or why there is none.

    Raises
    ------
    OutOfRange
        If the number is not in 0 to 100.

    Examples
    --------
    >>> verbalised_confidence("Verdict: True\\nConfidence: 85%")
    0.85
    >>> verbalised_confidence("Verdict: True\\nConfidence: high")
    NoConfidence(reason="the confidence line holds no whole number of percent: 'high'")
    """
    found = [match[1] for line in reply.splitlines() if (match := _CONFIDENCE.match(line.strip()))]
    if len(found) != 1:
        return NoConfidence(f"{len(found) or 'no'} confidence line{'s' * (len(found) > 1)}")
    number = _PERCENT.match(found[0].strip())
    if number is None:
        return NoConfidence(
            f"the confidence line holds no whole number of percent: {found[0][:40]!r}"
        )
    percent = int(number[1])
    if not 0 <= percent <= 100:
        raise OutOfRange(f"a confidence of {percent} is not in 0 to 100 percent")
    return percent / 100


def bidirectional_preference_entropy(first_shown: Sequence[float]) -> float:
    """Entropy, in nats, of a pairwise preference averaged over both orders.

    Parameters
    ----------
    first_shown : sequence of float, length 2
        P(the response shown first is better), in the order a-b and in the order b-a.

    Examples
    --------
    A judge that always prefers the first slot knows nothing, however sure it is:

    >>> round(bidirectional_preference_entropy([0.99, 0.99]), 4)
    0.6931
    >>> round(bidirectional_preference_entropy([0.99, 0.01]), 4)
    0.056
    """
    ab, ba = first_shown
    return binary_entropy((ab + (1.0 - ba)) / 2)
