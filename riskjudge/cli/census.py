"""``riskjudge census``: what judges say about pairs, counted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riskjudge._checks import check_level
from riskjudge.cli import options
from riskjudge.cli.readings import By, Need, columns, positions, print_census, print_readings
from riskjudge.errors import InputError

if TYPE_CHECKING:
    from riskjudge.judges import Judge
    from riskjudge.ledger import Row


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("census")(census)


def census(
    llmbar: Annotated[Path | None, typer.Option(help="Folder with the LLMBar pairs.")] = None,
    judges: Annotated[
        list[str] | None, typer.Option("--judge", help="A scripted judge; may be repeated.")
    ] = None,
    seed: Annotated[int, typer.Option(help="For judges that draw at random.", min=0)] = 0,
    trials: Annotated[
        Path | None, typer.Option(help="Read stored two-order trials (CSV) instead.")
    ] = None,
    strategies: Annotated[
        list[str] | None, typer.Option("--strategy", help="Only these trials; may be repeated.")
    ] = None,
    by: By = "",
    need: Need = 0,
    confidence: Annotated[float, typer.Option(help="Two-sided, of the intervals.")] = 0.95,
    as_json: options.AsJson = False,
) -> None:
    """Count what judges say about pairs: scripted ones over LLMBar, or stored trials.

    Scripted judges compare each pair in both orders, and grade each response by itself.
    """
    from riskjudge.ledger import read_trials, readings

    check_level(confidence, "confidence")
    if (llmbar is None) is (trials is None):
        raise InputError("a census needs either --llmbar DIR or --trials FILE")
    if trials is not None:
        rows, split_by = read_trials(trials, strategies or ()), columns(by) or ("judge", "subset")
        print_readings(
            readings(rows, split_by, need=need), positions(rows, split_by), as_json, confidence
        )
        return
    if strategies:
        raise InputError("--strategy goes with --trials")
    assert llmbar is not None
    rows = _ask_scripted(llmbar, judges or ["first-slot"], seed)
    print_census(readings(rows, ("judge", "mode", *columns(by)), need=need), as_json)


def _ask_scripted(folder: Path, names: Sequence[str], seed: int) -> list[Row]:
    from riskjudge.items import read_llmbar
    from riskjudge.judges import SCRIPTED, PairwiseTrial, PointwiseComparison, judge_items

    arms: list[Judge] = []
    for name in names:
        if name not in SCRIPTED:
            raise InputError(f"no scripted judge {name!r}; there are {', '.join(SCRIPTED)}")
        arms += [PairwiseTrial(SCRIPTED[name](seed)), PointwiseComparison(SCRIPTED[name](seed))]
    return list(judge_items(arms, read_llmbar(folder)))
