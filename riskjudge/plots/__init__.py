"""Pictures: one Display a file, computed apart from drawn.

Each has ``from_*`` constructors that compute plain arrays, ``plot(ax=None)`` that draws them, and
``save(*paths)`` that writes PNG, PDF or SVG. matplotlib is loaded by ``plot``, not before.
"""

from riskjudge.plots.coverage import CoverageDisplay
from riskjudge.plots.differences import DifferencesDisplay
from riskjudge.plots.escalation import EscalationDisplay
from riskjudge.plots.fdr import FDRDisplay
from riskjudge.plots.label_width import LabelWidthDisplay
from riskjudge.plots.plane import ThresholdPlaneDisplay
from riskjudge.plots.rates import RatesDisplay
from riskjudge.plots.reliability import ReliabilityDisplay
from riskjudge.plots.risk_coverage import RiskCoverageDisplay
from riskjudge.plots.routing import RoutingDisplay
from riskjudge.plots.signals import SignalsDisplay
from riskjudge.plots.style import save_figure

__all__ = [
    "CoverageDisplay",
    "DifferencesDisplay",
    "EscalationDisplay",
    "FDRDisplay",
    "LabelWidthDisplay",
    "RatesDisplay",
    "ReliabilityDisplay",
    "RiskCoverageDisplay",
    "RoutingDisplay",
    "SignalsDisplay",
    "ThresholdPlaneDisplay",
    "save_figure",
]
