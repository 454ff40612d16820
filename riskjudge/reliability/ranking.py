"""Rankings of systems by the mean of scores that carry noise: how much of the raw ranking is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from riskjudge._typing import FloatArray, IntArray, ObjectArray
from riskjudge.errors import InputError
from riskjudge.reliability.bounded import effect


class Spread(NamedTuple):
    """Mean over draws of noise, and the interval that holds 95 % of them."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RankedSystem:
    """A system, its raw mean and what noise does to it.

    Attributes
    ----------
    name : str
    n : int
        Scores.
    mean : float
        Of the raw scores.
    noise : float
        Standard deviation that the noise of single scores leaves in the mean.
    rank : Spread
        1 is best; over draws of noise.
    effect : float or None
        What the noise leaves of the shifts of this *mean* (see :func:`.effect`), averaged over the
        perturbations; None where no shifts were given.
    """

    name: str
    n: int
    mean: float
    noise: float
    rank: Spread
    effect: float | None


@dataclass(frozen=True, slots=True)
class NoisyRanking:
    """The ranking by raw means against the rankings by noisy ones.

    Attributes
    ----------
    systems : tuple of RankedSystem
        Best raw mean first; equal means in the order of their names.
    spearman, kendall : Spread or None
        Rank correlation (tau-b) with the raw ranking; None (UNDEFINED) where all raw means are equal.
    best_stays : float
        Share of the draws in which a system with the best raw mean is still first.
    draws, seed : int
    """

    systems: tuple[RankedSystem, ...]
    spearman: Spread | None
    kendall: Spread | None
    best_stays: float
    draws: int
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""

        def plain(value: Any) -> Any:
            if isinstance(value, Spread):
                return value._asdict()
            if isinstance(value, dict):
                return {name: plain(part) for name, part in value.items()}
            return value

        found: dict[str, Any] = plain(asdict(self) | {"systems": None})
        found["systems"] = [plain(asdict(system)) for system in self.systems]
        return found


def rank_systems(
    scores: ArrayLike,
    systems: Sequence[str] | ObjectArray,
    sigma: float,
    *,
    shifts: ArrayLike | None = None,
    draws: int = 2000,
    seed: int = 0,
) -> NoisyRanking:
    """Rank systems by the mean of their noisy scores, many times.

    Noise of standard deviation `sigma` on each score leaves ``sigma / sqrt(n)`` in a mean of n. So a
    ranking suffers little where systems have many scores; and for the same reason a bias that all
    scores of a system share is masked less in its mean than in each score: `effect` says how much.

    Parameters
    ----------
    scores : array_like, shape (m,)
    systems : sequence of str, length m
        Which system each score is of.
    sigma : float
        Of the noise on each score.
    shifts : array_like, shape (m,) or (m, P), optional
        What perturbations did to each score.
    draws : int
        Of noise; at least 100.
    seed : int

    Raises
    ------
    InputError
        If a score is missing, there are fewer than two systems, or the lengths differ.

    Examples
    --------
    >>> scores = np.repeat([3.0, 3.5, 4.5], 50)
    >>> ranking = rank_systems(scores, np.repeat(["a", "b", "c"], 50), sigma=1.0)
    >>> [s.name for s in ranking.systems], round(ranking.systems[0].noise, 3)
    (['c', 'b', 'a'], 0.141)
    >>> ranking.best_stays, round(ranking.spearman.mean, 2)
    (1.0, 1.0)
    """
    values = np.asarray(scores, dtype=np.float64)
    names = np.asarray(systems, dtype=object).astype(str)
    if values.ndim != 1 or values.shape != names.shape:
        raise InputError(f"{values.shape} scores and {names.shape} systems do not belong together")
    if not np.isfinite(values).all():
        row = int((~np.isfinite(values)).argmax())
        raise InputError(f"scores, row {row + 1}: a score is a finite number, got {values[row]}")
    if not 0.0 <= sigma < np.inf:
        raise InputError(f"sigma is a standard deviation, got {sigma!r}")
    if draws < 100:
        raise InputError(f"an interval over draws needs 100 of them or more, got {draws}")
    known, codes = np.unique(names, return_inverse=True)
    if len(known) < 2:
        raise InputError(f"a ranking needs two systems or more, got {', '.join(known) or 'none'}")
    # Sorted within a system, so that the order of the rows is not in the last digit of a mean.
    means = np.array([np.sort(values[codes == s]).mean() for s in range(len(known))])
    sizes = np.bincount(codes)
    order = np.lexsort((known, -means))
    means, sizes, known = means[order], sizes[order], known[order]
    noise = sigma / np.sqrt(sizes)
    rng = np.random.default_rng(seed)
    noisy = means + noise * rng.standard_normal((draws, len(known)))
    ranks = stats.rankdata(-noisy, axis=1)
    left = _left_of_means(shifts, codes, order, sigma)
    best = means == means.max()
    tied = bool(best.all())
    return NoisyRanking(
        systems=tuple(
            RankedSystem(
                name=str(known[s]),
                n=int(sizes[s]),
                mean=float(means[s]),
                noise=float(noise[s]),
                rank=_spread(ranks[:, s]),
                effect=None if left is None else float(left[s]),
            )
            for s in range(len(known))
        ),
        spearman=None if tied else _spread(_spearman(means, ranks)),
        kendall=None if tied else _spread(_kendall(means, noisy)),
        best_stays=float(np.mean(best[np.argmax(noisy, axis=1)])),
        draws=draws,
        seed=seed,
    )


def _spread(values: FloatArray) -> Spread:
    low, high = np.quantile(values, [0.025, 0.975])
    return Spread(float(np.mean(values)), float(low), float(high))


def _spearman(means: FloatArray, ranks: FloatArray) -> FloatArray:
    """Correlation of the raw ranks with those of each draw."""
    raw = stats.rankdata(-means)
    raw, drawn = raw - raw.mean(), ranks - ranks.mean(axis=1, keepdims=True)
    return np.asarray(drawn @ raw / np.sqrt((drawn**2).sum(axis=1) * (raw @ raw)))


def _kendall(means: FloatArray, noisy: FloatArray) -> FloatArray:
    """Tau-b of the raw means with those of each draw: pairs in the same order, ties in neither."""
    agree, untied = np.zeros(len(noisy)), np.zeros(len(noisy))
    raw_untied = 0.0
    for s in range(1, len(means)):
        raw = np.sign(means[:s] - means[s])
        drawn = np.sign(noisy[:, :s] - noisy[:, s : s + 1])
        agree += drawn @ raw
        untied += np.abs(drawn).sum(axis=1)
        raw_untied += np.abs(raw).sum()
    return np.asarray(agree / np.sqrt(raw_untied * untied))


def _left_of_means(
    shifts: ArrayLike | None, codes: IntArray, order: IntArray, sigma: float
) -> FloatArray | None:
    if shifts is None:
        return None
    moved = np.asarray(shifts, dtype=np.float64)
    moved = moved[:, None] if moved.ndim == 1 else moved
    if len(moved) != len(codes) or not np.isfinite(moved).all():
        raise InputError(f"{len(codes)} scores need as many finite shifts, got {moved.shape}")
    left = []
    for s in order:
        mine = moved[codes == s]
        left.append(effect(mine.mean(axis=0), sigma / np.sqrt(len(mine))).mean())
    return np.array(left)
