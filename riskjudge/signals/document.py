"""A fusion on disk: versioned JSON with a digest. Nothing in it is code."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from riskjudge._version import __version__
from riskjudge.data.modes import ModeColumns
from riskjudge.data.source import ScoreSource
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError
from riskjudge.gate.document import read_json
from riskjudge.gate.labels import LabelPrints
from riskjudge.io.files import replacing
from riskjudge.signals.builtin import parse_signals
from riskjudge.signals.calibrators import calibrator_from_dict
from riskjudge.signals.fusion import Fusion, LinearFusion, Stage, Taught
from riskjudge.signals.signal import Cost, Family, Signal

FORMAT = "riskjudge-fusion"
FORMAT_VERSION = 2


def fusion_to_dict(fusion: Fusion) -> dict[str, Any]:
    """A fusion as a JSON-ready dictionary, its digest included.

    Raises
    ------
    InputError
        If it was made by an estimator that is not linear: such a model could be stored as code only.
    """
    for stage in fusion.stages:
        if stage.model.model is not None:
            raise InputError(
                f"a fusion by {type(stage.model.model).__name__} cannot be stored: only linear ones "
                "(with coef_ and intercept_) are plain numbers"
            )
    taught = fusion.taught
    data: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "riskjudge_version": __version__,
        "modes": list(fusion.modes),
        "sources": [None if source is None else dict(source) for source in fusion.sources],
        "signals": [
            {
                "name": s.name,
                "family": str(s.family),
                "tier": s.tier,
                "cost": asdict(s.cost),
                "criteria": s.criteria,
                "spec": s.spec,
            }
            for s in fusion.signals
        ],
        "stages": [
            {
                "tier": stage.tier,
                "signals": [s.name for s in stage.signals],
                "calibrators": [c.to_dict() for c in stage.model.calibrators],
                "centre": stage.model.centre.tolist(),
                "scale": stage.model.scale.tolist(),
                "weights": stage.model.weights.tolist(),
                "missing": stage.model.missing.tolist(),
                "intercept": stage.model.intercept,
            }
            for stage in fusion.stages
        ],
        "teaching": {
            "ids": sorted(fusion.teaching_ids),
            "probabilities": taught.probabilities.tolist(),
            "labels": taught.labels.tolist(),
            "scores": [[None if np.isnan(u) else u for u in row] for row in taught.scores.tolist()],
            "verdicts": taught.verdicts.tolist(),
            "one_of_each_group": taught.one_of_each_group.tolist(),
            "prints": taught.prints.to_dict(),
            "beside": taught.beside,
        },
    }
    return data | {"digest": _digest(data)}


def fusion_digest(fusion: Fusion) -> str:
    """A short name of what the fusion computes, for :class:`.ScoreSource`."""
    return str(fusion_to_dict(fusion)["digest"])[:16]


def fusion_from_dict(
    data: Any, source: str = "the fusion", signals: Sequence[Signal] = ()
) -> Fusion:
    """The inverse of :func:`fusion_to_dict`.

    Parameters
    ----------
    signals : sequence of Signal
        Those that no text describes (injected measures), by the names they had.
    data : Any
        What was stored.
    source : str
        How messages call it.

    Raises
    ------
    InputError
        If it is damaged, changed by hand, of a newer version, or a signal is missing.
    """
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError(f"{source} is not a fusion: its format is not {FORMAT!r}")
    version = data.get("format_version")
    if type(version) is not int or version < 1:
        raise InputError(f"{source} is damaged: its format version is {version!r}")
    if version > FORMAT_VERSION:
        raise InputError(
            f"{source} has format version {version}, written by riskjudge "
            f"{data.get('riskjudge_version')}; this is {__version__}, which reads up to version "
            f"{FORMAT_VERSION}. Upgrade riskjudge"
        )
    if version < FORMAT_VERSION:
        raise InputError(
            f"{source} has format version {version}, which does not say where its teaching rows were "
            "drawn from. Fuse again"
        )
    if data.get("digest") != _digest({k: v for k, v in data.items() if k != "digest"}):
        raise InputError(
            f"{source} is damaged or was changed by hand: its digest does not match. Fuse again"
        )
    try:
        return _rebuilt(data, {signal.name: signal for signal in signals})
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{source} is damaged: {type(error).__name__} {error}") from None


def write_fusion(fusion: Fusion, path: str | Path) -> None:
    """Write a fusion, whole or not at all."""
    text = json.dumps(fusion_to_dict(fusion), indent=1, allow_nan=False)
    with replacing(path) as temporary:
        temporary.write_text(text + "\n", "utf-8")


def read_fusion(path: str | Path, signals: Sequence[Signal] = ()) -> Fusion:
    """Read a fusion; see :func:`fusion_from_dict`."""
    return fusion_from_dict(read_json(path, "a fusion"), str(path), signals)


def _rebuilt(data: Mapping[str, Any], injected: Mapping[str, Signal]) -> Fusion:
    signals = {stored["name"]: _signal(stored, data, injected) for stored in data["signals"]}
    stages = []
    for stored in data["stages"]:
        centre, scale, weights, missing = (
            np.array(stored[k], dtype=np.float64) for k in ("centre", "scale", "weights", "missing")
        )
        calibrators = tuple(map(calibrator_from_dict, stored["calibrators"]))
        model = LinearFusion(
            calibrators, centre, scale, weights, missing, float(stored["intercept"])
        )
        used = tuple(signals[name] for name in stored["signals"])
        stages.append(Stage(int(stored["tier"]), used, model))
    teaching = data["teaching"]
    taught = Taught(
        np.array(teaching["probabilities"], dtype=np.float64),
        np.array(teaching["labels"], dtype=np.int64),
        np.array(teaching["scores"], dtype=np.float64),  # null becomes NaN
        np.array(teaching["verdicts"], dtype=np.int64),
        np.array(teaching["one_of_each_group"], dtype=bool),
        LabelPrints.from_dict(teaching["prints"]),
        teaching["beside"],
    )
    return Fusion(
        tuple(signals.values()),
        tuple(stages),
        taught,
        frozenset(teaching["ids"]),
        tuple(data["modes"]),
        tuple(None if source is None else ScoreSource(source) for source in data["sources"]),
    )


def _signal(
    stored: Mapping[str, Any], data: Mapping[str, Any], injected: Mapping[str, Signal]
) -> Signal:
    name = stored["name"]
    if stored["spec"] is None:
        if name not in injected:
            raise InputError(
                f"the fusion uses the signal {name!r}, which was passed as a function: pass it again"
            )
        return injected[name]
    (signal,) = parse_signals([stored["spec"]], _blank(data))
    cost = Cost(**stored["cost"])
    return Signal(
        name,
        Family(stored["family"]),
        signal.measure,
        int(stored["tier"]),
        cost,
        stored["criteria"],
        stored["spec"],
    )


def _blank(data: Mapping[str, Any]) -> Trace:
    """A trace of the fusion's modes, to read the signals against."""
    n = len(data["modes"])
    trace = Trace.from_arrays(np.zeros((1, n)), np.zeros((1, n), dtype=np.int64))
    columns = tuple(ModeColumns(name, f"v{k}", f"u{k}") for k, name in enumerate(data["modes"]))
    return Trace(
        trace.item_id,
        columns,
        trace.verdicts,
        trace.scores,
        trace.absence,
        trace.labels,
        None,
        trace.extra,
    )


def _digest(data: Mapping[str, Any]) -> str:
    """Of the content, not of its layout; the version that wrote it plays no part."""
    kept = {k: v for k, v in data.items() if k != "riskjudge_version"}
    return hashlib.sha256(json.dumps(kept, sort_keys=True, allow_nan=False).encode()).hexdigest()
