"""Manners in a notebook and towards scikit-learn: tables are taken, results show themselves."""

import html.parser

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

import riskjudge
from riskjudge import InputError, Router, SelectiveGate, Trace
from riskjudge.display import Table
from riskjudge.gate.grouped import GroupedGate
from riskjudge.signals import FusedGate

ATTACK = '<script>alert("x")</script>&\'"'


@pytest.fixture(scope="module")
def frame():
    return riskjudge.demo_trace().to_frame().assign(topic="x")


@pytest.mark.parametrize(
    "gate",
    [Router(0.2), SelectiveGate(0.3, mode="retrieval"), FusedGate(0.2),
     GroupedGate(Router(0.2), "topic")],
    ids=lambda gate: type(gate).__name__,
)  # fmt: skip
def test_a_table_is_as_good_as_a_trace(frame, gate):
    old, new = frame[:1000], frame[1000:]
    by_table = gate.fit(old, new.drop(columns="label")).decide(new).to_frame()
    by_trace = gate.fit(
        Trace.from_frame(old), Trace.from_frame(new.drop(columns="label"))
    ).decide(Trace.from_frame(new))  # fmt: skip
    same = by_trace.to_frame()  # a table's other modes are carried along like other columns
    assert by_table[same.columns].equals(same)


def test_a_table_is_read_by_the_columns_that_the_gate_was_fitted_on(frame):
    mode = riskjudge.ModeColumns("judge", "said", "doubt")
    renamed = frame.rename(columns={"v1": "said", "u1": "doubt"})
    gate = Router(0.3).fit(Trace.from_frame(renamed, modes=[mode]))
    assert gate.decide(renamed).modes == ("judge",)


@pytest.mark.parametrize("wrong", [np.zeros((3, 2)), [[0.1]], "trace.csv", None])
def test_what_is_no_table_is_refused(wrong):
    with pytest.raises(InputError, match="a trace or a table"):
        Router(0.2).fit(wrong)


def test_score_is_the_accepted_share(frame):
    gate = Router(0.2).fit(frame[:1000])
    assert gate.score(frame[1000:]) == gate.decide(frame[1000:]).accepted.mean()
    assert Router(0.0001).fit(frame[:1000]).score(frame[1000:]) == 0.0


def test_scikit_learn_searches_over_settings(frame):
    settings = {"by_verdict": [False, True], "procedure": ["portfolio", "fixed_sequence"]}
    found = GridSearchCV(Router(0.2), settings, cv=2, refit=False).fit(frame)
    scores = found.cv_results_["mean_test_score"]
    assert len(scores) == 4
    assert found.best_params_ == found.cv_results_["params"][int(np.argmax(scores))]
    half = len(frame) // 2
    first = Router(0.2, procedure="portfolio").fit(frame[half:]).score(frame[:half])
    assert found.cv_results_["split0_test_score"][0] == pytest.approx(first)
    assert len(cross_val_score(SelectiveGate(0.3), frame, cv=2)) == 2


class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen = [], set()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def shown(result):
    reader = Tags()
    reader.feed(result._repr_html_())
    assert reader.open == []
    assert "script" not in reader.seen
    return result._repr_html_()


def test_results_show_themselves(frame):
    nasty = frame.assign(topic=np.where(np.arange(len(frame)) % 2, ATTACK, "y"), mode1=ATTACK)
    trace = Trace.from_frame(nasty)
    good, bad = Router(0.2).fit(trace), Router(0.0001).fit(trace)
    report = riskjudge.summarize(good.decide(trace), by="topic")
    assert good.certificate_.statement in shown(good.certificate_)
    assert "No rule could be certified" in shown(bad.certificate_)
    assert "need" in shown(bad.certificate_)
    assert str(report.whole.fdr).replace("&", "&amp;") in shown(report)
    few = riskjudge.summarize(good.decide(trace), by="topic", floor=10**6)
    assert "insufficient: need 1000000" in shown(few)
    table = Table(ATTACK, ("name", ATTACK), ((ATTACK, "1"),), (ATTACK,))
    assert shown(table).count("&lt;script&gt;") == 4
