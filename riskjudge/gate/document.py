"""A gate on disk: versioned JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from riskjudge._version import __version__
from riskjudge.calibration import Certificate, Procedure
from riskjudge.data.trace import ModeColumns
from riskjudge.errors import InputError
from riskjudge.gate.labels import LabelPrints
from riskjudge.gate.path import vectors_of
from riskjudge.io.files import replacing

if TYPE_CHECKING:
    pass

FORMAT = "riskjudge-gate"
FORMAT_VERSION = 1
NO_THRESHOLD = "no_threshold"
GROUPED = "grouped_gate"


def write_gate(gate: Any, path: str | Path) -> None:
    """Write a gate, fitted or not."""
    with replacing(path) as temporary:
        temporary.write_text(
            json.dumps(gate_to_dict(gate), indent=2, allow_nan=False, default=_plain) + "\n",
            "utf-8",
        )


def read_gate(path: str | Path) -> Any:
    """Read a gate.

    Raises
    ------
    InputError
        If the file is missing, damaged, changed by hand, or written by a newer version.
    """
    try:
        data = json.loads(Path(path).read_text("utf-8"), parse_constant=_refuse)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a gate: it is damaged or not JSON ({error})") from None
    return gate_from_dict(data, str(path))


def gate_to_dict(gate: Any) -> dict[str, Any]:
    """A gate as a JSON-ready dictionary, its checksum included."""
    if gate.kind == GROUPED:
        grouped = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "riskjudge_version": __version__,
            "kind": GROUPED,
            "by": gate.by,
            "groups": {name: gate_to_dict(part) for name, part in gate.gates_.items()},
            "rest": None if gate.rest_ is None else gate_to_dict(gate.rest_),
            "short": dict(gate.short_),
            "need": gate.need_,
        }
        return grouped | {"checksum": _checksum(grouped)}
    params = gate.get_params(deep=False)
    procedure = params["procedure"]
    if isinstance(procedure, Procedure):
        params["procedure"] = {"name": procedure.name, "options": procedure.options()}
    if params["path"] is not None:
        params["path"] = [list(vector) for vector in vectors_of(params["path"])]
    data: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "riskjudge_version": __version__,
        "kind": gate.kind,
        "params": params,
        "fitted": gate.fitted,
    }
    if gate.fitted:
        data |= {
            "modes": [asdict(mode) for mode in gate.columns_],
            "rule": _rule(gate.certificate_),
            "certificate": gate.certificate_.to_dict(),
            "calibration": {
                "n_labelled": gate.n_labelled_,
                "n_pool": gate.n_pool_,
                "fingerprint": gate.fingerprint_,
                "labels": _prints(gate.labels_),
                "path_labels": _prints(gate.path_labels_),
                "notes": list(gate.notes_),
            },
        }
    return data | {"checksum": _checksum(data)}


def gate_from_dict(data: Any, source: str = "the gate") -> Any:
    """The inverse of :func:`gate_to_dict`."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError(f"{source} is not a gate: its format is not {FORMAT!r}")
    version = data.get("format_version")
    if type(version) is not int or version < 1:
        raise InputError(f"{source} is damaged: its format version is {version!r}")
    if version > FORMAT_VERSION:
        raise InputError(
            f"{source} has format version {version}, written by riskjudge "
            f"{data.get('riskjudge_version')}; this is {__version__}, which reads up to version "
            f"{FORMAT_VERSION}. Upgrade riskjudge"
        )
    if data.get("checksum") != _checksum({k: v for k, v in data.items() if k != "checksum"}):
        raise InputError(
            f"{source} is damaged or was changed by hand: its checksum does not match. "
            "Calibrate again"
        )
    try:
        return _rebuilt(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{source} is damaged: {type(error).__name__} {error}") from None


def _rebuilt(data: Mapping[str, Any]) -> Any:
    from riskjudge.gate.router import Router, SelectiveGate, procedure_named

    if data["kind"] == GROUPED:
        from riskjudge.gate.grouped import GroupedGate

        return GroupedGate.rebuilt(data)
    params = dict(data["params"])
    if isinstance(params["procedure"], Mapping):
        stored = params["procedure"]
        params["procedure"] = procedure_named(stored["name"], **stored["options"])
    gate = {cls.kind: cls for cls in (Router, SelectiveGate)}[data["kind"]](**params)
    if data["fitted"]:
        calibration = data["calibration"]
        gate.certificate_ = Certificate.from_dict(data["certificate"])
        if data["rule"] != _rule(gate.certificate_):
            raise ValueError("the rule is not that of the certificate")
        gate.columns_ = tuple(ModeColumns(**mode) for mode in data["modes"])
        gate.fingerprint_ = calibration["fingerprint"]
        gate.labels_ = _read_prints(calibration.get("labels"))
        gate.path_labels_ = _read_prints(calibration.get("path_labels"))
        gate.notes_ = tuple(calibration["notes"])
        gate.n_labelled_ = calibration["n_labelled"]
        gate.n_pool_ = calibration["n_pool"]
    return gate


def _rule(certificate: Certificate) -> dict[str, Any]:
    if certificate.thresholds is None:
        return {"accepts": "nothing"}
    thresholds = {k: NO_THRESHOLD if t is None else t for k, t in certificate.thresholds.items()}
    return {"accepts": "at_or_below_threshold", "thresholds": thresholds}


def _prints(labels: LabelPrints | None) -> dict[str, Any] | None:
    return None if labels is None else labels.to_dict()


def _read_prints(data: Mapping[str, Any] | None) -> LabelPrints | None:
    return None if data is None else LabelPrints.from_dict(data)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _checksum(data: Mapping[str, Any]) -> str:
    """Of the content, not of its layout."""
    canonical = json.dumps(data, sort_keys=True, allow_nan=False, default=_plain)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"cannot store {type(value).__name__} in a gate")
