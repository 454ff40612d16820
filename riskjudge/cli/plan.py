"""``riskjudge plan``: how many labels a certificate takes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from riskjudge.cli import options


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("plan")(plan)


def plan(
    alpha: options.Alpha = 0.1,
    delta: options.Delta = 0.05,
    error_rate: Annotated[
        float | None, typer.Option(help="Expected error rate among accepted verdicts.")
    ] = None,
    coverage: Annotated[float, typer.Option(help="Expected share of accepted items.")] = 1.0,
    power: Annotated[float, typer.Option(help="Wanted probability of a certificate.")] = 0.8,
    as_json: options.AsJson = False,
    form: options.Format = "terminal",
) -> None:
    """How many labels are needed.

    Exit code 1: with that error rate no number of labels would do.
    """
    from riskjudge.calibration import plan_labels
    from riskjudge.evaluation.render import plan_table

    planned = plan_labels(alpha, delta, error_rate=error_rate, coverage=coverage, power=power)
    if as_json:
        options.print_json(asdict(planned))
    else:
        options.show(plan_table(planned), form)
    raise typer.Exit(0 if planned.labels is not None else 1)
