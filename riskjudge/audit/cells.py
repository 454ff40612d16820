"""A cell of an audit: one procedure in one setting, what was counted there, and what that says."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

from riskjudge import binomial
from riskjudge._typing import FloatArray
from riskjudge._version import __version__
from riskjudge.audit.worlds import World
from riskjudge.calibration import Guarantee, Procedure
from riskjudge.io.files import replacing

CONFIDENCE = 0.99
"""Of the verdict on a cell, and of each end of its interval."""


class Verdict(StrEnum):
    """Whether a violation rate speaks against delta."""

    COMPATIBLE = "compatible"
    EXCEEDS = "exceeds"


@dataclass(frozen=True, slots=True)
class Setting:
    """All that decides a cell's numbers, beside the procedure.

    Attributes
    ----------
    world : World
    n, pool : int
        Labelled items, and unlabelled ones beside them, of each replicate.
    alpha, delta : float
    by_verdict : bool
        Whether every verdict of a mode gets a threshold of its own.
    replicates, seed, population : int
        `population` items carry the truth (a world that knows its truth exactly ignores it).
    """

    world: World
    n: int
    pool: int
    alpha: float
    delta: float
    by_verdict: bool
    replicates: int
    seed: int
    population: int

    def key(self, procedure: Procedure) -> str:
        """Hash of the setting, the procedure with its options, and the version of riskjudge."""
        kind = type(procedure)
        settings = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "world"}
        settings |= {
            "world": self.world.identity(),
            "procedure": f"{kind.__module__}.{kind.__qualname__}",
            "options": procedure.options(),
            "version": __version__,
        }
        text = json.dumps(settings, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Cell:
    """What one procedure did in one setting.

    Attributes
    ----------
    procedure : str
        Its name, with those options that are not the default.
    world, kind : str
        Name and kind of the world.
    violations : int
        Replicates in which the true risk of the chosen rule exceeds alpha.
    certified : int
        Replicates in which a rule was chosen at all.
    coverage, coverage_sd : float
        Mean and standard deviation of the true coverage over all replicates (0 where nothing was
        certified).
    risk : float or None
        Mean true risk of the chosen rules; None if none was.
    seconds : float or None
        Mean time to choose a rule (without the certificate that is drawn up about it). Kept apart
        from the rest: it is the only number that is not the same at every call.
    """

    procedure: str
    guarantee: Guarantee
    options: Mapping[str, Any]
    world: str
    kind: str
    n: int
    pool: int
    alpha: float
    delta: float
    by_verdict: bool
    replicates: int
    seed: int
    violations: int
    certified: int
    coverage: float
    coverage_sd: float
    risk: float | None
    seconds: float | None = field(default=None, compare=False)

    @property
    def violation(self) -> float:
        """Share of the replicates that broke the promise."""
        return self.violations / self.replicates

    @property
    def interval(self) -> tuple[float, float]:
        """Exact bounds of the violation rate, each a one-sided 99 % bound."""
        low = binomial.lower_bound(self.violations, self.replicates, 1 - CONFIDENCE)
        high = binomial.upper_bound(self.violations, self.replicates, 1 - CONFIDENCE)
        return float(low), float(high)

    @property
    def verdict(self) -> Verdict:
        """See :func:`judge`."""
        return judge(self.violations, self.replicates, self.delta)

    @property
    def setting(self) -> tuple[Any, ...]:
        """Cells of equal settings can be compared; thresholds by verdict do not count here."""
        return self.world, self.n, self.pool, self.alpha, self.delta, self.replicates, self.seed

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; the same call gives the same dictionary, so the time is not in it."""
        data = asdict(self) | {"guarantee": str(self.guarantee)}
        del data["seconds"]
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], seconds: float | None = None) -> Cell:
        """The inverse of :meth:`to_dict`."""
        return cls(**{**data, "guarantee": Guarantee(data["guarantee"])}, seconds=seconds)


