"""Does a judge let the answers of its own model win more often than they deserve?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from riskjudge._typing import BoolArray, IntArray
from riskjudge.proportion import clopper_pearson
from riskjudge.reliability.index import NEED, Index, clustered_share, item_codes, rate_of_calls
from riskjudge.share import Rate

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class SelfPreference:
    """Does a judge let the answers of its own model win more often?

    Attributes
    ----------
    own : str
        The judge's model.
    items, calls : int
        Pairs of which exactly one answer is its own.
    wins : Rate
        Share of the calls that its own answer wins.
    right : Rate
        Share of the labelled items on which its own answer is the better one.
    excess : Index
        `wins` (on labelled items) minus the share that its own answers would win if it found them as
        often when they are the better ones as it finds the others.
    """

    own: str
    items: int
    calls: int
    wins: Rate
    right: Rate
    excess: Index


def self_preference(
    calls: pd.DataFrame, own: str, *, need: int = NEED, confidence: float = 0.95
) -> SelfPreference | None:
    """How a judge treats the answers of a model, its own.

    Let ``p`` be the share of calls in which its own answer wins where that is the better one, and ``q``
    the share in which the other's wins where the other's is. A judge that looks at answers alone has
    p = q. With their mean in place of both, its own answers would win as often as their labels
    earn; `excess` is what they win beyond that, ``(p - q) / 2``, whatever the share of right answers.

    Parameters
    ----------
    calls : DataFrame
        Of one judge; see :class:`.Comparisons`.
    own : str
        The judge's model; case does not matter.
    need : int
    confidence : float

    Notes
    -----
    The interval of ``p - q`` joins the exact limits of the two shares, each of its effective number of
    calls, by the square-and-add rule of Newcombe (Statistics in Medicine 17, 1998, method 10, with
    Clopper-Pearson limits); the two are about different items, hence independent. It does not
    collapse where a judge is always right. The p-value is the level at which it reaches 0.
    """
    name = own.strip().lower()
    mine = [
        calls[f"model_{side}"].map(lambda model: str(model).strip().lower() == name).to_numpy(bool)
        for side in "ab"
    ]
    known = calls[mine[0] != mine[1]]
    if known.empty:
        return None
    side = np.where(mine[0][mine[0] != mine[1]], 1, -1)
    wins = known["a_wins"].to_numpy() * side > 0
    label = known["a_right"].to_numpy() * side
    codes = item_codes(known)
    items = len(np.unique(codes))
    per_item = known.assign(label=label).drop_duplicates("item")["label"].to_numpy()
    return SelfPreference(
        own=own,
        items=items,
        calls=len(known),
        wins=rate_of_calls(wins, codes, confidence),
        right=Rate(int((per_item > 0).sum()), int((per_item != 0).sum()), confidence=confidence),
        excess=_excess(wins, label, codes, need, confidence),
    )


def _excess(
    wins: BoolArray, label: IntArray, codes: IntArray, need: int, confidence: float
) -> Index:
    better, worse = label > 0, label < 0
    have = [len(np.unique(codes[part])) for part in (better, worse)]
    if sum(have) == 0:
        return Index(undefined="no labels: nothing tells how often its own answers are better")
    if min(have) == 0 or sum(have) < need:
        return Index(
            undefined=f"need {need} labelled items and both answers right somewhere, have {have[0]} on "
            f"which its own is better and {have[1]} on which the other is"
        )
    found = clustered_share(wins[better], codes[better], confidence)
    other = clustered_share(~wins[worse], codes[worse], confidence)
    difference = found.value - other.value

    def limits(level: float) -> tuple[float, float]:
        (l1, u1), (l2, u2) = (
            (float(end) for end in clopper_pearson(share.value, share.effective, level))
            for share in (found, other)
        )
        below = math.hypot(found.value - l1, u2 - other.value)
        above = math.hypot(u1 - found.value, other.value - l2)
        return difference - below, difference + above

    low, high = limits(confidence)
    lowest, highest = 0.0, 1.0 - 1e-12  # the smallest confidence whose interval holds 0
    for _ in range(60):
        middle = 0.5 * (lowest + highest)
        inside = limits(middle)[0] <= 0.0 <= limits(middle)[1]
        lowest, highest = (lowest, middle) if inside else (middle, highest)
    return Index(difference / 2, max(low, -1.0) / 2, min(high, 1.0) / 2, 1.0 - highest)
