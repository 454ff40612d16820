"""Split fixed sequence testing, Holm's grid, and paths taken over from elsewhere."""

import json

import numpy as np
import pytest
from sklearn.base import clone
from statsmodels.stats.multitest import multipletests

import riskjudge
from riskjudge import InputError, Router, SelectiveGate, Trace, binomial, counts
from riskjudge.calibration import (
    PROCEDURES,
    FixedSequence,
    HolmGrid,
    Portfolio,
    Sample,
    SplitFixedSequence,
    Target,
)
from riskjudge.calibration.learning.lattice import build_lattice
from riskjudge.calibration.make_certificate import MOST_KEPT
from riskjudge.calibration.plan import run_family
from riskjudge.calibration.procedures.holm_grid import quantile_grid
from riskjudge.calibration.procedures.split_fixed_sequence import _smoothed


def draw(n, seed, curves=(0.45, 0.3), levels=0, flat=None):
    """A sample whose modes err with probability curve * score, or `flat` everywhere."""
    rng = np.random.default_rng(seed)
    scores = rng.random((n, len(curves)))
    if levels:
        scores = (np.floor(scores * levels) + 0.5) / levels
    risk = np.full(scores.shape, flat) if flat else scores * np.array(curves)
    common = rng.random((n, 1))  # errors of the modes go together
    mixed = np.where(rng.random(scores.shape) < 0.5, common, rng.random(scores.shape))
    labels = rng.integers(0, 2, n)
    verdicts = labels[:, None] ^ (mixed < risk)
    return Sample(scores, verdicts, labels, tuple("abcd"[: len(curves)]))


def with_pool(sample, pool):
    return Sample(
        sample.scores, sample.verdicts, sample.labels, sample.modes, pool.scores, pool.verdicts
    )


def certified(procedure, sample, seed=0):
    """Whether anything is certified at alpha = .15, delta = .1 (no certificate drawn up: quick)."""
    return procedure.prepare(sample, seed).select(Target(0.15, 0.1)).thresholds is not None


def trace_of(sample, first="i"):
    ids = [f"{first}{i}" for i in range(sample.n)]
    return Trace.from_arrays(
        sample.scores, sample.verdicts, sample.labels, modes=sample.modes, item_id=ids
    )


class TestHolmGrid:
    @pytest.mark.parametrize("modes, by_verdict", [(2, True), (5, False), (4, True)])
    def test_the_default_grid_fits_any_number_of_columns(self, modes, by_verdict):
        rng = np.random.default_rng(0)
        scores = rng.random((600, modes))
        verdicts = (rng.random((600, modes)) < 0.2 * scores).astype(int)
        sample = Sample(scores, verdicts, np.zeros(600, int), tuple("abcde"[:modes]))
        plan = HolmGrid().planner(sample.by_verdict() if by_verdict else sample, 0)(
            Target(0.2, 0.05)
        )
        assert 0 < plan.n_hypotheses < 4096
        with pytest.raises(InputError, match="steps"):
            HolmGrid(steps=100).planner(sample, 0)

    @pytest.mark.parametrize("seed", range(4))
    def test_rejects_what_statsmodels_rejects(self, seed):
        sample = with_pool(draw(500, seed), draw(300, seed + 50))
        target = Target(0.15, 0.1)
        plan = HolmGrid(steps=6).planner(sample, 0)(target)
        tested = run_family(plan.families[0], target)
        p = binomial.p_value(tested.counts.errors, tested.counts.accepted, 0.15)
        expected = multipletests(p, alpha=0.1, method="holm")[0]
        np.testing.assert_array_equal(~np.isnan(tested.levels), expected)
        assert expected.any()

    def test_grid_of_a_pool(self):
        grid = quantile_grid(np.arange(12.0).reshape(6, 2), 2)
        assert len(grid) == 8
        assert not (grid == counts.NONE).all(axis=1).any()
        with pytest.raises(InputError, match="another number of steps"):
            quantile_grid(np.zeros((5, 4)), 12)

    def test_certificate(self):
        certificate = HolmGrid().certify(with_pool(draw(1000, 0), draw(500, 1)), 0.15, 0.05)
        assert certificate.certified
        assert certificate.n_hypotheses == 168
        assert certificate.upper_bound <= 0.15


