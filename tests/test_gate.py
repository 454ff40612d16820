"""Gates: three states, every item accounted for, JSON that refuses damage, SQL that agrees."""

import json
import re
import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from riskjudge.calibration import PROCEDURES, FixedSequence
from riskjudge.data.modes import ModeColumns
from riskjudge.data.source import ScoreSource
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError, NotFittedError
from riskjudge.evaluation import summarize
from riskjudge.gate import Router, SelectiveGate, load_gate
from riskjudge.gate.document import checksum
from riskjudge.gate.outcomes import Outcomes
from riskjudge.io.tables import read_table, write_table


def make_trace(n=600, seed=0, *, rates=(0.4, 0.2), missing=0.05, unlabelled=0):
    rng = np.random.default_rng(seed)
    scores = rng.random((n, len(rates)))
    labels = rng.integers(0, 2, n)
    verdicts = labels[:, None] ^ (rng.random(scores.shape) < np.array(rates) * scores)
    gone = rng.random(scores.shape) < missing
    scores[gone], verdicts[gone] = np.nan, -1
    labels[n - unlabelled :] = -1
    return Trace.from_arrays(scores, verdicts, labels)


def load_after_saving(gate):
    with tempfile.TemporaryDirectory() as folder:
        gate.save(Path(folder) / "gate.json")
        return load_gate(Path(folder) / "gate.json")


def test_params_and_clone():
    router = Router(alpha=0.2, procedure=FixedSequence(steps=10), seed=3)
    copy = clone(router)
    assert copy.get_params() == router.get_params()
    assert not copy.fitted
    router.fit(make_trace())
    assert not clone(router).fitted


def test_an_unfitted_gate_lets_through_uncertified_or_declines():
    trace = make_trace(missing=0.1)
    passed = summarize(Router().decide(trace)).whole
    assert passed.uncertified == passed.accepted == int((trace.verdicts[:, 0] >= 0).sum())
    assert passed.failed == passed.items - passed.accepted
    declined = summarize(Router(unfitted="abstain").decide(trace)).whole
    assert declined.abstained_by == {"below_conformal": 600}
    with pytest.raises(NotFittedError):
        Router().to_sql()


def test_a_fitted_gate_with_an_empty_region_declines_everything():
    trace = make_trace(rates=(0.9, 0.9))
    router = Router(alpha=0.05).fit(trace)
    assert router.fitted
    assert router.thresholds_ is None
    whole = summarize(router.decide(trace)).whole
    assert whole.abstained_by == {"below_conformal": 600}
    assert whole.asked == 0
    assert whole.fdr.value is None
    assert router.to_sql() == "NULL"


def test_every_item_is_accounted_for():
    trace = make_trace(missing=0.2)
    whole = summarize(Router(alpha=0.15).fit(trace).decide(trace)).whole
    assert whole.accepted > 0
    assert whole.failed > 0
    assert whole.items == whole.accepted + whole.abstained + whole.failed + whole.undecided


def test_reasons_of_the_last_mode_asked_stand():
    rule = Router(alpha=0.2, procedure=FixedSequence(path=[(0.3, 0.3)])).fit(make_trace(2000))
    assert rule.thresholds_.tolist() == [0.3, 0.3]
    frame = pd.DataFrame(
        [
            ("sure at once", 1, 0.1, None, 1, 0.1, None),
            ("sure with help", 1, 0.9, None, 1, 0.1, None),
            ("never sure", 1, 0.9, None, 1, 0.9, None),
            ("help split", 1, 0.9, None, None, None, "panel_split"),
            ("split, then not sure", None, None, "panel_split", 1, 0.9, None),
            ("help broke", 1, 0.9, None, None, None, "timeout"),
            ("broke, then not sure", None, None, "parse", 1, 0.9, None),
            ("broke, then sure", None, None, "parse", 1, 0.1, None),
            ("no preference", 1, 0.9, None, None, None, "undecided"),
        ],
        columns=["item_id", "v1", "u1", "why1", "v2", "u2", "why2"],
    )
    out = rule.decide(Trace.from_frame(frame)).to_frame().set_index("item_id")
    assert out["mode"].dropna().to_dict() == {
        "sure at once": "mode1",
        "sure with help": "mode2",
        "broke, then sure": "mode2",
    }
    assert out["asked"].tolist() == [1, 2, 2, 2, 2, 2, 2, 2, 2]
    assert out["abstain_reason"].dropna().to_dict() == {
        "never sure": "below_conformal",
        "help split": "panel_split",
        "split, then not sure": "below_conformal",
    }
    assert out["failure"].dropna().to_dict() == {
        "help broke": "timeout",
        "broke, then not sure": "parse",
    }
    assert out.index[out["undecided"]].tolist() == ["no preference"]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_outcomes_round_trip(tmp_path, ending):
    trace = make_trace(missing=0.2)
    outcomes = Router(alpha=0.15).fit(trace).decide(trace)
    path = tmp_path / f"outcomes.{ending}"
    write_table(outcomes.to_frame(), path)
    again = Outcomes.from_frame(read_table(path, text=["item_id"]))
    assert summarize(again) == summarize(outcomes)


