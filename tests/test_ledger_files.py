"""Ledgers on disk: appends that survive a kill, the fast copy, and queries over it."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskjudge.data.verdict import (
    AbstainReason,
    Abstention,
    BooleanVerdict,
    Failure,
    FailureKind,
    ScoreVerdict,
    Undecided,
    Winner,
    WinnerVerdict,
)
from riskjudge.errors import InputError, OperationalError
from riskjudge.io.files import open_text
from riskjudge.ledger import (
    LedgerWriter,
    Row,
    connect,
    read_ledger,
    read_parquet,
    read_segments,
    readings,
    stream_ledger,
    to_record,
    write_ledger,
    write_parquet,
)
from riskjudge.ledger.jsonl import format_line

OUTCOMES = [
    BooleanVerdict(True),
    ScoreVerdict(0.25),
    WinnerVerdict(Winner.B),
    Undecided(),
    Abstention(AbstainReason.PANEL_SPLIT),
    Failure(FailureKind.TIMEOUT, "après 30 s"),
    None,
]
ROWS = [
    Row(f"q{i}", "j", "m", outcome, subset="g", disclosure={"votes": [i, None, "é\n"]})
    for i, outcome in enumerate(OUTCOMES)
]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.jsonl"


def test_a_kill_at_any_byte_loses_no_acknowledged_row(path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)  # the prefix is on the disk already
    lines = [format_line(row) for row in ROWS]
    data = b"".join(lines)
    for cut in range(len(data) + 1):
        path.write_bytes(data[:cut])
        whole = data[:cut].count(b"\n")
        # A line that lacks only its line feed was not acknowledged, but nothing of it is lost.
        complete = whole < len(lines) and data[:cut].endswith(lines[whole][:-1])
        with LedgerWriter(path) as ledger:
            assert len(ledger.rows) == whole + complete
            torn = not complete and data[:cut].rpartition(b"\n")[2]
            assert ("cut off" in (ledger.repaired or "")) == bool(torn)
            ledger.append(Row("after", "j", "m", Undecided()))
        assert [row.subject for row in read_ledger(path).rows] == [
            *(row.subject for row in ROWS[: whole + complete]),
            "after",
        ]


WRITER = """
    import sys
    from riskjudge.ledger import LedgerWriter, Row
    from riskjudge.data.verdict import BooleanVerdict

    path, start = sys.argv[1], int(sys.argv[2])
    with LedgerWriter(path) as ledger:
        for number in range(start, start + 100_000):
            row = Row(f"q{number}", "j", "m", BooleanVerdict(True), disclosure={"pad": "x" * 3000})
            ledger.append(row)
            print(number, flush=True)
