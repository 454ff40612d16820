"""Pareto testing: Laufer-Goldshtein, Fisch, Barzilay, Jaakkola, ICLR 2023, arXiv:2210.07913."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from base import Peer

from riskjudge import binomial, counts
from riskjudge._typing import FloatArray, IntArray
from riskjudge.calibration import Guarantee
from riskjudge.calibration.sample import Sample
from riskjudge.counts import NONE


@dataclass(frozen=True, kw_only=True)
class ParetoTesting(Peer):
    """Half the labels find the Pareto front of (risk, coverage); the other half tests along it.

    On the first half: a grid of threshold pairs (its quantiles), the front of those that no other
    pair beats in both empirical risk and coverage, ordered by their p-values there. On the second
    half: fixed sequence testing in that order at the full delta. Of the rejected, the one with the
    largest coverage is taken.

    Adapted in two places, both forced by a risk that is a ratio: the p-value is the exact binomial
    one of the accepted items (theirs: Hoeffding-Bentkus for a mean loss), and the order is by p-value
    (their code orders by the mean loss, which is the same where every configuration has the same
    number of items). Valid: the order does not depend on the second half.
    """

    name: ClassVar[str] = "Pareto testing"
    guarantee: ClassVar[Guarantee] = Guarantee.HIGH_PROBABILITY
    source: ClassVar[str] = "arXiv:2210.07913, two stages"
    checked: ClassVar[str] = "the authors' code (bracha-laufer/pareto-testing)"
    share: float = 0.5
    steps: int = 30

    def rule(self, sample: Sample, alpha: float, delta: float, seed: int) -> FloatArray | None:
        first, second = sample.reserve(self.share, seed)
        axes = [_thresholds(column, self.steps) for column in first.scores.T]
        path = np.array(np.meshgrid(*axes, indexing="ij")).reshape(sample.n_modes, -1).T[1:]
        seen = counts.path_counts(first.scores, first.errors, path)
        front = _front(seen.accepted, seen.errors)
        p = binomial.p_value(seen.errors[front], seen.accepted[front], alpha)
        ordered = path[front[np.argsort(p, kind="stable")]]
        tested = counts.path_counts(second.scores, second.errors, ordered)
        passes = binomial.certifies(tested.errors, tested.accepted, alpha, delta)
        failed = np.flatnonzero(~passes)
        run = int(failed[0]) if len(failed) else len(ordered)
        return ordered[int(np.argmax(tested.accepted[:run]))] if run else None


def _thresholds(column: FloatArray, steps: int) -> FloatArray:
    levels = np.arange(1, steps + 1) / steps
    return np.append(NONE, np.unique(np.nanquantile(column, levels, method="inverted_cdf")))


def _front(accepted: IntArray, errors: IntArray) -> IntArray:
    """Rules that no other one beats in both coverage and empirical risk."""
    risk = errors / np.maximum(accepted, 1)
    order = np.lexsort((risk, -accepted))
    order = order[accepted[order] > 0]
    least = np.minimum.accumulate(np.concatenate(([np.inf], risk[order])))[:-1]
    return order[risk[order] < least]
