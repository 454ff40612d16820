"""Signals: what may be known about an item without its label, and what it costs to know it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

import numpy as np

from riskjudge._typing import FloatArray, IntArray, ObjectArray
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError

REFERENCES = frozenset(
    {
        *("label", "labels", "gold", "gold_label", "gold_answer", "gold_answers", "golds"),
        *("reference", "references", "reference_answer", "ground_truth", "target", "human"),
        *("human_label", "human_labels", "error", "wrong", "correct"),
    }
)
"""Columns that hold what is right. No signal sees them."""


_OF_COLUMNS = ("number", "category", "probability", "popularity", "length", "overlap")


class Family(StrEnum):
    """What kind of number a signal gives, which decides how it is calibrated."""

    VERDICT = "verdict"
    CONFIDENCE = "confidence"
    PROBABILITY = "probability"
    NUMBER = "number"
    TEXT = "text"
    CATEGORY = "category"


@dataclass(frozen=True, slots=True)
class Cost:
    """What one item costs: calls, tokens, money (in any one currency) and seconds."""

    calls: float = 0.0
    tokens: float = 0.0
    money: float = 0.0
    seconds: float = 0.0

    def __post_init__(self) -> None:
        for part in fields(self):
            value = getattr(self, part.name)
            if not isinstance(value, int | float) or not 0.0 <= value < np.inf:
                raise InputError(f"a cost in {part.name} is a number from 0 on, got {value!r}")

    def __add__(self, other: Cost) -> Cost:
        parts = (getattr(self, f.name) + getattr(other, f.name) for f in fields(self))
        return Cost(*parts)


class SignalView:
    """Items as a signal sees them: verdicts, uncertainties and other columns, never a label.

    Attributes
    ----------
    item_id : ndarray of str, shape (n,)
    modes : tuple of str
    verdicts : ndarray of int, shape (n, K)
        -1 where there is none.
    scores : ndarray of float, shape (n, K)
        Uncertainties, NaN where there is no usable verdict.
    """

    def __init__(self, trace: Trace) -> None:
        self.item_id: ObjectArray = trace.item_id
        self.modes: tuple[str, ...] = trace.modes
        self.verdicts: IntArray = trace.verdicts
        self.scores: FloatArray = trace.scores
        self._columns = trace.columns
        self._extra = trace.extra

    def __len__(self) -> int:
        return len(self.item_id)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that a signal may use."""
        return tuple(c for c in map(str, self._extra.columns) if c.lower() not in REFERENCES)

    def column(self, name: str) -> ObjectArray:
        """The values of a column as they are, None where there is none.

        Raises
        ------
        InputError
            If there is no such column, or it holds references.
        """
        self.column_named(name)
        import pandas as pd

        values: ObjectArray = self._extra[name].to_numpy(dtype=object, copy=True)
        values[pd.isna(values)] = None
        return values

    def column_named(self, name: str) -> None:
        """Refuse a column that is not there, or that holds references."""
        if name.lower() in REFERENCES:
            raise InputError(
                f"the column {name!r} holds what is right: a signal is free of references, for it "
                "has to be known before any label is. What compares with a reference is a metric"
            )
        if name not in self._extra.columns:
            raise InputError(
                f"a signal needs the column {name!r}; there are "
                f"{', '.join(self.columns) or 'no further columns'}"
            )

    def numeric(self, name: str) -> FloatArray | None:
        """The values of a column that holds numbers only, NaN where there is none; else None."""
        from pandas.api.types import is_numeric_dtype

        self.column_named(name)
        values = self._extra[name]
        if not is_numeric_dtype(values):
            return None
        return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))

    def flips_column(self, mode: str) -> str:
        """The column that says how far a mode disagrees with itself: ``flips1`` beside ``v1``."""
        return f"flips{self._columns[self.mode_index(mode)].verdict.removeprefix('v')}"

    def mode_index(self, mode: str) -> int:
        """Position of a mode."""
        if mode not in self.modes:
            raise InputError(f"a signal needs the mode {mode!r}; there are {', '.join(self.modes)}")
        return self.modes.index(mode)


Measure = Callable[[SignalView], Sequence[Any] | FloatArray | ObjectArray]


