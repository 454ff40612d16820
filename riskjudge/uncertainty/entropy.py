"""Predictive entropy at the verdict token: how torn the model was when it wrote its verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from riskjudge.errors import InputError
from riskjudge.uncertainty.tokens import Token

_LOWEST = -100.0
"""Endpoints write -9999 or -inf for "very unlikely"; a probability is never taken to be zero."""


def binary_entropy(p: float) -> float:
    """Entropy of a coin with chances `p` and ``1 - p``, in nats.

    Raises
    ------
    InputError
        If `p` is not in [0, 1].

    Examples
    --------
    >>> round(binary_entropy(0.5), 6), binary_entropy(1.0), binary_entropy(0.1) == binary_entropy(0.9)
    (0.693147, 0.0, True)
    """
    if not 0.0 <= p <= 1.0:
        raise InputError(f"a probability lies in [0, 1], got {p!r}")
    return _entropy_of_smaller(min(p, 1.0 - p))


def entropy_of_log_odds(log_odds: float) -> float:
    """Entropy of a coin in nats, from the logarithm of its odds.

    Where a chance is within a rounding error of 1, this still tells coins apart.

    Examples
    --------
    >>> entropy_of_log_odds(0.0) == binary_entropy(0.5)
    True
    >>> entropy_of_log_odds(90.0) == entropy_of_log_odds(-90.0) > entropy_of_log_odds(91.0) > 0.0
    True
    """
    odds = math.exp(-abs(log_odds))
    return _entropy_of_smaller(odds / (1.0 + odds))


def _entropy_of_smaller(small: float) -> float:
    return 0.0 if small == 0.0 else -small * math.log(small) - (1 - small) * math.log1p(-small)


@dataclass(frozen=True, slots=True)
class VerdictMass:
    """What the model gave to the two labels at the place of its verdict.

    Attributes
    ----------
    log_odds
        ln P(first) - ln P(second), always finite.
    mass
        P(first) + P(second): how much of the model's belief went into a label at all.
    bounded
        Whether a label was missing from the returned tokens, so that its largest possible
        probability stands in for it. The entropy is then an upper bound.
    """

    log_odds: float
    mass: float
    bounded: bool

    @property
    def p_first(self) -> float:
        """Chance of the first label among the two: P(True) / (P(True) + P(False)) in the paper."""
        odds = math.exp(-abs(self.log_odds))
        return 1.0 / (1.0 + odds) if self.log_odds >= 0 else odds / (1.0 + odds)

    @property
    def entropy(self) -> float:
        """Binary predictive entropy in nats."""
        return entropy_of_log_odds(self.log_odds)


@dataclass(frozen=True, slots=True)
class NoConfidence:
    """There is a verdict, yet no confidence to go with it, and why."""

    reason: str


def verdict_mass(
    verdict: Sequence[Token], chosen: str, labels: tuple[str, str]
) -> VerdictMass | NoConfidence:
    """Pool the probability of the two labels at the verdict's own place.

    All ways to write a label count: any case, with a space or punctuation around it, whole or
    begun (``" Fal"``, if only one label begins so). Of the label that was written the probability
    of all its tokens is taken; of an alternative only the first token is known, and counts. A label
    that is missing from the returned tokens could have at most the smallest returned probability,
    and at most what the returned ones leave over; it is given the smaller of the two.

    Parameters
    ----------
    verdict
        The tokens that spell the verdict.
    chosen
        The label they spell.
    labels
        The two labels.

    Returns
    -------
    VerdictMass or NoConfidence

    References
    ----------
    .. [1] Badshah, Emami and Sajjad, "Judge, Retrieve, or Abstain", arXiv:2608.17994, Section 3.

    Examples
    --------
    >>> from riskjudge.uncertainty import Alternative
    >>> top = (Alternative(" True", -0.2), Alternative("true", -2.5), Alternative(" False", -3.0))
    >>> mass = verdict_mass([Token(" True", -0.2, top)], "True", ("True", "False"))
    >>> round(mass.p_first, 4), round(mass.mass, 4), mass.bounded
    (0.9476, 0.9506, False)
    >>> alone = (Alternative(" True", -0.01), Alternative(" Maybe", -6.0))
    >>> round(verdict_mass([Token(" True", -0.01, alone)], "True", ("True", "False")).entropy, 4)
    0.0175
    """
    if not verdict:
        return NoConfidence("the tokens do not spell the reply")
    first = verdict[0]
    if not first.top:
        return NoConfidence("no alternatives (top_logprobs) at the verdict token")
    written = sum(_floor(token.logprob) for token in verdict)
    entries = [(entry.token, _floor(entry.logprob)) for entry in first.top]
    if not any(math.isfinite(entry.logprob) for entry in first.top):
        return NoConfidence("no finite log-probability at the verdict token")
    others = [(text, logprob) for text, logprob in entries if text != first.token]
    pooled = dict.fromkeys(labels, 0.0)
    pooled[chosen] += math.exp(written)
    for text, logprob in others:
        label = _label_of(text, labels)
        if label is not None:
            pooled[label] += math.exp(logprob)
    returned = [_floor(first.logprob), *(logprob for _, logprob in others)]
    bound = _bound(returned)
    missing = [label for label in labels if pooled[label] == 0.0]
    mass = sum(pooled.values())
    for label in missing:
        pooled[label] = bound
    one, two = (pooled[label] for label in labels)
    return VerdictMass(math.log(one) - math.log(two), min(mass, 1.0), bool(missing))


def _bound(returned: Sequence[float]) -> float:
    """The largest probability that a token outside the returned ones can have."""
    left_over = 1.0 - sum(math.exp(logprob) for logprob in returned)
    return max(min(math.exp(min(returned)), left_over), math.exp(_LOWEST))


def _floor(logprob: float) -> float:
    return max(logprob, _LOWEST) if logprob == logprob else _LOWEST


def _label_of(text: str, labels: tuple[str, str]) -> str | None:
    """The label that a token writes or begins, or None."""
    core = text.strip("".join({c for c in text if not c.isalnum()})).casefold()
    if not core:
        return None
    for label in labels:
        if core == label.casefold():
            return label
    begun = [label for label in labels if label.casefold().startswith(core)]
    ends_open = text[-1:].isalnum()
    return begun[0] if len(begun) == 1 and ends_open else None