def judge(
    violations: int, replicates: int, delta: float, confidence: float = CONFIDENCE
) -> Verdict:
    """Whether the violations show, at this confidence, that the promise is broken too often.

    Exact one-sided test of "the violation rate is at most delta": ``exceeds`` where
    ``P(Bin(replicates, delta) >= violations) < 1 - confidence``, which is where the exact lower
    confidence bound of the rate lies above delta. A procedure whose rate is just delta is called
    ``exceeds`` in one cell of a hundred; few are that close.

    Examples
    --------
    >>> str(judge(10, 200, 0.05)), str(judge(19, 200, 0.05)), str(judge(133, 2000, 0.05))
    ('compatible', 'exceeds', 'exceeds')
    """
    if violations == 0:
        return Verdict.COMPATIBLE
    tail = float(special.bdtrc(violations - 1, replicates, delta))
    return Verdict.EXCEEDS if tail < 1 - confidence else Verdict.COMPATIBLE


def label_of(procedure: Procedure) -> str:
    """A procedure's name, with those of its options that are not the default.

    Examples
    --------
    >>> from riskjudge.calibration import Portfolio
    >>> label_of(Portfolio()), label_of(Portfolio(steps=20))
    ('portfolio', 'portfolio(steps=20)')
    """
    changed = [
        f"{f.name}={getattr(procedure, f.name)}"
        for f in fields(procedure)
        if getattr(procedure, f.name) != f.default
    ]
    return f"{procedure.name}({', '.join(changed)})" if changed else procedure.name


class CellCache:
    """Finished cells, one JSON file each, named by :meth:`Setting.key`.

    Cells of different settings never share a file. Times go to a file beside the cell's. A file that
    cannot be read counts as absent.

    Parameters
    ----------
    folder : Path or None
        Made when the first cell is stored. None keeps nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def load(self, key: str) -> Cell | None:
        """The cell stored under `key`, or None."""
        if self.folder is None:
            return None
        try:
            data = json.loads((self.folder / f"{key}.json").read_text(encoding="utf-8"))
            cell = Cell.from_dict(data)
        except (OSError, ValueError, TypeError, KeyError):
            return None
        try:
            seconds = float((self.folder / f"{key}.seconds").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return cell
        return Cell.from_dict(data, seconds)

    def store(self, key: str, cell: Cell) -> None:
        """Write a cell, whole or not at all."""
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        if cell.seconds is not None:
            with replacing(self.folder / f"{key}.seconds") as path:
                path.write_text(f"{cell.seconds:.6g}\n", encoding="utf-8")
        text = json.dumps(cell.to_dict(), indent=1, sort_keys=True, allow_nan=False)
        with replacing(self.folder / f"{key}.json") as path:
            path.write_text(text + "\n", encoding="utf-8")


def cell_of(
    procedure: Procedure,
    setting: Setting,
    risks: FloatArray,
    coverages: FloatArray,
    seconds: FloatArray,
) -> Cell:
    """A cell from the true risks (NaN: nothing certified), coverages and times of its replicates."""
    chosen = ~np.isnan(risks)
    return Cell(
        procedure=label_of(procedure),
        guarantee=procedure.guarantee,
        options=procedure.options(),
        world=setting.world.name,
        kind=setting.world.kind,
        n=setting.n,
        pool=setting.pool,
        alpha=setting.alpha,
        delta=setting.delta,
        by_verdict=setting.by_verdict,
        replicates=setting.replicates,
        seed=setting.seed,
        # Sums over many items carry rounding: a risk of exactly alpha keeps the promise.
        violations=int(np.count_nonzero(risks[chosen] > setting.alpha + 1e-12)),
        certified=int(np.count_nonzero(chosen)),
        coverage=float(coverages.mean()),
        coverage_sd=float(coverages.std(ddof=1)) if len(coverages) > 1 else 0.0,
        risk=float(risks[chosen].mean()) if chosen.any() else None,
        seconds=float(seconds.mean()),
    )
