"""Procedures: how a threshold vector is chosen, and what that choice guarantees."""

from dataclasses import fields
from typing import Any

from riskjudge.calibration.certificate import (
    Certificate,
    Guarantee,
    Obstacle,
    Shortfall,
    UnderStress,
)
from riskjudge.calibration.plan import Target
from riskjudge.calibration.power import LabelPlan, plan_labels
from riskjudge.calibration.procedure import PlannedProcedure, Prepared, Procedure
from riskjudge.calibration.procedures.conformal_selection import ConformalSelection
from riskjudge.calibration.procedures.fixed_sequence import FixedSequence
from riskjudge.calibration.procedures.fused import Fused
from riskjudge.calibration.procedures.holm_grid import HolmGrid
from riskjudge.calibration.procedures.hybrid import Hybrid
from riskjudge.calibration.procedures.learned import Learned
from riskjudge.calibration.procedures.portfolio import Portfolio
from riskjudge.calibration.procedures.search import Bonferroni, Pointwise
from riskjudge.calibration.procedures.split_fixed_sequence import SplitFixedSequence
from riskjudge.calibration.sample import Sample
from riskjudge.calibration.selection import Objective
from riskjudge.errors import InputError

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

OF_FUSED_TRACES: dict[str, type[Procedure]] = {Fused.name: Fused}
"""Procedures that work on what a fusion made, and on nothing else."""


def procedure_named(name: str, **options: Any) -> Procedure:
    """A procedure by its name, with options.

    Examples
    --------
    >>> procedure_named("bonferroni").name
    'bonferroni'
    """
    classes = PROCEDURES | OF_FUSED_TRACES
    if name not in classes:
        raise InputError(f"unknown procedure {name!r}; the procedures are {', '.join(PROCEDURES)}")
    cls = classes[name]
    known = [option.name for option in fields(cls)]
    for option in options:
        if option not in known:
            raise InputError(f"{name} has no option {option!r}; its options are {', '.join(known)}")
    return cls(**options)


def default_procedure(n_modes: int) -> Procedure:
    """The best valid procedure: `Hybrid`, for any number of modes, with and without a pool.

    See ``experiments/validity/FINDINGS.md`` for what it was measured against.
    """
    return Hybrid()


__all__ = [
    "OF_FUSED_TRACES",
    "PROCEDURES",
    "Bonferroni",
    "Certificate",
    "ConformalSelection",
    "FixedSequence",
    "Fused",
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
    "Prepared",
    "Procedure",
    "Sample",
    "Shortfall",
    "SplitFixedSequence",
    "Target",
    "UnderStress",
    "default_procedure",
    "plan_labels",
    "procedure_named",
]
