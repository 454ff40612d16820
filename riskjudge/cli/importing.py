"""Every command that takes a trace takes the files of other tools, too."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from riskjudge.cli import completion
from riskjudge.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from riskjudge.readers import Choices

_TRACES = ("TRACE", "CALIBRATION", "NEW")
_PANEL = "Files of other tools"
_HELP = (
    "What is what in a file that is no trace: label, v1, u1 (or c1, a confidence), v2 …, group, "
    "item_id, correct, judge1 …, cut, or a choice of the format such as filter; repeatable."
)

InputFormat = Annotated[
    str | None,
    typer.Option(
        "--input-format",
        help="Format of a file that is no trace. By default recognised from its content.",
        autocompletion=completion.formats,
        rich_help_panel=_PANEL,
    ),
]
Map = Annotated[
    list[str] | None,
    typer.Option("--map", metavar="WHAT=FIELD", help=_HELP, rich_help_panel=_PANEL),
]
LabelFile = Annotated[
    Path | None,
    typer.Option("--label-file", help="A file of labels, joined by id.", rich_help_panel=_PANEL),
]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the command line says about files that are no traces."""

    format: str | None = None
    map: tuple[str, ...] = ()
    labels: Path | None = None

    def __bool__(self) -> bool:
        return self != _Asked()


_ASKED: ContextVar[_Asked] = ContextVar("asked", default=_Asked())  # noqa: B039  # frozen


def add_options(app: typer.Typer) -> None:
    """Give the options about files of other tools to every command that takes a trace."""
    for command in app.registered_commands:
        if command.callback is not None:
            command.callback = _with_options(command.callback)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            add_options(group.typer_instance)


def _with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(command, eval_str=True)
    if not any(_takes_trace(p.annotation) for p in signature.parameters.values()):
        return command

    @wraps(command)
    def told(
        *arguments: Any,
        input_format: str | None = None,
        map_: list[str] | None = None,
        label_file: Path | None = None,
        **values: Any,
    ) -> Any:
        asked = _ASKED.set(_Asked(input_format, tuple(map_ or ()), label_file))
        try:
            return command(*arguments, **values)
        finally:
            _ASKED.reset(asked)

    added = {"input_format": InputFormat, "map_": Map, "label_file": LabelFile}
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in added.items()
    ]
    told.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), *more]
    )
    told.__annotations__ = {
        name: p.annotation
        for name, p in told.__signature__.parameters.items()  # type: ignore[attr-defined]
    }
    return told


def _takes_trace(annotation: Any) -> bool:
    return any(getattr(meta, "metavar", None) in _TRACES for meta in get_args(annotation)[1:])


def imported(
    path: Path,
    *,
    columns: Sequence[str] = (),
    judges: Sequence[str] = (),
    item_id: str = "item_id",
    label: str = "label",
) -> pd.DataFrame | None:
    """The table of another tool's file, or None where the file is a trace and is to be read as one.

    What was taken for what is said on standard error.

    Parameters
    ----------
    path : Path
        A file, or a folder with files of one tool.
    columns : sequence of str
        Columns of verdicts and scores that the user named: such a table is a trace.
    judges : sequence of str
        The modes that a gate asks for, where there is one.
    item_id, label : str
        How the columns shall be called. Another name than the usual one is that of a field of the
        file.

    Raises
    ------
    InputError
        If the file leaves a choice open; see :func:`riskjudge.readers.import_files`.
    """
    from riskjudge.readers import import_files
    from riskjudge.readers.documents import read_document
    from riskjudge.readers.recognition import is_ours, recognise

    asked = _ASKED.get()
    if is_ours(path, columns):
        if asked.format is not None or asked.map:
            raise InputError(f"{path} is a trace already: --input-format and --map are for others")
        if asked.labels is None:
            return None
        raise InputError(
            f"{path} is a trace already; join the labels to it in its column {label!r}"
        )
    mapping = [*asked.map]
    if item_id != "item_id":
        mapping.append(f"item_id={item_id}")
    if label != "label":
        mapping.append(f"label={label}")
    if not asked and path.is_file() and recognise(read_document(path)).name == "table":
        return None  # a table whose columns nobody mapped: what it lacks as a trace is said there
    found = import_files(
        [path], format=asked.format, choices=choices(mapping, judges), labels=asked.labels
    )
    for line in (f"{path} is no trace; it was read as one", *found.taken, *found.notes):
        typer.echo(line, err=True)
    names = {"item_id": item_id, "label": label}
    clash = [new for old, new in names.items() if new != old and new in found.frame.columns]
    return found.frame.drop(columns=clash).rename(columns=names)


def choices(mapping: Sequence[str], judges: Sequence[str] = (), **given: Any) -> Choices:
    """Answers to what a file leaves open, from texts such as ``v1=grade:good/poor``.

    Parameters
    ----------
    mapping : sequence of str
    judges : sequence of str
        Used where the mapping names no judge and no verdict.
    **given
        Attributes of :class:`.Choices` that take precedence over the mapping.

    Raises
    ------
    InputError
    """
    from riskjudge.readers import Choices

    pairs = keys_and_values("--map", mapping)

    def numbered(kind: str) -> tuple[str, ...]:
        found: list[str] = []
        while (key := f"{kind}{len(found) + 1}") in pairs:
            found.append(pairs.pop(key))
        return tuple(found)

    cut = pairs.pop("cut", None)
    if cut is not None:
        try:
            given = {"cut": float(cut)} | {k: v for k, v in given.items() if v is not None}
        except ValueError:
            raise InputError(f"--map cut takes a number, got {cut!r}") from None
    verdicts, correct = numbered("v"), pairs.pop("correct", None)
    named = numbered("judge")
    if not (named or verdicts or correct):
        named = tuple(judges)
    told: dict[str, Any] = {
        "judges": named,
        "label": pairs.pop("label", None),
        "verdicts": verdicts,
        "uncertainties": numbered("u"),
        "confidences": numbered("c"),
        "group": pairs.pop("group", None),
        "correct": correct,
    }
    if "item_id" in pairs:
        pairs["id"] = pairs.pop("item_id")
    for key in pairs:
        if key not in ("id", "filter", "metric", "task"):
            raise InputError(
                f"--map fills label, group, item_id, v1, u1, c1, v2 …, judge1, correct, cut, filter, "
                f"metric, task; not {key!r}"
            )
    told["other"] = pairs | given.pop("other", {})
    return Choices(
        **(told | {key: value for key, value in given.items() if value not in (None, ())})
    )


def keys_and_values(flag: str, given: Sequence[str] | None) -> dict[str, str]:
    """``KEY=VALUE`` texts as a mapping.

    Raises
    ------
    InputError
        If a text is none, or a key comes twice.
    """
    pairs: dict[str, str] = {}
    for text in given or ():
        key, equals, value = text.partition("=")
        if not (key and equals and value):
            raise InputError(f"{flag} takes KEY=VALUE, got {text!r}")
        if key in pairs:
            raise InputError(f"{flag}: {key!r} is given twice")
        pairs[key] = value
    return pairs
