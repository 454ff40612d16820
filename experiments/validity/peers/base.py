"""What the peers share: they are audited like any procedure, and touch nothing but a sample."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from riskjudge import counts
from riskjudge._typing import BoolArray, FloatArray
from riskjudge.calibration.plan import Target
from riskjudge.calibration.procedure import Procedure, Selector
from riskjudge.calibration.sample import Sample
from riskjudge.calibration.selection import Selection, nothing
from riskjudge.counts import NONE


@dataclass(frozen=True, kw_only=True)
class Peer(Procedure):
    """Someone else's method.

    `source` says where its rule comes from, `checked` what it was checked against.
    """

    source: ClassVar[str]
    checked: ClassVar[str]

    @abstractmethod
    def rule(self, sample: Sample, alpha: float, delta: float, seed: int) -> FloatArray | None:
        """Thresholds of all modes, or None to accept nothing."""

    def selector(self, sample: Sample, seed: int) -> Selector:
        return lambda target: self._choose(sample, target, seed)

    def _choose(self, sample: Sample, target: Target, seed: int) -> Selection:
        thresholds = self.rule(sample, target.alpha, target.delta, seed)
        if thresholds is None or not np.any(thresholds > NONE):
            return nothing(1, target.delta, n=sample.n)
        tallied = counts.path_counts(sample.scores, sample.errors, thresholds[None, :])
        return Selection(
            thresholds=thresholds,
            accepted=int(tallied.accepted[0]),
            errors=int(tallied.errors[0]),
            by_column=tallied.by_mode[0],
            level=target.delta,
            n=sample.n,
            n_hypotheses=1,
            most_accepted=int(tallied.accepted[0]),
        )


@dataclass(frozen=True, kw_only=True)
class OneModePeer(Peer):
    """A method for a single judge: it gets the last mode alone (here: retrieval for every item)."""

    @abstractmethod
    def threshold(
        self, scores: FloatArray, errors: BoolArray, alpha: float, delta: float
    ) -> float | None:
        """Threshold over usable scores, or None to accept nothing."""

    def rule(self, sample: Sample, alpha: float, delta: float, seed: int) -> FloatArray | None:
        usable = ~np.isnan(sample.scores[:, -1])
        found = self.threshold(sample.scores[usable, -1], sample.errors[usable, -1], alpha, delta)
        if found is None:
            return None
        return np.array([NONE] * (sample.n_modes - 1) + [found])


def confidence(scores: FloatArray) -> FloatArray:
    """A confidence in [0, 1] from an entropy in [0, ln 2]; fixed in advance, order reversed."""
    return 1.0 - np.clip(scores / np.log(2.0), 0.0, 1.0)


def score_of(level: float) -> float:
    """The score at a confidence, the inverse of :func:`confidence`.

    A hair above, so that a score which gave exactly this confidence lies below.
    """
    return float((1.0 - level) * np.log(2.0) + 1e-12)
