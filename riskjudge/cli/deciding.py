"""``riskjudge decide``, ``report`` and ``sql``: a fitted gate at work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riskjudge.cli import options

if TYPE_CHECKING:
    from riskjudge.data.trace import Trace
    from riskjudge.gate import Router, SelectiveGate

By = Annotated[str | None, typer.Option(help="Report each value of this column too.")]
Floor = Annotated[int, typer.Option(help="Segments of fewer items are insufficient.")]
GateFile = Annotated[Path, typer.Argument(metavar="GATE", help="JSON, written by calibrate.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command("decide")(decide)
    app.command("report")(report)
    app.command("sql")(sql)


def decide(
    gate: GateFile,
    trace: options.TraceFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Outcomes: .csv, .jsonl or .parquet.")
    ] = None,
    by: By = None,
    floor: Floor = 30,
    modes: options.Modes = None,
    item_id: options.ItemId = "item_id",
    label: options.Label = "label",
    where: options.Where = None,
    as_json: options.AsJson = False,
    form: options.Format = "terminal",
) -> None:
    """Apply a gate: accept, abstain or fail, item by item. Labels are not needed."""
    from riskjudge.evaluation import summarize
    from riskjudge.evaluation.render import report_tables
    from riskjudge.gate import load_gate
    from riskjudge.io.tables import write_table

    fitted = load_gate(gate)
    columns = modes or (fitted.columns_ if fitted.fitted else None)
    table = options.load_trace(trace, columns, item_id=item_id, label=label, where=where)
    outcomes = fitted.decide(table)
    if fitted.fitted and _saw(fitted, table):
        typer.echo(
            "note: the gate was calibrated on these very items, so the FDR below is not a test of it",
            err=True,
        )
    if output is not None:
        write_table(outcomes.to_frame(), output)
    summary = summarize(outcomes, by=by, floor=floor)
    if as_json:
        options.print_json(summary.to_dict())
        return
    for printed in report_tables(summary, str(trace)):
        options.show(printed, form)
    if output is not None:
        typer.echo(f"outcomes written to {output}", err=True)


def _saw(gate: Router | SelectiveGate, trace: Trace) -> bool:
    """Whether the gate was calibrated on the labelled items of the trace."""
    labelled = trace.select(gate.modes_).rows(trace.labelled)
    return len(labelled) > 0 and labelled.fingerprint() == gate.fingerprint_


def report(
    outcomes: Annotated[Path, typer.Argument(metavar="OUTCOMES", help="Written by decide.")],
    by: By = None,
    floor: Floor = 30,
    as_json: options.AsJson = False,
    form: options.Format = "terminal",
) -> None:
    """Coverage, FDR and every abstention, from outcomes with or without labels."""
    from riskjudge.evaluation import summarize
    from riskjudge.evaluation.render import report_tables
    from riskjudge.gate.outcomes import read_outcomes

    summary = summarize(read_outcomes(outcomes), by=by, floor=floor)
    if as_json:
        options.print_json(summary.to_dict())
    else:
        for printed in report_tables(summary, str(outcomes)):
            options.show(printed, form)


def sql(
    gate: GateFile,
    value: Annotated[
        str, typer.Option(help="mode: who accepts; verdict: what was accepted.")
    ] = "mode",
) -> None:
    """Print a gate's routing rule as an SQL CASE expression."""
    from riskjudge.gate import load_gate

    typer.echo(load_gate(gate).to_sql(value))
