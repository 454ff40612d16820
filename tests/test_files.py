"""Structure of files: what is damaged is named, and what is written is whole or not there."""

import json
import os
import stat
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from riskjudge.data.modes import ModeColumns
from riskjudge.data.trace import Trace, read_trace
from riskjudge.errors import InputError, OperationalError
from riskjudge.gate import Router
from riskjudge.io.files import replacing, write_text
from riskjudge.io.jsonl import parse_json, parse_object, read_document, read_objects
from riskjudge.io.tables import read_table, write_table
from riskjudge.ledger import read_ledger

HEAD = "item_id,label,v1,u1"
ROWS = "a,1,1,0.1\nb,0,1,0.2\n"


def written(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (f"{HEAD},u1\na,1,1,0.1,0.9\n", "the column 'u1' occurs twice"),
        (f"{HEAD},v1,u1\na,1,1,0.1,0,0.9\n", "the column 'v1' occurs twice"),
        (f"{HEAD},label\na,1,1,0.1,0\n", "the column 'label' occurs twice"),
        (f"{HEAD},v2,u2 \na,1,1,0.1,0,0.9\n", "'u2 ' has a name with spaces"),
        (f"{HEAD},v2\na,1,1,0.1,0\n", "a column 'v2', and v2 and u2 of all modes"),
        (f"{HEAD},u2\na,1,1,0.1,0.9\n", "a column 'u2', and v2 and u2 of all modes"),
        (f"{HEAD},v3,u3\na,1,1,0.1,0,0.9\n", "a column 'v3', and v3 and u3 of all modes up to 3"),
        (f"{HEAD},why2\na,1,1,0.1,parse\n", "a column 'why2'"),
        (f"{HEAD},u1.1\na,1,1,0.1,0.9\n", "'u1' and 'u1.1', which look like one column twice"),
        (f"{HEAD},Label\na,1,1,0.1,0\n", "'label' and 'Label', which look like one column twice"),
        (f"{HEAD}\na,1,1,0.1\nb,0,1\nc,1,1,0.2\n", "row 2 has 3 fields and the header 4"),
        (f"{HEAD}\na,1,1,0.1\nb,0,1,0.3,9\nc,1,1,0.2\n", "row 2 has 5 fields and the header 4"),
        (f"{HEAD},topic\na,1,1,0.1,x, y\n", "row 1 has 6 fields and the header 5"),
        (f'{HEAD},topic\na,1,1,0.1,"x\nb,0,1,0.2,y\n', "a quote that is not closed"),
        (f'{HEAD},topic\na,1,1,0.1,"x"y\n', "a quote that is not closed"),
        (f"{HEAD}\na,1,1,0.1\n\0\0\0\0\n".encode(), "line 3: a zero byte"),
        (f"{HEAD}\n{ROWS}".encode("utf-16"), "UTF-16; save it as UTF-8"),
        (f"{HEAD}\n{ROWS}".encode("utf-16-le"), "a zero byte"),
        (f"{HEAD}\na,1,1,0.1\n".encode() + b"\xff,1,1,0.2\n", "line 3: not UTF-8 text"),
        (f"{HEAD}\n{ROWS}".replace(",", ";"), "a semicolon in it"),
        (f"{HEAD}\n{ROWS}".replace(",", "\t"), "a tab in it"),
        (f",{HEAD}\nx,a,1,1,0.1\n", "column 1 has no name"),
        ("", "is empty"),
        ("\n\n", "is empty"),
        (HEAD, "no rows"),
        (f"{HEAD}\n\n\n", "no rows"),
    ],
)
def test_a_damaged_table_is_named(tmp_path, content, says):
    with pytest.raises(InputError, match=says):
        read_trace(written(tmp_path, content))


@pytest.mark.parametrize(
    "content",
    [
        f"{HEAD}\r{ROWS}".replace("\n", "\r"),
        f"{HEAD}\n{ROWS}".replace("\n", "\r\n"),
        f"\ufeff{HEAD}\n{ROWS}",
        f"\n{HEAD}\n\n{ROWS}\n\n",
        f"{HEAD}\n{ROWS}".rstrip(),
        f"{HEAD},\n{ROWS}".replace(".1\n", ".1,\n").replace(".2\n", ".2,\n"),
        f",{HEAD}\n0,a,1,1,0.1\n1,b,0,1,0.2\n",
        "item_id, label, v1, u1\na, 1, 1, 0.1\nb, 0, 1, 0.2\n",
        'item_id,label,v1,u1\n"a","1","1","0.1"\n"b",0,1,0.2\n',
    ],
)
def test_tables_that_are_only_written_in_another_way_are_the_same(tmp_path, content):
    trace = read_trace(written(tmp_path, content))
    plain = read_trace(written(tmp_path, f"{HEAD}\n{ROWS}", "plain.csv"))
    assert trace.fingerprint() == plain.fingerprint()
    assert list(trace.extra.columns) == []


