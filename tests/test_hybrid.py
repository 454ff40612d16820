"""The hybrid: learned and preset chains in one family, and that it keeps its promise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from riskjudge import counts
from riskjudge.audit.scenarios import SCENARIOS, true_risk
from riskjudge.calibration.certificate import Guarantee
from riskjudge.calibration.plan import Chain, Plan, Target
from riskjudge.calibration.procedure import Planner
from riskjudge.calibration.procedures.hybrid import Hybrid
from riskjudge.calibration.procedures.portfolio import Portfolio
from riskjudge.calibration.sample import Sample
from riskjudge.errors import InputError

TARGET = Target(alpha=0.15, delta=0.05)


def with_pool(scenario: str, n: int, seed: int) -> Sample:
    rng = np.random.default_rng(seed)
    sample, pool = SCENARIOS[scenario].draw(n, rng), SCENARIOS[scenario].draw(n, rng)
    return Sample(
        sample.scores, sample.verdicts, sample.labels, sample.modes, pool.scores, pool.verdicts
    )


def truth(population: Sample, thresholds: dict[str, float | None] | None) -> tuple[float, float]:
    if thresholds is None:
        return 0.0, 0.0
    vector = [counts.NONE if t is None else t for t in thresholds.values()]
    risk, coverage = true_risk(population, vector)
    return risk or 0.0, coverage


@pytest.mark.parametrize("by_verdict", [False, True])
@pytest.mark.parametrize("pool", [False, True])
def test_shares_of_the_chains_sum_to_one(by_verdict, pool):
    sample = with_pool("trivia", 500, seed=0)
    if not pool:
        sample = SCENARIOS["trivia"].draw(500, np.random.default_rng(0))
    if by_verdict:
        sample = sample.by_verdict()
    plan = Hybrid().planner(sample, 0)(TARGET)
    (family,) = plan.families
    assert family.share == 1.0
    assert sum(chain.weight for chain in family.chains) == pytest.approx(1.0, abs=1e-12)
    assert all(chain.path.shape[1] == sample.n_modes for chain in family.chains)
    assert family.sample.n + plan.n_reserved == 500


def test_the_plan_does_not_depend_on_the_tested_rows():
    sample = with_pool("trivia", 500, seed=0)
    taught = np.isin(sample.scores[:, 0], sample.reserve(Hybrid().reserve, 3)[0].scores[:, 0])
    other = SCENARIOS["equal"].draw(500, np.random.default_rng(9))
    changed = Sample(
        np.where(taught[:, None], sample.scores, other.scores),
        np.where(taught[:, None], sample.verdicts, other.verdicts),
        np.where(taught, sample.labels, other.labels),
        sample.modes,
        sample.pool_scores,
        sample.pool_verdicts,
    )
    first, second = (Hybrid().planner(s, 3)(TARGET).families[0].chains for s in (sample, changed))
    for one, two in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.path, two.path)
        assert one.weight == two.weight


@pytest.mark.parametrize("n", [0, 1, 2, 3, 10, 28])
@pytest.mark.parametrize("pool", [False, True])
def test_too_few_labels_certify_nothing(n, pool):
    sample = with_pool("trivia", max(n, 1), seed=n).rows(np.arange(n))
    if not pool:
        sample = SCENARIOS["trivia"].draw(n, np.random.default_rng(n))
    certificate = Hybrid().certify(sample, 0.1, 0.05)
    assert not certificate.certified
    assert certificate.shortfall is not None


def test_certificate_is_the_same_again_and_says_what_it_promises():
    sample = with_pool("failures", 1000, seed=1)
    first, again = (Hybrid().certify(sample, 0.15, 0.05, seed=4) for _ in range(2))
    assert first.to_dict() == again.to_dict()
    assert first.guarantee == Guarantee.HIGH_PROBABILITY
    assert (first.n, first.n_reserved) == (930, 70)
    assert first.upper_bound <= 0.15


def test_tied_scores_reach_full_coverage_where_it_can_be_had():
    certificate = Hybrid().certify(with_pool("tied", 1000, seed=0), 0.2, 0.05)
    assert certificate.coverage == 1.0


def test_a_retrieval_budget_is_kept():
    sample = with_pool("trivia", 2000, seed=0)
    certificate = Hybrid().certify(sample, 0.2, 0.05, max_retrieval=0.7)
    assert certificate.certified
    first = certificate.thresholds["mode1"]
    population = SCENARIOS["trivia"].draw(50_000, np.random.default_rng(1))
    assert (population.scores[:, 0] > first).mean() <= 0.7


def test_share_of_the_learned_chain_is_checked():
    with pytest.raises(InputError, match="learned_share must be a number from 0 to 1"):
        Hybrid(learned_share=1.5)


def test_covers_more_than_the_portfolio():
    population = SCENARIOS["overconfident"].draw(50_000, np.random.default_rng(99))
    samples = [with_pool("overconfident", 1000, seed) for seed in range(20)]
    hybrid, portfolio = (
        np.mean(
            [
                truth(population, procedure.certify(s, 0.15, 0.05, seed=i).thresholds)[1]
                for i, s in enumerate(samples)
            ]
        )
        for procedure in (Hybrid(), Portfolio())
    )
    assert hybrid > portfolio + 0.05


class Spendthrift(Hybrid):
    """Broken on purpose: every vector is tested at the full delta."""

    def planner(self, sample: Sample, seed: int) -> Planner:
        valid = super().planner(sample, seed)

        def plan(target: Target) -> Plan:
            planned = valid(target)
            (family,) = planned.families
            vectors = np.concatenate([chain.path for chain in family.chains])
            chains = tuple(Chain(vector[None, :], 1.0) for vector in vectors)
            return replace(planned, families=(replace(family, chains=chains),))

        return plan


def violations(procedure: Hybrid, scenario: str, replicates: int) -> int:
    """Calibrations in which a null scenario is certified (any certificate breaks the promise)."""
    alpha = SCENARIOS[scenario].alpha
    return sum(
        procedure.certify(with_pool(scenario, 300, seed), alpha, 0.05, seed=seed).certified
        for seed in range(replicates)
    )


@pytest.mark.parametrize("scenario", ["null_flat_independent", "null_second_edge"])
def test_the_promise_is_kept_on_nulls(scenario):
    # Above 18 of 150 with probability 2e-4 if the rate is exactly delta.
    assert violations(Hybrid(), scenario, replicates=150) <= 18


def test_full_delta_everywhere_breaks_the_promise():
    broken = violations(Spendthrift(), "null_flat_independent", replicates=60)
    assert stats.binom.sf(broken - 1, 60, 0.05) < 1e-6
