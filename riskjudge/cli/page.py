"""``page``: the report as one page to pass on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from riskjudge.cli import options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(page)


def page(
    gate: options.GateFile,
    items: options.TraceFile,
    output: Annotated[Path, typer.Option("-o", "--output", help="The page, .html.")],
    calibration: Annotated[
        Path | None,
        typer.Option(
            "--calibration",
            help="The trace that the gate was fitted on: adds a slider over risk levels.",
        ),
    ] = None,
    by: options.By = None,
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    where: options.Where = None,
    item_id: options.ItemId = "item_id",
    label: options.Label = "label",
) -> None:
    """Decide items and write one self-contained HTML page about it, for somebody who must decide.

    The page needs no network and no script to be read. With labels it says where errors are.
    """
    from riskjudge.gate import load_router
    from riskjudge.page import write_page

    loaded = load_router(gate)
    columns = loaded.columns_ if loaded.fitted else None
    grading = options.grading_of(gate=loaded)
    trace = options.load_trace(
        items, columns, item_id=item_id, label=label, where=where, grading=grading
    )
    fitted_on = None
    if calibration is not None:
        fitted_on = options.load_trace(
            calibration, columns, item_id=item_id, label=label, where=where, grading=grading
        )
    write_page(output, loaded, trace, calibration=fitted_on, by=by, title=title)
    typer.echo(f"{len(trace)} items -> {output}")
