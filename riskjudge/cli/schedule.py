"""Options of a schedule of looks, and the calibration at the look that is due."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riskjudge.cli import completion
from riskjudge.errors import InputError

if TYPE_CHECKING:
    from riskjudge.calibration.looks import Schedule
    from riskjudge.data.trace import Trace
    from riskjudge.gate import Router, SelectiveGate

_GROUP = "Labelling in batches"
LooksOption = Annotated[
    str | None,
    typer.Option(
        "--looks",
        metavar="K|open",
        help="Fix a schedule of K looks at more and more labels (or an open-ended one) that spend delta "
        "together. Call again with all labels so far.",
        rich_help_panel=_GROUP,
    ),
]
Batch = Annotated[
    int | None,
    typer.Option(
        "--batch",
        help="Labels from one look to the next; by default those of the first look.",
        rich_help_panel=_GROUP,
    ),
]
Sizes = Annotated[
    str | None,
    typer.Option(
        "--sizes",
        metavar="N1,N2,…",
        help="Numbers of labels of the looks, in place of --looks and --batch.",
        rich_help_panel=_GROUP,
    ),
]
SpendingOption = Annotated[
    str | None,
    typer.Option(
        "--spending",
        help="How delta is spread: rising (default), linear, obrien_fleming; series where the end is open.",
        autocompletion=completion.one_of("rising", "linear", "obrien_fleming", "series"),
        rich_help_panel=_GROUP,
    ),
]
State = Annotated[
    Path | None,
    typer.Option(
        "--state",
        help="File that remembers the schedule and the labels used; by default beside the gate. Given "
        "alone, it goes on with the schedule in it.",
        rich_help_panel=_GROUP,
    ),
]


def schedule_from(
    looks: str | None, batch: int | None, sizes: str | None, spending: str | None, labels: int
) -> Schedule | None:
    """The schedule that the options ask for; None if they ask for none.

    Examples
    --------
    >>> schedule_from("3", None, None, None, labels=150).size(3)
    450
    """
    from riskjudge.calibration.looks import Schedule

    if sizes is not None:
        if looks is not None or batch is not None:
            raise InputError("--sizes takes the place of --looks and --batch")
        return Schedule(
            sizes=tuple(_whole(part, "--sizes") for part in sizes.split(",")), spending=spending
        )
    if looks is None:
        if batch is not None or spending is not None:
            raise InputError("--batch and --spending belong to a schedule: give --looks, too")
        return None
    number = None if looks.strip().lower() == "open" else _whole(looks, "--looks")
    return Schedule(batch=labels if batch is None else batch, looks=number, spending=spending)


def fit_on_schedule(
    gate: Router | SelectiveGate,
    table: Trace,
    pool: Trace | None,
    *,
    looks: str | None,
    batch: int | None,
    sizes: str | None,
    spending: str | None,
    state: Path | None,
    output: Path | None,
    stressed: Mapping[str, Trace] | None = None,
) -> Router | SelectiveGate:
    """Fit once, or at the look that is due where a schedule is asked for."""
    from riskjudge.gate.looks import Looks, fit_look

    if looks is None and sizes is None and state is None:
        schedule_from(looks, batch, sizes, spending, 0)  # refuses what belongs to a schedule
        return gate.fit(table, pool, stressed)
    if stressed:
        raise InputError("--robust and a schedule of looks do not go together")
    if state is None and output is None:
        raise InputError("a schedule needs a file that remembers it: --state, or --output")
    where = state or Path(f"{output}.looks.json")
    labels = len(gate.prepare(table, pool).labelled)
    if batch is None and sizes is None and where.exists():
        batch = Looks.load(where).schedule.batch if looks is not None else None
    schedule = schedule_from(looks, batch, sizes, spending, labels)
    return fit_look(gate, table, pool, state=where, schedule=schedule)


def _whole(text: str, option: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"{option} takes whole numbers, got {text.strip()!r}") from None