@pytest.mark.parametrize("by_verdict", [False, True])
@pytest.mark.parametrize("alpha", [0.15, 0.0001])
def test_json_round_trip(tmp_path, by_verdict, alpha):
    trace = make_trace(1500)
    router = Router(alpha=alpha, by_verdict=by_verdict).fit(trace)
    path = tmp_path / "gate.json"
    router.save(path)
    again = load_gate(path)
    assert again.get_params() == router.get_params()
    assert again.certificate_ == router.certificate_
    assert again.fingerprint_ == trace.rows(trace.labelled).fingerprint()
    assert again.decide(trace).to_frame().equals(router.decide(trace).to_frame())
    stored = json.loads(path.read_text(), parse_constant=lambda name: pytest.fail(name))
    assert (stored["certificate"]["thresholds"] is None) == (alpha < 0.001)
    assert list(tmp_path.iterdir()) == [path]


def test_options_of_a_procedure_are_stored(tmp_path):
    gate = SelectiveGate(alpha=0.3, procedure=FixedSequence(start=0.2)).fit(make_trace())
    gate.save(tmp_path / "gate.json")
    assert load_gate(tmp_path / "gate.json").procedure == gate.procedure


def test_an_unfitted_gate_can_be_stored(tmp_path):
    Router(unfitted="abstain").save(tmp_path / "gate.json")
    again = load_gate(tmp_path / "gate.json")
    assert not again.fitted
    assert again.unfitted == "abstain"


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda text: text[: len(text) // 2], "damaged or not JSON"),
        (lambda text: text.replace('"alpha": 0.15', '"alpha": 0.25'), "checksum does not match"),
        (
            lambda text: text.replace('"format_version": 2', '"format_version": 3'),
            "Upgrade riskjudge",
        ),
        (
            lambda text: text.replace('"format_version": 2', '"format_version": 1'),
            "version 1, which does not say what made its scores. Calibrate again",
        ),
        (lambda text: text.replace('"seed": 0', '"seed": 0, "seed": 1'), "a key occurs twice"),
        (lambda text: text.replace('"seed": 0', '"seed": NaN'), "NaN is not JSON"),
        (lambda text: text.replace("riskjudge-gate", "other"), "format is not"),
        (lambda text: "[]", "format is not"),
    ],
)
def test_damaged_or_newer_files_are_refused(tmp_path, damage, says):
    path = tmp_path / "gate.json"
    Router(alpha=0.15).fit(make_trace()).save(path)
    path.write_text(damage(path.read_text()))
    with pytest.raises(InputError, match=says):
        load_gate(path)


@pytest.mark.parametrize("by_verdict", [False, True])
def test_duckdb_agrees_with_decide(by_verdict):
    trace = make_trace(1500, missing=0.1)
    router = Router(alpha=0.15, by_verdict=by_verdict).fit(trace)
    rows = trace.to_frame()
    assert router.certificate_.certified
    query = f"SELECT {router.to_sql()} AS mode, {router.to_sql('verdict')} AS verdict FROM rows"
    assert len(rows) == 1500
    answer = duckdb.sql(query).df()
    expected = router.decide(trace).to_frame()
    assert answer["mode"].where(answer["mode"].notna(), None).tolist() == expected["mode"].tolist()
    assert answer["verdict"].fillna(-1).tolist() == expected["verdict"].fillna(-1).tolist()


def test_unlabelled_rows_are_the_pool():
    trace = make_trace(900, unlabelled=300)
    router = Router(alpha=0.15).fit(trace)
    assert (router.n_labelled_, router.n_pool_) == (600, 300)
    assert router.certificate_.n + router.certificate_.n_reserved == 600
    assert "serve as the unlabelled pool" in router.notes_[0]


