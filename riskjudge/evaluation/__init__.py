"""Numbers for people: the split protocol; counts, rates with exact intervals, tables of them."""

from riskjudge.evaluation.splits import PAPER_ALPHAS, Sweep, sweep
from riskjudge.evaluation.summary import Insufficient, Report, Segment, summarize
from riskjudge.share import Rate

__all__ = [
    "PAPER_ALPHAS",
    "Insufficient",
    "Rate",
    "Report",
    "Segment",
    "Sweep",
    "summarize",
    "sweep",
]
