"""The certificate: what was certified, on which counts, and what it promises in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from riskjudge.calibration.looks import Look
from riskjudge.display.table import Table, percent


class Guarantee(StrEnum):
    """Kind of promise a certificate makes."""

    HIGH_PROBABILITY = "high_probability"
    EXPECTATION = "expectation"
    NONE = "none"


class Obstacle(StrEnum):
    """What stood in the way of a certificate."""

    NOTHING_ACCEPTED = "nothing_accepted"
    TOO_FEW = "too_few"
    ERROR_RATE = "error_rate"
    RETRIEVAL_BUDGET = "retrieval_budget"
    OTHER_LEVELS = "other_levels"
    STRESS = "stress"


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Why nothing was certified, and what would be needed.

    Attributes
    ----------
    obstacle : Obstacle
        What stood in the way of the rule at which testing stopped.
    need : int
        Fewest accepted items that certify with no error at all, at the level that rule was tested.
    have : int
        Most accepted items of any rule in the plan.
    best_bound : float or None
        Upper bound of the rule at which testing stopped (of several, the lowest; of a search over
        all rules, the lowest anywhere); None if it accepted nothing.
    best_accepted, best_errors : int
        The counts of that rule.
    labels_needed : int or None
        Labelled items that would let that rule certify if its error rate and coverage stayed what
        they are; None where no number would do, or none that anybody would label.
    """

    obstacle: Obstacle
    need: int
    have: int
    best_bound: float | None
    best_accepted: int
    best_errors: int
    labels_needed: int | None


@dataclass(frozen=True, slots=True)
class UnderStress:
    """What the chosen rule (or the one at which testing stopped) does under one perturbation.

    Attributes
    ----------
    n : int
        Tested items to which the perturbation applies.
    accepted, errors : int
        Accepted ones of them, and wrong verdicts among these.
    upper_bound : float or None
        Exact upper confidence bound of the error rate at the certificate's level; None if nothing is
        accepted.
    """

    n: int
    accepted: int
    errors: int
    upper_bound: float | None


@dataclass(frozen=True, slots=True)
class Certificate:
    """Outcome of a calibration.

    Attributes
    ----------
    procedure : str
        Name of the procedure; `options` holds its settings.
    guarantee : Guarantee
        Kind of promise; `statement` says it in one sentence, `assumptions` what it rests on.
    alpha, delta : float
        Risk level, and significance of the whole procedure.
    level : float or None
        Significance at which the chosen thresholds were tested.
    n_hypotheses : int
        Threshold vectors that the procedure stood ready to test.
    n, n_reserved : int
        Labelled items tested on; labelled items set aside to prepare the tests.
    thresholds : mapping of str to float or None, or None
        Threshold of each mode; a None inside is "no threshold in this mode", None in place of the
        mapping is "accept nothing".
    accepted, errors : int
        Accepted items among the `n`, and wrong verdicts among the accepted.
    accepted_by : mapping of str to int
        Accepted items by mode.
    upper_bound : float or None
        Exact upper confidence bound of the error rate at `level`; None if nothing is accepted.
    shortfall : Shortfall or None
        Present if nothing was certified.
    path : tuple of tuple of float or None
        The tested sequence of threshold vectors that the chosen rule (or the one that came closest)
        stands on, of more than 200 an even selection, first and last included. Another calibration
        may take it over as a path fixed in advance.
    seed : int or None
        Seed of whatever the calibration drew at random; None where nobody recorded it.
    look : Look or None
        Which look of a schedule this is, if of any; `delta` is then that of this look alone.
    fit_number : int
        Number of this fit among those on record that used some of these labels.
    delta_of_fits : float or None
        Sum of their deltas: what a choice among them promises; None where this is the first.
    alpha_pass, alpha_fail : float or None
        Levels of the accepted verdicts 1 and 0 by themselves.
    min_tpr, min_tnr : float or None
        Smallest share of right verdicts among the accepted items of label 1 and of label 0.
    under : mapping of str to UnderStress
        The perturbations under which the promise holds as well (those it was tested under, where
        nothing was certified).
    coverage_unstressed : float or None
        With perturbations: what the same calibration accepts of the items as they came without asking
        for more; the price is the difference from `coverage`.
    """

    procedure: str
    guarantee: Guarantee
    statement: str
    alpha: float
    delta: float
    n: int
    n_reserved: int
    n_hypotheses: int
    thresholds: Mapping[str, float | None] | None
    accepted: int
    errors: int
    accepted_by: Mapping[str, int]
    level: float | None
    upper_bound: float | None
    assumptions: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    shortfall: Shortfall | None = None
    path: tuple[tuple[float | None, ...], ...] = field(default=(), repr=False)
    seed: int | None = None
    look: Look | None = None
    fit_number: int = 1
    delta_of_fits: float | None = None
    alpha_pass: float | None = None
    alpha_fail: float | None = None
    min_tpr: float | None = None
    min_tnr: float | None = None
    under: Mapping[str, UnderStress] = field(default_factory=dict)
    coverage_unstressed: float | None = None

    @property
    def certified(self) -> bool:
        """Whether any verdict may be accepted."""
        return self.thresholds is not None

    @property
    def coverage(self) -> float | None:
        """Accepted share of the tested items; None if there are none."""
        return self.accepted / self.n if self.n else None

    @property
    def fdp(self) -> float | None:
        """False discovery proportion: the share of wrong verdicts among the accepted tested items.

        None (undefined) if nothing is accepted.
        """
        return self.errors / self.accepted if self.accepted else None

    def _repr_html_(self) -> str:
        """For Jupyter: the promise, and what it stands on."""
        rows = [("promise", self.statement), ("alpha, delta", f"{self.alpha:g}, {self.delta:g}")]
        if self.thresholds is not None:
            rows += [
                (f"threshold, {mode}", "not used" if t is None else f"≤ {t:.6g}")
                for mode, t in self.thresholds.items()
            ]
            rows += [
                ("accepted", f"{self.accepted} of {self.n} ({percent(self.coverage)})"),
                ("errors among them", f"{self.errors} ({percent(self.fdp)})"),
            ]
            if self.upper_bound is not None:
                rows.append(("upper bound", percent(self.upper_bound, 2)))
        elif self.shortfall is not None:
            s = self.shortfall
            rows.append(
                ("in the way", f"{s.obstacle.replace('_', ' ')}: need {s.need}, have {s.have}")
            )
        return Table("Certificate", ("", ""), tuple(rows), self.assumptions)._repr_html_()

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary."""
        return asdict(self) | {
            "guarantee": str(self.guarantee),
            "assumptions": list(self.assumptions),
            "path": [list(vector) for vector in self.path],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Certificate:
        """The inverse of :meth:`to_dict`."""
        shortfall = data.get("shortfall")
        return cls(
            **{
                **data,
                "guarantee": Guarantee(data["guarantee"]),
                "assumptions": tuple(data["assumptions"]),
                "shortfall": Shortfall(**{**shortfall, "obstacle": Obstacle(shortfall["obstacle"])})
                if shortfall
                else None,
                "path": tuple(tuple(vector) for vector in data.get("path", ())),
                "look": Look(**data["look"]) if data.get("look") else None,
                "under": {k: UnderStress(**v) for k, v in data.get("under", {}).items()},
            }
        )