"""


def test_a_writer_killed_at_random_moments_keeps_what_it_acknowledged(path):
    rng, acknowledged, start = random.Random(5), [], 0
    for _ in range(6):
        command = [sys.executable, "-c", textwrap.dedent(WRITER), str(path), str(start)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            first = process.stdout.readline()
            time.sleep(rng.uniform(0.0, 0.05))
            os.kill(process.pid, signal.SIGKILL)
            said = (first + process.stdout.read()).split("\n")[:-1]
        acknowledged += [int(line) for line in said]
        start += 100_000
    with LedgerWriter(path) as ledger:
        stored = [int(row.subject[1:]) for row in ledger.rows]
    assert len(acknowledged) > 6
    assert set(acknowledged) <= set(stored)
    # Beyond the acknowledged rows at most one per kill, and none twice or out of order.
    assert len(stored) <= len(acknowledged) + 6
    assert stored == sorted(set(stored))


def test_a_failed_row_may_be_asked_again_and_an_answer_may_not(path):
    failed = Row("q1", "j", "m", Failure(FailureKind.TIMEOUT))
    answered = Row("q1", "j", "m", BooleanVerdict(True))
    with LedgerWriter(path) as ledger:
        ledger.append(failed)
        assert ledger.done == set()
        ledger.append(failed, answered)
        assert ledger.done == {"j/m/q1"}
        with pytest.raises(InputError, match="duplicate id 'j/m/q1'"):
            ledger.append(failed)
    assert read_ledger(path).rows == (answered,)
    assert list(stream_ledger(path)) == [answered]


def test_a_damaged_line_is_named_and_stops_or_is_skipped(path):
    lines = [format_line(row) for row in ROWS[:3]]
    bad = b'{"id":"r9","subject":"q","judge":"j","mode":"m","status":"abstained","score":0}\n'
    path.write_bytes(lines[0] + b"garbage\n\n" + bad + lines[1] + lines[0] + b'{"id": "torn')
    with pytest.raises(InputError, match="line 2: not JSON"):
        read_ledger(path)
    ledger = read_ledger(path, on_error="skip")
    assert [row.subject for row in ledger.rows] == ["q0", "q1"]
    assert [damage.line for damage in ledger.damaged] == [2, 4, 6, 7]
    reasons = [damage.reason for damage in ledger.damaged]
    assert "carries no `score`" in reasons[1]
    assert "duplicate id" in reasons[2]
    assert "cut short" in reasons[3]
    for reader in (LedgerWriter, lambda path: list(stream_ledger(path))):
        with pytest.raises(InputError, match="line 2"):
            reader(path)


def test_zeros_left_by_a_power_cut_are_damage(path):
    path.write_bytes(format_line(ROWS[0]) + b"\0" * 50)
    with LedgerWriter(path) as ledger:
        assert ledger.rows == (ROWS[0],)
        assert "50 bytes" in ledger.repaired


def test_a_complete_last_line_of_someone_else_is_not_cut_off(path):
    path.write_bytes(format_line(ROWS[0]) + b'{"their": "row"}')
    with pytest.raises(InputError, match="line 2: row None: unknown column `their`"):
        LedgerWriter(path)
    assert b"their" in path.read_bytes()


def test_one_writer_at_a_time(path):
    with LedgerWriter(path), pytest.raises(OperationalError, match="another process"):
        LedgerWriter(path)
    LedgerWriter(path).close()


def test_a_full_disk_leaves_the_ledger_as_it_was(path, monkeypatch):
    with LedgerWriter(path) as ledger:
        ledger.append(ROWS[0])
        before = path.read_bytes()

        def full(_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OperationalError, match="No space left"):
            ledger.append(ROWS[1])
        assert path.read_bytes() == before
        with pytest.raises(OperationalError, match="closed"):
            ledger.append(ROWS[2])


def test_parquet_and_jsonl_hold_the_same_rows(tmp_path, path):
    write_ledger(path, ROWS)
    write_parquet(tmp_path / "ledger.parquet", stream_ledger(path))
    again = list(read_parquet(tmp_path / "ledger.parquet"))
    assert [to_record(row) for row in again] == [to_record(row) for row in ROWS]


def test_nothing_half_written_stays_behind(tmp_path, path):
    for write, name in ((write_ledger, "l.jsonl"), (write_parquet, "l.parquet")):
        with pytest.raises(InputError, match="duplicate id"):
            write(tmp_path / name, [ROWS[0], ROWS[0]])
    assert list(tmp_path.iterdir()) == []


def test_duckdb_gives_the_same_readings(tmp_path):
    rng = random.Random(1)
    rows = [
        Row(
            f"q{number}",
            rng.choice(["j1", "j2"]),
            "m",
            outcome := rng.choice(OUTCOMES),
            subset=rng.choice(["x", "y", None]),
            label=rng.choice([None, Winner.A, Winner.B])
            if isinstance(outcome, WinnerVerdict)
            else rng.choice([None, True, False]),
            calls=rng.randrange(3),
        )
        for number in range(500)
    ]
    write_parquet(tmp_path / "l.parquet", rows)
    for by in ((), ("judge",), ("judge", "subset"), ("label", "seed")):
        assert read_segments(tmp_path / "l.parquet", by, need=9) == readings(rows, by, need=9)
    with connect(tmp_path / "l.parquet") as connection:
        [(count,)] = connection.execute("SELECT count(*) FROM ledger").fetchall()
    assert count == 500


@pytest.mark.parametrize(
    "column",
    [
        {"status": "abstained", "reason": "panel_split", "score": 0.0},
        {"status": "abstained"},
        {"status": "abstained", "reason": "tired"},
        {"status": "graded"},
        {"status": "graded", "boolean": True, "winner": "a"},
        {"status": "graded", "winner": "c"},
        {"status": "graded", "boolean": True, "reason": "panel_split"},
        {"status": "graded", "boolean": True, "label": "a"},
        {"status": "score_failed"},
        {"status": "score_failed", "error": "timeout", "boolean": False},
        {"status": "score_failed", "error": "timeout", "confidence": 0.5},
        {"status": "missing_from_ledger"},
        {"status": "graded", "boolean": True, "confidence": 1.5},
    ],
)
def test_duckdb_turns_away_what_the_boundary_turns_away(tmp_path, column):
    import pyarrow as pa
    import pyarrow.parquet as pq

    from riskjudge.ledger.parquet import arrow_schema

    good = to_record(Row("q1", "j", "m", BooleanVerdict(True)))
    bad = {"id": "bad", "subject": "q2", "judge": "j", "mode": "m", **column}
    table = pa.Table.from_pylist([good, bad], schema=arrow_schema())
    pq.write_table(table, tmp_path / "l.parquet")
    with pytest.raises(InputError, match="row 'bad'"):
        read_segments(tmp_path / "l.parquet")
    with pytest.raises(InputError, match="row 'bad'"):
        list(read_parquet(tmp_path / "l.parquet"))


def test_duckdb_names_a_duplicate_and_a_file_that_is_no_ledger(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    from riskjudge.ledger.parquet import arrow_schema

    twice = [to_record(ROWS[0])] * 2
    for record in twice:
        record.pop("disclosure", None)
    pq.write_table(pa.Table.from_pylist(twice, schema=arrow_schema()), tmp_path / "l.parquet")
    with pytest.raises(InputError, match="duplicate row id 'j/m/q0'"):
        read_segments(tmp_path / "l.parquet")
    pq.write_table(pa.table({"x": [1]}), tmp_path / "other.parquet")
    with pytest.raises(InputError, match="no column 'id'"):
        read_segments(tmp_path / "other.parquet")
    (tmp_path / "text.parquet").write_text("no")
    for reader in (read_segments, lambda path: list(read_parquet(path))):
        with pytest.raises(InputError, match=r"text\.parquet"):
            reader(tmp_path / "text.parquet")
        with pytest.raises(InputError, match=r"absent\.parquet"):
            reader(tmp_path / "absent.parquet")


def test_duckdb_missing_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(OperationalError, match=r"pip install 'riskjudge\[sql\]'"):
        connect(tmp_path / "l.parquet")


@settings(max_examples=30)
@given(st.lists(st.sampled_from(OUTCOMES), max_size=12), st.randoms())
def test_reading_twice_is_reading_once(tmp_path_factory, outcomes, rng):
    path = tmp_path_factory.mktemp("ledger") / "l.jsonl"
    rows = [Row(f"q{number}", "j", "m", outcome) for number, outcome in enumerate(outcomes)]
    with LedgerWriter(path) as ledger:
        while rows:
            size = rng.randint(1, len(rows))
            ledger.append(*rows[:size])
            rows = rows[size:]
        written = ledger.rows
    assert read_ledger(path).rows == tuple(stream_ledger(path)) == written


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (b"PK\x03\x04....", "zip archives are not read"),
        (b"7z\xbc\xaf\x27\x1c..", "7z archives are not read"),
        (b"\x1f\x8b\x08\x00\x00", "damaged"),
        (b"\xff\xfe\x00", "not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_says_so_in_one_line(tmp_path, head, said):
    path = tmp_path / "file.csv"
    path.write_bytes(head)
    with pytest.raises(InputError, match=said) as caught, open_text(path) as text:
        text.read()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("head", "package"), [(b"\x28\xb5\x2f\xfd", "zstandard"), (b"\x04\x22\x4d\x18", "lz4")]
)
def test_a_missing_package_is_named(tmp_path, monkeypatch, head, package):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, f"{package}.frame", None)
    (tmp_path / "file.csv").write_bytes(head + b"rest")
    with (
        pytest.raises(OperationalError, match=f"pip install {package}"),
        open_text(tmp_path / "file.csv") as text,
    ):
        text.read()


def test_compressed_text_is_recognised_by_its_bytes(tmp_path):
    import bz2
    import lzma

    for module in (gzip, bz2, lzma):
        (tmp_path / "f.csv").write_bytes(module.compress("é\n".encode()))
        with open_text(tmp_path / "f.csv") as text:
            assert text.read() == "é\n"
    (tmp_path / "cut.gz").write_bytes(gzip.compress(bytes(1000))[:-12])
    with pytest.raises(InputError, match="damaged"), open_text(tmp_path / "cut.gz") as text:
        text.read()
    with pytest.raises(InputError, match="no such file"), open_text(tmp_path / "none"):
        pass


def test_ledger_lines_are_strict_json(path):
    write_ledger(path, ROWS)

    def refuse(constant):
        raise AssertionError(constant)

    for line in Path(path).read_bytes().splitlines():
        assert json.loads(line, parse_constant=refuse)["id"]
