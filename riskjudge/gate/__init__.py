"""Gates: a calibrated rule that accepts verdicts and declines the rest by name, on disk and in SQL."""

from riskjudge.gate.outcomes import Outcomes, read_outcomes
from riskjudge.gate.router import Router, SelectiveGate, load_gate, procedure_named

__all__ = ["Outcomes", "Router", "SelectiveGate", "load_gate", "procedure_named", "read_outcomes"]
