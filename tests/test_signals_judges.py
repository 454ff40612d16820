"""Judges behind a fused gate: one item at a time they decide what `decide` decides at once."""

from dataclasses import replace

import numpy as np
import pytest

from riskjudge.data.trace import Trace
from riskjudge.data.verdict import BooleanVerdict, Failure, FailureKind, describe
from riskjudge.errors import InputError
from riskjudge.gate import Router
from riskjudge.items import Item
from riskjudge.judges import FunctionJudge, Judgement, read_judges
from riskjudge.judges.fused import fused_from_file
from riskjudge.judges.scripted import uniform
from riskjudge.judges.source import source_of
from riskjudge.ledger.uncertainty import confidence_gap
from riskjudge.signals import Cost, FusedGate, parse_signals


def noisy(name, skill):
    """Fails at times, and errs more the less confident it is."""

    def rule(item):
        fate, doubt, luck = (uniform(0, item.id, name, part) for part in ("fate", "doubt", "luck"))
        if fate < 0.05:
            return Judgement(Failure(FailureKind.TIMEOUT, "30 s"))
        right = luck > (1.0 - skill) * doubt
        return Judgement(BooleanVerdict(item.label is right), confidence=1.0 - 0.5 * doubt)

    return FunctionJudge(name, rule)


JUDGES = (noisy("cheap", 0.6), noisy("dear", 0.8))


def items_of(n, start=0):
    return [
        Item(f"q{i}", "?", ("x",), label=uniform(1, str(i)) < 0.5, extra={"size": i % 7})
        for i in range(start, start + n)
    ]


def trace_of(items):
    """What both judges say, as a trace."""
    rows = [[judge(item) for judge in JUDGES] for item in items]
    verdict = np.array([
        [int(j.outcome.value) if isinstance(j.outcome, BooleanVerdict) else -1 for j in row]
        for row in rows
    ])  # fmt: skip
    u = np.array(
        [[np.nan if j.confidence is None else confidence_gap(j) for j in row] for row in rows]
    )
    label = np.array([int(item.label) for item in items])
    trace = Trace.from_arrays(u, verdict, label, modes=["cheap", "dear"])
    frame = trace.to_frame().assign(
        item_id=[item.id for item in items],
        size=[item.extra["size"] for item in items],
        why1=[None if v >= 0 else "timeout" for v in verdict[:, 0]],
        why2=[None if v >= 0 else "timeout" for v in verdict[:, 1]],
    )
    sources = tuple(source_of(judge, "confidence") for judge in JUDGES)
    return replace(Trace.from_frame(frame, modes=None), sources=sources)


@pytest.fixture(scope="module", params=[False, True], ids=["one stage", "two stages"])
def gate_file(request, tmp_path_factory):
    trace = trace_of(items_of(900))
    one = Cost(calls=1.0)
    signals = parse_signals(
        ["modes:cheap", "number:size", "modes:dear@2"],
        trace,
        {"verdict:cheap": one, "verdict:dear": one},
    )
    most = 1.7 if request.param else None
    gate = FusedGate(alpha=0.2, signals=signals, max_cost=most, unit="calls").fit(trace)
    assert gate.certificate_.certified
    path = tmp_path_factory.mktemp("gate") / "gate.json"
    gate.save(path)
    return path, gate


def test_one_at_a_time_decides_as_at_once(gate_file):
    path, gate = gate_file
    items = items_of(120, start=5000)
    judge = fused_from_file(path, JUDGES, "both")
    decided = gate.decide(trace_of(items)).to_frame()
    calls = 0
    for row, item in zip(decided.itertuples(), items, strict=True):
        judgement = judge(item)
        said = describe(judgement.outcome)
        expected = {
            "graded": "true" if row.status == "graded" and row.verdict == 1 else "false",
            "abstained": f"abstained:{row.abstain_reason}",
            "score_failed": f"failed:{row.failure}",
        }[row.status]
        assert said == expected
        assert judgement.disclosure["certified"] is True
        calls += judgement.calls
    assert (decided["status"] == "graded").any()
    if len(gate.fusion_.stages) == 2:
        assert 120 < calls < 240
    else:
        assert calls == 240


def test_in_a_configuration(gate_file, tmp_path):
    path, _ = gate_file
    (tmp_path / "gate.json").write_text(path.read_text())
    text = """
        [judges.both]
        type = "fused"
        judges = ["a", "b"]
        gate = "{gate}"
        {more}
        [judges.a]
        type = "oracle"
        [judges.b]
        type = "oracle"
        seed = 3
    """
    file = tmp_path / "judges.toml"
    file.write_text(text.format(gate="gate.json", more=""))
    with pytest.raises(InputError, match=r"judges.both.*cheap: judge: 'cheap'.*'a.seed 0.'"):
        read_judges(file)
    file.write_text(text.format(gate="gate.json", more='on_mismatch = "uncertify"'))
    (judge,) = read_judges(file)
    item = Item("q1", "?", ("x",), label=True, extra={"size": 3})
    assert judge(item).disclosure["certified"] is False
    assert "a(seed 0)" in str(source_of(judge))
    with pytest.raises(InputError, match="needs the column 'size'"):
        judge(replace(item, extra={}))
    file.write_text(text.format(gate="none.json", more=""))
    with pytest.raises(InputError, match="no such file"):
        read_judges(file)
    file.write_text(text.format(gate="gate.json", more="").replace('"fused"', '"router"'))
    with pytest.raises(InputError, match="type = 'fused'"):
        read_judges(file)
    Router(unfitted="pass").save(tmp_path / "plain.json")
    file.write_text(text.format(gate="plain.json", more=""))
    with pytest.raises(InputError, match="holds no fused gate"):
        read_judges(file)


def test_what_nobody_said_anything_about_is_a_failure(gate_file):
    path, _ = gate_file
    broken = FunctionJudge("cheap", lambda item: Judgement(Failure(FailureKind.TIMEOUT)))
    judge = fused_from_file(
        path, (broken, replace(broken, name="dear")), "both", uncertainty="confidence"
    )
    outcome = judge(items_of(1)[0]).outcome
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.TIMEOUT
