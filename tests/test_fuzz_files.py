"""Whatever stands in a file of a trace or a ledger: it is read, or one clear error says why not.

``RISKJUDGE_FUZZ=5000 pytest tests/test_fuzz_files.py`` tries that many examples of each kind.
"""

import json
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from riskjudge.data.trace import Trace, read_trace
from riskjudge.data.verdict import BooleanVerdict, Failure, FailureKind, Winner, WinnerVerdict
from riskjudge.errors import RiskJudgeError
from riskjudge.gate import Router
from riskjudge.io.tables import write_table
from riskjudge.items.item import read_items
from riskjudge.items.questions import read_questions
from riskjudge.ledger import Row, read_ledger, readings, write_ledger, write_parquet
from riskjudge.ledger.parquet import read_parquet
from riskjudge.ledger.traces import to_trace

EXAMPLES = int(os.environ.get("RISKJUDGE_FUZZ", "60"))
fuzz = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=EXAMPLES == 60,
)


def valid(folder):
    """Bytes of a valid file of each kind."""
    frame = pd.DataFrame(
        {
            "item_id": ["a", "b", "c", "d"],
            "label": [1, 0, 1, None],
            "v1": [1, 1, None, 0],
            "u1": [0.1, 0.25, None, 0.5],
            "why1": [None, None, "timeout", None],
            "source1": ['{"model": "m"}'] * 4,
            "topic": ["x, y", 'a "b"', "NA", None],
            "group": ["g", "g", "h", "i"],
        }
    )
    found = {}
    for name in ("t.csv", "t.tsv", "t.jsonl", "t.parquet", "t.csv.gz"):
        write_table(frame, folder / name)
        found[name] = (folder / name).read_bytes()
    rows = [
        Row("q1", "j", "m", BooleanVerdict(True), 0.9, label=True, disclosure={"p_true": 0.9}),
        Row("q2", "j", "m", Failure(FailureKind.TIMEOUT, "slow"), group="g"),
        Row("q3", "j", "m", WinnerVerdict(Winner.A), 0.5, label=Winner.B, seconds=0.1),
    ]
    write_ledger(folder / "ledger.jsonl", rows)
    write_parquet(folder / "ledger.parquet", rows)
    items = [{"id": "a", "question": "?", "candidate": "x", "label": True, "tier": 1}]
    (folder / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    for name in ("ledger.jsonl", "ledger.parquet", "items.jsonl"):
        found[name] = (folder / name).read_bytes()
    return found


def use(path):
    """What a person does with the file, down to a gate and its outcomes."""
    name = path.name
    try:
        if name.startswith("t."):
            trace = read_trace(path)
            Trace.from_frame(trace.to_frame())
            write_table(trace.to_frame(), path.with_name("again.jsonl"))
            again = read_trace(path.with_name("again.jsonl"))
            assert again.fingerprint() == trace.fingerprint()
            Router(0.3, groups="sample").fit(trace).decide(trace).to_frame()
        elif name == "items.jsonl":
            read_items(path)
            read_questions(path)
        else:
            parquet = name.endswith(".parquet")
            rows = list(read_parquet(path)) if parquet else read_ledger(path).rows
            readings(rows, ("judge", "label"))
            if not parquet:
                read_ledger(path, on_error="skip")
            for measure in ("confidence", "predictive_entropy", "variation_ratio", "cut"):
                to_trace(rows, uncertainty=measure)
    except RiskJudgeError:
        pass


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return valid(tmp_path_factory.mktemp("valid"))


PIECES = [
    *(b"", b",", b'"', b"\n", b"\r", b"\0", b"\xff", b"\xef\xbb\xbf", b"NaN", b"Infinity", b"null"),
    *(b"1e999", b"-0", b"0x1", b"1_0", b"9" * 400, b"true", b"TRUE", b"[", b"{", b"}", b"\\ud800"),
    *(b"item_id", b"u1", b"v2", b"u1.1", b"label", b" ", b"\t", b";", b"nan", b"2", b"-1", b"0.5"),
]
edits = st.lists(
    st.tuples(st.integers(0, 2000), st.integers(0, 12), st.sampled_from(PIECES)), max_size=4
)


@fuzz
@given(st.data())
def test_a_valid_file_with_some_bytes_changed(files, folder, data):
    name = data.draw(st.sampled_from(sorted(files)))
    content = files[name]
    for where, length, piece in data.draw(edits):
        where %= len(content) + 1
        content = content[:where] + piece + content[where + length :]
    path = folder / name
    path.write_bytes(content)
    use(path)


values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(-(10**30), 10**30),
    st.floats(),
    st.sampled_from(["", " ", "0", "1", "0.5", "true", "NA", "None", "nan", "inf", "1.0", "01"]),
    st.sampled_from(["timeout", "panel_split", "undecided", "a", "b", "graded", '{"model":"m"}']),
    st.text(max_size=5),
    st.lists(st.integers(0, 2), max_size=2),
    st.dictionaries(st.text(max_size=2), st.integers(0, 1), max_size=2),
)
names = st.one_of(
    st.sampled_from(["item_id", "label", "v1", "u1", "why1", "source1", "mode1", "v2", "u2"]),
    st.sampled_from(["group", "question_id", "V1", "u1 ", "u1.1", ""]),
    st.text(max_size=4),
)
good = {"item_id": "a", "label": 1, "v1": 1, "u1": 0.5}


