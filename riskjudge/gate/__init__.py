"""Gates: a calibrated rule that accepts verdicts and declines the rest by name, on disk and in SQL."""

from riskjudge.calibration import procedure_named
from riskjudge.gate.load import load_gate, load_router
from riskjudge.gate.outcomes import Outcomes, read_outcomes
from riskjudge.gate.router import Router
from riskjudge.gate.selective import SelectiveGate

__all__ = [
    "Outcomes",
    "Router",
    "SelectiveGate",
    "load_gate",
    "load_router",
    "procedure_named",
    "read_outcomes",
]
