"""``riskjudge label``: which rows to label next, the labelling itself, and the answers taken back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riskjudge.cli import options
from riskjudge.cli.rate import Loaded, Only, load_sample
from riskjudge.errors import InputError
from riskjudge.io.jsonl import read_objects

if TYPE_CHECKING:
    import pandas as pd

    from riskjudge._typing import ObjectArray
    from riskjudge.io.append_only import AppendOnlyFile

By = Annotated[
    str | None,
    typer.Option(help="Column that names the system: every system gets the same say."),
]
Drawn = Annotated[Path, typer.Argument(metavar="TO_LABEL", help="Written by label next.")]
Answered = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[ANSWERS]...", help="Written by label ask; TO_LABEL's own labels else."
    ),
]
_KEYS = {"p": "pass", "f": "fail", "u": "unsure", "s": "skip"}


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    label = typer.Typer(
        help="Draw rows to label, label them, take the labels in.", no_args_is_help=True
    )
    label.command("next")(next_rows)
    label.command("ask")(ask)
    label.command("take")(take)
    app.add_typer(label, name="label")


def next_rows(
    trace: options.TraceFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the drawn rows go.")],
    n: Annotated[int, typer.Option("-n", "--number", help="Rows to draw.")] = 50,
    by: By = None,
    only: Only = None,
    modes: options.Modes = None,
    item_id: options.ItemId = "item_id",
    label: options.Label = "label",
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    form: options.Format = "terminal",
) -> None:
    """Draw the rows to label next: at random, with known probabilities, more where it pays."""
    from riskjudge.io.tables import write_table
    from riskjudge.rates.drawing import draw
    from riskjudge.rates.labelling import rows_to_label
    from riskjudge.rates.render import draw_table

    frame, loaded, names = _trace(trace, by, only, modes, item_id, label)
    drawn = draw(loaded.sample, n, system=loaded.system, names=names, seed=seed)
    write_table(rows_to_label(frame, drawn, item_id, label, _judges(modes)), output)
    table = draw_table(drawn, loaded.sample, str(trace))
    if as_json:
        strata = [
            {"stratum": name, "rows": int(rows), "labelled": int(held), "drawn": int(now)}
            for name, rows, held, now, _ in table.rows
        ]
        options.print_json({"drawn": len(drawn.index), "strata": strata, "file": str(output)})
    else:
        options.show(table, form)
        typer.echo(f"{len(drawn.index)} rows to label written to {output}", err=True)


def _judges(modes: list[str] | None) -> list[str]:
    """Columns of the judge that are named on the command line."""
    from riskjudge.data.modes import ModeColumns

    parsed = [ModeColumns.parse(mode) for mode in modes or ()]
    return [column for mode in parsed for column in (mode.verdict, mode.uncertainty)]


def _trace(
    path: Path,
    by: str | None,
    only: str | None,
    modes: list[str] | None,
    item_id: str,
    label: str,
) -> tuple[pd.DataFrame, Loaded, ObjectArray | None]:
    """The table as it is, the sample in it, and the strata of an earlier draw."""
    from riskjudge.rates.sample import STRATUM, WEIGHT

    frame: pd.DataFrame = options.load_table(path, modes, item_id=item_id, label=label)
    loaded: Loaded = load_sample(
        path, by=by, only=only, modes=modes, item_id=item_id, label=label, frame=frame
    )
    earlier = STRATUM in frame.columns and WEIGHT in frame.columns
    return frame, loaded, frame[STRATUM].map(str).to_numpy(dtype=object) if earlier else None


def take(
    trace: options.TraceFile,
    drawn: Drawn,
    answers: Answered = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The trace with its new labels.")
    ] = None,
    by: By = None,
    only: Only = None,
    modes: options.Modes = None,
    item_id: options.ItemId = "item_id",
    label: options.Label = "label",
    as_json: options.AsJson = False,
) -> None:
    """Take answers into the trace they were drawn from, by id, and weigh the labels.

    Rows on which annotators disagree stay without a label and are named.
    """
    from riskjudge.io.tables import read_table, write_table
    from riskjudge.rates.labelling import read_labels, settle, take_labels

    if output is None:
        raise InputError("say where the labelled trace goes: -o labelled.csv")
    rows = read_table(drawn, text=[item_id])
    given = {}
    for file in answers or ():
        for name, part in _by_annotator(read_table(file, text=["item_id"]), file):
            if name in given:
                raise InputError(f"{file}: there are answers of {name!r} already")
            given[name] = read_labels(part, "item_id", "answer", str(file))
    if not given:
        given["label"] = read_labels(rows, item_id, label, str(drawn))
    ids = [str(name) for name in rows[item_id]]
    for name, said in given.items():
        strange = sorted(set(said) - set(ids))
        if strange:
            raise InputError(f"the answers of {name!r} name {strange[0]!r}, which was not drawn")
    settled = settle(ids, given)
    frame, loaded, _ = _trace(trace, by, only, modes, item_id, label)
    taken = take_labels(
        frame,
        loaded.sample,
        rows,
        settled.labels,
        system=loaded.system,
        item_id=item_id,
        label=label,
    )
    write_table(taken, output)
    if as_json:
        options.print_json(
            {
                "labels": len(settled.labels),
                "open": list(settled.open),
                "disputed": list(settled.disputed),
                "agreement": [
                    {
                        "annotators": [a.first, a.second],
                        "rows": a.rows,
                        "agreed": a.agreed,
                        "kappa": a.kappa,
                    }
                    for a in settled.agreement
                ],
                "file": str(output),
            }
        )
        return
    typer.echo(f"{len(settled.labels)} labels taken into {output}")
    for a in settled.agreement:
        kappa = "undefined" if a.kappa is None else f"{a.kappa:.2f}"
        typer.echo(f"{a.first} and {a.second}: {a.agreed} of {a.rows} alike, kappa {kappa}")
    if settled.disputed:
        typer.echo(f"disputed, without a label: {', '.join(settled.disputed)}")
    if settled.open:
        typer.echo(
            f"{len(settled.open)} drawn rows without a label: the weights take them to be like the "
            "others of their stratum",
            err=True,
        )


def _by_annotator(frame: pd.DataFrame, file: Path) -> Iterator[tuple[str, pd.DataFrame]]:
    if "annotator" not in frame.columns:
        yield file.stem, frame
        return
    if file.suffix == ".jsonl":
        # The file only grows: of two answers to a row the later one is a correction.
        frame = frame.drop_duplicates(["annotator", "item_id"], keep="last")
    for name, part in frame.groupby("annotator", sort=True):
        yield str(name), part


def ask(
    drawn: Drawn,
    output: Annotated[Path, typer.Option("--output", "-o", help="Answers, .jsonl; added to.")],
    annotator: Annotated[str, typer.Option(help="Who answers.")] = "me",
    show: Annotated[
        list[str] | None,
        typer.Option(
            "--show", help="A column to show; repeatable. By default every text that is there."
        ),
    ] = None,
    item_id: options.ItemId = "item_id",
    as_json: options.AsJson = False,
) -> None:
    """Label the drawn rows in the terminal; stop at any time and go on later.

    Keys: p pass, f fail, u unsure, s skip, b back to the row before, q quit. Every answer is written
    at once.
    """
    from riskjudge.io.append_only import AppendOnlyFile
    from riskjudge.io.tables import read_table

    if output.suffix != ".jsonl":
        raise InputError(f"{output}: answers go to a .jsonl file, line by line")
    rows = read_table(drawn, text=[item_id])
    shown = list(show or _texts(rows, item_id))
    for column in shown:
        if column not in rows.columns:
            raise InputError(f"{drawn} has no column {column!r}; it has {', '.join(rows.columns)}")
    with AppendOnlyFile(output) as file:
        done = _answered(output, annotator)
        todo = [row for _, row in rows.iterrows() if str(row[item_id]) not in done]
        say = partial(typer.echo, err=as_json)  # then standard output is for the JSON alone
        say(f"{len(rows) - len(todo)} answered, {len(todo)} to go")
        _ask_all(file, todo, shown, annotator, item_id, say)
    if as_json:
        answered = len(_answered(output, annotator) & {str(name) for name in rows[item_id]})
        options.print_json({"rows": len(rows), "answered": answered, "file": str(output)})
    else:
        typer.echo(f"answers in {output}", err=True)


def _ask_all(
    file: AppendOnlyFile,
    todo: list[pd.Series],
    shown: list[str],
    annotator: str,
    item_id: str,
    say: Callable[..., None],
) -> None:
    place = 0
    while place < len(todo):
        row = todo[place]
        say(f"\n[{place + 1} of {len(todo)}]")
        for column in shown:
            if row[column] == row[column] and row[column] is not None:
                say(f"{column}: {row[column]}")
        key = _key(say)
        if key == "q":
            return
        if key == "b":
            place = max(place - 1, 0)
        elif key in _KEYS:
            answer = {
                "item_id": str(row[item_id]),
                "annotator": annotator,
                "answer": _KEYS[key],
            }
            file.append(json.dumps(answer).encode() + b"\n")
            place += 1
        else:
            say("p pass, f fail, u unsure, s skip, b back, q quit")


def _key(say: Callable[..., None]) -> str:
    """The first letter of a line; q at the end of the input."""
    say("p/f/u/s/b/q > ", nl=False)
    try:
        line = input()
    except EOFError:
        return "q"
    return line.strip().lower()[:1]


def _answered(path: Path, annotator: str) -> set[str]:
    """Ids that the annotator has answered."""
    rows = [row for _, row in read_objects(path)] if path.exists() else []
    return {row["item_id"] for row in rows if row.get("annotator") == annotator}


def _texts(rows: pd.DataFrame, item_id: str) -> list[str]:
    """Columns for people to read: what is not the id, the label or part of the draw."""
    own = {item_id, "label", "stratum", "probability", "weight", "pieces", "annotator"}
    return [str(c) for c in rows.columns if c not in own]
