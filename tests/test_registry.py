"""Labels that a choice has seen are known again: by the registry of fits, and as a path's source."""

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from riskjudge.calibration import Guarantee
from riskjudge.cli import app
from riskjudge.data.grading import Grading
from riskjudge.data.modes import ModeColumns
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError
from riskjudge.evaluation import summarize
from riskjudge.evaluation.render import report_tables
from riskjudge.gate import Router, SelectiveGate, load_gate
from riskjudge.gate.labels import LabelPrints
from riskjudge.gate.load import gate_from_dict
from riskjudge.gate.outcomes import read_outcomes
from riskjudge.gate.registry import FILE_NAME, read_registry, registered
from riskjudge.io.tables import write_table


def make_frame(n=500, seed=0, prefix="", digits=None, levels=None):
    rng = np.random.default_rng(seed)
    scores, labels = rng.random((n, 2)), rng.integers(0, 2, n)
    if digits:
        scores = scores.round(digits)
    if levels:
        scores = np.round(scores * levels) / levels
    verdicts = labels[:, None] ^ (rng.random((n, 2)) < 0.2 * scores)
    data = {"item_id": [f"{prefix}{i}" for i in range(n)], "label": labels}
    for k in (0, 1):
        data |= {f"v{k + 1}": verdicts[:, k], f"u{k + 1}": scores[:, k]}
    return pd.DataFrame(data)


def trace_of(frame, **options):
    return Trace.from_frame(frame, **options)


def fitted(frame, **options):
    return Router(alpha=0.15, **options).fit(trace_of(frame))


FRAME = make_frame()
SOURCES = {
    "the same rows": FRAME,
    "a dropped row": FRAME.iloc[1:],
    "one row of them, and others": pd.concat([FRAME.iloc[:1], make_frame(seed=9, prefix="x")]),
    "one id renamed": FRAME.assign(item_id=["other", *FRAME["item_id"][1:]]),
    "all ids renamed": FRAME.assign(item_id="x" + FRAME["item_id"]),
    "ids renamed, another order": FRAME.assign(item_id="x" + FRAME["item_id"]).sample(frac=1, random_state=1),
    "ids renamed, half of the rows": FRAME.assign(item_id="x" + FRAME["item_id"]).iloc[:250],
    "labels corrected": FRAME.assign(label=1 - FRAME["label"]),
    "float32 scores, ids kept": FRAME.assign(u1=FRAME["u1"].astype("float32").astype(float)),
}  # fmt: skip


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("procedure", [None, "pointwise", "conformal_selection"])
def test_a_path_from_overlapping_items_is_refused(name, procedure, tmp_path):
    source = fitted(SOURCES[name], procedure=procedure)
    source.save(tmp_path / "gate.json")
    loaded = load_gate(tmp_path / "gate.json")
    for path in (source, tmp_path / "gate.json", str(tmp_path / "gate.json"), source.path_,
                 loaded.path_, pickle.loads(pickle.dumps(source.path_))):  # fmt: skip
        with pytest.raises(InputError, match="these very items"):
            fitted(FRAME, path=path)


@pytest.mark.parametrize("procedure", [None, "pointwise", "conformal_selection"])
@pytest.mark.parametrize("form", [{}, {"digits": 3}, {"digits": 6}, {"levels": 10}])
def test_a_path_from_other_items_is_taken(procedure, form):
    source = fitted(make_frame(seed=5, prefix="y", **form), procedure=procedure)
    for path in (source, source.path_, [list(v) for v in source.path_]):
        gate = fitted(make_frame(seed=6, **form), path=path)
        assert any("without a look at the labels" in a for a in gate.certificate_.assumptions)


def test_rounded_scores_under_other_ids_are_known_again():
    for digits in (3, 4, 6):
        frame = make_frame(digits=digits)
        with pytest.raises(InputError, match="under other ids"):
            fitted(frame, path=fitted(frame.assign(item_id="x" + frame["item_id"])))


