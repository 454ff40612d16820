"""``read``: from another tool's file to a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from riskjudge.cli import completion, options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(read)


def read(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE…", help="Logs or exports of one tool, or any table."),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The trace: .csv, .jsonl or .parquet.")
    ],
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="By default recognised from the content; `list` names all.",
            autocompletion=completion.formats,
        ),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option("--labels", help="A file of labels, joined by id.")
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option("--judge", help="Judge, scorer or metric that becomes a mode; repeatable."),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option("--label", help="Field of what is right, as NAME or NAME:right/wrong."),
    ] = None,
    verdict: Annotated[
        list[str] | None,
        typer.Option(
            "--verdict", help="Field of a mode's verdict, as NAME or NAME:right/wrong; repeatable."
        ),
    ] = None,
    uncertainty: Annotated[
        list[str] | None,
        typer.Option("--uncertainty", help="Field that is higher where less sure; one a mode."),
    ] = None,
    confidence: Annotated[
        list[str] | None,
        typer.Option("--confidence", help="Field from 0 to 1, higher where more sure; one a mode."),
    ] = None,
    correct: Annotated[
        str | None,
        typer.Option("--correct", help="Field of whether the judge was right, if that is all."),
    ] = None,
    cut: Annotated[
        float | None, typer.Option("--cut", help="From which score on an item passes.")
    ] = None,
    group: Annotated[
        str | None, typer.Option("--group", help="Field of groups of dependent items.")
    ] = None,
    map_: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="COLUMN=FIELD",
            help="The same in short: label=…, v1=…, u1=…, v2=…, group=…, item_id=…; repeatable.",
        ),
    ] = None,
    choose: Annotated[
        list[str] | None,
        typer.Option("--choose", metavar="KEY=VALUE", help="A choice of one format: filter, id."),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Turn another tool's judgements into a trace, and say what was taken for what.

    Nothing is guessed: where a file leaves a choice, the candidates are listed with the option that
    chooses. Errors, refusals and truncated replies become failures, ties undecided.
    """

    from riskjudge.cli.importing import choices, keys_and_values
    from riskjudge.io.tables import write_table
    from riskjudge.readers import import_files

    imported = import_files(
        files,
        format=format,
        labels=labels,
        choices=choices(
            map_ or (),
            judges=tuple(judge or ()),
            label=label,
            uncertainties=tuple(uncertainty or ()),
            confidences=tuple(confidence or ()),
            group=group,
            cut=cut,
            verdicts=tuple(verdict or ()),
            correct=correct,
            other=keys_and_values("--choose", choose),
        ),
    )
    write_table(imported.frame, output)
    if as_json:
        told = {
            "items": len(imported.frame),
            "modes": list(imported.modes),
            "taken": list(imported.taken),
            "notes": list(imported.notes),
        }
        options.print_json(told)
        return
    for line in (*imported.taken, *imported.notes):
        typer.echo(line)
    typer.echo(f"{len(imported.frame)} items -> {output}")
