"""Numeric scores: a cut or a tolerance, from the table to the gate, the outcomes and the report."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskjudge import InputError, Router, Trace
from riskjudge.audit.resample import TraceWorld
from riskjudge.calibration import Sample
from riskjudge.cli import main
from riskjudge.data.grading import Grading
from riskjudge.evaluation import summarize
from riskjudge.gate import load_gate
from riskjudge.gate.outcomes import Outcomes, read_outcomes
from riskjudge.io.tables import write_table
from riskjudge.monitor import check_drift
from riskjudge.rates.sample import RateSample
from riskjudge.signals.builtin import parse_signals
from riskjudge.signals.fusion import fit_fusion


def table(n=900, seed=0, scale=(1, 5), step=0.5):
    """A judge whose score is off by two units with probability u / 2, else by at most half a step."""
    rng = np.random.default_rng(seed)
    low, high = scale
    label = rng.integers(0, round((high - low) / step) + 1, n) * step + low
    u = rng.random(n).round(2)
    off = np.where(rng.random(n) < 0.5 * u, 0.5 * (high - low) * rng.choice([-1, 1], n), 0.0)
    score = np.where((label + off > high) | (label + off < low), label - off, label + off)
    ids = [f"i{k}" for k in range(n)]
    return pd.DataFrame({"item_id": ids, "v1": score.round(9), "u1": u, "label": label.round(9)})


@pytest.mark.parametrize("scale", [(0, 1), (1, 5), (1, 10), (-1, 1)])
def test_errors_with_a_tolerance_are_counted_on_the_numbers(scale):
    step = (scale[1] - scale[0]) / 10
    frame = table(scale=scale, step=step)
    grading = Grading(*scale, tolerance=2 * step)
    trace = Trace.from_frame(frame, grading=grading)
    # In tenths of the scale, so that the comparison is exact.
    tenths = np.rint(((frame.v1 - frame.label) / step).abs())
    np.testing.assert_array_equal(trace.wrong[:, 0], tenths > 2)
    gate = Router(0.2).fit(trace)
    certificate = gate.certificate_
    accepted = trace.scores[:, 0] <= certificate.thresholds["mode1"]
    assert certificate.certified
    outcomes = gate.decide(trace)
    np.testing.assert_array_equal(outcomes.accepted, accepted)
    np.testing.assert_array_equal(outcomes.wrong, accepted & (tenths > 2))
    assert summarize(outcomes).whole.fdr.count == int((accepted & (tenths > 2)).sum())
    np.testing.assert_allclose(
        outcomes.to_frame()["verdict"].astype(float)[accepted], frame.v1[accepted], rtol=0, atol=0
    )


@pytest.mark.parametrize(
    ("verdict", "label", "tolerance", "wrong"),
    [
        (0.9, 0.7, 0.2, False),  # 0.9 - 0.7 is a little more than 0.2 in floats
        (0.3, 0.1, 0.2, False),
        (0.7, 0.4, 0.2, True),
        (0.5, 0.5, 0.0, False),
        (0.5, 0.500000001, 0.0, True),
        (0.0, 0.1, 0.1, False),
    ],
)
def test_a_distance_of_the_tolerance_is_no_error(verdict, label, tolerance, wrong):
    frame = pd.DataFrame({"item_id": ["a"], "v1": [verdict], "u1": [0.1], "label": [label]})
    trace = Trace.from_frame(frame, grading=Grading(0, 1, tolerance=tolerance))
    assert trace.wrong.tolist() == [[wrong]]


@given(st.floats(-5, 5), st.floats(0.1, 10))
def test_scores_come_back_as_they_were_written(low, length):
    low, high = round(low, 3), round(low + length, 3)
    grading = Grading(low, high, tolerance=0)
    scores = np.linspace(low, high, 7).round(9).clip(low, high)
    np.testing.assert_array_equal(grading.scores(grading.codes(scores)), scores)


def test_a_missing_score_is_never_right():
    sample = Sample(np.array([[0.1]]), np.array([[-1]]), np.array([0]), ("judge",), reach=10**9)
    assert sample.errors.tolist() == [[True]]


@pytest.mark.parametrize(("cut", "labels"), [(3, "numbers"), (3.5, "numbers"), (3, "flags")])
def test_a_cut_makes_verdicts_like_any_other(cut, labels):
    frame = table(step=0.25)
    plain = frame.assign(v1=(frame.v1 >= cut).astype(int), label=(frame.label >= cut).astype(int))
    graded = frame if labels == "numbers" else frame.assign(label=frame.label >= cut)
    trace = Trace.from_frame(graded, grading=Grading(1, 5, cut=cut))
    for by_verdict in (False, True):
        one = Router(0.2, by_verdict=by_verdict).fit(trace).certificate_
        other = Router(0.2, by_verdict=by_verdict).fit(Trace.from_frame(plain)).certificate_
        assert one.thresholds == other.thresholds
        assert (one.errors, one.accepted) == (other.errors, other.accepted)


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("v1", 5.5, "row 3, v1: 5.5 is not a score from 1 to 5"),
        ("label", 0, "row 3, label: .* is not a score from 1 to 5"),
        ("v1", float("inf"), "row 3, v1: inf is not a finite number"),
        ("label", "good", "row 3, label: 'good' is not a number"),
        ("v1", True, "row 3, v1: True is not a number"),
    ],
)
def test_what_is_off_the_scale_is_named_with_its_row(column, value, said):
    frame = table(10).astype({column: object})
    frame.loc[2, column] = value
    with pytest.raises(InputError, match=said):
        Trace.from_frame(frame, grading=Grading(1, 5, tolerance=1))


def test_a_number_without_a_scale_is_refused_with_a_hint():
    frame = table(10)
    frame["v1"] = 1
    frame["label"] = 0.7
    with pytest.raises(InputError, match=r"0\.7 is not 0, 1, true or false; .*--scale"):
        Trace.from_frame(frame)
    with pytest.raises(InputError, match=r"'yes!' is not 0, 1, true or false$"):
        Trace.from_frame(frame.assign(label="yes!"))


@pytest.mark.parametrize(
    "settings",
    [
        {"low": 1, "high": 5},
        {"low": 1, "high": 5, "cut": 3, "tolerance": 1},
        {"low": 5, "high": 1, "cut": 3},
        {"low": 1, "high": 1, "tolerance": 0},
        {"low": 1, "high": 5, "cut": 1},
        {"low": 1, "high": 5, "cut": 6},
        {"low": 1, "high": 5, "tolerance": -1},
        {"low": 1, "high": 5, "tolerance": 4},
        {"low": 1, "high": 5, "tolerance": float("nan")},
        {"low": 0, "high": float("inf"), "cut": 3},
        {"low": 0, "high": 1e9, "cut": 3},
        {"low": "1", "high": 5, "cut": 3},
        {"low": True, "high": 5, "cut": 3},
    ],
)
def test_gradings_that_mean_nothing_are_refused(settings):
    with pytest.raises(InputError):
        Grading(**settings)


@pytest.mark.parametrize("text", ["5", "1-", "a-b", "1-5-9", "1.2.3-5", ""])
def test_scales_are_written_low_to_high(text):
    with pytest.raises(InputError, match="LOW-HIGH"):
        Grading.parse(text, cut=3)
    assert Grading.parse("-1:1", cut=0).low == -1


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_files_hold_the_numbers_and_how_they_are_graded(tmp_path, ending):
    frame = table(200)
    frame.loc[5, "v1"] = np.nan
    frame.loc[6, "label"] = np.nan
    trace = Trace.from_frame(frame, grading=Grading(1, 5, tolerance=0.5))
    path = tmp_path / f"trace.{ending}"
    write_table(trace.to_frame(), path)
    from riskjudge import read_trace

    back = read_trace(path)
    assert back.fingerprint() == trace.fingerprint()
    with pytest.raises(InputError, match=r"holds scores .* not scores"):
        read_trace(path, grading=Grading(1, 5, tolerance=1))

    outcomes = Router(0.25).fit(trace).decide(trace)
    path = tmp_path / f"outcomes.{ending}"
    write_table(outcomes.to_frame(), path)
    again = read_outcomes(path)
    np.testing.assert_array_equal(again.wrong, outcomes.wrong)
    np.testing.assert_array_equal(again.verdict, outcomes.verdict)
    assert summarize(again).to_dict() == summarize(outcomes).to_dict()
    assert "grading" not in again.extra.columns


def test_a_gate_refuses_verdicts_that_were_made_otherwise(tmp_path):
    frame = table()
    cut = Grading(1, 5, cut=3)
    gate = Router(0.2).fit(Trace.from_frame(frame, grading=cut))
    gate.save(tmp_path / "gate.json")
    gate = load_gate(tmp_path / "gate.json")
    assert gate.grading_ == cut
    plain = frame.assign(v1=1, label=0)
    others = [
        Trace.from_frame(frame, grading=Grading(1, 5, cut=4)),
        Trace.from_frame(frame, grading=Grading(1, 5, tolerance=1)),
        Trace.from_frame(frame, grading=Grading(1, 10, cut=3)),
        Trace.from_frame(plain),
    ]
    for trace in others:
        with pytest.raises(InputError, match="the gate: scores from 1 to 5, cut at 3; these items"):
            gate.decide(trace)
        with pytest.raises(InputError, match="the gate: "):  # no way around it
            gate.decide(trace, on_mismatch="uncertify")
    with pytest.raises(InputError, match="verdicts 0 or 1; these items: scores"):
        Router(0.2, procedure="pointwise").fit(
            Trace.from_frame(frame.assign(v1=(frame.v1 > 3) * 1, label=(frame.label > 3) * 1))
        ).decide(others[0])
    with pytest.raises(InputError, match="the pool"):
        Router(0.2).fit(others[0], others[1].rows(np.arange(0)))


def test_what_needs_verdicts_of_two_kinds_says_so():
    trace = Trace.from_frame(table(), grading=Grading(1, 5, tolerance=0.5))
    gate = Router(0.2).fit(trace)
    refusals = [
        lambda: Router(0.2, by_verdict=True).fit(trace),
        lambda: Router(0.2, alpha_pass=0.1).fit(trace),
        lambda: TraceWorld.from_trace(trace),
        lambda: RateSample.from_trace(trace),
        lambda: RateSample.from_outcomes(gate.decide(trace)),
        lambda: fit_fusion(trace, parse_signals(["modes"], trace)),
    ]
    for refused in refusals:
        with pytest.raises(InputError, match="verdicts 0 or 1"):
            refused()
    with pytest.raises(InputError, match="SQL"):
        gate.to_sql()


def test_an_outcomes_file_whose_grading_is_damaged_is_refused():
    trace = Trace.from_frame(table(60), grading=Grading(1, 5, tolerance=0.5))
    frame = Router(0.2).decide(trace).to_frame()
    for text in ("", "{}", "[]", '{"low": 1, "high": 5}', "excellent"):
        with pytest.raises(InputError, match=r"grad|cut|is not 0, 1"):
            Outcomes.from_frame(frame.assign(grading=text))
    with pytest.raises(InputError, match="in each row"):
        Outcomes.from_frame(frame.assign(grading=[*frame.grading[:-1], "x"]))


@pytest.mark.parametrize("values", [["fine", "poor"], [1, 2], [None, 0.5]])
def test_a_column_of_the_same_name_is_carried_along(values):
    frame = pd.DataFrame({"item_id": ["a", "b"], "v1": 1, "u1": 0.1, "grading": values})
    trace = Trace.from_frame(frame)
    assert trace.grading is None
    assert trace.extra.columns.tolist() == ["grading"]
    outcomes = Router().decide(trace)
    assert Outcomes.from_frame(outcomes.to_frame()).extra.columns.tolist() == ["grading"]
    graded = Trace.from_frame(frame, grading=Grading(0, 1, tolerance=0.1))
    again = Outcomes.from_frame(Router().decide(graded).to_frame())
    assert again.extra.columns.tolist() == ["trace_grading"]
    assert again.grading == graded.grading


def run(*arguments):
    with pytest.raises(SystemExit) as done:
        main(list(map(str, arguments)))
    return done.value.code


@pytest.mark.parametrize("how", [("--cut", "3"), ("--tolerance", "0.5")])
def test_the_commands_carry_it_through(tmp_path, capsys, how):
    table(seed=1).to_csv(tmp_path / "old.csv", index=False)
    table(seed=2).drop(columns="label").to_csv(tmp_path / "new.csv", index=False)
    gate, out = tmp_path / "gate.json", tmp_path / "out.csv"
    graded = ("--scale", "1-5", *how)
    assert run("calibrate", tmp_path / "old.csv", "--alpha", "0.2", *graded, "-o", gate) == 0
    assert "on the" in capsys.readouterr().out
    # The gate knows how its scores are graded; the flags may say it again, and must agree.
    assert run("decide", gate, tmp_path / "new.csv", "-o", out) == 0
    assert run("decide", gate, tmp_path / "new.csv", *graded) == 0
    assert run("decide", gate, tmp_path / "new.csv", "--scale", "1-5", "--cut", "4") == 2
    capsys.readouterr()
    assert run("report", out, "--json") == 0
    assert json.loads(capsys.readouterr().out)["whole"]["items"] == 900
    old, html = tmp_path / "old.csv", tmp_path / "p.html"
    page = ("--gate", gate, "--html", html, "--calibration", old)
    assert run("report", out, *page) == 0
    assert run("page", gate, tmp_path / "new.csv", "-o", html) == 0
    assert ("scored each" in html.read_text("utf-8")) is (how[0] == "--tolerance")
    assert run("sweep", tmp_path / "old.csv", *graded, "--splits", "2", "--alphas", "0.2") == 0
    assert run("calibrate", tmp_path / "old.csv", *how) == 2
    assert "--scale" in capsys.readouterr().err


def test_commands_that_need_verdicts_take_a_cut(tmp_path, capsys):
    table(400, seed=1).to_csv(tmp_path / "t.csv", index=False)
    cut = ("--scale", "1-5", "--cut", "3")
    assert run("rate", tmp_path / "t.csv", *cut, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert "corrected" in json.dumps(told)
    gate = tmp_path / "gate.json"
    assert run("calibrate", tmp_path / "t.csv", "--alpha", "0.3", *cut, "-o", gate) == 0
    assert run("rate", tmp_path / "t.csv", "--gate", gate) == 0
    fused = ("-o", tmp_path / "f.csv", "--fusion", tmp_path / "f.json", *cut)
    assert run("fuse", tmp_path / "t.csv", *fused) == 0
    assert run("plan", "--pilot", tmp_path / "t.csv", "--replicates", "0", *cut) == 0
    capsys.readouterr()
    assert run("rate", tmp_path / "t.csv") == 2
    assert "--scale" in capsys.readouterr().err


def test_a_drift_check_compares_numbers_as_numbers():
    grading = Grading(1, 5, tolerance=0.5)
    old = Trace.from_frame(table(600, seed=1), grading=grading)
    gate = Router(0.3).fit(old)
    new = table(600, seed=2).assign(item_id=[f"n{k}" for k in range(600)])
    same = check_drift(gate, old, Trace.from_frame(new, grading=grading), labels=True)
    assert str(same.answer) == "consistent"
    assert {"verdicts of mode1", "errors of mode1"} <= {c.what for c in same.comparisons}
    harsher = new.assign(v1=(new["v1"] - 1.0).clip(1, 5))
    found = check_drift(gate, old, Trace.from_frame(harsher, grading=grading), labels=True)
    assert {"verdicts of mode1", "errors of mode1"} <= set(found.changed)
    assert "labels" not in found.changed
    with pytest.raises(InputError, match="the gate: scores"):
        check_drift(gate, old, Trace.from_frame(new, grading=Grading(1, 5, tolerance=1)))


@pytest.mark.parametrize("procedure", ["hybrid", "bonferroni", "fixed_sequence", "learned"])
def test_a_certificate_with_a_tolerance_is_that_of_the_same_errors(procedure):
    """Procedures see scores and errors: verdicts that err on the same items give the same promise."""
    frame = table(800, seed=3)
    trace = Trace.from_frame(frame, grading=Grading(1, 5, tolerance=0.5))
    label = np.random.default_rng(0).integers(0, 2, len(frame))
    same = frame.assign(v1=np.where(trace.wrong[:, 0], 1 - label, label), label=label)
    one, other = (
        Router(0.2, procedure=procedure).fit(t).certificate_
        for t in (trace, Trace.from_frame(same))
    )
    assert (one.thresholds, one.errors, one.accepted, one.upper_bound) == (
        other.thresholds, other.errors, other.accepted, other.upper_bound
    )  # fmt: skip


def test_gates_read_a_table_of_numbers_as_they_were_fitted():
    from riskjudge.gate.grouped import GroupedGate

    frame = table().assign(topic=["x", "y", "z"] * 300)
    trace = Trace.from_frame(frame, grading=Grading(1, 5, tolerance=0.5))
    for gate in (Router(0.3).fit(trace), GroupedGate(Router(0.3), "topic").fit(trace)):
        np.testing.assert_array_equal(gate.decide(frame).wrong, gate.decide(trace).wrong)
