"""Procedures: how a threshold vector is chosen, and what that choice guarantees."""

from riskjudge.calibration.certificate import Certificate, Guarantee, Obstacle, Shortfall
from riskjudge.calibration.conformal_selection import ConformalSelection
from riskjudge.calibration.fixed_sequence import FixedSequence
from riskjudge.calibration.holm_grid import HolmGrid
from riskjudge.calibration.hybrid import Hybrid
from riskjudge.calibration.learned import Learned
from riskjudge.calibration.plan import Target
from riskjudge.calibration.planning import LabelPlan, plan_labels
from riskjudge.calibration.portfolio import Portfolio
from riskjudge.calibration.procedure import Objective, PlannedProcedure, Procedure
from riskjudge.calibration.sample import Sample
from riskjudge.calibration.search import Bonferroni, Pointwise
from riskjudge.calibration.split_fixed_sequence import SplitFixedSequence

PROCEDURES: dict[str, type[Procedure]] = {
    cls.name: cls
    for cls in (
        Pointwise,
        Bonferroni,
        FixedSequence,
        SplitFixedSequence,
        Portfolio,
        Learned,
        Hybrid,
        HolmGrid,
        ConformalSelection,
    )
}
"""Every procedure by its name. A new one is added here."""


def default_procedure(n_modes: int) -> Procedure:
    """The best valid procedure: `Hybrid`, for any number of modes, with and without a pool.

    See ``experiments/validity/FINDINGS.md`` for what it was measured against.
    """
    return Hybrid()


__all__ = [
    "PROCEDURES",
    "Bonferroni",
    "Certificate",
    "ConformalSelection",
    "FixedSequence",
    "Guarantee",
    "HolmGrid",
    "Hybrid",
    "LabelPlan",
    "Learned",
    "Objective",
    "Obstacle",
    "PlannedProcedure",
    "Pointwise",
    "Portfolio",
    "Procedure",
    "Sample",
    "Shortfall",
    "SplitFixedSequence",
    "Target",
    "default_procedure",
    "plan_labels",
]
