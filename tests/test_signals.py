"""Signals, their calibration and fusion, and the gate over them."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from riskjudge import InputError, Trace
from riskjudge.calibration import Fused, Hybrid, Sample, Target
from riskjudge.data.verdict import BooleanVerdict
from riskjudge.signals import (
    Cost,
    Family,
    FusedGate,
    Metric,
    Signal,
    fit_fusion,
    fused_trace,
    load_any_gate,
    parse_signals,
    read_fusion,
    split_teaching,
    write_fusion,
)
from riskjudge.signals.calibrators import CALIBRATORS, Beta, Isotonic, Levels, Platt
from riskjudge.signals.document import fusion_to_dict
from riskjudge.signals.signal import SignalView
from riskjudge.signals.teaching import taught_sample


def make_trace(n=600, seed=0, modes=2, skill=0.5, **extra):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    u = rng.uniform(0, 0.5, (n, modes))
    verdict = label[:, None] ^ (rng.random((n, modes)) < (1 - skill) / 2 + skill * u)
    frame = Trace.from_arrays(u, verdict.astype(int), label).to_frame()
    for name, make in extra.items():
        frame[name] = make(rng, label)
    return Trace.from_frame(frame)


def test_a_metric_is_no_signal():
    trace = make_trace()
    with pytest.raises(InputError, match="'bleu' is a metric"):
        fit_fusion(trace, [Metric("bleu", lambda trace: trace.labels)])
    with pytest.raises(InputError, match="takes signals"):
        fit_fusion(trace, [lambda view: view.scores[:, 0]])


@pytest.mark.parametrize("name", ["label", "gold", "Reference", "ground_truth"])
def test_signals_see_no_reference(name):
    trace = make_trace()
    frame = trace.to_frame().assign(**{name: trace.labels})
    seen = Trace.from_frame(frame, label="label")
    with pytest.raises(InputError, match="free of references"):
        parse_signals([f"column:{name}"], seen)[0].values(seen)
    assert not hasattr(SignalView(trace), "labels")


def test_a_missing_value_is_not_a_number():
    """Where a cheap check is missing the claim mostly fails: the fusion learns it from the gap."""

    def check(rng, label):
        return np.where(label == 1, rng.normal(1, 1, len(label)), np.nan)

    trace = make_trace(skill=0.1, check=check)
    fusion = fit_fusion(trace, parse_signals(["number:check"], trace))
    p = fusion.probabilities(trace)[:, 0]
    gone = trace.extra["check"].isna().to_numpy()
    assert p[gone].max() < 0.1 < 0.9 < p[~gone].min()
    # Never missing among the teaching rows: its absence says nothing, and is no value either.
    full = trace.rows(~gone | (np.arange(len(trace)) < 0))
    numbers = fit_fusion(full, parse_signals(["modes", "number:check"], full))
    assert numbers.stages[0].model.missing[-1] == 0.0


def test_categories_columns_and_unknown_levels():
    def system(rng, label):
        return np.where(rng.random(len(label)) < 0.8, np.where(label == 1, "good", "bad"), "other")

    trace = make_trace(skill=0.1, system=system, size=lambda rng, label: label * 3)
    parsed = parse_signals(["column:system@2", "column:size"], trace)
    assert [(s.name, s.family, s.tier) for s in parsed] == [
        ("category:system", Family.CATEGORY, 2),
        ("number:size", Family.NUMBER, 1),
    ]
    fusion = fit_fusion(trace, parsed[:1])
    new = Trace.from_frame(trace.to_frame().assign(system="never seen"))
    base = trace.labels.mean()
    assert fusion.probabilities(new)[:, 0] == pytest.approx(base, abs=0.15)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("nonsense", "unknown signal"),
        ("column:absent", "needs the column 'absent'"),
        ("gap:mode1", "takes 2 names"),
        ("verdict:mode9", "needs the mode 'mode9'"),
        ("number:word", "is not a number"),
        ("probability:size", "not a probability"),
    ],
)
def test_bad_signals_are_named(spec, words):
    trace = make_trace(
        word=lambda rng, label: ["x"] * len(label), size=lambda rng, label: label * 3
    )
    with pytest.raises(InputError, match=words):
        fit_fusion(trace, parse_signals([spec], trace))


def test_an_injected_measure_is_checked():
    trace = make_trace()
    for measure, words in (
        (lambda view: [1.0], "need 600 values"),
        (lambda view: np.full(len(view), np.inf), "is not finite"),
        (lambda view: ["a"] * len(view), "is not a number"),
    ):
        with pytest.raises(InputError, match=words):
            fit_fusion(trace, [Signal("mine", Family.NUMBER, measure)])
    with pytest.raises(InputError, match="two signals are called"):
        fit_fusion(trace, parse_signals(["flips", "flips"], trace))


def test_calibrators_recover_what_made_the_labels():
    rng = np.random.default_rng(0)
    x = rng.normal(0, 2, 20_000)
    y = (rng.random(20_000) < 1 / (1 + np.exp(-(0.5 * x - 1.0)))).astype(int)
    platt = Platt.fit(x, y)
    assert (platt.slope, platt.intercept) == pytest.approx((0.5, -1.0), abs=0.05)
    grid = np.array([-2.0, 0.0, 2.0])
    for kind in (Platt, Beta, Isotonic):
        assert kind.fit(x, y).log_odds(grid) == pytest.approx(0.5 * grid - 1.0, abs=0.35)
    falling = Platt.fit(-x, y)
    assert falling.slope == pytest.approx(-0.5, abs=0.05)
    levels = Levels.fit(np.array(["a"] * 8 + [None] * 2, dtype=object), np.array([1] * 8 + [0] * 2))
    assert levels.log_odds(np.array(["a", None], dtype=object))[1] == 0.0


@pytest.mark.parametrize("name", sorted(CALIBRATORS))
def test_calibrators_survive_constant_and_absent_values(name):
    labels = np.array([0, 1, 1, 1])
    for value in (2.0, np.nan):
        values = np.full(4, value)
        if name == "levels":
            values = np.array([None if np.isnan(value) else "x"] * 4, dtype=object)
        assert np.isfinite(CALIBRATORS[name].fit(values, labels).log_odds(values)).all()


def test_the_file_comes_back_and_a_changed_one_does_not(tmp_path):
    trace = make_trace(system=lambda rng, label: rng.choice(["a", "b"], len(label)))
    signals = parse_signals(
        ["modes", "flips@2", "gap:mode1,mode2", "column:system"], trace, {"flips": Cost(calls=1)}
    )
    for calibrators in ({}, {"confidence": "isotonic"}, {"confidence": "beta"}):
        fusion = fit_fusion(trace, signals, staged=True, calibrators=calibrators)
        write_fusion(fusion, tmp_path / "f.json")
        again = read_fusion(tmp_path / "f.json")
        assert np.array_equal(again.probabilities(trace), fusion.probabilities(trace))
        assert again.stages[1].cost == Cost(calls=1)
        assert fusion_to_dict(again) == fusion_to_dict(fusion)
    data = json.loads((tmp_path / "f.json").read_text())
    data["stages"][0]["intercept"] += 1.0
    (tmp_path / "f.json").write_text(json.dumps(data))
    with pytest.raises(InputError, match="digest does not match"):
        read_fusion(tmp_path / "f.json")
    text = (tmp_path / "f.json").read_text()
    assert not any(f'"{i}"' in text for i in trace.item_id[:50])  # ids are hashed


def test_estimators_of_ones_own(tmp_path):
    trace = make_trace()
    signals = parse_signals(["modes"], trace)
    forest = fit_fusion(trace, signals, estimator=RandomForestClassifier(20, random_state=0))
    assert forest.probabilities(trace).shape == (len(trace), 1)
    with pytest.raises(InputError, match="cannot be stored"):
        write_fusion(forest, tmp_path / "f.json")
    mine = Signal("mine", Family.NUMBER, lambda view: view.scores[:, 0])
    fusion = fit_fusion(trace, [mine])
    write_fusion(fusion, tmp_path / "f.json")
    with pytest.raises(InputError, match="pass it again"):
        read_fusion(tmp_path / "f.json")
    again = read_fusion(tmp_path / "f.json", [mine])
    assert np.array_equal(again.probabilities(trace), fusion.probabilities(trace))


def test_teaching_rows_are_refused_in_a_calibration():
    trace = make_trace()
    teaching, rest = split_teaching(trace, 4)
    fusion = fit_fusion(teaching, parse_signals(["modes"], trace))
    with pytest.raises(InputError, match="taught the fusion"):
        FusedGate().calibrate(fusion, trace)
    assert FusedGate().calibrate(fusion, rest).certificate_.n == len(rest)
    with pytest.raises(InputError, match="taught the fusion"):
        FusedGate().fit(trace, train=teaching)


def test_same_rows_same_answer():
    trace = make_trace(seed=3)
    shuffled = trace.rows(np.random.default_rng(0).permutation(len(trace)))
    one, other = (FusedGate(alpha=0.15).fit(t) for t in (trace, shuffled))
    assert one.fusion_.teaching_ids == other.fusion_.teaching_ids
    assert np.array_equal(one.fusion_.probabilities(trace), other.fusion_.probabilities(trace))
    assert one.certificate_.thresholds == other.certificate_.thresholds


def test_groups_are_never_torn_apart():
    trace = make_trace()
    frame = trace.to_frame().assign(group=np.arange(len(trace)) // 3)
    grouped = Trace.from_frame(frame)
    teaching, rest = split_teaching(grouped, 4)
    assert not set(teaching.group) & set(rest.group)
    gate = FusedGate(groups="sample").fit(grouped)
    assert gate.certificate_.n == len(set(rest.group))
    with pytest.raises(InputError, match="groups"):
        FusedGate().fit(grouped)


def test_a_gate_is_stored_with_its_fusion(tmp_path):
    trace = make_trace(1500)
    gate = FusedGate(alpha=0.15).fit(trace)
    gate.save(tmp_path / "gate.json")
    again = load_any_gate(tmp_path / "gate.json")
    new = make_trace(500, seed=9)
    assert gate.decide(new).to_frame().equals(again.decide(new).to_frame())
    assert again.certificate_ == gate.certificate_
    data = json.loads((tmp_path / "gate.json").read_text())
    data["fusion"]["modes"] = ["other", "mode2"]
    (tmp_path / "gate.json").write_text(json.dumps(data))
    with pytest.raises(InputError, match="checksum"):
        load_any_gate(tmp_path / "gate.json")


def test_stages_spend_money_only_where_it_is_needed():
    rng = np.random.default_rng(1)
    n = 3000
    label = rng.integers(0, 2, n)
    u = np.column_stack((rng.uniform(0, 0.5, n), rng.uniform(0, 0.2, n)))
    trace = Trace.from_arrays(u, (label[:, None] ^ (rng.random((n, 2)) < u)).astype(int), label)
    signals = parse_signals(
        ["modes:mode1", "modes:mode2@2"],
        trace,
        {"verdict:mode1": Cost(money=1.0), "verdict:mode2": Cost(money=9.0)},
    )
    free = FusedGate(alpha=0.1, signals=signals, staged=True).fit(trace)
    bound = FusedGate(alpha=0.1, signals=signals, max_cost=7.5).fit(trace)
    assert bound.certificate_.certified
    spent = bound.mean_cost(bound.decide(trace)).money
    assert 1.0 < spent <= 7.5
    assert spent <= free.mean_cost(free.decide(trace)).money
    told = bound.spent(bound.decide(trace))
    accepted = bound.decide(trace).accepted.sum()
    assert set(told) == {"money"}
    assert told["money"].an_accepted_verdict == pytest.approx(3000 * spent / accepted)
    assert told["money"].total == pytest.approx(3000 * spent)
    tight = FusedGate(alpha=0.1, signals=signals, max_cost=2.0).fit(trace)
    assert tight.mean_cost(tight.decide(trace)).money <= 2.0
    assert "go past the first mode" in bound.certificate_.statement
    for cost, words in ((0.5, "cannot hold"), (20.0, "says nothing")):
        with pytest.raises(InputError, match=words):
            FusedGate(alpha=0.1, signals=signals, max_cost=cost).fit(trace)
    with pytest.raises(InputError, match="two stages"):
        FusedGate(alpha=0.1, max_cost=1.0).fit(trace)


def test_the_fusion_finds_what_no_single_judge_tells():
    """Five weak judges with independent errors: none certifies, their fusion does."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 1500)
    verdicts = (label[:, None] ^ (rng.random((1500, 5)) < 0.25)).astype(int)
    trace = Trace.from_arrays(np.full((1500, 5), 0.25), verdicts, label)
    plain = Sample(trace.scores, trace.verdicts, trace.labels, trace.modes)
    assert not Hybrid().certify(plain, 0.1, 0.05).certified
    assert FusedGate(alpha=0.1).fit(trace).certificate_.coverage > 0.5