def test_a_pool_that_holds_calibration_items_is_refused():
    trace = make_trace()
    with pytest.raises(InputError, match="the pool holds the calibration item"):
        Router().fit(trace, pool=trace.rows(np.arange(50)))


def test_dependent_rows_are_refused_or_sampled():
    trace = make_trace(400)
    frame = trace.to_frame().assign(group=np.repeat(np.arange(100), 4))
    grouped = Trace.from_frame(frame)
    with pytest.raises(InputError, match="400 labelled items come from 100 groups"):
        Router().fit(grouped)
    router = Router(alpha=0.3, groups="sample").fit(grouped)
    assert router.n_labelled_ == 100
    assert any("a random group" in assumption for assumption in router.certificate_.assumptions)
    assert load_after_saving(router).certificate_ == router.certificate_
    assert router.fingerprint_ == Router(alpha=0.3, groups="sample").fit(grouped).fingerprint_
    assert Trace.from_frame(frame.assign(group=np.arange(400))).group is not None
    Router().fit(Trace.from_frame(frame.assign(group=np.arange(400))))


@pytest.mark.parametrize(
    ("labels", "says"),
    [(np.full(50, -1), "no item has a label"), (np.ones(50, int), "all 50 labels are 1")],
)
def test_labels_that_cannot_calibrate_are_named(labels, says):
    trace = Trace.from_arrays(
        np.random.default_rng(0).random((50, 1)), np.ones((50, 1), int), labels
    )
    with pytest.raises(InputError, match=says):
        SelectiveGate().fit(trace)


def test_a_gate_over_one_mode():
    trace = make_trace(1500)
    second = SelectiveGate(alpha=0.15, mode="mode2").fit(trace)
    assert second.modes_ == ("mode2",)
    out = second.decide(trace)
    assert set(out.to_frame()["mode"].dropna()) == {"mode2"}
    with pytest.raises(InputError, match="no mode 'mode9'"):
        SelectiveGate(mode="mode9").fit(trace)


@pytest.mark.parametrize("name", sorted(PROCEDURES))
def test_every_procedure_by_name_through_a_file(tmp_path, name):
    trace = make_trace(800)
    router = Router(alpha=0.2, procedure=name).fit(trace)
    assert router.certificate_.procedure == name
    router.save(tmp_path / "gate.json")
    assert load_gate(tmp_path / "gate.json").certificate_ == router.certificate_


def test_unknown_names_list_the_known_ones():
    with pytest.raises(InputError, match="pointwise"):
        Router(procedure="magic").fit(make_trace())
    with pytest.raises(InputError, match="'refuse' or 'sample'"):
        Router(groups="ignore").fit(make_trace())
    with pytest.raises(InputError, match="'pass' or 'abstain'"):
        Router(unfitted="shrug").decide(make_trace())


def test_a_perfect_judge_is_certified_as_soon_as_the_items_suffice():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 130)
    trace = Trace.from_arrays(rng.random((130, 2)), np.column_stack((labels, labels)), labels)
    for procedure in ("portfolio", None):
        assert Router(alpha=0.1, procedure=procedure).fit(trace).certificate_.certified


@pytest.mark.parametrize("budget", [0.7, 0.5, 0.3])
def test_a_retrieval_budget_leaves_room_for_both_modes(budget):
    rng = np.random.default_rng(1)
    scores = rng.random((2000, 2))
    labels = rng.integers(0, 2, 2000)
    verdicts = labels[:, None] ^ (rng.random((2000, 2)) < np.array([0.5, 0.1]) * scores)
    trace = Trace.from_arrays(scores, verdicts, labels)
    router = Router(alpha=0.2, max_retrieval=budget).fit(trace)
    certificate = router.certificate_
    assert certificate.certified
    assert certificate.accepted_by["mode2"] > 0
    assert 1 - certificate.accepted_by["mode1"] / certificate.n <= budget


def test_a_rule_without_retrieval_keeps_any_budget():
    trace = make_trace(1500, rates=(0.05, 0.9), missing=0)
    certificate = (
        Router(alpha=0.1, max_retrieval=0.001, procedure="portfolio").fit(trace).certificate_
    )
    assert certificate.certified
    assert certificate.thresholds["mode2"] is None


