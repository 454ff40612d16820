"""A registry of labels: which certificates have already used them.

A certificate keeps its promise if everything about it was settled before its labels were seen. Who
fits again on the same labels, with another seed, level or procedure, and picks the best, has seen
them. By the union bound, *all* of n certificates keep their promises except with probability at most
the sum of their deltas, and so does whichever is picked. That is what a later certificate says.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any

from riskjudge.calibration import PROCEDURES, Certificate, Guarantee
from riskjudge.calibration.make_certificate import ONCE
from riskjudge.errors import InputError, OperationalError
from riskjudge.gate.grouped import GroupedGate
from riskjudge.gate.labels import LabelPrints
from riskjudge.gate.looks import settings_of
from riskjudge.gate.router import Router
from riskjudge.io.append_only import AppendOnlyFile
from riskjudge.io.jsonl import json_lines, parse_object
from riskjudge.io.locks import alone_in

FILE_NAME = "riskjudge-labels.jsonl"
FORMAT = "riskjudge-labels"
FORMAT_VERSION = 1
_SURE = re.compile(r"(W|w)ith confidence [\d.]+ %|(E|e)xcept with probability [\d.e-]+")


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """One calibration: hashes of its labels, the significance it spent, and what was asked of it.

    `settings` are JSON-ready. Two fits of equal settings on equal labels are one.
    """

    prints: LabelPrints
    delta: float
    settings: Mapping[str, Any]

    @property
    def key(self) -> str:
        """Equal for equal fits. The looks of one schedule are one fit, whatever their labels."""
        schedule = self.settings.get("schedule")
        labels = self.prints.digest if schedule is None else ""
        asked = {name: value for name, value in self.settings.items() if value is not None}
        text = json.dumps(asked, sort_keys=True, allow_nan=False)
        return hashlib.sha256(f"{labels} {text}".encode()).hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class Registry:
    """Fits on record, in the order in which they were made."""

    fits: tuple[Fit, ...] = field(default=())

    def earlier(self, fit: Fit) -> tuple[Fit, ...]:
        """Other fits that used a label of this one, each once."""
        found: dict[str, Fit] = {}
        for known in self.fits:
            other = known.key != fit.key and known.key not in found
            if other and known.prints.shared_with(fit.prints) is not None:
                found[known.key] = known
        return tuple(found.values())

    def __contains__(self, fit: object) -> bool:
        return isinstance(fit, Fit) and any(
            known.key == fit.key and known.prints.digest == fit.prints.digest for known in self.fits
        )


def registered(gate: Router | GroupedGate, path: str | Path) -> tuple[Fit, ...]:
    """Put a fitted gate on record, and let its certificate say which fit of its labels it is.

    A gate with a certificate for each group is one fit: its certificates share one delta. Other
    processes that use the same file wait meanwhile, so that of two fits at the same time one is the
    second.

    Parameters
    ----------
    gate : Router or GroupedGate
    path : str or Path
        The registry; it is made if there is none.

    Returns
    -------
    tuple of Fit
        The earlier fits that used some of the labels.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from riskjudge.data.trace import Trace
    >>> from riskjudge.gate import SelectiveGate
    >>> rng = np.random.default_rng(0)
    >>> u, label = rng.random((400, 1)), rng.integers(0, 2, 400)
    >>> trace = Trace.from_arrays(u, label[:, None] ^ (rng.random((400, 1)) < 0.2 * u), label)
    >>> path = Path(tempfile.mkdtemp()) / FILE_NAME
    >>> gates = [SelectiveGate(alpha=0.15, seed=seed).fit(trace) for seed in (0, 0, 1)]
    >>> [len(registered(gate, path)) for gate in gates]
    [0, 0, 1]
    >>> gates[2].certificate_.fit_number, gates[2].certificate_.delta_of_fits
    (2, 0.1)
    """
    parts = list(gate.all_gates.values()) if isinstance(gate, GroupedGate) else [gate]
    first = parts[0]
    prints = [part.labels_ for part in parts if part.labels_ is not None]
    if len(prints) < len(parts):
        raise InputError("the gate does not say which labels it used: calibrate it again")
    settings = settings_of(first, first.modes_, first.grading_)
    settings |= {"pool": [part.pool_fingerprint_ or part.n_pool_ for part in parts]}
    if isinstance(gate, GroupedGate):
        settings |= {"by": gate.by, "groups_of_by": sorted(gate.all_gates), "need": gate.need_}
    look = first.certificate_.look
    if look is not None:
        settings |= {"schedule": look.of or "open", "started": look.started, "pool": None}
    fit = Fit(reduce(LabelPrints.joined, prints), first.delta, settings)
    read_registry(path)  # what is no registry is refused before anything is written to it
    with alone_in(Path(path).absolute().parent):
        earlier = read_registry(path).earlier(fit)
        record(path, fit)
    for part in parts:
        part.certificate_ = counted(part.certificate_, fit, earlier)
    return earlier


def read_registry(path: str | Path) -> Registry:
    """Read a registry; one that is not there yet is empty.

    Raises
    ------
    InputError
        If a line is damaged or of another format.
    """
    if not Path(path).exists():
        return Registry()
    known: dict[str, LabelPrints] = {}
    fits = []
    for number, line in json_lines(path):
        try:
            data = parse_object(line)
            if (data["format"], data["format_version"]) != (FORMAT, FORMAT_VERSION):
                raise ValueError(f"its format is not {FORMAT!r}, version {FORMAT_VERSION}")
            if "labels" in data:  # written once, however many fits use them
                known[data["digest"]] = LabelPrints.from_dict(data["labels"])
            fits.append(Fit(known[data["digest"]], float(data["delta"]), data["settings"]))
        except (KeyError, TypeError, ValueError, InputError) as error:
            raise InputError(
                f"{path}, line {number}: not a line of a registry of labels ({error}); mend it, or "
                "name another file"
            ) from None
    return Registry(tuple(fits))


def record(path: str | Path, fit: Fit) -> None:
    """Append a fit, unless it is on record."""
    if not Path(path).parent.is_dir():
        raise OperationalError(f"{path} cannot be written: there is no folder {Path(path).parent}")
    registry = read_registry(path)
    if fit in registry:
        return
    digest = fit.prints.digest
    line: dict[str, Any] = {"format": FORMAT, "format_version": FORMAT_VERSION, "digest": digest}
    line |= {"delta": fit.delta, "settings": dict(fit.settings)}
    if all(known.prints.digest != digest for known in registry.fits):
        line["labels"] = fit.prints.to_dict()
    with AppendOnlyFile(path) as file:
        file.append((json.dumps(line, sort_keys=True, allow_nan=False) + "\n").encode())


def counted(certificate: Certificate, fit: Fit, earlier: tuple[Fit, ...]) -> Certificate:
    """The certificate as the n-th of its labels: the promise is that of all n together."""
    if not earlier:
        return certificate
    deltas = [fit.delta, *(known.delta for known in earlier)]
    spent = sum(deltas)
    number = len(deltas)
    note = (
        f"{nth(number)} fit on these labels (others used some or all of them): looked at alone it "
        f"holds with confidence {100 * (1 - fit.delta):g} %, but a choice among all {number} only with "
        f"{100 * max(0.0, 1 - spent):g} %; calibrate on new labels alone for the full promise"
    )
    names = {str(known.settings.get("procedure")) for known in (fit, *earlier)}
    empty = sorted(
        name
        for name in names & set(PROCEDURES)
        if PROCEDURES[name].guarantee is not Guarantee.HIGH_PROBABILITY
    )
    if empty:
        note += f". That does not reach the fits by {', '.join(empty)}, which promise no such thing"
    statement = certificate.statement
    if certificate.certified and certificate.guarantee is Guarantee.HIGH_PROBABILITY:
        sure = (
            f"ith confidence {100 * max(0.0, 1 - spent):.6g} % ({nth(number)} fit on these labels)"
        )
        statement = _SURE.sub(
            lambda found: ("W" if found[0][0].isupper() else "w") + sure, statement, count=1
        )
        if spent >= 1:
            statement = (
                f"No confidence is left: this is the {nth(number)} fit on the same labels. "
                "Calibrate on new labels alone."
            )
    return replace(
        certificate,
        statement=statement,
        assumptions=(*(a for a in certificate.assumptions if a != ONCE), note),
        fit_number=number,
        delta_of_fits=min(1.0, spent),
    )


def nth(number: int) -> str:
    """An ordinal.

    Examples
    --------
    >>> [nth(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 102)]
    ['1st', '2nd', '3rd', '4th', '11th', '12th', '13th', '21st', '102nd']
    """
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ending}"