def test_the_plain_procedure_needs_a_fused_sample():
    trace = make_trace()
    sample = Sample(trace.scores, trace.verdicts, trace.labels, trace.modes)
    with pytest.raises(InputError, match="fuse the trace first"):
        Fused().certify(sample, 0.1, 0.05)
    with pytest.raises(InputError, match="half_taught"):
        Fused(half_taught=0)


def violations(leak, replicates, n=150):
    """How often a worthless world is certified: verdicts are coins, alpha is below their error."""
    rng = np.random.default_rng(7)
    broken = 0
    for r in range(replicates):
        label = (rng.random(n) < 0.5).astype(int)
        trace = Trace.from_arrays(rng.uniform(0, 0.5, (n, 2)), rng.integers(0, 2, (n, 2)), label)
        noise = rng.normal(size=(n, 10))
        frame = trace.to_frame().assign(**{f"x{j}": noise[:, j] for j in range(10)})
        trace = Trace.from_frame(frame)
        signals = parse_signals([f"number:x{j}" for j in range(10)], trace)
        teaching, rest = split_teaching(trace, 10, seed=r)
        fusion = fit_fusion(trace if leak else teaching, signals, seed=r)
        tested = fused_trace(fusion, trace if leak else rest, "")
        sample = replace(
            Sample(tested.scores, tested.verdicts, tested.labels, tested.modes),
            taught=taught_sample(fusion, (0, 1)),
        ).by_verdict()
        broken += Fused().certify(sample, 0.45, 0.05).certified
    return broken / replicates


