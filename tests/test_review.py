"""What was left to people: everything that was not accepted, in the order asked for, with its reason."""

import json

import numpy as np
import pandas as pd
import pytest

import riskjudge
from riskjudge import InputError, Router, Trace
from riskjudge.evaluation.review import review_queue
from riskjudge.gate.grouped import GroupedGate
from riskjudge.page.gates import thresholds_for
from riskjudge.signals import FusedGate


@pytest.fixture(scope="module")
def items():
    frame = riskjudge.demo_trace().to_frame()
    frame["topic"] = np.where(np.arange(len(frame)) % 2, "odd", "even")
    frame["question"] = "why, and how?"
    frame["why"] = "a column of the user's"
    frame["why2"] = None
    frame.loc[:4, ["v2", "u2", "why2"]] = [None, None, "timeout"]
    frame.loc[5:7, ["v1", "u1", "v2", "u2"]] = None
    frame.loc[5:7, "why2"] = "undecided"
    return Trace.from_frame(frame)


@pytest.fixture(scope="module")
def gate(items):
    return Router(0.1).fit(items)


def test_every_item_is_accepted_or_in_the_queue(items, gate):
    outcomes = gate.decide(items)
    queue = review_queue(outcomes)
    left = set(outcomes.item_id[~outcomes.accepted])
    assert set(queue["item_id"]) == left
    assert len(queue) == len(left)
    assert queue["why"].notna().all()
    assert set(queue["why"]) >= {"too unsure to accept", "the judge found no preference"}
    assert set(queue["trace_why"]) == {"a column of the user's"}


def test_the_least_sure_come_first_and_those_without_a_score_last(items, gate):
    queue = review_queue(gate.decide(items))
    known = queue["uncertainty"].dropna()
    assert known.is_monotonic_decreasing
    assert known.index.tolist() == list(range(len(known)))
    assert 0 < len(known) < len(queue)
    assert queue["mode"].isna().equals(queue["uncertainty"].isna())


@pytest.mark.parametrize(
    "kind", [Router(0.1), Router(0.1, by_verdict=True, procedure="portfolio"),
             GroupedGate(Router(0.15), "topic", 100), FusedGate(0.1)],
    ids=["router", "by_verdict", "grouped", "fused"],
)  # fmt: skip
def test_the_nearest_missed_their_threshold_by_least(items, kind):
    fresh = items.rows(np.arange(1000, 2000))
    gate = kind.fit(items.rows(np.arange(1000)))
    outcomes = gate.decide(fresh)
    thresholds = thresholds_for(gate, outcomes)
    queue = review_queue(outcomes, "nearest", thresholds)
    missed = (queue["uncertainty"] - queue["threshold"]).dropna()
    assert len(missed)
    assert (missed > 0).all()
    assert missed.is_monotonic_increasing
    accepted = outcomes.accepted
    assert (outcomes.readings.uncertainty[accepted] <= thresholds[accepted]).all()


def test_the_command(items, gate, tmp_path, command):
    gate.save(tmp_path / "g.json")
    items.to_frame().to_csv(tmp_path / "t.csv", index=False)
    command("decide", tmp_path / "g.json", tmp_path / "t.csv", "-o", tmp_path / "o.csv")
    code, out, err = command("review", tmp_path / "o.csv", "-o", tmp_path / "q.jsonl", "--limit", 2)
    assert code == 0
    assert "too unsure to accept" in out
    assert "why, and how?" in out
    queue = pd.read_json(tmp_path / "q.jsonl", lines=True)
    assert f"{len(queue)} items written" in err
    data = json.loads(command("review", tmp_path / "o.csv", "--limit", 3, "--json")[1])
    assert (data["items"], len(data["rows"])) == (len(queue), 3)
    nearest = ("review", tmp_path / "o.csv", "--order", "nearest")
    assert command(*nearest, "--gate", tmp_path / "g.json")[0] == 0
    for refused, said in (
        (nearest, "needs the gate"),
        (("review", tmp_path / "o.csv", "--order", "random"), "least-sure, nearest"),
        (("review", tmp_path / "t.csv"), "no column 'status'"),
        (("review", tmp_path / "o.csv", "-o", tmp_path / "o.csv"), "is an input"),
    ):
        code, out, err = command(*refused)
        assert (code, out) == (2, "")
        assert said in err


def test_outcomes_without_scores_are_refused(items, gate):
    outcomes = gate.decide(items)
    from dataclasses import replace

    with pytest.raises(InputError, match="decide the items again"):
        review_queue(replace(outcomes, readings=None))


def test_an_empty_queue_is_a_queue(items):
    assert len(review_queue(Router().decide(items.rows(np.arange(100, 200))))) == 0
