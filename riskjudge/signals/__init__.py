"""Signals: what is known about an item, calibrated, fused, and certified with the modes as insurance."""

from riskjudge.signals.builtin import parse_signals
from riskjudge.signals.document import read_fusion, write_fusion
from riskjudge.signals.fusion import Fusion, fit_fusion
from riskjudge.signals.gate import FusedGate, load_any_gate
from riskjudge.signals.quality import Quality, estimate_quality
from riskjudge.signals.signal import Cost, Family, Metric, Signal, SignalView
from riskjudge.signals.teaching import fused_trace, split_teaching

__all__ = [
    "Cost",
    "Family",
    "FusedGate",
    "Fusion",
    "Metric",
    "Quality",
    "Signal",
    "SignalView",
    "estimate_quality",
    "fit_fusion",
    "fused_trace",
    "load_any_gate",
    "parse_signals",
    "read_fusion",
    "split_teaching",
    "write_fusion",
]
