"""``riskjudge report``: coverage, risk and abstentions of outcomes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from riskjudge.cli import options
from riskjudge.errors import InputError


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("report")(report)


def report(
    outcomes: Annotated[Path, typer.Argument(metavar="OUTCOMES", help="Written by decide.")],
    by: options.By = None,
    floor: options.Floor = None,
    group: options.Group = None,
    gate: Annotated[
        Path | None,
        typer.Option(
            help="The gate that decided: adds how many may be wrong in a batch of this size."
        ),
    ] = None,
    as_json: options.AsJson = False,
    form: options.Format = "terminal",
) -> None:
    """Coverage, FDR and every abstention, from outcomes with or without labels."""
    from riskjudge.calibration.predictive import batch_bound
    from riskjudge.evaluation import summarize
    from riskjudge.evaluation.render import report_tables
    from riskjudge.gate import load_gate
    from riskjudge.gate.outcomes import read_outcomes

    seen = read_outcomes(outcomes)
    summary = summarize(seen, by=by, floor=floor, group=group or options.own_group(seen))
    bound = None
    if gate is not None:
        fitted = load_gate(gate)
        if not fitted.fitted:
            raise InputError(f"{gate} is not fitted: it promises nothing about a batch")
        if not summary.calibrated_on:
            accepted = summary.whole.accepted - summary.whole.uncertified
            bound = batch_bound(fitted.certificate_, accepted)
    if as_json:
        batch = {} if gate is None else {"batch": None if bound is None else asdict(bound)}
        options.print_json(summary.to_dict() | batch)
    else:
        for printed in report_tables(summary, str(outcomes)):
            options.show(printed, form)
        if bound is not None:
            typer.echo(bound.statement, err=True)
