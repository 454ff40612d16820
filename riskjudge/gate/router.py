"""Gates: a calibrated rule that accepts verdicts, and declines the rest by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from riskjudge import counts
from riskjudge._typing import FloatArray
from riskjudge.calibration import (
    OF_FUSED_TRACES,
    PROCEDURES,
    Certificate,
    FixedSequence,
    Portfolio,
    Procedure,
    Sample,
    default_procedure,
)
from riskjudge.calibration.sample import scores_by_verdict
from riskjudge.data.trace import ModeColumns, Trace
from riskjudge.errors import InputError, NotFittedError
from riskjudge.gate import outcomes
from riskjudge.gate.labels import LabelPrints
from riskjudge.gate.lineage import GatePath, labels_behind
from riskjudge.gate.outcomes import Outcomes
from riskjudge.gate.path import PathSource, Vectors, vectors_of
from riskjudge.gate.rows import ONE_OF_EACH_GROUP, rows_to_fit_on


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """Labelled items ready for a procedure, and what was left out on the way."""

    sample: Sample
    labelled: Trace
    n_pool: int
    notes: tuple[str, ...]


class _Gate(BaseEstimator, ABC):  # type: ignore[misc]
    """What :class:`SelectiveGate` and :class:`Router` share."""

    kind: ClassVar[str]

    alpha: float
    delta: float
    procedure: str | Procedure | None
    path: PathSource | None
    by_verdict: bool
    groups: str
    max_retrieval: float | None
    alpha_pass: float | None
    alpha_fail: float | None
    unfitted: str
    seed: int

    certificate_: Certificate
    columns_: tuple[ModeColumns, ...]
    fingerprint_: str
    labels_: LabelPrints | None
    path_labels_: LabelPrints | None
    notes_: tuple[str, ...]
    n_labelled_: int
    n_pool_: int

    def fit(self, trace: Trace, pool: Trace | None = None) -> Self:
        """Calibrate on the labelled items of a trace.

        Parameters
        ----------
        trace : Trace
            Labelled items. Unlabelled ones among them serve as the pool.
        pool : Trace, optional
            Further unlabelled items. They must be independent of the labelled ones: drawn from the
            same population, and not chosen by a look at the labels. The items still to be judged
            will do.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If there is no labelled item, only one label occurs, items depend on one another (see
            `groups`), or the pool holds labelled items.
        """
        prepared = self.prepare(trace, pool)
        labels = np.unique(prepared.labelled.labels)
        if len(labels) == 1:
            raise InputError(
                f"all {len(prepared.labelled)} labels are {labels[0]}: calibration needs items of "
                "both classes (is it the right label column?)"
            )
        fingerprint, used = prepared.labelled.fingerprint(), LabelPrints.of(prepared.labelled)
        path_labels = labels_behind(self.path, used, fingerprint)  # refuses a path that saw these
        self.adopt(trace, prepared, self.certify(prepared.sample, self.alpha))
        self.path_labels_ = path_labels
        return self

    def adopt(self, trace: Trace, prepared: Prepared, certificate: Certificate) -> None:
        """The end of :meth:`fit`: take over a certificate of prepared items."""
        if len(prepared.labelled) < np.count_nonzero(trace.labelled):
            assumptions = (*certificate.assumptions, ONE_OF_EACH_GROUP)
            certificate = replace(certificate, assumptions=assumptions)
        self.certificate_ = certificate
        self.columns_ = prepared.labelled.columns
        self.fingerprint_ = prepared.labelled.fingerprint()
        self.labels_ = LabelPrints.of(prepared.labelled)
        self.path_labels_ = None
        self.notes_ = prepared.notes
        self.n_labelled_ = len(prepared.labelled)
        self.n_pool_ = prepared.n_pool

    def prepare(self, trace: Trace, pool: Trace | None = None) -> Prepared:
        """The first half of :meth:`fit`: what the procedure will see. The risk level plays no part,
        so a sweep over levels prepares once."""
        trace = trace.select(self._modes(trace))
        labelled, unlabelled, notes = rows_to_fit_on(trace, pool, self.groups, self.seed)
        return Prepared(
            self.sample_of(labelled, unlabelled),
            labelled,
            0 if unlabelled is None else len(unlabelled),
            notes,
        )

    def sample_of(self, labelled: Trace, pool: Trace | None = None) -> Sample:
        """Labelled items as a procedure sees them: the gate's modes, split by verdict if asked for."""
        modes = self._modes(labelled)
        labelled = labelled.select(modes)
        pool = None if pool is None else pool.select(modes)
        sample = Sample(
            labelled.scores,
            labelled.verdicts,
            labelled.labels,
            modes,
            None if pool is None else pool.scores,
            None if pool is None else pool.verdicts,
        )
        both = self.alpha_pass is not None or self.alpha_fail is not None
        return sample.by_verdict() if self.by_verdict or both else sample

    def procedure_for(self, n_modes: int) -> Procedure:
        """The procedure that the gate's settings name, or the default.

        A `path` is tested as a fixed sequence.
        """
        if self.path is not None:
            if self.procedure not in (None, FixedSequence.name):
                raise InputError(
                    f"a path is tested as a {FixedSequence.name}; leave the procedure out, got "
                    f"{self.procedure!r}"
                )
            return FixedSequence(path=vectors_of(self.path))
        if isinstance(self.procedure, Procedure):
            return self.procedure
        if self.procedure is None and (self.alpha_pass, self.alpha_fail) != (None, None):
            return Portfolio()  # it has chains on which one kind of verdict goes ahead
        if self.procedure is None:
            return default_procedure(n_modes)
        return procedure_named(self.procedure)

    def certify(self, sample: Sample, alpha: float) -> Certificate:
        """The second half of :meth:`fit`, at any risk level; the gate itself is not changed."""
        return self.procedure_for(len(sample.modes) // sample.columns_per_mode).certify(
            sample,
            alpha,
            self.delta,
            max_retrieval=self.max_retrieval,
            alpha_pass=self.alpha_pass,
            alpha_fail=self.alpha_fail,
            seed=self.seed,
        )

    def decide(self, trace: Trace) -> Outcomes:
        """Accept, abstain or fail, item by item. Labels are carried along and not used.

        An unfitted gate lets the first mode's verdicts through, uncertified (``unfitted="pass"``),
        or declines everything (``unfitted="abstain"``). A fitted gate whose region is empty
        declines everything. Where some of the items were calibrated on, the outcomes carry a column
        ``calibrated_on``.
        """
        self._check_unfitted()
        trace = trace.select(self.modes_ if self.fitted else self._modes(trace))
        if self.fitted and self.labels_ is not None:
            trace = outcomes.mark_calibrated(trace, self.labels_)
        if not self.fitted:
            if self.unfitted == "abstain":
                return outcomes.decline_all(trace, certified=False)
            return outcomes.pass_through(trace)
        thresholds = self.thresholds_
        if thresholds is None:
            return outcomes.decline_all(trace, certified=True)
        scores = trace.scores
        if thresholds.ndim == 2:
            scores = scores_by_verdict(scores, trace.verdicts)
        column = counts.route(scores, thresholds.ravel())
        per_mode = thresholds.size // len(self.columns_)
        accepted_by = np.where(column >= 0, column // per_mode, -1)
        return outcomes.decide_all(trace, accepted_by, outcomes.used_modes(thresholds))

    @property
    def fitted(self) -> bool:
        """Whether :meth:`fit` was called (or the gate was loaded fitted)."""
        return hasattr(self, "certificate_")

    @property
    def path_(self) -> Vectors:
        """The tested sequence that the chosen thresholds stand on, at most 200 vectors.

        Another gate may take it over: ``Router(path=this)``.
        """
        self._check_fitted()
        return GatePath.of(self)

    @property
    def modes_(self) -> tuple[str, ...]:
        """Names of the fitted modes."""
        self._check_fitted()
        return tuple(mode.name for mode in self.columns_)

    @property
    def thresholds_(self) -> FloatArray | None:
        """Thresholds, ``-inf`` for "no threshold"; None for "accept nothing".

        Shape (K,), or (K, 2) with one for each verdict.
        """
        self._check_fitted()
        if self.certificate_.thresholds is None:
            return None
        flat = [counts.NONE if t is None else t for t in self.certificate_.thresholds.values()]
        thresholds = np.array(flat, dtype=np.float64)
        by_verdict = len(thresholds) > len(self.columns_)
        return thresholds.reshape(-1, 2) if by_verdict else thresholds

    def to_sql(self, value: str = "mode", dialect: str = "ansi") -> str:
        """The routing rule as an SQL CASE expression over the trace's columns.

        Parameters
        ----------
        value : str
            ``mode`` gives the accepting mode's name, ``verdict`` its verdict; both are NULL where
            the gate declines. Rows with a NULL score or verdict are not accepted by that mode.
        dialect : str
            One of :data:`riskjudge.gate.sql.DIALECTS`: how names are quoted and numbers told from
            texts.

        Examples
        --------
        >>> trace = Trace.from_arrays(np.linspace(0, 0.6, 200)[:, None], np.ones((200, 1), int),
        ...                           (np.arange(200) < 160).astype(int))
        >>> gate = SelectiveGate(alpha=0.2, procedure="pointwise").fit(trace)
        >>> print(gate.to_sql())
        CASE
          WHEN v1 IN (0, 1)
            AND u1 BETWEEN -1.7976931348623157e+308 AND 0.563819095477387e0
            THEN 'mode1'
          ELSE NULL
        END
        """
        from riskjudge.gate.sql import sql_case

        self._check_fitted()
        return sql_case(self.columns_, self.thresholds_, value, dialect)

    def save(self, path: str | Path) -> None:
        """Write the gate as versioned JSON, whole or not at all."""
        from riskjudge.gate.document import write_gate

        write_gate(self, path)

    @abstractmethod
    def _modes(self, trace: Trace) -> tuple[str, ...]:
        """Names of the trace's modes that the gate is about."""

    def __sklearn_clone__(self) -> Self:
        # By default a gate given as `path` would be cloned too, and lose what it is given for.
        return type(self)(**self.get_params(deep=False))

    def _check_fitted(self) -> None:
        if not self.fitted:
            raise NotFittedError(f"this {type(self).__name__} is not fitted; call fit(trace) first")

    def _check_unfitted(self) -> None:
        if self.unfitted not in ("pass", "abstain"):
            raise InputError(f"unfitted must be 'pass' or 'abstain', got {self.unfitted!r}")


class SelectiveGate(_Gate):
    """Accept the verdicts of one mode, where they are sure enough.

    Parameters
    ----------
    alpha : float
        Largest tolerated error rate among accepted verdicts.
    delta : float
        Largest tolerated probability that the calibration breaks that promise.
    mode : str, optional
        Which of the trace's modes; the first by default.
    procedure : str or Procedure, optional
        By name or as an object; the best valid one by default.
    path : fitted gate, file name or list of threshold vectors, optional
        Knowledge from elsewhere, in place of a procedure: the sequence that a gate fitted on *other*
        items found worth testing is tested on these, in its order. No label is spent on finding an
        order. The promise holds whatever the path is; coverage is good if the scores mean about the
        same there and here.
    by_verdict : bool
        Give each verdict a threshold of its own.
    groups : {"refuse", "sample"}
        What to do where labelled items share a group.
    unfitted : {"pass", "abstain"}
        What an unfitted gate does: let everything through uncertified, so that the evidence a region
        will be fitted from is not censored, or decline everything.
    seed : int
        Seeds the random splits of the procedures, and the draw from groups.
    alpha_pass, alpha_fail : float, optional
        Largest tolerated error rate among the accepted verdicts 1 and 0, each by itself; thresholds
        are then by verdict. `alpha` stays the level of all accepted verdicts together.

    Attributes
    ----------
    certificate_ : Certificate
    thresholds_ : ndarray or None
    notes_ : tuple of str
        What was left out or set aside.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> u = rng.random((2000, 1))
    >>> label = rng.integers(0, 2, 2000)
    >>> verdict = label[:, None] ^ (rng.random((2000, 1)) < 0.4 * u)
    >>> gate = SelectiveGate(alpha=0.1).fit(Trace.from_arrays(u, verdict, label))
    >>> gate.certificate_.certified, str(gate.certificate_.guarantee)
    (True, 'high_probability')
    """

    kind: ClassVar[str] = "selective_gate"

    def __init__(
        self,
        alpha: float = 0.1,
        delta: float = 0.05,
        *,
        mode: str | None = None,
        procedure: str | Procedure | None = None,
        path: PathSource | None = None,
        by_verdict: bool = False,
        groups: str = "refuse",
        unfitted: str = "pass",
        seed: int = 0,
        alpha_pass: float | None = None,
        alpha_fail: float | None = None,
    ) -> None:
        self.alpha = alpha
        self.delta = delta
        self.mode = mode
        self.procedure = procedure
        self.path = path
        self.by_verdict = by_verdict
        self.groups = groups
        self.unfitted = unfitted
        self.seed = seed
        self.alpha_pass = alpha_pass
        self.alpha_fail = alpha_fail

    max_retrieval = None

    def _modes(self, trace: Trace) -> tuple[str, ...]:
        return (self.mode if self.mode is not None else trace.modes[0],)


class Router(_Gate):
    """Accept the first mode that is sure enough, in order; decline if none is (Eq. 9 of the paper).

    Parameters
    ----------
    alpha, delta, procedure, path, by_verdict, groups, unfitted, seed, alpha_pass, alpha_fail
        As in :class:`SelectiveGate`.
    max_retrieval : float, optional
        Largest tolerated share of items sent past the first mode, certified together with the risk.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> u = rng.random((2000, 2))
    >>> label = rng.integers(0, 2, 2000)
    >>> verdict = label[:, None] ^ (rng.random((2000, 2)) < [0.6, 0.4] * u)
    >>> trace = Trace.from_arrays(u, verdict, label, modes=["parametric", "retrieval"])
    >>> router = Router(alpha=0.15).fit(trace)
    >>> router.modes_, router.certificate_.certified
    (('parametric', 'retrieval'), True)
    """

    kind: ClassVar[str] = "router"

    def __init__(
        self,
        alpha: float = 0.1,
        delta: float = 0.05,
        *,
        procedure: str | Procedure | None = None,
        path: PathSource | None = None,
        by_verdict: bool = False,
        groups: str = "refuse",
        max_retrieval: float | None = None,
        unfitted: str = "pass",
        seed: int = 0,
        alpha_pass: float | None = None,
        alpha_fail: float | None = None,
    ) -> None:
        self.alpha = alpha
        self.delta = delta
        self.procedure = procedure
        self.path = path
        self.by_verdict = by_verdict
        self.groups = groups
        self.max_retrieval = max_retrieval
        self.unfitted = unfitted
        self.seed = seed
        self.alpha_pass = alpha_pass
        self.alpha_fail = alpha_fail

    def _modes(self, trace: Trace) -> tuple[str, ...]:
        return trace.modes


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


def load_gate(path: str | Path) -> Any:
    """Read a gate that ``save`` wrote: a SelectiveGate, a Router or a GroupedGate."""
    from riskjudge.gate.document import read_gate

    return read_gate(path)
