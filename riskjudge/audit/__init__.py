"""Audits: does a procedure keep its promise where the truth is known, and what does it leave?"""

from riskjudge.audit.cells import Cell, CellCache, Setting, Verdict, judge, label_of
from riskjudge.audit.resample import TraceWorld
from riskjudge.audit.run import audit
from riskjudge.audit.scenarios import SCENARIOS, Mode, Scenario
from riskjudge.audit.summary import (
    ProcedureSummary,
    cells_table,
    in_words,
    promises_kept,
    summarize,
    summary_table,
)
from riskjudge.audit.truth import Population
from riskjudge.audit.worlds import PaperWorld, ScenarioWorld, World, worlds_named

__all__ = [
    "SCENARIOS",
    "Cell",
    "CellCache",
    "Mode",
    "PaperWorld",
    "Population",
    "ProcedureSummary",
    "Scenario",
    "ScenarioWorld",
    "Setting",
    "TraceWorld",
    "Verdict",
    "World",
    "audit",
    "cells_table",
    "in_words",
    "judge",
    "label_of",
    "promises_kept",
    "summarize",
    "summary_table",
    "worlds_named",
]
