"""The rule in SQL: the same decisions as the rule, and nothing accepted where something is missing."""

import json
import sqlite3

import duckdb
import numpy as np
import pandas as pd
import pytest

from riskjudge.calibration import FixedSequence
from riskjudge.cli import main
from riskjudge.data.modes import ModeColumns
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError
from riskjudge.gate import Router
from riskjudge.gate.grouped import GroupedGate
from riskjudge.gate.sql import DIALECTS, sql_case, sql_guard
from riskjudge.gate.sql_check import ENGINES, check_sql

PLAIN = (ModeColumns("small", "v1", "u1"), ModeColumns("it's \\ big", "v2", "u2", "why2"))
ODD = (
    ModeColumns("small", "the `first` verdict", 'u "1"', "why not?"),
    ModeColumns("big", "Verdict 2", "select"),
)


def table(columns=PLAIN, n=1500, seed=0):
    """A table with holes of every kind: no verdict, no score, reasons, blanks."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    frame = pd.DataFrame({"item_id": [f"q{i}" for i in range(n)], "label": label})
    for mode, rate in zip(columns, (0.4, 0.2), strict=True):
        score = rng.random(n)
        verdict = pd.array(label ^ (rng.random(n) < rate * score), dtype="Int64")
        verdict[rng.random(n) < 0.05] = pd.NA
        score[rng.random(n) < 0.05] = np.nan
        frame[mode.verdict], frame[mode.uncertainty] = verdict, score
        if mode.why is not None:
            reasons = np.array([None, "", "no_confidence"], dtype=object)
            frame[mode.why] = reasons[rng.choice(3, n, p=[0.8, 0.1, 0.1])]
    return frame


def fitted(columns=PLAIN, frame=None, **settings):
    trace = Trace.from_frame(table(columns) if frame is None else frame, modes=columns)
    return Router(alpha=0.15, **settings).fit(trace)


def checked(gate, frame, dialect):
    decided = gate.decide(Trace.from_frame(frame, modes=gate.columns_))
    return check_sql(gate, frame, decided, dialect)


def in_sqlite(expression, frame):
    with sqlite3.connect(":memory:") as database:
        frame.to_sql("items", database, index=False)
        return [row[0] for row in database.execute(f"SELECT {expression} FROM items")]


@pytest.mark.parametrize("by_verdict", [False, True])
@pytest.mark.parametrize("columns", [PLAIN, ODD])
@pytest.mark.parametrize("dialect", sorted(ENGINES))
def test_engines_decide_as_the_gate(dialect, columns, by_verdict):
    gate = fitted(columns, by_verdict=by_verdict)
    result = checked(gate, table(columns, seed=1), dialect)
    assert (result.problem, result.differing) == (None, ())
    assert result.accepted > 300


@pytest.mark.parametrize("dialect", sorted(ENGINES))
def test_an_item_at_the_threshold_is_accepted(dialect):
    # As a DECIMAL of 17 digits, some of these would round to the number below.
    scores = np.random.default_rng(2).random(40)
    frame = pd.DataFrame({"item_id": range(40), "label": [0, 1] * 20, "v1": 1, "u1": scores})
    trace = Trace.from_frame(frame)
    for t in scores:
        rule = sql_case(trace.columns, np.array([t]), dialect=dialect)
        if ENGINES[dialect] == "duckdb":
            accepted = duckdb.sql(f"SELECT count({rule}) FROM frame").fetchall()[0][0]
        else:
            accepted = sum(mode is not None for mode in in_sqlite(rule, frame))
        assert accepted == np.count_nonzero(scores <= t)


@pytest.mark.parametrize("columns", [PLAIN, ODD])
@pytest.mark.parametrize("value", ["mode", "verdict"])
def test_a_table_without_the_columns_is_an_error(columns, value):
    gate = fitted(columns)
    other = pd.DataFrame({"item_id": ["a", "b"], "score": [0.0, 0.9]})
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        in_sqlite(gate.to_sql(value, "sqlite"), other)
    for dialect in ("duckdb", "postgres"):
        with pytest.raises(duckdb.BinderException):
            duckdb.sql(f"SELECT {gate.to_sql(value, dialect)} FROM other")
    assert len(other) == 2


def test_the_default_is_safe_where_quoted_names_may_be_texts():
    """SQLite and MySQL read ``"u1"`` as a text where there is no such column."""
    rule = Router(alpha=0.15).fit(Trace.from_frame(table(), modes=PLAIN)).to_sql("verdict")
    assert '"' not in rule
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        in_sqlite(rule, pd.DataFrame({"item_id": ["a"]}))


@pytest.mark.parametrize("dialect", ["mysql", "bigquery", "spark", "sqlite", "tsql"])
def test_names_are_never_in_quotes_that_may_make_texts(dialect):
    # Within texts and names a double quote is one of their own.
    columns = [ModeColumns("plain", "verdict", "entropy", "why")]
    assert '"' not in sql_case(columns, np.array([0.2]), "verdict", dialect)
    assert '"' not in sql_guard("NULL", columns, "items", 0.5, dialect)


def test_columns_of_text_accept_nothing_in_sqlite():
    """As ``.import`` makes them: a blank is below every number there."""
    gate = fitted()
    texts = table(seed=1).astype(object)
    texts = texts.where(texts.notna(), "").astype(str)
    assert set(in_sqlite(gate.to_sql(dialect="sqlite"), texts)) == {None}


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "sqlite", "ansi"])
def test_no_infinity_and_no_nan_is_a_score(dialect):
    frame = pd.DataFrame({"v1": 1, "u1": [-np.inf, np.inf, np.nan, 0.1]})
    rule = sql_case([ModeColumns("plain", "v1", "u1")], np.array([0.2]), dialect=dialect)
    assert in_sqlite(rule, frame) == [None, None, None, "plain"] or dialect in ("duckdb",)
    if dialect != "sqlite":
        found = [row[0] for row in duckdb.sql(f"SELECT {rule} FROM frame").fetchall()]
        assert found == [None, None, None, "plain"]


def test_texts_are_escaped_as_each_engine_does():
    columns = [ModeColumns("it's \\ new\nline", "v1", "u1")]
    written = {name: sql_case(columns, np.array([0.2]), dialect=name) for name in DIALECTS}
    assert "'it''s \\ new\nline'" in written["ansi"]
    for name in ("mysql", "bigquery", "spark", "snowflake"):
        assert r"'it\'s \\ new\nline'" in written[name]


def test_a_mode_without_a_threshold_and_an_empty_region():
    none = sql_case(PLAIN, np.array([-np.inf, 0.3]))
    assert "u1" not in none
    assert "u2" in none
    assert sql_case(PLAIN, None) == "NULL"
    assert sql_case(PLAIN, np.full((2, 2), -np.inf), dialect="sqlite") == "NULL"


def guarded(columns, thresholds, frame, dialect):
    rule = sql_case(columns, thresholds, dialect=dialect)
    asked = () if thresholds is None else columns
    query = sql_guard(rule, asked, "items", 0.5, dialect)
    if dialect == "sqlite":
        with sqlite3.connect(":memory:") as database:
            frame.to_sql("items", database, index=False)
            cursor = database.execute(query)
            names = [column[0] for column in cursor.description]
            return dict(zip(names, cursor.fetchone(), strict=True))
    with duckdb.connect() as database:
        database.register("items", frame)
        return database.execute(query).df().iloc[0].to_dict()


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb", "postgres", "ansi"])
def test_the_guard_says_what_is_wrong_with_a_table(dialect):
    gate = fitted()
    good = table(seed=1)
    answer = guarded(gate.columns_, gate.thresholds_, good, dialect)
    decided = gate.decide(Trace.from_frame(good, modes=PLAIN))
    assert (answer["answer"], answer["items"]) == ("fit", 1500)
    assert answer["accepted"] == decided.accepted.sum()
    assert answer["scores_2"] == good["u2"].notna().sum()
    for change, says in [
        ({"u2": np.nan}, "a mode has no verdict or no score at all"),
        ({"v1": 2}, "a mode has no verdict or no score at all"),
        ({"v1": [2] + [1] * 1499}, "a verdict is neither 0 nor 1"),
    ]:
        changed = good.assign(**change)
        assert guarded(gate.columns_, gate.thresholds_, changed, dialect)["answer"] == says
    empty = guarded(gate.columns_, gate.thresholds_, good.iloc[:0], dialect)
    assert empty["answer"] == "the table is empty"


def test_the_guard_of_an_empty_region():
    answer = guarded(PLAIN, None, table(), "duckdb")
    assert (answer["accepted"], answer["answer"]) == (0, "fit")


def test_unknown_names_list_the_known_ones():
    with pytest.raises(InputError, match="no SQL dialect 'oracle'; there are ansi, duckdb"):
        sql_case(PLAIN, None, dialect="oracle")
    with pytest.raises(InputError, match="'mode' or 'verdict'"):
        sql_case(PLAIN, None, "score")
    gate = fitted()
    with pytest.raises(InputError, match="nothing here runs the dialect 'mysql'"):
        checked(gate, table(), "mysql")


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as done:
        main([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return done.value.code or 0, out, err


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_the_command_checks_a_file(tmp_path, capsys, ending):
    from riskjudge.io.tables import write_table

    gate = fitted(procedure=FixedSequence(path=[(0.3, 0.5)]))
    gate.save(tmp_path / "gate.json")
    trace = tmp_path / f"new.{ending}"
    write_table(table(seed=3), trace)
    for dialect in ENGINES:
        code, out, err = run(
            capsys, "sql", tmp_path / "gate.json", "--check", trace, "--dialect", dialect
        )
        assert (code, err) == (0, "")
        assert "decides all alike" in out
    code, out, _ = run(
        capsys, "sql", tmp_path / "gate.json", "--check", trace, "--dialect", "sqlite", "--json"
    )
    assert json.loads(out)["agrees"] is True
    code, out, _ = run(capsys, "sql", tmp_path / "gate.json", "--guard", "items")
    assert out.startswith("SELECT\n  COUNT(*) AS items")
    code, _, err = run(capsys, "sql", tmp_path / "gate.json", "--dialect", "oracle")
    assert (code, "no SQL dialect" in err) == (2, True)


def test_a_check_that_says_no(tmp_path, capsys):
    """A gate fitted where no reasons were recorded; now the table has some."""
    gate = fitted(procedure=FixedSequence(path=[(0.3, 0.5)]))
    gate.save(tmp_path / "gate.json")
    frame = table(seed=3).assign(why1="no_confidence")
    frame.to_csv(tmp_path / "new.csv", index=False)
    code, out, _ = run(capsys, "sql", tmp_path / "gate.json", "--check", tmp_path / "new.csv")
    assert code == 1
    assert "are decided differently by sqlite3, the first of them q" in out


def test_verdicts_in_words_are_not_decided_alike():
    """The gate reads them; where a cast would make 0 of both, the rule accepts neither."""
    words = table(seed=3)
    words["v1"] = words["v1"].map({0: "false", 1: "true"})
    gate = fitted(procedure=FixedSequence(path=[(0.3, 0.5)]))
    assert checked(gate, words, "sqlite").differing
    assert "small" not in in_sqlite(gate.to_sql(dialect="sqlite"), words)


@pytest.mark.parametrize("dialect", sorted(ENGINES))
def test_a_gate_for_each_group_in_sql(tmp_path, capsys, dialect):
    topics = np.array(["it's a", "b \\ c", "rare"], dtype=object)
    frame = table(n=2000).assign(
        topic=topics[np.random.default_rng(0).choice(3, 2000, p=[0.5, 0.45, 0.05])]
    )
    gate = GroupedGate(Router(alpha=0.2), by="topic", min_n=400).fit(
        Trace.from_frame(frame, modes=PLAIN)
    )
    assert len(gate.gates_) == 2
    assert gate.rest_ is not None
    result = checked(gate, frame, dialect)
    assert (result.problem, result.differing) == (None, ())
    assert result.accepted > 300
    gate.save(tmp_path / "gate.json")
    code, _, _ = run(
        capsys, "sql", tmp_path / "gate.json", "--guard", "items", "--dialect", dialect
    )
    assert code == 0
    with pytest.raises((sqlite3.OperationalError, duckdb.Error)):
        (in_sqlite if ENGINES[dialect] == "sqlite3" else in_duckdb)(
            gate.to_sql(dialect="sqlite" if ENGINES[dialect] == "sqlite3" else dialect),
            frame.drop(columns="topic"),
        )


def in_duckdb(expression, frame):
    with duckdb.connect() as database:
        database.register("items", frame)
        return database.execute(f"SELECT {expression} FROM items").fetchall()
