"""``riskjudge sql``: a gate's routing rule for a database."""

from __future__ import annotations

from typing import Annotated

import typer

from riskjudge.cli import options


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("sql")(sql)


def sql(
    gate: options.GateFile,
    value: Annotated[
        str, typer.Option(help="mode: who accepts; verdict: what was accepted.")
    ] = "mode",
) -> None:
    """Print a gate's routing rule as an SQL CASE expression."""
    from riskjudge.gate import load_gate

    typer.echo(load_gate(gate).to_sql(value))