@dataclass(frozen=True, slots=True)
class Signal:
    """Something measured on each item that may tell whether a claim holds, free of references.

    Parameters
    ----------
    name : str
        Unique among the signals of a fusion.
    family : Family
        Decides the calibrator.
    measure : callable
        From a :class:`SignalView` to one value an item; NaN or None where there is none. It cannot
        see labels: the view has none.
    tier : int
        Stage from which on the signal is at hand; cheap ones first.
    cost : Cost
        Of one item.
    criteria : str or None
        What a judge was asked to look at, where the signal is a judgement.
    spec : str or None
        The text that :func:`.parse_signals` reads; a signal without one is not stored by itself and
        has to be passed again when its fusion is loaded.

    Examples
    --------
    >>> trace = Trace.from_arrays(np.array([[0.1], [0.4]]), np.array([[1], [0]]))
    >>> doubled = Signal("doubled", Family.NUMBER, lambda view: 2.0 * view.scores[:, 0])
    >>> doubled.values(trace)
    array([0.2, 0.8])
    """

    name: str
    family: Family
    measure: Measure = field(repr=False, compare=False)
    tier: int = 1
    cost: Cost = field(default_factory=Cost)
    criteria: str | None = None
    spec: str | None = None

    def __post_init__(self) -> None:
        if not self.name or not callable(self.measure):
            raise InputError(f"a signal has a name and a measure, got {self.name!r}")
        if not isinstance(self.tier, int) or self.tier < 1:
            raise InputError(f"signal {self.name}: a tier is a whole number from 1 on")

    def modes(self, known: Sequence[str]) -> tuple[str, ...]:
        """The modes that have to be asked to measure it; all of them where nothing says less.

        Examples
        --------
        >>> Signal("gap:a,b", Family.NUMBER, len, spec="gap:a,b@1").modes(("a", "b", "c"))
        ('a', 'b')
        """
        kind, _, argument = (self.spec or "").rpartition("@")[0].partition(":")
        if kind == "flips" and argument and argument not in known:
            return ()  # between columns
        if kind in ("verdict", "confidence", "gap", "flips") and argument:
            named = [part.strip() for part in argument.split(",")]
            return tuple(mode for mode in known if mode in named or mode == argument)
        return () if kind in _OF_COLUMNS else tuple(known)

    def values(self, trace: Trace) -> FloatArray | ObjectArray:
        """One value an item: floats with NaN, or (categories) text with None.

        Raises
        ------
        InputError
            If the measure gives another number of values, or values that are no finite numbers.
        """
        measured = np.asarray(self.measure(SignalView(trace)))
        plain = measured.dtype.kind in "fiub" and self.family is not Family.CATEGORY
        found = measured.astype(np.float64 if plain else object)
        if found.shape != (len(trace),):
            raise InputError(
                f"signal {self.name}: {len(trace)} items need {len(trace)} values, got an array of "
                f"shape {found.shape}"
            )
        if self.family is Family.CATEGORY:
            return np.array([category(value) for value in found], dtype=object)
        try:
            numbers = found.astype(np.float64)
        except (TypeError, ValueError):
            row = next(i for i, value in enumerate(found) if not _is_number(value))
            raise InputError(
                f"signal {self.name}, item {trace.item_id[row]!r}: {found[row]!r} is not a number"
            ) from None
        if np.isinf(numbers).any():
            row = int(np.isinf(numbers).argmax())
            raise InputError(
                f"signal {self.name}, item {trace.item_id[row]!r}: {found[row]!r} is not finite"
            )
        return numbers


@dataclass(frozen=True, slots=True)
class Metric:
    """A comparison with a reference, which validates and never gates.

    It is no :class:`Signal` and cannot become one: what needs a reference is not known of the items
    that will be judged.
    """

    name: str
    measure: Callable[[Trace], FloatArray] = field(repr=False, compare=False)


def checked_signals(signals: Sequence[Any]) -> tuple[Signal, ...]:
    """The signals of a fusion; a metric, a repeated name or none at all is refused.

    Examples
    --------
    >>> checked_signals([Metric("bleu", lambda trace: trace.labels)])
    Traceback (most recent call last):
    ...
    riskjudge.errors.InputError: 'bleu' is a metric: it needs references, so it cannot gate anything
    """
    for signal in signals:
        if isinstance(signal, Metric):
            raise InputError(
                f"{signal.name!r} is a metric: it needs references, so it cannot gate anything"
            )
        if not isinstance(signal, Signal):
            raise InputError(f"a fusion takes signals, got {type(signal).__name__}")
    names = [signal.name for signal in signals]
    if not names:
        raise InputError("a fusion needs at least one signal")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"two signals are called {twice!r}; each needs a name of its own")
    return tuple(signals)


def category(value: object) -> str | None:
    """A value as the name of a category; None where there is none."""
    if value is None or value != value or value == "":
        return None
    # 1, 1.0 and True-like numbers read the same from every format of table.
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _is_number(value: object) -> bool:
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return value is None
    return True
