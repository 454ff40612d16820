"""The choice among certified rules, or where testing stopped if there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from riskjudge import binomial, counts
from riskjudge._typing import BoolArray, FloatArray, IntArray
from riskjudge.calibration.certificate import Shortfall
from riskjudge.calibration.plan import Plan, Target, Tested, retrieval_calls
from riskjudge.calibration.sample import Sample
from riskjudge.counts import PathCounts


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
    """A chosen rule with the counts that certify it, or (`thresholds` None) the best that failed.

    Attributes
    ----------
    thresholds : ndarray of float, shape (columns,), or None
    accepted, errors : int
        Counts of the rule on the `n` tested items.
    by_column : ndarray of int, shape (columns,)
        Accepted items by the column that accepted them.
    level : float
        Significance at which the rule was tested.
    n, n_reserved : int
        Labelled items tested on, and set aside.
    n_hypotheses, most_accepted : int
        Rules that could have been tested, and most items accepted by any of them.
    path : ndarray of float, shape (L, columns), or None
        The chain that the rule stands on.
    proved_delta : float or None
        What the proof gives where it is not the target's delta.
    statement : str or None
        The promise in words where the kind of guarantee does not say it all; no bound is claimed
        for this one calibration then.
    shortfall : Shortfall or None
        Where the procedure works out by itself why nothing was certified.
    under : mapping of str to tuple of int
        Under each perturbation: tested items to which it applies, accepted ones of them, errors.
    """

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
    statement: str | None = None
    shortfall: Shortfall | None = None
    under: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)


def choose(
    plan: Plan,
    tested: list[Tested],
    sample: Sample,
    target: Target,
    objective: str,
    min_coverage: float,
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
        keys = objective_keys(everywhere, sample, objective, min_coverage)
        i = max(range(len(index)), key=lambda j: tuple(keys[j]))
        if best is None or tuple(keys[i]) > best_key:
            best_key = tuple(keys[i])
            best = _selection(plan, family, int(index[i]), float(family.levels[index[i]]))
    if best is not None:
        return best
    taught = 0 if sample.taught is None else sample.taught.n  # no part of the sample
    return _closest(plan, tested, target, sample.n - plan.n_reserved + taught)


def objective_keys(
    path: PathCounts, sample: Sample, objective: str, min_coverage: float
) -> FloatArray:
    """Sort keys of each rule, larger is better, shape (L, 3)."""
    cost = retrieval_calls(path, sample)
    keys: tuple[IntArray | BoolArray, ...]
    match Objective(objective):
        case Objective.CORRECT:
            keys = (path.accepted - path.errors, -cost, path.accepted)
        case Objective.CHEAPEST:
            enough = path.accepted >= min_coverage * sample.n
            keys = (enough, np.where(enough, -cost, path.accepted), path.accepted)
        case _:
            keys = (path.accepted, -cost, -path.errors)
    return np.column_stack(keys).astype(np.float64)


def _selection(
    plan: Plan, family: Tested, i: int, level: float, *, certified: bool = True
) -> Selection:
    rule = family.counts.thresholds[i : i + 1]
    under = {
        name: (variant.n_scored, counts.path_counts(variant.scores, variant.errors, rule))
        for name, variant in family.sample.variants.items()
    }
    return Selection(
        thresholds=family.counts.thresholds[i] if certified else None,
        accepted=int(family.counts.accepted[i]),
        errors=int(family.counts.errors[i]),
        by_column=family.counts.by_mode[i],
        level=level,
        n=family.sample.n,
        n_hypotheses=plan.n_hypotheses,
        most_accepted=int(family.counts.accepted.max()),
        n_reserved=plan.n_reserved if family.n_reserved is None else family.n_reserved,
        assumptions=plan.assumptions,
        path=family.chain_of(i),
        under={name: (n, int(c.accepted[0]), int(c.errors[0])) for name, (n, c) in under.items()},
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
