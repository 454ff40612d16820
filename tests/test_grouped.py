"""A promise for each group: they hold together, small groups are named, every item finds its gate."""

import json

import duckdb
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from typer.testing import CliRunner

from riskjudge import binomial
from riskjudge.calibration import FixedSequence, Pointwise, Portfolio, Sample, Target
from riskjudge.calibration.together import certify_together
from riskjudge.cli import app
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError
from riskjudge.gate import Router, SelectiveGate, load_gate
from riskjudge.gate.grouped import REST, GroupedGate
from riskjudge.gate.registry import registered

ONE = FixedSequence(path=[[0.5]])


def flat(n, errors):
    """n items at one score, so many of them wrong: one rule, known counts."""
    wrong = (np.arange(n) < errors).astype(int)[:, None]
    return Sample(np.full((n, 1), 0.5), wrong, np.zeros(n, int), ("judge",))


def make_frame(sizes, rates, seed=0):
    rng = np.random.default_rng(seed)
    topic = np.repeat(list(sizes), list(sizes.values()))
    n = len(topic)
    scores, labels = rng.random((n, 2)), rng.integers(0, 2, n)
    rate = np.array([rates.get(t, 0.2) for t in topic])[:, None]
    verdicts = labels[:, None] ^ (rng.random((n, 2)) < rate * scores)
    frame = pd.DataFrame({"item_id": np.arange(n).astype(str), "topic": topic, "label": labels})
    for k in (0, 1):
        frame[f"v{k + 1}"], frame[f"u{k + 1}"] = verdicts[:, k], scores[:, k]
    return frame.sample(frac=1, random_state=seed).reset_index(drop=True)


def test_with_one_rule_a_group_it_is_holms_procedure():
    rng = np.random.default_rng(0)
    for _ in range(200):
        samples = {f"g{i}": flat(100, int(rng.integers(0, 9))) for i in range(4)}
        found = certify_together(ONE, samples, Target(0.1, 0.1))
        p = np.array([float(binomial.p_value(s.errors.sum(), 100, 0.1)) for s in samples.values()])
        order, rejected = np.argsort(p, kind="stable"), set()
        for rank, i in enumerate(order):
            if p[i] > 0.1 / (4 - rank):
                break
            rejected.add(f"g{i}")
        assert {name for name, c in found.items() if c.certified} == rejected


def test_a_group_that_is_through_hands_its_share_on():
    # p = .037 with 5 errors of 105: not below .025, but below .05 once the other group is through.
    p = float(binomial.p_value(5, 105, 0.1))
    assert 0.025 < p < 0.05
    alone = certify_together(ONE, {"y": flat(105, 5), "x": flat(100, 20)}, Target(0.1, 0.05))
    helped = certify_together(ONE, {"y": flat(105, 5), "x": flat(100, 0)}, Target(0.1, 0.05))
    assert not alone["y"].certified
    assert helped["y"].certified
    assert helped["y"].level == pytest.approx(0.05)


def test_the_promises_hold_together_and_one_for_each_would_not():
    """Six groups whose one rule has a risk all but alpha: 4,000 runs."""
    rng, runs, delta = np.random.default_rng(1), 4000, 0.05
    errors = rng.binomial(200, 0.1001, (runs, 6))
    p = binomial.p_value(errors, np.full_like(errors, 200), 0.1)
    separately = int((p <= delta).any(axis=1).sum())
    assert stats.binomtest(separately, runs, delta, "greater").pvalue < 1e-9
    together = 0
    for row in errors[:1000]:
        samples = {str(i): flat(200, int(w)) for i, w in enumerate(row)}
        together += any(
            c.certified for c in certify_together(ONE, samples, Target(0.1, delta)).values()
        )
    assert stats.binomtest(together, 1000, delta, "greater").pvalue > 0.01


