"""How unsure a judgement is, read off what it discloses. Higher is less sure.

Each measure takes a row or a judgement and returns None where what it needs is not there. What is
there and no number on its scale is refused: it would be a score that means something else.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from riskjudge.data.verdict import Outcome
from riskjudge.errors import InputError
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


def variation_ratio(judged: Judged) -> float | None:
    """Share of a panel's seats that did not give the leading answer."""
    votes = judged.disclosure.get("votes")
    if votes is None:
        return None
    if not isinstance(votes, Sequence) or isinstance(votes, str) or not votes:
        raise InputError(f"the disclosed `votes` are a list of answers, got {votes!r}")
    return 1.0 - max(Counter(map(str, votes)).values()) / len(votes)


def flips(judged: Judged) -> float | None:
    """Share of a judge's own answers that are not its leading one: over orders, samples or votes.

    None where it was asked once. Unlike the other measures it says nothing of how sure an answer is,
    so no verdict is gated by it alone; it is a column of a trace, and a signal.

    Examples
    --------
    >>> from riskjudge.judges import Judgement, PairwiseTrial, first_slot
    >>> from riskjudge.items import Item
    >>> flips(PairwiseTrial(first_slot())(Item("q1", "?", ("long", "x"))))
    0.5
    >>> from riskjudge.data.verdict import BooleanVerdict
    >>> flips(Judgement(BooleanVerdict(True), disclosure={"samples": [True, True, None, False]}))
    0.5
    """
    orders = judged.disclosure.get("orders")
    if isinstance(orders, Mapping):
        return _off_the_leading(list(orders.values()))
    for name in ("samples", "votes"):
        answers = judged.disclosure.get(name)
        if isinstance(answers, Sequence) and not isinstance(answers, str):
            return _off_the_leading(answers)
    return None


def _off_the_leading(answers: Sequence[object]) -> float | None:
    if len(answers) < 2:
        return None
    return 1.0 - max(Counter(map(str, answers)).values()) / len(answers)


def preference_entropy(judged: Judged) -> float | None:
    """Entropy, in nats, of a swap trial's preference averaged over both orders.

    Where the judge gave no confidences, each order counts as 1, 0 or, for a tie, a half.

    Examples
    --------
    >>> from riskjudge.judges import PairwiseTrial, first_slot, longest
    >>> from riskjudge.items import Item
    >>> pair = Item("q1", "?", ("long", "x"))
    >>> preference_entropy(PairwiseTrial(first_slot())(pair)) == math.log(2)
    True
    >>> preference_entropy(PairwiseTrial(longest())(pair))
    0.0
    """
    preference = _number(judged, "preference", 0.0, 1.0)
    if preference is None:
        orders = judged.disclosure.get("orders")
        said = [str(answer) for answer in orders.values()] if isinstance(orders, Mapping) else []
        worth = {"a": 1.0, "b": 0.0, "undecided": 0.5}
        if len(said) != 2 or not set(said) <= set(worth):
            return None
        preference = sum(worth[answer] for answer in said) / 2
    return binary_entropy(preference)


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
    scale = judged.disclosure.get("scale")
    if scale is None:
        return None
    if not isinstance(scale, Sequence) or len(scale) != 2 or not all(map(_finite, scale)):
        raise InputError(f"the disclosed `scale` is two numbers, got {scale!r}")
    low, high = scale
    score, cut = (_number(judged, name, low, high) for name in ("score", "cut"))
    if score is None or cut is None:
        return None
    longest = max(cut - low, high - cut)
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
    log_odds = _number(judged, "log_odds")
    if log_odds is not None:
        return entropy_of_log_odds(log_odds)
    p = _number(judged, "p_true", 0.0, 1.0)
    return None if p is None else binary_entropy(p)


def _number(
    judged: Judged, name: str, low: float = -math.inf, high: float = math.inf
) -> float | None:
    """A disclosed number on its scale; None where it is not disclosed."""
    value = judged.disclosure.get(name)
    if value is None:
        return None
    if not _finite(value) or not low <= value <= high:
        where = f" in [{low:g}, {high:g}]" if math.isfinite(high) else ""
        raise InputError(f"the disclosed `{name}` is a number{where}, got {value!r}")
    return float(value)


def _finite(value: object) -> bool:
    # A comparison, because a whole number may be too large for a float.
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and -1e300 <= value <= 1e300  # type: ignore[operator]


UNCERTAINTIES: Mapping[str, Callable[[Judged], float | None]] = {
    "confidence": confidence_gap,
    "variation_ratio": variation_ratio,
    "preference_entropy": preference_entropy,
    "cut": cut_nearness,
    "predictive_entropy": predictive_entropy,
}
"""The measures by the name a configuration or a command gives them."""


def measure_named(name: str) -> Callable[[Judged], float | None]:
    """The measure of a name.

    Raises
    ------
    InputError
        If there is none; a name that the measure had before is answered with the new one.

    Examples
    --------
    >>> measure_named("dissent")
    Traceback (most recent call last):
    ...
    riskjudge.errors.InputError: the uncertainty 'dissent' is now called 'variation_ratio'
    """
    if name in _RENAMED:
        raise InputError(f"the uncertainty {name!r} is now called {_RENAMED[name]!r}")
    if name not in UNCERTAINTIES:
        raise InputError(f"an uncertainty is one of {', '.join(UNCERTAINTIES)}, got {name!r}")
    return UNCERTAINTIES[name]


_RENAMED = {"dissent": "variation_ratio"}
