"""Error curves of the modes, learned from a few labels and from where the modes disagree.

What is learned here only decides *what will be tested*. A poor model costs coverage; it cannot make
a promise false.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg, special

from riskjudge._typing import BoolArray, FloatArray, IntArray
from riskjudge.calibration.sample import Sample

_SEGMENTS = 4
_WIDTH = _SEGMENTS + 1
_NEWTON_STEPS = 20
_TOLERANCE = 1e-4  # of the negative log posterior: far below what a handful of labels can tell

# Judges are mostly right where they are sure (8 % errors) and near chance where they are not. The
# widths leave room for flat curves, and for judges that are overconfident at their surest scores.
_CURVE_MEAN = np.array([-2.5, *[0.6] * _SEGMENTS])
_CURVE_SPREAD = np.array([1.5, *[0.8] * _SEGMENTS])
_OVERLAP_MEAN, _OVERLAP_SPREAD = -0.8, 1.0


@dataclass(frozen=True, slots=True, eq=False)
class ErrorModel:
    """Posterior of P(mode k is wrong | its score): a curve over the score's rank in the pool.

    On the logit scale a curve is piecewise linear between equally spaced ranks. The posterior is a
    normal one around its maximum (Laplace's approximation).

    Attributes
    ----------
    reference : tuple of ndarray of float
        Sorted pool scores of each mode, which turn a score into a rank.
    maximum : ndarray of float, shape (P,)
        For each mode the logit at rank 0 and the rise over each segment; then the overlap of the
        errors of neighbouring modes, if disagreements were used.
    precision_root : ndarray of float, shape (P, P)
        Lower Cholesky factor of the posterior's precision matrix.
    """

    reference: tuple[FloatArray, ...]
    maximum: FloatArray
    precision_root: FloatArray

    def predict(self, scores: FloatArray) -> FloatArray:
        """Most plausible error probabilities, shape (n, K); NaN where there is no score."""
        return self._errors(scores, self.maximum[:, None])[:, :, 0]

    def draw(self, scores: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        """Error probabilities under `size` (even) draws of the posterior, shape (n, K, size)."""
        half = rng.standard_normal((len(self.maximum), size // 2))
        # Antithetic pairs: the mean over the draws is the maximum itself.
        noise = np.concatenate((half, -half), axis=1)
        spread = linalg.solve_triangular(self.precision_root, noise, lower=True, trans="T")
        return self._errors(scores, self.maximum[:, None] + spread)

    def _errors(self, scores: FloatArray, parameters: FloatArray) -> FloatArray:
        curves = [
            special.expit(_design(_ranks(scores[:, k], reference)) @ parameters[_curve(k)])
            for k, reference in enumerate(self.reference)
        ]
        return np.where(np.isnan(scores)[:, :, None], np.nan, np.stack(curves, axis=1))


def fit_error_model(
    labelled: Sample, pool: FloatArray, disagree: BoolArray | None = None
) -> ErrorModel:
    """Maximum of the posterior by Fisher scoring, under a fixed weakly informative prior.

    Parameters
    ----------
    labelled : Sample
        The few labelled items; all their labels are used.
    pool : ndarray of float, shape (N, K)
        Unlabelled scores, which define the ranks.
    disagree : ndarray of bool, shape (N, K - 1), optional
        Whether the verdicts of modes k and k + 1 on each pool item differ. Exactly one of them is
        wrong then, which says something about both curves without a label. Must not be used where a
        column stands for one verdict class: there a disagreement says which class is rare, not which
        one is wrong, and it would reverse the order of the classes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random((400, 1))
    >>> wrong = rng.random((400, 1)) < 0.1 + 0.3 * scores
    >>> sample = Sample(scores, wrong.astype(int), np.zeros(400, int), ("judge",))
    >>> fit_error_model(sample, scores).predict(np.array([[0.0], [0.5], [1.0]])).round(1).ravel()
    array([0.1, 0.3, 0.4])
    """
    n_modes = pool.shape[1]
    reference = tuple(np.sort(column[~np.isnan(column)]) for column in pool.T)
    n_pairs = 0 if disagree is None else n_modes - 1
    terms: list[_Labels | _Pair] = [_Labels.of(labelled, k, reference[k]) for k in range(n_modes)]
    if disagree is not None:
        overlaps = n_modes * _WIDTH + np.arange(n_pairs)
        terms += [
            _Pair.of(pool[:, k : k + 2], disagree[:, k], reference[k : k + 2], k, int(overlaps[k]))
            for k in range(n_pairs)
        ]
    mean = np.concatenate((np.tile(_CURVE_MEAN, n_modes), np.full(n_pairs, _OVERLAP_MEAN)))
    spread = np.concatenate((np.tile(_CURVE_SPREAD, n_modes), np.full(n_pairs, _OVERLAP_SPREAD)))

    def expand(theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Negative log posterior with its gradient and expected curvature."""
        gradient = (theta - mean) / spread**2
        value = 0.5 * float(gradient @ (theta - mean))
        curvature = np.diag(spread**-2.0)
        for term in terms:
            loss, slope, information = term.expand(theta[term.part])
            value += loss
            gradient[term.part] += slope
            curvature[np.ix_(term.part, term.part)] += information
        return value, gradient, curvature

    theta = mean
    value, gradient, curvature = expand(theta)
    for _ in range(_NEWTON_STEPS):
        step = np.linalg.solve(curvature, gradient)
        scale = 1.0
        while (trial := expand(theta - scale * step))[0] > value and scale > 1e-3:
            scale /= 2.0
        gain = value - trial[0]
        if gain > 0.0:
            theta = theta - scale * step
            value, gradient, curvature = trial
        if gain < _TOLERANCE:
            break
    return ErrorModel(reference, theta, np.asarray(np.linalg.cholesky(curvature), np.float64))


@dataclass(frozen=True, slots=True, eq=False)
class _Labels:
    """Likelihood of the labels in one mode: a logistic regression on its curve."""

    part: IntArray
    design: FloatArray
    wrong: FloatArray

    @classmethod
    def of(cls, sample: Sample, mode: int, reference: FloatArray) -> _Labels:
        usable = ~np.isnan(sample.scores[:, mode])
        design = _design(_ranks(sample.scores[usable, mode], reference))
        part = mode * _WIDTH + np.arange(_WIDTH)
        return cls(part, design, sample.errors[usable, mode].astype(np.float64))

    def expand(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        eta = self.design @ theta
        p = special.expit(eta)
        loss = float(np.sum(np.logaddexp(0.0, eta) - self.wrong * eta))
        information = (self.design.T * (p * (1.0 - p))) @ self.design
        return loss, self.design.T @ (p - self.wrong), information


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """Likelihood of the disagreements of two neighbouring modes.

    With error rates e1 and e2 both are wrong with probability ``e1 e2 + overlap (min - e1 e2)``:
    from independence (overlap 0) to as often together as the rates allow (1).
    """

    part: IntArray
    first: FloatArray
    second: FloatArray
    differ: FloatArray

    @classmethod
    def of(
        cls,
        scores: FloatArray,
        disagree: BoolArray,
        reference: tuple[FloatArray, ...],
        mode: int,
        overlap: int,
    ) -> _Pair:
        both = ~np.isnan(scores).any(axis=1)
        first, second = (_design(_ranks(scores[both, k], reference[k])) for k in range(2))
        part = np.append(mode * _WIDTH + np.arange(2 * _WIDTH), overlap)
        return cls(part, first, second, disagree[both].astype(np.float64))

    def expand(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        e1 = special.expit(self.first @ theta[:_WIDTH])
        e2 = special.expit(self.second @ theta[_WIDTH:-1])
        overlap = special.expit(theta[-1])
        product, least = e1 * e2, np.minimum(e1, e2)
        both = product + overlap * (least - product)
        p = np.clip(e1 + e2 - 2.0 * both, 1e-6, 1.0 - 1e-6)
        loss = -float(self.differ @ np.log(p) + (1.0 - self.differ) @ np.log1p(-p))
        both_by_e1 = (1.0 - overlap) * e2 + overlap * (e1 <= e2)
        both_by_e2 = (1.0 - overlap) * e1 + overlap * (e1 > e2)
        slopes = np.column_stack(
            (
                self.first * ((1.0 - 2.0 * both_by_e1) * e1 * (1.0 - e1))[:, None],
                self.second * ((1.0 - 2.0 * both_by_e2) * e2 * (1.0 - e2))[:, None],
                -2.0 * (least - product) * overlap * (1.0 - overlap),
            )
        )
        weight = 1.0 / (p * (1.0 - p))
        return loss, slopes.T @ (weight * (p - self.differ)), (slopes.T * weight) @ slopes


def _curve(mode: int) -> slice:
    """Where a mode's curve sits in the parameter vector."""
    return slice(mode * _WIDTH, (mode + 1) * _WIDTH)


def _ranks(scores: FloatArray, reference: FloatArray) -> FloatArray:
    """Mid-ranks in [0, 1], so that a tied score sits in the middle of its tie."""
    if len(reference) == 0:
        return np.full(len(scores), 0.5)
    below = np.searchsorted(reference, scores, side="left")
    upto = np.searchsorted(reference, scores, side="right")
    return (below + upto) / (2.0 * len(reference))


def _design(ranks: FloatArray) -> FloatArray:
    """Intercept, then one ramp from 0 to 1 over each segment; shape (n, 1 + segments)."""
    ramps = np.clip(ranks[:, None] * _SEGMENTS - np.arange(_SEGMENTS), 0.0, 1.0)
    return np.column_stack((np.ones(len(ranks)), ramps))
