"""``page``: the report as one page to pass on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riskjudge.cli import options

if TYPE_CHECKING:
    from riskjudge.gate.outcomes import Outcomes

Calibration = Annotated[
    Path | None,
    typer.Option(
        "--calibration",
        help="The trace that the gate was fitted on: adds a slider over risk levels to the page.",
    ),
]
Title = Annotated[str | None, typer.Option(help="Heading of the page.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(page)


def page(
    gate: options.GateFile,
    items: options.TraceFile,
    output: Annotated[Path, typer.Option("-o", "--output", help="The page, .html.")],
    calibration: Calibration = None,
    by: options.By = None,
    floor: options.Floor = None,
    group: options.Group = None,
    title: Title = None,
    where: options.Where = None,
    item_id: options.ItemId = "item_id",
    label: options.Label = "label",
    as_json: options.AsJson = False,
) -> None:
    """Decide items and write one self-contained HTML page about it, for somebody who must decide.

    The same page as `decide` and `report --html` give in two steps. It needs no network and no
    script to be read. With labels it says where errors are.
    """
    from riskjudge.signals import load_any_gate

    fitted = load_any_gate(gate)
    columns = fitted.columns_ if fitted.fitted else None
    trace = options.load_trace(
        items,
        columns,
        item_id=item_id,
        label=label,
        group=group,
        where=where,
        grading=options.grading_of(gate=fitted),
    )
    outcomes = fitted.decide(trace)
    write(
        output,
        fitted,
        outcomes,
        calibration=calibration,
        item_id=item_id,
        label=label,
        by=by,
        floor=floor,
        group=options.own_group(outcomes),
        title=title,
    )
    if as_json:
        options.print_json({"page": str(output), "items": len(outcomes)})
    else:
        typer.echo(f"page on {len(outcomes)} items written to {output}")


def write(
    output: Path,
    gate: Any,
    outcomes: Outcomes,
    *,
    calibration: Path | None,
    item_id: str,
    label: str,
    by: str | None,
    floor: int | None,
    group: str | None,
    title: str | None,
) -> None:
    """The page of some outcomes and the gate that decided them (or of outcomes alone)."""
    from riskjudge.page import write_page

    fitted_on = None
    if calibration is not None and gate is not None and gate.fitted:
        fitted_on = options.load_trace(
            calibration,
            gate.columns_,
            item_id=item_id,
            label=label,
            grading=options.grading_of(gate=gate),
        )
    by = getattr(gate, "by", None) if by is None else by
    write_page(
        output, gate, outcomes, calibration=fitted_on, by=by, floor=floor, group=group, title=title
    )
