"""A level for passes and one for fails: both hold, and one level for all does not stand for them."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from typer.testing import CliRunner

from riskjudge import binomial
from riskjudge.calibration import (
    ConformalSelection,
    FixedSequence,
    Pointwise,
    Portfolio,
    Sample,
    Target,
)
from riskjudge.cli import app
from riskjudge.data.grading import Grading
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError
from riskjudge.evaluation import sweep
from riskjudge.gate import Router, SelectiveGate
from riskjudge.gate.document import checksum
from riskjudge.gate.load import gate_from_dict

ALL = FixedSequence(path=[[0.5, 0.5]])


def sample_of(passes, wrong_passes, fails, wrong_fails):
    """Known counts at one score, thresholds by verdict."""
    verdicts = np.repeat([1, 0], [passes, fails])
    wrong = np.concatenate((np.arange(passes) < wrong_passes, np.arange(fails) < wrong_fails))
    n = passes + fails
    return Sample(
        np.full((n, 1), 0.5), verdicts[:, None], np.where(wrong, 1 - verdicts, verdicts), ("judge",)
    ).by_verdict()


def certified(sample, **levels):
    return ALL.certify(sample, 0.3, 0.05, **levels).certified


@pytest.mark.parametrize("wrong", range(0, 30, 3))
def test_each_kind_is_tested_exactly_at_its_own_level(wrong):
    expected = binomial.p_value(wrong, 150, 0.1) <= 0.05
    assert certified(sample_of(150, wrong, 200, 0), alpha_pass=0.1) == expected
    assert certified(sample_of(200, 0, 150, wrong), alpha_fail=0.1) == expected
    both = {"alpha_pass": 0.1, "alpha_fail": 0.1}
    assert certified(sample_of(150, wrong, 150, wrong), **both) == expected  # delta is not split


def test_the_total_does_not_stand_for_a_kind():
    bad_passes = sample_of(100, 38, 900, 20)
    assert ALL.certify(bad_passes, 0.1, 0.05).certified
    refused = ALL.certify(bad_passes, 0.1, 0.05, alpha_pass=0.2)
    assert not refused.certified
    assert refused.shortfall.obstacle == "other_levels"


def test_a_rule_that_accepts_no_pass_keeps_the_promise_about_them():
    only_fails = FixedSequence(path=[[0.5, None]])
    certificate = only_fails.certify(sample_of(100, 60, 200, 2), 0.1, 0.05, alpha_pass=0.01)
    assert certificate.certified
    # But where passes may come and none has been seen, nothing is known of them.
    assert not certified(sample_of(0, 0, 200, 2), alpha_pass=0.1)


def test_both_promises_hold_where_one_of_them_is_all_but_broken():
    """4,000 runs at a pass risk all but its level: certified no more often than delta; and without
    the level for passes nearly always, or this test would prove nothing."""
    rng, runs, delta = np.random.default_rng(3), 1000, 0.05
    broken = careless = 0
    for _ in range(runs):
        passes = int(rng.binomial(400, 0.3))
        sample = sample_of(passes, rng.binomial(passes, 0.2001), 400 - passes, 5)
        broken += ALL.certify(sample, 0.3, delta, alpha_pass=0.2, alpha_fail=0.3).certified
        careless += ALL.certify(sample, 0.3, delta).certified
    assert stats.binomtest(broken, runs, delta, "greater").pvalue > 0.01
    assert broken > 0.01 * runs
    assert careless > 0.9 * runs


@pytest.mark.parametrize("missed", range(0, 30, 3))
def test_each_label_is_tested_exactly_at_its_own_rate(missed):
    """Of the accepted items of one label, so many get the other verdict."""
    expected = binomial.p_value(missed, 150, 0.1) <= 0.05
    # 150 items of label 1, `missed` of them judged 0; 200 items of label 0, all judged right.
    of_ones = sample_of(150 - missed, 0, 200 + missed, missed)
    assert (of_ones.labels == 1).sum() == 150
    assert certified(of_ones, min_tpr=0.9) == expected
    assert certified(of_ones, min_tpr=0.9, min_tnr=0.9) == expected  # delta is not split
    of_zeros = sample_of(200 + missed, missed, 150 - missed, 0)
    assert certified(of_zeros, min_tnr=0.9) == expected


def test_an_error_rate_does_not_stand_for_a_rate_among_labels():
    """3 % of the passes and fails are wrong, and yet a quarter of the rare right fails is missed."""
    sample = sample_of(1000, 30, 90, 0)
    assert ALL.certify(sample, 0.1, 0.05, alpha_pass=0.1, alpha_fail=0.1).certified
    refused = ALL.certify(sample, 0.1, 0.05, min_tnr=0.9)
    assert not refused.certified
    assert refused.shortfall.obstacle == "other_levels"
    # Where no item of a label was accepted, nothing is known of it.
    assert not certified(sample_of(200, 0, 0, 0), min_tnr=0.5)


@pytest.mark.parametrize(("which", "label"), [("min_tpr", 1), ("min_tnr", 0)])
def test_the_rate_among_a_label_is_kept_where_it_is_all_but_broken(which, label):
    """How common the label is varies with the draw; certified no more often than delta."""
    rng, runs, delta = np.random.default_rng(4), 1000, 0.05
    broken = careless = 0
    for _ in range(runs):
        labels = rng.random(400) < 0.3
        labels = (labels if label else ~labels).astype(int)
        right = rng.random(400) < np.where(labels == label, 0.7999, 0.97)
        verdicts = np.where(right, labels, 1 - labels)
        sample = Sample(np.full((400, 1), 0.5), verdicts[:, None], labels, ("judge",)).by_verdict()
        broken += ALL.certify(sample, 0.3, delta, **{which: 0.8}).certified
        careless += ALL.certify(sample, 0.3, delta).certified
    assert stats.binomtest(broken, runs, delta, "greater").pvalue > 0.01
    assert broken > 0.01 * runs
    assert careless > 0.9 * runs


def make_trace(n=1500, seed=0):
    """A judge whose passes are far less safe than its fails."""
    rng = np.random.default_rng(seed)
    scores, labels = rng.random((n, 2)), rng.integers(0, 2, n)
    rate = np.where(labels == 0, 0.5, 0.1)[:, None]
    return Trace.from_arrays(scores, labels[:, None] ^ (rng.random((n, 2)) < rate * scores), labels)


def test_a_gate_keeps_both_levels():
    trace, fresh = make_trace(), make_trace(40_000, seed=1)
    for gate in (Router(0.2, alpha_pass=0.1, alpha_fail=0.2), SelectiveGate(0.2, alpha_pass=0.1)):
        gate = gate_from_dict(gate.fit(trace).to_dict())
        certificate = gate.certificate_
        assert certificate.procedure == Portfolio.name
        assert certificate.alpha_pass == 0.1
        assert "10 % of the accepted verdicts 1 (pass)" in certificate.statement
        outcomes = gate.decide(fresh)
        passes = outcomes.accepted & (outcomes.verdict == 1)
        assert certificate.certified
        assert not passes.any() or outcomes.wrong[passes].mean() < 0.1
    alone = Router(0.2, by_verdict=True).fit(trace).decide(fresh)
    assert alone.wrong[alone.accepted & (alone.verdict == 1)].mean() > 0.1


def test_a_gate_keeps_the_rates_among_labels():
    trace, fresh = make_trace(), make_trace(40_000, seed=1)
    gate = gate_from_dict(Router(0.2, min_tpr=0.9, min_tnr=0.9).fit(trace).to_dict())
    certificate = gate.certificate_
    assert certificate.certified
    assert (certificate.min_tpr, certificate.min_tnr, gate.min_tnr) == (0.9, 0.9, 0.9)
    assert "at least 90 % of the accepted items whose label is 1 pass" in certificate.statement
    outcomes = gate.decide(fresh)
    for label in (0, 1):
        there = outcomes.accepted & (fresh.labels == label)
        assert there.any()
        assert outcomes.wrong[there].mean() < 0.1


def test_a_sweep_asks_all_that_the_gate_asks():
    trace = make_trace()
    accepted = [
        sweep(trace, gate, alphas=[0.2], splits=3, seed=0, n_jobs=1).accepted.sum()
        for gate in (
            Router(0.2, by_verdict=True, procedure="portfolio"),
            Router(0.2, alpha_pass=0.02, procedure="portfolio"),
            Router(0.2, by_verdict=True, min_tnr=0.97, procedure="portfolio"),
        )
    ]
    assert accepted[1] < accepted[0]
    assert accepted[2] < accepted[0]


def test_a_gate_of_before_these_rates_is_read():
    document = Router(0.2, alpha_pass=0.1).fit(make_trace()).to_dict()
    for name in ("min_tpr", "min_tnr"):
        del document["settings"][name], document["certificate"][name]
    document["checksum"] = checksum(document)
    gate = gate_from_dict(document)
    assert (gate.min_tpr, gate.alpha_pass) == (None, 0.1)


@pytest.mark.parametrize("which", ["alpha_pass", "alpha_fail", "min_tpr", "min_tnr"])
def test_a_search_does_not_pass_over_what_it_cannot_promise(which):
    plain = Sample(np.full((200, 1), 0.5), np.ones((200, 1), int), np.ones(200, int), ("judge",))
    with pytest.raises(InputError, match="kind of verdict or label"):
        Pointwise().certify(plain, 0.1, 0.05, **{which: 0.9})


def test_what_makes_no_sense_is_refused():
    plain = Sample(np.full((9, 1), 0.5), np.ones((9, 1), int), np.ones(9, int), ("judge",))
    with pytest.raises(InputError, match="thresholds by verdict"):
        FixedSequence(path=[[0.5]]).certify(plain, 0.1, 0.05, alpha_pass=0.1)
    with pytest.raises(InputError, match="alpha_pass"):
        Target(0.1, 0.05, alpha_pass=1.5)
    with pytest.raises(InputError, match="kind of verdict"):
        Router(procedure=ConformalSelection(), alpha_fail=0.1).fit(make_trace())
    scored = Trace.from_frame(
        pd.DataFrame({"item_id": ["a", "b"], "label": [1, 2], "v1": [1, 2], "u1": [0.1, 0.2]}),
        grading=Grading(1, 5, tolerance=0.5),
    )
    with pytest.raises(InputError, match="one label needs verdicts 0 or 1"):
        Router(min_tpr=0.9).fit(scored)
    with pytest.raises(InputError, match="min_tpr"):
        Target(0.1, 0.05, min_tpr=1.0)
    with pytest.raises(InputError, match="planned procedures"):
        Router(procedure="pointwise", alpha_fail=0.1).fit(make_trace())


def test_on_the_command_line(tmp_path):
    make_trace().to_frame().to_csv(tmp_path / "t.csv", index=False)
    shared = ["calibrate", str(tmp_path / "t.csv"), "--json"]
    done = CliRunner().invoke(app, [*shared, "--alpha-pass", "0.15", "--alpha-fail", "0.2"])
    certificate = json.loads(done.stdout)["certificate"]
    assert (certificate["alpha"], certificate["alpha_pass"], certificate["alpha_fail"]) == (
        0.2,
        0.15,
        0.2,
    )
    assert len(certificate["thresholds"] or "1234") == 4
    assert json.loads(CliRunner().invoke(app, shared).stdout)["certificate"]["alpha"] == 0.1


def test_rates_on_the_command_line(tmp_path):
    make_trace().to_frame().to_csv(tmp_path / "t.csv", index=False)
    shared = ["calibrate", str(tmp_path / "t.csv"), "--alpha", "0.2", "--min-tpr", "0.9"]
    done = CliRunner().invoke(app, [*shared, "--min-tnr", "0.85", "--json"])
    document = json.loads(done.stdout)
    assert document["settings"]["min_tnr"] == document["certificate"]["min_tnr"] == 0.85
    assert len(document["certificate"]["thresholds"]) == 2
    for wrong in (["--min-tnr", "1"], ["--min-tnr", "nan"], ["--fuse"]):
        assert isinstance(CliRunner().invoke(app, [*shared, *wrong]).exception, InputError)