def test_the_promise_holds_and_the_test_would_notice():
    """Every rule's risk is one half. Taught on its own test rows, the same chain breaks the promise."""
    assert violations(leak=False, replicates=60) <= 0.13  # more has probability .004 at .05
    assert violations(leak=True, replicates=15) > 0.5


def test_the_certificate_says_what_taught():
    trace = make_trace(1000)
    frame = trace.to_frame()
    assert isinstance(frame, pd.DataFrame)
    gate = FusedGate(alpha=0.15).fit(trace)
    certificate = gate.certificate_
    assert certificate.n + certificate.n_reserved == 1000
    assert certificate.procedure == "fused"


def run(*arguments):
    from riskjudge.cli import main

    with pytest.raises(SystemExit) as done:
        main([str(a) for a in arguments])
    return done.value.code


def test_fuse_and_calibrate_from_the_command_line(tmp_path, capsys):
    def system(rng, label):
        return np.where(rng.random(len(label)) < 0.7, label, 1 - label)

    make_trace(1500, skill=0.95, system=system).to_frame().to_csv(
        tmp_path / "trace.csv", index=False
    )
    trace, fused = tmp_path / "trace.csv", tmp_path / "fused.csv"
    signals = ["--signals", "modes category:system", "--cost", "category:system=2"]
    assert run("fuse", trace, *signals, "-o", fused, "--fusion", tmp_path / "f.json") == 0
    rest = ["--fusion", tmp_path / "f.json", "--alpha", "0.15", "--no-registry"]
    assert run("calibrate", fused, *rest, "-o", tmp_path / "two.json") == 0
    one = ["calibrate", trace, "--fuse", *signals, "--alpha", "0.15", "--no-registry"]
    assert run(*one, "-o", tmp_path / "one.json") == 0
    two_steps, at_once = (load_any_gate(tmp_path / f"{n}.json") for n in ("two", "one"))
    assert two_steps.certificate_.thresholds == at_once.certificate_.thresholds
    capsys.readouterr()
    assert run("decide", tmp_path / "two.json", trace, "-o", tmp_path / "o.csv") == 0
    assert "an accepted verdict" in " ".join(capsys.readouterr().out.split())
    assert run("calibrate", trace, *rest) == 2
    assert "taught the fusion" in capsys.readouterr().err
    make_trace(400, seed=5, skill=0.95, system=system).to_frame().assign(
        item_id=[f"other {i}" for i in range(400)]
    ).to_csv(tmp_path / "other.csv", index=False)
    assert run(*one, "--train", tmp_path / "other.csv", "-o", tmp_path / "free.json") == 0
    assert load_any_gate(tmp_path / "free.json").certificate_.n == 1500


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--fuse", "--procedure", "hybrid"], "without --procedure"),
        (["--signals", "modes"], "belong to --fuse"),
        (["--fuse", "--train-share", "much"], "a number or auto"),
        (["--fuse", "--train-share", "1.5"], "between 0 and 1"),
        (["--fuse", "--cost", "x=1"], "which is no signal"),
        (["--fuse", "--calibrator", "confidence=levels"], "platt, beta or isotonic"),
        (["--fuse", "--max-cost", "2"], "two stages"),
    ],
)
def test_bad_usage_is_named(tmp_path, capsys, more, words):
    make_trace(200).to_frame().to_csv(tmp_path / "trace.csv", index=False)
    assert run("calibrate", tmp_path / "trace.csv", *more) == 2
    assert words in capsys.readouterr().err


