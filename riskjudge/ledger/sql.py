"""SQL over the Parquet copy of a ledger, for ledgers that do not fit in memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riskjudge.data.verdict import AbstainReason, FailureKind, Winner
from riskjudge.errors import InputError, OperationalError
from riskjudge.ledger.reading import Reading, check_by
from riskjudge.ledger.records import COLUMNS, VALUES

if TYPE_CHECKING:
    import duckdb

_COUNTS = {
    "graded": "status = 'graded' AND undecided IS NULL",
    "undecided": "undecided",
    "skipped_no_body": "status = 'skipped_no_body'",
    "compared": '("boolean" IS NOT NULL OR winner IS NOT NULL) AND label IS NOT NULL',
    "agreed": 'coalesce(CAST("boolean" AS VARCHAR), winner) = label',
}


def connect(path: str | Path, memory_limit: str = "1GB") -> duckdb.DuckDBPyConnection:
    """Open a Parquet ledger in DuckDB, as the view `ledger`.

    Parameters
    ----------
    path : str | Path
        A file written by :func:`riskjudge.ledger.write_parquet`, or many by a glob pattern.
    memory_limit : str
        What DuckDB may hold in memory; beyond that it spills to a temporary folder.

    Raises
    ------
    OperationalError
        If DuckDB is not installed.
    InputError
        If the file is missing, no Parquet file, or has other columns than a ledger.
    """
    try:
        import duckdb
    except ImportError:
        raise OperationalError(
            "reading a Parquet ledger by segment needs DuckDB: pip install 'riskjudge[sql]'"
        ) from None
    connection = duckdb.connect(config={"memory_limit": memory_limit, "threads": 2})
    connection.execute("SET preserve_insertion_order = false")
    source = str(path).replace("'", "''")
    try:
        connection.execute(f"CREATE VIEW ledger AS SELECT * FROM read_parquet('{source}')")
    except duckdb.IOException as error:
        raise InputError(f"{path}: {str(error).splitlines()[0]}") from None
    except duckdb.InvalidInputException as error:
        raise InputError(f"{path} is no Parquet file: {str(error).splitlines()[0]}") from None
    found = {name for name, *_ in connection.execute("DESCRIBE ledger").fetchall()}
    missing = [column for column in COLUMNS if column not in found]
    if missing:
        raise InputError(f"{path} is not a ledger: it has no column {missing[0]!r}")
    return connection


def read_segments(
    path: str | Path, by: Sequence[str] = (), *, need: int = 0, memory_limit: str = "1GB"
) -> list[Reading]:
    """The same readings as :func:`riskjudge.ledger.readings`, computed by DuckDB.

    Raises
    ------
    InputError
        Naming a row of an invalid combination, or an id that occurs twice.
    """
    check_by(by)
    with connect(path, memory_limit) as connection:
        _refuse_invalid(connection, path)
        _refuse_duplicates(connection, path)
        rows = _fetch(connection, _tally_query(by))
    return [
        Reading(
            **{name: row[name] for name in (*_COUNTS, "calls")},
            reasons=dict(sorted((row["reasons"] or {}).items())),
            errors=dict(sorted((row["errors"] or {}).items())),
            need=need,
            by=tuple(by),
            segment=tuple(row[f"by_{column}"] for column in by),
        )
        for row in rows
    ]


def _tally_query(by: Sequence[str]) -> str:
    keys = [f'CAST("{column}" AS VARCHAR) AS by_{column}' for column in by]
    counts = [f"count(*) FILTER ({condition}) AS {name}" for name, condition in _COUNTS.items()]
    maps = [
        f"histogram({column}) FILTER ({column} IS NOT NULL) AS {name}"
        for column, name in (("reason", "reasons"), ("error", "errors"))
    ]
    calls = "CAST(coalesce(sum(calls), 0) AS BIGINT) AS calls"
    query = f"SELECT {', '.join([*keys, *counts, *maps, calls])} FROM ledger"
    if by:
        names = [f"by_{column}" for column in by]
        order = [f"coalesce({name}, '')" for name in names]
        query += f" GROUP BY {', '.join(names)} ORDER BY {', '.join(order)}"
    return query


def _refuse_invalid(connection: duckdb.DuckDBPyConnection, path: str | Path) -> None:
    """The rules of `from_record` as one condition."""
    values = " + ".join(f'("{column}" IS NOT NULL)::INT' for column in VALUES)
    reasons, kinds, winners = (_texts(names) for names in (AbstainReason, FailureKind, Winner))
    valid = f"""
        CASE status
            WHEN 'graded' THEN ({values}) = 1 AND reason IS NULL AND error IS NULL
                AND message IS NULL AND coalesce(winner IN ({winners}), true)
                AND coalesce(undecided, true) AND coalesce(isfinite(score), true)
            WHEN 'abstained' THEN ({values}) = 0 AND reason IN ({reasons})
                AND error IS NULL AND message IS NULL
            WHEN 'score_failed' THEN ({values}) = 0 AND error IN ({kinds})
                AND reason IS NULL AND confidence IS NULL
            WHEN 'skipped_no_body' THEN ({values}) = 0 AND reason IS NULL
                AND error IS NULL AND message IS NULL AND confidence IS NULL
            ELSE false
        END
        AND coalesce(confidence BETWEEN 0 AND 1 OR isnan(confidence), true)
        AND coalesce(CASE WHEN "boolean" IS NOT NULL THEN label IN ('true', 'false')
                          WHEN winner IS NOT NULL THEN label IN ({winners})
                          ELSE label IN ('true', 'false', {winners}) END, true)
        AND coalesce(ledger_abstain_reason IN ({reasons}), true)
        AND id IS NOT NULL AND subject IS NOT NULL AND judge IS NOT NULL AND mode IS NOT NULL
        AND coalesce(calls, 0) >= 0
    """
    query = f"SELECT id, status FROM ledger WHERE NOT coalesce({valid}, false) LIMIT 1"
    for row in _fetch(connection, query):
        raise InputError(f"{path}: row {row['id']!r}: an invalid {row['status']} row")


def _refuse_duplicates(connection: duckdb.DuckDBPyConnection, path: str | Path) -> None:
    query = "SELECT id FROM ledger GROUP BY id HAVING count(*) > 1 ORDER BY id LIMIT 1"
    for row in _fetch(connection, query):
        raise InputError(f"{path}: duplicate row id {row['id']!r}")


def _texts(names: type[AbstainReason] | type[FailureKind] | type[Winner]) -> str:
    return ", ".join(f"'{name.value}'" for name in names)


def _fetch(connection: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    import duckdb

    try:
        cursor = connection.execute(query)
        names = [column for column, *_ in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    except duckdb.OutOfMemoryException as error:
        raise OperationalError(f"DuckDB ran out of memory: {error}") from None
