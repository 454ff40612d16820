"""The one interface of all procedures, and how a certificate is drawn up."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from riskjudge import binomial, counts
from riskjudge._typing import BoolArray, FloatArray, IntArray
from riskjudge.calibration.certificate import Certificate, Guarantee, Obstacle, Shortfall
from riskjudge.calibration.plan import Plan, Target, Tested, retrieval_calls, run_family
from riskjudge.calibration.power import accepted_needed
from riskjudge.calibration.sample import Sample
from riskjudge.counts import PathCounts
from riskjudge.errors import InputError


class Objective(StrEnum):
    """Which of the certified rules is taken.

    ``coverage`` takes the most accepted items (Algorithm 1 of the paper), ``correct`` the most
    correctly accepted ones (Appendix B.2), ``coverage_then_cost`` the most accepted and, of equals,
    the fewest calls of later modes; ``cheapest`` the fewest such calls among the rules that reach
    the procedure's `min_coverage` (if none does, as ``coverage_then_cost``).
    """

    COVERAGE = "coverage"
    CORRECT = "correct"
    COVERAGE_THEN_COST = "coverage_then_cost"
    CHEAPEST = "cheapest"


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """A chosen rule with the counts that certify it, or (`thresholds` None) the best that failed."""

    thresholds: FloatArray | None
    accepted: int
    errors: int
    by_column: IntArray
    level: float
    n: int
    n_hypotheses: int
    most_accepted: int
    n_reserved: int = 0
    assumptions: tuple[str, ...] = ()
    path: FloatArray | None = None
    proved_delta: float | None = None


@dataclass(frozen=True, kw_only=True)
class Procedure(ABC):
    """How a threshold vector is chosen from labelled items, and what that choice guarantees.

    A procedure is a frozen dataclass: its fields are its options, so it can be printed, compared,
    cloned and stored. To add one, subclass :class:`PlannedProcedure`, write ``plan`` and a docstring
    with the proof, and list the class in ``riskjudge.calibration.PROCEDURES``.

    Parameters
    ----------
    objective : str
        See :class:`Objective`.
    min_coverage : float
        Coverage that ``cheapest`` must reach.
    """

    name: ClassVar[str]
    guarantee: ClassVar[Guarantee]

    objective: str = Objective.COVERAGE_THEN_COST
    min_coverage: float = 0.0

    def __post_init__(self) -> None:
        for option in fields(self):
            default, value = option.default, getattr(self, option.name)
            whole = isinstance(default, int) and not isinstance(default, bool)
            if whole and (not isinstance(value, Integral) or value < 1):
                raise InputError(f"{option.name} must be a whole number from 1 on, got {value!r}")
            if isinstance(default, float) and (
                not isinstance(value, Real) or not 0 <= float(value) <= 1
            ):
                raise InputError(f"{option.name} must be a number from 0 to 1, got {value!r}")
        if self.objective not in list(Objective):
            known = ", ".join(Objective)
            raise InputError(f"unknown objective {self.objective!r}; the objectives are {known}")

    @abstractmethod
    def select(self, sample: Sample, target: Target, seed: int) -> Selection:
        """Choose a rule."""

    def certify(
        self,
        sample: Sample,
        alpha: float,
        delta: float,
        *,
        max_retrieval: float | None = None,
        seed: int = 0,
    ) -> Certificate:
        """Calibrate: choose thresholds and state what they promise.

        Parameters
        ----------
        sample : Sample
            Labelled items, one independent draw each.
        alpha, delta : float
            Risk level and significance, both strictly between 0 and 1.
        max_retrieval : float, optional
            Largest tolerated share of items sent past the first mode; see :class:`Target`.
        seed : int
            Seeds whatever the procedure draws (only splits are random).
        """
        target = Target(alpha, delta, max_retrieval)
        return draw_up(self, self.select(sample, target, seed), sample, target)

    def options(self) -> dict[str, Any]:
        """The procedure's settings, JSON-ready."""
        return asdict(self) | {"objective": str(self.objective)}


