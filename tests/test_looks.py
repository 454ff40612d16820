"""Labelling in batches: the schedule's promise holds over all looks, and nothing else is let through."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

from riskjudge import binomial
from riskjudge.audit import worlds_named
from riskjudge.calibration import Portfolio, Target
from riskjudge.calibration.looks import Look, Schedule, look_that_would_do
from riskjudge.cli import app
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError
from riskjudge.gate import Router, SelectiveGate, load_gate
from riskjudge.gate.document import checksum
from riskjudge.gate.labels import hash_texts
from riskjudge.gate.looks import Looks, fit_look
from riskjudge.gate.registry import registered


def make_trace(n=600, seed=0, rate=0.3):
    rng = np.random.default_rng(seed)
    scores, labels = rng.random((n, 1)), rng.integers(0, 2, n)
    verdicts = labels[:, None] ^ (rng.random((n, 1)) < rate * scores)
    return Trace.from_arrays(scores, verdicts, labels)


def some(trace, n):
    return trace.rows(np.arange(n))


@pytest.mark.parametrize("spending", ["linear", "rising", "obrien_fleming"])
@pytest.mark.parametrize("looks", [1, 2, 5, 13])
def test_a_closed_schedule_spends_delta_and_no_more(spending, looks):
    schedule = Schedule(batch=37, looks=looks, spending=spending)
    levels = [schedule.level(j, 0.05) for j in range(1, looks + 1)]
    assert min(levels) > 0
    assert sum(levels) == pytest.approx(0.05, rel=1e-12)


def test_known_levels():
    uneven = Schedule(sizes=(100, 300, 400), spending="linear")
    assert [uneven.level(j, 0.08) for j in (1, 2, 3)] == pytest.approx([0.02, 0.04, 0.02])
    # Lan and DeMets (1983): two-sided O'Brien-Fleming spending of .05 at t = .2, .4, …, 1.
    classic = Schedule(batch=10, looks=5, spending="obrien_fleming")
    spent = np.cumsum([classic.level(j, 0.05) for j in range(1, 6)])
    assert spent == pytest.approx([1.17e-5, 0.00194, 0.01140, 0.02842, 0.05], rel=0.01)
    assert spent[1] == pytest.approx(2 * stats.norm.sf(1.959964 / np.sqrt(0.4)), rel=1e-6)
    open_ended = Schedule(batch=10)
    assert sum(open_ended.level(j, 0.05) for j in range(1, 10_000)) == pytest.approx(0.05, rel=1e-3)
    assert sum(open_ended.level(j, 0.05) for j in range(1, 10_000)) < 0.05


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "batch"),
        ({"batch": 10, "sizes": (1, 2)}, "batch"),
        ({"batch": 0}, "batch"),
        ({"batch": 10, "looks": 0}, "looks"),
        ({"batch": 10, "looks": True}, "looks"),
        ({"batch": 2.5}, "batch"),
        ({"sizes": (100, 100)}, "grow"),
        ({"sizes": ()}, "grow"),
        ({"sizes": (100, 200), "looks": 3}, "looks"),
        ({"batch": 10, "spending": "linear"}, "open-ended"),
        ({"batch": 10, "looks": 2, "spending": "all"}, "unknown spending"),
    ],
)
def test_a_schedule_that_makes_no_sense_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        Schedule(**given)


@pytest.mark.parametrize("spending", ["linear", "rising", "obrien_fleming", None])
def test_the_promise_holds_over_all_looks_and_breaks_without_a_schedule(spending):
    """The hardest null, one rule whose risk is all but alpha, 20,000 runs of eight looks.

    The same looks at the full delta each must be caught, or this test would prove nothing.
    """
    schedule = Schedule(batch=250, looks=8 if spending else None, spending=spending)
    wrong = np.random.default_rng(7).binomial(250, 0.1001, (20_000, 8)).cumsum(axis=1)
    labels = np.array([schedule.size(j) for j in range(1, 9)])
    levels = np.array([schedule.level(j, 0.05) for j in range(1, 9)])
    p_values = binomial.p_value(wrong, labels, 0.1)
    kept = int((p_values <= levels).any(axis=1).sum())
    careless = int((p_values <= 0.05).any(axis=1).sum())
    assert stats.binomtest(kept, 20_000, 0.05, "greater").pvalue > 0.01
    assert kept > 20_000 * 0.015  # not safe by being useless
    assert stats.binomtest(careless, 20_000, 0.05, "greater").pvalue < 1e-9


def test_a_procedure_on_a_schedule_keeps_the_promise():
    world = worlds_named(["null_flat_same"])[0]
    schedule, broken, runs = Schedule(batch=100, looks=3), 0, 200
    for r in range(runs):
        sample = world.draw(300, np.random.default_rng([7, r]))
        # On this null every rule is a true null: to certify anything breaks the promise.
        broken += any(
            Portfolio(steps=10)
            .selector(sample.rows(np.arange(100 * j)), r)(
                Target(world.alpha, schedule.level(j, 0.1))
            )
            .thresholds
            is not None
            for j in (1, 2, 3)
        )
    assert stats.binomtest(broken, runs, 0.1, "greater").pvalue > 0.01


def test_each_look_is_the_ordinary_calibration_of_its_items(tmp_path):
    trace, schedule = make_trace(), Schedule(batch=200, looks=3)
    gate, state = SelectiveGate(alpha=0.1), tmp_path / "looks.json"
    for n, number in ((230, 1), (450, 2), (600, 3)):
        fitted = fit_look(gate, some(trace, n), state=state, schedule=schedule)
        look = fitted.certificate_.look
        assert (look.number, look.labels) == (number, 200 * number)
        used = np.isin(trace.item_id, _used(trace, state))
        alone = SelectiveGate(alpha=0.1, delta=look.delta).fit(trace.rows(used))
        assert fitted.certificate_.thresholds == alone.certificate_.thresholds
        assert fitted.certificate_.delta == look.delta == schedule.level(number, 0.05)
        assert fitted.delta == 0.05
        if fitted.certificate_.certified:
            assert "95 % over all looks" in fitted.certificate_.statement
    with pytest.raises(InputError, match="through"):
        fit_look(gate, make_trace(900), state=state)


def _used(trace, state):
    from riskjudge.gate.labels import hash_texts

    known = Looks.load(state)
    return trace.item_id[np.isin(hash_texts(trace.item_id), known.ids)]


def test_the_order_of_rows_does_not_matter_and_used_items_stay_first(tmp_path):
    trace, schedule = make_trace(), Schedule(batch=200, looks=3)
    shuffled = trace.rows(np.random.default_rng(1).permutation(600))
    for name, rows in (("a", trace), ("b", shuffled)):
        fit_look(SelectiveGate(), rows.rows(rows.item_id.astype(int) < 250), state=tmp_path / name,
                 schedule=schedule)  # fmt: skip
        fit_look(SelectiveGate(), rows, state=tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    first = Looks.load(tmp_path / "a")
    assert (first.ids[:200] < first.ids.max() + np.uint64(1)).all()
    assert first.last == 3  # 600 labels: the second look was left out, which the schedule allows


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": 0.2}, "alpha"),
        ({"delta": 0.1}, "delta"),
        ({"seed": 1}, "seed"),
        ({"procedure": "portfolio"}, "procedure"),
        ({"by_verdict": True}, "by_verdict"),
        ({"path": [[0.1], [0.2]]}, "fixed_sequence"),
    ],
)
def test_another_setting_is_refused(tmp_path, change, message):
    state = tmp_path / "looks.json"
    fit_look(SelectiveGate(), some(make_trace(), 200), state=state, schedule=Schedule(batch=200))
    before = state.read_bytes()
    with pytest.raises(InputError, match=message):
        fit_look(SelectiveGate(**change), make_trace(), state=state)
    with pytest.raises(InputError, match="kind"):
        fit_look(Router(), make_trace(), state=state)
    with pytest.raises(InputError, match="another schedule"):
        fit_look(SelectiveGate(), make_trace(), state=state, schedule=Schedule(batch=100))
    assert state.read_bytes() == before


def test_labels_removed_or_changed_and_looks_too_early_are_refused(tmp_path):
    state, trace = tmp_path / "looks.json", make_trace()
    with pytest.raises(InputError, match="look 1 needs 200 labelled items, there are 150"):
        fit_look(SelectiveGate(), some(trace, 150), state=state, schedule=Schedule(batch=200))
    assert not state.exists()
    fit_look(SelectiveGate(), some(trace, 200), state=state, schedule=Schedule(batch=200))
    before = state.read_bytes()
    with pytest.raises(InputError, match="look 2 needs 400"):
        fit_look(SelectiveGate(), some(trace, 399), state=state)
    with pytest.raises(InputError, match="1 of the 200 items"):
        fit_look(SelectiveGate(), trace.rows(np.arange(1, 600)), state=state)
    for name in ("labels", "scores", "verdicts"):
        changed = trace.rows(np.arange(600))
        getattr(changed, name)[17] = 1 - getattr(changed, name)[17]
        with pytest.raises(InputError, match="'17'"):
            fit_look(SelectiveGate(), changed, state=state)
    assert state.read_bytes() == before


def test_a_damaged_state_is_refused(tmp_path):
    state = tmp_path / "looks.json"
    fit_look(SelectiveGate(), some(make_trace(), 200), state=state, schedule=Schedule(batch=200))
    data = json.loads(state.read_text())
    for broken in (
        {"format": "x"},
        {"format_version": 1},
        {"ids": "00"},
        {"looks": 3},
        {"schedule": {}},
    ):
        changed = data | broken
        state.write_text(json.dumps(changed | {"checksum": checksum(changed)}))
        with pytest.raises(InputError):
            Looks.load(state)
    state.write_text("{")
    with pytest.raises(InputError, match="not JSON"):
        fit_look(SelectiveGate(), make_trace(), state=state)


@pytest.mark.parametrize(
    "change", [{"looks": []}, {"ids": "", "rows": "", "looks": []}, {"checksum": None}]
)
def test_a_state_changed_by_hand_is_refused(tmp_path, change):
    """Whoever takes a look back has seen it all the same."""
    state = tmp_path / "looks.json"
    fit_look(SelectiveGate(), some(make_trace(), 200), state=state, schedule=Schedule(batch=200))
    data = json.loads(state.read_text())
    state.write_text(json.dumps(data))  # another layout is no change
    assert Looks.load(state).last == 1
    state.write_text(json.dumps(data | change))
    with pytest.raises(InputError, match="changed by hand"):
        fit_look(SelectiveGate(), make_trace(), state=state)


def test_the_same_plan_begun_again_is_another_fit(tmp_path):
    """Without its state a schedule starts anew: the registry tells the two apart by their first items."""
    trace, registry = make_trace(), tmp_path / "registry.jsonl"
    looks = []
    for name, rows in (("a", slice(0, 200)), ("a", slice(0, 450)), ("b", slice(100, 300))):
        part = trace.rows(np.arange(600)[rows])
        gate = fit_look(
            SelectiveGate(), part, state=tmp_path / name, schedule=Schedule(batch=200, looks=3)
        )
        registered(gate, registry)
        looks.append((gate.certificate_.look.number, gate.certificate_.fit_number))
    assert looks == [(1, 1), (2, 1), (1, 2)]


def test_of_two_at_one_look_one_is_turned_away(tmp_path):
    """A lock that two handles of one process cannot hold at once, two processes cannot hold either."""
    state, trace = tmp_path / "looks.json", some(make_trace(), 200)

    def look(_):
        try:
            fit_look(SelectiveGate(), trace, state=state, schedule=Schedule(batch=200, looks=3))
        except InputError as error:
            return str(error)
        return "made"

    with ThreadPoolExecutor(4) as pool:
        said = sorted(pool.map(look, range(4)))
    assert said[0] == said[1] == said[2] != "made"
    assert "look 2 needs 400" in said[0]
    assert said[3] == "made"


def test_the_item_drawn_of_a_group_stays_drawn(tmp_path):
    """More labels come in every group; what an earlier look has tested is not drawn anew."""
    trace, state = make_trace(900), tmp_path / "looks.json"
    grouped = replace(trace, group=np.array([f"g{i % 300}" for i in range(900)], dtype=object))
    gate = SelectiveGate(groups="sample")
    number = np.arange(900)
    first = grouped.rows(np.flatnonzero((number % 300 < 100) & (number < 600)))
    second = grouped.rows(np.flatnonzero(number % 300 < 120))
    for part in (first, second, grouped):
        schedule = Schedule(sizes=(100, 120, 250))
        fitted = fit_look(gate, part, state=state, schedule=schedule)
        assert any(
            "one random item of a random group" in a for a in fitted.certificate_.assumptions
        )
    assert fitted.certificate_.look.number == 3
    used = trace.item_id[np.isin(hash_texts(trace.item_id), Looks.load(state).ids)]
    assert len({int(item) % 300 for item in used}) == len(used) == 250


def test_a_gate_keeps_its_look(tmp_path):
    gate = fit_look(
        SelectiveGate(), some(make_trace(), 200), state=tmp_path / "s", schedule=Schedule(batch=200)
    )
    gate.save(tmp_path / "gate.json")
    assert load_gate(tmp_path / "gate.json").certificate_ == gate.certificate_
    assert isinstance(gate.certificate_.look, Look)


def test_advice_stays_within_the_schedule():
    schedule = Schedule(batch=100, looks=5)
    rates = {"error_rate": 0.05, "coverage": 0.5, "alpha": 0.1, "delta": 0.05}
    assert look_that_would_do(schedule, 1, **rates) == 4
    assert look_that_would_do(schedule, 4, **rates) == 5
    assert look_that_would_do(schedule, 5, **rates) is None
    assert look_that_would_do(Schedule(batch=100), 1, **(rates | {"error_rate": 0.099})) is None


def test_on_the_command_line(tmp_path):
    runner = CliRunner()
    trace = make_trace()
    for n in (200, 450):
        some(trace, n).to_frame().to_csv(tmp_path / f"{n}.csv", index=False)
    gate = str(tmp_path / "gate.json")
    first = runner.invoke(app, ["calibrate", str(tmp_path / "200.csv"), "-o", gate, "--looks", "5"])
    assert first.exit_code in (0, 1), first.output
    assert Looks.load(f"{gate}.looks.json").schedule == Schedule(batch=200, looks=5)
    again = ["calibrate", str(tmp_path / "450.csv"), "-o", gate, "--looks", "5", "--json"]
    second = json.loads(runner.invoke(app, again).stdout)
    assert second["certificate"]["look"]["number"] == 2
    for wrong in (["--batch", "100"], ["--looks", "x", "-o", gate], ["--looks", "3"]):
        refused = runner.invoke(app, ["calibrate", str(tmp_path / "450.csv"), *wrong])
        assert isinstance(refused.exception, InputError), wrong
    # A typo in where the gate goes costs no look.
    lost = ["calibrate", str(tmp_path / "200.csv"), "--looks", "2", "--state", str(tmp_path / "s")]
    for typo in (tmp_path / "none" / "gate.json", tmp_path):
        assert runner.invoke(app, [*lost, "-o", str(typo)]).exception is not None
        assert not (tmp_path / "s").exists()
    text = runner.invoke(app, ["calibrate", str(tmp_path / "200.csv"), "--alpha", "0.01"]).output
    assert "new ones, calibrated on alone" in " ".join(text.split()) or "error rate" in text