def test_the_shortfall_tells_its_cases_apart():
    failed = make_trace(200, missing=1.0)
    short = Router(alpha=0.1).fit(failed).certificate_.shortfall
    assert (str(short.obstacle), short.labels_needed) == ("nothing_accepted", None)
    bad = Router(alpha=0.05).fit(make_trace(rates=(0.9, 0.9))).certificate_.shortfall
    assert str(bad.obstacle) == "error_rate"
    few = (
        Router(alpha=0.1, procedure="portfolio")
        .fit(make_trace(60, rates=(0.05, 0.05)))
        .certificate_
    )
    assert str(few.shortfall.obstacle) == "too_few"
    assert few.shortfall.labels_needed > 60


def test_scores_that_look_like_confidences_are_noted():
    trace = make_trace(1500)
    turned = Trace.from_arrays(1 - trace.scores, trace.verdicts, trace.labels)
    assert any("is it a confidence?" in note for note in Router().fit(turned).notes_)
    assert not any("confidence" in note for note in Router().fit(trace).notes_)


def test_group_mates_of_calibration_items_are_no_pool():
    frame = make_trace(400).to_frame().assign(group=np.repeat(np.arange(200), 2))
    with pytest.raises(InputError, match="the pool holds the calibration item"):
        Router(groups="sample").fit(
            Trace.from_frame(frame), pool=Trace.from_frame(frame.iloc[1::2])
        )


def test_numpy_numbers_can_be_stored(tmp_path):
    router = Router(alpha=np.float32(0.2), seed=np.int64(3)).fit(make_trace())
    router.save(tmp_path / "gate.json")
    assert load_gate(tmp_path / "gate.json").certificate_ == router.certificate_


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.pop("certificate"),
        lambda data: data.update(kind="door"),
        lambda data: data.update(settings=None),
        lambda data: data["settings"].update(extra=1),
        lambda data: data["settings"].update(alpha=1.5),
        lambda data: data["settings"].update(by_verdict=True),
        lambda data: data["settings"].update(procedure={"name": "hybrid"}),
        lambda data: data["settings"].update(procedure="magic"),
        lambda data: data.update(modes=[]),
        lambda data: data.update(modes=[data["modes"][0]] * 2),
        lambda data: data["modes"][0].update(name="other"),
        lambda data: data["modes"][0].update(name=None),
        lambda data: data["certificate"].update(thresholds={}),
        lambda data: data["certificate"].update(thresholds={"mode1": 0.1}),
        lambda data: data["certificate"]["thresholds"].update(mode1="0.5"),
        lambda data: data["certificate"]["thresholds"].update(mode1=True),
        lambda data: data["certificate"].update(accepted=-1),
        lambda data: data["certificate"].update(errors=10**9),
        lambda data: data["certificate"].update(guarantee="sure"),
        lambda data: data["certificate"].update(surprise=1),
        lambda data: data["certificate"]["accepted_by"].update(mode1=0),
        lambda data: data["calibration"].pop("notes"),
    ],
)
def test_a_wrong_structure_under_a_right_checksum_is_damage(change, tmp_path):
    path = tmp_path / "gate.json"
    data = Router(alpha=0.15).fit(make_trace()).to_dict()
    change(data)
    path.write_text(json.dumps(data | {"checksum": checksum(data)}))
    with pytest.raises(InputError, match="is damaged"):
        load_gate(path)


def test_the_order_of_keys_decides_nothing(tmp_path):
    trace = make_trace(1500)
    frame = trace.to_frame()
    modes = [ModeColumns("small", "v1", "u1"), ModeColumns("big", "v2", "u2")]
    trace = Trace.from_frame(frame, modes=modes)
    for by_verdict in (False, True):
        gate = Router(alpha=0.15, by_verdict=by_verdict).fit(trace)
        sorted_keys = tmp_path / "sorted.json"
        sorted_keys.write_text(json.dumps(gate.to_dict(), sort_keys=True))
        turned = json.loads(json.dumps(gate.to_dict()), object_pairs_hook=lambda p: dict(p[::-1]))
        turned_keys = tmp_path / "turned.json"
        turned_keys.write_text(json.dumps(turned))
        expected = gate.decide(trace).to_frame()
        for path in (sorted_keys, turned_keys):
            assert load_gate(path).decide(trace).to_frame().equals(expected)
            assert load_gate(path).to_sql() == gate.to_sql()
        # The modes of a trace are found by name, too: their order in it means nothing.
        swapped = Trace.from_frame(frame, modes=modes[::-1])
        assert gate.decide(swapped).to_frame().equals(expected)
        with pytest.raises(InputError, match="no mode 'small'"):
            gate.decide(Trace.from_frame(frame))


