"""Gates back from their documents."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from riskjudge.calibration import Certificate, procedure_named
from riskjudge.data.grading import Grading
from riskjudge.errors import InputError
from riskjudge.gate.document import (
    BY_KIND,
    GROUPED,
    Document,
    check_document,
    modes_of,
    read_document,
)
from riskjudge.gate.grouped import GroupedGate
from riskjudge.gate.labels import LabelPrints
from riskjudge.gate.router import Router
from riskjudge.gate.selective import SelectiveGate


def load_gate(path: str | Path) -> Any:
    """Read a gate that ``save`` wrote: a router, a gate of one mode, or one for each group.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Router or GroupedGate

    Raises
    ------
    InputError
        If the file is missing, damaged, changed by hand, or of another version.
    """
    return _rebuilt(read_document(path), str(path))


def load_router(path: str | Path) -> Router:
    """Read a gate with one certificate for all items: a router, or a gate of one mode.

    Parameters
    ----------
    path : str or Path

    Raises
    ------
    InputError
        As :func:`load_gate`, and for a gate with a certificate for each group.
    """
    return one_router(load_gate(path), path)


def one_router(gate: Any, path: str | Path) -> Router:
    """A gate that was loaded, where it has one certificate for all items."""
    if isinstance(gate, GroupedGate):
        raise InputError(
            f"{path} has a certificate for each {gate.by}, and one for all items is needed here; "
            "decide, explain and sql take it"
        )
    router: Router = gate
    return router


def gate_from_dict(data: Any, source: str = "the gate") -> Any:
    """The inverse of :meth:`.Router.to_dict`, every value checked.

    Parameters
    ----------
    data : dict
    source : str
        How messages call it.

    Raises
    ------
    InputError
        Naming the value that is not what it must be.
    """
    return _rebuilt(check_document(data, source), source)


def _rebuilt(document: Document, source: str) -> Router | GroupedGate:
    """The gate that a checked document describes."""
    if document["kind"] != GROUPED:
        return _router(document, source)
    gates = {name: _router(part, source) for name, part in document["groups"].items()}
    rest = None if document["rest"] is None else _router(document["rest"], source)
    return GroupedGate.rebuilt(document, gates, rest)


def _router(document: Document, source: str) -> Router:
    settings: dict[str, Any] = dict(document["settings"])
    cls = {cls.kind: cls for cls in (Router, SelectiveGate)}[document["kind"]]
    for name in inspect.signature(cls).parameters:
        if name not in settings and name not in BY_KIND:  # gates of before do not name all of these
            raise InputError(f"{source} is damaged: `settings` has no {name!r}")
    stored = settings["procedure"]
    try:
        if isinstance(stored, Mapping):
            settings["procedure"] = procedure_named(stored["name"], **stored["options"])
        elif stored is not None:
            procedure_named(stored)
        gate = cls(**settings)
    except (InputError, TypeError) as error:
        raise InputError(f"{source} is damaged: `settings`: {error}") from None
    if document["modes"]:
        gate.columns_, gate.sources_ = modes_of(document)
    if document["fitted"]:
        calibration = document["calibration"]
        gate.certificate_ = Certificate.from_dict(document["certificate"])
        grading = document.get("grading")
        gate.grading_ = None if grading is None else Grading(**grading)
        gate.fingerprint_ = calibration["fingerprint"]
        gate.labels_, gate.path_labels_ = (
            None if calibration.get(name) is None else LabelPrints.from_dict(calibration[name])
            for name in ("labels", "path_labels")
        )
        gate.notes_ = tuple(calibration["notes"])
        gate.n_labelled_ = calibration["n_labelled"]
        gate.n_pool_ = calibration["n_pool"]
        gate.promotions_ = dict(calibration.get("promotions", {}))
        gate.pool_fingerprint_ = calibration.get("pool_fingerprint")
    return gate
