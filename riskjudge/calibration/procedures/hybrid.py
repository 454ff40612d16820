"""The learned chain, insured by the preset ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from riskjudge import binomial
from riskjudge.calibration.learning.ranking import rank_risks
from riskjudge.calibration.paths import coverage_levels, most_sent
from riskjudge.calibration.plan import Chain, Family, Plan, Target
from riskjudge.calibration.procedure import PlannedProcedure, Planner
from riskjudge.calibration.procedures.portfolio import PresetChains
from riskjudge.calibration.sample import Sample


@dataclass(frozen=True, kw_only=True)
class Hybrid(PlannedProcedure):
    """A learned chain and the preset chains of the portfolio, in one family that passes delta on.

    The learned chain (see :class:`.Learned`) is the better bet, and owns most of delta. The preset
    chains go other ways through the plane, and start where it may have started too boldly. All are
    tested on the same rows, so whichever comes through hands its share to those still waiting.

    Parameters
    ----------
    learned_share : float
        Share of delta of the learned chain.
    reserve : float
        Share of the labelled rows that teach and are not tested on.
    steps : int
        Levels of coverage of each chain.
    start_coverage : float
        Pool coverage at which the preset chains start.

    Notes
    -----
    *Guarantee:* P(risk of the chosen rule > alpha) <= delta, whatever the distribution.

    *Proof.* Let A be the reserved rows, drawn without a look at scores or labels, and B the others.
    Given A and the pool, the rows of B are independent draws from the population, and all chains and
    shares are fixed: the preset chains depend on the pool (on A's scores where there is none; on the
    curves learned from A where thresholds are by verdict class), the learned chain on A, the pool,
    alpha, delta and the size of B. :mod:`riskjudge.calibration.plan` proves for any fixed chains
    whose shares sum to one that a true null is rejected with probability at most delta. This holds
    for every A and pool, hence on average.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random((1000, 2))
    >>> wrong = rng.random((1000, 2)) < [0.5, 0.3] * scores
    >>> sample = Sample(scores, wrong.astype(int), np.zeros(1000, int), ("plain", "search"))
    >>> certificate = Hybrid().certify(sample, alpha=0.15, delta=0.05)
    >>> certificate.certified, certificate.n, certificate.n_reserved
    (True, 930, 70)
    """

    name: ClassVar[str] = "hybrid"
    learned_share: float = 0.9
    reserve: float = 0.07
    steps: int = 50
    start_coverage: float = 0.25

    def __post_init__(self) -> None:
        super().__post_init__()
        binomial.check_level(self.learned_share, "learned_share")

    def planner(self, sample: Sample, seed: int) -> Planner:
        reserved, rest = sample.reserve(self.reserve, seed)
        ranking = rank_risks(reserved, seed)
        coverages = coverage_levels(self.start_coverage, self.steps)
        presets = PresetChains.over(ranking.pool, coverages)

        def plan(target: Target) -> Plan:
            level = target.delta * self.learned_share
            tolerated = binomial.max_errors(rest.n, target.alpha, level)
            sent = most_sent(target, rest.n, len(ranking.pool))
            learned = ranking.path(self.steps, tolerated, sent)
            left = 1.0 - self.learned_share if len(learned) else 1.0
            chains = [
                Chain(ranking.columns(chain.path), chain.weight)
                for chain in presets.chains(rest.n, target, left)
            ]
            if len(learned):
                weight = 1.0 - sum(chain.weight for chain in chains)
                chains.insert(0, Chain(ranking.columns(learned), weight))
            return Plan((Family(rest, tuple(chains)),), reserved.n)

        return plan
