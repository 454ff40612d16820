"""The state of a promotion walk on disk, so that a gate may ask for it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riskjudge._version import __version__
from riskjudge.agreement.promotion import FloorCheck, Promotion, PromotionState, state_of
from riskjudge.data.source import ScoreSource
from riskjudge.errors import InputError
from riskjudge.gate.document import checksum, read_json
from riskjudge.io.files import replacing

FORMAT = "riskjudge-promotion"
FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class PromotionRecord:
    """Where one judge stands.

    Attributes
    ----------
    judge : str
        Its name: the column, or the arm of a ledger, whose labels were compared.
    promotion : Promotion
    source : ScoreSource or None
        What made its verdicts, where the table said so.
    """

    judge: str
    promotion: Promotion
    source: ScoreSource | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, the checksum included."""
        document: dict[str, Any] = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "riskjudge_version": __version__,
            "judge": self.judge,
            "source": None if self.source is None else dict(self.source),
            **self.promotion.to_dict(),
        }
        plain: dict[str, Any] = json.loads(json.dumps(document, allow_nan=False))
        return plain | {"checksum": checksum(plain)}

    def save(self, path: str | Path) -> None:
        """Write it, whole or not at all."""
        with replacing(path) as temporary:
            temporary.write_text(json.dumps(self.to_dict(), indent=2) + "\n", "utf-8")

    def why_not(self) -> str | None:
        """Why the judge is not promoted, in words; None if it is."""
        if self.promotion.state is PromotionState.PROMOTED:
            return None
        missed = [
            f"{check.floor} needs {check.need:g}, has "
            + (f"UNDEFINED ({check.undefined})" if check.have is None else f"{check.have:.3g}")
            for check in self.promotion.missed
        ]
        return f"the judge {self.judge!r} is not promoted ({self.promotion.state}): " + "; ".join(
            missed
        )


def read_promotion(path: str | Path) -> PromotionRecord:
    """Read the state of a judge, every value checked.

    Raises
    ------
    InputError
        If the file is missing, damaged, changed by hand or of a newer version, or its state does not
        follow from its floors.
    """
    data = read_json(path, "the state of a promotion")
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise InputError(
            f"{path} is not the state of a promotion; riskjudge agreement --floor-... -o writes one"
        )
    if data.get("format_version") != FORMAT_VERSION:
        raise InputError(
            f"{path} has format version {data.get('format_version')!r}; this is riskjudge "
            f"{__version__}, which reads version {FORMAT_VERSION}"
        )
    if data.get("checksum") != checksum(data):
        raise InputError(
            f"{path} is damaged or was changed by hand: its checksum does not match. Measure again"
        )
    try:
        checks = tuple(_check(floor, path) for floor in data["floors"])
        state, judge = PromotionState(data["state"]), data["judge"]
        source = None if data["source"] is None else ScoreSource(data["source"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path} is damaged: {type(error).__name__} {error}") from None
    if not isinstance(judge, str) or not checks:
        raise InputError(f"{path} is damaged: it names no judge, or no floor")
    if state is not state_of(checks):
        raise InputError(f"{path} is damaged: it says {state}, its floors say {state_of(checks)}")
    return PromotionRecord(judge, Promotion(state, checks), source)


def _check(floor: Mapping[str, Any], path: str | Path) -> FloorCheck:
    for name in ("need", "have", "point"):
        value = floor[name]
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (value is None and name != "need") and not (number and math.isfinite(value)):
            raise InputError(f"{path} is damaged: `{name}` of a floor is {value!r}, not a number")
    check = FloorCheck(*(floor[k] for k in ("floor", "need", "have", "point", "undefined")))
    if floor["met"] is not check.met:
        raise InputError(
            f"{path} is damaged: the floor {check.floor!r} says met = {floor['met']!r}"
        )
    return check
