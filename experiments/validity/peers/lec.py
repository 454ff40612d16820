"""Linear expectation constraints: LEC (arXiv:2512.01556, ICML 2026) and SCOPE (arXiv:2602.13110)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from base import OneModePeer, Peer

from riskjudge import counts
from riskjudge._typing import BoolArray, FloatArray
from riskjudge.calibration import Guarantee
from riskjudge.calibration.sample import Sample


@dataclass(frozen=True, kw_only=True)
class LEC(Peer):
    """The pair of thresholds with the most accepted items among those with sum(Z - alpha S) <= -1.

    S says whether the system accepts an item, Z whether it accepts it wrongly; so the condition is
    ``errors <= alpha * accepted - 1``. The promise is an *expectation*: over calibrations and one new
    item, P(wrong | accepted) <= alpha. It says nothing about how often a calibration exceeds alpha,
    and delta plays no part. All pairs of distinct scores are searched.
    """

    name: ClassVar[str] = "LEC (two modes)"
    guarantee: ClassVar[Guarantee] = Guarantee.EXPECTATION
    source: ClassVar[str] = "arXiv:2512.01556, Eq. 5 and the condition of Theorem 3.2"
    checked: ClassVar[str] = "two independent public reading notes that quote the conditions"

    def rule(self, sample: Sample, alpha: float, delta: float, seed: int) -> FloatArray | None:
        if sample.n_modes != 2:
            return None
        plane = sample.plane
        fewest = plane.fewest_errors
        allowed = np.floor(alpha * np.arange(len(fewest)) - 1 + 1e-9)
        passed = np.flatnonzero(fewest <= allowed)
        if not len(passed):
            return None
        m = int(passed[-1])
        row, column = plane.cells(m, int(allowed[m]))[0]
        return np.array([plane.grids[0][row], plane.grids[1][column]])


@dataclass(frozen=True, kw_only=True)
class SCOPE(OneModePeer):
    """The largest threshold with sum(S (E - alpha)) <= -1, for one judge.

    SCOPE's threshold rule on any uncertainty score (its own score, the two-way preference entropy,
    is a matter of judging pairs and not of calibration). The promise is an expectation, as for LEC.
    """

    name: ClassVar[str] = "SCOPE (one mode)"
    guarantee: ClassVar[Guarantee] = Guarantee.EXPECTATION
    source: ClassVar[str] = "arXiv:2602.13110, finite-sample condition of the threshold"
    checked: ClassVar[str] = "a public reading note that quotes the condition"

    def threshold(
        self, scores: FloatArray, errors: BoolArray, alpha: float, delta: float
    ) -> float | None:
        tallied = counts.threshold_counts(scores, errors)
        passed = np.flatnonzero(tallied.errors <= alpha * tallied.accepted - 1 + 1e-9)
        return float(tallied.thresholds[passed[-1], 0]) if len(passed) else None