SMALL = {"model": "small", "measure": "predictive_entropy", "k": 3}


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({**SMALL, "model": "large"}, "model: 'small' in the gate, 'large' in these items"),
        ({**SMALL, "k": 5}, "k: 3 in the gate, 5 in these items"),
        ({**SMALL, "temperature": 1}, "temperature: unknown in the gate, 1 in these items"),
        ({"model": "small"}, "measure: 'predictive_entropy' in the gate, unknown in these items"),
        (None, "nothing is known of what made the scores in these items"),
    ],
)
def test_scores_of_another_source_are_refused_or_not_certified(other, says, tmp_path):
    trace = make_trace(1500)
    known = trace.with_sources({mode: ScoreSource(SMALL) for mode in trace.modes})
    gate = Router(alpha=0.15).fit(known)
    gate.save(tmp_path / "gate.json")
    source = None if other is None else ScoreSource(other)
    others = trace if source is None else known.with_sources({"mode2": source})
    for fitted in (gate, load_gate(tmp_path / "gate.json")):
        assert fitted.decide(known).certified.all()
        with pytest.raises(InputError, match=re.escape(says)):
            fitted.decide(others)
        outcomes = fitted.decide(others, on_mismatch="uncertify")
        assert not outcomes.certified.any()
        assert summarize(outcomes).whole.uncertified == summarize(outcomes).whole.accepted > 0
        with pytest.raises(InputError, match="on_mismatch must be"):
            fitted.decide(known, on_mismatch="ignore")
    unbound = Router(alpha=0.15).fit(trace)
    assert unbound.decide(trace).certified.all()
    assert any("nothing recorded" in line for line in unbound.certificate_.assumptions)
    assert unbound.decide(known).certified.all()  # nothing was recorded, nothing can be compared
    with pytest.raises(InputError, match="not made as those of the labelled items"):
        gate.fit(known, pool=make_trace(50, seed=9).with_sources({"mode1": ScoreSource({"k": 1})}))


def test_gates_without_a_fit_and_without_a_region_are_told_apart():
    trace = make_trace(rates=(0.9, 0.9))
    empty = Router(alpha=0.05).fit(trace).decide(trace)
    unfitted = Router(unfitted="abstain").decide(trace)
    assert summarize(empty).whole.abstained_by == summarize(unfitted).whole.abstained_by
    assert empty.certified.all()
    assert not unfitted.certified.any()


def test_scikit_learn_clones_it():
    from sklearn.base import clone

    path = [[0.1, 0.2]]
    gate = Router(alpha=0.2, path=path).fit(make_trace())
    cloned = clone(gate)
    assert not cloned.fitted
    assert cloned.path is path
    assert cloned.set_params(alpha=0.3).alpha == 0.3
    assert repr(cloned) == "Router(alpha=0.3, path=[[0.1, 0.2]])"
    with pytest.raises(InputError, match="no setting 'beta'"):
        cloned.set_params(beta=1)


def test_sql_and_decide_agree_on_rows_with_a_reason():
    rows = make_trace(800, missing=0).to_frame().assign(why1=[None, "no_confidence"] * 400)
    trace = Trace.from_frame(rows)
    router = Router(alpha=0.2).fit(trace)
    assert router.certificate_.certified
    assert len(rows) == 800
    answer = duckdb.sql(f"SELECT {router.to_sql()} AS mode FROM rows").df()["mode"]
    assert (
        answer.where(answer.notna(), None).tolist()
        == router.decide(trace).to_frame()["mode"].tolist()
    )


def test_outcomes_read_back_keep_the_order_of_the_modes():
    trace = make_trace(1500)
    rule = Router(alpha=0.3, procedure=FixedSequence(path=[(0.3, 0.9)])).fit(trace)
    outcomes = rule.decide(trace.rows(np.argsort(-trace.scores[:, 0])))  # mode 2 comes first
    again = Outcomes.from_frame(outcomes.to_frame())
    assert outcomes.to_frame()["mode"].dropna().iloc[0] == "mode2"
    assert again.modes == ("mode1", "mode2")
