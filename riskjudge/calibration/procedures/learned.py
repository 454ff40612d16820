"""A chain whose order and start are learned from a few of the labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from riskjudge import binomial
from riskjudge.calibration.learning.ranking import rank_risks
from riskjudge.calibration.paths import most_sent
from riskjudge.calibration.plan import Chain, Family, Plan, Target
from riskjudge.calibration.procedure import PlannedProcedure, Planner
from riskjudge.calibration.sample import Sample


@dataclass(frozen=True, kw_only=True)
class Learned(PlannedProcedure):
    """One chain, its order and its start learned from a random few of the labelled rows.

    The reserved rows A teach an error curve of each mode (:mod:`.error_model`; with a pool, also
    from where the modes disagree). Over a lattice of pool quantiles, the vector of least predicted
    risk is taken at each level of coverage (:mod:`.lattice`), and the chain starts where the
    coverage to expect is largest (:mod:`.simulation`). It is tested on the other rows B at the full
    delta, up to the first failure.

    Parameters
    ----------
    reserve : float
        Share of the labelled rows that teach and are not tested on.
    steps : int
        Levels of coverage.

    Notes
    -----
    *Guarantee:* P(risk of the chosen rule > alpha) <= delta, whatever the distribution.

    *Proof.* A is drawn without a look at scores or labels, so given A and the pool the rows of B are
    still independent draws from the population. The chain is computed from A, the pool, alpha, delta
    and the number of rows in B alone: given these it is fixed. For a fixed chain
    :mod:`riskjudge.calibration.plan` proves that a true null is rejected with probability at most
    delta; this holds for every A and pool, hence on average. The model enters nowhere: if it is
    wrong, the order is poor and coverage is lost, not validity.

    *What must not happen:* that the curves, the quantiles, the start or the split depend on the rows
    of B. Their scores and verdicts count, too: given which of B's rows fall below a threshold taken
    from B, the errors among them are no longer binomial at the rule's risk.

    *No pool:* the scores of A define the quantiles, and disagreements are not used (they would only
    repeat what A's labels say). Thresholds by verdict class: see :class:`.RiskRanking`.

    References
    ----------
    Splitting to learn a sequence of tests: Angelopoulos, Bates, Candes, Jordan, Lei, "Learn then
    Test", arXiv:2110.01052, section 2.3; Laufer-Goldshtein, Fisch, Barzilay, Jaakkola, "Efficiently
    controlling multiple risks with Pareto testing", ICLR 2023.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random((1000, 2))
    >>> wrong = rng.random((1000, 2)) < [0.5, 0.3] * scores
    >>> sample = Sample(scores, wrong.astype(int), np.zeros(1000, int), ("plain", "search"))
    >>> certificate = Learned().certify(sample, alpha=0.15, delta=0.05)
    >>> certificate.certified, certificate.n, certificate.n_reserved
    (True, 930, 70)
    """

    name: ClassVar[str] = "learned"
    reserve: float = 0.07
    steps: int = 50

    def planner(self, sample: Sample, seed: int) -> Planner:
        reserved, rest = sample.reserve(self.reserve, seed)
        ranking = rank_risks(reserved, seed)

        def plan(target: Target) -> Plan:
            tolerated = binomial.max_errors(rest.n, target.alpha, target.delta)
            sent = most_sent(target, rest.n, len(ranking.pool))
            path = ranking.columns(ranking.path(self.steps, tolerated, sent))
            return Plan((Family(rest, (Chain(path, 1.0),)),), reserved.n)

        return plan
