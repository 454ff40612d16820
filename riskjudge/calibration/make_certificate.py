"""From a selection to a certificate: counts, the promise in words, and what is missing for one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from riskjudge import binomial, counts
from riskjudge.calibration.certificate import (
    Certificate,
    Guarantee,
    Obstacle,
    Shortfall,
    UnderStress,
)
from riskjudge.calibration.plan import Target
from riskjudge.calibration.power import accepted_needed
from riskjudge.calibration.sample import Sample
from riskjudge.calibration.selection import Selection


def make_certificate(
    chosen: Selection,
    sample: Sample,
    target: Target,
    *,
    procedure: str,
    guarantee: Guarantee,
    options: Mapping[str, Any],
    seed: int | None = None,
) -> Certificate:
    """Turn a selection into a certificate."""
    certified = chosen.thresholds is not None
    bounded = certified and chosen.statement is None
    statement = chosen.statement
    if statement is None:
        statement = _statement(guarantee, target, certified, chosen.proved_delta)
        if certified and sample.variants:
            statement += f" The same holds under each of: {', '.join(sample.variants)}."
    thresholds = None
    if chosen.thresholds is not None:
        thresholds = dict(zip(sample.modes, encode(chosen.thresholds), strict=True))
    by_column = chosen.by_column if certified else np.zeros(len(sample.modes), dtype=np.int64)
    return Certificate(
        procedure=procedure,
        guarantee=guarantee,
        statement=statement,
        alpha=target.alpha,
        delta=target.delta,
        n=chosen.n,
        n_reserved=chosen.n_reserved,
        n_hypotheses=chosen.n_hypotheses,
        thresholds=thresholds,
        accepted=chosen.accepted if certified else 0,
        errors=chosen.errors if certified else 0,
        accepted_by={mode: int(m) for mode, m in zip(sample.modes, by_column, strict=True)},
        level=chosen.level if bounded else None,
        upper_bound=float(binomial.upper_bound(chosen.errors, chosen.accepted, chosen.level))
        if bounded
        else None,
        assumptions=(
            SAME_POPULATION,
            SETTLED_BEFORE,
            ONCE,
            ABOUT_POPULATION,
            *((OTHER_ITEMS_ALIKE,) if sample.variants else ()),
            *chosen.assumptions,
        ),
        options=options,
        shortfall=None if certified else chosen.shortfall or _shortfall(chosen, target),
        under=_under(chosen),
        path=_kept_path(chosen),
        seed=seed,
        alpha_pass=target.alpha_pass,
        alpha_fail=target.alpha_fail,
        min_tpr=target.min_tpr,
        min_tnr=target.min_tnr,
    )


SAME_POPULATION = (
    "the calibration items are independent draws from the population that will be judged"
)


SETTLED_BEFORE = (
    "alpha, procedure, options, seed and the choice of rows were settled before these labels were "
    "seen"
)
ONCE = "these labels were calibrated on once"
ABOUT_POPULATION = (
    "the promise is about the population; in a finite batch the share of wrong verdicts varies around "
    "that of the population"
)


OTHER_ITEMS_ALIKE = (
    "under a perturbation, the promise is about items that are perturbed in the same way as these "
    "were"
)


def _under(chosen: Selection) -> dict[str, UnderStress]:
    """The rule's counts and bounds under each perturbation."""
    found = {}
    for name, (n, accepted, errors) in chosen.under.items():
        bound = float(binomial.upper_bound(errors, accepted, chosen.level)) if accepted else None
        found[name] = UnderStress(n, accepted, errors, bound)
    return found


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
    kinds = " and ".join(
        f"at most {100 * level:g} % of the accepted verdicts {verdict} ({('fail', 'pass')[verdict]})"
        for verdict, level in target.by_verdict
    )
    if kinds:
        budget = f", {kinds}, each by itself{budget}"
    for label, rate in target.by_label:
        verdict = ("fail", "pass")[label]
        budget += f", and at least {100 * rate:g} % of the accepted items whose label is {label} {verdict}"
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
        broken = [
            name
            for name, (_, m, w) in chosen.under.items()
            if not binomial.certifies(w, m, target.alpha, level)
        ]
        budget = target.max_retrieval is not None and not target.more_than_risk
        obstacle = Obstacle.RETRIEVAL_BUDGET if budget else Obstacle.OTHER_LEVELS
        obstacle = Obstacle.STRESS if broken else obstacle
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
