"""The router: a calibrated rule that accepts verdicts, and declines the rest by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from riskjudge._typing import FloatArray
from riskjudge.binomial import min_accepted
from riskjudge.calibration import (
    Certificate,
    FixedSequence,
    Portfolio,
    Procedure,
    Sample,
    Target,
    default_procedure,
    procedure_named,
)
from riskjudge.data.grading import Grading
from riskjudge.data.modes import ModeColumns
from riskjudge.data.source import ScoreSource
from riskjudge.data.trace import Trace, as_trace
from riskjudge.errors import InputError, NotFittedError
from riskjudge.gate import outcomes
from riskjudge.gate.binding import assumed_of, mismatches, refuse_mismatch, refuse_other_grading
from riskjudge.gate.document import BY_KIND, BY_VERDICT, sealed, write_document
from riskjudge.gate.labels import LabelPrints, fingerprint_of
from riskjudge.gate.outcomes import Outcomes
from riskjudge.gate.parameters import Parameters
from riskjudge.gate.path import GatePath, PathSource, Vectors, refuse_seen_labels, resolved_path
from riskjudge.gate.rows import ONE_OF_EACH_GROUP, rows_to_fit_on
from riskjudge.gate.rule import Rule
from riskjudge.gate.sql import sql_case
from riskjudge.gate.stressed import variants_of

if TYPE_CHECKING:
    import pandas as pd

ON_MISMATCH = ("refuse", "uncertify")


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """Labelled items ready for a procedure, and what was left out on the way.

    Attributes
    ----------
    sample : Sample
    labelled : Trace
    n_pool : int
    notes : tuple of str
    """

    sample: Sample
    labelled: Trace
    n_pool: int
    notes: tuple[str, ...]


class Router(Parameters):
    """Accept the first mode that is sure enough, in order; decline if none is (Eq. 9 of the paper).

    Parameters
    ----------
    alpha : float
        Largest tolerated error rate among accepted verdicts.
    delta : float
        Largest tolerated probability that the calibration breaks that promise.
    procedure : str or Procedure, optional
        By name or as an object; the best valid one by default.
    path : fitted gate, file name or list of threshold vectors, optional
        Knowledge from elsewhere, in place of a procedure: the sequence that a gate fitted on *other*
        items found worth testing is tested on these, in its order. No label is spent on finding an
        order. The promise holds whatever the path is; coverage is good if the scores mean about the
        same there and here.
    by_verdict : bool
        Give each verdict of a mode a threshold of its own.
    groups : {"refuse", "sample"}
        What to do where labelled items share a group.
    max_retrieval : float, optional
        Largest tolerated share of items sent past the first mode, certified together with the risk.
    unfitted : {"pass", "abstain"}
        What an unfitted gate does: let everything through uncertified, so that the evidence a region
        will be fitted from is not censored, or decline everything.
    seed : int
        Seeds the random splits of the procedures, and the draw from groups.
    alpha_pass, alpha_fail : float, optional
        Largest tolerated error rate among the accepted verdicts 1 and 0, each by itself; thresholds
        are then by verdict. `alpha` stays the level of all accepted verdicts together.
    min_tpr, min_tnr : float, optional
        Smallest tolerated share of right verdicts among the accepted items of label 1 and of label 0,
        each by itself.

    Attributes
    ----------
    certificate_ : Certificate
    columns_ : tuple of ModeColumns
        The fitted modes, in the order in which they are asked.
    sources_ : tuple of ScoreSource or None
        What made each mode's scores; the gate refuses scores of another source.
    notes_ : tuple of str
        What was left out or set aside.
    grading_ : Grading or None
        How scores were made verdicts; the gate refuses verdicts made otherwise.
    n_labelled_, n_pool_ : int
    promotions_ : mapping of str to str
        Modes whose judge has to be promoted, and the file that says so (beside the gate's own).

    Notes
    -----
    Follows scikit-learn's manners as far as they make sense: settings are parameters,
    ``get_params``, ``set_params`` and ``sklearn.base.clone`` work, what is fitted ends in an
    underscore, ``fit`` takes a table and ``score`` says how much is accepted, so that
    ``GridSearchCV(Router(), {"by_verdict": [False, True]}, refit=False).fit(table)`` works. It is no
    scikit-learn classifier: verdicts, scores and labels are columns of one table.

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

    certificate_: Certificate
    columns_: tuple[ModeColumns, ...]
    sources_: tuple[ScoreSource | None, ...]
    grading_: Grading | None
    fingerprint_: str
    labels_: LabelPrints | None
    path_labels_: LabelPrints | None
    notes_: tuple[str, ...]
    n_labelled_: int
    n_pool_: int
    promotions_: Mapping[str, str] = MappingProxyType({})
    pool_fingerprint_: str | None

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
        min_tpr: float | None = None,
        min_tnr: float | None = None,
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
        self.min_tpr = min_tpr
        self.min_tnr = min_tnr

    def fit(
        self,
        trace: Trace | pd.DataFrame,
        pool: Trace | pd.DataFrame | None = None,
        stressed: Mapping[str, Trace] | None = None,
    ) -> Self:
        """Calibrate on the labelled items of a trace.

        Parameters
        ----------
        trace : Trace or DataFrame
            Labelled items. Unlabelled ones among them serve as the pool. A table is read as
            :meth:`.Trace.from_frame` reads it, its labels in the column ``label``.
        pool : Trace or DataFrame, optional
            Further unlabelled items. They must be independent of the labelled ones: drawn from the
            same population, and not chosen by a look at the labels. The items still to be judged
            will do.
        stressed : mapping of str to Trace, optional
            The labelled items once more, under named perturbations; the promise is then certified under
            each of them as well (see :class:`.Target`, and :mod:`riskjudge.gate.stressed` for the rows).

        Returns
        -------
        self

        Raises
        ------
        InputError
            If there is no labelled item, only one label occurs, items depend on one another (see
            `groups`), or the pool holds labelled items or scores of another source.
        """
        trace = as_trace(trace)
        prepared = self.prepare(trace, None if pool is None else as_trace(pool))
        if stressed:
            prepared = self._under_stress(prepared, stressed)
        labelled = prepared.labelled
        self.refuse_one_label(labelled)
        fingerprint, used = labelled.fingerprint(), LabelPrints.of(labelled)
        path = None if self.path is None else resolved_path(self.path)
        path_labels = None if path is None else refuse_seen_labels(path, used, fingerprint)
        certificate = self.certify(prepared.sample, self.alpha, path)
        if stressed:
            without = self.certify(replace(prepared.sample, variants={}), self.alpha, path)
            certificate = replace(certificate, coverage_unstressed=without.coverage)
        self.adopt(trace, prepared, certificate)
        self.path_labels_ = path_labels
        return self

    @staticmethod
    def refuse_one_label(labelled: Trace) -> None:
        """Raise where all labels are the same: then it is hardly the column that was meant."""
        labels = np.unique(labelled.labels)
        if len(labels) == 1:
            raise InputError(
                f"all {len(labelled)} labels are {labelled.shown(labels)[0]}: calibration needs items "
                "of both classes (is it the right label column?)"
            )

    def adopt(self, trace: Trace, prepared: Prepared, certificate: Certificate) -> None:
        """The end of :meth:`fit`: take over a certificate of prepared items."""
        labelled = prepared.labelled
        more = [assumed_of(labelled)]
        if labelled.grading is not None:
            more.append(labelled.grading.defines)
        if len(labelled) < np.count_nonzero(trace.labelled):
            more.append(ONE_OF_EACH_GROUP)
        self.certificate_ = replace(certificate, assumptions=(*certificate.assumptions, *more))
        self.columns_ = labelled.columns
        self.sources_ = labelled.sources
        self.grading_ = labelled.grading
        self.fingerprint_ = labelled.fingerprint()
        self.labels_ = LabelPrints.of(labelled)
        self.path_labels_ = None
        self.notes_ = prepared.notes
        self.n_labelled_ = len(labelled)
        self.n_pool_ = prepared.n_pool
        pool = prepared.sample.pool_scores
        self.pool_fingerprint_ = None if pool is None else fingerprint_of(pool)

    def prepare(self, trace: Trace, pool: Trace | None = None) -> Prepared:
        """The first half of :meth:`fit`: what the procedure will see. The risk level plays no part,
        so a sweep over levels prepares once."""
        trace = trace.select(self._modes(trace))
        if pool is not None:
            pool = pool.select(trace.modes)
            refuse_other_grading(trace.grading, pool.grading, "the labelled items", "the pool")
            refuse_mismatch(
                trace.modes, trace.sources, pool.sources, "the labelled items", "the pool"
            )
        labelled, unlabelled, notes = rows_to_fit_on(trace, pool, self.groups, self.seed)
        n_pool = 0 if unlabelled is None else len(unlabelled)
        return Prepared(self.sample_of(labelled, unlabelled), labelled, n_pool, notes)

    def _under_stress(self, prepared: Prepared, stressed: Mapping[str, Trace]) -> Prepared:
        """The same items, with what they look like under perturbations."""
        found = variants_of(prepared.labelled, stressed, min_accepted(self.alpha, self.delta))
        if self.splits_verdicts:
            found = {name: variant.by_verdict() for name, variant in found.items()}
        return replace(prepared, sample=replace(prepared.sample, variants=found))

    def sample_of(self, labelled: Trace, pool: Trace | None = None) -> Sample:
        """Labelled items as a procedure sees them: the gate's modes, split by verdict if asked for."""
        modes = self._modes(labelled)
        labelled = labelled.select(modes)
        if self.splits_verdicts:
            labelled.refuse_numbers("a threshold for each verdict")
        if (self.min_tpr, self.min_tnr) != (None, None):
            labelled.refuse_numbers("a rate among the items of one label")
        pool = None if pool is None else pool.select(modes)
        sample = Sample(
            labelled.scores,
            labelled.verdicts,
            labelled.labels,
            modes,
            None if pool is None else pool.scores,
            None if pool is None else pool.verdicts,
            reach=labelled.reach,
        )
        return sample.by_verdict() if self.splits_verdicts else sample

    def procedure_for(self, n_modes: int, path: Vectors | None = None) -> Procedure:
        """The procedure that the gate's settings name, or the default.

        A `path` is tested as a fixed sequence.

        Parameters
        ----------
        n_modes : int
        path : tuple of tuple of float or None, optional
            The gate's path, where it was resolved already.
        """
        if self.path is not None:
            if self.procedure not in (None, FixedSequence.name):
                raise InputError(
                    f"a path is tested as a {FixedSequence.name}; leave the procedure out, got "
                    f"{self.procedure!r}"
                )
            path = resolved_path(self.path) if path is None else path
            if not path:
                raise InputError(
                    "the gate given as path holds none: nothing was tested when it was fitted"
                )
            return FixedSequence(path=tuple(path))
        if isinstance(self.procedure, Procedure):
            return self.procedure
        if self.procedure is None and self._level_by_verdict:
            return Portfolio()  # it has chains on which one kind of verdict goes ahead
        if self.procedure is None:
            return default_procedure(n_modes)
        return procedure_named(self.procedure)

    def certify(self, sample: Sample, alpha: float, path: Vectors | None = None) -> Certificate:
        """The second half of :meth:`fit`, at any risk level; the gate itself is not changed."""
        n_modes = len(sample.modes) // sample.columns_per_mode
        ready = self.procedure_for(n_modes, path).prepare(sample, self.seed)
        return ready.certify_at(self.target(alpha))

    def target(self, alpha: float) -> Target:
        """All that the gate's settings ask of a rule, at any risk level."""
        by_kind = (getattr(self, name) for name in BY_KIND)
        return Target(alpha, self.delta, self.max_retrieval, *by_kind)

    def decide(self, trace: Trace | pd.DataFrame, *, on_mismatch: str = "refuse") -> Outcomes:
        """Accept, abstain or fail, item by item. Labels are carried along and not used.

        An unfitted gate lets the first mode's verdicts through, uncertified (``unfitted="pass"``),
        or declines everything (``unfitted="abstain"``). A fitted gate whose region is empty
        declines everything. Where some of the items were calibrated on, the outcomes carry a column
        ``calibrated_on``.

        Parameters
        ----------
        trace : Trace or DataFrame
            Its modes are found by name; those of a table in the columns that the gate was fitted on.
        on_mismatch : {"refuse", "uncertify"}
            What to do where the scores were not made as those that the gate was fitted on: an error
            that names the differences, or outcomes of which none is certified.

        Raises
        ------
        InputError
            If the trace lacks one of the gate's modes, its scores come from another source, or its
            verdicts were made by another scale, cut or tolerance.
        """
        if on_mismatch not in ON_MISMATCH:
            raise InputError(f"on_mismatch must be 'refuse' or 'uncertify', got {on_mismatch!r}")
        if not self.fitted:
            trace = as_trace(trace)
            self._check_unfitted()
            decide = outcomes.decline_all if self.unfitted == "abstain" else outcomes.pass_through
            return decide(trace.select(self._modes(trace)))
        trace = as_trace(trace, self.columns_, self.grading_).select(self.modes_)
        refuse_other_grading(self.grading_, trace.grading, "the gate", "these items")
        certified = not self.mismatches(trace)
        if not certified and on_mismatch == "refuse":
            refuse_mismatch(self.modes_, self.sources_, trace.sources, "the gate", "these items")
        if self.labels_ is not None:
            trace = outcomes.mark_calibrated(trace, self.labels_)
        rule = self.rule_
        return outcomes.decide_all(trace, rule.accepted_by(trace), rule.used, certified=certified)

    def score(self, trace: Trace | pd.DataFrame, y: object = None) -> float:
        """Share of the items that is accepted: what is left to compare, where the risk is held.

        A gate that certified nothing scores 0. Whoever picks settings by it has looked at these
        items: calibrate the picked ones on others (``GridSearchCV(..., refit=False)``).

        Parameters
        ----------
        trace : Trace or DataFrame
        y : object
            Not used.
        """
        return float(np.mean(self.decide(trace).accepted))

    def mismatches(self, trace: Trace) -> tuple[str, ...]:
        """Where a trace's scores were made in another way than the gate's, in words.

        Parameters
        ----------
        trace : Trace
            Its modes are found by name.
        """
        self._check_fitted()
        seen = trace.select(self.modes_).sources
        return mismatches(self.modes_, self.sources_, seen, "the gate", "these items")

    @property
    def splits_verdicts(self) -> bool:
        """Whether each verdict of a mode has a threshold of its own."""
        return self.by_verdict or self._level_by_verdict

    @property
    def _level_by_verdict(self) -> bool:
        return any(getattr(self, name) is not None for name in BY_VERDICT)

    def unknown_sources(self, trace: Trace) -> tuple[str, ...]:
        """Modes of which a trace says what made its scores, and the gate does not.

        Parameters
        ----------
        trace : Trace
            Its modes are found by name.
        """
        if not self.fitted:
            return ()
        seen = trace.select(self.modes_).sources
        both = zip(self.modes_, self.sources_, seen, strict=True)
        return tuple(mode for mode, mine, other in both if mine is None and other is not None)

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
    def rule_(self) -> Rule:
        """The fitted routing rule; of an empty region, one without a threshold."""
        self._check_fitted()
        return Rule.of(self.modes_, self.splits_verdicts, self.certificate_.thresholds)

    @property
    def thresholds_(self) -> FloatArray | None:
        """Thresholds, ``-inf`` for "no threshold"; None for "accept nothing".

        Shape (K,), or (K, 2) with one for each verdict.
        """
        self._check_fitted()
        if self.certificate_.thresholds is None:
            return None
        thresholds = self.rule_.thresholds
        return thresholds if self.splits_verdicts else thresholds[:, 0]

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
        >>> gate = Router(alpha=0.2, procedure="pointwise").fit(trace)
        >>> print(gate.to_sql())
        CASE
          WHEN v1 IN (0, 1)
            AND u1 BETWEEN -1.7976931348623157e+308 AND 0.563819095477387e0
            THEN 'mode1'
          ELSE NULL
        END
        """
        self._check_fitted()
        if self.grading_ is not None:
            raise InputError(f"the gate reads {self.grading_}, and SQL knows verdicts 0 and 1 only")
        return sql_case(self.columns_, self.thresholds_, value, dialect)

    def to_dict(self) -> dict[str, Any]:
        """The gate as a JSON-ready document, its checksum included."""
        settings = self.get_params()
        procedure = settings["procedure"]
        if isinstance(procedure, Procedure):
            settings["procedure"] = {"name": procedure.name, "options": procedure.options()}
        if settings["path"] is not None:
            settings["path"] = [list(vector) for vector in resolved_path(settings["path"])]
        content: dict[str, Any] = {"kind": self.kind, "settings": settings, "fitted": self.fitted}
        content["modes"] = [
            {
                **asdict(mode),
                "source_column": mode.source,
                "source": None if source is None else dict(source),
            }
            for mode, source in zip(
                getattr(self, "columns_", ()), getattr(self, "sources_", ()), strict=True
            )
        ]
        if self.fitted:
            if self.grading_ is not None:
                content["grading"] = self.grading_.to_dict()
            content["certificate"] = self.certificate_.to_dict()
            content["calibration"] = {
                "n_labelled": self.n_labelled_,
                "n_pool": self.n_pool_,
                "fingerprint": self.fingerprint_,
                "pool_fingerprint": self.pool_fingerprint_,
                "labels": None if self.labels_ is None else self.labels_.to_dict(),
                "path_labels": None if self.path_labels_ is None else self.path_labels_.to_dict(),
                "notes": list(self.notes_),
            }
            if self.promotions_:
                content["calibration"]["promotions"] = dict(self.promotions_)
        return sealed(content)

    def save(self, path: str | Path) -> None:
        """Write the gate as versioned JSON, whole or not at all."""
        write_document(path, self.to_dict())

    def _modes(self, trace: Trace) -> tuple[str, ...]:
        """Names of the trace's modes that the gate is about."""
        return trace.modes

    def _check_fitted(self) -> None:
        if not self.fitted:
            raise NotFittedError(f"this {type(self).__name__} is not fitted; call fit(trace) first")

    def _check_unfitted(self) -> None:
        if self.unfitted not in ("pass", "abstain"):
            raise InputError(f"unfitted must be 'pass' or 'abstain', got {self.unfitted!r}")
