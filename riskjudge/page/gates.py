"""What the page needs of a gate, whichever kind it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from riskjudge._typing import FloatArray
from riskjudge.calibration import Certificate, Guarantee
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError
from riskjudge.gate.explain import Explanation
from riskjudge.gate.grouped import GroupedGate
from riskjudge.gate.outcomes import Outcomes
from riskjudge.gate.router import Router
from riskjudge.signals.explain import explain
from riskjudge.signals.gate import FusedGate

Gate = Router | GroupedGate | FusedGate

KINDS = {
    Guarantee.HIGH_PROBABILITY: "holds with the confidence stated",
    Guarantee.EXPECTATION: "holds on average over calibrations, not for this one",
    Guarantee.NONE: "no promise: thresholds were searched without correction",
}


@dataclass(frozen=True, slots=True)
class Promise:
    """One certificate of a gate, in words.

    Attributes
    ----------
    where : str
        Which items it is about; empty for all of them.
    statement, kind : str
    certified : bool
    alpha, delta : float
    accepts : tuple of (str, str)
        What is accepted, mode by mode.
    facts : tuple of (str, str)
        Counts and bounds.
    bound_to : tuple of str
        What made the scores.
    assumptions, voided_by : tuple of str
    """

    where: str
    statement: str
    kind: str
    certified: bool
    alpha: float
    delta: float
    accepts: tuple[tuple[str, str], ...]
    facts: tuple[tuple[str, str], ...]
    bound_to: tuple[str, ...]
    assumptions: tuple[str, ...]
    voided_by: tuple[str, ...]


def routers_of(gate: Gate) -> dict[str, Router]:
    """The gates that hold certificates, by what they are about."""
    if isinstance(gate, GroupedGate):
        return {f"{gate.by} = {name}": part for name, part in gate.all_gates.items()}
    return {"": gate.router_ if isinstance(gate, FusedGate) else gate}


def certificates_of(gate: Gate) -> dict[str, Certificate]:
    """The certificates of a fitted gate, by what they are about (empty for all items)."""
    return {where: router.certificate_ for where, router in routers_of(gate).items()}


def delta_of(gate: Gate) -> float:
    """Significance of everything that the gate promises together."""
    return gate.gate.delta if isinstance(gate, GroupedGate) else gate.certificate_.delta


def promises_of(gate: Gate) -> tuple[Promise, ...]:
    """What a fitted gate promises.

    Raises
    ------
    InputError
        If it is not fitted.
    """
    if not gate.fitted:
        raise InputError("a page is about a fitted gate; calibrate it first")
    parts = zip(routers_of(gate).items(), explain(gate), strict=True)
    return tuple(_promise(where, router.certificate_, told) for (where, router), told in parts)


def _promise(where: str, c: Certificate, told: Explanation) -> Promise:
    return Promise(
        where,
        c.statement,
        KINDS[c.guarantee],
        c.certified,
        c.alpha,
        c.delta,
        thresholds_of(c),
        tuple(_facts(c)),
        told.bound_to,
        c.assumptions,
        tuple(told.voided_by),
    )


def thresholds_of(certificate: Certificate) -> tuple[tuple[str, str], ...]:
    """What is accepted, mode by mode (and verdict by verdict), in words."""
    thresholds = certificate.thresholds
    if thresholds is None:
        return (("every mode", "accepts nothing"),)
    return tuple(
        (_column(mode), "not used" if t is None else f"accepted up to {t:.4g}")
        for mode, t in thresholds.items()
    )


def _column(column: str) -> str:
    """A column of the certificate: a mode, or one verdict of it."""
    for verdict, word in enumerate(("wrong", "right")):
        if column.endswith(f"[{verdict}]"):
            return f"{column[:-3]} says {word}"
    return column


def _facts(c: Certificate) -> list[tuple[str, str]]:
    facts = [("procedure", c.procedure), ("labelled items tested on", f"{c.n:,}")]
    if c.n_reserved:
        facts.append(("labelled items that prepared the tests", f"{c.n_reserved:,}"))
    if c.certified:
        facts.append(("accepted in calibration", f"{c.accepted:,}, {c.errors:,} of them wrong"))
    if c.upper_bound is not None:
        facts.append(("upper bound of the error rate", f"{100 * c.upper_bound:.2f} %"))
    return facts


def other_levels(gate: Gate, calibration: Trace, alphas: tuple[float, ...]) -> list[Gate]:
    """The gate calibrated again at each level, on the items that it was calibrated on.

    Raises
    ------
    InputError
        If these are not the items that the gate was calibrated on, or it is one look of a schedule.
    """
    parts = routers_of(gate).values()
    if any(part.certificate_.look is not None for part in parts):
        raise InputError(
            "this certificate is one look of a schedule, and other levels were not part of it; leave "
            "--calibration out"
        )
    if any(part.certificate_.under for part in routers_of(gate).values()):
        raise InputError(
            "this certificate holds under perturbations, and other levels would need the perturbed items, "
            "too; leave --calibration out"
        )
    items = _own_items(gate, calibration)
    return [gate if alpha == gate.alpha else _at_level(gate, items, alpha) for alpha in alphas]


def _own_items(gate: Gate, calibration: Trace) -> Trace:
    """The calibration items among `calibration`: other levels are those of the same labels."""
    if isinstance(gate, FusedGate):
        calibration = gate.untaught(calibration)
    known = np.zeros(len(calibration), dtype=bool)
    for part in routers_of(gate).values():
        if part.labels_ is not None:
            known |= part.labels_.knows(calibration.item_id)
    held_out = calibration.labelled & ~known
    # The whole first: where one item of each group was drawn, it was drawn from all of them.
    for items in (calibration, calibration.rows(~held_out)):
        if items.labelled.any() and _prints(gate, items) == _prints(gate):
            return items
    n = sum(part.n_labelled_ for part in routers_of(gate).values())
    raise InputError(
        "the calibration items are not those that the gate was fitted on: "
        f"{np.count_nonzero(calibration.labelled)} labelled items here, {n} there, or other contents; "
        "give the very trace (and filter) that calibrate was given"
    )


def _prints(gate: Gate, items: Trace | None = None) -> list[str]:
    """Fingerprints of the items of each certificate: those on record, or what `items` would give."""
    if items is None:
        return sorted(part.fingerprint_ for part in routers_of(gate).values())
    if isinstance(gate, Router):
        return [gate.prepare(items).labelled.fingerprint()]
    return _prints(_at_level(gate, items, gate.alpha))


def _at_level(gate: Gate, items: Trace, alpha: float) -> Gate:
    if isinstance(gate, GroupedGate):
        return GroupedGate(gate.gate.fresh().set_params(alpha=alpha), gate.by, gate.min_n).fit(
            items
        )
    if isinstance(gate, FusedGate):
        settings: dict[str, Any] = {
            name: getattr(gate, name)
            for name in ("signals", "staged", "max_cost", "unit", "groups", "seed")
        }
        return FusedGate(alpha, gate.delta, **settings).calibrate(gate.fusion_, items)
    return gate.fresh().set_params(alpha=alpha).fit(items)


def items_of(gate: Gate, outcomes: Outcomes) -> Trace:
    """The items as the gate saw them, from what is on record.

    Raises
    ------
    InputError
        If the outcomes do not hold it, or are of other modes than the gate's.
    """
    seen = outcomes.readings
    if seen is None:
        raise InputError(
            "these outcomes do not hold what each mode said (an older riskjudge wrote them); decide the "
            "items again"
        )
    first = next(iter(routers_of(gate).values()))
    if outcomes.modes != first.modes_:
        raise InputError(
            f"the outcomes are of the modes {', '.join(outcomes.modes)}, the gate of "
            f"{', '.join(first.modes_)}; they were decided by another gate"
        )
    return Trace(
        outcomes.item_id,
        first.columns_,
        seen.verdicts,
        seen.scores,
        seen.absence,
        outcomes.labels,
        None,
        outcomes.extra,
        first.sources_,
        first.grading_,
    )


def decide_again(gate: Gate, outcomes: Outcomes) -> Outcomes:
    """Outcomes of the same items under another gate over the same modes."""
    deciding = gate if isinstance(gate, GroupedGate) else next(iter(routers_of(gate).values()))
    return replace(deciding.decide(items_of(gate, outcomes)), extra=outcomes.extra)


def thresholds_for(gate: Gate, outcomes: Outcomes) -> FloatArray:
    """What the uncertainty of each item's last mode had to stay under; NaN where nothing would do.

    Shape (n,).
    """
    items = items_of(gate, outcomes)
    parts = [(np.arange(len(items)), part) for part in routers_of(gate).values()]
    if isinstance(gate, GroupedGate):
        parts = [(rows, part) for rows, part in gate.parts_of(items) if part is not None]
    found = np.full(len(items), np.nan)
    assert outcomes.readings is not None
    last, verdict = outcomes.readings.last, outcomes.readings.verdict
    for rows, part in parts:
        rows = rows[last[rows] >= 0]
        thresholds = part.rule_.thresholds
        column = np.maximum(verdict[rows], 0) if thresholds.shape[1] == 2 else 0
        found[rows] = thresholds[last[rows], column]
    return np.where(np.isfinite(found), found, np.nan)


def require_own_outcomes(gate: Gate, outcomes: Outcomes) -> None:
    """Refuse outcomes that this gate did not decide, as far as what is on record tells.

    Raises
    ------
    InputError
        Naming the first item that the gate decides in another way.
    """
    if outcomes.readings is None or not len(outcomes):
        return
    again = decide_again(gate, outcomes)
    other = (again.mode != outcomes.mode) | (again.why_not != outcomes.why_not)
    if other.any():
        row = int(other.argmax())
        raise InputError(
            f"the outcomes were not decided by this gate: it decides {outcomes.item_id[row]!r} (row "
            f"{row + 1}) otherwise, and {np.count_nonzero(other)} of {len(outcomes)} items in all"
        )
