"""SGR: Geifman and El-Yaniv, "Selective Classification for Deep Neural Networks", NeurIPS 2017."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from base import OneModePeer

from riskjudge import binomial
from riskjudge._typing import BoolArray, FloatArray
from riskjudge.calibration import Guarantee


@dataclass(frozen=True, kw_only=True)
class SGR(OneModePeer):
    """Binary search over the sorted items; each step an exact bound at delta / ceil(log2 m).

    Their Algorithm 1: order the items by confidence, bisect for the widest prefix whose binomial tail
    bound (their Eq. 4, which is Clopper-Pearson) is at most the wanted risk. Items are counted by
    their *position*, so a tie is split, and then the threshold is deployed with ">=": with tied
    scores the deployed rule accepts items that were never counted. Also, the k items tried are
    picked by the data, which the union bound over k steps does not cover without a further argument.
    The result is the last step that passed (theirs: the last step, whose bound may exceed the wanted
    risk).
    """

    name: ClassVar[str] = "SGR"
    guarantee: ClassVar[Guarantee] = Guarantee.HIGH_PROBABILITY
    source: ClassVar[str] = "NeurIPS 2017, Algorithm 1"
    checked: ClassVar[str] = "the authors' code (geifmany/selective_deep_learning, risk_control.py)"

    def threshold(
        self, scores: FloatArray, errors: BoolArray, alpha: float, delta: float
    ) -> float | None:
        m = len(scores)
        if m < 2:
            return None
        order = np.argsort(-scores, kind="stable")  # least confident first, as in the paper
        wrong = np.cumsum(errors[order][::-1])[::-1]
        steps = math.ceil(math.log2(m))
        low, high, best = 0, m - 1, None
        for _ in range(steps):
            z = math.ceil((low + high) / 2)
            bound = float(binomial.upper_bound(int(wrong[z]), m - z, delta / steps))
            if bound <= alpha:
                high, best = z, z
            else:
                low = z
        return None if best is None else float(scores[order[best]])
