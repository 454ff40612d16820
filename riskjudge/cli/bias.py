"""``riskjudge bias``: length, position and self-preference of pairwise judges, on stored calls."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riskjudge.cli import completion, options
from riskjudge.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from riskjudge.items import Item
    from riskjudge.reliability.comparisons import Comparisons


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("bias")(bias)


def bias(
    calls: Annotated[
        Path,
        typer.Argument(
            metavar="CALLS",
            help="A ledger (with --items), stored two-order trials (with --llmbar), an output of JudgeBench, "
            "or a table with a row a call.",
        ),
    ],
    items: Annotated[
        Path | None, typer.Option(help="Items that a ledger is about, JSONL: their texts.")
    ] = None,
    llmbar: Annotated[
        Path | None, typer.Option(help="Folder of the LLMBar pairs that trials are about.")
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="NAME=COLUMN",
            help="Of a table: what a column is called, as winner=preferred; repeatable.",
        ),
    ] = None,
    judges: Annotated[
        list[str] | None, typer.Option("--judge", help="Only this judge; repeatable.")
    ] = None,
    strategies: Annotated[
        list[str] | None, typer.Option("--strategy", help="Only these trials; repeatable.")
    ] = None,
    own: Annotated[
        list[str] | None,
        typer.Option(
            metavar="JUDGE=MODEL",
            help="The model behind a judge, where it is not its name; repeatable.",
        ),
    ] = None,
    length: Annotated[
        str,
        typer.Option(
            help="characters, or words.", autocompletion=completion.one_of("characters", "words")
        ),
    ] = "characters",
    need: Annotated[
        int, typer.Option("--need", "--min-n", min=2, help="Items that an index needs.")
    ] = 30,
    confidence: Annotated[float, typer.Option(help="Two-sided, of the intervals.")] = 0.95,
    as_json: options.AsJson = False,
    form: options.Format = "terminal",
) -> None:
    """Measure how length, position and authorship sway judges that compare two answers.

    Length: a logistic regression of who wins, beside the label and the order. Position: what wins where
    both orders were asked. Self-preference: wins of answers by the judge's own model, against what their
    labels earn. By judge, Holm-corrected over judges; calls about one item count as one.
    """
    from riskjudge.reliability.bias import measure_bias
    from riskjudge.reliability.tables import bias_tables

    found = load_comparisons(
        calls, items=items, llmbar=llmbar, columns=columns, strategies=strategies, length=length
    )
    if judges:
        for judge in judges:
            if judge not in found.judges:
                raise InputError(f"no judge {judge!r}; there are {', '.join(found.judges)}")
        found = found.only(judges)
    models = dict(_pair(text, "--own", "JUDGE=MODEL") for text in own or ())
    measured = measure_bias(found, own=models, need=need, confidence=confidence)
    if as_json:
        options.print_json({"judges": [one.to_dict() for one in measured]})
        return
    for table in bias_tables(measured, str(calls)):
        options.show(table, form)


def load_comparisons(
    calls: Path,
    *,
    items: Path | None = None,
    llmbar: Path | None = None,
    columns: Sequence[str] | None = None,
    strategies: Sequence[str] | None = None,
    length: str = "characters",
) -> Comparisons:
    """Calls from whatever kind of file they are in."""
    from riskjudge.ledger import read_ledger, read_parquet
    from riskjudge.reliability.comparisons import (
        from_judgebench,
        from_rows,
        from_table,
        is_judgebench,
    )

    names = dict(_pair(text, "--column", "NAME=COLUMN") for text in columns or ())
    if items is not None:
        from riskjudge.items import read_items

        _refuse({"--llmbar": llmbar, "--column": columns, "--strategy": strategies}, "a ledger")
        parquet = calls.suffix == ".parquet"
        rows = list(read_parquet(calls)) if parquet else list(read_ledger(calls).rows)
        return from_rows(rows, {item.id: item for item in read_items(items)}, length)
    if llmbar is not None:
        from riskjudge.ledger import read_trials

        _refuse({"--column": columns}, "stored trials")
        return from_rows(read_trials(calls, strategies or ()), _llmbar_items(calls, llmbar), length)
    _refuse({"--strategy": strategies}, "a table")
    if is_judgebench(calls):
        _refuse({"--column": columns}, "an output of JudgeBench")
        return from_judgebench(calls, length)
    frame = _table(calls, names.get("item_id", "item_id"))
    if {"subject", "judge", "status"} <= set(frame.columns):
        raise InputError(
            f"{calls} is a ledger: --items names the items it is about, with their texts"
        )
    return from_table(frame, length=length, columns=names, source=str(calls))


def _table(path: Path, item_id: str) -> pd.DataFrame:
    """A table with a row a call, or a JSON list of such rows."""
    import pandas as pd

    from riskjudge.io.jsonl import read_document
    from riskjudge.io.tables import read_table

    if path.suffix != ".json":
        return read_table(path, text=[item_id])
    rows = read_document(path)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{path}: a list of objects is expected, one for each call")
    return pd.DataFrame(rows)


def _llmbar_items(trials: Path, folder: Path) -> dict[str, Item]:
    """The pairs by the ids that the trials have; those are found by subset and place."""
    from riskjudge.io.tables import read_table
    from riskjudge.items import read_llmbar

    frame = read_table(trials, text=["item_id"])
    if "idx" not in frame.columns:
        raise InputError(f"{trials}: no column 'idx', the place of a pair in its subset")
    subsets = sorted(set(frame["subset"].map(str)))
    known = {item.id: item for item in read_llmbar(folder, subsets)}
    found: dict[str, Item] = {}
    for subject, subset, place in zip(frame["item_id"], frame["subset"], frame["idx"], strict=True):
        item = known.get(f"{subset}/{place}")
        if item is None:
            raise InputError(f"{folder}: no pair {place} in {subset}, which {trials} is about")
        found[str(subject)] = item
    return found


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (equals and name.strip() and value.strip()):
        raise InputError(f"{option} takes {form}, got {text!r}")
    return name.strip(), value.strip()


def _refuse(given: dict[str, object], what: str) -> None:
    for option, value in given.items():
        if value:
            raise InputError(f"{option} does not go with {what}")
