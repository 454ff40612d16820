"""Worlds with a known truth, to measure procedures against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from riskjudge import counts
from riskjudge._typing import FloatArray
from riskjudge.calibration.sample import Sample


@dataclass(frozen=True)
class Mode:
    """One mode of a scenario.

    Attributes
    ----------
    curve : tuple of float
        Error probability at equally spaced ranks of the mode's score, surest first; linear between.
    missing : float
        Share of items without a usable verdict.
    levels : int
        Number of tied score levels; 0 for continuous scores.
    lean : float
        How much the errors lean to one verdict, in [0, 1): the error probability of items whose
        label is 0 is multiplied by ``1 + lean``, of those whose label is 1 by ``1 - lean``, so that
        the verdict 1 is the less reliable one.
    """

    curve: tuple[float, ...]
    missing: float = 0.0
    levels: int = 0
    lean: float = 0.0


@dataclass(frozen=True)
class Scenario:
    """A distribution of (label, verdicts, scores) whose true risk can be computed.

    Attributes
    ----------
    name, kind : str
        `kind` is ``smooth``, ``tied``, ``classes``, ``bumpy`` (the risk falls and rises) or ``null``
        (no rule has a risk of at most alpha, so that to accept anything breaks the promise).
    modes : tuple of Mode
    alpha : float
        Risk level at which the scenario is meant to be run.
    score_correlation, error_correlation : float
        Of the Gaussian copulas behind the scores and behind the errors of the modes.
    """

    name: str
    kind: str
    modes: tuple[Mode, ...]
    alpha: float = 0.1
    score_correlation: float = 0.4
    error_correlation: float = 0.3

    def draw(self, n: int, rng: np.random.Generator) -> Sample:
        """Draw n independent items."""
        rank, rank_of_error = (
            stats.norm.cdf(_correlated(rng, n, len(self.modes), rho))
            for rho in (self.score_correlation, self.error_correlation)
        )
        labels = rng.integers(0, 2, n)
        scores = np.empty((n, len(self.modes)))
        verdicts = np.empty((n, len(self.modes)), dtype=np.int64)
        for k, mode in enumerate(self.modes):
            level = rank[:, k]
            if mode.levels:
                level = (np.floor(level * mode.levels) + 0.5) / mode.levels
            knots = np.linspace(0.0, 1.0, len(mode.curve))
            error = np.interp(level, knots, mode.curve)
            error = error * np.where(labels == 0, 1 + mode.lean, 1 - mode.lean)
            verdicts[:, k] = labels ^ (rank_of_error[:, k] < error)
            # Entropy-like marginals: in [0, ln 2], most items near the sure end.
            scores[:, k] = np.log(2.0) * level**2
            missing = rng.random(n) < mode.missing
            scores[missing, k] = np.nan
            verdicts[missing, k] = -1
        names = tuple(f"mode{k + 1}" for k in range(len(self.modes)))
        return Sample(scores, verdicts, labels, names)


def _correlated(rng: np.random.Generator, n: int, k: int, rho: float) -> FloatArray:
    shared = rng.standard_normal((n, 1))
    own = rng.standard_normal((n, k))
    return np.asarray(np.sqrt(rho) * shared + np.sqrt(1.0 - rho) * own)


def _two(
    name: str,
    kind: str,
    first: tuple[float, ...],
    second: tuple[float, ...],
    *,
    alpha: float = 0.1,
    scores: float = 0.4,
    errors: float = 0.3,
) -> Scenario:
    """Two modes with these error curves; `scores` and `errors` are the correlations."""
    return Scenario(name, kind, (Mode(first), Mode(second)), alpha, scores, errors)


def _flat(
    name: str, rate: float, *, alpha: float = 0.1, scores: float = 0.4, errors: float = 0.3
) -> Scenario:
    """A null in which the scores say nothing."""
    curve = (rate, rate)
    return _two(name, "null", curve, curve, alpha=alpha, scores=scores, errors=errors)


def _tied(scenario: Scenario, levels: int) -> Scenario:
    return replace(scenario, modes=tuple(replace(mode, levels=levels) for mode in scenario.modes))


def _failing(scenario: Scenario, missing: float) -> Scenario:
    return replace(scenario, modes=tuple(replace(mode, missing=missing) for mode in scenario.modes))


def _leaning(scenario: Scenario, *leans: float) -> Scenario:
    pairs = zip(scenario.modes, leans, strict=True)
    return replace(scenario, modes=tuple(replace(mode, lean=lean) for mode, lean in pairs))


_TRIVIA = (0.04, 0.10, 0.25, 0.40, 0.50), (0.03, 0.06, 0.10, 0.20, 0.42)
_HOTPOT = (0.18, 0.30, 0.40, 0.50, 0.55), (0.08, 0.12, 0.20, 0.32, 0.48)
_MIDDLE = (0.03, 0.10, 0.20, 0.35, 0.50), (0.03, 0.08, 0.15, 0.25, 0.45)
_EQUAL = (0.02, 0.06, 0.15, 0.30, 0.50), (0.02, 0.06, 0.15, 0.30, 0.50)
_FIRST = (0.01, 0.03, 0.08, 0.25, 0.50), (0.05, 0.08, 0.15, 0.25, 0.45)
_SECOND = (0.30, 0.40, 0.45, 0.50, 0.50), (0.01, 0.03, 0.07, 0.18, 0.45)
_ONLY_FIRST = (0.03, 0.06, 0.10, 0.22, 0.45), (0.45, 0.47, 0.50, 0.50, 0.50)
_ONLY_SECOND = (0.45, 0.47, 0.50, 0.50, 0.50), (0.04, 0.07, 0.12, 0.22, 0.45)
_LATE_RISE = (0.06, 0.06, 0.07, 0.10, 0.60), (0.05, 0.05, 0.06, 0.12, 0.60)
_PLATEAU = (0.09, 0.09, 0.09, 0.30, 0.50), (0.08, 0.08, 0.08, 0.08, 0.40)
_OVERCONFIDENT = (0.20, 0.05, 0.10, 0.30, 0.50), (0.15, 0.04, 0.08, 0.20, 0.45)
_BUMPY = (0.02, 0.20, 0.05, 0.30, 0.50), (0.02, 0.15, 0.05, 0.15, 0.45)
_CLASSES = (0.10, 0.14, 0.20, 0.30, 0.45), (0.06, 0.08, 0.12, 0.20, 0.40)
# With these leans the classes err at .31 and .09 in the first mode, .25 and .05 in the second.
_LEANING = (0.08, 0.16, 0.24, 0.33, 0.42), (0.04, 0.09, 0.16, 0.25, 0.40)

SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        _two("trivia", "smooth", *_TRIVIA),
        _two("hotpot", "smooth", *_HOTPOT, alpha=0.15),
        _two("strong_first", "smooth", *_FIRST),
        _two("strong_second", "smooth", *_SECOND),
        _two("equal", "smooth", *_EQUAL),
        _two("independent", "smooth", *_MIDDLE, scores=0.0, errors=0.0),
        _two("dependent", "smooth", *_MIDDLE, scores=0.8, errors=0.7),
        _two("second_only", "smooth", *_ONLY_SECOND),
        _two("first_only", "smooth", *_ONLY_FIRST),
        _two("late_rise", "smooth", *_LATE_RISE),
        _two("plateau", "smooth", *_PLATEAU),
        _two("overconfident", "bumpy", *_OVERCONFIDENT),
        _two("bumpy", "bumpy", *_BUMPY),
        _tied(_two("tied", "tied", *_TRIVIA), levels=5),
        _failing(_two("failures", "smooth", *_TRIVIA), missing=0.15),
        _leaning(_two("classes", "classes", *_CLASSES, alpha=0.15), 0.7, 0.7),
        _leaning(_two("leaning", "classes", *_LEANING, alpha=0.15), 0.76, 0.8),
        _flat("null_flat", 0.105),
        _flat("null_flat_15", 0.155, alpha=0.15),
        _flat("null_flat_independent", 0.105, scores=0.0, errors=0.0),
        _flat("null_flat_same", 0.101, scores=0.95, errors=0.95),
        _two("null_slope", "null", (0.101, 0.30), (0.101, 0.25)),
        _two("null_second_edge", "null", (0.40, 0.50), (0.102, 0.102)),
        _two("null_first_edge", "null", (0.102, 0.102), (0.40, 0.50)),
        _two("null_reversed", "null", (0.40, 0.12), (0.35, 0.102)),
        _tied(_flat("null_tied", 0.105), levels=4),
    )
}
"""Every scenario by its name."""


def true_risk(population: Sample, thresholds: Sequence[float]) -> tuple[float | None, float]:
    """Risk (None if nothing is accepted) and coverage of a rule over a large population."""
    vector = np.asarray(thresholds, dtype=np.float64)[None, :]
    tallied = counts.path_counts(population.scores, population.errors, vector)
    accepted, wrong = int(tallied.accepted[0]), int(tallied.errors[0])
    return (wrong / accepted if accepted else None), accepted / population.n
