"""The modes of a table: which columns hold them, how they are called, and their values checked."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from riskjudge._typing import FloatArray, IntArray
from riskjudge.data.columns import Columns
from riskjudge.data.grading import Grading
from riskjudge.data.source import ScoreSource
from riskjudge.data.verdict import UNDECIDED, AbstainReason, FailureKind
from riskjudge.errors import InputError
from riskjudge.io.cells import MISSING

ABSENCES: tuple[str, ...] = (*map(str, AbstainReason), UNDECIDED, *map(str, FailureKind))
"""Why a mode has no usable verdict on an item: it declined, found no preference, or failed."""
FIRST_FAILURE = ABSENCES.index(UNDECIDED) + 1
GRADING = "grading"
"""The column that says how scores are graded, where verdicts are scores."""


MODE_COLUMN = re.compile("(v|u|why|source|mode)([1-9][0-9]?)")
"""Names that a table keeps for its modes."""


@dataclass(frozen=True, slots=True)
class ModeColumns:
    """Names of a mode's columns in a table.

    `why` is a column that says why there is no verdict: one of :data:`ABSENCES`; `source` one that
    says what made the scores (see :class:`.ScoreSource`), the same in every row. A table need not
    have them (nothing may have failed), and they are taken up by themselves where `why1` and
    `source1` stand beside a verdict column `v1`.
    """

    name: str
    verdict: str
    uncertainty: str
    why: str | None = None
    source: str | None = None

    @classmethod
    def parse(cls, text: str) -> ModeColumns:
        """From ``name=verdict,uncertainty``, the form the command line takes.

        Examples
        --------
        >>> ModeColumns.parse("parametric=v1,u1").uncertainty
        'u1'
        """
        name, equals, columns = text.partition("=")
        parts = [part.strip() for part in columns.split(",")]
        if not equals or not name.strip() or len(parts) != 2 or not all(parts):
            raise InputError(f"a mode is given as name=verdict,uncertainty, got {text!r}")
        return cls(name.strip(), *parts)


def with_companions(mode: ModeColumns, columns: Collection[str]) -> ModeColumns:
    """The mode with the optional columns that the table has, without those that it has not."""
    ending = mode.verdict[1:] if mode.verdict.startswith("v") else None

    def there(*names: str | None) -> str | None:
        return next((name for name in names if name is not None and name in columns), None)

    return replace(
        mode,
        why=there(mode.why, None if ending is None else f"why{ending}"),
        source=there(mode.source, None if ending is None else f"source{ending}"),
    )


def name_column(mode: ModeColumns) -> str:
    """The column that may say how the mode is called: ``mode1`` beside ``v1``."""
    return f"mode{mode.verdict[1:]}" if mode.verdict.startswith("v") else ""


def refuse_other_places(
    given: Sequence[ModeColumns], named: Sequence[str | None], source: str
) -> None:
    """Refuse modes that the user named otherwise than the table does.

    Raises
    ------
    InputError
        If a column that is read as one mode's is, by the table, another's.
    """
    names = {mode.name for mode in given}
    for mode, name in zip(given, named, strict=True):
        if name in names and name != mode.name:
            raise InputError(
                f"{source}: {mode.verdict!r} is read as the verdicts of {mode.name!r}, and "
                f"{name_column(mode)!r} says that they are those of {name!r}; are the modes swapped?"
            )


def default_modes(columns: Sequence[str], source: str = "the table") -> list[ModeColumns]:
    """Modes ``mode1, mode2, …`` from the columns ``v1, u1, v2, u2, …``.

    Examples
    --------
    >>> [mode.name for mode in default_modes(["item_id", "label", "v1", "u1", "v2", "u2"])]
    ['mode1', 'mode2']
    """
    found: list[ModeColumns] = []
    while f"v{(k := len(found) + 1)}" in columns and f"u{k}" in columns:
        found.append(ModeColumns(f"mode{k}", f"v{k}", f"u{k}"))
    if found:
        _refuse_halves(columns, found, source)
    else:
        have = ", ".join(map(str, columns))
        raise InputError(
            f"{source} has no columns v1 and u1 (verdict and uncertainty of mode 1); its columns are "
            f"{have}. Name the modes: --mode name=verdict,uncertainty, or say what is what: --map v1=COLUMN"
        )
    return found


def _refuse_halves(columns: Sequence[str], whole: Sequence[ModeColumns], source: str) -> None:
    """A column of a mode whose others are missing is a mistake, and not something to carry along."""
    for column in columns:
        match = MODE_COLUMN.fullmatch(str(column))
        if match and int(match[2]) > len(whole):
            k = match[2]
            flags = " ".join(f"--mode {m.name}={m.verdict},{m.uncertainty}" for m in whole)
            raise InputError(
                f"{source} has a column {column!r}, and v{k} and u{k} of all modes up to {k} are needed "
                f"beside it; add what is missing, rename it, or name the modes that are meant: {flags} "
                f"reads the table without it"
            )


def named_by_source(
    given: list[ModeColumns], sources: Sequence[ScoreSource | None]
) -> list[ModeColumns]:
    """Modes that nobody named, by what their sources call them: the fact `mode`, or the prompt."""
    names = []
    for mode, source in zip(given, sources, strict=True):
        facts: Mapping[str, object] = {} if source is None else source
        said = facts.get("mode") or facts.get("prompt") or mode.name
        names.append(str(said).partition("@")[0])
    if len(set(names)) < len(names):
        return given
    return [replace(mode, name=name) for mode, name in zip(given, names, strict=True)]


class ModeTable(Columns):
    """The columns of a mode."""

    def mode(
        self, mode: ModeColumns, grading: Grading | None = None
    ) -> tuple[IntArray, FloatArray, IntArray]:
        """Verdicts, scores and absences of a mode, each of shape (n,)."""
        verdicts = self.graded(mode.verdict, grading)
        scores = self.numbers(mode.uncertainty)
        absence = np.full(len(verdicts), -1)
        absence[np.isnan(scores)] = ABSENCES.index(FailureKind.NO_CONFIDENCE)
        absence[verdicts < 0] = ABSENCES.index(FailureKind.NO_VERDICT)
        if mode.why is not None:
            self._read_reasons(mode.why, verdicts, absence)
        scores[absence >= 0] = np.nan
        return verdicts, scores, absence

    def graded(self, column: str, grading: Grading | None) -> IntArray:
        """Verdicts 0 or 1, or scores as `grading` takes them; -1 where the cell is empty, shape (n,)."""
        if grading is None:
            try:
                return self.binary(column)
            except InputError as error:
                number = re.search(r": '?[-+\d.]+(e[-+]?\d+)?'? is not 0, 1", str(error))
                hint = (
                    "; scores of a scale need --scale, and --cut or --tolerance" if number else ""
                )
                raise InputError(f"{error}{hint}") from None
        scores = self.numbers(column)
        row = grading.outside(scores)
        if row is not None:
            right = f"a score from {grading.low:g} to {grading.high:g}, the scale that was declared"
            raise self.wrong(column, row, self.values(column)[row], right)
        return grading.codes(scores)

    def labels(self, column: str, grading: Grading | None) -> IntArray:
        """Labels of the same kind as the verdicts; of scores with a cut, true and false will do."""
        if grading is not None and not grading.numeric:
            values = {str(v).strip().lower() for v in self.distinct(column, "a label")[1]}
            if values and values - MISSING <= {"true", "false"}:
                return self.binary(column)
        return self.graded(column, grading)

    @property
    def tells_grading(self) -> bool:
        """Whether the table has the column, and not another one that is called so."""
        return GRADING in self.frame.columns and any(
            isinstance(value, str) and value.startswith("{") for value in self.values(GRADING)
        )

    def grading(self, stated: Grading | None) -> Grading | None:
        """How scores are graded, from the table's own column or as stated."""
        if not self.tells_grading:
            return stated
        texts = set(self.texts(GRADING))
        own = Grading.from_json(text) if len(texts) == 1 and (text := texts.pop()) else None
        if own is None:
            raise InputError(
                f"{self.source_name}, {GRADING}: the column says how scores are graded, in the same "
                "words in each row"
            )
        if stated not in (None, own):
            raise InputError(f"{self.source_name} holds {own}, not {stated}")
        return own

    def mode_name(self, mode: ModeColumns) -> str | None:
        """How the table calls a mode; None where it does not say."""
        column = name_column(mode)
        if column not in self.frame.columns:
            return None
        names = set(self.texts(column)) - {None}
        if len(names) > 1:
            raise InputError(
                f"{self.source_name}, {column}: a mode has one name, got {', '.join(map(repr, names))}"
            )
        return next(iter(names), None)

    def source(self, column: str) -> ScoreSource | None:
        """The one source that a column names; None where it is empty throughout."""
        import pandas as pd

        values = self.values(column)
        there = ~pd.isna(values)
        which, texts = pd.factorize(
            np.array(
                [str(v) if t else "" for v, t in zip(values, there, strict=True)], dtype=object
            )
        )
        sources: list[ScoreSource | None] = []
        for code, text in enumerate(texts):
            row = int(np.flatnonzero(which == code)[0])
            try:
                sources.append(ScoreSource.parse(str(text)) if text != "" else None)
            except InputError as error:
                raise InputError(f"{self.source_name}, row {row + 1}, {column}: {error}") from None
            if sources[-1] != sources[0]:
                raise InputError(
                    f"{self.source_name}, row {row + 1}, {column}: the scores come from "
                    f"{sources[-1] or 'nothing that is named'}, those of row 1 from "
                    f"{sources[0] or 'nothing that is named'}; a mode has one source"
                )
        return sources[0]

    def _read_reasons(self, column: str, verdicts: IntArray, absence: IntArray) -> None:

        which, distinct = self.distinct(column, f"one of {', '.join(ABSENCES)}")
        for code, value in enumerate(distinct):
            rows = np.flatnonzero(which == code)
            reason = str(value).strip()
            if reason.lower() in MISSING:
                continue
            if reason not in ABSENCES:
                raise self.wrong(column, int(rows[0]), reason, f"one of {', '.join(ABSENCES)}")
            given = rows[verdicts[rows] >= 0]
            if len(given) and reason != FailureKind.NO_CONFIDENCE:
                raise InputError(
                    f"{self.source_name}, row {given[0] + 1}: {column} says {reason!r}, yet there is a "
                    "verdict; an item has the one or the other"
                )
            absence[rows] = ABSENCES.index(reason)
