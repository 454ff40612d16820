"""``riskjudge reproduce``: the paper's tables and figures, published beside reproduced."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riskjudge.errors import InputError, OperationalError

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
    seed: Annotated[int, typer.Option(help="Seed of the splits.")] = 0,
    jobs: Annotated[int, typer.Option(help="Worker processes; -1 for all cores.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Reproduce tables and figures of the paper, on synthetic traces or on your own.

    Finished runs are kept under OUTPUT/.cache; an interrupted command takes up where it stopped.
    Exit code 0: done. 2: bad input. 3: operational failure.
    """
    from riskjudge.paper.session import run_session
    from riskjudge.paper.tables import Settings
    from riskjudge.paper.traces import FolderTraces, SyntheticTraces

    try:
        source = SyntheticTraces() if traces is None else FolderTraces(traces)
        settings = Settings(procedure, objective, splits, seed)
        with _progress(quiet=as_json) as report:
            session = run_session(names, source, settings, output, jobs, report)
    except InputError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from error
    except (OperationalError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(3) from error
    if as_json:
        typer.echo(json.dumps(session.summary(), indent=2, allow_nan=False))
    else:
        _show(session)


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    if quiet:
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("runs")

        def report(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        yield report


def _show(session: Session) -> None:
    from rich.console import Console

    from riskjudge.paper import render

    console = Console()
    for reproduction in session.reproductions:
        for table in render.to_terminal(reproduction, console.width):
            console.print(table)
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