def sure_trace(n, right, seed=0):
    """One judge without a score worth the name, right in a share `right` of the cases."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    verdict = np.where(rng.random(n) < right, label, 1 - label)
    return Trace.from_arrays(np.full((n, 1), 0.1), verdict[:, None], label)


def prepared_by(gate, trace):
    modes = gate.router_.modes_
    return gate.router_.prepare(fused_trace(gate.fusion_, trace, "").select(modes)).sample


def test_rules_without_the_fusion_are_tested_on_the_rows_that_taught_it():
    trace = sure_trace(150, 0.9)
    gate = FusedGate(alpha=0.2).fit(trace)
    assert len(gate.fusion_.teaching_ids) == 24
    _, rest = split_teaching(trace, 2)
    sample = prepared_by(gate, rest)
    assert sample.also_tested.all()
    assert sample.n == 126
    families = Fused().planner(sample, 0)(Target(0.2, 0.05)).families
    assert [(f.sample.n, f.n_reserved) for f in families] == [(126, 24), (139, 11), (139, 11)]
    assert sum(f.share for f in families) == pytest.approx(1.0)
    # Fewer rows than were left when these were drawn: nobody knows why, so none of them is tested on.
    assert prepared_by(gate, rest.rows(np.arange(100))).also_tested is None
    assert gate.router_.labels_.knows(trace.item_id).all()


def test_teaching_rows_from_elsewhere_are_never_tested_on():
    """There the judge is always right; here its verdicts are coins."""
    here = sure_trace(60, 0.5, seed=1)
    elsewhere = replace(
        sure_trace(900, 1.0, seed=2), item_id=np.array([f"x{i}" for i in range(900)])
    )
    gate = FusedGate(alpha=0.2).fit(here, train=elsewhere)
    assert not gate.certificate_.certified
    sample = prepared_by(gate, here)
    assert sample.also_tested is None
    broken = replace(sample, also_tested=np.ones(sample.taught.n, dtype=bool))
    assert Fused().certify(broken, 0.2, 0.05).certified


def test_the_pool_is_a_stranger_to_the_teaching_rows():
    trace = make_trace(400)
    teaching, _ = split_teaching(trace, 4)
    unlabelled = replace(teaching, labels=np.full(len(teaching), -1))
    with pytest.raises(InputError, match="taught the fusion"):
        FusedGate().fit(trace, pool=unlabelled)
    tied = replace(
        unlabelled,
        item_id=np.array([f"p{i}" for i in range(len(teaching))]),
        group=teaching.item_id,
    )
    grouped = replace(trace, group=trace.item_id)
    assert FusedGate().fit(grouped, pool=tied).n_pool_ == 0


def test_modes_that_the_teaching_rows_chose_are_not_tested_on_them():
    trace = make_trace(400, modes=10)
    gate = FusedGate(alpha=0.2).fit(trace)
    assert len(gate.router_.modes_) == 9
    _, rest = split_teaching(trace, 20)
    assert prepared_by(gate, rest).also_tested is None


@pytest.fixture(scope="module")
def fused_files(tmp_path_factory):
    """A fused gate, what it was calibrated on, and fresh items with their outcomes."""
    folder = tmp_path_factory.mktemp("fused")
    for name, seed in (("cal", 0), ("new", 1)):
        table = make_trace(700, seed=seed, skill=0.95).to_frame()
        table["item_id"] = name + table["item_id"].astype(str)
        table.to_csv(folder / f"{name}.csv", index=False)
    files = {"cal": folder / "cal.csv", "new": folder / "new.csv", "gate": folder / "gate.json"}
    assert run("calibrate", files["cal"], "--fuse", "--alpha", "0.2", "-o", files["gate"]) == 0
    files["outcomes"] = folder / "outcomes.csv"
    assert run("decide", files["gate"], files["new"], "-o", files["outcomes"]) == 0
    return files


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ("report {outcomes} --gate {gate}", 0, "Promise"),
        ("check {gate} {cal} {new} --permutations 99", None, "scores of fused"),
        ("watch {gate} {outcomes}", 0, "promised rate"),
        ("explain {gate}", 0, "a probability from confidence:mode1, confidence:mode2"),
        ("sql {gate}", 2, "load these into the database"),
        ("plot risk-coverage {new} --gate {gate} -o {folder}/rc.png", 0, "written"),
        ("plot plane {new} --gate {gate} -o {folder}/plane.png", 2, "the plane shows two modes"),
        ("page {gate} {new} -o {folder}/p.html --calibration {cal}", 0, "700 items"),
        ("rate {new} --gate {gate}", 0, "700 rows, 700 labels"),
        ("rate {cal} --gate {gate}", 0, "items taught the fusion"),
        ("rate {outcomes}", 0, "700 rows, 700 labels"),
    ],
)
def test_every_command_takes_a_fused_gate_or_says_why_not(
    fused_files, capsys, command, code, words
):
    folder = fused_files["gate"].parent
    capsys.readouterr()
    returned = run(*command.format(folder=folder, **fused_files).split())
    said = " ".join("".join(capsys.readouterr()).split())
    assert words in said
    assert returned == code or code is None


def test_rows_that_taught_are_marked_in_outcomes_and_left_out_of_rates(fused_files, capsys):
    outcomes = fused_files["gate"].parent / "own.csv"
    assert run("decide", fused_files["gate"], fused_files["cal"], "-o", outcomes) == 0
    table = pd.read_csv(outcomes)
    assert table["calibrated_on"].all()
    assert table["taught_fusion"].sum() == 109
    capsys.readouterr()
    assert run("rate", outcomes) == 0
    assert "591 rows, 591 labels" in " ".join("".join(capsys.readouterr()).split())


def test_flips_between_modes_columns_orders_and_samples():
    from riskjudge.items import Item
    from riskjudge.judges import FunctionJudge, Judgement, PairwiseTrial, first_slot, judge_items
    from riskjudge.ledger.traces import to_trace

    pairs = [Item(f"q{k}", "?", ("long", "x")) for k in range(3)]
    trace = to_trace(
        judge_items([PairwiseTrial(first_slot())], pairs), uncertainty="preference_entropy"
    )
    (own,) = parse_signals([f"flips:{trace.modes[0]}"], trace)
    assert own.values(trace).tolist() == [
        0.5,
        0.5,
        0.5,
    ]  # asked in both orders, the first slot wins
    assert own.modes(trace.modes) == trace.modes

    def sampled(item):
        answers = [True, True, item.id == "q0", None]
        return Judgement(BooleanVerdict(True), 0.75, {"samples": answers})

    items = [Item(f"q{k}", "?", ("x",)) for k in range(3)]
    trace = to_trace(judge_items([FunctionJudge("s", sampled)], items))
    assert trace.extra["flips1"].tolist() == [0.25, 0.5, 0.5]
    once = FunctionJudge("o", lambda item: Judgement(BooleanVerdict(True), 0.75))
    assert "flips1" not in to_trace(judge_items([once], items)).extra

    frame = make_trace(4).to_frame().assign(ab=["a", "b", None, "a"], ba=["a", "a", "a", 1.0])
    trace = Trace.from_frame(frame)
    (between,) = parse_signals(["flips:ab,ba"], trace)
    assert np.array_equal(between.values(trace), [0.0, 0.5, np.nan, 0.5], equal_nan=True)
    assert between.modes(trace.modes) == ()
    with pytest.raises(InputError, match="needs the column 'flips1'"):
        parse_signals(["flips:mode1"], trace)[0].values(trace)
    with pytest.raises(InputError, match="needs the mode 'ab'"):
        parse_signals(["flips:ab"], trace)[0].values(trace)


def test_what_decisions_cost_is_in_the_report(fused_files, capsys):
    folder = fused_files["gate"].parent
    gate, outcomes = folder / "priced.json", folder / "priced.csv"
    calibrate = ("calibrate", fused_files["cal"], "--fuse", "--alpha", "0.2", "--no-registry")
    assert run(*calibrate, "--cost", "confidence:mode1=2", "--unit", "calls", "-o", gate) == 0
    capsys.readouterr()
    assert run("decide", gate, fused_files["new"], "-o", outcomes, "--json") == 0
    decided = json.loads(capsys.readouterr().out)
    cost = decided["cost"]["calls"]
    assert (cost["total"], cost["an_item"]) == (1400.0, 2.0)
    assert cost["an_accepted_verdict"] == pytest.approx(1400 / decided["whole"]["accepted"])
    assert run("report", outcomes, "--gate", gate, "--json") == 0
    assert json.loads(capsys.readouterr().out)["cost"] == decided["cost"]
    assert run("report", outcomes, "--gate", gate) == 0
    assert "cost in calls" in capsys.readouterr().out
    assert run("report", outcomes, "--json") == 0
    assert json.loads(capsys.readouterr().out)["cost"] is None


def test_the_cost_is_that_of_the_stage_that_was_asked():
    """A first stage that no rule uses is paid for all the same by whoever comes to the second."""
    rng = np.random.default_rng(3)
    label = rng.integers(0, 2, 1500)
    u = np.column_stack((np.full(1500, 0.5), rng.uniform(0, 0.2, 1500)))
    wrong = rng.random((1500, 2)) < u
    trace = Trace.from_arrays(u, (label[:, None] ^ wrong).astype(int), label)
    prices = {"verdict:mode1": Cost(money=1.0), "verdict:mode2": Cost(money=9.0)}
    signals = parse_signals(["modes:mode1", "modes:mode2@2"], trace, prices)
    gate = FusedGate(alpha=0.1, signals=signals, staged=True).fit(trace)
    assert list(gate.router_.rule_.used) == [False, True]
    assert gate.mean_cost(gate.decide(trace)).money == pytest.approx(10.0)
