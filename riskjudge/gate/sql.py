"""The routing rule in SQL, in the words of several engines, and a query that guards its use.

A rule fails safe: whatever is missing, no number, or no verdict is not accepted, and a column that
the table lacks is an error. In some engines ``"u1"`` may be read as a text where there is no such
column, and a text may count as 0, which every threshold accepts; so each dialect quotes names in the
way that can only mean a column.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from riskjudge._typing import FloatArray
from riskjudge.counts import NONE
from riskjudge.data.modes import ModeColumns
from riskjudge.errors import InputError

_LEAST = -sys.float_info.max


@dataclass(frozen=True, slots=True)
class Dialect:
    """How an engine writes what a rule needs.

    Attributes
    ----------
    name : str
    quotes : str
        The characters around a column's name; the closing one is doubled inside.
    integer, text : str
        Types to cast to; no cast of verdicts where `integer` is empty.
    backslash : bool
        Whether a backslash escapes in a text.
    number : str
        Condition that `{}` holds a number, where the engine would compare a text with one.
    plain_names : bool
        Whether names such as ``u1`` go without quotes, which no engine can take for a text.
    """

    name: str
    quotes: str = '""'
    integer: str = "INTEGER"
    text: str = "VARCHAR"
    backslash: bool = False
    number: str = ""
    plain_names: bool = False

    def column(self, name: str) -> str:
        """A column's name, as this engine takes it for one."""
        if self.plain_names and _PLAIN.fullmatch(name):
            return name
        opening, closing = self.quotes[0], self.quotes[1]
        return f"{opening}{name.replace(closing, 2 * closing)}{closing}"

    def literal(self, text: str) -> str:
        """A text."""
        if not self.backslash:
            return "'" + text.replace("'", "''") + "'"
        escaped = text.replace("\\", "\\\\").replace("'", "\\'")
        return "'" + escaped.replace("\n", "\\n").replace("\r", "\\r") + "'"

    def is_number(self, score: str) -> str:
        """Condition in front of a comparison of `score`; empty where the engine has types."""
        return f"{self.number.format(score)} AND " if self.number else ""


_PLAIN = re.compile(r"[a-z][a-z_]*[0-9]+")  # with a digit at its end, a name is no reserved word
_LOOKS_LIKE_A_NUMBER = "{} REGEXP '^-?[0-9]*[.]?[0-9]+(e[-+]?[0-9]+)?$'"
_DIALECTS = (
    Dialect("ansi", integer="", plain_names=True),
    Dialect("duckdb"),
    Dialect("postgres"),
    Dialect("snowflake", backslash=True),
    Dialect("sqlite", "``", integer="", text="TEXT", number="typeof({}) IN ('integer', 'real')"),
    Dialect("mysql", "``", integer="", text="CHAR", backslash=True, number=_LOOKS_LIKE_A_NUMBER),
    Dialect("bigquery", "``", "INT64", "STRING", backslash=True),
    Dialect("spark", "``", "INT", "STRING", backslash=True),
    Dialect("tsql", "[]", text="VARCHAR(99)"),
)
DIALECTS = {dialect.name: dialect for dialect in _DIALECTS}
"""The dialects by name; ``ansi`` is for engines that are not named here."""


def dialect_named(name: str) -> Dialect:
    """A dialect by its name.

    Raises
    ------
    InputError
        If there is none; the message lists those there are.
    """
    if name not in DIALECTS:
        raise InputError(f"no SQL dialect {name!r}; there are {', '.join(DIALECTS)}")
    return DIALECTS[name]


def sql_case(
    columns: Sequence[ModeColumns],
    thresholds: FloatArray | None,
    value: str = "mode",
    dialect: str = "ansi",
) -> str:
    """A routing rule as a CASE expression over a table's columns.

    Parameters
    ----------
    columns : sequence of ModeColumns, length K
        The modes in the order in which they are asked.
    thresholds : ndarray of float, shape (K,) or (K, 2), or None
        One a mode, or one for each of its verdicts; ``-inf`` is "no threshold", None "accept
        nothing".
    value : {"mode", "verdict"}
        The accepting mode's name, or its verdict; both are NULL where nothing is accepted.
    dialect : str
        One of :data:`DIALECTS`.

    Raises
    ------
    InputError
        If there is no such value or dialect.

    Notes
    -----
    Scores are compared as double precision numbers. A column of single precision may differ from
    :meth:`riskjudge.Router.decide` on an item at the threshold itself.

    Examples
    --------
    >>> import numpy as np
    >>> print(sql_case([ModeColumns("plain", "v1", "u1")], np.array([0.2]), dialect="sqlite"))
    CASE
      WHEN typeof(`v1`) IN ('integer', 'real') AND `v1` IN (0, 1)
        AND typeof(`u1`) IN ('integer', 'real') AND `u1` BETWEEN -1.7976931348623157e+308 AND 0.2e0
        THEN 'plain'
      ELSE NULL
    END
    """
    if value not in ("mode", "verdict"):
        raise InputError(f"value must be 'mode' or 'verdict', got {value!r}")
    written = dialect_named(dialect)
    lines = ["CASE"]
    for mode, row in _used(columns, thresholds):
        result = written.column(mode.verdict) if value == "verdict" else written.literal(mode.name)
        for verdicts, threshold in _by_verdict(row):
            conditions = "\n    AND ".join(_accepted(mode, verdicts, threshold, written))
            lines.append(f"  WHEN {conditions}\n    THEN {result}")
    if len(lines) == 1:
        return "NULL"
    return "\n".join([*lines, "  ELSE NULL", "END"])


