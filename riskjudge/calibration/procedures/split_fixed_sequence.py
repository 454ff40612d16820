"""Split fixed sequence testing: one part of the labels orders the tests, the other is tested."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from riskjudge import binomial
from riskjudge._typing import FloatArray
from riskjudge.calibration.learning.lattice import build_lattice
from riskjudge.calibration.plan import Chain, Family, Plan, Target
from riskjudge.calibration.procedure import PlannedProcedure, Planner
from riskjudge.calibration.sample import Sample

_PRIOR_ITEMS = 20


@dataclass(frozen=True, kw_only=True)
class SplitFixedSequence(PlannedProcedure):
    """Order threshold vectors by their counts on one part of the labels, test them on the rest.

    On a lattice over the quantiles of the first part, and for each level of coverage, the sequence
    holds the vector that is most likely to pass by that part's own error counts (pulled a little
    towards the mode's mean). No model is fitted, so that nothing can fit badly; but counts are
    noisier than curves, which is why it takes a larger part than :class:`.Learned`. Any number of
    modes.

    Parameters
    ----------
    reserve : float
        Share of the labelled rows that orders.
    steps : int
        Levels of coverage.

    Notes
    -----
    *Guarantee:* P(risk of the chosen rule > alpha) <= delta, whatever the distribution.

    *Proof.* Let A be the first part, drawn at random without a look at the labels, and B the rest.
    Given A, the rows of B are independent draws from the population and the sequence is fixed. Let h
    be its first true null. A true null is rejected only if h is, which has probability at most delta.
    This holds for every A, hence on average.

    References
    ----------
    Angelopoulos et al., "Learn then Test", arXiv:2110.01052, section 2.3; Laufer-Goldshtein, Fisch,
    Barzilay, Jaakkola, "Efficiently controlling multiple risks with Pareto testing",
    arXiv:2210.07913.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random((1000, 3))
    >>> wrong = rng.random((1000, 3)) < [0.5, 0.4, 0.3] * scores
    >>> sample = Sample(scores, wrong.astype(int), np.zeros(1000, int), ("a", "b", "c"))
    >>> certificate = SplitFixedSequence().certify(sample, alpha=0.15, delta=0.05)
    >>> certificate.certified, certificate.n, certificate.n_reserved
    (True, 750, 250)
    """

    name: ClassVar[str] = "split_fixed_sequence"
    reserve: float = 0.25
    steps: int = 40

    def planner(self, sample: Sample, seed: int) -> Planner:
        part, rest = sample.reserve(self.reserve, seed)
        lattice = build_lattice(part.scores, _smoothed(part))

        def plan(target: Target) -> Plan:
            tolerated = binomial.max_errors(rest.n, target.alpha, target.delta)
            path = lattice.frontier(rest.n, tolerated, self.steps)
            return Plan((Family(rest, (Chain(path, 1.0),)),), part.n)

        return plan


def _smoothed(part: Sample) -> FloatArray:
    """Errors pulled towards the mean error of their mode, as if some average items came on top."""
    usable = ~np.isnan(part.scores)
    wrong = np.where(usable, part.errors, 0).astype(np.float64)
    mean = wrong.sum(axis=0) / np.maximum(usable.sum(axis=0), 1)
    pull = _PRIOR_ITEMS / (_PRIOR_ITEMS + part.n)
    return np.asarray((1.0 - pull) * wrong + pull * mean)
