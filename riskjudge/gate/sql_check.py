"""Whether an engine that runs a rule in SQL decides as the rule itself does, item by item."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from riskjudge.errors import InputError, OperationalError
from riskjudge.gate.outcomes import Outcomes
from riskjudge.gate.sql import DIALECTS, dialect_named

if TYPE_CHECKING:
    import pandas as pd

ENGINES = {"ansi": "sqlite3", "sqlite": "sqlite3", "duckdb": "duckdb", "postgres": "duckdb"}
"""What runs a dialect here; Postgres' quoting is DuckDB's."""
_TABLE = "items"


@dataclass(frozen=True, slots=True)
class SqlCheck:
    """How a rule in SQL compares with the rule itself.

    Attributes
    ----------
    dialect, engine : str
        What was written, and what ran it.
    items, accepted : int
        Items compared, and those that the rule accepts.
    differing : tuple of str
        Ids of the items on which the two do not agree, mode or verdict.
    problem : str or None
        What the engine said in place of an answer.
    """

    dialect: str
    engine: str
    items: int
    accepted: int
    differing: tuple[str, ...]
    problem: str | None = None

    @property
    def agrees(self) -> bool:
        """Whether every item is decided alike."""
        return self.problem is None and not self.differing

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary."""
        return {
            "agrees": self.agrees,
            "dialect": self.dialect,
            "engine": self.engine,
            "items": self.items,
            "accepted": self.accepted,
            "differing": list(self.differing),
            "problem": self.problem,
        }


class Rule(Protocol):
    """What writes itself as SQL: a fitted gate."""

    def to_sql(self, value: str = "mode", dialect: str = "ansi") -> str:
        """The accepting mode, or its verdict, as an expression."""


def check_sql(
    gate: Rule, frame: pd.DataFrame, decided: Outcomes, dialect: str = "ansi"
) -> SqlCheck:
    """Run a rule in SQL over a table and compare with what was decided.

    Parameters
    ----------
    gate : fitted gate
    frame : DataFrame
        The table as the engine holds it, one row an item, in the order of `decided`.
    decided : Outcomes
        What the gate says about these rows.
    dialect : str
        One of :data:`ENGINES`.

    Raises
    ------
    InputError
        If no engine on this machine speaks the dialect.
    OperationalError
        If DuckDB is needed and not installed.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from riskjudge.data.trace import Trace
    >>> from riskjudge.gate import SelectiveGate
    >>> rows = pd.DataFrame({"item_id": range(200), "label": [1] * 160 + [0] * 40,
    ...                      "v1": 1, "u1": np.linspace(0, 0.6, 200)})
    >>> gate = SelectiveGate(alpha=0.2, procedure="pointwise").fit(trace := Trace.from_frame(rows))
    >>> check = check_sql(gate, rows, gate.decide(trace))
    >>> check.agrees, check.items, check.accepted
    (True, 200, 188)
    """
    dialect_named(dialect)
    if dialect not in ENGINES:
        raise InputError(
            f"nothing here runs the dialect {dialect!r}, only {', '.join(ENGINES)}; in the engine "
            "itself, --guard TABLE gives a query that checks the table"
        )
    engine = ENGINES[dialect]
    modes, verdicts = (gate.to_sql(v, dialect) for v in ("mode", "verdict"))
    query = f"SELECT {modes} AS accepted_by, {verdicts} AS verdict FROM {_TABLE}"
    run = _run_sqlite if engine == "sqlite3" else _run_duckdb
    accepted = int(decided.accepted.sum())
    try:
        answers = run(query, frame)
    except _EngineError as error:
        return SqlCheck(dialect, engine, len(decided), accepted, (), str(error))
    # Engines may say 1.0 or true where the rule says 1, which Python finds equal.
    expected = [
        (decided.modes[m], int(v)) if m >= 0 else (None, None)
        for m, v in zip(decided.mode, decided.verdict, strict=True)
    ]
    differing = tuple(
        str(item)
        for item, one, other in zip(decided.item_id, answers, expected, strict=True)
        if one != other
    )
    return SqlCheck(dialect, engine, len(decided), accepted, differing)


class _EngineError(Exception):
    """What an engine says where it cannot run a query."""


def _cells(frame: pd.DataFrame) -> Iterable[tuple[Any, ...]]:
    """Rows of plain Python values, None where a cell is empty."""
    plain = frame.astype(object).where(frame.notna(), None)
    columns = [[_plain(v) for v in plain.iloc[:, i]] for i in range(plain.shape[1])]
    return zip(*columns, strict=True)


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _run_sqlite(query: str, frame: pd.DataFrame) -> list[tuple[Any, Any]]:
    names = [DIALECTS["sqlite"].column(str(name)) for name in frame.columns]
    try:
        with sqlite3.connect(":memory:") as database:
            database.execute(f"CREATE TABLE {_TABLE} ({', '.join(names)})")
            holes = ", ".join("?" * len(names))
            database.executemany(f"INSERT INTO {_TABLE} VALUES ({holes})", _cells(frame))
            return database.execute(f"{query} ORDER BY rowid").fetchall()
    except (sqlite3.Error, OverflowError) as error:
        raise _EngineError(error) from None


def _run_duckdb(query: str, frame: pd.DataFrame) -> list[tuple[Any, Any]]:
    try:
        import duckdb
    except ImportError:
        raise OperationalError("the check needs DuckDB: pip install 'riskjudge[sql]'") from None
    with duckdb.connect() as database:
        try:
            database.register(_TABLE, frame)
            return database.execute(query).fetchall()
        except duckdb.Error as error:
            raise _EngineError(str(error).splitlines()[0]) from None
