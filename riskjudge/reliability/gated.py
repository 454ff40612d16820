"""What stress does to a promise: the risk of one gate, unchanged, on perturbed items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from riskjudge._typing import FloatArray
from riskjudge.data.perturbed import EXPECT, PERTURBATION, PERTURBED, PLAIN, SWAPPED
from riskjudge.judges.judging import gate_modes, trace_of
from riskjudge.judges.protocol import Judge
from riskjudge.judges.source import refuse_other_sources, source_of
from riskjudge.ledger.rows import Row
from riskjudge.reliability.perturbation import Expect
from riskjudge.reliability.stress import Probe
from riskjudge.share import Rate

if TYPE_CHECKING:
    from riskjudge.data.trace import Trace
    from riskjudge.judges.judging import AnyGate


@dataclass(frozen=True)
class RiskUnder:
    """A gate's acceptance and errors under one perturbation.

    Attributes
    ----------
    perturbation : str
        ``plain`` for the items as they came.
    coverage : Rate
        Accepted of all items that were asked about.
    risk : Rate
        Wrong of the accepted ones with a label; its exact interval is that of this line by itself.
    holds : bool or None
        Whether the risk is no more than alpha as far as can be told: False where the whole interval
        lies above alpha; None for a gate without a level.
    """

    perturbation: str
    coverage: Rate
    risk: Rate
    holds: bool | None

    def to_dict(self) -> dict[str, Any]:
        """A dictionary for strict JSON."""
        return {
            "perturbation": self.perturbation,
            "coverage": self.coverage.to_dict(),
            "risk": self.risk.to_dict(),
            "holds": self.holds,
        }


def risk_under(
    gate: AnyGate,
    probes: Sequence[Probe],
    rows: Iterable[Row],
    measure: str | None = None,
    on_mismatch: str = "refuse",
) -> list[RiskUnder]:
    """What a gate accepts, and how much of it is wrong, under each perturbation.

    The promise is about items like those the gate was calibrated on, so nothing here breaks it: it
    says how far it carries. The items should not be those that the gate was calibrated on.

    Parameters
    ----------
    gate : Router, SelectiveGate or FusedGate
        Fitted, or not; its modes are the judges' in their order.
    probes : sequence of Probe
        The plan that was run.
    rows : iterable of Row
        Of the ledger.
    measure : str, optional
        The uncertainty; by default the one that suits each judge.
    on_mismatch : {"refuse", "uncertify"}
        What to do where the gate was fitted on scores that were made in another way.

    Returns
    -------
    list of RiskUnder
        In the order of the plan; perturbations that apply to no item are left out.
    """
    rows, named = list(rows), [judge.mode for judge in probes[0].judges]
    modes = gate_modes(gate, named)
    found = []
    for probe in probes:
        if not probe.items or len(probe.judges) != len(probes[0].judges):
            continue
        trace = trace_of(rows, probe.judges, probe.items, measure, modes)
        options = {} if on_mismatch == "refuse" else {"on_mismatch": on_mismatch}
        outcomes = gate.decide(trace, **options)
        known = outcomes.accepted & trace.labelled
        wrong = int(np.sum(outcomes.verdict[known] != trace.labels[known]))
        risk = Rate(wrong, int(known.sum()))
        alpha = getattr(gate, "alpha", None) if gate.fitted else None
        holds = None if alpha is None or risk.low is None else bool(risk.low <= alpha)
        accepted = Rate(int(outcomes.accepted.sum()), len(trace))
        found.append(RiskUnder(probe.name, accepted, risk, holds))
    return found


def check_gate(
    gate: AnyGate,
    judges: Sequence[Judge],
    measure: str | None = None,
    on_mismatch: str = "refuse",
) -> None:
    """Refuse a gate that was fitted on other modes, or on scores made in another way.

    Parameters
    ----------
    gate : Router, SelectiveGate or FusedGate
        What is to be tested.
    judges : sequence of Judge
        Who will be asked.
    measure : str, optional
        The uncertainty; by default the one that suits each judge.
    on_mismatch : {"refuse", "uncertify"}
        Whether scores of another source are refused.

    Raises
    ------
    InputError
        Naming the difference.
    """
    gate_modes(gate, [judge.mode for judge in judges])
    if gate.fitted:
        sources = [source_of(judge, measure) for judge in judges]
        refuse_other_sources(gate, sources, on_mismatch=on_mismatch)


def stressed_trace(
    probes: Sequence[Probe], rows: Iterable[Row], measure: str | None = None
) -> Trace:
    """One trace of all that was asked: the column `perturbation` says what was done to an item.

    Beside the verdict ``v1`` of the items as they came stands ``stress_flips1``: the share of the
    perturbations that should change nothing, and were answered, under which this verdict changed. It
    needs no label, so it may serve as a signal of the plain rows (``number:stress_flips1``).

    Parameters
    ----------
    probes : sequence of Probe
        The plan that was run.
    rows : iterable of Row
        Of the ledger.
    measure : str, optional
        The uncertainty; by default the one that suits each judge.

    Returns
    -------
    Trace
        Rows of one item share a group; perturbations that not all judges can be asked about are left
        out.
    """
    from riskjudge.data.trace import stack

    rows, whole = list(rows), len(probes[0].judges)
    parts = [p for p in probes if p.items and len(p.judges) == whole]
    trace = stack([trace_of(rows, part.judges, _marked(part), measure) for part in parts])
    for mode, columns in enumerate(trace.columns):
        name = f"stress_flips{columns.verdict.removeprefix('v')}"
        trace.extra[name] = _flip_shares(trace, mode)
    return trace


def _flip_shares(trace: Trace, mode: int) -> FloatArray:
    """How often a mode's verdict on an item changed; NaN for perturbed rows and where nothing tells."""
    import pandas as pd

    facts = trace.extra
    plain = (facts[PERTURBATION] == PLAIN).to_numpy()
    said = np.where(trace.verdicts[:, mode] < 0, np.nan, trace.verdicts[:, mode])
    # Of a pair the same candidate has to win, wherever it stands.
    said = np.where(facts[SWAPPED] == "yes", 1.0 - said, said)
    before = facts[PERTURBED].map(pd.Series(said[plain], index=facts[PERTURBED][plain]))
    told = ~plain & (facts[EXPECT] == Expect.SAME.value) & ~np.isnan(said) & before.notna()
    share = pd.Series(said != before)[told].groupby(facts[PERTURBED][told]).mean()
    return np.where(plain, facts[PERTURBED].map(share), np.nan)


def _marked(probe: Probe) -> Sequence[Any]:
    """Every item with a group and what was done to it, the plain ones and the unswapped, too."""
    return [
        replace(
            item,
            group=item.group or item.id,
            extra={
                PERTURBATION: PLAIN,
                PERTURBED: item.id,
                EXPECT: Expect.SAME.value,
                SWAPPED: "no",
                **item.extra,
            },
        )
        for item in probe.items
    ]
