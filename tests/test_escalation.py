"""Certified cascades against accepting everything and against thresholds that nobody calibrated."""

import json

import numpy as np
import pandas as pd
import pytest

from riskjudge import InputError, Router, Trace
from riskjudge.cli import main
from riskjudge.evaluation.escalation import (
    ACCEPT_ALL,
    CERTIFIED,
    FIXED,
    FIXED_ALL,
    compare_escalation,
    escalation_table,
)
from riskjudge.plots import EscalationDisplay

COSTS = {"cheap": 1.0, "dear": 10.0}


def trace(n=600, seed=0, confident_liar=False):
    """A cheap judge and a dear one; the cheap one may be sure of itself and at chance."""
    rng = np.random.default_rng(seed)
    u = rng.random((n, 2)).round(2)
    label = rng.integers(0, 2, n)
    chance = np.column_stack((np.full(n, 0.5) if confident_liar else 0.5 * u[:, 0], 0.2 * u[:, 1]))
    if confident_liar:
        u[:, 0] *= 0.1
    verdict = label[:, None] ^ (rng.random((n, 2)) < chance)
    return Trace.from_arrays(u, verdict, label, modes=list(COSTS))


def only(found, kind):
    (strategy,) = found.of(kind)
    return strategy


def test_counts_and_costs_by_hand():
    u = np.array([[0.1, 0.1], [0.6, 0.2], [0.7, 0.9], [np.nan, 0.3], [0.2, np.nan]])
    verdict = np.array([[1, 1], [0, 1], [0, 0], [-1, 0], [1, -1]])
    label = np.array([1, 1, 1, 1, 0])
    table = Trace.from_arrays(u, verdict, label, modes=list(COSTS))
    found = compare_escalation(table, COSTS, alphas=[], thresholds=[0.5], folds=2)
    cheap, dear = found.of(ACCEPT_ALL)
    assert (cheap.accepted, cheap.errors, cheap.cost) == (4, 3, 5.0)
    assert (dear.accepted, dear.errors, dear.cost) == (4, 2, 50.0)
    fixed = only(found, FIXED)
    # Accepted: 0 by the cheap one, 1 and 3 by the dear one, 4 by the cheap one; 2 by none.
    assert (fixed.accepted, fixed.errors, dict(fixed.calls)) == (4, 2, {"cheap": 5, "dear": 3})
    assert fixed.cost_per_accepted == 35.0 / 4
    last = only(found, FIXED_ALL)
    assert (last.accepted, last.errors, last.cost) == (5, 3, 35.0)


def test_no_item_is_decided_by_a_gate_that_saw_its_label(monkeypatch):
    seen = []
    fit = Router.fit

    def spied(self, part, pool=None):
        seen.append(set(part.item_id))
        return fit(self, part, pool)

    monkeypatch.setattr(Router, "fit", spied)
    table = trace()
    found = compare_escalation(table, COSTS, alphas=[0.2], thresholds=[], folds=4)
    assert len(seen) == 4
    held = [set(table.item_id) - part for part in seen]
    assert sorted(map(len, held)) == [150] * 4
    assert set.union(*held) == set(table.item_id)
    assert only(found, CERTIFIED).items == 600


def test_groups_stay_together_and_the_order_of_rows_does_not_matter():
    frame = trace().to_frame().assign(group=[f"g{i // 2}" for i in range(600)])
    table = Trace.from_frame(frame)
    gate = Router(groups="sample")
    asked = {"gate": gate, "alphas": [0.2], "thresholds": [0.3]}
    one = compare_escalation(table, COSTS, **asked)
    shuffled = Trace.from_frame(frame.sample(frac=1, random_state=1))
    assert compare_escalation(shuffled, COSTS, **asked).to_dict() == one.to_dict()


