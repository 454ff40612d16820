"""A registry of labels: which certificates have already used them.

A certificate keeps its promise if everything about it was settled before its labels were seen. Who
fits again on the same labels, with another seed, level or procedure, and picks the best, has seen
them. By the union bound, *all* of n certificates keep their promises except with probability at most
the sum of their deltas, and so does whichever is picked. That is what a later certificate says.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riskjudge.calibration import Certificate, Guarantee
from riskjudge.calibration.make_certificate import ONCE
from riskjudge.errors import InputError, OperationalError
from riskjudge.gate.labels import LabelPrints
from riskjudge.gate.looks import settings_of
from riskjudge.io.append_only import AppendOnlyFile
from riskjudge.io.jsonl import json_lines, parse_object

if TYPE_CHECKING:
    from riskjudge.gate.router import Router

FILE_NAME = "riskjudge-labels.jsonl"
FORMAT = "riskjudge-labels"
FORMAT_VERSION = 1


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
        text = json.dumps(self.settings, sort_keys=True, allow_nan=False)
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


def registered(gate: Router, path: str | Path) -> tuple[Fit, ...]:
    """Put a fitted gate on record, and let its certificate say which fit of its labels it is.

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
    if gate.labels_ is None:
        raise InputError("the gate does not say which labels it used: calibrate it again")
    settings = settings_of(gate, gate.modes_) | {"pool": gate.n_pool_}
    if gate.certificate_.look is not None:
        of, size = gate.certificate_.look.of, gate.certificate_.look.labels
        settings |= {"schedule": of or "open", "batch": size // gate.certificate_.look.number}
    fit = Fit(gate.labels_, gate.delta, settings)
    earlier = read_registry(path).earlier(fit)
    record(path, fit)
    gate.certificate_ = counted(gate.certificate_, fit, earlier)
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
    statement = certificate.statement
    if certificate.certified and certificate.guarantee is Guarantee.HIGH_PROBABILITY:
        sure = (
            f"With confidence {100 * max(0.0, 1 - spent):.6g} % ({nth(number)} fit on these labels)"
        )
        statement = f"{sure},{statement.partition(',')[2]}"
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
