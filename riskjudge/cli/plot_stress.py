"""``riskjudge plot stress``: what perturbations did to each judge's verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from riskjudge._checks import check_level
from riskjudge.cli import options
from riskjudge.cli.plot import PLOTS, Output, Source, Title, draw, figure_files


def register(app: typer.Typer) -> None:
    """Add the command to ``plot``, which the application has."""
    PLOTS.command("stress")(stress)


def stress(
    ledgers: Annotated[
        list[Path], typer.Argument(metavar="LEDGER...", help="Ledgers that stress wrote.")
    ],
    output: Output = None,
    tolerance: Annotated[
        float, typer.Option(help="Share of changed verdicts tolerated without a repetition.")
    ] = 0.05,
    level: Annotated[
        float, typer.Option(help="Chance of any finding at a judge that nothing changes.")
    ] = 0.05,
    title: Title = None,
    source: Source = None,
    as_json: options.AsJson = False,
) -> None:
    """Shares of changed verdicts, perturbations down and judges across."""
    from riskjudge.ledger import read_ledger
    from riskjudge.reliability import reactions
    from riskjudge.reliability.heat_map import StressDisplay

    files = figure_files(output, "stress")
    check_level(level, "level")
    found = [r for path in ledgers for r in reactions(read_ledger(path).rows, tolerance=tolerance)]
    where_from = source if source is not None else ", ".join(path.name for path in ledgers)
    display = StressDisplay.from_reactions(found, level=level, source=where_from)
    draw(
        display,
        files,
        title,
        as_json,
        {"reactions": [{**r.to_dict(), "found": r.found(level)} for r in found]},
    )
