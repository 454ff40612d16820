"""COIN: Wang, Duan, Wang, Zhu, Chen, Shi, Xu, AAAI 2026, arXiv:2506.20178."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from base import OneModePeer

from riskjudge import binomial, counts
from riskjudge._typing import BoolArray, FloatArray
from riskjudge.calibration import Guarantee


@dataclass(frozen=True, kw_only=True)
class COIN(OneModePeer):
    """The largest threshold whose Clopper-Pearson bound at the full delta is at most alpha.

    Every threshold is bounded as if it were the only one, and the largest that passes is taken: the
    pointwise rule for one judge. The paper states the guarantee as high-probability; the bound does
    not cover the search. The paper also offers a Hoeffding bound; it is left out, since its exact
    form could not be checked here (it is wider than Clopper-Pearson).
    """

    name: ClassVar[str] = "COIN (Clopper-Pearson)"
    guarantee: ClassVar[Guarantee] = Guarantee.HIGH_PROBABILITY
    source: ClassVar[str] = "arXiv:2506.20178, three steps"
    checked: ClassVar[str] = (
        "the abstract and the authors' summary of the three steps, not the proofs"
    )

    def threshold(
        self, scores: FloatArray, errors: BoolArray, alpha: float, delta: float
    ) -> float | None:
        tallied = counts.threshold_counts(scores, errors)
        passed = np.flatnonzero(binomial.certifies(tallied.errors, tallied.accepted, alpha, delta))
        return float(tallied.thresholds[passed[-1], 0]) if len(passed) else None