class TestSplitFixedSequence:
    @pytest.mark.parametrize("curves", [(0.4,), (0.45, 0.3), (0.5, 0.4, 0.3), (0.5, 0.4, 0.3, 0.3)])
    def test_one_to_four_modes(self, curves):
        certificate = SplitFixedSequence().certify(draw(1500, 2, curves), 0.15, 0.05)
        assert certificate.certified
        assert certificate.n + certificate.n_reserved == 1500
        assert certificate.upper_bound <= 0.15
        assert certificate.level == 0.05  # one chain: the whole delta at each vector

    def test_the_sequence_does_not_know_the_tested_labels(self):
        sample = draw(800, 3)
        target = Target(0.15, 0.05)
        plan = SplitFixedSequence().planner(sample, 1)(target)
        tested = {tuple(row) for row in plan.families[0].sample.scores}
        inside = np.array([tuple(row) in tested for row in sample.scores])
        labels = np.where(inside, 1 - sample.labels, sample.labels)
        turned = Sample(sample.scores, sample.verdicts, labels, sample.modes)
        again = SplitFixedSequence().planner(turned, 1)(target)
        np.testing.assert_array_equal(
            plan.families[0].chains[0].path, again.families[0].chains[0].path
        )

    def test_tiny_samples_certify_nothing_and_say_so(self):
        certificate = SplitFixedSequence().certify(draw(6, 0), 0.1, 0.05)
        assert not certificate.certified
        assert certificate.shortfall.need == 29

    @pytest.mark.parametrize("levels", [0, 4], ids=["smooth", "tied"])
    @pytest.mark.parametrize("procedure", [SplitFixedSequence(steps=20), HolmGrid(steps=5)])
    def test_flat_null(self, procedure, levels):
        # Risk .16 everywhere: whatever is certified breaks alpha = .15. 250 replicates at delta .1:
        # 3 s.e. are .057.
        broken = sum(
            certified(procedure, draw(200, r, levels=levels, flat=0.16), r) for r in range(250)
        )
        assert broken / 250 <= 0.1 + 0.057

    def test_ordering_on_the_tested_labels_themselves_fails_the_same_test(self):
        def cheat(sample):
            tolerated = binomial.max_errors(sample.n, 0.15, 0.1)
            path = build_lattice(sample.scores, _smoothed(sample)).frontier(sample.n, tolerated, 20)
            vectors = [[None if t == counts.NONE else t for t in row] for row in path]
            return certified(FixedSequence(path=vectors), sample)

        broken = sum(cheat(draw(200, r, flat=0.16)) for r in range(150))
        assert broken / 150 > 0.1 + 0.075

    def test_they_are_listed(self):
        assert PROCEDURES["split_fixed_sequence"] is SplitFixedSequence
        assert PROCEDURES["holm_grid"] is HolmGrid