def test_small_groups_are_named_and_joined_and_every_item_finds_its_gate(tmp_path):
    sizes = {"a": 500, "b": 400, "c": 40, "d": 30}
    frame = make_frame(sizes, {"a": 0.1, "b": 0.3})
    frame.loc[frame.index[:5], "topic"] = None
    trace = Trace.from_frame(frame)
    grouped = GroupedGate(Router(alpha=0.15), "topic", min_n=100).fit(trace)
    assert sorted(grouped.gates_) == ["a", "b"]
    assert set(grouped.short_) == {"c", "d"}
    assert all("need 100 labelled items, have" in note for note in grouped.notes_)
    assert grouped.rest_ is not None
    grouped.save(tmp_path / "gate.json")
    fresh = Trace.from_frame(make_frame(sizes | {"new": 50}, {"a": 0.1, "b": 0.3}, seed=2))
    for gate in (grouped, load_gate(tmp_path / "gate.json")):
        outcomes = gate.decide(fresh)
        assert list(outcomes.item_id) == list(fresh.item_id)
        topics = fresh.extra["topic"].to_numpy()
        for name, part in {**gate.gates_, REST: gate.rest_}.items():
            inside = topics == name if name != REST else ~np.isin(topics, ["a", "b"])
            assert (outcomes.mode[inside] == part.decide(fresh.rows(inside)).mode).all()
    rows_to_route = fresh.to_frame()  # noqa: F841  # duckdb finds it by its name
    sql = grouped.to_sql()
    found = (
        duckdb.sql(f"select item_id, {sql} as mode from rows_to_route")
        .df()
        .set_index("item_id")["mode"]
    )
    names = np.array([*outcomes.modes, None], dtype=object)[outcomes.mode]
    assert [None if pd.isna(m) else m for m in found[list(outcomes.item_id)]] == list(names)


def test_without_labels_for_the_rest_nothing_of_it_is_accepted():
    grouped = GroupedGate(SelectiveGate(alpha=0.2), "topic", min_n=50).fit(
        Trace.from_frame(make_frame({"a": 300}, {}))
    )
    fresh = Trace.from_frame(make_frame({"a": 100, "z": 100}, {}, seed=5))
    outcomes = grouped.decide(fresh)
    strange = fresh.extra["topic"].to_numpy() == "z"
    assert grouped.rest_ is None
    assert not outcomes.accepted[strange].any()
    assert not outcomes.certified[strange].any()


def test_what_makes_no_sense_is_refused():
    trace = Trace.from_frame(make_frame({"a": 200, "b": 200}, {}))
    with pytest.raises(InputError, match="no column 'tpic'"):
        GroupedGate(Router(), "tpic").fit(trace)
    with pytest.raises(InputError, match="plans its tests"):
        GroupedGate(Router(procedure=Pointwise()), "topic").fit(trace)
    grouped = GroupedGate(Router(procedure=Portfolio()), "topic").fit(trace)
    with pytest.raises(InputError, match="certificate for each topic"):
        _ = grouped.certificate_


def test_a_path_from_other_items_is_tested_in_every_group(tmp_path):
    """Delta is split over the groups; a group that is through hands its share on."""
    elsewhere = Router(0.15).fit(
        Trace.from_frame(
            make_frame({"x": 500}, {}, seed=9).assign(item_id=lambda f: "x" + f.item_id)
        )
    )
    trace = Trace.from_frame(make_frame({"a": 400, "b": 300}, {"a": 0.1, "b": 0.3}))
    grouped = GroupedGate(Router(0.15, path=elsewhere), "topic", min_n=50).fit(trace)
    path = [tuple(vector) for vector in elsewhere.path_]
    for gate in grouped.gates_.values():
        certificate = gate.certificate_
        assert certificate.procedure == "fixed_sequence"
        assert certificate.n_reserved == 0  # the order cost no label
        assert certificate.level is None or certificate.level >= 0.025
        assert tuple(gate.rule_.thresholds[:, 0]) in [
            tuple(-np.inf if t is None else t for t in vector) for vector in path
        ]
        assert gate.path_labels_ is not None
    grouped.save(tmp_path / "gate.json")
    assert load_gate(tmp_path / "gate.json").all_gates.keys() == {"a", "b"}


