"""``riskjudge reading``: what a ledger adds up to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from riskjudge._checks import check_level
from riskjudge.cli import options
from riskjudge.cli.readings import By, Need, columns, positions, print_findings, print_readings
from riskjudge.errors import InputError


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("reading")(reading)


def reading(
    ledger: Annotated[Path, typer.Argument(help="A ledger: JSONL, or Parquet (needs DuckDB).")],
    by: By = "judge,mode",
    need: Need = 0,
    items: Annotated[
        Path | None, typer.Option(help="The items that were to be judged: counts missing rows.")
    ] = None,
    parquet: Annotated[
        Path | None, typer.Option(help="Write the fast copy of a JSONL ledger, and read that.")
    ] = None,
    on_error: Annotated[
        Literal["stop", "skip"], typer.Option(help="At a damaged line: stop, or skip and say so.")
    ] = "stop",
    findings: Annotated[
        bool,
        typer.Option(
            "--findings", help="Print what the judges gave as reasons instead, each of them whole."
        ),
    ] = False,
    confidence: Annotated[float, typer.Option(help="Two-sided, of the intervals.")] = 0.95,
    as_json: options.AsJson = False,
) -> None:
    """Read a ledger: verdicts, abstentions by reason and failures by kind, each in its column."""
    from riskjudge.items import read_items
    from riskjudge.ledger import read_ledger, read_segments, readings, stream_ledger, write_parquet
    from riskjudge.ledger.parquet import read_parquet

    check_level(confidence, "confidence")
    split_by = columns(by)
    if parquet is not None:
        write_parquet(parquet, stream_ledger(ledger))
        ledger = parquet
    if findings and ledger.suffix == ".parquet":
        print_findings(read_parquet(ledger), as_json)
        return
    if ledger.suffix == ".parquet":
        if items is not None:
            raise InputError("--items goes with a JSONL ledger that is read as such")
        print_readings(read_segments(ledger, split_by, need=need), {}, as_json, confidence)
        return
    content = read_ledger(ledger, on_error)
    for damage in content.damaged:
        typer.echo(f"{ledger}, line {damage.line} skipped: {damage.reason}", err=True)
    if findings:
        print_findings(content.rows, as_json)
        return
    expected = None if items is None else {item.id: item.subset for item in read_items(items)}
    found = readings(content.rows, split_by, need=need, expected=expected)
    print_readings(found, positions(content.rows, split_by), as_json, confidence)
