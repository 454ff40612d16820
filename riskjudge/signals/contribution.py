"""What each signal adds: certified coverage with all of them, and without each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from riskjudge._typing import FloatArray
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError
from riskjudge.signals.gate import FusedGate
from riskjudge.signals.signal import Signal, checked_signals


def contributions(
    trace: Trace,
    signals: Sequence[Signal],
    *,
    alpha: float = 0.1,
    delta: float = 0.05,
    splits: int = 20,
    groups: str = "refuse",
    seed: int = 0,
    progress: Callable[[int], None] = lambda done: None,
) -> dict[str, FloatArray]:
    """Coverage of the other half of the labelled items, over random halves.

    Verdict and confidence of a mode are left out together: they are one judge's answer. The plain
    modes stay as insurance in every variant.

    Returns
    -------
    dict of str to ndarray of float, shape (splits,)
        ``all signals`` first, then ``without NAME``.
    """
    chosen = checked_signals(signals)
    labelled = trace.rows(trace.labelled)
    if len(labelled) < 20:
        raise InputError(f"{len(labelled)} labelled items are too few to split into halves")
    units = sorted({_unit(signal) for signal in chosen})
    variants = {"all signals": chosen}
    if len(units) > 1:
        for unit in units:
            variants[f"without {unit}"] = tuple(s for s in chosen if _unit(s) != unit)
    found: dict[str, list[float]] = {name: [] for name in variants}
    order = np.argsort(labelled.item_id.astype(str), kind="stable")
    of = labelled.item_id if labelled.group is None else labelled.group
    of = of.astype(str)[order]
    labelled = labelled.rows(order)
    for split in range(splits):
        drawn = np.random.default_rng([seed, split]).permutation(np.unique(of))
        first = np.isin(of, drawn[: len(drawn) // 2])
        for name, used in variants.items():
            gate = FusedGate(alpha, delta, signals=used, groups=groups, seed=seed + split)
            outcomes = gate.fit(labelled.rows(first)).decide(labelled.rows(~first))
            found[name].append(float(outcomes.accepted.mean()))
        progress(split + 1)
    return {name: np.array(values) for name, values in found.items()}


def _unit(signal: Signal) -> str:
    kind, _, mode = signal.name.partition(":")
    return f"mode {mode}" if kind in ("verdict", "confidence") else signal.name