@fuzz
@given(st.lists(st.dictionaries(names, values, max_size=3), min_size=1, max_size=5), st.booleans())
def test_lines_with_any_fields_of_any_kind(folder, rows, distinct):
    path = folder / "t.jsonl"
    with path.open("w") as file:
        for k, row in enumerate(rows):
            whole = good | ({"item_id": f"i{k}", "label": k % 2} if distinct else {}) | row
            file.write(json.dumps(whole) + "\n")
    use(path)


COLUMNS = ["id", "subject", "judge", "mode", "status", "boolean", "score", "winner", "reason"]
COLUMNS += ["undecided", "error", "message", "confidence", "label", "subset", "group", "seed"]
COLUMNS += ["order", "calls", "seconds", "started", "disclosure", "ledger_abstain_reason", "other"]
record = {"id": "r", "subject": "q", "judge": "j", "mode": "m", "status": "graded", "boolean": True}
disclosed = st.dictionaries(
    st.sampled_from(["p_true", "log_odds", "votes", "gated", "scale", "score", "cut", "source"]),
    values,
    max_size=3,
)


@fuzz
@given(
    st.lists(
        st.tuples(st.dictionaries(st.sampled_from(COLUMNS), values, max_size=3), disclosed),
        min_size=1,
        max_size=4,
    )
)
def test_ledger_lines_with_any_fields_of_any_kind(folder, rows):
    path = folder / "ledger.jsonl"
    with path.open("w") as file:
        for k, (row, said) in enumerate(rows):
            whole = record | {"id": f"r{k}", "subject": f"q{k}", "disclosure": said} | row
            file.write(json.dumps(whole) + "\n")
    use(path)


@fuzz
@given(
    st.dictionaries(names, st.lists(values, min_size=3, max_size=3), max_size=4),
    st.sampled_from(["object", "category", "float32", "Int64", "string", "datetime64[ns]"]),
)
def test_frames_with_columns_of_any_type(columns, kind):
    frame = pd.DataFrame({name: [good[name]] * 3 for name in good} | columns)
    frame["item_id"] = columns.get("item_id", ["a", "b", "c"])
    for name in columns:
        try:
            frame[name] = frame[name].astype(kind)
        except (ValueError, TypeError, OverflowError, pd.errors.OutOfBoundsDatetime):
            continue
    try:
        trace = Trace.from_frame(frame)
        assert np.isfinite(trace.scores[trace.absence < 0]).all()
    except RiskJudgeError:
        pass
