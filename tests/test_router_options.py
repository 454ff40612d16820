"""What a user may ask of a router beside the risk: a budget, an objective, dependent rows."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from riskjudge import InputError, Router, SelectiveGate, Trace, binomial, counts, load_gate
from riskjudge.calibration import FixedSequence, Portfolio, Sample, Target
from riskjudge.calibration.plan import retrieval_calls, run_family
from riskjudge.cli import app
from riskjudge.io.tables import write_table


def draw(n, rng, curves=(0.3, 0.2), flat=None, pool=0):
    """Two modes with uniform scores, so that a threshold is its own coverage."""
    scores = rng.random((n + pool, 2))
    risk = np.full(scores.shape, flat) if flat is not None else scores * np.array(curves)
    labels = rng.integers(0, 2, n + pool)
    verdicts = labels[:, None] ^ (rng.random(scores.shape) < risk)
    return Sample(
        scores[:n],
        verdicts[:n],
        labels[:n],
        ("plain", "search"),
        scores[n:] if pool else None,
        verdicts[n:] if pool else None,
    )


def trace_of(sample, **columns):
    frame = Trace.from_arrays(
        sample.scores, sample.verdicts, sample.labels, modes=sample.modes
    ).to_frame()
    return Trace.from_frame(frame.assign(**columns))


class TestRetrievalBudget:
    BUDGET = 0.4

    def true_calls(self, thresholds):
        """Share of items past mode 1, all of them if mode 1 is not used, none if mode 2 is not."""
        if thresholds[1] == counts.NONE:
            return 0.0
        return 1.0 - max(thresholds[0], 0.0)

    def test_a_share_just_above_the_budget_is_rarely_certified(self):
        # Risk is no obstacle. True share .41, budget .40, delta .1; 600 replicates: 3 s.e. are .037.
        procedure = FixedSequence(path=[[0.59, 1.0]])
        rng = np.random.default_rng(0)
        certified = naive = 0
        for _ in range(600):
            sample = draw(300, rng, flat=0.02)
            chosen = procedure.prepare(sample, 0).select(Target(0.2, 0.1, self.BUDGET))
            certified += chosen.thresholds is not None
            naive += np.mean(sample.scores[:, 0] > 0.59) <= self.BUDGET
        assert certified / 600 <= 0.1 + 0.037
        assert naive / 600 > 0.3  # a look at the sample's own share would have let it through

    @pytest.mark.parametrize("flat", [None, 0.155], ids=["budget binds", "risk binds"])
    def test_risk_and_budget_hold_together(self, flat):
        # Uniform scores, risk curves .3 u and .2 u (or .155 everywhere, alpha .15): the truth of any
        # pair is known. delta .1, 250 replicates: 3 s.e. are .057.
        rng = np.random.default_rng(1)
        population = draw(200_000, np.random.default_rng(2), flat=flat)
        broken = certified = 0
        for r in range(250):
            sample = draw(400, rng, flat=flat, pool=300)
            chosen = Portfolio(steps=20).prepare(sample, r).select(Target(0.15, 0.1, self.BUDGET))
            if chosen.thresholds is None:
                continue
            certified += 1
            truth = counts.path_counts(
                population.scores, population.errors, chosen.thresholds[None, :]
            )
            risk = truth.errors[0] / truth.accepted[0]
            broken += risk > 0.15 or self.true_calls(chosen.thresholds) > self.BUDGET
        assert broken / 250 <= 0.1 + 0.057
        if flat is None:
            assert certified / 250 > 0.9

    def test_without_the_budget_the_same_router_breaks_it(self):
        rng = np.random.default_rng(3)
        over = 0
        for r in range(40):
            sample = draw(400, rng, pool=300)
            chosen = Portfolio(steps=20).prepare(sample, r).select(Target(0.15, 0.1))
            over += self.true_calls(chosen.thresholds) > self.BUDGET
        assert over / 40 > 0.5

    def test_p_value_is_the_larger_of_the_two(self):
        sample = draw(500, np.random.default_rng(4))
        path = FixedSequence(path=[[0.7, 0.9]]).planner(sample, 0)(Target(0.15, 0.05))
        tested = run_family(path.families[0], Target(0.15, 0.05, 0.4))
        calls = int(retrieval_calls(tested.counts, sample)[0])
        assert calls == np.count_nonzero(sample.scores[:, 0] > 0.7)
        passes = binomial.p_value(calls, 500, 0.4) <= 0.05 and (
            binomial.p_value(tested.counts.errors[0], tested.counts.accepted[0], 0.15) <= 0.05
        )
        assert passes == (len(tested.rejected) == 1)

    def test_end_to_end(self, tmp_path):
        sample = draw(1500, np.random.default_rng(5))
        frame = trace_of(sample).to_frame()
        write_table(frame, tmp_path / "trace.csv")
        arguments = ["calibrate", str(tmp_path / "trace.csv"), "--alpha", "0.15", "--json"]
        arguments += ["--max-retrieval", "0.4", "-o", str(tmp_path / "gate.json")]
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, done.output
        certificate = json.loads(done.stdout)["certificate"]
        assert "at most 40 % of all items go past the first mode" in certificate["statement"]
        gate = load_gate(tmp_path / "gate.json")
        assert gate.max_retrieval == 0.4
        asked = gate.decide(trace_of(draw(20_000, np.random.default_rng(6)))).asked
        assert np.mean(asked > 1) <= 0.4
        one = CliRunner().invoke(app, [*arguments, "--only", "mode1"])
        assert "two or more modes" in str(one.exception)

    def test_by_verdict_counts_whole_modes(self):
        sample = draw(1500, np.random.default_rng(7))
        router = Router(0.15, by_verdict=True, max_retrieval=0.4, procedure="portfolio")
        asked = router.fit(trace_of(sample)).decide(trace_of(sample)).asked
        assert router.certificate_.certified
        assert np.mean(asked > 1) <= 0.4


class TestPathOnTheCommandLine:
    def test_path(self, tmp_path):
        for name, seed in (("there", 0), ("here", 1)):
            frame = trace_of(draw(900, np.random.default_rng(seed))).to_frame()
            write_table(frame.assign(item_id=name + frame["item_id"]), tmp_path / f"{name}.csv")

        def calibrate(*arguments):
            shared = ["calibrate", "--alpha", "0.15", "--json"]
            return CliRunner().invoke(app, [*shared, *map(str, arguments)])

        there = calibrate(tmp_path / "there.csv", "-o", tmp_path / "gate.json")
        assert there.exit_code == 0, there.output
        here = calibrate(tmp_path / "here.csv", "--path", tmp_path / "gate.json")
        assert here.exit_code == 0, here.output
        certificate = json.loads(here.stdout)["certificate"]
        assert certificate["procedure"] == "fixed_sequence"
        assert certificate["n_reserved"] == 0
        same = calibrate(tmp_path / "there.csv", "--path", tmp_path / "gate.json")
        assert "these very items" in str(same.exception)


class TestObjectives:
    @pytest.mark.parametrize("wanted", [0.3, 0.6])
    def test_cheapest_is_the_cheapest_certified_rule_that_reaches_the_coverage(self, wanted):
        sample = draw(2000, np.random.default_rng(0), pool=800)
        target = Target(0.15, 0.05)
        procedure = Portfolio(objective="cheapest", min_coverage=wanted)
        certificate = procedure.certify(sample, 0.15, 0.05)
        tested = run_family(procedure.planner(sample, 0)(target).families[0], target)
        calls = retrieval_calls(tested.counts, sample)[tested.rejected]
        reached = tested.counts.accepted[tested.rejected] >= wanted * sample.n
        first, second = certificate.thresholds.values()
        mine = 0 if second is None else np.count_nonzero(~(sample.scores[:, 0] <= (first or -1.0)))
        assert certificate.coverage >= wanted
        assert mine == calls[reached].min()

    def test_cheapest_out_of_reach_is_the_widest(self):
        sample = draw(2000, np.random.default_rng(0), pool=800)
        out_of_reach = Portfolio(objective="cheapest", min_coverage=1.0).certify(sample, 0.1, 0.05)
        widest = Portfolio().certify(sample, 0.1, 0.05)
        assert out_of_reach.coverage < 1.0
        assert out_of_reach.thresholds == widest.thresholds

    def test_cheapest_keeps_the_promise(self):
        # The choice among certified rules is free: flat risk .155, alpha .15, delta .1,
        # 300 replicates: 3 s.e. are .052.
        procedure = Portfolio(objective="cheapest", min_coverage=0.3, steps=20)
        rng = np.random.default_rng(1)
        broken = sum(
            procedure.prepare(draw(300, rng, flat=0.155, pool=200), r)
            .select(Target(0.15, 0.1))
            .thresholds
            is not None
            for r in range(300)
        )
        assert broken / 300 <= 0.1 + 0.052


class TestDependentRows:
    def grouped(self, rng, groups=120, size=6):
        """Rows of a group share their label, scores and errors: six looks at one question."""
        sample = draw(groups, rng, flat=0.16).rows(np.repeat(np.arange(groups), size))
        return trace_of(sample, group=np.repeat(np.arange(groups), size))

    def test_refused_by_default_with_a_way_out(self):
        with pytest.raises(InputError, match=r"720 labelled items come from 120 groups.*sample"):
            Router(0.15).fit(self.grouped(np.random.default_rng(0)))
        with pytest.raises(InputError, match="groups must be"):
            SelectiveGate(groups="all").fit(self.grouped(np.random.default_rng(0)))

    def test_one_row_of_a_group_keeps_delta_and_all_rows_do_not(self):
        # Risk .16 everywhere, alpha .15, delta .1, 150 replicates: 3 s.e. are .073.
        rng = np.random.default_rng(1)
        procedure = Portfolio(steps=20)
        sampled = naive = 0
        for r in range(150):
            trace = self.grouped(rng)
            gate = Router(0.15, 0.1, procedure=procedure, groups="sample", seed=r)
            one_each = gate.prepare(trace).sample
            assert one_each.n == 120
            everything = Sample(trace.scores, trace.verdicts, trace.labels, trace.modes)
            target = Target(0.15, 0.1)
            sampled += procedure.prepare(one_each, r).select(target).thresholds is not None
            naive += procedure.prepare(everything, r).select(target).thresholds is not None
        assert sampled / 150 <= 0.1 + 0.073
        assert naive / 150 > 0.1 + 0.1

    def test_the_draw_is_seeded_noted_and_one_of_each(self):
        trace = self.grouped(np.random.default_rng(2))
        gate = Router(0.3, groups="sample", seed=4).fit(trace)
        again = Router(0.3, groups="sample", seed=4).fit(trace)
        other = Router(0.3, groups="sample", seed=5).fit(trace)
        assert gate.fingerprint_ == again.fingerprint_ != other.fingerprint_
        assert gate.n_labelled_ == 120
        assert any("from each of 120 groups" in note for note in gate.notes_)

    def test_singletons_are_no_groups(self):
        trace = trace_of(draw(400, np.random.default_rng(3)), group=np.arange(400))
        assert Router(0.2).fit(trace).n_labelled_ == 400

    def test_pool_items_of_a_labelled_group_are_left_out(self):
        trace = self.grouped(np.random.default_rng(4))
        frame = trace.to_frame()
        frame["label"] = frame["label"].astype("Float64")
        frame.loc[np.arange(720) % 6 > 0, "label"] = pd.NA
        gate = Router(0.3).fit(Trace.from_frame(frame))
        assert gate.n_pool_ == 0
        assert any("share a group" in note for note in gate.notes_)
