"""``riskjudge sql``: a gate's routing rule for a database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riskjudge.cli import completion, options

if TYPE_CHECKING:
    from riskjudge.gate import Router
    from riskjudge.gate.grouped import GroupedGate


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("sql")(sql)


def _dialects(incomplete: str) -> list[str]:
    from riskjudge.gate.sql import DIALECTS

    return completion.one_of(*DIALECTS)(incomplete)


def sql(
    gate: options.GateFile,
    value: Annotated[
        str,
        typer.Option(
            help="mode: who accepts; verdict: what was accepted.",
            autocompletion=completion.one_of("mode", "verdict"),
        ),
    ] = "mode",
    dialect: Annotated[
        str,
        typer.Option(
            help="ansi, duckdb, postgres, snowflake, sqlite, mysql, bigquery, spark or tsql.",
            autocompletion=_dialects,
        ),
    ] = "ansi",
    guard: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE", help="Print a query instead that says whether a table fits the rule."
        ),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(
            metavar="TRACE",
            help="Run the rule over a trace in DuckDB or SQLite and compare with decide.",
        ),
    ] = None,
    item_id: options.ItemId = "item_id",
    as_json: options.AsJson = False,
) -> None:
    """Print a gate's routing rule as an SQL CASE expression, or check it.

    Exit code 1: the engine does not decide as the gate does, or cannot run the rule.
    """
    from riskjudge.errors import InputError
    from riskjudge.signals import load_any_gate

    if guard is not None and check is not None:
        raise InputError("--guard prints a query and --check runs the rule: ask for one of them")
    fitted: Any = load_any_gate(gate)
    expression = fitted.to_sql(value, dialect)
    if check is not None:
        _check(gate, check, dialect, item_id, as_json)
    elif guard is not None:
        typer.echo(_guard(fitted, guard, dialect))
    else:
        typer.echo(expression)


def _guard(gate: Router | GroupedGate, table: str, dialect: str) -> str:
    """The query that checks a table, about every mode that some group asks."""
    from riskjudge.gate.grouped import GroupedGate
    from riskjudge.gate.sql import sql_guard

    parts = list(gate.all_gates.values()) if isinstance(gate, GroupedGate) else [gate]
    used = [any(part.rule_.used[k] for part in parts) for k in range(len(gate.columns_))]
    columns = [mode for mode, asked in zip(gate.columns_, used, strict=True) if asked]
    tested = sum(part.certificate_.n for part in parts)
    share = sum(part.certificate_.accepted for part in parts) / tested if tested else None
    return sql_guard(gate.to_sql("mode", dialect), columns, table, share, dialect)


def _check(gate: Path, path: Path, dialect: str, item_id: str, as_json: bool) -> None:
    from riskjudge.data.trace import Trace
    from riskjudge.gate.sql_check import check_sql
    from riskjudge.signals import load_any_gate

    fitted = load_any_gate(gate)
    frame = options.load_table(path, fitted.columns_, item_id=item_id)
    decided = fitted.decide(
        Trace.from_frame(frame, modes=fitted.columns_, item_id=item_id, source=str(path))
    )
    result = check_sql(fitted, frame, decided, dialect)
    if as_json:
        options.print_json(result.to_dict())
    elif result.problem is not None:
        typer.echo(f"{result.engine} cannot run the rule: {result.problem}")
    else:
        first = ", ".join(result.differing[:5])
        typer.echo(
            f"{result.items} items, {result.accepted} accepted: {result.engine} decides all alike"
            if result.agrees
            else f"{len(result.differing)} of {result.items} items are decided differently by "
            f"{result.engine}, the first of them {first}"
        )
    raise typer.Exit(0 if result.agrees else 1)
