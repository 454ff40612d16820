"""One item, from its signals to a decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from riskjudge.data.modes import ABSENCES
from riskjudge.data.trace import Trace
from riskjudge.signals.fusion import absent
from riskjudge.signals.gate import FusedGate
from riskjudge.signals.signal import REFERENCES, Cost


@dataclass(frozen=True, slots=True)
class Quality:
    """What is known about an item, and what may be done with it.

    Attributes
    ----------
    probability : float
        That the claim holds, by the last stage.
    verdict : int or None
        The accepted verdict; None if the gate declines.
    reason : str or None
        Why it declines.
    certified : bool
        Whether a certificate stands behind that.
    statement : str
        The promise in words.
    signals : mapping of str to float, str or None
        As measured; None where there is no value.
    log_odds : mapping of str to float or None
        The same, calibrated.
    cost : Cost
        Of the stages that had to be asked.
    """

    probability: float
    verdict: int | None
    reason: str | None
    certified: bool
    statement: str
    signals: Mapping[str, float | str | None]
    log_odds: Mapping[str, float | None]
    cost: Cost


def estimate_quality(item: Mapping[str, Any], gate: FusedGate) -> Quality:
    """Signal, calibrate, validate, decide, for one item.

    Parameters
    ----------
    item : mapping
        One row of a trace: the columns of the gate's modes and whatever its signals need. Columns
        that hold references are not looked at.
    gate : FusedGate
        Calibrated.

    Raises
    ------
    NotFittedError
        If the gate is not calibrated: without validation there is no decision.
    InputError
        If a column is missing or a value is none.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> label = rng.integers(0, 2, 1000)
    >>> u = rng.uniform(0, 0.5, (1000, 2))
    >>> trace = Trace.from_arrays(u, label[:, None] ^ (rng.random((1000, 2)) < u), label)
    >>> gate = FusedGate(alpha=0.2).fit(trace)
    >>> found = estimate_quality({"v1": 1, "u1": 0.05, "v2": 1, "u2": 0.1}, gate)
    >>> found.verdict, found.certified, found.probability > 0.9
    (1, True, True)
    """
    import pandas as pd

    modes = gate.modes_  # refuses a gate that is not calibrated
    kept = {k: v for k, v in item.items() if str(k).lower() not in REFERENCES}
    frame = pd.DataFrame([{"item_id": "item"} | kept])
    trace = Trace.from_frame(frame, modes=gate.columns_, source="the item").select(modes)
    fusion = gate.fusion_
    outcomes = gate.decide(trace)
    stage = fusion.stages[-1]
    measured: dict[str, float | str | None] = {}
    calibrated: dict[str, float | None] = {}
    for signal, calibrator in zip(stage.signals, stage.model.calibrators, strict=True):
        value = signal.values(trace)
        gone = bool(absent(value)[0])
        measured[signal.name] = None if gone else value[0]
        calibrated[signal.name] = None if gone else float(calibrator.log_odds(value)[0])
    accepted = bool(outcomes.accepted[0])
    return Quality(
        float(fusion.probabilities(trace)[0, -1]),
        int(outcomes.verdict[0]) if accepted else None,
        None if accepted else ABSENCES[int(outcomes.why_not[0])],
        bool(np.all(outcomes.certified)),
        gate.certificate_.statement,
        measured,
        calibrated,
        gate.mean_cost(outcomes),
    )
