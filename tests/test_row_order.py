"""Same rows, same answer: the order of a file chooses nothing that is drawn at random."""

import json

import numpy as np
import pandas as pd
import pytest

from riskjudge.calibration import PROCEDURES
from riskjudge.data.trace import Trace
from riskjudge.evaluation import summarize, sweep
from riskjudge.gate import Router, SelectiveGate
from riskjudge.monitor import check_drift


def table(n=700, seed=3, *, groups=None, unlabelled=0):
    """A table whose ids are not in order, and of several lengths."""
    rng = np.random.default_rng(seed)
    scores = rng.random((n, 2))
    label = rng.integers(0, 2, n)
    verdict = label[:, None] ^ (rng.random((n, 2)) < np.array([0.4, 0.25]) * scores)
    frame = pd.DataFrame(
        {
            "item_id": [f"q{i}" for i in rng.permutation(n)],
            "label": pd.array(label, dtype="Int64"),
            "v1": verdict[:, 0],
            "u1": scores[:, 0],
            "v2": verdict[:, 1],
            "u2": scores[:, 1],
        }
    )
    frame.loc[: unlabelled - 1, "label"] = pd.NA
    return frame if groups is None else frame.assign(group=rng.integers(0, groups, n))


def orders(frame):
    """The table as it is, turned round, sorted by score, and shuffled."""
    yield frame
    yield frame.iloc[::-1]
    yield frame.sort_values("u1")
    yield frame.sample(frac=1, random_state=1)


def answer(gate, frame, pool=None):
    """Certificate, notes and report of a fit, as the bytes of their JSON."""
    trace = Trace.from_frame(frame)
    gate = gate.fit(trace, None if pool is None else Trace.from_frame(pool))
    outcomes = gate.decide(trace)
    by_id = outcomes.to_frame().sort_values("item_id").drop(columns="group", errors="ignore")
    return (
        json.dumps(gate.certificate_.to_dict()),
        gate.notes_,
        gate.fingerprint_,
        json.dumps(summarize(outcomes).to_dict()),
        by_id.to_json(orient="records"),
    )


@pytest.mark.parametrize("name", sorted(PROCEDURES))
def test_every_procedure_gives_one_certificate(name):
    frame = table(unlabelled=150)
    pool = table(200, seed=9).drop(columns="label")
    pool["item_id"] = "pool-" + pool["item_id"]
    gate = Router(alpha=0.2, procedure=name)
    answers = {answer(gate, rows, pool.sample(frac=1)) for rows in orders(frame)}
    assert len(answers) == 1


@pytest.mark.parametrize("name", [None, "fixed_sequence"])
@pytest.mark.parametrize("gate", [SelectiveGate, Router])
def test_one_of_each_group_is_drawn_by_id(gate, name):
    frame = table(groups=300)
    answers = {
        answer(gate(alpha=0.25, procedure=name, groups="sample"), rows) for rows in orders(frame)
    }
    assert len(answers) == 1


@pytest.mark.parametrize("groups", [None, 200])
def test_a_sweep_draws_its_splits_by_id(groups):
    frame = table(400, groups=groups, unlabelled=50)
    gate = Router(groups="sample")
    swept = [
        sweep(Trace.from_frame(rows), gate, alphas=[0.2, 0.3], splits=4) for rows in orders(frame)
    ]
    assert swept[0].accepted.max() > 0
    for other in swept[1:]:
        for name in ("n_test", "accepted", "errors", "by_mode"):
            assert np.array_equal(getattr(swept[0], name), getattr(other, name)), name


def test_a_check_for_drift_draws_by_id():
    old, new = table(400, groups=200), table(300, seed=5, groups=150)
    gate = Router(alpha=0.25, groups="sample").fit(Trace.from_frame(old))
    answers = {
        json.dumps(check_drift(gate, Trace.from_frame(a), Trace.from_frame(b)).to_dict())
        for a, b in zip(orders(old), orders(new), strict=True)
    }
    assert len(answers) == 1


def test_the_order_is_that_of_numbers_where_ids_are_numbers():
    frame = table(120)
    frame["item_id"] = np.random.default_rng(0).permutation(120)
    assert Trace.from_frame(frame).in_order().item_id.tolist() == [str(i) for i in range(120)]
