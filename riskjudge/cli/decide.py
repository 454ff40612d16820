"""``riskjudge decide``: apply a fitted gate."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from riskjudge.cli import options, promoted


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("decide")(decide)


def decide(
    gate: options.GateFile,
    trace: options.TraceFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Outcomes: .csv, .jsonl or .parquet.")
    ] = None,
    by: options.By = None,
    floor: options.Floor = None,
    group: options.Group = None,
    modes: options.Modes = None,
    item_id: options.ItemId = "item_id",
    label: options.Label = "label",
    where: options.Where = None,
    scale: options.Scale = None,
    cut: options.Cut = None,
    tolerance: options.Tolerance = None,
    source: options.StatedSource = None,
    on_mismatch: options.OnMismatch = "refuse",
    require_promoted: promoted.Required = None,
    as_json: options.AsJson = False,
    form: options.Format = "terminal",
) -> None:
    """Apply a gate: accept, abstain or fail, item by item. Labels are not needed."""
    import numpy as np

    from riskjudge.calibration.predictive import batch_bound
    from riskjudge.evaluation import summarize
    from riskjudge.evaluation.render import report_tables
    from riskjudge.gate.grouped import GroupedGate
    from riskjudge.io.tables import write_table
    from riskjudge.signals import FusedGate, load_any_gate

    fitted = load_any_gate(gate)
    promoted.require_again(fitted, gate, require_promoted)
    columns = modes or (fitted.columns_ if fitted.fitted else None)
    table = options.load_trace(
        trace,
        columns,
        item_id=item_id,
        label=label,
        group=group,
        where=where,
        grading=options.grading_of(scale, cut, tolerance, fitted),
    )
    table = options.with_sources(table, source)
    outcomes = fitted.decide(table, on_mismatch=on_mismatch)
    if on_mismatch != "refuse" and not outcomes.certified.all() and fitted.fitted:
        typer.echo(
            "note: the scores were not made as the gate's; no outcome is certified", err=True
        )
    unknown = getattr(fitted, "unknown_sources", lambda trace: ())(table)
    if unknown:
        typer.echo(
            f"note: the gate does not record what made the scores of {', '.join(unknown)} that it was "
            "fitted on, so these cannot be compared: that they were made in the same way is up to you",
            err=True,
        )
    bound = None
    if outcomes.calibrated_on.any():
        typer.echo(
            "note: the gate was calibrated on these very items, so the FDR below is not a test of it",
            err=True,
        )
    elif outcomes.certified.all() and fitted.fitted and not isinstance(fitted, GroupedGate):
        bound = batch_bound(fitted.certificate_, int(np.count_nonzero(outcomes.accepted)))
    if output is not None:
        write_table(outcomes.to_frame(), output)
    summary = summarize(outcomes, by=by, floor=floor, group=options.own_group(outcomes))
    if isinstance(fitted, FusedGate):
        summary = replace(summary, cost=fitted.spent(outcomes))
    if as_json:
        options.print_json(summary.to_dict() | {"batch": None if bound is None else asdict(bound)})
        return
    for printed in report_tables(summary, str(trace)):
        options.show(printed, form)
    if bound is not None:
        typer.echo(bound.statement, err=True)
    if output is not None:
        typer.echo(f"outcomes written to {output}", err=True)
