"""The file of a gate: versioned JSON with a checksum, every value of it checked."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from riskjudge._version import __version__
from riskjudge.calibration.certificate import Certificate, Guarantee, Obstacle
from riskjudge.data.grading import Grading
from riskjudge.data.modes import ModeColumns
from riskjudge.data.source import ScoreSource
from riskjudge.errors import InputError
from riskjudge.gate.rule import threshold_names
from riskjudge.io.files import replacing

FORMAT = "riskjudge-gate"
FORMAT_VERSION = 2
GROUPED = "grouped_gate"
FUSED = "riskjudge-fused-gate"
BY_VERDICT = ("alpha_pass", "alpha_fail")
"""Settings about one kind of verdict; any of them makes thresholds by verdict."""
BY_KIND = (*BY_VERDICT, "min_tpr", "min_tnr")
"""All settings about one kind of verdict or label."""

Document = Mapping[str, Any]


def write_document(path: str | Path, document: Document) -> None:
    """Write a gate's document, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(document, indent=2, allow_nan=False) + "\n", "utf-8")


def read_document(path: str | Path) -> Document:
    """Read and check a gate's document.

    Raises
    ------
    InputError
        If the file is missing, damaged, changed by hand, or of another version.
    """
    return check_document(read_json(path, "a gate"), str(path))


def read_json(path: str | Path, what: str) -> Any:
    """Strict JSON from a file: no NaN, no infinity, no key twice.

    Parameters
    ----------
    path : str or Path
    what : str
        What the file should be, as messages call it.

    Raises
    ------
    InputError
        If the file is missing, a folder, damaged or not JSON.
    """
    try:
        text = Path(path).read_text("utf-8")
        data = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_double)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder, not {what}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not {what}: it is damaged or not JSON ({error})") from None
    if isinstance(data, dict):
        data.pop("schema_version", None)  # what --json printed is a document, too
    return data


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """A document from its content: format, version and checksum are added."""
    document = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "riskjudge_version": __version__,
        **content,
    }
    plain: dict[str, Any] = json.loads(json.dumps(document, allow_nan=False, default=_plain))
    return plain | {"checksum": checksum(plain)}