def test_independent_samples_are_hardly_ever_taken_for_copies():
    for digits in (2, 3, 4, 5):
        prints = [
            LabelPrints.of(trace_of(make_frame(300, seed, f"{seed}-", digits)))
            for seed in range(25)
        ]
        assert all(a.shared_with(b) is None for a in prints for b in prints if a is not b)


def test_another_draw_from_the_same_groups_is_refused():
    frame = make_frame().assign(group=lambda f: f.index // 3)
    other = Router(alpha=0.15, groups="sample", seed=1).fit(trace_of(frame, group="group"))
    distinct = frame[~frame["item_id"].isin(set(other.fit(trace_of(frame)).certificate_.options))]
    with pytest.raises(InputError, match="these very items"):
        Router(alpha=0.15, groups="sample", seed=2, path=other).fit(
            trace_of(distinct, group="group")
        )
    first, last = frame.groupby("group").head(1), frame.groupby("group").tail(1)
    source = Router(alpha=0.15).fit(trace_of(first, group="group"))
    with pytest.raises(InputError, match="groups that items come from"):
        Router(alpha=0.15, path=source).fit(trace_of(last.iloc[:-2], group="group"))


def test_a_path_handed_on_remembers_where_it_began():
    there = fitted(make_frame(seed=3, prefix="there"), path=fitted(FRAME))
    with pytest.raises(InputError, match="these very items"):
        fitted(FRAME, path=there)
    again = gate_from_dict(there.to_dict())
    with pytest.raises(InputError, match="these very items"):
        fitted(FRAME, path=again.path_)


def test_one_mode_of_the_items_is_enough_to_know_them():
    renamed = FRAME.assign(item_id="x" + FRAME["item_id"])
    one = SelectiveGate(alpha=0.15).fit(trace_of(renamed, modes=[ModeColumns("only", "v2", "u2")]))
    with pytest.raises(InputError, match="these very items"):
        SelectiveGate(alpha=0.15, mode="mode2", path=one).fit(trace_of(FRAME))


def test_a_gate_that_does_not_say_its_items():
    for procedure, refused in ((None, False), ("pointwise", True), ("conformal_selection", True)):
        source = fitted(make_frame(seed=3, prefix="there"), procedure=procedure)
        source.labels_ = None  # as an older version wrote it
        assert (source.certificate_.guarantee is Guarantee.HIGH_PROBABILITY) is not refused
        if refused:
            with pytest.raises(InputError, match="does not say"):
                fitted(FRAME, path=source)
        else:
            assert fitted(FRAME, path=source).fitted
            with pytest.raises(InputError, match="these very items"):
                fitted(make_frame(seed=3, prefix="there"), path=source)


@pytest.mark.parametrize(
    "change",
    [{"seed": 1}, {"alpha": 0.2}, {"delta": 0.1}, {"procedure": "portfolio"}, {"by_verdict": True}],
)
def test_a_second_fit_says_so(tmp_path, change):
    path = tmp_path / FILE_NAME
    first = fitted(FRAME)
    assert registered(first, path) == ()
    assert first.certificate_.fit_number == 1
    again = fitted(FRAME)
    registered(again, path)
    assert again.certificate_ == first.certificate_  # the same fit is no second choice
    second = Router(**({"alpha": 0.15} | change)).fit(trace_of(FRAME))
    registered(second, path)
    certificate = second.certificate_
    assert certificate.fit_number == 2
    assert certificate.delta_of_fits == pytest.approx(0.05 + change.get("delta", 0.05))
    assert any("2nd fit on these labels" in a for a in certificate.assumptions)
    assert not any("calibrated on once" in a for a in certificate.assumptions)
    if certificate.certified:
        assert f"With confidence {85 if 'delta' in change else 90} %" in certificate.statement
    assert gate_from_dict(second.to_dict()).certificate_ == certificate


def test_a_search_among_the_fits_is_said_to_promise_nothing(tmp_path):
    path = tmp_path / FILE_NAME
    registered(fitted(FRAME, procedure="pointwise"), path)
    second = fitted(FRAME)
    registered(second, path)
    (note,) = [a for a in second.certificate_.assumptions if "2nd fit" in a]
    assert "does not reach the fits by pointwise" in note


def test_twenty_fits_leave_no_confidence(tmp_path):
    path = tmp_path / FILE_NAME
    for seed in range(20):
        gate = fitted(FRAME, seed=seed)
        registered(gate, path)
    assert gate.certificate_.fit_number == 20
    assert gate.certificate_.delta_of_fits == 1.0
    assert "No confidence is left" in gate.certificate_.statement
    assert len(read_registry(path).fits) == 20
    assert path.stat().st_size < 100_000  # hashes stand there once


def test_more_labels_of_the_same_items_count_and_others_do_not(tmp_path):
    path = tmp_path / FILE_NAME
    registered(fitted(FRAME.iloc[:300]), path)
    grown, others = fitted(FRAME), fitted(make_frame(seed=8, prefix="z"))
    assert len(registered(grown, path)) == 1
    assert registered(others, path) == ()
    assert others.certificate_.fit_number == 1


def test_a_damaged_registry_is_named(tmp_path):
    path = tmp_path / FILE_NAME
    registered(fitted(FRAME), path)
    path.write_text(path.read_text() + '{"format": "x"}\n')
    with pytest.raises(InputError, match="line 2"):
        registered(fitted(FRAME, seed=1), path)


def test_many_writers_at_once_lose_no_fit_and_count_each(tmp_path):
    path = tmp_path / FILE_NAME
    gates = [fitted(FRAME, seed=seed) for seed in range(6)]
    with ThreadPoolExecutor(6) as pool:
        earlier = list(pool.map(lambda gate: len(registered(gate, path)), gates))
    assert sorted(earlier) == [0, 1, 2, 3, 4, 5]
    assert sorted(gate.certificate_.fit_number for gate in gates) == [1, 2, 3, 4, 5, 6]
    assert len(read_registry(path).fits) == 6


def test_another_pool_of_the_same_size_is_another_fit(tmp_path):
    """Thresholds stand at its quantiles: to try pools is to try rules."""
    path = tmp_path / FILE_NAME
    trace = trace_of(FRAME)
    pools = [trace_of(make_frame(300, seed=s, prefix="p").drop(columns="label")) for s in (5, 6)]
    shuffled = pools[0].rows(np.random.default_rng(0).permutation(300))
    gates = [Router(alpha=0.15).fit(trace, pool) for pool in (pools[0], shuffled, pools[1])]
    assert [len(registered(gate, path)) for gate in gates] == [0, 0, 1]
    assert gate_from_dict(gates[0].to_dict()).pool_fingerprint_ == gates[0].pool_fingerprint_


def test_another_cut_or_tolerance_is_another_fit(tmp_path):
    path = tmp_path / FILE_NAME
    rng = np.random.default_rng(0)
    label = rng.integers(1, 6, 300)
    frame = pd.DataFrame(
        {"item_id": np.arange(300).astype(str), "label": label, "u1": rng.random(300)}
    )
    frame["v1"] = np.clip(label + rng.integers(-1, 2, 300), 1, 5)
    gradings = [Grading(1, 5, tolerance=t) for t in (0.5, 0.5, 1.0)] + [Grading(1, 5, cut=3)]
    gates = [SelectiveGate(0.3).fit(Trace.from_frame(frame, grading=g)) for g in gradings]
    assert [len(registered(gate, path)) for gate in gates] == [0, 0, 1, 2]


def test_a_file_that_is_no_registry_is_left_alone(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("item_id,label\na,1")  # no line feed at its end
    with pytest.raises(InputError, match="not a line of a registry"):
        registered(fitted(FRAME), path)
    assert path.read_text() == "item_id,label\na,1"


def test_a_fit_without_a_gate_counts_where_there_is_a_registry(tmp_path, monkeypatch):
    FRAME.to_csv(tmp_path / "labels.csv", index=False)
    monkeypatch.chdir(tmp_path)

    def number(*arguments):
        shared = ["calibrate", "labels.csv", "--json", "--alpha", "0.15", *arguments]
        return json.loads(CliRunner().invoke(app, shared).stdout)["certificate"]["fit_number"]

    assert number() == 1
    assert not Path(FILE_NAME).exists()  # nothing is left behind unasked
    assert number("-o", "gate.json") == 1
    assert number("--seed", "1") == 2
    assert number("--seed", "2", "-o", "/dev/null") == 3
    assert number("--seed", "3", "--no-registry") == 1
    assert number("--seed", "4") == 4
    both = ["calibrate", "labels.csv", "--no-registry", "--registry", "x"]
    assert "do not go together" in str(CliRunner().invoke(app, both).exception)


def test_a_sweep_and_a_plan_choose_no_rule_and_are_not_counted(tmp_path, monkeypatch):
    FRAME.to_csv(tmp_path / "labels.csv", index=False)
    monkeypatch.chdir(tmp_path)
    shared = ["calibrate", "labels.csv", "--alpha", "0.15"]
    CliRunner().invoke(app, [*shared, "-o", "gate.json"])
    before = Path(FILE_NAME).read_bytes()
    for command in (
        ["sweep", "labels.csv", "--splits", "2", "--alphas", "0.2"],
        ["plan", "--pilot", "labels.csv", "--replicates", "2"],
    ):
        assert CliRunner().invoke(app, command).exit_code in (0, 1)
    assert Path(FILE_NAME).read_bytes() == before


def test_on_the_command_line(tmp_path):
    FRAME.to_csv(tmp_path / "labels.csv", index=False)

    def calibrate(*arguments):
        shared = ["calibrate", str(tmp_path / "labels.csv"), "--json", "--alpha", "0.15"]
        return json.loads(CliRunner().invoke(app, [*shared, *map(str, arguments)]).stdout)

    calibrate("-o", tmp_path / "a.json")
    assert (tmp_path / FILE_NAME).exists()
    second = calibrate("-o", tmp_path / "b.json", "--seed", 1)
    assert second["certificate"]["fit_number"] == 2
    assert second["certificate"]["seed"] == 1
    assert load_gate(tmp_path / "b.json").certificate_.fit_number == 2
    silent = calibrate("-o", tmp_path / "c.json", "--seed", 2, "--no-registry")
    assert silent["certificate"]["fit_number"] == 1
    assert (
        calibrate("--registry", tmp_path / FILE_NAME, "--seed", 3)["certificate"]["fit_number"] == 3
    )


def test_a_report_on_the_calibrated_rows_says_that_it_is_not_valid(tmp_path):
    gate = fitted(FRAME)
    fresh = make_frame(seed=4, prefix="f")
    mixed = pd.concat([FRAME.iloc[:7], fresh])
    for frame, count in ((FRAME, 500), (mixed, 7), (fresh, 0)):
        outcomes = gate_from_dict(gate.to_dict()).decide(trace_of(frame))
        report = summarize(outcomes, by="label")
        assert report.calibrated_on == int(outcomes.calibrated_on.sum()) == count
        assert bool(report.notes) is (count > 0)
        assert ("Not valid" in str(report_tables(report)[0].notes)) is (count > 0)
        for name in ("o.csv", "o.jsonl", "o.parquet"):
            write_table(outcomes.to_frame(), tmp_path / name)
            again = read_outcomes(tmp_path / name)
            assert summarize(again).calibrated_on == count
    assert "calibrated_on" not in outcomes.to_frame().columns


def test_decide_and_report_bound_the_batch(tmp_path):
    gate = fitted(FRAME)
    gate.save(tmp_path / "gate.json")
    for name, frame in (("old", FRAME), ("new", make_frame(seed=4, prefix="f"))):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        files = [str(tmp_path / f) for f in ("gate.json", f"{name}.csv", f"{name}-out.csv")]
        decided = CliRunner().invoke(app, ["decide", *files[:2], "-o", files[2], "--json"])
        batch = json.loads(decided.stdout)["batch"]
        reported = CliRunner().invoke(app, ["report", files[2], "--gate", files[0], "--json"])
        assert json.loads(reported.stdout)["batch"] == batch
        if name == "old":
            assert batch is None
        else:
            assert batch["confidence"] == pytest.approx(0.9)
            assert batch["wrong"] > 0.15 * batch["accepted"]
