"""What would help where nothing certified: tried on the labels at hand, and said with its price."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from riskjudge.calibration import Certificate
from riskjudge.data.trace import Trace
from riskjudge.display.table import percent
from riskjudge.errors import RiskJudgeError
from riskjudge.gate.grouped import GroupedGate
from riskjudge.gate.router import Prepared, Router
from riskjudge.signals.gate import FusedGate

_LEVELS = np.round(np.arange(0.01, 0.505, 0.01), 2)
_FEW = 60  # labels below which teaching a fusion leaves nothing to test

PRICE = (
    "This was tried on the labels at hand. To certify on them again, after this look, is one more chance "
    "to be wrong: take new labels, or accept that the deltas add up (the registry beside the gate counts)."
)


def next_steps(
    gate: Router | GroupedGate | FusedGate, trace: Trace, pool: Trace | None = None
) -> tuple[str, ...]:
    """What would help a gate that certified nothing, the cheapest first; nothing if it did certify.

    Parameters
    ----------
    gate : Router, GroupedGate or FusedGate
        Fitted.
    trace, pool : Trace
        What it was fitted on.

    Returns
    -------
    tuple of str
        The last one says what a second try on the same labels costs.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> label, u = rng.integers(0, 2, 300), rng.random((300, 1))
    >>> trace = Trace.from_arrays(u, label[:, None] ^ (rng.random((300, 1)) < 0.05 + 0.3 * u), label)
    >>> next_steps(Router(0.02).fit(trace), trace)[0]
    'A higher level: --alpha 0.09 is the smallest in reach (accepts 22.9 %).'
    """
    if isinstance(gate, GroupedGate):
        if gate.certified:
            return ()
        one = gate.gate.fresh()
        found = list(_certified("One certificate for all, without --by", _fit(one, trace, pool)))
        return (*found, *_without_a_step(found))
    certificate = gate.certificate_
    if certificate.certified or certificate.look is not None:
        return ()
    found = []
    if certificate.under and isinstance(gate, Router):
        found += _certified(
            "The items as they came, without --robust", _fit(gate.fresh(), trace, pool)
        )
        return (*found, *(_without_a_step(found) if found else ()))
    if isinstance(gate, FusedGate):
        router, prepared = gate.router_, None
    else:
        router, prepared = gate, gate.prepare(trace, pool)
        found += _other_rules(gate, trace, pool)
    found += _more_labels(certificate)
    if prepared is not None:
        found += _smallest_level(router, prepared)
    return (*found, *_without_a_step(found))


def _without_a_step(found: list[str]) -> tuple[str, ...]:
    if found:
        return (PRICE,)
    return (
        "Nothing that was tried helps: these scores hardly tell right verdicts from wrong ones. Another "
        "prompt, model or measure of uncertainty would (riskjudge plot reliability shows how bad it is).",
    )


def _other_rules(gate: Router, trace: Trace, pool: Trace | None) -> Iterator[str]:
    if trace.grading is not None and trace.grading.numeric:
        return
    if not gate.splits_verdicts and gate.path is None and gate.procedure is None:
        by_verdict = gate.fresh().set_params(by_verdict=True)
        yield from _certified(
            "A threshold for each verdict: --by-verdict", _fit(by_verdict, trace, pool)
        )
    if gate.max_retrieval is None and np.count_nonzero(trace.labelled) >= _FEW:
        fused = FusedGate(gate.alpha, gate.delta, groups=gate.groups, seed=gate.seed)
        yield from _certified("All signals together: --fuse", _fit(fused, trace, pool))


def _fit(gate: Router | FusedGate, trace: Trace, pool: Trace | None) -> Certificate | None:
    try:
        return gate.fit(trace, pool).certificate_
    except RiskJudgeError:  # the data do not allow it: no step here
        return None


def _certified(what: str, certificate: Certificate | None) -> Iterator[str]:
    if certificate is not None and certificate.certified:
        yield f"{what} certifies here, and accepts {percent(certificate.coverage)}."


def _more_labels(certificate: Certificate) -> Iterator[str]:
    shortfall = certificate.shortfall
    if shortfall is not None and shortfall.labels_needed is not None:
        have = certificate.n + certificate.n_reserved
        yield (
            f"More labels: about {shortfall.labels_needed} new ones in place of these {have}, if error "
            "rate and coverage stay what they are (riskjudge plan tells for other rates)."
        )


def _smallest_level(gate: Router, prepared: Prepared) -> Iterator[str]:
    """Level by level, because a certificate at one level is mostly, not always, one at the next."""
    levels = [float(level) for level in _LEVELS if level > gate.alpha]
    if not levels or gate.path is not None:
        return
    if not gate.certify(prepared.sample, levels[-1]).certified:
        return
    for level in levels:
        certificate = gate.certify(prepared.sample, level)
        if certificate.certified:
            accepts = percent(certificate.coverage)
            yield f"A higher level: --alpha {level:g} is the smallest in reach (accepts {accepts})."
            return
