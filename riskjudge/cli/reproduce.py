"""``riskjudge reproduce``: the paper's tables and figures, published beside reproduced."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riskjudge.cli import options

if TYPE_CHECKING:
    from riskjudge.paper.session import Session


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("reproduce")(reproduce)


def reproduce(
    names: Annotated[
        list[str], typer.Argument(help="table01 ... table14, routing, fig01 ... fig07, or all.")
    ],
    splits: Annotated[int, typer.Option(help="Random calibration/test splits.")] = 100,
    output: Annotated[Path, typer.Option(help="Folder for tables and figures.")] = Path(
        "reproduction"
    ),
    traces: Annotated[
        Path | None,
        typer.Option(help="Folder with your own traces, candidate__judge__dataset__variant.csv."),
    ] = None,
    procedure: Annotated[
        str, typer.Option(help="Calibrate by another procedure than the paper's.")
    ] = "pointwise",
    objective: Annotated[
        str, typer.Option(help="coverage (Algorithm 1), correct (Appendix B.2), ...")
    ] = "coverage",
    seed: options.Seed = 0,
    jobs: options.Jobs = 1,
    as_json: options.AsJson = False,
) -> None:
    """Reproduce tables and figures of the paper, on synthetic traces or on your own.

    Finished runs are kept under OUTPUT/.cache; an interrupted command takes up where it stopped.
    Exit code 0: done. 2: bad input. 3: operational failure.
    """
    from riskjudge.paper.session import run_session
    from riskjudge.paper.tables import Settings
    from riskjudge.paper.traces import FolderTraces, SyntheticTraces

    source = SyntheticTraces() if traces is None else FolderTraces(traces)
    settings = Settings(procedure, objective, splits, seed)
    with options.progress_bar("runs", None) as progress:
        session = run_session(names, source, settings, output, jobs, progress)
    if as_json:
        options.print_json(session.summary())
    else:
        _show(session)


def _show(session: Session) -> None:
    from rich.console import Console

    from riskjudge.paper import render

    console = Console()
    for reproduction in session.reproductions:
        for table in render.to_terminal(reproduction, console.width):
            options.show(table)
        for status, deviation in render.deviations(reproduction.cells).items():
            console.print(f"  {render.deviation_line(status, deviation)}", highlight=False)
        console.print(f"  {render.what_was_run(reproduction)}\n", highlight=False)
    if len(session.reproductions) > 1:
        console.print("[bold]All tables, each figure once[/]")
        for status, deviation in render.deviations(session.distinct_cells).items():
            console.print(f"  {render.deviation_line(status, deviation)}", highlight=False)
    if session.reproductions:
        console.print("A cell reads: reproduced (published); * marks a predicted one.")
    if session.missing:
        console.print(f"No trace for {len(session.missing)} configurations:", style="yellow")
        console.print("  " + ", ".join(c.name for c in session.missing), highlight=False)
    if session.figures:
        console.print(f"Figures: {', '.join(session.figures)}", highlight=False)
    kind = "SYNTHETIC traces" if session.synthetic else session.source
    console.print(f"Run on {kind}. Written to {session.output}", highlight=False)
