"""A user's own setting as a world: their trace, resampled, with a truth that is known."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from scipy import special

from riskjudge._typing import FloatArray, IntArray
from riskjudge.audit.truth import Population
from riskjudge.calibration.sample import Sample
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError

_KNOTS = 6
_STIFFNESS = 1.0
_RIDGE = 0.01


@dataclass(frozen=True, eq=False)
class TraceWorld:
    """A smoothed resampling model of a trace.

    The world's items are the rows of the trace, labelled or not, each as likely as the other. A draw
    takes rows with replacement and gives each a fresh label. So

    - *preserved exactly*: the joint distribution of the scores of all modes with their ties, gaps
      and marginals; which verdicts go with which scores; missing verdicts; who agrees with whom;
    - *smoothed*: the probability that a row's label is 1, given its verdicts and scores. It is a
      penalised logistic regression on smooth curves over the scores' ranks (:func:`fit_label_model`);
      the labels that were seen enter through it alone;
    - *lost*: whatever the labels depend on beyond verdicts and scores, and all dependence between
      items (groups).

    Since an error is a verdict that differs from the label, that one probability settles the joint
    distribution of all modes' errors. The true risk of a rule is then a finite sum over the rows:
    exact, for every rule, thresholds by verdict included.

    Attributes
    ----------
    trace : Trace
    label_probability : ndarray of float, shape (N,)
        Smoothed probability that each row's label is 1: the truth of this world.
    alpha : float

    Notes
    -----
    The answer is about the model, not about the user's population: it says how the procedure fares
    where scores look like these and errors rise about like this. The curves themselves are fitted,
    so take several risk levels into account, not the one at which the verdict happens to turn.
    """

    trace: Trace
    label_probability: FloatArray
    alpha: float = 0.1
    name: str = "own"
    kind: str = "own"

    @classmethod
    def from_trace(cls, trace: Trace, *, alpha: float = 0.1, name: str = "own") -> TraceWorld:
        """Fit the label model on the labelled rows; all rows serve as the population.

        Raises
        ------
        InputError
            With fewer than 50 labelled rows or a single class of labels.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> u = rng.random((600, 1))
        >>> label = rng.integers(0, 2, 600)
        >>> verdict = label[:, None] ^ (rng.random((600, 1)) < 0.5 * u)
        >>> world = TraceWorld.from_trace(Trace.from_arrays(u, verdict, label))
        >>> risk, coverage = world.population(0, rng, by_verdict=False).risk(np.array([0.5]))
        >>> bool(abs(risk - 0.125) < 0.03), round(coverage, 2)
        (True, 0.46)
        """
        trace.refuse_numbers("a resampling model")
        labelled = trace.labels >= 0
        if np.count_nonzero(labelled) < 50:
            raise InputError(
                f"a resampling model needs 50 labelled items, got {np.count_nonzero(labelled)}"
            )
        if len(np.unique(trace.labels[labelled])) < 2:
            raise InputError("all labels are equal: a resampling model needs both classes")
        usable = ~np.isnan(trace.scores)
        design = label_design(trace.scores, np.where(usable, trace.verdicts, -1))
        penalty = _penalty(trace.n_modes)
        coefficients = fit_label_model(design[labelled], trace.labels[labelled], penalty)
        return cls(trace, special.expit(design @ coefficients), alpha, name)

    def draw(self, n: int, rng: np.random.Generator) -> Sample:
        rows = rng.integers(0, len(self.trace), n)
        labels = (rng.random(n) < self.label_probability[rows]).astype(np.int64)
        return Sample(self.trace.scores[rows], self.trace.verdicts[rows], labels, self.trace.modes)

    def population(self, size: int, rng: np.random.Generator, by_verdict: bool) -> Population:
        """The rows themselves; `size` and `rng` are not used."""
        one = self.label_probability[:, None]
        wrong = np.where(self.trace.verdicts == 1, 1.0 - one, one)
        if by_verdict:
            return Population.by_verdict(self.trace.scores, self.trace.verdicts, wrong)
        return Population(self.trace.scores, wrong)

    def identity(self) -> str:
        rounded = np.round(self.label_probability, 9).tobytes()
        return f"{self.trace.fingerprint()} {hashlib.sha256(rounded).hexdigest()}"


def label_design(scores: FloatArray, verdicts: IntArray) -> FloatArray:
    """Regressors of "the label is 1", shape (N, K (2 knots + 1) + 1).

    A verdict is evidence for its own side, the stronger the surer the mode. So mode k contributes
    ``+-`` (by its verdict) a piecewise linear curve over the rank of its score, and a second such
    curve where all the usable verdicts agree: two modes that agree are worth more, or less, than
    their sum. A slope over the rank and a constant, both unsigned, let the modes lean to one label.
    """
    n, n_modes = scores.shape
    usable = verdicts >= 0
    ones, given = (verdicts == 1).sum(axis=1), usable.sum(axis=1)
    agree = (given > 1) & ((ones == 0) | (ones == given))
    blocks = [np.ones((n, 1))]
    for k in range(n_modes):
        column = scores[:, k]
        present = np.sort(column[usable[:, k]])
        low = np.searchsorted(present, column, side="left")
        high = np.searchsorted(present, column, side="right")
        rank = np.where(usable[:, k], (low + high) / (2.0 * max(len(present), 1)), 0.5)
        sign = np.where(usable[:, k], 2.0 * verdicts[:, k] - 1.0, 0.0)
        at = np.clip(rank, 0.0, 1.0) * (_KNOTS - 1)
        hats = np.maximum(0.0, 1.0 - np.abs(at[:, None] - np.arange(_KNOTS)))
        blocks += [sign[:, None] * hats, (sign * agree)[:, None] * hats]
        blocks.append(np.where(usable[:, k], rank - 0.5, 0.0)[:, None])
    return np.concatenate(blocks, axis=1)


def _penalty(n_modes: int) -> FloatArray:
    """Curves pay for bending (second differences), and everything but the constant a little."""
    bends = np.diff(np.eye(_KNOTS), n=2, axis=0)
    curve = _STIFFNESS * bends.T @ bends + _RIDGE * np.eye(_KNOTS)
    width = 2 * _KNOTS + 1
    penalty = np.zeros((1 + n_modes * width,) * 2)
    for k in range(n_modes):
        for start in (1 + k * width, 1 + k * width + _KNOTS):
            penalty[start : start + _KNOTS, start : start + _KNOTS] = curve
        penalty[(k + 1) * width, (k + 1) * width] = 1.0
    return penalty


def fit_label_model(design: FloatArray, labels: IntArray, penalty: FloatArray) -> FloatArray:
    """Penalised logistic regression by Newton's method with step halving."""
    beta = np.zeros(design.shape[1])

    def loss(candidate: FloatArray) -> float:
        eta = design @ candidate
        return float(np.sum(np.logaddexp(0.0, eta) - labels * eta)) + 0.5 * float(
            candidate @ penalty @ candidate
        )

    current = loss(beta)
    for _ in range(100):
        p = special.expit(design @ beta)
        gradient = design.T @ (p - labels) + penalty @ beta
        hessian = (design * (p * (1.0 - p))[:, None]).T @ design + penalty
        hessian += 1e-9 * np.eye(len(beta))
        step = np.linalg.solve(hessian, gradient)
        size = 1.0
        while (reached := loss(beta - size * step)) > current and size > 1e-6:
            size /= 2.0
        beta = beta - size * step
        if current - reached < 1e-9 * (1.0 + abs(current)):
            break
        current = reached
    return beta
