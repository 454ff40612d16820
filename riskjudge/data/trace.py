"""The trace: a validated table of verdicts, uncertainties and labels, one row an item."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from riskjudge._typing import BoolArray, FloatArray, IntArray, ObjectArray
from riskjudge.counts import contradicts
from riskjudge.data.grading import Grading, refuse_numbers
from riskjudge.data.modes import (
    ABSENCES,
    GRADING,
    ModeColumns,
    ModeTable,
    default_modes,
    name_column,
    named_by_source,
    refuse_other_places,
    with_companions,
)
from riskjudge.data.roles import check_roles
from riskjudge.data.source import ScoreSource
from riskjudge.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


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
        0 or 1; -1 where the mode gave none. Where `grading` has a tolerance, scores in its steps.
    scores : ndarray of float, shape (n, K)
        Uncertainty, higher = less sure; NaN exactly where the mode has no usable verdict.
    absence : ndarray of int, shape (n, K)
        -1 where the mode has a usable verdict, else an index into :data:`ABSENCES`.
    labels : ndarray of int, shape (n,)
        What is right, 0 or 1 (or a score in steps, as the verdicts); -1 where nobody knows.
    group : ndarray or None, shape (n,)
        Items with equal values depend on one another (several answers to one question, say).
    extra : DataFrame
        Whatever else the table carried, in the same order.
    sources : tuple of ScoreSource or None, length K
        What made each mode's scores; None where nothing says so.
    grading : Grading or None
        How scores of the judge were made verdicts; None where it gave verdicts.
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
    grading: Grading | None = None

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

    @property
    def reach(self) -> int:
        """Largest distance of a verdict from its label that is no error."""
        return 0 if self.grading is None else self.grading.reach

    @property
    def wrong(self) -> BoolArray:
        """Which verdicts contradict the label, shape (n, K); of labelled items alone it tells anything."""
        return contradicts(self.verdicts, self.labels[:, None], self.reach)

    def refuse_numbers(self, what: str) -> None:
        """Raise where verdicts are numbers, for `what` needs verdicts 0 and 1.

        Raises
        ------
        InputError
        """
        refuse_numbers(self.grading, what)

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
            self.grading,
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
            self.grading,
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
        if self.grading is not None:
            digest.update(self.grading.to_json().encode())
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
        grading: Grading | None = None,
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
        grading : Grading, optional
            Verdicts and labels are scores of its scale. With a cut, labels may be true or false
            instead. A column ``grading`` that :meth:`to_frame` wrote says it by itself.

        Raises
        ------
        InputError
            A missing column, a duplicate id, a value that is not 0/1/true/false, an infinite score, a
            score off its scale, an unknown reason: each with its row (the first data row is row 1)
            and what would be right.
        """
        if len(frame) == 0:
            raise InputError(f"{source} has no rows; at least one is needed")
        given = list(modes) if modes is not None else default_modes(list(frame.columns), source)
        if not given:
            raise InputError("a trace needs at least one mode")
        names = [mode.name for mode in given]
        if len(set(names)) != len(names):
            raise InputError(f"the mode names must differ, got {', '.join(names)}")
        given = [with_companions(mode, frame.columns) for mode in given]
        if group is None and "group" in frame.columns:
            group = "group"
        check = ModeTable(frame, source)
        named = [check.mode_name(mode) for mode in given]
        roles = [(mode.name, mode.verdict, mode.uncertainty) for mode in given]
        grading = check.grading(grading)
        check_roles(frame.columns, roles, item_id, label, group, source)
        ids = check.ids(item_id)
        # A table without labels has no column of the usual name; another name is meant to be there.
        unlabelled = label == "label" and label not in frame.columns
        labels = np.full(len(frame), -1) if unlabelled else check.labels(label, grading)
        parts = [check.mode(mode, grading) for mode in given]
        verdicts, scores, absence = (
            np.column_stack(columns) for columns in zip(*parts, strict=True)
        )
        used = {item_id, label, group, GRADING if check.tells_grading else None}
        for mode in given:
            used |= {mode.verdict, mode.uncertainty, mode.why, mode.source, name_column(mode)}
        sources = tuple(None if m.source is None else check.source(m.source) for m in given)
        if modes is None:
            given = named_by_source(given, sources)
            given = [replace(m, name=name or m.name) for m, name in zip(given, named, strict=True)]
        else:
            refuse_other_places(given, named, source)
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
            grading,
        )

    def to_frame(self) -> pd.DataFrame:
        """The trace as a table that :meth:`from_frame` takes back."""
        import pandas as pd

        data: dict[str, Any] = {"item_id": self.item_id, "label": self.shown(self.labels)}
        unnamed = [ModeColumns(f"mode{k + 1}", "", "") for k in range(self.n_modes)]
        told = tuple(mode.name for mode in named_by_source(unnamed, self.sources)) == self.modes
        for k in range(self.n_modes):
            if not told:
                data[f"mode{k + 1}"] = self.modes[k]
            data[f"v{k + 1}"] = self.shown(self.verdicts[:, k])
            data[f"u{k + 1}"] = self.scores[:, k]
            if (self.absence[:, k] >= 0).any():
                data[f"why{k + 1}"] = [
                    None if code < 0 else ABSENCES[code] for code in self.absence[:, k]
                ]
            if self.sources[k] is not None:
                data[f"source{k + 1}"] = str(self.sources[k])
        if self.group is not None:
            data["group"] = self.group
        if self.grading is not None and self.grading.numeric:
            data[GRADING] = self.grading.to_json()
        return pd.concat([pd.DataFrame(data), self.extra.reset_index(drop=True)], axis=1)

    def shown(self, codes: IntArray) -> Any:
        """Verdicts or labels as a column of a table, nulls where there is none."""
        return shown(codes, self.grading)


