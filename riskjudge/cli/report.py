"""``riskjudge report``: coverage, risk and abstentions of outcomes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from riskjudge.cli import options


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("report")(report)


def report(
    outcomes: Annotated[Path, typer.Argument(metavar="OUTCOMES", help="Written by decide.")],
    by: options.By = None,
    floor: options.Floor = 30,
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
