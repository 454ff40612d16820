"""Numbers for people: counts, rates with exact intervals, and tables of them."""

from riskjudge.report.summary import Insufficient, Rate, Report, Segment, summarize
from riskjudge.report.table import Table

__all__ = ["Insufficient", "Rate", "Report", "Segment", "Table", "summarize"]
