"""A failed certificate names what would help there, and what a second try costs."""

import numpy as np
import pandas as pd
import pytest

import riskjudge
from riskjudge import Router, Trace
from riskjudge.advice import PRICE, next_steps
from riskjudge.gate.grouped import GroupedGate
from riskjudge.signals import FusedGate


def made(n, wrong_if_pass, wrong_if_fail, seed=0):
    """Verdicts whose errors depend on the verdict alone; scores say nothing."""
    rng = np.random.default_rng(seed)
    verdict = rng.integers(0, 2, n)
    wrong = rng.random(n) < np.where(verdict == 1, wrong_if_pass, wrong_if_fail)
    return Trace.from_arrays(rng.random((n, 1)), verdict[:, None], verdict ^ wrong)


def test_what_certified_needs_no_advice():
    trace = riskjudge.demo_trace()
    assert next_steps(Router(0.2).fit(trace), trace) == ()


def test_by_verdict_is_named_where_it_helps():
    trace = made(600, 0.02, 0.5)
    steps = next_steps(Router(0.1).fit(trace), trace)
    assert steps[0].startswith("A threshold for each verdict: --by-verdict certifies here")
    assert steps[-1] == PRICE
    again = Router(0.1, by_verdict=True).fit(trace).certificate_
    assert again.certified
    assert f"{100 * again.coverage:.1f} %" in steps[0]


def test_the_number_of_labels_is_named_where_they_are_too_few():
    trace = made(40, 0.0, 0.0)
    gate = Router(0.05).fit(trace)
    (labels,) = [step for step in next_steps(gate, trace) if step.startswith("More labels")]
    assert f"about {gate.certificate_.shortfall.labels_needed} new ones" in labels


@pytest.mark.parametrize("seed", range(3))
def test_the_smallest_level_in_reach_is_that(seed):
    trace = made(400, 0.2, 0.2, seed)
    gate = Router(0.05).fit(trace)
    (level,) = [step for step in next_steps(gate, trace) if step.startswith("A higher level")]
    reached = float(level.split("--alpha ")[1].split()[0])
    assert Router(reached).fit(trace).certificate_.certified
    lower = [hundredth / 100 for hundredth in range(6, round(100 * reached))]
    assert not any(Router(alpha).fit(trace).certificate_.certified for alpha in lower)


def test_where_nothing_helps_that_is_said():
    trace = made(300, 0.6, 0.6)
    (only,) = next_steps(Router(0.1).fit(trace), trace)
    assert only.startswith("Nothing that was tried helps")


def test_every_kind_of_gate_has_its_advice():
    frame = made(400, 0.2, 0.2).to_frame().assign(topic="x")
    frame.loc[::4, "topic"] = "y"
    trace = Trace.from_frame(frame)
    fused = FusedGate(0.05).fit(trace)
    grouped = GroupedGate(Router(0.05), "topic", 50).fit(trace)
    for gate in (fused, grouped):
        assert next_steps(gate, trace)[-1]
    assert next_steps(fused, trace) == next_steps(fused, trace)


def test_the_command_says_it(tmp_path, command):
    made(600, 0.02, 0.5).to_frame().to_csv(tmp_path / "t.csv", index=False)
    code, _, err = command("calibrate", tmp_path / "t.csv", "--alpha", 0.1, "--no-registry")
    assert code == 1
    assert "next: A threshold for each verdict: --by-verdict" in err
    assert "one more chance to be wrong" in err
    code, _, err = command("calibrate", tmp_path / "t.csv", "--alpha", 0.1, "--by-verdict")
    assert (code, "next:" in err) == (0, False)


# -- set aside ---------------------------------------------------------------------------------


