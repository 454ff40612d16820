"""Procedures: how a threshold vector is chosen, and what that choice guarantees."""

from riskjudge.calibration.certificate import Certificate, Guarantee, Shortfall
from riskjudge.calibration.fixed_sequence import FixedSequence
from riskjudge.calibration.plan import Target
from riskjudge.calibration.planning import LabelPlan, plan_labels
from riskjudge.calibration.portfolio import Portfolio
from riskjudge.calibration.procedure import Objective, PlannedProcedure, Procedure
from riskjudge.calibration.sample import Sample
from riskjudge.calibration.search import Bonferroni, Pointwise

PROCEDURES: dict[str, type[Procedure]] = {
    cls.name: cls for cls in (Pointwise, Bonferroni, FixedSequence, Portfolio)
}
"""Every procedure by its name. A new one is added here."""


def default_procedure(n_modes: int) -> Procedure:
    """The best valid procedure for a number of modes."""
    return Portfolio()


__all__ = [
    "PROCEDURES",
    "Bonferroni",
    "Certificate",
    "FixedSequence",
    "Guarantee",
    "LabelPlan",
    "Objective",
    "PlannedProcedure",
    "Pointwise",
    "Portfolio",
    "Procedure",
    "Sample",
    "Shortfall",
    "Target",
    "default_procedure",
    "plan_labels",
]
