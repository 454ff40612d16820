"""How a judge bears surface changes, and what they do to a promise.

:func:`plan_stress` makes perturbed items, :func:`run_stress` asks about them into an ordinary ledger,
:func:`reactions` reads flips, accuracy and confidence from it, :func:`risk_under` the risk of a gate.
Bias-bounded scores (:mod:`.bounded`) and bias indices of stored comparisons (:mod:`.bias`) are beside it.
"""

from riskjudge.reliability.gated import RiskUnder, check_gate, risk_under, stressed_trace
from riskjudge.reliability.perturbation import Expect, Perturbation, Rewrite, perturbed
from riskjudge.reliability.perturbations import (
    DEFAULT,
    PERTURBATIONS,
    Evidence,
    Injection,
    OtherAnswer,
    Repeat,
    Rewritten,
    Swap,
    perturbations_named,
    read_rewrites,
)
from riskjudge.reliability.reaction import Floor, Reaction, check_tolerance, reactions
from riskjudge.reliability.stress import Probe, left_to_ask, plan_stress, run_stress

__all__ = [
    "DEFAULT",
    "PERTURBATIONS",
    "Evidence",
    "Expect",
    "Floor",
    "Injection",
    "OtherAnswer",
    "Perturbation",
    "Probe",
    "Reaction",
    "Repeat",
    "Rewrite",
    "Rewritten",
    "RiskUnder",
    "Swap",
    "check_gate",
    "check_tolerance",
    "left_to_ask",
    "perturbations_named",
    "perturbed",
    "plan_stress",
    "reactions",
    "read_rewrites",
    "risk_under",
    "run_stress",
    "stressed_trace",
]