def shown(codes: IntArray, grading: Grading | None = None) -> Any:
    """Verdicts or labels as a column of a table: 0 and 1, or scores; nulls where there is none."""
    import pandas as pd

    if grading is not None and grading.numeric:
        return pd.array(grading.scores(codes), dtype="Float64")
    return pd.arrays.IntegerArray(np.maximum(codes, 0), codes < 0)


def _positions(index: IntArray | BoolArray) -> IntArray:
    return np.arange(len(index))[index] if index.dtype == bool else index.astype(np.int64)


def as_trace(
    items: Trace | pd.DataFrame,
    modes: Sequence[ModeColumns] | None = None,
    grading: Grading | None = None,
) -> Trace:
    """A trace, or the one that a table holds; see :meth:`Trace.from_frame`.

    Raises
    ------
    InputError
        If it is neither.
    """
    import pandas as pd

    if isinstance(items, Trace):
        return items
    if isinstance(items, pd.DataFrame):
        return Trace.from_frame(items, modes=modes, grading=grading)
    raise InputError(
        f"a trace or a table (pandas.DataFrame) is needed, got {type(items).__name__}; verdicts, scores "
        "and labels are columns of one table"
    )


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
        if trace.grading != first.grading:
            raise InputError(f"verdicts of two kinds: {first.grading} and {trace.grading}")
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
        first.grading,
    )


def read_trace(
    path: str | Path,
    *,
    modes: Sequence[ModeColumns] | None = None,
    item_id: str = "item_id",
    label: str = "label",
    group: str | None = None,
    grading: Grading | None = None,
) -> Trace:
    """Read a trace from CSV, JSONL or Parquet; see :meth:`Trace.from_frame`."""
    from riskjudge.io.tables import read_table

    frame = read_table(path, text=[item_id, group or "group"])
    return Trace.from_frame(
        frame,
        modes=modes,
        item_id=item_id,
        label=label,
        group=group,
        source=str(path),
        grading=grading,
    )
