"""The trace: a validated table of verdicts, uncertainties and labels, one row an item."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from riskjudge._typing import BoolArray, FloatArray, IntArray, ObjectArray
from riskjudge.data.columns import Columns
from riskjudge.data.roles import check_roles
from riskjudge.data.source import ScoreSource
from riskjudge.data.verdict import UNDECIDED, AbstainReason, FailureKind
from riskjudge.errors import InputError
from riskjudge.io.cells import MISSING

if TYPE_CHECKING:
    import pandas as pd

ABSENCES: tuple[str, ...] = (*map(str, AbstainReason), UNDECIDED, *map(str, FailureKind))
"""Why a mode has no usable verdict on an item: it declined, found no preference, or failed."""
FIRST_FAILURE = ABSENCES.index(UNDECIDED) + 1


_MODE_COLUMN = re.compile("(v|u|why|source|mode)([1-9][0-9]?)")


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


@dataclass(frozen=True, eq=False)
class Trace:
    """Verdicts of K modes on n items, with labels where there are any.

    Build one with :meth:`from_frame`, :func:`riskjudge.read_trace` or :meth:`from_arrays`.

    Attributes
    ----------
    item_id : ndarray of str, shape (n,)
        Unique.
    columns : tuple of ModeColumns, length K
        The modes in the order in which they are asked, and where they were read.
    verdicts : ndarray of int, shape (n, K)
        0 or 1; -1 where the mode gave none.
    scores : ndarray of float, shape (n, K)
        Uncertainty, higher = less sure; NaN exactly where the mode has no usable verdict.
    absence : ndarray of int, shape (n, K)
        -1 where the mode has a usable verdict, else an index into :data:`ABSENCES`.
    labels : ndarray of int, shape (n,)
        What is right, 0 or 1; -1 where nobody knows.
    group : ndarray or None, shape (n,)
        Items with equal values depend on one another (several answers to one question, say).
    extra : DataFrame
        Whatever else the table carried, in the same order.
    sources : tuple of ScoreSource or None, length K
        What made each mode's scores; None where nothing says so.
    """

    item_id: ObjectArray
    columns: tuple[ModeColumns, ...]
    verdicts: IntArray
    scores: FloatArray
    absence: IntArray
    labels: IntArray
    group: ObjectArray | None
    extra: pd.DataFrame
    sources: tuple[ScoreSource | None, ...] = ()

    def __post_init__(self) -> None:
        if not self.sources:
            object.__setattr__(self, "sources", (None,) * len(self.columns))

    def __len__(self) -> int:
        return len(self.item_id)

    @property
    def modes(self) -> tuple[str, ...]:
        """Names of the modes."""
        return tuple(mode.name for mode in self.columns)

    @property
    def n_modes(self) -> int:
        return len(self.columns)

    @property
    def labelled(self) -> BoolArray:
        """Which items have a label."""
        return self.labels >= 0

    def rows(self, index: IntArray | BoolArray) -> Trace:
        """The items at `index`."""
        return Trace(
            self.item_id[index],
            self.columns,
            self.verdicts[index],
            self.scores[index],
            self.absence[index],
            self.labels[index],
            None if self.group is None else self.group[index],
            self.extra.iloc[_positions(index)],
            self.sources,
        )

    def in_order(self) -> Trace:
        """The items in the order of their ids: shorter ids first, then by their text.

        Whatever draws rows by position draws the same items from this, however a file is sorted.

        Examples
        --------
        >>> one = np.ones((3, 1), int)
        >>> Trace.from_arrays(0.5 * one, one, item_id=["10", "b", "9"]).in_order().item_id.tolist()
        ['9', 'b', '10']
        """
        text = self.item_id.astype(str)
        order = np.lexsort((text, np.char.str_len(text)))
        return self if np.array_equal(order, np.arange(len(self))) else self.rows(order)

    def mode_index(self, mode: str) -> int:
        """Position of a mode.

        Raises
        ------
        InputError
            If there is no such mode; the message lists those there are.
        """
        if mode not in self.modes:
            raise InputError(f"the trace has no mode {mode!r}; it has {', '.join(self.modes)}")
        return self.modes.index(mode)

    def select(self, modes: Sequence[str]) -> Trace:
        """The same items, seen in some of the modes only, in the order given."""
        index = [self.mode_index(mode) for mode in modes]
        return Trace(
            self.item_id,
            tuple(self.columns[k] for k in index),
            self.verdicts[:, index],
            self.scores[:, index],
            self.absence[:, index],
            self.labels,
            self.group,
            self.extra,
            tuple(self.sources[k] for k in index),
        )

    def with_sources(self, sources: Mapping[str, ScoreSource | None]) -> Trace:
        """The same items, with what made the scores of some modes stated.

        Parameters
        ----------
        sources : mapping of str to ScoreSource or None
            By mode.

        Raises
        ------
        InputError
            If there is no such mode.
        """
        for mode in sources:
            self.mode_index(mode)
        stated = tuple(
            sources.get(mode, old) for mode, old in zip(self.modes, self.sources, strict=True)
        )
        return replace(self, sources=stated)

    def fingerprint(self) -> str:
        """SHA-256 over ids, verdicts, scores and labels in the order of the ids.

        The order of the rows and the columns carried along do not change it.
        """
        order = np.argsort(self.item_id.astype(str), kind="stable")
        digest = hashlib.sha256("\0".join(self.modes).encode())
        digest.update("\0".join(map(str, self.sources)).encode())
        digest.update("\0".join(self.item_id[order]).encode())
        for array in (self.verdicts, self.scores, self.absence, self.labels):
            digest.update(np.ascontiguousarray(array[order]).tobytes())
        return digest.hexdigest()

    @classmethod
    def from_arrays(
        cls,
        scores: FloatArray,
        verdicts: IntArray,
        labels: IntArray | None = None,
        *,
        modes: Sequence[str] | None = None,
        item_id: Sequence[str] | None = None,
    ) -> Trace:
        """A trace from arrays of shape (n, K), (n, K) and (n,).

        NaN scores and verdicts of -1 mean "no usable verdict".

        Examples
        --------
        >>> trace = Trace.from_arrays(np.array([[0.1], [0.6]]), np.array([[1], [0]]), np.array([1, 1]))
        >>> len(trace), trace.modes
        (2, ('mode1',))
        """
        import pandas as pd

        n, k = np.shape(scores)
        names = tuple(modes) if modes is not None else tuple(f"mode{i + 1}" for i in range(k))
        data: dict[str, Any] = {
            "item_id": list(item_id) if item_id is not None else [str(i) for i in range(n)],
            "label": np.full(n, -1) if labels is None else np.asarray(labels),
        }
        for i in range(k):
            data[f"v{i + 1}"] = np.asarray(verdicts)[:, i]
            data[f"u{i + 1}"] = np.asarray(scores)[:, i]
        frame = pd.DataFrame(data).replace({c: -1 for c in data if c[0] in "lv"}, np.nan)
        columns = [ModeColumns(name, f"v{i + 1}", f"u{i + 1}") for i, name in enumerate(names)]
        return cls.from_frame(frame, modes=columns)

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        modes: Sequence[ModeColumns] | None = None,
        item_id: str = "item_id",
        label: str = "label",
        group: str | None = None,
        source: str = "the table",
    ) -> Trace:
        """Validate a table.

        Parameters
        ----------
        frame : DataFrame
            One row an item.
        modes : sequence of ModeColumns, optional
            By default ``v1, u1, v2, u2, …`` as far as they go, named by the columns ``mode1, mode2, …``,
            or by their sources (the fact ``mode``, or the prompt), or else mode1, mode2, …; ``why1,
            why2, …`` are taken up where they exist.
        item_id, label, group : str
            Column names; `label` may be missing altogether. A column called ``group`` is taken as
            `group` by itself.
        source : str
            How error messages call the table.

        Raises
        ------
        InputError
            A missing column, a duplicate id, a value that is not 0/1/true/false, an infinite score,
            an unknown reason: each with its row (the first data row is row 1) and what would be
            right.
        """
        if len(frame) == 0:
            raise InputError(f"{source} has no rows; at least one is needed")
        given = list(modes) if modes is not None else default_modes(list(frame.columns), source)
        if not given:
            raise InputError("a trace needs at least one mode")
        names = [mode.name for mode in given]
        if len(set(names)) != len(names):
            raise InputError(f"the mode names must differ, got {', '.join(names)}")
        given = [_with_companions(mode, frame.columns) for mode in given]
        if group is None and "group" in frame.columns:
            group = "group"
        check = _TraceColumns(frame, source)
        named = [check.mode_name(mode) for mode in given]
        roles = [(mode.name, mode.verdict, mode.uncertainty) for mode in given]
        check_roles(frame.columns, roles, item_id, label, group, source)
        ids = check.ids(item_id)
        # A table without labels has no column of the usual name; another name is meant to be there.
        unlabelled = label == "label" and label not in frame.columns
        labels = np.full(len(frame), -1) if unlabelled else check.binary(label)
        parts = [check.mode(mode) for mode in given]
        verdicts, scores, absence = (
            np.column_stack(columns) for columns in zip(*parts, strict=True)
        )
        used = {item_id, label, group}
        for mode in given:
            used |= {mode.verdict, mode.uncertainty, mode.why, mode.source, _name_column(mode)}
        sources = tuple(None if m.source is None else check.source(m.source) for m in given)
        if modes is None:
            given = _named_by_source(given, sources)
            given = [replace(m, name=name or m.name) for m, name in zip(given, named, strict=True)]
        else:
            _refuse_other_places(given, named, source)
        return cls(
            ids,
            tuple(given),
            verdicts,
            scores,
            absence,
            labels,
            None if group is None else check.groups(group),
            frame[sorted((c for c in frame.columns if c not in used), key=str)].reset_index(
                drop=True
            ),
            sources,
        )

    def to_frame(self) -> pd.DataFrame:
        """The trace as a table that :meth:`from_frame` takes back."""
        import pandas as pd

        data: dict[str, Any] = {"item_id": self.item_id, "label": _nullable(self.labels)}
        unnamed = [ModeColumns(f"mode{k + 1}", "", "") for k in range(self.n_modes)]
        told = tuple(mode.name for mode in _named_by_source(unnamed, self.sources)) == self.modes
        for k in range(self.n_modes):
            if not told:
                data[f"mode{k + 1}"] = self.modes[k]
            data[f"v{k + 1}"] = _nullable(self.verdicts[:, k])
            data[f"u{k + 1}"] = self.scores[:, k]
            if (self.absence[:, k] >= 0).any():
                data[f"why{k + 1}"] = [
                    None if code < 0 else ABSENCES[code] for code in self.absence[:, k]
                ]
            if self.sources[k] is not None:
                data[f"source{k + 1}"] = str(self.sources[k])
        if self.group is not None:
            data["group"] = self.group
        return pd.concat([pd.DataFrame(data), self.extra.reset_index(drop=True)], axis=1)


def _with_companions(mode: ModeColumns, columns: Collection[str]) -> ModeColumns:
    """The mode with the optional columns that the table has, without those that it has not."""
    ending = mode.verdict[1:] if mode.verdict.startswith("v") else None

    def there(*names: str | None) -> str | None:
        return next((name for name in names if name is not None and name in columns), None)

    return replace(
        mode,
        why=there(mode.why, None if ending is None else f"why{ending}"),
        source=there(mode.source, None if ending is None else f"source{ending}"),
    )


def _name_column(mode: ModeColumns) -> str:
    """The column that may say how the mode is called: ``mode1`` beside ``v1``."""
    return f"mode{mode.verdict[1:]}" if mode.verdict.startswith("v") else ""


def _refuse_other_places(
    given: Sequence[ModeColumns], named: Sequence[str | None], source: str
) -> None:
    names = {mode.name for mode in given}
    for mode, name in zip(given, named, strict=True):
        if name in names and name != mode.name:
            raise InputError(
                f"{source}: {mode.verdict!r} is read as the verdicts of {mode.name!r}, and "
                f"{_name_column(mode)!r} says that they are those of {name!r}; are the modes swapped?"
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
        _refuse_halves(columns, len(found), source)
    else:
        have = ", ".join(map(str, columns))
        raise InputError(
            f"{source} has no columns v1 and u1 (verdict and uncertainty of mode 1); its columns are "
            f"{have}. Name the modes: --mode name=verdict,uncertainty"
        )
    return found


def _refuse_halves(columns: Sequence[str], modes: int, source: str) -> None:
    """A column of a mode whose others are missing is a mistake, and not something to carry along."""
    for column in columns:
        match = _MODE_COLUMN.fullmatch(str(column))
        if match and int(match[2]) > modes:
            k = match[2]
            raise InputError(
                f"{source} has a column {column!r}, and v{k} and u{k} of all modes up to {k} are needed "
                "beside it; add what is missing, rename it, or name the modes: "
                "--mode name=verdict,uncertainty"
            )


def _named_by_source(
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


class _TraceColumns(Columns):
    """The columns of a mode."""

    def mode(self, mode: ModeColumns) -> tuple[IntArray, FloatArray, IntArray]:
        """Verdicts, scores and absences of a mode, each of shape (n,)."""

        verdicts = self.binary(mode.verdict)
        scores = self.numbers(mode.uncertainty)
        absence = np.full(len(verdicts), -1)
        absence[np.isnan(scores)] = ABSENCES.index(FailureKind.NO_CONFIDENCE)
        absence[verdicts < 0] = ABSENCES.index(FailureKind.NO_VERDICT)
        if mode.why is not None:
            self._read_reasons(mode.why, verdicts, absence)
        scores[absence >= 0] = np.nan
        return verdicts, scores, absence

    def mode_name(self, mode: ModeColumns) -> str | None:
        """How the table calls a mode; None where it does not say."""
        column = _name_column(mode)
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


def _nullable(codes: IntArray) -> Any:
    import pandas as pd

    return pd.arrays.IntegerArray(np.maximum(codes, 0), codes < 0)


def _positions(index: IntArray | BoolArray) -> IntArray:
    return np.arange(len(index))[index] if index.dtype == bool else index.astype(np.int64)


def stack(traces: Sequence[Trace]) -> Trace:
    """Traces one below the other; what only some of them carry along is left out.

    Raises
    ------
    InputError
        If the scores of a mode come from different sources.
    """
    import pandas as pd

    first = traces[0]
    for trace in traces[1:]:
        for mode, one, other in zip(first.modes, first.sources, trace.sources, strict=True):
            if one != other:
                known, unknown = (one, other) if one is not None else (other, one)
                assert known is not None
                differ = "; ".join(known.differences(unknown))
                raise InputError(f"the mode {mode} has two sources, {differ}")
    grouped = all(trace.group is not None for trace in traces)
    return Trace(
        np.concatenate([trace.item_id for trace in traces]),
        first.columns,
        np.concatenate([trace.verdicts for trace in traces]),
        np.concatenate([trace.scores for trace in traces]),
        np.concatenate([trace.absence for trace in traces]),
        np.concatenate([trace.labels for trace in traces]),
        np.concatenate([trace.group for trace in traces if trace.group is not None])
        if grouped
        else None,
        pd.concat([trace.extra for trace in traces], join="inner", ignore_index=True),
        first.sources,
    )


def read_trace(
    path: str | Path,
    *,
    modes: Sequence[ModeColumns] | None = None,
    item_id: str = "item_id",
    label: str = "label",
    group: str | None = None,
) -> Trace:
    """Read a trace from CSV, JSONL or Parquet; see :meth:`Trace.from_frame`."""
    from riskjudge.io.tables import read_table

    frame = read_table(path, text=[item_id, group or "group"])
    return Trace.from_frame(
        frame, modes=modes, item_id=item_id, label=label, group=group, source=str(path)
    )
