"""``riskjudge plot stress``: what perturbations did to each judge's verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riskjudge._checks import check_level
from riskjudge.cli import options
from riskjudge.cli.plot import PLOTS, Output, Source, Title, draw, figure_files
from riskjudge.cli.stress import ChangedTolerance, FindingLevel
from riskjudge.errors import InputError

if TYPE_CHECKING:
    from riskjudge.reliability import Reaction


def register(app: typer.Typer) -> None:
    """Add the command to ``plot``, which the application has."""
    PLOTS.command("stress")(stress)


def stress(
    ledgers: Annotated[
        list[Path], typer.Argument(metavar="LEDGER...", help="Ledgers that stress wrote.")
    ],
    output: Output = None,
    tolerance: ChangedTolerance = 0.05,
    level: FindingLevel = 0.05,
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
    found: list[Reaction] = []
    for path in ledgers:
        rows = read_ledger(path).rows
        try:
            found += reactions(rows, tolerance=tolerance)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
    where_from = source if source is not None else ", ".join(path.name for path in ledgers)
    display = StressDisplay.from_reactions(found, level=level, source=where_from)
    draw(
        display,
        files,
        title,
        as_json,
        {"reactions": [{**r.to_dict(), "found": r.found(level)} for r in found]},
    )
