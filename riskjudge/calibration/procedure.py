"""The one interface of all procedures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from numbers import Real
from typing import Any, ClassVar

from riskjudge._checks import check_count
from riskjudge.calibration.certificate import Certificate, Guarantee
from riskjudge.calibration.make_certificate import make_certificate
from riskjudge.calibration.plan import Plan, Target, run_family
from riskjudge.calibration.sample import Sample
from riskjudge.calibration.selection import Objective, Selection, choose
from riskjudge.errors import InputError

Selector = Callable[[Target], Selection]
Planner = Callable[[Target], Plan]


@dataclass(frozen=True, kw_only=True)
class Procedure(ABC):
    """How a threshold vector is chosen from labelled items, and what that choice guarantees.

    A procedure is a frozen dataclass: its fields are its options, so it can be printed, compared,
    cloned and stored. To add one, subclass :class:`PlannedProcedure`, write ``planner`` and a
    docstring with the proof, and list the class in ``riskjudge.calibration.PROCEDURES``.

    Calibration has two steps. :meth:`prepare` does once, for a sample and a seed, what does not
    depend on the risk level; :meth:`Prepared.certify` does the rest at each level.

    Parameters
    ----------
    objective : str
        See :class:`Objective`.
    min_coverage : float
        Coverage that ``cheapest`` must reach.
    """

    name: ClassVar[str]
    guarantee: ClassVar[Guarantee]
    tests_variants: ClassVar[bool] = False
    """Whether rules are tested under perturbations, too, where the sample holds any."""

    objective: str = Objective.COVERAGE_THEN_COST
    min_coverage: float = 0.0

    def __post_init__(self) -> None:
        for option in fields(self):
            default, value = option.default, getattr(self, option.name)
            if isinstance(default, int) and not isinstance(default, bool):
                check_count(value, option.name)
            # Compared as it is: a whole number may be too large for a float.
            number: Any = value
            if isinstance(default, float) and (
                isinstance(value, bool) or not isinstance(value, Real) or not 0 <= number <= 1
            ):
                raise InputError(f"{option.name} must be a number from 0 to 1, got {value!r}")
        if self.objective not in list(Objective):
            known = ", ".join(Objective)
            raise InputError(f"unknown objective {self.objective!r}; the objectives are {known}")

    @abstractmethod
    def selector(self, sample: Sample, seed: int) -> Selector:
        """Do what does not depend on the target; the result chooses a rule for each target."""

    def prepare(self, sample: Sample, seed: int = 0) -> Prepared:
        """Do what does not depend on the risk level, for :meth:`Prepared.certify` at many of them.

        Parameters
        ----------
        sample : Sample
            Labelled items, one independent draw each.
        seed : int
            Seeds whatever the procedure draws (only splits are random).
        """
        check_count(seed, "seed", least=0)
        if sample.variants and not self.tests_variants:
            raise InputError(
                f"{self.name} tests no rule under perturbations; use one of the planned procedures, such "
                "as hybrid"
            )
        return Prepared(self, sample, self.selector(sample, seed), seed)

    def certify(
        self,
        sample: Sample,
        alpha: float,
        delta: float,
        *,
        max_retrieval: float | None = None,
        alpha_pass: float | None = None,
        alpha_fail: float | None = None,
        min_tpr: float | None = None,
        min_tnr: float | None = None,
        seed: int = 0,
    ) -> Certificate:
        """Calibrate: choose thresholds and state what they promise.

        Parameters
        ----------
        sample : Sample
            Labelled items, one independent draw each.
        alpha, delta : float
            Risk level and significance, both strictly between 0 and 1.
        max_retrieval : float, optional
            Largest tolerated share of items sent past the first mode; see :class:`Target`.
        alpha_pass, alpha_fail : float, optional
            Levels of the accepted verdicts 1 and 0 by themselves; see :class:`Target`.
        min_tpr, min_tnr : float, optional
            Smallest rates of right verdicts among accepted items of label 1 and 0; see :class:`Target`.
        seed : int
            Seeds whatever the procedure draws (only splits are random).
        """
        target = Target(alpha, delta, max_retrieval, alpha_pass, alpha_fail, min_tpr, min_tnr)
        return self.prepare(sample, seed).certify_at(target)

    def options(self) -> dict[str, Any]:
        """The procedure's settings, JSON-ready."""
        return asdict(self) | {"objective": str(self.objective)}


class PlannedProcedure(Procedure):
    """A procedure that writes down its tests before it looks at the labels it tests on."""

    guarantee: ClassVar[Guarantee] = Guarantee.HIGH_PROBABILITY
    tests_variants: ClassVar[bool] = True

    @abstractmethod
    def planner(self, sample: Sample, seed: int) -> Planner:
        """Do what does not depend on the target; the result writes the plan for each target.

        See :mod:`riskjudge.calibration.plan` for plans and what they guarantee.
        """

    def selector(self, sample: Sample, seed: int) -> Selector:
        planner = self.planner(sample, seed)

        def select(target: Target) -> Selection:
            plan = planner(target)
            if sample.pool_scores is not None:
                plan = replace(plan, assumptions=(*plan.assumptions, INDEPENDENT_POOL))
            tested = [run_family(family, target) for family in plan.families if family.chains]
            return choose(plan, tested, sample, target, self.objective, self.min_coverage)

        return select


INDEPENDENT_POOL = "the unlabelled pool is independent of the calibration items"


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A procedure on one sample, ready for any risk level: what does not depend on it is done."""

    procedure: Procedure
    sample: Sample
    select: Selector
    seed: int

    def certify(
        self, alpha: float, delta: float, *, max_retrieval: float | None = None
    ) -> Certificate:
        """See :meth:`Procedure.certify`."""
        return self.certify_at(Target(alpha, delta, max_retrieval))

    def certify_at(self, target: Target) -> Certificate:
        """The certificate for a target."""
        return make_certificate(
            self.select(target),
            self.sample,
            target,
            procedure=self.procedure.name,
            guarantee=self.procedure.guarantee,
            options=self.procedure.options(),
            seed=self.seed,
        )
