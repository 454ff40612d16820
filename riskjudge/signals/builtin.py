"""Signals that cost nothing: what modes, texts and columns of a trace already tell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from riskjudge._typing import FloatArray, ObjectArray
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError
from riskjudge.signals.signal import Cost, Family, Signal, SignalView, category

_SUREST = 0.01  # surer than this, a judge's own word is not taken further


def parse_signals(
    specs: Sequence[str], trace: Trace, costs: Mapping[str, Cost] | None = None
) -> tuple[Signal, ...]:
    """Signals from their texts.

    Parameters
    ----------
    specs : sequence of str
        Each ``kind:argument`` with an optional ``@tier``. ``modes`` gives verdict and confidence of
        every mode, ``verdict:MODE`` and ``confidence:MODE`` one of them, ``agreement`` the share of
        modes that say 1, ``flips`` how far they disagree, ``flips:MODE`` how far one disagrees with
        itself over orders or samples (column ``flips1`` beside ``v1``) and ``flips:NAME,NAME`` how far
        columns do, ``gap:MODE,MODE`` the distance of two signed confidences; ``column:NAME`` a
        column (``number:``, ``category:`` and ``probability:`` say what it is), ``popularity:NAME``
        the logarithm of a count; ``length:NAME`` and ``length:NAME,NAME`` the length of a text and
        the difference of two, ``overlap:NAME,NAME`` the share of the words of the first text that the
        second holds.
    trace : Trace
        Whose modes and columns are meant.
    costs : mapping of str to Cost, optional
        By the name of a signal.

    Examples
    --------
    >>> trace = Trace.from_arrays(np.array([[0.1, 0.3]]), np.array([[1, 0]]))
    >>> [signal.name for signal in parse_signals(["modes", "flips@2"], trace)]
    ['verdict:mode1', 'confidence:mode1', 'verdict:mode2', 'confidence:mode2', 'flips']
    """
    found: list[Signal] = []
    for spec in specs:
        text, at, tier = spec.strip().rpartition("@")
        if not at or not tier.isdigit():
            text, tier = spec.strip(), "1"
        kind, _, argument = text.partition(":")
        arguments = [part.strip() for part in argument.split(",") if part.strip()]
        if kind == "modes":
            found += [
                replace(_built(f"{part}:{mode}", part, [mode], trace), tier=int(tier))
                for mode in arguments or trace.modes
                for part in ("verdict", "confidence")
            ]
        else:
            found.append(replace(_built(text, kind, arguments, trace), tier=int(tier)))
    unknown = set(costs or ()) - {signal.name for signal in found}
    if unknown:
        raise InputError(f"a cost is given for {min(unknown)!r}, which is no signal here")
    return tuple(
        replace(s, spec=f"{s.name}@{s.tier}", cost=(costs or {}).get(s.name, s.cost)) for s in found
    )


def _built(name: str, kind: str, arguments: list[str], trace: Trace) -> Signal:
    view = SignalView(trace)
    if kind not in _KINDS:
        raise InputError(f"unknown signal {name!r}; the kinds are modes, {', '.join(_KINDS)}")
    family, counts, make = _KINDS[kind]
    if len(arguments) not in counts:
        wanted = " or ".join(map(str, counts))
        raise InputError(f"the signal {kind!r} takes {wanted} names after a colon, got {name!r}")
    measure = make(arguments)
    if kind == "column":
        numbers = [_number(value) for value in view.column(arguments[0]) if value is not None]
        family = Family.CATEGORY if None in numbers else Family.NUMBER
        # What it is is settled once: another table must not turn a number into a category.
        name = f"{family}:{arguments[0]}"
        measure = _KINDS[str(family)][2](arguments)
    return Signal(name, family, measure)


def sureness(u: FloatArray) -> FloatArray:
    """An uncertainty as a confidence of the size of log-odds: falling in u, 0 at one half.

    Exactly ``log((1 - u) / u)`` for an error probability up to one half; beyond that (entropies)
    ``-log(2 u)``.

    Examples
    --------
    >>> sureness(np.array([0.1, 0.5, 0.69])).round(2)
    array([ 2.2 ,  0.  , -0.32])
    """
    low = np.clip(u, _SUREST, 0.5)
    high = np.maximum(u, 0.5)
    negative = np.minimum(u, 0.0)  # a log-probability, say: less is still surer
    return np.asarray(np.log((1.0 - low) / low) - np.log(2.0 * high) - negative)


def _verdict(arguments: list[str]) -> Callable[[SignalView], FloatArray]:
    def measure(view: SignalView) -> FloatArray:
        verdict = view.verdicts[:, view.mode_index(arguments[0])]
        return np.where(verdict < 0, np.nan, 2.0 * verdict - 1.0)

    return measure


def _confidence(arguments: list[str]) -> Callable[[SignalView], FloatArray]:
    def measure(view: SignalView) -> FloatArray:
        k = view.mode_index(arguments[0])
        return (2.0 * view.verdicts[:, k] - 1.0) * sureness(view.scores[:, k])

    return measure


def _agreement(_: list[str]) -> Callable[[SignalView], FloatArray]:
    def measure(view: SignalView) -> FloatArray:
        given = view.verdicts >= 0
        n = given.sum(axis=1)
        ones = (view.verdicts == 1).sum(axis=1)
        return np.where(n > 0, ones / np.maximum(n, 1), np.nan)

    return measure


def _flips(arguments: list[str]) -> Callable[[SignalView], FloatArray]:
    """Between modes; between orders or samples of one mode; or between columns."""
    if not arguments:
        share = _agreement(arguments)
        return lambda view: np.minimum(share(view), 1.0 - share(view))
    if len(arguments) > 1:
        return lambda view: _off_the_leading([view.column(name) for name in arguments])

    def own(view: SignalView) -> FloatArray:
        k = view.mode_index(arguments[0])
        column = view.flips_column(arguments[0])
        if (view.verdicts[:, k] < 0).all() and column not in view.columns:
            return np.full(len(view), np.nan)  # nobody was asked yet
        return np.asarray(_number_column([column])(view))

    return own


def _off_the_leading(columns: Sequence[ObjectArray]) -> FloatArray:
    """Share of the answers that are not the leading one; NaN with fewer than two answers."""
    found = []
    for answers in zip(*columns, strict=True):
        given = Counter(str(category(answer)) for answer in answers if category(answer) is not None)
        n = given.total()
        found.append(1.0 - max(given.values()) / n if n > 1 else np.nan)
    return np.array(found)


def _gap(arguments: list[str]) -> Callable[[SignalView], FloatArray]:
    first, second = (_confidence([mode]) for mode in arguments)
    return lambda view: np.abs(first(view) - second(view))


def _plain(arguments: list[str]) -> Callable[[SignalView], ObjectArray]:
    return lambda view: view.column(arguments[0])


def _number_column(arguments: list[str]) -> Callable[[SignalView], FloatArray]:
    def measure(view: SignalView) -> FloatArray:
        plain = view.numeric(arguments[0])
        if plain is not None:
            return plain
        values = view.column(arguments[0])
        numbers = [np.nan if value is None else _number(value) for value in values]
        if None in numbers:
            row = numbers.index(None)
            raise InputError(
                f"column {arguments[0]!r}, item {view.item_id[row]!r}: {values[row]!r} is not a "
                f"number (category:{arguments[0]} takes texts)"
            )
        return np.array(numbers, dtype=np.float64)

    return measure


def _probability(arguments: list[str]) -> Callable[[SignalView], FloatArray]:
    numbers = _number_column(arguments)

    def measure(view: SignalView) -> FloatArray:
        values = numbers(view)
        outside = (values < 0.0) | (values > 1.0)
        if outside.any():
            row = int(outside.argmax())
            raise InputError(
                f"column {arguments[0]!r}, item {view.item_id[row]!r}: {values[row]!r} is not a "
                "probability from 0 to 1"
            )
        kept = np.clip(values, _SUREST, 1.0 - _SUREST)
        return np.asarray(np.log(kept / (1.0 - kept)))

    return measure


def _popularity(arguments: list[str]) -> Callable[[SignalView], FloatArray]:
    numbers = _number_column(arguments)
    return lambda view: np.log1p(np.maximum(numbers(view), 0.0))


def _length(arguments: list[str]) -> Callable[[SignalView], FloatArray]:
    def one(view: SignalView, name: str) -> FloatArray:
        return np.array(
            [np.nan if text is None else np.log1p(len(str(text))) for text in view.column(name)]
        )

    if len(arguments) == 1:
        return lambda view: one(view, arguments[0])
    return lambda view: one(view, arguments[0]) - one(view, arguments[1])


def _overlap(arguments: list[str]) -> Callable[[SignalView], FloatArray]:
    def measure(view: SignalView) -> FloatArray:
        shares = []
        for first, second in zip(*map(view.column, arguments), strict=True):
            words = _words(first)
            known = second is not None and len(words) > 0
            shares.append(len(words & _words(second)) / len(words) if known else np.nan)
        return np.array(shares)

    return measure


def _words(text: object) -> set[str]:
    return set() if text is None else set(re.findall(r"\w+", str(text).lower()))


def _number(value: object) -> float | None:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


_KINDS: dict[
    str, tuple[Family, tuple[int, ...], Callable[[list[str]], Callable[[SignalView], Any]]]
] = {
    "verdict": (Family.VERDICT, (1,), _verdict),
    "confidence": (Family.CONFIDENCE, (1,), _confidence),
    "agreement": (Family.NUMBER, (0,), _agreement),
    "flips": (Family.NUMBER, tuple(range(100)), _flips),
    "gap": (Family.NUMBER, (2,), _gap),
    "column": (Family.NUMBER, (1,), _plain),
    "number": (Family.NUMBER, (1,), _number_column),
    "category": (Family.CATEGORY, (1,), _plain),
    "probability": (Family.PROBABILITY, (1,), _probability),
    "popularity": (Family.NUMBER, (1,), _popularity),
    "length": (Family.TEXT, (1, 2), _length),
    "overlap": (Family.TEXT, (2,), _overlap),
}
