"""Judges that have to be promoted before a gate over them is calibrated or used."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riskjudge.errors import InputError

if TYPE_CHECKING:
    from riskjudge.agreement import PromotionRecord
    from riskjudge.data.modes import ModeColumns
    from riskjudge.data.source import ScoreSource

Required = Annotated[
    list[str] | None,
    typer.Option(
        "--require-promoted",
        metavar="[MODE=]FILE",
        help="The judge of this mode must be promoted, as the file says that agreement -o wrote; "
        "repeatable. A gate remembers it.",
    ),
]


def require(
    files: Sequence[str] | None,
    columns: Sequence[ModeColumns],
    sources: Sequence[ScoreSource | None],
) -> dict[str, Path]:
    """The file of each mode that was named, each of a judge that is promoted.

    Exits with 1 if one is not, and says what it lacks.
    """
    found: dict[str, Path] = {}
    for text in files or ():
        mode, path, record = _named(text, columns)
        if mode in found:
            raise InputError(f"--require-promoted names the mode {mode!r} twice")
        found[mode] = path
        mine = sources[[column.name for column in columns].index(mode)]
        if mine is not None and record.source is not None:
            differences = mine.differences(record.source, "these scores", "the promotion")
            if differences:
                raise InputError(
                    f"{path} is about another judge than that of mode {mode!r}: "
                    f"{'; '.join(differences)}"
                )
        _hold(record, path)
    return found


def relative(files: Mapping[str, Path], output: Path | None) -> dict[str, str]:
    """As a gate remembers them: seen from its own folder."""
    folder = Path() if output is None else output.parent
    return {mode: os.path.relpath(path, folder) for mode, path in files.items()}


def require_again(gate: Any, path: Path, files: Sequence[str] | None) -> None:
    """What a gate asked for when it was calibrated must still hold; `files` stand for its own."""
    from riskjudge.agreement import read_promotion
    from riskjudge.page.gates import routers_of

    if not gate.fitted:
        if files:
            raise InputError("--require-promoted is about the modes of a fitted gate")
        return
    routers = routers_of(gate).values()
    sources = getattr(gate, "sources_", None) or next(iter(routers)).sources_
    given = require(files, gate.columns_, sources)
    for router in routers:
        for mode, file in router.promotions_.items():
            if mode not in given:
                there = path.parent / file
                if not there.exists():
                    raise InputError(
                        f"{path} asks that the judge of mode {mode!r} is promoted, and there is no "
                        f"{there}; give the file with --require-promoted {mode}=FILE"
                    )
                _hold(read_promotion(there), there)


def _named(text: str, columns: Sequence[ModeColumns]) -> tuple[str, Path, PromotionRecord]:
    """The mode that a file is about, as it is named or as the file names its judge."""
    from riskjudge.agreement import read_promotion

    modes = [column.name for column in columns]
    mode, equals, file = text.partition("=")
    if equals and mode in modes:
        return mode, Path(file), read_promotion(file)
    record = read_promotion(text)
    about = [c.name for c in columns if record.judge in (c.name, c.verdict)]
    if len(columns) == 1:
        about = modes
    if not about:
        raise InputError(
            f"{text} is about the judge {record.judge!r}, which is none of the modes "
            f"{', '.join(modes)}; say which one is meant: --require-promoted MODE={text}"
        )
    return about[0], Path(text), record


def _hold(record: PromotionRecord, path: Path) -> None:
    problem = record.why_not()
    if problem is not None:
        typer.echo(f"riskjudge: {path}: {problem}", err=True)
        raise typer.Exit(1)