def test_long_texts_are_read(tmp_path):
    text = "x," * 100_000
    path = tmp_path / "t.csv"
    write_table(pd.DataFrame({"item_id": ["a"], "v1": [1], "u1": [0.1], "text": [text]}), path)
    assert read_trace(path).extra["text"].tolist() == [text]


def test_two_columns_of_one_name_in_parquet_and_in_a_frame_are_refused(tmp_path):
    table = pa.table([["a"], [1], [0.1], [0.9]], names=["item_id", "v1", "u1", "u1"])
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(InputError, match="'u1' occurs twice"):
        read_trace(tmp_path / "t.parquet")
    frame = pd.DataFrame([["a", 1, 0.1, 0.9]], columns=["item_id", "v1", "u1", "u1"])
    with pytest.raises(InputError, match="'u1' occurs twice"):
        Trace.from_frame(frame)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"item_id":"a","v1":1,"u1":0.1,"u1":0.9}', "line 1: the key 'u1' occurs twice"),
        ('{"item_id":"a","v1":1,"u1":0.1,"x":{"y":1,"y":2}}', "the key 'y' occurs twice"),
        ("3", "line 1: a JSON object is needed, got '3'"),
        ('{"item_id":"a"', "line 1: not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"u1":' + "9" * 5000 + "}", "an integer of over 4,300 digits"),
        ('{"item_id":"a","v1":1,"u1":' + "9" * 400 + "}", "row 1, u1: inf is not a finite number"),
        ('{"item_id":"a","v1":1,"u1":Infinity}', "row 1, u1: inf is not a finite number"),
        ('{"item_id":"a\\ud800","v1":1,"u1":1}', "half a surrogate pair"),
        ('{"item_id":"a","v1":1,"u1":true}', "row 1, u1: True is not a number"),
        ('{"item_id":"a","v1":2,"u1":1}', "row 1, v1: 2 is not 0, 1, true or false"),
    ],
)
def test_a_damaged_line_of_json_is_named(tmp_path, line, says):
    with pytest.raises(InputError, match=says):
        read_trace(written(tmp_path, line + "\n", "t.jsonl"))


def test_json_is_read_strictly_and_nan_as_null(tmp_path):
    path = written(tmp_path, b'\xef\xbb\xbf{"a": NaN}\r\r{"b": -Infinity}\r\n', "t.jsonl")
    assert list(read_objects(path)) == [(1, {"a": None}), (3, {"b": None})]
    assert parse_json("[NaN, 1]") == [None, 1]
    with pytest.raises(InputError, match="'a' occurs twice"):
        read_document(written(tmp_path, '[{"a": 1, "a": 1}]', "d.json"))
    with pytest.raises(InputError, match="not UTF-8"):
        parse_object(b'{"\xff": 1}')
    with pytest.raises(InputError, match="line 1: the key 'id' occurs twice"):
        read_ledger(written(tmp_path, '{"id": "a", "id": "b"}\n', "l.jsonl"))


# Roles


def table(n=60):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"item_id": [f"q{k}" for k in range(n)], "label": rng.integers(0, 2, n)})
    for k in "12":
        frame[f"v{k}"], frame[f"u{k}"] = rng.integers(0, 2, n), rng.random(n)
    return frame


@pytest.mark.parametrize(
    ("modes", "says"),
    [
        (["a=label,u1"], "'label' is given as the label and as the verdict of a"),
        (["a=v1,label"], "'label' is given as the label and as the uncertainty of a"),
        (["a=v1,v1"], "'v1' is given as the verdict of a and as the uncertainty of a"),
        (["a=v1,u1", "b=v2,u1"], "'u1' is given as the uncertainty of a and as the uncertainty"),
        (["a=v1,u1", "b=v1,u1"], "'u1' is given as"),
        (["a=v1,u1", "b=u1,u2"], "'u1' is given as the uncertainty of a and as the verdict of b"),
        (["a=item_id,u1"], "'item_id' is given as the id and as the verdict"),
    ],
)
def test_a_column_has_one_role(modes, says):
    with pytest.raises(InputError, match=says):
        Trace.from_frame(table(), modes=[ModeColumns.parse(mode) for mode in modes])