@pytest.mark.parametrize("kept", ["a", "b"])
def test_a_path_that_has_seen_one_group_is_refused(kept):
    trace = Trace.from_frame(make_frame({"a": 400, "b": 300}, {}))
    inside = trace.extra["topic"].to_numpy() == kept
    renamed = trace.rows(inside).to_frame().assign(item_id=lambda f: "new" + f.item_id)
    for source in (trace.rows(inside), Trace.from_frame(renamed)):
        with pytest.raises(InputError, match="these very items"):
            GroupedGate(Router(0.15, path=Router(0.15).fit(source)), "topic").fit(trace)


def test_groups_that_are_certified_together_are_one_fit(tmp_path):
    """Their certificates share one delta; another column, or none, is a second choice."""
    registry = tmp_path / "registry.jsonl"
    frame = make_frame({"a": 400, "b": 300}, {}).assign(half=lambda f: f.index % 2)
    trace = Trace.from_frame(frame)

    def fit(by):
        return GroupedGate(Router(0.15), by, min_n=50).fit(trace)

    first, again, other = fit("topic"), fit("topic"), fit("half")
    pooled = Router(0.15).fit(trace)
    assert [len(registered(g, registry)) for g in (first, again, other, pooled)] == [0, 0, 1, 2]
    for gate in other.all_gates.values():
        assert (gate.certificate_.fit_number, gate.certificate_.delta_of_fits) == (2, 0.1)
        assert "certificates: with confidence 90 % (2nd fit" in gate.certificate_.statement
        assert "95 %" not in gate.certificate_.statement
    assert pooled.certificate_.fit_number == 3
    assert pooled.certificate_.delta_of_fits == pytest.approx(0.15)


def test_groups_of_one_label_are_certified_and_a_table_of_one_label_is_refused():
    """A topic where every right answer is "pass" is no mistake; a whole table is."""
    frame = make_frame({"a": 400, "b": 300}, {"a": 0.1, "b": 0.1})
    ones = frame.topic == "a"
    flip = ones & (frame.label == 0)
    for column in ("label", "v1", "v2"):
        frame.loc[flip, column] = 1 - frame.loc[flip, column]
    grouped = GroupedGate(Router(0.15), "topic", min_n=50).fit(Trace.from_frame(frame))
    assert set(grouped.gates_) == {"a", "b"}
    with pytest.raises(InputError, match="both classes"):
        GroupedGate(Router(0.15), "topic").fit(Trace.from_frame(frame[ones]))


def test_on_the_command_line(tmp_path):
    make_frame({"a": 400, "b": 400, "c": 20}, {}).to_csv(tmp_path / "t.csv", index=False)

    def run(*arguments):
        return CliRunner().invoke(app, list(map(str, arguments)))

    gate = tmp_path / "gate.json"
    done = run(
        "calibrate", tmp_path / "t.csv", "--by", "topic", "--alpha", "0.15", "-o", gate, "--json"
    )
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    assert set(data["groups"]) == {"a", "b"}
    assert data["short"] == {"c": 20}
    text = run("calibrate", tmp_path / "t.csv", "--by", "topic", "--alpha", "0.15")
    assert "need" in text.output
    decided = run("decide", gate, tmp_path / "t.csv", "-o", tmp_path / "o.csv", "--by", "topic")
    assert decided.exit_code == 0, decided.output
    assert run("report", tmp_path / "o.csv").exit_code == 0
    assert run("watch", gate, tmp_path / "o.csv").exit_code in (0, 1)
    assert run("sql", gate).exit_code == 0
    shared = ["calibrate", tmp_path / "t.csv", "--by", "topic"]
    for option in (["--looks", 3], ["--sizes", "100,200"], ["--state", "s"]):
        refused = run(*shared, *option)
        assert isinstance(refused.exception, InputError)
        assert "--where topic=VALUE" in str(refused.exception)
    assert "without --by" in str(run(*shared, "--fuse").exception)
    source = make_frame({"x": 500}, {}, seed=9).assign(item_id=lambda f: "x" + f.item_id)
    source.to_csv(tmp_path / "source.csv", index=False)
    assert run("calibrate", tmp_path / "source.csv", "-o", tmp_path / "p.json").exit_code in (0, 1)
    along = run(*shared, "--path", tmp_path / "p.json", "--alpha", "0.15", "--json")
    assert along.exit_code == 0, along.output
    seen = run(*shared, "--path", gate)
    assert "no one path" in str(seen.exception)
