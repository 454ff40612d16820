"""Accept, ask a dearer judge, or leave it: certified cascades against what else one might do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from riskjudge._typing import BoolArray, FloatArray, IntArray
from riskjudge.binomial import check_level
from riskjudge.data.trace import Trace
from riskjudge.display.table import UNDEFINED, Table, percent
from riskjudge.errors import InputError
from riskjudge.evaluation.render import short_rate
from riskjudge.gate.router import Router
from riskjudge.share import Rate

ALPHAS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
THRESHOLDS = (0.05, 0.1, 0.2, 0.3)

ACCEPT_ALL = "accept all"
FIXED = "fixed, else decline"
FIXED_ALL = "fixed, last accepts"
CERTIFIED = "certified"


@dataclass(frozen=True, slots=True)
class Strategy:
    """What a way of using the judges does to the labelled items.

    Attributes
    ----------
    kind : str
        ``accept all`` (one judge, every verdict), ``fixed, else decline`` (the first judge whose
        uncertainty is at most `setting`; none: declined), ``fixed, last accepts`` (the same,
        and the last judge's verdict stands whatever its uncertainty), or ``certified``.
    name : str
        The judge, the threshold or the risk level.
    setting : float or None
        The threshold, or alpha.
    items, accepted, errors : int
    cost : float
        Of all judges that were asked, on all items.
    calls : mapping of str to int
        How often each judge was asked.
    """

    kind: str
    name: str
    setting: float | None
    items: int
    accepted: int
    errors: int
    cost: float
    calls: Mapping[str, int]

    @property
    def coverage(self) -> Rate:
        """Accepted items of all."""
        return Rate(self.accepted, self.items)

    @property
    def risk(self) -> Rate:
        """Errors among the accepted."""
        return Rate(self.errors, self.accepted)

    @property
    def cost_per_item(self) -> float:
        """Cost of an item, accepted or not."""
        return self.cost / self.items

    @property
    def cost_per_accepted(self) -> float | None:
        """What an accepted verdict costs, the calls on declined items included; None for none."""
        return self.cost / self.accepted if self.accepted else None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            **asdict(self),
            "calls": dict(self.calls),
            "coverage": self.coverage.to_dict(),
            "risk": self.risk.to_dict(),
            "cost_per_item": self.cost_per_item,
            "cost_per_accepted": self.cost_per_accepted,
        }


@dataclass(frozen=True, slots=True)
class Escalation:
    """Strategies on the same items.

    Attributes
    ----------
    strategies : tuple of Strategy
    costs : mapping of str to float
        Of a verdict of each judge, in the order of asking.
    delta : float
    folds, seed : int
        Each certified decision is that of a gate calibrated on the other folds.
    """

    strategies: tuple[Strategy, ...]
    costs: Mapping[str, float]
    delta: float
    folds: int
    seed: int

    def of(self, kind: str) -> tuple[Strategy, ...]:
        """The strategies of one kind."""
        return tuple(strategy for strategy in self.strategies if strategy.kind == kind)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "costs": dict(self.costs),
            "delta": self.delta,
            "folds": self.folds,
            "seed": self.seed,
            "strategies": [strategy.to_dict() for strategy in self.strategies],
        }


def compare_escalation(
    trace: Trace,
    costs: Mapping[str, float],
    *,
    gate: Router | None = None,
    alphas: Sequence[float] = ALPHAS,
    thresholds: Sequence[float] = THRESHOLDS,
    folds: int = 5,
    seed: int = 0,
) -> Escalation:
    """Hold certified cascades against accepting everything and against thresholds that nobody calibrated.

    Parameters
    ----------
    trace : Trace
        The modes are the judges, in the order of asking. Unlabelled items are left out.
    costs : mapping of str to float
        Of a verdict of each mode, in any unit.
    gate : Router, optional
        Unfitted; its settings but alpha are used. By default a router.
    alphas : sequence of float
        Risk levels of the certified cascades.
    thresholds : sequence of float
        Of the fixed rules; the same for every mode.
    folds : int
        Parts of the labelled items (whole groups, where there are groups). Each item is decided by a
        gate that was calibrated on the other parts, so that it counts once and for no gate that saw
        its label.
    seed : int
        Draws the parts.

    Raises
    ------
    InputError
        If a mode has no cost or a cost no mode, a cost is negative, or there are fewer labelled items
        (or groups) than folds.

    Notes
    -----
    The intervals of risk and coverage are exact for rules that were fixed beforehand. For certified
    cascades they are those of the pooled counts of gates that differ by fold, and the promise of each
    gate is about that gate.

    Examples
    --------
    >>> import riskjudge
    >>> found = compare_escalation(
    ...     riskjudge.demo_trace(), {"parametric": 1, "retrieval": 5}, alphas=[0.2], thresholds=[0.3]
    ... )
    >>> [strategy.name for strategy in found.strategies]
    ['parametric', 'retrieval', '≤ 0.3', '≤ 0.3', 'alpha 0.2']
    """
    _check_costs(trace.modes, costs)
    labelled = trace.rows(trace.labelled).in_order()
    part = _parts(labelled, folds, seed)
    price = np.array([float(costs[mode]) for mode in trace.modes])
    found = [_accept_all(labelled, k, price) for k in range(trace.n_modes)]
    for threshold in thresholds:
        if math.isnan(threshold):
            raise InputError("a threshold is a number, got nan")
        found += [_fixed(labelled, threshold, price, last) for last in (False, True)]
    own = Router() if gate is None else gate
    for alpha in alphas:
        check_level(alpha, "alpha")
        found.append(_certified(labelled, own.fresh().set_params(alpha=alpha), part, price))
    ordered = {mode: float(costs[mode]) for mode in trace.modes}
    return Escalation(tuple(found), ordered, own.delta, folds, seed)


def _check_costs(modes: Sequence[str], costs: Mapping[str, float]) -> None:
    for mode in modes:
        if mode not in costs:
            raise InputError(f"what does a verdict of {mode!r} cost? (costs=, --cost {mode}=1)")
    for mode, cost in costs.items():
        if mode not in modes:
            raise InputError(f"no mode {mode!r}; there are {', '.join(modes)}")
        if isinstance(cost, bool) or not 0.0 <= cost < math.inf:
            raise InputError(f"a cost is a number and at least 0, got {cost!r} for {mode!r}")


def _parts(labelled: Trace, folds: int, seed: int) -> IntArray:
    """Part of each item, whole groups together."""
    names = labelled.item_id if labelled.group is None else labelled.group
    known, codes = np.unique(names.astype(str), return_inverse=True)
    if not 2 <= folds <= len(known):
        what = "labelled items" if labelled.group is None else "groups of labelled items"
        raise InputError(f"{folds} folds need two at least and as many {what}, have {len(known)}")
    place = np.random.default_rng(seed).permutation(len(known)) % folds
    return np.asarray(place[codes])


def _strategy(
    labelled: Trace,
    kind: str,
    name: str,
    setting: float | None,
    by: IntArray,
    asked: BoolArray,
    price: FloatArray,
) -> Strategy:
    """Counts of a rule: the accepting mode of each item (-1: none), and which modes were asked."""
    rows = np.flatnonzero(by >= 0)
    return Strategy(
        kind,
        name,
        setting,
        items=len(labelled),
        accepted=len(rows),
        errors=int(labelled.wrong[rows, by[rows]].sum()),
        cost=float(asked.sum(axis=0) @ price),
        calls={mode: int(n) for mode, n in zip(labelled.modes, asked.sum(axis=0), strict=True)},
    )


def _accept_all(labelled: Trace, k: int, price: FloatArray) -> Strategy:
    asked = np.zeros((len(labelled), labelled.n_modes), dtype=bool)
    asked[:, k] = True
    by = np.where(labelled.verdicts[:, k] >= 0, k, -1)
    return _strategy(labelled, ACCEPT_ALL, labelled.modes[k], None, by, asked, price)


def _fixed(labelled: Trace, threshold: float, price: FloatArray, last: bool) -> Strategy:
    sure = labelled.scores <= threshold  # NaN is never sure
    if last:
        sure[:, -1] = labelled.verdicts[:, -1] >= 0
    by = np.where(sure.any(axis=1), sure.argmax(axis=1), -1)
    asked = _asked(by, np.arange(labelled.n_modes), labelled.n_modes)
    kind = FIXED_ALL if last else FIXED
    return _strategy(labelled, kind, f"≤ {threshold:g}", threshold, by, asked, price)


def _asked(by: IntArray, order: IntArray, n_modes: int) -> BoolArray:
    """Which modes are asked: those of `order` up to the accepting one, or all of them."""
    asked = np.zeros((len(by), n_modes), dtype=bool)
    for k in order:
        asked[:, k] = (by < 0) | (by >= k)
    return asked


def _certified(labelled: Trace, gate: Router, part: IntArray, price: FloatArray) -> Strategy:
    by = np.full(len(labelled), -1)
    asked = np.zeros((len(labelled), labelled.n_modes), dtype=bool)
    for fold in range(int(part.max()) + 1):
        out = part == fold
        fitted = gate.fresh().fit(labelled.rows(~out))
        rule = fitted.rule_
        held = labelled.rows(out).select(fitted.modes_)
        by[out] = rule.accepted_by(held)
        asked[out] = _asked(by[out], np.flatnonzero(rule.used), labelled.n_modes)
    name = f"alpha {gate.alpha:g}"
    return _strategy(labelled, CERTIFIED, name, gate.alpha, by, asked, price)


def escalation_table(found: Escalation, source: str = "") -> Table:
    """Strategies as a table: coverage, risk, cost, and how often each judge was asked."""
    rows = []
    for s in found.strategies:
        each = UNDEFINED if s.cost_per_accepted is None else f"{s.cost_per_accepted:.3g}"
        asked = f"{sum(s.calls.values()) / s.items:.2f}"
        rows.append(
            (s.kind, s.name, percent(s.accepted / s.items), short_rate(s.risk), each, asked)
        )
    costs = ", ".join(f"{mode} {cost:g}" for mode, cost in found.costs.items())
    notes = (
        f"cost: of an accepted verdict; a verdict costs {costs}. calls: judges asked, an item. Certified "
        f"with delta = {found.delta:g}: each item is decided by a gate that was calibrated on the other "
        f"of {found.folds} parts (seed {found.seed}); intervals are exact, 95 %, of the pooled counts.",
    )
    title = "Accept, escalate or leave it" + (f": {source}" if source else "")
    header = ("strategy", "setting", "coverage", "risk", "cost", "calls")
    return Table(title, header, tuple(rows), notes, left=2)
