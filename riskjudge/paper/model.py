"""A seeded model of two-mode judge traces, with parameters that can be read.

The paper publishes no per-item trace. This model makes synthetic ones: for each item a label, and
in each mode a verdict and an uncertainty. Its parameters are the things that decide what a
calibration can certify: how often each mode errs, how fast the error rate rises with the rank of
the uncertainty, how alike the two modes are.

The model, for one item:

1. The ranks ``r_1, r_2`` of the two uncertainties are uniform, joined by a Gaussian copula.
2. Mode k errs with probability ``expit(b_k + h_k(r_k))``; ``h_k`` is piecewise linear over
   :data:`KNOTS`, and ``b_k`` is set so that the mean error rate is the given one. The errors of
   both modes are joined by a second Gaussian copula.
3. The label is a coin, the verdict is the label, turned over where the mode errs.
4. The uncertainty is an entropy in nats, between 0 and ln 2, that grows with the rank; a share of
   the items is *saturated*: its entropy is exactly zero, a tie.
5. A share of the items cannot be read: no verdict and no score, in either mode.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import special

from riskjudge._typing import FloatArray, IntArray
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError

MODES = ("parametric", "retrieval")
KNOTS = (0.0, 0.05, 0.15, 0.4, 0.7, 1.0)
"""Ranks between which the log-odds of an error are linear."""

_GRID = (np.arange(4000) + 0.5) / 4000


@dataclass(frozen=True, slots=True)
class ModeModel:
    """One mode of a judge.

    Attributes
    ----------
    error_rate : float
        Share of wrong verdicts, among the readable.
    rise : tuple of float
        Rise of the log-odds of an error over each stretch between two neighbouring :data:`KNOTS`.
    saturated : float
        Share of items whose uncertainty is exactly zero.
    shape : tuple of float
        Exponents ``(a, b)`` of the marginal ``U = ln 2 * (1 - (1 - s)^b)^a``, with ``s`` the rank
        among the items that are not saturated.
    unreadable : float
        Share of verdicts that cannot be read.
    """

    error_rate: float
    rise: tuple[float, ...]
    saturated: float = 0.0
    shape: tuple[float, float] = (3.0, 1.0)
    unreadable: float = 0.0

    def error_probability(self, rank: FloatArray) -> FloatArray:
        """Probability of a wrong verdict at each rank of the uncertainty.

        Examples
        --------
        >>> mode = ModeModel(error_rate=0.2, rise=(0.0, 1.0, 1.0, 1.0, 0.0))
        >>> mode.error_probability(np.array([0.0, 0.5, 1.0])).round(2)
        array([0.02, 0.2 , 0.33])
        """
        return special.expit(_intercept(self.error_rate, self.rise) + _curve(rank, self.rise))

    def uncertainty(self, rank: FloatArray) -> FloatArray:
        """Binary predictive entropy in nats, between 0 and ln 2, at each rank.

        Examples
        --------
        >>> mode = ModeModel(error_rate=0.2, rise=(0.0, 0.0, 0.0, 0.0, 0.0), saturated=0.1)
        >>> mode.uncertainty(np.array([0.05, 0.55, 1.0])).round(3)
        array([0.   , 0.087, 0.693])
        """
        inner = np.clip((rank - self.saturated) / (1.0 - self.saturated), 0.0, 1.0)
        a, b = self.shape
        return math.log(2.0) * (1.0 - (1.0 - inner) ** b) ** a


@dataclass(frozen=True, slots=True)
class Draws:
    """The random numbers behind a trace; the same draws serve every parameter value.

    Attributes
    ----------
    scores, errors : ndarray of float, shape (n, 2)
        Independent standard normals.
    labels, readable : ndarray of float, shape (n,)
        Uniforms.
    """

    scores: FloatArray
    errors: FloatArray
    labels: FloatArray
    readable: FloatArray

    @classmethod
    def of(cls, n: int, seed: int) -> Draws:
        """Draws for `n` items."""
        rng = np.random.default_rng(seed)
        return cls(
            rng.standard_normal((n, 2)), rng.standard_normal((n, 2)), rng.random(n), rng.random(n)
        )


@dataclass(frozen=True, eq=False)
class SyntheticTrace:
    """Items of a two-mode judge, made by a :class:`TraceModel`. Never a real judge's.

    Attributes
    ----------
    labels : ndarray of int, shape (n,)
    verdicts : ndarray of int, shape (n, 2)
        -1 where the verdict cannot be read.
    scores : ndarray of float, shape (n, 2)
        Entropy in nats; NaN where the verdict cannot be read.
    """

    labels: IntArray
    verdicts: IntArray
    scores: FloatArray

    @property
    def n(self) -> int:
        return len(self.labels)

    def to_trace(self) -> Trace:
        """As a trace with the modes ``parametric`` and ``retrieval``."""
        return Trace.from_arrays(self.scores, self.verdicts, self.labels, modes=MODES)


@dataclass(frozen=True, slots=True)
class Drift:
    """How mode 2 changes when the search is asked again later.

    Attributes
    ----------
    kept : float
        Correlation of the new score and error latents with the old ones.
    shift : float
        Fall of the score's latent, in standard deviations (positive: surer than before).
    error_rate : float
        Mode 2's share of wrong verdicts on the new snapshot.
    """

    kept: float
    shift: float
    error_rate: float


@dataclass(frozen=True, slots=True)
class TraceModel:
    """A two-mode judge on one data set.

    Attributes
    ----------
    modes : pair of ModeModel
    score_correlation, error_correlation : float
        Correlations of the Gaussian copulas that join both modes' uncertainties and errors.
    label_rate : float
        Share of right candidate answers. Assumed: no published figure depends on it.

    Examples
    --------
    >>> mode = ModeModel(error_rate=0.2, rise=(0.5, 0.5, 0.5, 0.5, 0.5))
    >>> trace = TraceModel((mode, mode), 0.6, 0.5).simulate(1000, seed=1)
    >>> trace.scores.shape, bool((trace.scores <= np.log(2)).all())
    ((1000, 2), True)
    """

    modes: tuple[ModeModel, ModeModel]
    score_correlation: float
    error_correlation: float
    label_rate: float = 0.6

    def simulate(self, n: int, seed: int) -> SyntheticTrace:
        """A trace of `n` independent items."""
        return self.from_draws(Draws.of(n, seed))

    def from_draws(self, draws: Draws) -> SyntheticTrace:
        """The trace that these random numbers give."""
        score, error = self._latents(draws)
        return self._trace(draws, score, error, self.modes)

    def requeried(self, draws: Draws, drift: Drift, seed: int) -> SyntheticTrace:
        """The same items with mode 2 asked again on a later snapshot of the search results."""
        score, error = self._latents(draws)
        fresh = np.random.default_rng(seed).standard_normal((len(score), 2))
        rest = math.sqrt(1.0 - drift.kept**2)
        score[:, 1] = drift.kept * score[:, 1] + rest * fresh[:, 0] - drift.shift
        error[:, 1] = drift.kept * error[:, 1] + rest * fresh[:, 1]
        first, second = self.modes
        later = ModeModel(
            drift.error_rate, second.rise, second.saturated, second.shape, second.unreadable
        )
        return self._trace(draws, score, error, (first, later))

    def _latents(self, draws: Draws) -> tuple[FloatArray, FloatArray]:
        return (
            _correlate(draws.scores, self.score_correlation),
            _correlate(draws.errors, self.error_correlation),
        )

    def _trace(
        self,
        draws: Draws,
        score: FloatArray,
        error: FloatArray,
        modes: tuple[ModeModel, ModeModel],
    ) -> SyntheticTrace:
        rank = special.ndtr(score)
        chance = special.ndtr(error)
        labels = (draws.labels < self.label_rate).astype(np.int64)
        scores = np.empty(rank.shape)
        verdicts = np.empty(rank.shape, dtype=np.int64)
        for k, mode in enumerate(modes):
            wrong = chance[:, k] < mode.error_probability(rank[:, k])
            verdicts[:, k] = labels ^ wrong
            scores[:, k] = mode.uncertainty(rank[:, k])
            lost = draws.readable < mode.unreadable
            verdicts[lost, k] = -1
            scores[lost, k] = np.nan
        return SyntheticTrace(labels, verdicts, scores)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary."""
        return {
            "modes": [
                {
                    "error_rate": mode.error_rate,
                    "rise": list(mode.rise),
                    "saturated": mode.saturated,
                    "shape": list(mode.shape),
                    "unreadable": mode.unreadable,
                }
                for mode in self.modes
            ],
            "score_correlation": self.score_correlation,
            "error_correlation": self.error_correlation,
            "label_rate": self.label_rate,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TraceModel:
        """The inverse of :meth:`to_dict`."""
        try:
            first, second = (
                ModeModel(
                    error_rate=mode["error_rate"],
                    rise=tuple(mode["rise"]),
                    saturated=mode["saturated"],
                    shape=(mode["shape"][0], mode["shape"][1]),
                    unreadable=mode["unreadable"],
                )
                for mode in data["modes"]
            )
            return cls(
                (first, second),
                data["score_correlation"],
                data["error_correlation"],
                data["label_rate"],
            )
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InputError(f"not the parameters of a trace model: {error!r}") from error


def retrieval_changes(scores: FloatArray) -> dict[str, float]:
    """Shares of items whose uncertainty retrieval raises and lowers, and the mean change of each.

    Parameters
    ----------
    scores : ndarray of float, shape (n, 2)

    Returns
    -------
    dict
        Keys as in Table 14. A mean over no item is left out.

    Examples
    --------
    >>> retrieval_changes(np.array([[0.0, 0.2], [0.2, 0.2]]))
    {'fraction_raised': 0.5, 'fraction_lowered': 0.0, 'mean_increase': 0.2}
    """
    change = scores[:, 1] - scores[:, 0]
    change = change[~np.isnan(change)]
    raised, lowered = change[change > 0], change[change < 0]
    found = {
        "fraction_raised": len(raised) / max(len(change), 1),
        "fraction_lowered": len(lowered) / max(len(change), 1),
    }
    if len(raised):
        found["mean_increase"] = float(raised.mean())
    if len(lowered):
        found["mean_decrease"] = float(lowered.mean())
    return found


def _correlate(normals: FloatArray, correlation: float) -> FloatArray:
    joined = normals.copy()
    joined[:, 1] = correlation * normals[:, 0] + math.sqrt(1.0 - correlation**2) * normals[:, 1]
    return joined


def _curve(rank: FloatArray, rise: tuple[float, ...]) -> FloatArray:
    return np.interp(rank, KNOTS, np.concatenate(([0.0], np.cumsum(rise))))


@lru_cache(maxsize=4096)
def _intercept(error_rate: float, rise: tuple[float, ...]) -> float:
    """The b with ``mean(expit(b + h(r))) = error_rate`` for a uniform r, by bisection."""
    if len(rise) != len(KNOTS) - 1:
        raise InputError(f"an error curve has {len(KNOTS) - 1} rises, got {len(rise)}")
    if not 0.0 < error_rate < 1.0:
        raise InputError(f"error_rate must lie strictly between 0 and 1, got {error_rate!r}")
    height = _curve(_GRID, rise)
    low, high = -40.0 - float(height.max()), 40.0 - float(height.min())
    for _ in range(60):
        middle = (low + high) / 2.0
        if special.expit(middle + height).mean() < error_rate:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0
