"""The trace: what is read, and what is turned away, with its row."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskjudge.data.modes import ABSENCES, ModeColumns
from riskjudge.data.trace import Trace, read_trace, stack
from riskjudge.errors import InputError
from riskjudge.evaluation import summarize
from riskjudge.gate import SelectiveGate
from riskjudge.io.tables import read_table, write_table


def table(**changes):
    columns = {
        "item_id": ["a", "b", "c"],
        "label": [1, 0, 1],
        "v1": [1, 1, 0],
        "u1": [0.1, 0.2, 0.3],
    }
    return pd.DataFrame(columns | changes)


def test_reads_what_people_write():
    trace = Trace.from_frame(table(label=["true", "False", None], v1=["1", 0.0, True]))
    assert trace.labels.tolist() == [1, 0, -1]
    assert trace.verdicts[:, 0].tolist() == [1, 0, 1]
    assert trace.labelled.tolist() == [True, True, False]


def test_a_missing_verdict_or_score_is_a_failure_with_a_kind():
    trace = Trace.from_frame(table(v1=[1, None, 0], u1=[np.nan, 0.2, 0.3]))
    kinds = [None if code < 0 else ABSENCES[code] for code in trace.absence[:, 0]]
    assert kinds == ["no_confidence", "no_verdict", None]
    assert np.isnan(trace.scores[:2, 0]).all()


def test_the_reason_column_says_why():
    frame = table(v1=[None, None, 0], why1=["panel_split", "timeout", None])
    trace = Trace.from_frame(frame)
    assert [ABSENCES[code] for code in trace.absence[:2, 0]] == ["panel_split", "timeout"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"label": [1, 2, 0]}, r"row 2, label: 2 is not 0, 1, true or false"),
        ({"v1": [1, 0, "yes"]}, r"row 3, v1: 'yes' is not 0, 1"),
        ({"u1": [0.1, np.inf, 0.2]}, r"row 2, u1: inf is not a finite number"),
        ({"u1": [0.1, "low", 0.2]}, r"row 2, u1: 'low' is not a number"),
        ({"item_id": ["a", "b", "a"]}, r"row 3: the id 'a' is that of row 1"),
        ({"item_id": ["a", None, "c"]}, r"row 2, item_id: None is not an id"),
        (
            {"why1": [None, "tired", None], "v1": [1, None, 1]},
            r"row 2, why1: 'tired' is not one of",
        ),
        ({"why1": ["timeout", None, None]}, r"row 1: why1 says 'timeout', yet there is a verdict"),
    ],
)
def test_bad_rows_are_named(changes, says):
    with pytest.raises(InputError, match=says):
        Trace.from_frame(table(**changes))


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (table().iloc[:0], "no rows"),
        (table().drop(columns="u1"), "no columns v1 and u1"),
        (table().drop(columns="item_id"), "no column 'item_id'"),
    ],
)
def test_bad_tables_are_named(frame, says):
    with pytest.raises(InputError, match=says):
        Trace.from_frame(frame)


def test_modes_by_other_names():
    frame = table().rename(columns={"v1": "says", "u1": "entropy"})
    trace = Trace.from_frame(frame, modes=[ModeColumns.parse("parametric = says, entropy")])
    assert trace.modes == ("parametric",)
    with pytest.raises(InputError, match="name=verdict,uncertainty"):
        ModeColumns.parse("parametric")
    with pytest.raises(InputError, match="no mode 'x'; it has parametric"):
        trace.select(["x"])


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_files_round_trip(tmp_path, ending):
    frame = table(v1=[None, 1, 0], why1=["refusal", None, None], topic=["x", "y", "z"])
    frame["u1"] = [np.nan, 0.1 + 0.2, 1 / 3]
    trace = Trace.from_frame(frame)
    path = tmp_path / f"trace.{ending}"
    write_table(trace.to_frame(), path)
    again = read_trace(path)
    assert again.fingerprint() == trace.fingerprint()
    assert again.extra["topic"].tolist() == ["x", "y", "z"]


def test_ids_stay_text(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("item_id,label,v1,u1\n01,1,1,0.1\n1,0,1,0.2\nNA,1,0,0.3\n")
    assert read_trace(path).item_id.tolist() == ["01", "1", "NA"]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("t.csv", "", "is empty"),
        ("t.csv", "item_id,label,v1,u1\n", "no rows"),
        (
            "t.csv",
            "item_id,label,v1,u1\na,1,1,0.1\nb,0,1",
            "row 2 has 3 fields and the header 4",
        ),
        ("t.csv", "item_id,label,v1,u1\na,1,1,0.1,\n", "trailing comma"),
        (
            "t.jsonl",
            '{"item_id": "a", "label": [1], "v1": 1, "u1": 0.1}\n',
            r"row 1, label: '\[1\]' is not",
        ),
        ("t.csv", "a,b\n1,2,3,4\n5\n", "row 1 has 4 fields and the header 2"),
        ("t.jsonl", '{"item_id": "a"}\n{"item_id"\n', "line 2: not JSON"),
        ("t.jsonl", "[1]\n", "line 1: a JSON object is needed"),
        ("t.parquet", "PAR", "not a Parquet file"),
        ("t.xlsx", "", "must end in"),
    ],
)
def test_damaged_files_are_named(tmp_path, name, content, says):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(InputError, match=says):
        read_trace(path)


def test_a_missing_file_is_named(tmp_path):
    for ending in ("csv", "parquet"):
        with pytest.raises(InputError, match="no such file"):
            read_table(tmp_path / f"absent.{ending}")


def test_fingerprint_does_not_depend_on_the_order_of_rows():
    trace = Trace.from_frame(table())
    assert trace.rows(np.array([2, 0, 1])).fingerprint() == trace.fingerprint()
    assert Trace.from_frame(table(label=[1, 0, 0])).fingerprint() != trace.fingerprint()


@given(st.lists(st.booleans(), min_size=1, max_size=20))
def test_rows_and_stack_are_inverse(mask):
    n = len(mask)
    rng = np.random.default_rng(n)
    trace = Trace.from_arrays(
        rng.random((n, 2)), rng.integers(0, 2, (n, 2)), rng.integers(-1, 2, n)
    )
    keep = np.array(mask)
    parts = [part for part in (trace.rows(keep), trace.rows(~keep)) if len(part)]
    assert stack(parts).fingerprint() == trace.fingerprint()


@pytest.mark.parametrize("mode", [ModeColumns("judge", "v1", "u1"), None])
def test_reasons_and_sources_are_taken_up_where_the_table_has_them(mode):
    frame = table(v1=[None, 1, 0], why1=["panel_split", None, None])
    given = None if mode is None else [mode]
    read = Trace.from_frame(frame, modes=given)
    assert [ABSENCES[code] for code in read.absence[:, 0] if code >= 0] == ["panel_split"]
    # Nothing failed in this batch, so that nobody wrote the column.
    without = Trace.from_frame(table(), modes=read.columns[:1])
    assert without.columns[0].why is None
    assert (without.absence[:, 0] == -1).all()


@pytest.mark.parametrize(("verdict", "why"), [("v1", "why1"), ("v_big", "why_big")])
def test_a_gate_keeps_reasons_whether_or_not_its_own_trace_had_any(verdict, why):
    rng = np.random.default_rng(0)
    n = 400
    right = rng.random(n) < 0.5
    rows = pd.DataFrame(
        {
            "item_id": [str(i) for i in range(n)],
            "label": right.astype(int),
            verdict: np.where(rng.random(n) < 0.02, ~right, right).astype(int),
            "u": rng.random(n),
        }
    )
    reasons = [*["swap_inconsistent"] * 3, "undecided", "timeout"]
    broken = rows.astype({verdict: "Int64"}).assign(**{why: [*reasons, *[None] * (n - 5)]})
    broken.loc[:4, verdict] = pd.NA
    mode = [ModeColumns("judge", verdict, "u")]
    for fitted_on, batch in ((rows, broken), (broken, rows), (broken, broken)):
        gate = SelectiveGate(0.1, 0.05).fit(Trace.from_frame(fitted_on, modes=mode))
        outcomes = gate.decide(Trace.from_frame(batch, modes=gate.columns_))
        whole = summarize(outcomes).whole
        if batch is broken:
            assert whole.abstained_by["swap_inconsistent"] == 3
            assert (whole.undecided, whole.failed_by) == (1, {"timeout": 1})
        else:
            assert whole.failed == 0
