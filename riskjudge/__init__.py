"""riskjudge: which verdicts of my LLM judge may I trust?

A labelled trace of judge verdicts goes in, a certificate comes out:

>>> import riskjudge
>>> trace = riskjudge.demo_trace()
>>> router = riskjudge.Router(alpha=0.15).fit(trace)
>>> router.certificate_.certified
True

Names are loaded when they are first used, so that ``import riskjudge`` stays quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from riskjudge._version import __version__

if TYPE_CHECKING:
    from riskjudge.calibration import Certificate, Guarantee, Sample, plan_labels
    from riskjudge.data.modes import ModeColumns
    from riskjudge.data.trace import Trace, read_trace
    from riskjudge.data.verdict import AbstainReason, FailureKind, ItemStatus
    from riskjudge.demo import demo_trace
    from riskjudge.errors import InputError, NotFittedError, OperationalError, RiskJudgeError
    from riskjudge.evaluation import Report, summarize
    from riskjudge.evaluation.splits import Sweep, sweep
    from riskjudge.gate import Router, SelectiveGate, load_gate
    from riskjudge.gate.outcomes import Outcomes, read_outcomes
    from riskjudge.signals import FusedGate, estimate_quality

_HOME = {
    "AbstainReason": "data.verdict",
    "Certificate": "calibration",
    "FailureKind": "data.verdict",
    "FusedGate": "signals",
    "Grading": "data.grading",
    "Guarantee": "calibration",
    "InputError": "errors",
    "ItemStatus": "data.verdict",
    "ModeColumns": "data.modes",
    "NotFittedError": "errors",
    "OperationalError": "errors",
    "Outcomes": "gate",
    "Report": "evaluation",
    "RiskJudgeError": "errors",
    "Router": "gate",
    "Sample": "calibration",
    "SelectiveGate": "gate",
    "Sweep": "evaluation",
    "Trace": "data.trace",
    "demo_trace": "demo",
    "estimate_quality": "signals",
    "load_gate": "gate",
    "plan_labels": "calibration",
    "read_outcomes": "gate",
    "read_trace": "data.trace",
    "summarize": "evaluation",
    "sweep": "evaluation",
}

__all__ = [
    "AbstainReason",
    "Certificate",
    "FailureKind",
    "FusedGate",
    "Grading",
    "Guarantee",
    "InputError",
    "ItemStatus",
    "ModeColumns",
    "NotFittedError",
    "OperationalError",
    "Outcomes",
    "Report",
    "RiskJudgeError",
    "Router",
    "Sample",
    "SelectiveGate",
    "Sweep",
    "Trace",
    "__version__",
    "demo_trace",
    "estimate_quality",
    "load_gate",
    "plan_labels",
    "read_outcomes",
    "read_trace",
    "summarize",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f"riskjudge.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'riskjudge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
