"""A promise that holds under perturbations as well: against known truth, by hand, and on the command line."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from riskjudge import Router, binomial, load_gate
from riskjudge.advice import next_steps
from riskjudge.calibration import PROCEDURES, Obstacle, Sample, procedure_named
from riskjudge.calibration.plan import Target, rule_p_values
from riskjudge.cli import main
from riskjudge.counts import path_counts
from riskjudge.data.perturbed import chosen_perturbations, split_by_perturbation
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError

DELTA = 0.05
NEEDS_NO_ORDER = (
    "hybrid",
    "learned",
    "portfolio",
    "fixed_sequence",
    "split_fixed_sequence",
    "holm_grid",
)


def drawn(rng, n, under, applies=1.0, modes=1, pool=200):
    """Items whose error rate is half their score; `under` is added to it where they are padded."""
    scores = rng.random((n, modes))
    chance = rng.random((n, modes))
    padded = np.where(rng.random((n, 1)) < applies, rng.random((n, modes)), np.nan)
    names = tuple(f"mode{k}" for k in range(modes))
    right = np.zeros(n, dtype=np.int64)
    variant = Sample(padded, (chance < 0.5 * padded + under).astype(int), right, names)
    more = rng.random((pool, modes))
    return Sample(
        scores, (chance < 0.5 * scores).astype(int), right, names, more, np.zeros(more.shape, int),
        variants={"padded": variant},
    )  # fmt: skip


def true_risk(thresholds, under):
    """Of the items accepted at a threshold of one mode: E[u / 2 | u <= t], and what is added to it."""
    (threshold,) = thresholds.values()
    return 0.25 * min(threshold, 1.0) + under


@pytest.mark.parametrize("name", NEEDS_NO_ORDER)
def test_the_promise_holds_under_the_perturbation(name):
    """Risk at a threshold t is t/4 + .06 there: above alpha for each t > .16, as often as delta allows."""
    procedure, broken, kept = procedure_named(name), 0, 0
    for seed in range(250):
        sample = drawn(np.random.default_rng(seed), 400, under=0.06)
        certificate = procedure.certify(sample, 0.1, DELTA, seed=seed)
        if certificate.certified:
            kept += 1
            broken += true_risk(certificate.thresholds, 0.06) > 0.1
    assert binomial.lower_bound(broken, 250, 0.001) <= DELTA
    assert name == "holm_grid" or kept > 0


def test_without_the_perturbation_it_would_not_hold():
    """The same population and procedure, the perturbed items left out: the rule is far too wide there."""
    broken = 0
    for seed in range(40):
        sample = drawn(np.random.default_rng(seed), 1000, under=0.06)
        certificate = procedure_named("hybrid").certify(
            replace(sample, variants={}), 0.1, DELTA, seed=seed
        )
        broken += certificate.certified and true_risk(certificate.thresholds, 0.06) > 0.1
    assert broken > 20


def test_at_the_edge_of_the_null_it_errs_as_often_as_delta():
    """Every rule has a risk of exactly alpha under the perturbation and none otherwise: 1,000 runs."""
    errors = 0
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        scores, right = rng.random((200, 1)), np.zeros(200, dtype=np.int64)
        bad = (rng.random((200, 1)) < 0.1).astype(np.int64)
        variant = Sample(rng.permutation(scores), bad, right, ("judge",))
        sample = Sample(
            scores, 0 * bad, right, ("judge",), scores[:50], 0 * bad[:50],
            variants={"as bad as alpha": variant},
        )  # fmt: skip
        errors += procedure_named("hybrid").certify(sample, 0.1, DELTA).certified
    assert errors / 1000 <= DELTA + 3 * np.sqrt(DELTA / 1000)
    assert errors > 10  # and uses what it may


def test_the_p_value_is_the_largest_of_all():
    sample = drawn(np.random.default_rng(1), 300, under=0.05, modes=2, applies=0.7)
    rules = np.array([[0.3, 0.2], [0.6, 0.9], [0.1, -np.inf]])
    tallied = path_counts(sample.scores, sample.errors, rules)
    found = rule_p_values(tallied, sample, Target(0.15, DELTA))
    variant = sample.variants["padded"]
    for i, rule in enumerate(rules):
        each = []
        for items in (sample, variant):
            took = items.scores <= rule
            first = np.where(took[:, 0], 0, np.where(took[:, 1], 1, -1))
            wrong = sum(items.errors[j, k] for j, k in enumerate(first) if k >= 0)
            each.append(binomial.p_value(int(wrong), int((first >= 0).sum()), 0.15))
        assert found[i] == pytest.approx(max(each), rel=1e-12)


def test_a_budget_of_retrieval_is_about_the_items_as_they_came():
    sample = drawn(np.random.default_rng(1), 300, under=0.0, modes=2, applies=0.1)
    rules = np.array([[0.9, 0.2]])
    tallied = path_counts(sample.scores, sample.errors, rules)
    target = Target(0.6, DELTA, max_retrieval=0.2)
    alone = rule_p_values(tallied, replace(sample, variants={}), target)
    assert rule_p_values(tallied, sample, target) <= max(alone[0], DELTA)


@pytest.mark.parametrize("name", sorted(set(PROCEDURES) - set(NEEDS_NO_ORDER)))
def test_procedures_that_do_not_test_it_refuse(name):
    sample = drawn(np.random.default_rng(1), 300, under=0.0)
    with pytest.raises(InputError, match="under perturbations"):
        procedure_named(name).certify(sample, 0.1, DELTA)


def test_thresholds_between_the_scores_of_the_plain_items_are_tested():
    """Along the scores, every threshold at which any count changes has its test."""
    plain = np.repeat([[0.1], [0.9]], 60, axis=0)
    padded = np.repeat([[0.2], [0.5]], 60, axis=0)
    right = np.zeros(120, dtype=np.int64)
    wrong = np.repeat([[0], [1]], 60, axis=0)
    variant = Sample(padded, wrong, right, ("judge",))
    sample = Sample(plain, 0 * wrong, right, ("judge",), variants={"padded": variant})
    procedure = replace(procedure_named("fixed_sequence"), start=0.0)
    assert (
        procedure.certify(sample, 0.1, DELTA).thresholds is None
    )  # nothing is accepted at the start
    from_there = replace(procedure, start=0.3)
    assert from_there.certify(sample, 0.1, DELTA).thresholds == {"judge": 0.3}


# --- a gate, and the command line ----------------------------------------------------------------


def stressed_frame(n=1000, seed=0, swapped=0.03):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    parts = []
    for name, more in (("plain", 0.0), ("format.case", 0.0), ("length.padding", swapped)):
        u = rng.random(n)
        wrong = rng.random(n) < 0.3 * u + more
        ids = [f"q{i}" if name == "plain" else f"q{i}~{name}" for i in range(n)]
        parts.append(
            pd.DataFrame(
                {"item_id": ids, "label": label, "v1": label ^ wrong, "u1": u, "perturbation": name,
                 "perturbed": [f"q{i}" for i in range(n)], "group": [f"q{i}" for i in range(n)]}
            )
        )  # fmt: skip
    return pd.concat(parts, ignore_index=True)


def test_a_gate_under_stress_says_what_it_holds_and_its_price(tmp_path):
    plain, stressed = split_by_perturbation(Trace.from_frame(stressed_frame()))
    gate = Router(0.15).fit(plain, stressed=stressed)
    certificate = gate.certificate_
    assert list(certificate.under) == ["format.case", "length.padding"]
    assert certificate.statement.endswith("under each of: format.case, length.padding.")
    assert all(there.upper_bound <= 0.15 for there in certificate.under.values())
    assert certificate.coverage < certificate.coverage_unstressed
    gate.save(tmp_path / "gate.json")
    assert load_gate(tmp_path / "gate.json").certificate_ == certificate
    # The same by hand: the rule's counts on the rows themselves.
    rows = stressed_frame()
    rows = rows[
        (rows.perturbation == "length.padding") & (rows.u1 <= certificate.thresholds["mode1"])
    ]
    if not certificate.n_reserved:
        assert certificate.under["length.padding"].accepted == len(rows)
        assert certificate.under["length.padding"].errors == (rows.v1 != rows.label).sum()


def test_each_verdict_with_its_threshold_under_stress():
    plain, stressed = split_by_perturbation(Trace.from_frame(stressed_frame(n=2000)))
    gate = Router(0.15, by_verdict=True).fit(plain, stressed=stressed)
    assert gate.certificate_.certified
    assert all(there.upper_bound <= 0.15 for there in gate.certificate_.under.values())
    levels = Router(0.15, alpha_pass=0.15, alpha_fail=0.2).fit(plain, stressed=stressed)
    assert levels.certificate_.coverage <= levels.certificate_.coverage_unstressed


def test_names_families_and_all():
    _, stressed = split_by_perturbation(Trace.from_frame(stressed_frame()))
    assert list(chosen_perturbations(stressed, "format")) == ["format.case"]
    assert list(chosen_perturbations(stressed, ["all"])) == ["format.case", "length.padding"]
    with pytest.raises(
        InputError, match=r"'position'; the perturbations here are format\.case, length"
    ):
        chosen_perturbations(stressed, "format, position")


def test_what_cannot_be_matched_is_refused():
    frame = stressed_frame()
    gate = Router(0.15)
    with pytest.raises(InputError, match=r"--robust all.*--where perturbation=plain"):
        gate.fit(Trace.from_frame(frame))
    twice = frame.assign(perturbed=frame.perturbed.where(frame.item_id != "q1~format.case", "q0"))
    plain, stressed = split_by_perturbation(Trace.from_frame(twice))
    with pytest.raises(InputError, match=r"'q0' occurs twice under format\.case"):
        gate.fit(plain, stressed=stressed)
    blank = frame.assign(label=frame.label.astype("Int64").where(frame.item_id != "q1~format.case"))
    plain, stressed = split_by_perturbation(Trace.from_frame(blank))
    with pytest.raises(InputError, match=r"'q1' has a label, but none under format\.case"):
        gate.fit(plain, stressed=stressed)
    few = frame[(frame.perturbation != "format.case") | (frame.index % 100 == 0)]
    plain, stressed = split_by_perturbation(Trace.from_frame(few))
    with pytest.raises(InputError, match=r"format\.case applies to 10 .* needs at least 19"):
        gate.fit(plain, stressed=stressed)
    other = frame.assign(source1=np.where(frame.perturbation == "plain", "a", "b"))
    with pytest.raises(InputError):
        gate.fit(*split_by_perturbation(Trace.from_frame(other)))
    with pytest.raises(InputError, match="no column 'perturbed'"):
        split_by_perturbation(Trace.from_frame(frame.drop(columns="perturbed")))
    with pytest.raises(InputError, match="no row of the column 'perturbation' is 'plain'"):
        split_by_perturbation(Trace.from_frame(frame[frame.perturbation != "plain"]))


def test_perturbed_rows_teach_no_fusion():
    """Or one item would be learned from, and tested on, several times."""
    from riskjudge.signals import FusedGate, fit_fusion, parse_signals

    trace = Trace.from_frame(stressed_frame())
    for attempt in (
        lambda: fit_fusion(trace, parse_signals(["modes"], trace)),
        lambda: FusedGate(0.15).fit(trace),
    ):
        with pytest.raises(InputError, match="--where perturbation=plain"):
            attempt()


def test_a_failure_names_what_stood_in_the_way():
    plain, stressed = split_by_perturbation(Trace.from_frame(stressed_frame(swapped=0.3)))
    gate = Router(0.15).fit(plain, stressed=stressed)
    certificate = gate.certificate_
    assert not certificate.certified
    assert certificate.shortfall.obstacle is Obstacle.STRESS
    assert certificate.under["length.padding"].upper_bound > 0.15
    step, price = next_steps(gate, plain)
    assert step.startswith("The items as they came, without --robust certifies here")
    assert "more chance to be wrong" in price


def run(capsys, *args):
    with pytest.raises(SystemExit) as end:
        main([str(arg) for arg in args])
    out, err = capsys.readouterr()
    return end.value.code, out, err


def test_on_the_command_line(tmp_path, capsys):
    trace, gate = tmp_path / "stressed.csv", tmp_path / "gate.json"
    stressed_frame().to_csv(trace, index=False)
    code, out, _ = run(capsys, "calibrate", trace, "--alpha", 0.15, "--robust", "all", "-o", gate)
    assert code == 0
    assert "under length.padding" in out
    assert "without perturbations" in out
    code, out, _ = run(
        capsys, "calibrate", trace, "--alpha", 0.15, "--robust", "length", "--no-registry", "--json"
    )
    under = json.loads(out)["certificate"]["under"]
    assert list(under) == ["length.padding"]
    assert under["length.padding"]["n"] <= 1000
    code, _, err = run(capsys, "calibrate", trace, "--robust", "tone")
    assert (code, "no row is perturbed by 'tone'" in err) == (2, True)
    for more in (["--looks", "3"], ["--by", "label"], ["--fuse"], ["--procedure", "pointwise"]):
        code, _, err = run(
            capsys, "calibrate", trace, "--robust", "all", "-o", tmp_path / "g.json", *more
        )
        assert code == 2, more
        assert "robust" in err or "perturbations" in err
    code, out, _ = run(capsys, "explain", gate)
    assert "length.padding" in out
    code, _, err = run(
        capsys, "calibrate", trace, "--alpha", 0.15, "--robust", "all", "--hold-out", 0.3,
        "-o", tmp_path / "half.json",
    )  # fmt: skip
    assert code == 0, err
    rest = pd.read_csv(tmp_path / "half-rest.csv")
    assert set(rest.perturbation) == {"plain", "format.case", "length.padding"}
    assert rest.groupby("perturbed").size().eq(3).all()
