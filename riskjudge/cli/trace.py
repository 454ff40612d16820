"""``riskjudge trace``: from a ledger to a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from riskjudge.cli import completion, options


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("trace")(trace)


def trace(
    ledger: Annotated[Path, typer.Argument(help="A ledger, JSONL or Parquet.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The trace: CSV, JSONL, Parquet.")],
    arms: Annotated[
        list[str] | None,
        typer.Option(
            "--arm", help="A judge/mode, in the order in which they are asked; repeat it."
        ),
    ] = None,
    uncertainty: Annotated[
        str,
        typer.Option(
            help="confidence, variation_ratio, preference_entropy or cut.",
            autocompletion=completion.one_of(
                "confidence", "variation_ratio", "preference_entropy", "cut"
            ),
        ),
    ] = "confidence",
    as_json: options.AsJson = False,
) -> None:
    """Turn a ledger into a trace that a gate can be fitted on, a mode for each judge and mode."""
    from riskjudge.io.tables import write_table
    from riskjudge.ledger import read_ledger, read_parquet
    from riskjudge.ledger.traces import to_trace

    parquet = ledger.suffix == ".parquet"
    rows = list(read_parquet(ledger)) if parquet else read_ledger(ledger).rows
    found = to_trace(rows, arms or None, uncertainty)
    write_table(found.to_frame(), output)
    if as_json:
        options.print_json({"items": len(found), "modes": list(found.modes), "trace": str(output)})
        return
    typer.echo(f"{len(found)} items, modes {', '.join(found.modes)}, in {output}", err=True)
