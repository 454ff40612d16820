"""What made the scores travels with them."""

import numpy as np
import pandas as pd
import pytest

from riskjudge import InputError, Trace, read_trace
from riskjudge.data.source import ScoreSource
from riskjudge.data.trace import stack
from riskjudge.io.tables import write_table

SMALL = ScoreSource({"model": "small", "measure": "predictive_entropy", "temperature": 0.0})
LARGE = ScoreSource({"model": "large", "measure": "predictive_entropy", "temperature": 0})


def frame(*sources):
    return pd.DataFrame(
        {
            "item_id": [f"q{i}" for i in range(len(sources))],
            "label": 1,
            "v1": 1,
            "u1": np.linspace(0, 0.5, len(sources)),
            "source1": sources,
        }
    )


def test_a_source_is_its_own_text_whatever_the_order_of_its_facts():
    turned = ScoreSource(dict(reversed(list(SMALL.items()))))
    assert turned == SMALL == ScoreSource.parse(str(SMALL))
    assert str(turned) == str(SMALL)
    assert hash(turned) == hash(SMALL)
    assert ScoreSource({"k": 1.0}) == ScoreSource({"k": 1})
    assert ScoreSource({"k": True}) != ScoreSource({"k": 1})


def test_differences_are_named():
    assert SMALL.differences(SMALL) == ()
    assert SMALL.differences(LARGE, "the gate", "the batch") == (
        "model: 'small' in the gate, 'large' in the batch",
    )
    (only,) = SMALL.differences(ScoreSource({**SMALL, "k": 3}))
    assert only == "k: unknown in the one, 3 in the other"
    assert "nothing is known" in SMALL.differences(None)[0]


@pytest.mark.parametrize("facts", [{"": 1}, {"t": float("nan")}, {"t": [1]}, {"t": None}])
def test_a_fact_that_is_none_is_refused(facts):
    with pytest.raises(InputError, match="fact"):
        ScoreSource(facts)


@pytest.mark.parametrize("text", ["", "[]", "{", "1", '{"a": {"b": 1}}'])
def test_a_text_that_is_no_source_is_refused(text):
    with pytest.raises(InputError):
        ScoreSource.parse(text)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_source_survives_every_format(ending, tmp_path):
    path = tmp_path / f"trace.{ending}"
    write_table(frame(*[str(SMALL)] * 3), path)
    trace = read_trace(path)
    assert trace.sources == (SMALL,)
    assert Trace.from_frame(trace.to_frame()).sources == (SMALL,)
    assert trace.rows(np.array([0])).sources == (SMALL,)
    assert trace.select(["mode1"]).sources == (SMALL,)
    unknown = Trace.from_frame(trace.to_frame().drop(columns="source1"))
    assert unknown.sources == (None,)
    assert unknown.fingerprint() != trace.fingerprint()


@pytest.mark.parametrize("other", [str(LARGE), None, "", "{"])
def test_a_mode_with_two_sources_is_refused_and_its_row_named(other):
    with pytest.raises(InputError, match=r"row 2, source1"):
        Trace.from_frame(frame(str(SMALL), other, str(SMALL)))


def test_traces_of_two_sources_are_not_put_together():
    one = Trace.from_frame(frame(str(SMALL)))
    with pytest.raises(InputError, match="mode1 has two sources, model: 'small'"):
        stack([one, Trace.from_frame(frame(str(LARGE)))])
    with pytest.raises(InputError, match="two sources, nothing is known"):
        stack([Trace.from_frame(frame(None)), one])
    assert stack([one, one]).sources == (SMALL,)


def test_modes_are_called_what_their_sources_say():
    table = frame(str(ScoreSource({"prompt": "parametric@1a2b", "model": "small"})))
    assert Trace.from_frame(table).modes == ("parametric",)
    both = table.assign(v2=1, u2=0.2, source2=table["source1"])
    assert Trace.from_frame(both).modes == ("mode1", "mode2")  # one name for two would not do
    both["source2"] = str(ScoreSource({"mode": "search", "prompt": "retrieval@3c"}))
    assert Trace.from_frame(both).modes == ("parametric", "search")
    assert Trace.from_frame(table.drop(columns="source1")).modes == ("mode1",)
