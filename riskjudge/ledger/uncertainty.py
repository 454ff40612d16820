"""How unsure a judgement is, read off what it discloses. Higher is less sure.

Each measure takes a row or a judgement and returns None where what it needs is not there.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from riskjudge.data.verdict import Outcome
from riskjudge.uncertainty.entropy import binary_entropy, entropy_of_log_odds


class Judged(Protocol):
    """What a ledger row and a judge's judgement have in common."""

    @property
    def outcome(self) -> Outcome | None: ...

    @property
    def confidence(self) -> float | None: ...

    @property
    def disclosure(self) -> Mapping[str, Any]: ...


def confidence_gap(judged: Judged) -> float | None:
    """1 minus the confidence."""
    return None if judged.confidence is None else 1.0 - judged.confidence


def dissent(judged: Judged) -> float | None:
    """Share of a panel's seats that did not give the leading answer."""
    votes = judged.disclosure.get("votes")
    if not votes:
        return None
    return 1.0 - max(Counter(votes).values()) / len(votes)


def preference_entropy(judged: Judged) -> float | None:
    """Entropy, in bits, of a swap trial's preference averaged over both orders.

    Where the judge gave no confidences, each order counts as 1, 0 or, for a tie, a half.

    Examples
    --------
    >>> from riskjudge.judges import PairwiseTrial, first_slot, longest
    >>> from riskjudge.items import Item
    >>> pair = Item("q1", "?", ("long", "x"))
    >>> preference_entropy(PairwiseTrial(first_slot())(pair))
    1.0
    >>> preference_entropy(PairwiseTrial(longest())(pair))
    0.0
    """
    preference = judged.disclosure.get("preference")
    if preference is None:
        said = judged.disclosure.get("orders", {}).values()
        worth = {"a": 1.0, "b": 0.0, "undecided": 0.5}
        if len(said) != 2 or not set(said) <= set(worth):
            return None
        preference = sum(worth[answer] for answer in said) / 2
    chances = (preference, 1.0 - preference)
    return 0.0 - sum(p * math.log2(p) for p in chances if p > 0.0)


def cut_nearness(judged: Judged) -> float | None:
    """1 minus the score's distance from its cut, over the longer side of the scale.

    Examples
    --------
    >>> from riskjudge.judges import Cut, constant
    >>> from riskjudge.items import Item
    >>> graded = Cut(constant(7.0), cut=5.0, low=0.0, high=10.0)(Item("q1", "?", ("x",)))
    >>> round(cut_nearness(graded), 12)
    0.6
    """
    score, cut, scale = (judged.disclosure.get(name) for name in ("score", "cut", "scale"))
    if score is None or cut is None or not scale:
        return None
    longest = max(cut - scale[0], scale[1] - cut)
    return 1.0 - abs(score - cut) / longest if longest > 0 else 1.0


def predictive_entropy(judged: Judged) -> float | None:
    """Entropy, in nats, of a model's belief that its answer is true.

    The belief is read off the verdict token, or is the share of samples that said true.

    Examples
    --------
    >>> from riskjudge.judges import Judgement
    >>> from riskjudge.data.verdict import BooleanVerdict
    >>> round(predictive_entropy(Judgement(BooleanVerdict(True), disclosure={"p_true": 0.9})), 4)
    0.3251
    """
    log_odds, p = judged.disclosure.get("log_odds"), judged.disclosure.get("p_true")
    if log_odds is not None:
        return entropy_of_log_odds(log_odds)
    return None if p is None else binary_entropy(p)


UNCERTAINTIES: Mapping[str, Callable[[Judged], float | None]] = {
    "confidence": confidence_gap,
    "dissent": dissent,
    "preference_entropy": preference_entropy,
    "cut": cut_nearness,
    "predictive_entropy": predictive_entropy,
}
"""The measures by the name a configuration or a command gives them."""
