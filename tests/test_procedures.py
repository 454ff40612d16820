"""What every procedure must do: search exactly, test what was planned, and keep its promise."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from riskjudge import binomial
from riskjudge.calibration import (
    PROCEDURES,
    Bonferroni,
    FixedSequence,
    Guarantee,
    Pointwise,
    Portfolio,
    Sample,
)
from riskjudge.calibration.paths import quantile_path
from riskjudge.calibration.plan import Chain, Family, Target, run_family
from riskjudge.calibration.procedures.fixed_sequence import MONOTONE
from riskjudge.counts import NONE, Plane, path_counts
from riskjudge.errors import InputError

DELTA = 0.05


def sample_of(scores, errors, pool=None):
    scores, errors = np.asarray(scores, float), np.asarray(errors, bool)
    names = tuple(f"mode{k + 1}" for k in range(scores.shape[1]))
    verdicts = errors.astype(np.int64)
    labels = np.zeros(len(scores), dtype=np.int64)
    pool_verdicts = None if pool is None else np.zeros(pool.shape, dtype=np.int64)
    return Sample(scores, verdicts, labels, names, pool, pool_verdicts)


def draw(rng, n, *curves, pool=0):
    """Independent uniform scores; each mode errs with probability curve(score)."""
    scores = rng.random((n, len(curves)))
    risk = np.column_stack([curve(scores[:, k]) for k, curve in enumerate(curves)])
    return sample_of(
        scores, rng.random(risk.shape) < risk, rng.random((pool, len(curves))) if pool else None
    )


def thresholds_of(certificate):
    if certificate.thresholds is None:
        return None
    return np.array([NONE if t is None else t for t in certificate.thresholds.values()])


# --- the paper's Algorithm 1 ---------------------------------------------------------------------


def algorithm_1(sample, alpha, delta, value):
    """Algorithm 1 in plain loops: the first maximiser in ascending t1, then t2."""
    plane = Plane(sample.scores, sample.errors)
    best = None
    for t1 in plane.grids[0]:
        for t2 in plane.grids[1]:
            tallied = path_counts(sample.scores, sample.errors, np.array([[t1, t2]]))
            m, w = int(tallied.accepted[0]), int(tallied.errors[0])
            if (
                m
                and binomial.upper_bound(w, m, delta) <= alpha
                and (best is None or value(m, w) > best[0])
            ):
                best = (value(m, w), t1, t2, m, w)
    return best


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.1, 0.3, 0.5]), st.booleans())
def test_pointwise_is_algorithm_1(seed, alpha, tied):
    rng = np.random.default_rng(seed)
    sample = draw(rng, 25, lambda u: 0.6 * u, lambda u: 0.4 * u)
    if tied:
        sample = sample_of(np.round(sample.scores, 1), sample.errors)
    for objective, value in (("coverage", lambda m, w: m), ("correct", lambda m, w: m - w)):
        expected = algorithm_1(sample, alpha, 0.2, value)
        certificate = Pointwise(objective=objective).certify(sample, alpha, 0.2)
        if expected is None:
            assert not certificate.certified
        else:
            _, t1, t2, m, w = expected
            assert (certificate.accepted, certificate.errors) == (m, w)
            assert thresholds_of(certificate).tolist() == [t1, t2]


def test_coverage_then_cost_asks_the_second_mode_least():
    rng = np.random.default_rng(1)
    sample = draw(rng, 300, lambda u: 0.3 * u, lambda u: 0.2 * u)
    first = Pointwise().certify(sample, 0.3, DELTA)
    cheap = Pointwise(objective="coverage_then_cost").certify(sample, 0.3, DELTA)
    assert first.accepted == cheap.accepted == 300
    assert cheap.accepted_by["mode1"] > first.accepted_by["mode1"]


def test_rules_over_one_mode_alone_are_reached():
    rng = np.random.default_rng(2)
    sample = draw(rng, 200, lambda u: 0.02 + 0 * u, lambda u: 0.9 + 0 * u)
    certificate = Pointwise(objective="coverage_then_cost").certify(sample, 0.1, DELTA)
    assert certificate.thresholds["mode2"] is None
    assert certificate.accepted == 200


def test_pointwise_says_that_it_promises_nothing():
    rng = np.random.default_rng(3)
    certificate = Pointwise().certify(draw(rng, 200, lambda u: 0.1 * u), 0.2, DELTA)
    assert certificate.guarantee is Guarantee.NONE
    assert "searched without correction" in certificate.statement


def test_bonferroni_counts_the_rules():
    rng = np.random.default_rng(4)
    sample = draw(rng, 400, lambda u: 0.02 * u, lambda u: 0.02 * u)
    certificate = Bonferroni().certify(sample, 0.1, DELTA)
    assert certificate.level == pytest.approx(DELTA * 0.9**2 / (401**2 - 1))
    printed = Bonferroni(correction="paper").certify(sample, 0.1, DELTA)
    assert printed.level == pytest.approx(DELTA / 400**2)
    assert any("delta = 0.06" in assumption for assumption in printed.assumptions)
    tied = sample_of(np.round(sample.scores, 1), sample.errors)
    by_value = Bonferroni(correction="values").certify(tied, 0.1, DELTA)
    assert by_value.level == pytest.approx(DELTA / (12 * 12 - 1))


# --- the weight-passing test ---------------------------------------------------------------------


def holm(p, delta):
    order = np.argsort(p, kind="stable")
    rejected = np.zeros(len(p), bool)
    for step, i in enumerate(order):
        if p[i] > delta / (len(p) - step):
            break
        rejected[i] = True
    return rejected


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_chains_of_one_vector_are_holm(seed, n_chains):
    rng = np.random.default_rng(seed)
    sample = draw(rng, 120, lambda u: 0.25 * u)
    path = np.sort(rng.random((n_chains, 1)), axis=0)
    chains = tuple(Chain(vector[None, :], 1 / n_chains) for vector in path)
    tested = run_family(Family(sample, chains), Target(0.15, 0.2))
    p = binomial.p_value(tested.counts.errors, tested.counts.accepted, 0.15)
    rejected = np.zeros(n_chains, bool)
    rejected[tested.rejected] = True
    assert rejected.tolist() == holm(p, 0.2).tolist()


def test_one_chain_stops_at_the_first_failure():
    scores = np.arange(200)[:, None] / 200
    errors = np.zeros((200, 1), bool)
    errors[100:130] = True  # a bad stretch, then good items that would pass again
    sample = sample_of(scores, errors)
    path = scores[49:]
    tested = run_family(Family(sample, (Chain(path, 1.0),)), Target(0.2, DELTA))
    p = binomial.p_value(tested.counts.errors, tested.counts.accepted, 0.2)
    assert len(tested.rejected) == int(np.flatnonzero(p > DELTA)[0])
    assert p[-1] <= DELTA  # it would have been certified on its own


def test_a_finished_chain_hands_its_share_on():
    rng = np.random.default_rng(5)
    scores = rng.random((400, 2))
    errors = np.zeros((400, 2), bool)
    inside = np.flatnonzero(scores[:, 1] <= 0.6)
    errors[inside[: binomial.max_errors(400, 0.1, 0.02)[len(inside)]], 1] = True
    sample = sample_of(scores, errors)
    good = Chain(np.array([[0.5, NONE]]), 0.9)
    other = Chain(np.array([[NONE, 0.6]]), 0.1)
    m = path_counts(sample.scores, sample.errors, other.path)
    p = float(binomial.p_value(m.errors, m.accepted, 0.1)[0])
    assert 0.1 * DELTA < p < DELTA  # passes at the full delta only
    alone = run_family(
        Family(sample, (Chain(other.path, 0.1), Chain(other.path[:0], 0.9))), Target(0.1, DELTA)
    )
    both = run_family(Family(sample, (good, other)), Target(0.1, DELTA))
    assert both.rejected.tolist() == [0, 1]
    assert both.levels[1] == pytest.approx(DELTA)
    assert alone.rejected.tolist() == [0]  # an empty chain is through at once


def test_shares_parked_on_the_same_vector_add_up():
    rng = np.random.default_rng(6)
    sample = draw(rng, 300, lambda u: 0.05 + 0 * u)
    vector = np.array([[0.6]])
    m = path_counts(sample.scores, sample.errors, vector)
    p = float(binomial.p_value(m.errors, m.accepted, 0.1)[0])
    target = Target(0.1, min(0.9, 1.5 * p))
    apart = Family(sample, (Chain(vector, 0.5), Chain(np.array([[0.0]]), 0.5)))
    together = Family(sample, (Chain(vector, 0.5), Chain(vector, 0.5)))
    assert len(run_family(apart, target).rejected) == 0
    assert len(run_family(together, target).rejected) == 2


# --- edges ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(PROCEDURES))
@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("modes", [1, 2])
def test_tiny_samples_certify_nothing(name, n, modes):
    rng = np.random.default_rng(n)
    sample = draw(rng, n, *[lambda u: 0 * u] * modes)
    certificate = PROCEDURES[name]().certify(sample, 0.1, DELTA)
    assert not certificate.certified
    assert certificate.fdp is None
    assert certificate.upper_bound is None
    assert certificate.shortfall.need >= 2


@pytest.mark.parametrize("name", sorted(PROCEDURES))
def test_a_mode_that_always_fails_is_never_used(name):
    rng = np.random.default_rng(7)
    sample = draw(rng, 400, lambda u: 0.9 + 0 * u, lambda u: 0.02 * u, pool=300)
    scores = sample.scores.copy()
    scores[:, 0] = np.nan
    pool = sample.pool_scores.copy()
    pool[:, 0] = np.nan
    certificate = PROCEDURES[name]().certify(sample_of(scores, sample.errors, pool), 0.1, DELTA)
    assert certificate.certified
    assert certificate.accepted_by["mode1"] == 0


@pytest.mark.parametrize("name", sorted(PROCEDURES))
def test_the_certificate_adds_up(name):
    rng = np.random.default_rng(8)
    sample = draw(rng, 800, lambda u: 0.4 * u, lambda u: 0.2 * u, pool=500)
    certificate = PROCEDURES[name]().certify(sample, 0.15, DELTA, seed=3)
    assert certificate.certified
    assert sum(certificate.accepted_by.values()) == certificate.accepted
    assert certificate.n + certificate.n_reserved >= 720
    assert certificate.coverage == certificate.accepted / certificate.n
    if certificate.guarantee is Guarantee.HIGH_PROBABILITY:
        assert certificate.level <= DELTA * (1 + 1e-12)
        assert certificate.upper_bound <= 0.15
        bound = binomial.upper_bound(certificate.errors, certificate.accepted, certificate.level)
        assert certificate.upper_bound == pytest.approx(float(bound))
    again = PROCEDURES[name]().certify(sample, 0.15, DELTA, seed=3)
    assert again == certificate
    assert type(certificate).from_dict(certificate.to_dict()) == certificate


def test_shortfall_says_what_would_do():
    rng = np.random.default_rng(9)
    sample = draw(rng, 120, lambda u: 0.12 + 0 * u, pool=200)
    certificate = FixedSequence().certify(sample, 0.15, DELTA)
    short = certificate.shortfall
    assert short.need == 19
    rate = short.best_errors / short.best_accepted
    if rate < 0.15:
        m = round(short.labels_needed * short.best_accepted / 120)
        assert binomial.certifies(int(np.ceil(rate * m)) - 1, m, 0.15, DELTA)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Pointwise(objective="most"), "unknown objective"),
        (lambda: Bonferroni(correction="none"), "unknown correction"),
        (lambda: FixedSequence(start=0.1, start_accepted=50), "one of"),
        (lambda: Target(0.0, 0.05), "alpha"),
        (lambda: Target(0.1, 0.05, max_retrieval=1.0), "max_retrieval"),
        (
            lambda: Pointwise().certify(
                draw(np.random.default_rng(0), 9, *[np.zeros_like] * 3), 0.1, 0.05
            ),
            "one or two",
        ),
        (
            lambda: FixedSequence(path=[(0.1,)]).certify(
                draw(np.random.default_rng(0), 9, np.zeros_like, np.zeros_like), 0.1, 0.05
            ),
            "vector 0 of the path has 1 thresholds",
        ),
    ],
)
def test_bad_settings_are_named(make, says):
    with pytest.raises(InputError, match=says):
        make()


# --- paths ---------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from([(1.0, 1.0), (0.5, 1.0), (1.0, 0.0), (0.0, 1.0)]),
    st.booleans(),
)
def test_a_quantile_path_reaches_each_coverage_first(seed, speeds, tied):
    rng = np.random.default_rng(seed)
    pool = rng.random((60, 2))
    if tied:
        pool = np.round(pool, 1)
    pool[rng.random(pool.shape) < 0.1] = np.nan
    levels = np.linspace(0.2, 1.0, 9)
    path = quantile_path(pool, speeds, levels)
    covered = path_counts(pool, np.zeros(pool.shape, bool), path).accepted / len(pool)
    assert np.all(np.diff(covered) >= 0)
    most = path_counts(
        pool, np.zeros(pool.shape, bool), np.where(np.array(speeds) > 0, np.inf, NONE)[None, :]
    ).accepted[0] / len(pool)
    for level in levels[levels <= most * max(speeds) - 1e-9]:
        if speeds[0] in (0.0, 1.0):
            assert np.any(covered >= level - 1e-12)


# --- validity, with known truth ------------------------------------------------------------------

REPLICATES = 400
# Of 400 replicates at a true violation rate of .05, more than 34 occur with probability .001.
TOLERATED = int(stats.binom.isf(0.001, REPLICATES, DELTA))

flat = (lambda u: 0.105 + 0 * u,)
smooth = (lambda u: 0.3 * u**1.5,)
plateau = (lambda u: np.where(u < 0.6, 0.101, 0.4),)
WORLDS = {
    "flat": (flat, 0.1),
    "smooth": (smooth, 0.1),
    "plateau": (plateau, 0.1),
    "flat, two modes": (flat * 2, 0.1),
    "smooth, two modes": ((lambda u: 0.4 * u, lambda u: 0.25 * u), 0.1),
    "plateau, two modes": (plateau * 2, 0.1),
}
GRID = (np.arange(4000) + 0.5) / 4000


def true_risk(curves, thresholds):
    """Risk of a rule over independent uniform scores, in closed form on a fine grid."""
    reach, accepted, wrong = 1.0, 0.0, 0.0
    for curve, t in zip(curves, thresholds, strict=True):
        share = float(np.clip(t, 0.0, 1.0)) if t > NONE else 0.0
        accepted += reach * share
        wrong += reach * float(np.sum(curve(GRID)[share >= GRID]) / len(GRID))
        reach *= 1.0 - share
    return wrong / accepted


def violations(procedure, world, n=400, tied=False, replicates=REPLICATES, certify=None):
    curves, alpha = WORLDS[world]
    broken = 0
    for r in range(replicates):
        rng = np.random.default_rng([11, r])
        sample = draw(rng, n, *curves, pool=200)
        if tied:  # five levels; the curve stays that of the continuous score
            sample = replace_scores(
                sample, np.ceil(5 * sample.scores) / 5, np.ceil(5 * sample.pool_scores) / 5
            )
        certificate = (certify or procedure.certify)(sample, alpha, DELTA)
        thresholds = thresholds_of(certificate)
        if thresholds is not None and true_risk(curves, thresholds) > alpha + 1e-9:
            broken += 1
    return broken


def replace_scores(sample, scores, pool):
    return replace(sample, scores=scores, pool_scores=pool)


VALID = [
    FixedSequence(),
    Portfolio(),
]


@pytest.mark.parametrize("world", sorted(WORLDS))
@pytest.mark.parametrize("procedure", VALID, ids=lambda p: p.name)
def test_high_probability_procedures_keep_their_promise(procedure, world):
    assert violations(procedure, world) <= TOLERATED


@pytest.mark.parametrize("world", ["flat", "flat, two modes"])
def test_bonferroni_keeps_its_promise_with_room_to_spare(world):
    assert violations(Bonferroni(), world, n=150, replicates=100) == 0


@pytest.mark.parametrize("procedure", [FixedSequence(), Portfolio()], ids=lambda p: p.name)
@pytest.mark.parametrize("world", ["flat", "smooth", "flat, two modes"])
def test_ties_do_not_break_the_promise(procedure, world):
    assert violations(procedure, world, tied=True) <= TOLERATED


@pytest.mark.parametrize("world", ["flat", "plateau", "flat, two modes"])
def test_pointwise_breaks_it(world):
    """The audit has teeth: the uncorrected search fails it."""
    assert violations(Pointwise(), world) > TOLERATED


def test_a_start_at_a_count_of_items_holds_for_a_rising_risk():
    procedure = FixedSequence(start_accepted=40)
    assert violations(procedure, "smooth") <= TOLERATED
    assert violations(procedure, "flat") <= TOLERATED
    rng = np.random.default_rng(0)
    certificate = procedure.certify(draw(rng, 400, *smooth), 0.15, DELTA)
    assert MONOTONE in certificate.assumptions


def test_every_score_from_a_fixed_start_holds_without_assumption():
    assert violations(FixedSequence(start=0.1), "flat") <= TOLERATED
    assert violations(FixedSequence(start=0.1), "plateau") <= TOLERATED


def test_an_order_that_looks_at_the_tested_labels_breaks_it():
    """A plan must not see the labels: sort the portfolio's vectors by their p-values and it fails."""

    def certify(sample, alpha, delta):
        planned = Portfolio().planner(sample, 0)(Target(alpha, delta))
        path = np.concatenate([chain.path for chain in planned.families[0].chains])
        tallied = path_counts(sample.scores, sample.errors, path)
        order = np.argsort(binomial.p_value(tallied.errors, tallied.accepted, alpha))
        cheat = FixedSequence(path=[[None if t == NONE else t for t in v] for v in path[order]])
        return cheat.certify(sample, alpha, delta)

    assert violations(None, "flat, two modes", certify=certify) > TOLERATED


@pytest.mark.parametrize("name", ["hybrid", "learned", "portfolio", "split_fixed_sequence"])
@pytest.mark.parametrize("size", [1, 3, 20])
def test_a_pool_of_a_few_items_does_no_harm(name, size):
    rng = np.random.default_rng(0)
    scores = rng.random((1000, 2))
    wrong = rng.random((1000, 2)) < [0.3, 0.2] * scores**2
    pool = rng.random((size, 2))
    nothing_known = np.zeros(pool.shape, dtype=int)
    labels = np.zeros(1000, dtype=int)
    sample = Sample(scores, wrong.astype(int), labels, ("a", "b"), pool, nothing_known)
    alone = Sample(scores, wrong.astype(int), labels, ("a", "b"))
    with_pool, without = (
        PROCEDURES[name]().certify(s, 0.1, 0.05).coverage for s in (sample, alone)
    )
    assert with_pool > without - 0.05
    assert without > 0.9