def sql_guard(
    rule: str,
    columns: Sequence[ModeColumns],
    table: str,
    expected: float | None,
    dialect: str = "ansi",
) -> str:
    """A query that says whether a table is fit for a rule: one row, with a reason in ``answer``.

    Parameters
    ----------
    rule : str
        What :func:`sql_case` or ``gate.to_sql()`` wrote.
    columns : sequence of ModeColumns
        The modes that the rule asks.
    table : str
        Name of the table, as it is written in the engine.
    expected : float or None
        Accepted share of the items calibrated on, for comparison.
    dialect : str
        That of the rule.

    Returns
    -------
    str
        The query. Its row holds ``items``; for the k-th mode ``verdicts_k`` (cells that are 0 or 1),
        ``strange_verdicts_k`` (cells that are neither, nor empty) and ``scores_k``; ``accepted``, and
        ``expected_share``.
    """
    written = dialect_named(dialect)
    told, strange, empty = ["COUNT(*) AS items"], [], []
    for k, mode in enumerate(columns, start=1):
        verdict, score = written.column(mode.verdict), written.column(mode.uncertainty)
        good = _is_verdict(verdict, "0, 1", written)
        number = f"{written.is_number(score)}{score} BETWEEN {_LEAST!r} AND {-_LEAST!r}"
        counts = {
            f"verdicts_{k}": good,
            f"strange_verdicts_{k}": f"{verdict} IS NOT NULL AND NOT ({good})",
            f"scores_{k}": number,
        }
        sums = {name: _count(condition) for name, condition in counts.items()}
        told += [f"{total} AS {name}" for name, total in sums.items()]
        strange.append(f"{sums[f'strange_verdicts_{k}']} > 0")
        empty += [f"{sums[name]} = 0" for name in (f"verdicts_{k}", f"scores_{k}")]
    inside = rule.replace("\n", "\n  ")
    told.append(f"{_count(f'{inside} IS NOT NULL')} AS accepted")
    told.append(f"{'NULL' if expected is None else repr(float(expected))} AS expected_share")
    cases = [
        ("COUNT(*) = 0", "the table is empty"),
        (" OR ".join(empty), "a mode has no verdict or no score at all"),
        (" OR ".join(strange), "a verdict is neither 0 nor 1"),
    ]
    answer = "".join(f" WHEN {test} THEN '{text}'" for test, text in cases if test)
    told.append(f"CASE{answer} ELSE 'fit' END AS answer")
    return "SELECT\n  " + ",\n  ".join(told) + f"\nFROM {table}"


def _used(
    columns: Sequence[ModeColumns], thresholds: FloatArray | None
) -> Iterable[tuple[ModeColumns, list[float]]]:
    """The modes that have a threshold, with theirs."""
    if thresholds is None:
        return []
    rows = thresholds.reshape(len(columns), -1).tolist()
    return [(mode, row) for mode, row in zip(columns, rows, strict=True) if max(row) > NONE]


def _by_verdict(row: Sequence[float]) -> Iterable[tuple[str, float]]:
    """Verdicts as SQL lists them, and the threshold for these."""
    named = [("0, 1", row[0])] if len(row) == 1 else [(str(i), t) for i, t in enumerate(row)]
    return [(verdicts, threshold) for verdicts, threshold in named if threshold > NONE]


def _accepted(
    mode: ModeColumns, verdicts: str, threshold: float, dialect: Dialect
) -> Iterable[str]:
    """The conditions under which a mode accepts."""
    score = dialect.column(mode.uncertainty)
    yield _is_verdict(dialect.column(mode.verdict), verdicts, dialect)
    if mode.why is not None:  # a reason for no verdict outweighs what else stands there
        reason = f"TRIM(CAST({dialect.column(mode.why)} AS {dialect.text}))"
        yield f"COALESCE({reason}, '') IN ('', 'nan', 'NaN')"
    # No infinity is a score, and the exponent makes the number one of double precision.
    number = f"{threshold!r}" if "e" in f"{threshold!r}" else f"{threshold!r}e0"
    yield f"{dialect.is_number(score)}{score} BETWEEN {_LEAST!r} AND {number}"


def _is_verdict(verdict: str, verdicts: str, dialect: Dialect) -> str:
    # Booleans need the cast; where a cast would make a 0 of any text, they are numbers already.
    cast = f"CAST({verdict} AS {dialect.integer})" if dialect.integer else verdict
    return f"{dialect.is_number(verdict)}{cast} IN ({verdicts})"


def _count(condition: str) -> str:
    return f"COALESCE(SUM(CASE WHEN {condition} THEN 1 ELSE 0 END), 0)"
