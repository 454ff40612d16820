"""Fusion: one probability from many signals, taught by labelled rows that nothing else will use."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from riskjudge._typing import BoolArray, FloatArray, IntArray, ObjectArray
from riskjudge.data.perturbed import refuse_perturbed
from riskjudge.data.source import ScoreSource
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError
from riskjudge.gate.labels import LabelPrints
from riskjudge.signals.calibrators import (
    Calibrator,
    bounded,
    calibrator_names,
    fit_calibrators,
)
from riskjudge.signals.signal import Cost, Family, Signal, checked_signals

_FOLDS = 5
Values = Sequence[FloatArray | ObjectArray]


def hashed_ids(ids: Iterable[object]) -> frozenset[str]:
    """Hashes by which teaching ids are known again."""
    return frozenset(hashlib.sha256(str(i).encode()).hexdigest()[:32] for i in ids)


@dataclass(frozen=True, slots=True, eq=False)
class LinearFusion:
    """Log-odds as a weighted sum of standardised, calibrated signals.

    Attributes
    ----------
    calibrators : tuple of Calibrator, one a signal
    centre, scale : ndarray of float, shape (S,)
        Of the calibrated signals among the teaching rows that have them.
    weights, missing : ndarray of float, shape (S,)
        Weight of each signal, and what its absence adds: 0 where no teaching row lacked it.
    intercept : float
    model : object or None
        An estimator that is used in place of the weights.
    """

    calibrators: tuple[Calibrator, ...]
    centre: FloatArray
    scale: FloatArray
    weights: FloatArray
    missing: FloatArray
    intercept: float
    model: Any = None

    def probability(self, values: Values) -> FloatArray:
        """P(claim holds), shape (n,)."""
        if self.model is not None:
            columns = np.column_stack(self._design(values))
            return np.asarray(self.model.predict_proba(columns)[:, 1], dtype=np.float64)
        # Column by column: an item's sum is the same whichever others stand beside it.
        total = np.full(len(values[0]), self.intercept)
        for j, (calibrator, column) in enumerate(zip(self.calibrators, values, strict=True)):
            known = bounded(calibrator.log_odds(column)) - self.centre[j]
            known *= self.weights[j] / self.scale[j]
            gone = absent(column)
            known[gone] = self.missing[j]
            total += known
        return np.asarray(special.expit(bounded(total)), dtype=np.float64)

    def _design(self, values: Values) -> tuple[FloatArray, FloatArray]:
        gone = np.column_stack([absent(column) for column in values])
        logits = np.column_stack(
            [bounded(c.log_odds(v)) for c, v in zip(self.calibrators, values, strict=True)]
        )
        design = np.where(gone, 0.0, (logits - self.centre) / self.scale)
        return design, gone.astype(np.float64)


def absent(values: FloatArray | ObjectArray) -> Any:
    """Where a signal has no value."""
    if values.dtype == object:
        return np.array([value is None for value in values], dtype=bool)
    return np.isnan(values)


def estimator_named(estimator: Any) -> Any:
    """The estimator of a name; an object with ``fit`` and ``predict_proba`` is taken as it is.

    ``logistic`` is a ridge-penalised logistic regression with unit prior variance on standardised
    signals: of the priors tried (see ``experiments/signals/FINDINGS.md``) the one that loses least
    with few labels. ``logistic_weak`` penalises a tenth as much.
    """
    if not isinstance(estimator, str):
        if not hasattr(estimator, "predict_proba"):
            raise InputError(
                f"an estimator has fit and predict_proba, {type(estimator).__name__} has not"
            )
        return estimator
    from sklearn.linear_model import LogisticRegression

    strength = {"logistic": 1.0, "logistic_weak": 10.0}
    if estimator not in strength:
        raise InputError(f"unknown estimator {estimator!r}; there are {', '.join(strength)}")
    return LogisticRegression(C=strength[estimator], max_iter=500)


def fit_linear(
    values: Values,
    labels: IntArray,
    families: Sequence[Family],
    calibrators: Mapping[Family, str],
    estimator: Any = "logistic",
) -> LinearFusion:
    """Calibrate each signal and fit the weights, all on the same teaching rows.

    Calibrators and weights share their rows, so the probabilities *of these rows* are too sure;
    :func:`cross_fitted` gives honest ones.
    """
    from sklearn.base import clone

    fitted = fit_calibrators(values, [calibrators[family] for family in families], labels)
    gone = np.column_stack([absent(column) for column in values])
    logits = np.column_stack([bounded(c.log_odds(v)) for c, v in zip(fitted, values, strict=True)])
    known = np.where(gone, np.nan, logits)
    some = ~gone.all(axis=0)
    centre, scale = np.zeros(len(fitted)), np.ones(len(fitted))
    centre[some] = np.nanmean(known[:, some], axis=0)
    spread = np.nanstd(known[:, some], axis=0)
    scale[some] = np.where(spread > 1e-9, spread, 1.0)
    plain = LinearFusion(fitted, centre, scale, 0 * centre, 0 * centre, 0.0)
    ones = int(labels.sum())
    if not 0 < ones < len(labels):
        # One class only: nothing can be learned beyond how often it occurs.
        base = np.log((ones + 0.5) / (len(labels) - ones + 0.5))
        return LinearFusion(fitted, centre, scale, 0 * centre, 0 * centre, float(base))
    design, flags = plain._design(values)
    model = clone(estimator_named(estimator)).fit(np.column_stack((design, flags)), labels)
    if not hasattr(model, "coef_") or not hasattr(model, "intercept_"):
        return LinearFusion(fitted, centre, scale, 0 * centre, 0 * centre, 0.0, model)
    weights = np.asarray(model.coef_, dtype=np.float64).ravel()
    if len(weights) != 2 * len(fitted):
        raise InputError("a linear estimator has one weight for each column")
    return LinearFusion(
        fitted,
        centre,
        scale,
        weights[: len(fitted)],
        np.where(gone.any(axis=0), weights[len(fitted) :], 0.0),
        float(np.ravel(model.intercept_)[0]),
    )


def cross_fitted(
    values: Values, labels: IntArray, fit: Callable[[Values, IntArray], LinearFusion], seed: int
) -> FloatArray:
    """Probability of each row by a fusion that did not see it: every part is fitted again without it."""
    rng = np.random.default_rng([seed, 5])
    order = np.lexsort((rng.random(len(labels)), labels))
    fold = np.empty(len(labels), dtype=np.int64)
    fold[order] = np.arange(len(labels)) % min(_FOLDS, len(labels))
    found = np.full(len(labels), 0.5)
    for k in range(_FOLDS):
        out = fold == k
        if out.any() and not out.all():
            model = fit([column[~out] for column in values], labels[~out])
            found[out] = model.probability([column[out] for column in values])
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """The signals up to one tier, fused."""

    tier: int
    signals: tuple[Signal, ...]
    model: LinearFusion

    @property
    def cost(self) -> Cost:
        """Of one item, the earlier stages included."""
        total = Cost()
        for signal in self.signals:
            total = total + signal.cost
        return total


@dataclass(frozen=True, slots=True, eq=False)
class Taught:
    """What the teaching rows leave behind: honest probabilities beside their labels.

    Attributes
    ----------
    probabilities : ndarray of float, shape (n, stages)
        Cross-fitted.
    labels : ndarray of int, shape (n,)
    scores, verdicts : ndarray, shape (n, K)
        Of the plain modes.
    one_of_each_group : ndarray of bool, shape (n,)
        A random row of each group; all of them where the rows have none.
    prints : LabelPrints
        By which the rows are known again.
    beside : str or None
        Digest of the ids of the labelled rows that these were drawn from at random, these left out;
        None where they come from elsewhere.
    """

    probabilities: FloatArray
    labels: IntArray
    scores: FloatArray
    verdicts: IntArray
    one_of_each_group: BoolArray
    prints: LabelPrints
    beside: str | None = None

    def drawn_beside(self, trace: Trace) -> bool:
        """Whether the labelled items of a trace are those that were left when these were drawn."""
        return self.beside is not None and self.beside == _ids_digest(trace)


def _ids_digest(trace: Trace) -> str:
    """One hash of the ids of the labelled items."""
    ids = sorted(hashed_ids(trace.item_id[trace.labelled]))
    return hashlib.sha256(" ".join(ids).encode()).hexdigest()[:32]


def _one_of_each_group(rows: Trace, seed: int) -> BoolArray:
    """A random row of each group, drawn without a look at anything else."""
    if rows.group is None:
        return np.ones(len(rows), dtype=bool)
    order = np.random.default_rng([seed, 6]).permutation(len(rows))
    _, first = np.unique(rows.group[order].astype(str), return_index=True)
    return np.isin(np.arange(len(rows)), order[first])


@dataclass(frozen=True, slots=True, eq=False)
class Fusion:
    """A fitted fusion: a probability for each stage.

    Attributes
    ----------
    signals : tuple of Signal
        All of them; stage t uses those of its tier and cheaper ones.
    stages : tuple of Stage
    taught : Taught
    teaching_ids : frozenset of str
        Hashes of the ids whose labels taught. They are refused in a calibration.
    modes : tuple of str
        Of the trace that taught.
    sources : tuple of ScoreSource or None, one a mode
        What made their scores, as far as the trace said.
    """

    signals: tuple[Signal, ...]
    stages: tuple[Stage, ...]
    taught: Taught
    teaching_ids: frozenset[str]
    modes: tuple[str, ...]
    sources: tuple[ScoreSource | None, ...]

    @property
    def weighed(self) -> tuple[list[int], ...]:
        """Positions of the modes that each stage weighs."""
        used = [{m for s in stage.signals for m in s.modes(self.modes)} for stage in self.stages]
        return tuple([k for k, mode in enumerate(self.modes) if mode in need] for need in used)

    def probabilities(self, trace: Trace) -> FloatArray:
        """P(claim holds) by each stage, shape (n, stages)."""
        values = {signal.name: signal.values(trace) for signal in self.signals}
        return np.column_stack(
            [
                stage.model.probability([values[s.name] for s in stage.signals])
                for stage in self.stages
            ]
        )


def fit_fusion(
    trace: Trace,
    signals: Sequence[Signal],
    *,
    calibrators: Mapping[str, str] | None = None,
    estimator: Any = "logistic",
    staged: bool = False,
    beside: Trace | None = None,
    seed: int = 0,
) -> Fusion:
    """Teach a fusion with all labelled items of a trace.

    Parameters
    ----------
    trace : Trace
        Teaching rows; none of them may be calibrated on afterwards.
    signals : sequence of Signal
    calibrators : mapping, optional
        From families to ``platt``, ``beta`` or ``isotonic``.
    estimator : str or estimator
        See :func:`estimator_named`.
    staged : bool
        One stage for each tier, in place of a single one.
    beside : Trace, optional
        The labelled items that the teaching rows were drawn from at random, these left out
        (:func:`.split_teaching` gives both). Rules that the fusion has no part in may then be tested
        on the teaching rows, too.
    seed : int
        Draws the folds.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> label = rng.integers(0, 2, 400)
    >>> wrong = rng.random((400, 2)) < 0.3
    >>> trace = Trace.from_arrays(np.full((400, 2), 0.3), label[:, None] ^ wrong, label)
    >>> from riskjudge.signals.builtin import parse_signals
    >>> fusion = fit_fusion(trace, parse_signals(["modes"], trace))
    >>> p = fusion.probabilities(trace)[:, 0]
    >>> bool(((p > 0.5) == label).mean() > 0.65)
    True
    """
    trace.refuse_numbers("a fusion of signals")
    chosen = checked_signals(signals)
    names = calibrator_names(calibrators)
    trace.refuse_numbers("a fusion")
    refuse_perturbed(trace)
    refuse_fused_names(trace.modes)
    rows = trace.rows(trace.labelled)
    if len(rows) < 4:
        raise InputError(
            f"a fusion needs four labelled rows or more to learn from, got {len(rows)}"
        )
    rows = rows.rows(np.argsort(rows.item_id.astype(str), kind="stable"))
    chosen = _without_repeated_verdicts(chosen, rows)
    values = {signal.name: signal.values(rows) for signal in chosen}
    stages, honest = [], []
    tiers = sorted({signal.tier for signal in chosen}) if staged else [max(s.tier for s in chosen)]
    for tier in tiers:
        used = tuple(signal for signal in chosen if signal.tier <= tier)
        columns = [values[signal.name] for signal in used]
        families = [signal.family for signal in used]

        def fit(
            part: Values, labels: IntArray, families: Sequence[Family] = families
        ) -> LinearFusion:
            return fit_linear(part, labels, families, names, estimator)

        stages.append(Stage(tier, used, fit(columns, rows.labels)))
        honest.append(cross_fitted(columns, rows.labels, fit, seed))
    taught = Taught(
        np.column_stack(honest),
        rows.labels,
        rows.scores,
        rows.verdicts,
        _one_of_each_group(rows, seed),
        LabelPrints.of(rows),
        None if beside is None else _ids_digest(beside),
    )
    return Fusion(chosen, tuple(stages), taught, hashed_ids(rows.item_id), rows.modes, rows.sources)


def refuse_fused_names(modes: Sequence[str]) -> None:
    """Refuse modes whose names the fused ones will have."""
    taken = [mode for mode in modes if re.fullmatch("fused[0-9]*", mode)]
    if taken:
        raise InputError(
            f"a mode is called {taken[0]!r}, as a fused one is: name the modes to fuse with --mode, or "
            "rename it"
        )


def _without_repeated_verdicts(signals: tuple[Signal, ...], rows: Trace) -> tuple[Signal, ...]:
    """Without verdicts that a confidence already tells.

    Uncertainties up to one half are error probabilities, and signed log-odds say all that the verdict
    does; to say it twice costs coverage. Decided by the teaching rows alone.
    """
    confident = {s.name.partition(":")[2] for s in signals if s.name.startswith("confidence:")}
    told = {
        f"verdict:{mode}"
        for mode in confident & set(rows.modes)
        if np.nanmax(rows.scores[:, rows.mode_index(mode)], initial=0.0) <= 0.5
    }
    gone = {s.name.partition(":")[2]: s.cost for s in signals if s.name in told}
    kept = []
    for signal in signals:
        kind, _, mode = signal.name.partition(":")
        if kind == "confidence":  # asking for the one is asking for the other
            signal = replace(signal, cost=signal.cost + gone.get(mode, Cost()))
        if signal.name not in told:
            kept.append(signal)
    return tuple(kept)