class PlannedProcedure(Procedure):
    """A procedure that writes down its tests before it looks at the labels it tests on."""

    guarantee: ClassVar[Guarantee] = Guarantee.HIGH_PROBABILITY

    @abstractmethod
    def plan(self, sample: Sample, target: Target, seed: int) -> Plan:
        """Families of chains; see :mod:`riskjudge.calibration.plan` for what that guarantees."""

    def select(self, sample: Sample, target: Target, seed: int) -> Selection:
        plan = self.plan(sample, target, seed)
        if sample.pool_scores is not None:
            plan = replace(plan, assumptions=(*plan.assumptions, INDEPENDENT_POOL))
        tested = [run_family(family, target) for family in plan.families if family.chains]
        return choose(self, plan, tested, sample, target)


def choose(
    procedure: Procedure, plan: Plan, tested: list[Tested], sample: Sample, target: Target
) -> Selection:
    """The best of the certified rules: any of them may be taken, for any reason."""
    best: Selection | None = None
    best_key: tuple[float, ...] = ()
    for family in tested:
        index = family.rejected
        if not len(index):
            continue
        # Families may test on different rows; coverage is compared on all labelled rows.
        everywhere = counts.path_counts(
            sample.scores, sample.errors, family.counts.thresholds[index]
        )
        keys = objective_keys(procedure, everywhere, sample)
        i = max(range(len(index)), key=lambda j: tuple(keys[j]))
        if best is None or tuple(keys[i]) > best_key:
            best_key = tuple(keys[i])
            best = _selection(plan, family, int(index[i]), float(family.levels[index[i]]))
    if best is not None:
        return best
    return _closest(plan, tested, target, sample.n - plan.n_reserved)


def objective_keys(procedure: Procedure, path: PathCounts, sample: Sample) -> FloatArray:
    """Sort keys of each rule, larger is better, shape (L, 3)."""
    cost = retrieval_calls(path, sample)
    keys: tuple[IntArray | BoolArray, ...]
    match Objective(procedure.objective):
        case Objective.CORRECT:
            keys = (path.accepted - path.errors, -cost, path.accepted)
        case Objective.CHEAPEST:
            enough = path.accepted >= procedure.min_coverage * sample.n
            keys = (enough, np.where(enough, -cost, path.accepted), path.accepted)
        case _:
            keys = (path.accepted, -cost, -path.errors)
    return np.column_stack(keys).astype(np.float64)


def _selection(
    plan: Plan, family: Tested, i: int, level: float, *, certified: bool = True
) -> Selection:
    return Selection(
        thresholds=family.counts.thresholds[i] if certified else None,
        accepted=int(family.counts.accepted[i]),
        errors=int(family.counts.errors[i]),
        by_column=family.counts.by_mode[i],
        level=level,
        n=family.sample.n,
        n_hypotheses=plan.n_hypotheses,
        most_accepted=int(family.counts.accepted.max()),
        n_reserved=plan.n_reserved,
        assumptions=plan.assumptions,
        path=family.chain_of(i),
    )


def _closest(plan: Plan, tested: list[Tested], target: Target, n: int) -> Selection:
    """Where testing stopped: of the rules that the chains wait at, the one with the lowest bound."""
    waiting = [(family, i, level) for family in tested for i, level in family.stops]
    if not waiting:
        return nothing(plan.n_hypotheses, target.delta, plan.n_reserved, plan.assumptions, n)

    def bound(stop: tuple[Tested, int, float]) -> float:
        family, i, level = stop
        accepted = family.counts.accepted[i]
        return (
            float(binomial.upper_bound(family.counts.errors[i], accepted, level))
            if accepted
            else 2.0
        )

    family, i, level = min(waiting, key=bound)
    return _selection(plan, family, i, level, certified=False)


def nothing(
    n_hypotheses: int,
    level: float,
    n_reserved: int = 0,
    assumptions: tuple[str, ...] = (),
    n: int = 0,
) -> Selection:
    """A selection without a single rule to test."""
    none = np.zeros(0, dtype=np.int64)
    return Selection(None, 0, 0, none, level, n, n_hypotheses, 0, n_reserved, assumptions)


