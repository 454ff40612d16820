"""Whoever takes a gate from a file says what it cannot do with it, and does not promise too much."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from riskjudge.cli import main
from riskjudge.data.source import ScoreSource
from riskjudge.data.trace import Trace
from riskjudge.gate import Router
from riskjudge.gate.grouped import GroupedGate


def table(seed, n=800, model=None):
    rng = np.random.default_rng(seed)
    label, score = rng.integers(0, 2, n), rng.random(n)
    frame = pd.DataFrame({"item_id": [f"{seed}-{i}" for i in range(n)], "label": label})
    frame["v1"], frame["u1"] = label ^ (rng.random(n) < 0.3 * score), score
    frame["topic"] = np.where(np.arange(n) % 2, "a", "b")
    if model is not None:
        frame["source1"] = str(ScoreSource({"model": model}))
    return frame


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as done:
        main([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return done.value.code or 0, out, err


@pytest.fixture
def files(tmp_path):
    Router(alpha=0.2).fit(Trace.from_frame(table(0))).save(tmp_path / "unknown.json")
    Router(alpha=0.2).fit(Trace.from_frame(table(0, model="A"))).save(tmp_path / "a.json")
    grouped = GroupedGate(Router(alpha=0.2), by="topic")
    grouped.fit(Trace.from_frame(table(0))).save(tmp_path / "grouped.json")
    table(0).to_csv(tmp_path / "old.csv", index=False)
    for model in (None, "A", "B"):
        table(1, model=model).to_csv(tmp_path / f"new-{model}.csv", index=False)
    (tmp_path / "items.jsonl").write_text('{"id": "q", "prompt": "?", "responses": ["x"]}\n')
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "check grouped.json old.csv new-None.csv",
        "plot risk-coverage old.csv --gate grouped.json -o x.png",
        "rate new-None.csv --gate grouped.json",
        "calibrate new-None.csv --path grouped.json",
        "run grouped.json items.jsonl -o x.csv --model m --base-url http://127.0.0.1:9/v1",
    ],
)
def test_a_gate_for_each_group_is_refused_where_one_for_all_is_needed(
    files, monkeypatch, capsys, command
):
    monkeypatch.chdir(files)
    code, _, err = run(capsys, *command.split())
    assert (code, "for each" in err) == (2, True), err
    assert not list(files.glob("x.*"))


@pytest.mark.parametrize("command", ["decide grouped.json new-None.csv", "explain grouped.json"])
def test_a_gate_for_each_group_is_taken_where_it_can_be(files, monkeypatch, capsys, command):
    monkeypatch.chdir(files)
    assert run(capsys, *command.split())[0] == 0


def test_scores_of_another_model_are_refused_or_decided_without_a_promise(files, capsys):
    gate, other = files / "a.json", files / "new-B.csv"
    code, _, err = run(capsys, "decide", gate, other)
    assert (code, "model: 'A' in the gate, 'B' in these items" in err) == (2, True)
    code, out, err = run(capsys, "decide", gate, other, "--on-mismatch", "uncertify", "--json")
    told = json.loads(out)
    assert code == 0
    assert told["batch"] is None
    assert "no outcome is certified" in err
    assert "are wrong, with confidence" not in err
    code, out, _ = run(capsys, "decide", gate, files / "new-A.csv", "--json")
    assert json.loads(out)["batch"]["accepted"] > 0


def test_a_gate_that_does_not_know_its_scores_says_so(files, capsys):
    code, _, err = run(capsys, "decide", files / "unknown.json", files / "new-A.csv")
    assert (code, "does not record what made the scores of" in err) == (0, True)
    code, _, err = run(capsys, "decide", files / "unknown.json", files / "new-None.csv")
    assert (code, "does not record" in err) == (0, False)
    code, _, err = run(capsys, "decide", files / "a.json", files / "new-None.csv")
    assert (code, "nothing is known of what made the scores" in err) == (2, True)


def test_grouped_outcomes_do_not_depend_on_the_order_of_rows(files):
    gate = GroupedGate(Router(alpha=0.2), by="topic")
    frame = table(0)
    certificates = set()
    for rows in (frame, frame.iloc[::-1], frame.sample(frac=1, random_state=1)):
        fitted = replace(Trace.from_frame(rows))
        parts = gate.fit(fitted).all_gates
        certificates.add(json.dumps({n: g.certificate_.to_dict() for n, g in parts.items()}))
    assert len(certificates) == 1