@pytest.mark.parametrize(
    "name", ["question_id", "prompt_id", "doc_id", "questionId", "Document ID", "conversation"]
)
def test_a_column_that_looks_like_a_group_is_said(name):
    frame = table().assign(**{name: np.arange(60) // 3})
    notes = Router(0.3).fit(Trace.from_frame(frame)).notes_
    assert any(f"--group {name}" in note and "20 values on 60 items" in note for note in notes)
    unique = Router(0.3).fit(Trace.from_frame(frame.assign(**{name: np.arange(60)})))
    assert not any("--group" in note for note in unique.notes_)


@pytest.mark.parametrize("name", ["tier", "model_id", "judge", "annotator_id", "year", "subset"])
def test_other_columns_that_repeat_are_not(name):
    frame = table().assign(**{name: np.arange(60) // 3})
    assert not any("--group" in note for note in Router(0.3).fit(Trace.from_frame(frame)).notes_)


def test_a_verdict_that_equals_every_label_is_said():
    frame = table()
    frame["v1"] = frame["label"]
    notes = Router(0.3).fit(Trace.from_frame(frame)).notes_
    assert any("all 60 verdicts equal their labels" in note for note in notes)


# Writing


FRAME = pd.DataFrame({"a": [1, 2], "b": ["x", None]})


def test_output_through_a_link_leaves_the_link(tmp_path):
    (tmp_path / "real").mkdir()
    target = written(tmp_path, "old", "real/t.csv")
    target.chmod(0o640)
    link = tmp_path / "link.csv"
    link.symlink_to(target)
    write_table(FRAME, link)
    assert link.is_symlink()
    assert target.read_text() == "a,b\n1,x\n2,\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    dangling = tmp_path / "dangling.csv"
    dangling.symlink_to(tmp_path / "real" / "new.csv")
    write_table(FRAME, dangling)
    assert dangling.is_symlink()
    assert (tmp_path / "real" / "new.csv").read_text() == "a,b\n1,x\n2,\n"
    assert sorted(path.name for path in tmp_path.rglob("*.tmp")) == []


def test_output_to_a_device_or_a_pipe_is_written_there(tmp_path):
    write_table(FRAME, os.devnull)
    assert not os.path.isfile(os.devnull)
    code = (
        "import pandas as pd; from riskjudge.io.tables import write_table;"
        "write_table(pd.DataFrame({'a': [1]}), '/dev/stdout'); print('after')"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "a\n1\nafter\n"
    with (tmp_path / "out.txt").open("w") as out:  # the shell's >
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "out.txt").read_text() == "a\n1\nafter\n"


def test_output_that_cannot_be_written_leaves_what_was_there(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="is a folder"):
        write_text(tmp_path, "x")
    with pytest.raises(OperationalError, match="there is no folder"):
        write_text(tmp_path / "absent" / "x.json", "x")
    if os.path.exists("/dev/full"):
        with pytest.raises(OperationalError, match="/dev/full cannot be written: No space"):
            write_text("/dev/full", "x")
    old = written(tmp_path, "old", "old.csv")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OperationalError, match="No space left"):
        write_table(FRAME, old)
    with pytest.raises(ZeroDivisionError), replacing(old) as temporary:
        temporary.write_text(str(1 / (temporary.write_text("half") - 4)))
    assert old.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["old.csv"]


@pytest.mark.parametrize("ending", ["csv.gz", "jsonl.bz2", "tsv.xz"])
def test_a_name_that_says_compressed_is_compressed(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    write_table(FRAME, path)
    assert b"x" not in path.read_bytes()[:2]
    assert path.read_bytes()[:1] in (b"\x1f", b"B", b"\xfd")
    assert read_table(path)["a"].tolist() == [1, 2]
    with pytest.raises(InputError, match=r"written as .gz"):
        write_table(FRAME, tmp_path / "t.csv.zst")


def test_parquet_holds_nulls_and_no_nan(tmp_path):
    frame = pd.DataFrame({"u": [0.5, np.nan, np.inf], "t": ["x", None, np.nan]})
    for ending in ("parquet", "jsonl", "csv"):
        write_table(frame, tmp_path / f"t.{ending}")
    assert pq.read_table(tmp_path / "t.parquet").to_pydict() == {
        "u": [0.5, None, None],
        "t": ["x", None, None],
    }
    lines = (tmp_path / "t.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines][2] == {"u": None, "t": None}


def test_an_output_that_is_an_input_is_refused(tmp_path, command):
    path = tmp_path / "t.csv"
    write_table(table(), path)
    before = path.read_bytes()
    (tmp_path / "link.csv").symlink_to(path)
    for output in (path, tmp_path / "link.csv"):
        code, _, said = command("calibrate", path, "-o", output, "--alpha", "0.3")
        assert code == 2
        assert "is an input of this command, too" in said
    assert path.read_bytes() == before
