"""``riskjudge check``: do new items look like those calibrated on?."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from riskjudge.cli import options


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("check")(check)


def check(
    gate: options.GateFile,
    calibration: Annotated[
        Path, typer.Argument(metavar="CALIBRATION", help="The trace the gate was calibrated on.")
    ],
    new: Annotated[
        Path, typer.Argument(metavar="NEW", help="A trace of new items; no labels needed.")
    ],
    level: Annotated[
        float, typer.Option(help="Largest probability of 'drifted' where nothing changed.")
    ] = 0.05,
    gap: Annotated[
        float, typer.Option(help="Change of a share that 'consistent' must not miss.")
    ] = 0.15,
    labels: Annotated[
        bool, typer.Option("--labels", help="Compare labels and errors too, where both have them.")
    ] = False,
    permutations: Annotated[int, typer.Option(help="Random permutations of a test.")] = 1999,
    modes: options.Modes = None,
    item_id: options.ItemId = "item_id",
    label: options.Label = "label",
    group: options.Group = None,
    where: options.Where = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    form: options.Format = "terminal",
) -> None:
    """Do new items look like the calibration items? Says consistent, drifted or insufficient.

    Scores, missing verdicts, verdicts and routing are compared by exact or permutation tests.
    --where is about the calibration trace. Exit code 0: consistent. 1: drifted, or too few items.
    """
    from riskjudge.monitor import DriftAnswer, check_drift
    from riskjudge.monitor.tables import check_table

    opened = options.open_router(gate)
    columns = modes or opened.columns
    old, fresh = (
        options.load_trace(
            path,
            columns,
            item_id=item_id,
            label=label,
            group=group,
            where=conditions,
            grading=options.grading_of(gate=opened.router),
        )
        for path, conditions in ((calibration, where), (new, None))
    )
    result = check_drift(
        opened.router,
        opened.see(opened.untaught(old)),
        opened.see(fresh),
        level=level,
        gap=gap,
        labels=labels,
        permutations=permutations,
        seed=seed,
    )
    if as_json:
        options.print_json(result.to_dict())
    else:
        options.show(check_table(result, str(new)), form)
        for note in result.notes:
            typer.echo(f"note: {note}", err=True)
    raise typer.Exit(0 if result.answer is DriftAnswer.CONSISTENT else 1)