class TestPathFromElsewhere:
    def test_no_label_is_spent(self):
        elsewhere = Router(0.15, procedure="split_fixed_sequence").fit(trace_of(draw(2000, 0)))
        router = Router(0.15, path=elsewhere).fit(trace_of(draw(1000, 1), "j"))
        certificate = router.certificate_
        assert certificate.procedure == "fixed_sequence"
        assert (certificate.n, certificate.n_reserved) == (1000, 0)
        assert certificate.certified
        chosen = tuple(certificate.thresholds.values())
        assert chosen in elsewhere.path_
        assert router.path_ == elsewhere.path_

    def test_file_list_and_gate_are_the_same(self, tmp_path):
        elsewhere = Router(0.15, procedure="portfolio").fit(trace_of(draw(800, 0)))
        elsewhere.save(tmp_path / "other.json")
        trace = trace_of(draw(600, 1), "j")
        routers = [
            Router(0.15, path=path).fit(trace)
            for path in (elsewhere, tmp_path / "other.json", [list(v) for v in elsewhere.path_])
        ]
        assert routers[0].certificate_ == routers[1].certificate_ == routers[2].certificate_

    def test_it_survives_clone_and_the_disk(self, tmp_path):
        elsewhere = Router(0.15).fit(trace_of(draw(800, 0)))
        router = Router(0.15, path=elsewhere)
        trace = trace_of(draw(600, 1), "j")
        copy = clone(router).fit(trace)
        assert copy.certificate_ == router.fit(trace).certificate_
        copy.save(tmp_path / "gate.json")
        read = riskjudge.load_gate(tmp_path / "gate.json")
        assert read.certificate_.thresholds == copy.certificate_.thresholds
        assert read.path_ == copy.path_
        assert read.fit(trace).certificate_ == copy.certificate_
        json.loads((tmp_path / "gate.json").read_text(), parse_constant=pytest.fail)

    def test_one_mode_and_thresholds_by_verdict(self):
        one = SelectiveGate(0.15).fit(trace_of(draw(1500, 0, (0.4,))))
        assert SelectiveGate(0.15, path=one).fit(trace_of(draw(900, 1, (0.4,)), "j")).path_
        classes = Router(0.15, by_verdict=True, procedure="portfolio").fit(trace_of(draw(1500, 0)))
        router = Router(0.15, by_verdict=True, path=classes).fit(trace_of(draw(900, 1), "j"))
        assert len(router.path_[0]) == 4

    def test_a_searched_gate_lends_its_one_rule(self):
        searched = Router(0.15, procedure="pointwise").fit(trace_of(draw(800, 0)))
        assert searched.path_ == (tuple(searched.certificate_.thresholds.values()),)
        assert Router(0.15, path=searched).fit(trace_of(draw(800, 1), "j")).certificate_.n == 800

    def test_long_chains_are_thinned(self):
        sample = draw(1500, 0, (0.4,))
        procedure = FixedSequence(start=0.1)
        certificate = procedure.certify(sample, 0.15, 0.05)
        assert certificate.n_hypotheses > 1000
        assert len(certificate.path) == MOST_KEPT
        assert certificate.path[0] == (0.1,)
        assert certificate.path[-1] == (sample.scores.max(),)

    def test_nothing_certified_still_lends_what_was_tried(self):
        router = Router(0.05, procedure="portfolio").fit(trace_of(draw(300, 0, flat=0.3)))
        assert not router.certificate_.certified
        assert len(router.path_) > 10

    def test_what_is_turned_away(self):
        trace = trace_of(draw(400, 0))
        fitted = Router(0.15).fit(trace)
        with pytest.raises(InputError, match="these very items"):
            Router(0.15, path=fitted).fit(trace)
        with pytest.raises(InputError, match="not fitted"):
            Router(path=Router()).fit(trace)
        with pytest.raises(InputError, match="leave the procedure out"):
            Router(path=[[0.1, 0.1]], procedure="portfolio").fit(trace)
        with pytest.raises(InputError, match="vector 0 of the path has 1"):
            Router(path=[[0.1]]).fit(trace)
        with pytest.raises(InputError, match="empty"):
            Router(path=[]).fit(trace)
        with pytest.raises(InputError, match="threshold vectors such as"):
            Router(path=[0.1, 0.2]).fit(trace)

    def test_the_promise_holds_whatever_the_path(self):
        # A path learned where all is well, tested where the risk is .16 everywhere (alpha .15,
        # delta .1). 400 replicates: 3 s.e. are .045.
        sample = draw(1500, 0, (0.25, 0.2))
        path = SplitFixedSequence().certify(sample, 0.15, 0.1).path
        broken = sum(
            certified(FixedSequence(path=path), draw(150, r, flat=0.16)) for r in range(400)
        )
        assert broken / 400 <= 0.1 + 0.045

    def test_it_pays(self):
        # Same population there and here, 100 labels here: a path from 3,000 labels beats the search
        # for an order with these 100.
        path = SplitFixedSequence().certify(draw(3000, 0), 0.15, 0.05).path
        with_path, alone = [], []
        for r in range(25):
            sample = with_pool(draw(100, 100 + r), draw(300, 500 + r))
            with_path.append(FixedSequence(path=path).certify(sample, 0.15, 0.05).accepted / 100)
            spent = Portfolio().certify(sample, 0.15, 0.05, seed=r)
            alone.append(spent.accepted / max(spent.n, 1))
        assert np.mean(with_path) > np.mean(alone)