@pytest.fixture
def labelled(tmp_path):
    frame = pd.DataFrame(riskjudge.demo_trace().to_frame())[:900]
    frame["question_id"] = [f"q{i // 3}" for i in range(900)]
    frame["text"] = "as it was"
    frame.loc[::10, "label"] = None
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def test_a_share_is_set_aside_and_the_rest_is_calibrated_on(labelled, tmp_path, command):
    gate = tmp_path / "gate.json"
    options = ("--alpha", 0.3, "--hold-out", 0.4, "-o", gate)
    code, _, err = command("calibrate", labelled, *options)
    assert code == 0
    rest = pd.read_csv(tmp_path / "gate-rest.csv")
    assert f"held out: 324 of 810 labelled items (seed 0), written to {tmp_path}" in err
    assert len(rest) == 324
    assert rest["label"].notna().all()
    assert (rest["text"] == "as it was").all()
    assert riskjudge.load_gate(gate).n_labelled_ == 810 - 324
    decided = riskjudge.load_gate(gate).decide(riskjudge.read_trace(tmp_path / "gate-rest.csv"))
    assert not decided.calibrated_on.any()
    page = ("page", gate, tmp_path / "gate-rest.csv", "-o", tmp_path / "p.html")
    assert command(*page, "--calibration", labelled)[0] == 0  # the whole table will do


def test_what_is_set_aside_hangs_on_ids_and_seed_alone(labelled, tmp_path, command):
    from riskjudge.data.hold_out import held_out

    frame = pd.read_csv(labelled)
    trace = Trace.from_frame(frame)
    held = set(trace.item_id[held_out(trace, 0.4)])
    shuffled = frame.sample(frac=1, random_state=1).assign(u1=0.5, label=1)
    shuffled.loc[frame["label"].isna(), "label"] = None
    again = Trace.from_frame(shuffled)
    assert set(again.item_id[held_out(again, 0.4)]) == held
    assert set(trace.item_id[held_out(trace, 0.4, seed=1)]) != held
    assert set(trace.item_id[held_out(trace, 0.2)]) < held


@pytest.mark.parametrize("flag", ["--by-group", "--group"])
def test_groups_stay_whole(labelled, tmp_path, command, flag):
    gate = tmp_path / "gate.json"
    options = ("--alpha", 0.3, "--hold-out", 0.4, "-o", gate, flag, "question_id")
    code, _, err = command("calibrate", labelled, *options)
    assert code == 2
    assert "--groups sample" in err
    assert not (tmp_path / "gate-rest.csv").exists()
    code, _, err = command("calibrate", labelled, *options, "--groups", "sample")
    assert "120 whole groups" in err
    rest = pd.read_csv(tmp_path / "gate-rest.csv")
    assert rest["question_id"].nunique() == 120
    assert len(rest) == 360


def test_each_kind_of_calibration_sets_aside(labelled, tmp_path, command):
    for name, more in (
        ("fused", ["--fuse"]),
        ("by", ["--by", "text"]),
        ("one", ["--only", "retrieval"]),
    ):
        gate = tmp_path / f"{name}.json"
        code, _, err = command(
            "calibrate", labelled, "--alpha", 0.3, "--hold-out", 0.25, "-o", gate, *more
        )
        assert code == 0
        assert len(pd.read_csv(tmp_path / f"{name}-rest.csv")) == 202
        assert "held out: 202 of 810" in err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--hold-out", 0.4], "--rest rest.csv"),
        (["--hold-out", 0, "--rest", "r.csv"], "between 0 and 1"),
        (["--hold-out", 1.5, "--rest", "r.csv"], "between 0 and 1"),
        (["--hold-out", 0.0001, "--rest", "r.csv"], "leaves none"),
        (["--rest", "r.csv"], "belongs to --hold-out"),
        (
            ["--hold-out", 0.4, "--rest", "r.csv", "--looks", 3, "--batch", 100],
            "do not go together",
        ),
        (["--by-group", "text", "--group", "question_id"], "name one column"),
    ],
)
def test_what_cannot_be_set_aside(labelled, tmp_path, monkeypatch, command, options, said):
    monkeypatch.chdir(tmp_path)
    code, out, err = command("calibrate", labelled, *options)
    assert (code, out) == (2, "")
    assert said in err
    assert not (tmp_path / "r.csv").exists()
    code, _, err = command("calibrate", labelled, "--hold-out", 0.4, "--rest", labelled)
    assert code == 2
    assert "is an input" in err