def checksum(document: Mapping[str, Any]) -> str:
    """Of the content, not of its layout: the order of keys does not change it."""
    content = {key: value for key, value in document.items() if key != "checksum"}
    canonical = json.dumps(content, sort_keys=True, allow_nan=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def check_document(document: Any, source: str = "the gate") -> Document:
    """A document whose every value is of the right kind, or an error that names the one that is not.

    Raises
    ------
    InputError
    """
    if isinstance(document, dict) and document.get("format") == FUSED:
        raise InputError(
            f"{source} is a fused gate, which this does not take; in a configuration of judges it is "
            "type = 'fused'"
        )
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError(f"{source} is not a gate: its format is not {FORMAT!r}")
    version = document.get("format_version")
    if type(version) is not int or version < 1:
        raise InputError(f"{source} is damaged: its format version is {version!r}")
    if version > FORMAT_VERSION:
        raise InputError(
            f"{source} has format version {version}, written by riskjudge "
            f"{document.get('riskjudge_version')}; this is {__version__}, which reads version "
            f"{FORMAT_VERSION}. Upgrade riskjudge"
        )
    if version < FORMAT_VERSION:
        raise InputError(
            f"{source} has format version {version}, which does not say what made its scores. "
            "Calibrate again"
        )
    if document.get("checksum") != checksum(document):
        raise InputError(
            f"{source} is damaged or was changed by hand: its checksum does not match. "
            "Calibrate again"
        )
    _Checked(source).document(document)
    return document


class _Checked:
    """Checks one value after the other, and names the place of whatever is wrong."""

    def __init__(self, source: str) -> None:
        self.source = source

    def wrong(self, place: str, value: object, right: str) -> NoReturn:
        raise InputError(f"{self.source} is damaged: {place} is {str(value)[:80]!r}, not {right}")

    def mapping(self, place: str, value: object) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            self.wrong(place, value, "an object")
        return value

    def number(self, place: str, value: object, low: float, high: float) -> float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not low <= value <= high:  # type: ignore[operator]
            self.wrong(place, value, f"a number from {low:g} to {high:g}")
        return float(value)  # type: ignore[arg-type]

    def level(self, place: str, value: object) -> None:
        if not 0.0 < self.number(place, value, 0.0, 1.0) < 1.0:
            self.wrong(place, value, "strictly between 0 and 1")

    def count(self, place: str, value: object, most: int = 2**53) -> int:
        if type(value) is not int or not 0 <= value <= most:
            self.wrong(place, value, f"a count from 0 to {most}")
        return value

    def text(self, place: str, value: object) -> str:
        if not isinstance(value, str):
            self.wrong(place, value, "a text")
        return value

    def truth(self, place: str, value: object) -> bool:
        if not isinstance(value, bool):
            self.wrong(place, value, "true or false")
        return value

    def one_of(self, place: str, value: object, known: Sequence[str]) -> None:
        if not isinstance(value, str) or value not in known:
            self.wrong(place, value, f"one of {', '.join(known)}")

    def listed(self, place: str, value: object) -> list[Any]:
        if not isinstance(value, list):
            self.wrong(place, value, "a list")
        return value

    def document(self, document: Document) -> None:
        if document.get("kind") == GROUPED:
            self.grouped(document)
            return
        self.settings(self.mapping("`settings`", document.get("settings")))
        self.one_of("`kind`", document.get("kind"), ("router", "selective_gate"))
        modes = self.modes(document.get("modes"))
        if not self.truth("`fitted`", document.get("fitted")):
            return
        if not modes:
            self.wrong("`modes`", [], "a list of at least one mode")
        if document.get("grading") is not None:
            self.grading(self.mapping("`grading`", document["grading"]))
        settings = document["settings"]
        split = any(settings.get(name) is not None for name in BY_VERDICT)
        names = threshold_names(tuple(modes), settings["by_verdict"] or split)
        self.certificate(self.mapping("`certificate`", document.get("certificate")), names)
        calibration = self.mapping("`calibration`", document.get("calibration"))
        for name in ("n_labelled", "n_pool"):
            self.count(f"`calibration.{name}`", calibration.get(name))
        self.text("`calibration.fingerprint`", calibration.get("fingerprint"))
        if calibration.get("pool_fingerprint") is not None:
            self.text("`calibration.pool_fingerprint`", calibration["pool_fingerprint"])
        for name in ("labels", "path_labels"):
            if calibration.get(name) is not None:
                self.hashes(f"`calibration.{name}`", calibration[name])
        promotions = calibration.get("promotions", {})
        for name, file in self.mapping("`calibration.promotions`", promotions).items():
            self.text(f"`calibration.promotions.{name}`", file)
        for note in self.listed("`calibration.notes`", calibration.get("notes")):
            self.text("a note", note)

    def grading(self, grading: Mapping[str, Any]) -> None:
        try:
            Grading(**grading)
        except (TypeError, InputError) as error:
            raise InputError(f"{self.source} is damaged: `grading`: {error}") from None

    def grouped(self, document: Document) -> None:
        self.text("`by`", document.get("by"))
        self.count("`need`", document.get("need"))
        for name, have in self.mapping("`short`", document.get("short")).items():
            self.count(f"`short.{name}`", have)
        parts = dict(self.mapping("`groups`", document.get("groups")))
        if document.get("rest") is not None:
            parts["(rest)"] = document["rest"]
        if not parts:
            self.wrong("`groups`", {}, "an object with a gate or more")
        for name, part in parts.items():
            check_document(part, f"{self.source}, group {name!r}")
            if part["kind"] == GROUPED or not part["fitted"]:
                self.wrong(f"the gate of group {name!r}", part["kind"], "a fitted gate")

    def settings(self, settings: Mapping[str, Any]) -> None:
        for name in ("alpha", "delta"):
            self.level(f"`settings.{name}`", settings.get(name))
        self.truth("`settings.by_verdict`", settings.get("by_verdict"))
        self.one_of("`settings.groups`", settings.get("groups"), ("refuse", "sample"))
        self.one_of("`settings.unfitted`", settings.get("unfitted"), ("pass", "abstain"))
        self.count("`settings.seed`", settings.get("seed"))
        if settings.get("mode") is not None:
            self.text("`settings.mode`", settings["mode"])
        for name in BY_KIND:
            if settings.get(name) is not None:
                self.level(f"`settings.{name}`", settings[name])
        budget = settings.get("max_retrieval")
        if budget is not None:
            self.number("`settings.max_retrieval`", budget, 0.0, 1.0)
        procedure = settings.get("procedure")
        if procedure is not None and not isinstance(procedure, str):
            procedure = self.mapping("`settings.procedure`", procedure)
            self.text("`settings.procedure.name`", procedure.get("name"))
            self.mapping("`settings.procedure.options`", procedure.get("options"))
        if settings.get("path") is not None:
            self.vectors("`settings.path`", settings["path"])

    def modes(self, modes: object) -> list[str]:
        names = []
        for mode in self.listed("`modes`", modes):
            mode = self.mapping("a mode", mode)
            for column in ("name", "verdict", "uncertainty"):
                self.text(f"`{column}` of a mode", mode.get(column))
            for column in ("why", "source_column"):
                if mode.get(column) is not None:
                    self.text(f"`{column}` of a mode", mode[column])
            if mode.get("source") is not None:
                ScoreSource(self.mapping("`source` of a mode", mode["source"]))
            names.append(mode["name"])
        if len(set(names)) < len(names):
            self.wrong("`modes`", names, "a list of different names")
        return names

    def certificate(self, c: Mapping[str, Any], names: Sequence[str]) -> None:
        for name in ("procedure", "statement"):
            self.text(f"`certificate.{name}`", c.get(name))
        self.one_of("`certificate.guarantee`", c.get("guarantee"), list(Guarantee))
        for name in ("alpha", "delta"):
            self.level(f"`certificate.{name}`", c.get(name))
        n = self.count("`certificate.n`", c.get("n"))
        accepted = self.count("`certificate.accepted`", c.get("accepted"), n)
        self.count("`certificate.errors`", c.get("errors"), accepted)
        for name in ("n_reserved", "n_hypotheses"):
            self.count(f"`certificate.{name}`", c.get(name))
        for name in ("level", "upper_bound"):
            if c.get(name) is not None:
                self.number(f"`certificate.{name}`", c[name], 0.0, 1.0)
        by = self.mapping("`certificate.accepted_by`", c.get("accepted_by"))
        self.named("`certificate.accepted_by`", by, names)
        for name, value in by.items():
            self.count(f"`certificate.accepted_by.{name}`", value, accepted)
        if sum(by.values()) != accepted:
            self.wrong("`certificate.accepted_by`", dict(by), f"a split of the {accepted} accepted")
        thresholds = c.get("thresholds")
        if thresholds is not None:
            self.named("`certificate.thresholds`", self.mapping("thresholds", thresholds), names)
            for name, value in thresholds.items():
                self.threshold(f"`certificate.thresholds.{name}`", value)
        elif accepted:
            self.wrong("`certificate.accepted`", accepted, "0, although nothing is accepted")
        for line in self.listed("`certificate.assumptions`", c.get("assumptions")):
            self.text("an assumption", line)
        self.mapping("`certificate.options`", c.get("options"))
        self.vectors("`certificate.path`", c.get("path"))
        for name, there in self.mapping("`certificate.under`", c.get("under", {})).items():
            self.under(f"`certificate.under.{name}`", there)
        if c.get("coverage_unstressed") is not None:
            self.number("`certificate.coverage_unstressed`", c["coverage_unstressed"], 0.0, 1.0)
        if c.get("shortfall") is not None:
            self.shortfall(self.mapping("`certificate.shortfall`", c["shortfall"]))
        try:
            Certificate.from_dict(c)
        except (TypeError, KeyError, ValueError) as error:
            raise InputError(f"{self.source} is damaged: `certificate`: {error}") from None

    def under(self, place: str, value: object) -> None:
        there = self.mapping(place, value)
        n = self.count(f"{place}.n", there.get("n"))
        accepted = self.count(f"{place}.accepted", there.get("accepted"), n)
        self.count(f"{place}.errors", there.get("errors"), accepted)
        if there.get("upper_bound") is not None:
            self.number(f"{place}.upper_bound", there["upper_bound"], 0.0, 1.0)

    def shortfall(self, s: Mapping[str, Any]) -> None:
        self.one_of("`shortfall.obstacle`", s.get("obstacle"), list(Obstacle))
        for name in ("need", "have", "best_accepted", "best_errors"):
            self.count(f"`shortfall.{name}`", s.get(name))
        if s.get("best_bound") is not None:
            self.number("`shortfall.best_bound`", s["best_bound"], 0.0, 1.0)
        if s.get("labels_needed") is not None:
            self.count("`shortfall.labels_needed`", s["labels_needed"])

    def hashes(self, place: str, value: object) -> None:
        labels = self.mapping(place, value)
        texts = [labels.get("ids"), labels.get("groups")]
        texts += self.listed(place, labels.get("contents"))
        for text in texts:
            if not re.fullmatch("([0-9a-f]{16})*", self.text(place, text)):
                self.wrong(place, text, "hashes of sixteen hexadecimal digits each")

    def vectors(self, place: str, value: object) -> None:
        for vector in self.listed(place, value):
            for threshold in self.listed(f"a vector of {place}", vector):
                self.threshold(place, threshold)

    def threshold(self, place: str, value: object) -> None:
        if value is not None:
            self.number(place, value, -math.nextafter(math.inf, 0), math.nextafter(math.inf, 0))

    def named(self, place: str, value: Mapping[str, Any], names: Sequence[str]) -> None:
        if set(value) != set(names):
            self.wrong(place, sorted(value), f"of {', '.join(names)}")


def modes_of(document: Document) -> tuple[tuple[ModeColumns, ...], tuple[ScoreSource | None, ...]]:
    """Columns and sources of a checked document's modes."""
    columns, sources = [], []
    for mode in document["modes"]:
        names = ("name", "verdict", "uncertainty", "why", "source_column")
        columns.append(ModeColumns(*(mode.get(name) for name in names)))
        source = mode.get("source")
        sources.append(None if source is None else ScoreSource(source))
    return tuple(columns), tuple(sources)


def _no_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _no_double(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"cannot store {type(value).__name__} in a gate")
