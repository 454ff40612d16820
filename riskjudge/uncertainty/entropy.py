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

    Parameters
    ----------
    p : float
        A probability.

    Returns
    -------
    float
        In [0, ln 2].

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

    Parameters
    ----------
    log_odds : float
        ln p - ln (1 - p).

    Returns
    -------
    float
        In [0, ln 2].

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
    log_odds : float
        ln P(first) - ln P(second), always finite.
    mass : float
        P(first) + P(second): how much of the model's belief went into a label at all.
    bounded : bool
        Whether the label that was not written is missing from the returned tokens, or shares an
        alternative with the other, so that its largest possible probability stands in for it. The
        entropy is then an upper bound.
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
    """There is a verdict, yet no confidence to go with it.

    Parameters
    ----------
    reason : str
        Why.
    """

    reason: str


def verdict_mass(
    verdict: Sequence[Token], chosen: str, labels: tuple[str, str]
) -> VerdictMass | NoConfidence:
    """Pool the probability of the two labels at the verdict's own place.

    All ways to write a label count: any case, with a space or punctuation around it, whole or
    begun (``" Fal"``, if only one label begins so). Where both labels begin alike and the tokens
    follow that beginning, the probability is read where they part. Of the label that was written
    the probability of all its tokens is taken; of an alternative only the first token is known, and
    counts. A label that is missing from the returned tokens could have at most the smallest returned
    probability, and at most what the returned ones leave over; it is given the smaller of the two.
    An alternative that begins both labels counts for the one that was not written: the doubt is
    then bounded from above.

    Parameters
    ----------
    verdict : sequence of Token
        The tokens that spell the verdict.
    chosen : str
        The label they spell.
    labels : tuple of str
        The two labels.

    Returns
    -------
    VerdictMass or NoConfidence
        The second where no probability can be read, with the reason.

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
    other = labels[1] if chosen == labels[0] else labels[0]
    if _begins(chosen, other) or _begins(other, chosen):
        return NoConfidence("one label begins with the other, so that no token tells them apart")
    pooled = {chosen: 0.0, other: 0.0}
    before, reached, unclear, unseen = "", 0.0, 0.0, 0.0
    for place, token in enumerate(verdict):
        problem = _unusable(token)
        if problem:
            return NoConfidence(problem)
        share = math.exp(reached)
        others = _others(token)
        for text, logprob in others.items():
            label = _label_of(before, text, labels)
            if label is not None:
                pooled[label] += share * math.exp(logprob)
            elif _begins_both(before, text, labels):
                unclear += share * math.exp(logprob)
        written = _floor(token.logprob)
        unseen += share * _bound([written, *others.values()])
        reached += written
        before, rest = _core(before, token.token), verdict[place + 1 :]
        if not _begins(before, other):
            break
    else:
        return NoConfidence("the labels do not part within the tokens of the verdict")
    pooled[chosen] += math.exp(max(reached + sum(_floor(t.logprob) for t in rest), _LOWEST))
    mass = min(sum(pooled.values()) + unclear, 1.0)
    bounded = pooled[other] == 0.0 or unclear > 0.0
    sure = pooled[chosen] >= pooled[other]
    pooled[other] = pooled[other] + unclear or max(unseen, math.exp(_LOWEST))
    if unclear > 0.0 and sure and pooled[chosen] < pooled[other]:
        return NoConfidence("the likeliest alternative begins both labels")
    one, two = (pooled[label] for label in labels)
    return VerdictMass(math.log(one) - math.log(two), mass, bounded)


def _unusable(token: Token) -> str:
    """Why no probability can be read at a token, or nothing."""
    if not token.top:
        return "no alternatives (top_logprobs) at the verdict token"
    if not any(math.isfinite(entry.logprob) for entry in token.top):
        return "no finite log-probability at the verdict token"
    return ""


def _others(token: Token) -> dict[str, float]:
    """The alternatives to a token, each text once, with its log-probability."""
    found: dict[str, float] = {}
    for entry in token.top:
        if entry.token != token.token:
            found[entry.token] = max(_floor(entry.logprob), found.get(entry.token, _LOWEST))
    return found


def _bound(returned: Sequence[float]) -> float:
    """The largest probability that a token outside the returned ones can have."""
    left_over = 1.0 - sum(math.exp(logprob) for logprob in returned)
    return max(min(math.exp(min(returned)), left_over), math.exp(_LOWEST))


def _floor(logprob: float) -> float:
    return max(logprob, _LOWEST) if logprob == logprob else _LOWEST


def _core(before: str, text: str) -> str:
    """What has been written of a label once `text` follows `before`; lower case, bare."""
    marks = "".join({c for c in text if not c.isalnum()})
    return (before + text.rstrip(marks) if before else text.strip(marks)).casefold()


def _begins(core: str, label: str) -> bool:
    return label.casefold().startswith(core.casefold())


def _label_of(before: str, text: str, labels: tuple[str, str]) -> str | None:
    """The label that a token writes or begins once `before` is written, or None."""
    core = _core(before, text)
    if core == before.casefold():
        return None
    for label in labels:
        if core == label.casefold():
            return label
    begun = [label for label in labels if _begins(core, label)]
    return begun[0] if len(begun) == 1 and text[-1:].isalnum() else None


def _begins_both(before: str, text: str, labels: tuple[str, str]) -> bool:
    core = _core(before, text)
    return core != before.casefold() and all(_begins(core, label) for label in labels)