def draw_up(procedure: Procedure, chosen: Selection, sample: Sample, target: Target) -> Certificate:
    """Turn a selection into a certificate."""
    certified = chosen.thresholds is not None
    thresholds = None
    if chosen.thresholds is not None:
        thresholds = dict(zip(sample.modes, encode(chosen.thresholds), strict=True))
    by_column = chosen.by_column if certified else np.zeros(len(sample.modes), dtype=np.int64)
    return Certificate(
        procedure=procedure.name,
        guarantee=procedure.guarantee,
        statement=_statement(procedure.guarantee, target, certified, chosen.proved_delta),
        alpha=target.alpha,
        delta=target.delta,
        n=chosen.n,
        n_reserved=chosen.n_reserved,
        n_hypotheses=chosen.n_hypotheses,
        thresholds=thresholds,
        accepted=chosen.accepted if certified else 0,
        errors=chosen.errors if certified else 0,
        accepted_by={mode: int(m) for mode, m in zip(sample.modes, by_column, strict=True)},
        level=chosen.level if certified else None,
        upper_bound=float(binomial.upper_bound(chosen.errors, chosen.accepted, chosen.level))
        if certified
        else None,
        assumptions=(SAME_POPULATION, *chosen.assumptions),
        options=procedure.options(),
        shortfall=None if certified else _shortfall(chosen, target),
        path=_kept_path(chosen),
    )


SAME_POPULATION = (
    "the calibration items are independent draws from the population that will be judged"
)
INDEPENDENT_POOL = "the unlabelled pool is independent of the calibration items"


def encode(thresholds: Iterable[float]) -> list[float | None]:
    """Thresholds for JSON: "no threshold in this mode" is None, never an infinity."""
    return [None if t == counts.NONE else float(t) for t in thresholds]


MOST_KEPT = 200
"""Longest path that a certificate keeps."""


def _kept_path(chosen: Selection) -> tuple[tuple[float | None, ...], ...]:
    """The chain of the chosen rule, evenly thinned; the rule alone where there was no chain."""
    path = chosen.path
    if path is None:
        path = np.empty((0, 0)) if chosen.thresholds is None else chosen.thresholds[None, :]
    if len(path) > MOST_KEPT:
        path = path[np.linspace(0, len(path) - 1, MOST_KEPT).round().astype(np.int64)]
    return tuple(tuple(encode(vector)) for vector in path)


def _statement(
    guarantee: Guarantee, target: Target, certified: bool, proved_delta: float | None
) -> str:
    if not certified:
        return "No rule could be certified, so no verdict is accepted."
    alpha = f"{100 * target.alpha:g} %"
    delta = target.delta if proved_delta is None else proved_delta
    sure = f"With confidence {100 * (1 - delta):.6g} %"
    if delta < 1e-4:
        sure = f"Except with probability {delta:.3g}"
    budget = ""
    if target.max_retrieval is not None:
        budget = (
            f", and at most {100 * target.max_retrieval:g} % of all items go past the first mode"
        )
    match guarantee:
        case Guarantee.HIGH_PROBABILITY:
            return (
                f"{sure}, at most {alpha} of the verdicts that these thresholds accept are "
                f"wrong{budget}."
            )
        case Guarantee.EXPECTATION:
            return (
                f"On average over calibrations, at most {alpha} of the accepted verdicts are wrong; "
                "a single calibration may exceed it."
            )
        case Guarantee.NONE:
            return (
                "No guarantee: the thresholds were searched without correction. The bound would hold "
                "for one rule fixed in advance, not for the rule that was picked."
            )


def _shortfall(chosen: Selection, target: Target) -> Shortfall:
    level, accepted, errors = chosen.level, chosen.accepted, chosen.errors
    needed = None
    if accepted == 0:
        obstacle = Obstacle.NOTHING_ACCEPTED
    elif errors >= target.alpha * accepted:
        obstacle = Obstacle.ERROR_RATE
    elif binomial.certifies(errors, accepted, target.alpha, level):
        obstacle = Obstacle.RETRIEVAL_BUDGET
    else:
        obstacle = Obstacle.TOO_FEW
        enough = accepted_needed(errors / accepted, target.alpha, level)
        if enough is not None:
            needed = math.ceil(enough * chosen.n / accepted) + chosen.n_reserved
            needed = max(needed, chosen.n + chosen.n_reserved + 1)
    return Shortfall(
        obstacle=obstacle,
        need=binomial.min_accepted(target.alpha, level),
        have=chosen.most_accepted,
        best_bound=float(binomial.upper_bound(errors, accepted, level)) if accepted else None,
        best_accepted=accepted,
        best_errors=errors,
        labels_needed=needed,
    )