def test_calibration_leaves_out_a_judge_that_is_sure_and_wrong():
    """The rule that nobody calibrated believes it; the certified cascade pays for the other."""
    found = compare_escalation(
        trace(confident_liar=True), COSTS, alphas=[0.2], thresholds=[0.2], folds=5
    )
    assert only(found, FIXED).risk.low > 0.4
    certified = only(found, CERTIFIED)
    assert certified.risk.high < 0.2
    assert certified.calls["cheap"] == 0
    assert certified.coverage.value > 0.8


def test_where_nothing_certifies_nobody_is_asked_and_nothing_is_a_number():
    table = trace(60)
    found = compare_escalation(table, COSTS, alphas=[0.01], thresholds=[], folds=2)
    certified = only(found, CERTIFIED)
    assert (certified.accepted, certified.cost) == (0, 0.0)
    assert certified.risk.value is certified.cost_per_accepted is None
    assert "undefined" in escalation_table(found).to_markdown()
    json.dumps(found.to_dict(), allow_nan=False)
    display = EscalationDisplay.from_escalation(found)
    assert certified not in display.strategies
    assert "not drawn: certified alpha 0.01" in display.details


@pytest.mark.parametrize(
    ("costs", "options", "said"),
    [
        ({"cheap": 1}, {}, "what does a verdict of 'dear' cost"),
        ({**COSTS, "other": 1}, {}, "no mode 'other'"),
        ({**COSTS, "dear": -1}, {}, "a cost is a number"),
        ({**COSTS, "dear": float("nan")}, {}, "a cost is a number"),
        (COSTS, {"folds": 1}, "folds"),
        (COSTS, {"folds": 61}, "have 60"),
        (COSTS, {"alphas": [1.5]}, "alpha"),
        (COSTS, {"thresholds": [float("nan")]}, "threshold"),
    ],
)
def test_wrong_settings_are_named(costs, options, said):
    with pytest.raises(InputError, match=said):
        compare_escalation(trace(60), costs, **options)


def test_scores_within_a_tolerance_escalate_too():
    from riskjudge import Grading

    rng = np.random.default_rng(0)
    u = rng.random((400, 2)).round(2)
    label = rng.integers(1, 6, 400)
    off = np.where(rng.random((400, 2)) < 0.3 * u, 2, 0)
    score = np.where(label[:, None] + off > 5, label[:, None] - off, label[:, None] + off)
    frame = pd.DataFrame(
        {"item_id": range(400), "label": label, "v1": score[:, 0], "u1": u[:, 0], "v2": score[:, 1],
         "u2": u[:, 1]}
    )  # fmt: skip
    table = Trace.from_frame(frame, grading=Grading(1, 5, tolerance=1))
    found = compare_escalation(table, {"mode1": 1, "mode2": 2}, alphas=[0.2], thresholds=[])
    assert found.of(ACCEPT_ALL)[0].errors == int((off[:, 0] > 0).sum())
    assert only(found, CERTIFIED).accepted > 0


def run(*arguments):
    with pytest.raises(SystemExit) as done:
        main(list(map(str, arguments)))
    return done.value.code


def test_the_command_draws_and_prints(tmp_path, capsys):
    trace(300).to_frame().to_csv(tmp_path / "t.csv", index=False)
    costs = ("--cost", "cheap=1", "--cost", "dear=10")
    asked = ("plot", "escalation", tmp_path / "t.csv", *costs, "--alphas", "0.2", "--folds", "2")
    again = tmp_path / "e.svg"
    assert run(*asked, "-o", again) == 0
    assert "Accept, escalate or leave it" in capsys.readouterr().out
    assert "certified cascade" in again.read_text() or again.stat().st_size > 10_000
    assert run("plot", "escalation", tmp_path / "t.csv", "-o", again) == 2
    assert run(*asked, "--cost", "dear", "-o", again) == 2
    free = ("--cost", "cheap=0", "--cost", "dear=0")
    assert run("plot", "escalation", tmp_path / "t.csv", *free, "-o", again) == 2
