"""Trust or Escalate: Jung, Brahman, Choi, ICLR 2025, arXiv:2407.18370."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from base import Peer, confidence, score_of

from riskjudge import binomial
from riskjudge._typing import BoolArray, FloatArray
from riskjudge.calibration import Guarantee
from riskjudge.calibration.sample import Sample
from riskjudge.counts import NONE


@dataclass(frozen=True, kw_only=True)
class TrustOrEscalate(Peer):
    """Cascade of judges, each calibrated by fixed sequence testing on what the earlier ones left.

    Judge by judge: 5,000 confidence levels between 0 and 1, those that at least 30 of the remaining
    calibration items reach, from the highest down; each tested at the full delta by the exact bound;
    stop at the first failure. The items it accepts are taken out, and the next judge is calibrated on
    the rest, again at the full delta. So each stage has a promise of its own, and K stages may break
    it K times as often; the items left depend on the threshold that was found.

    The authors' code falls back to its highest level where even that fails the test; here the stage
    then accepts nothing, as the paper's text has it.
    """

    name: ClassVar[str] = "Trust-or-Escalate"
    guarantee: ClassVar[Guarantee] = Guarantee.HIGH_PROBABILITY
    source: ClassVar[str] = "arXiv:2407.18370, cascaded selective evaluation"
    checked: ClassVar[str] = "the authors' code (jaehunjung1/cascaded-selective-evaluation)"
    levels: int = 5000
    fewest: int = 30

    def rule(self, sample: Sample, alpha: float, delta: float, seed: int) -> FloatArray | None:
        left = np.ones(sample.n, dtype=bool)
        thresholds = np.full(sample.n_modes, NONE)
        for k in range(sample.n_modes):
            usable = left & ~np.isnan(sample.scores[:, k])
            trust = confidence(sample.scores[usable, k])
            found = self._level(trust, sample.errors[usable, k], alpha, delta)
            if found is not None:
                thresholds[k] = score_of(found)
                left &= ~(sample.scores[:, k] <= thresholds[k])
        return thresholds

    def _level(
        self, trust: FloatArray, errors: BoolArray, alpha: float, delta: float
    ) -> float | None:
        grid = np.linspace(1.0, 0.0, self.levels)
        order = np.argsort(-trust)
        accepted = np.searchsorted(-trust[order], -grid, side="right")
        wrong = np.concatenate(([0], np.cumsum(errors[order])))[accepted]
        inside = accepted >= self.fewest
        grid, accepted, wrong = grid[inside], accepted[inside], wrong[inside]
        failed = np.flatnonzero(~binomial.certifies(wrong, accepted, alpha, delta))
        passed = int(failed[0]) if len(failed) else len(grid)
        return float(grid[passed - 1]) if passed else None
