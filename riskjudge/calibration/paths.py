"""Label-free paths: sequences of threshold vectors placed by an unlabelled pool."""

from __future__ import annotations

import numpy as np

from riskjudge import binomial, counts
from riskjudge._typing import FloatArray
from riskjudge.calibration.plan import Target
from riskjudge.calibration.sample import Sample
from riskjudge.counts import NONE
from riskjudge.errors import InputError

_SPARE = 2  # errors that a first vector should be able to survive
_POOL_ROWS = 20_000  # quantiles of more rows than this would be no sharper than their use


def coverage_levels(start: float, steps: int) -> FloatArray:
    """Equally spaced coverages from `start` to 1.

    Examples
    --------
    >>> coverage_levels(0.25, 4)
    array([0.25, 0.5 , 0.75, 1.  ])
    """
    if not 0.0 < start <= 1.0 or steps < 1:
        raise InputError(f"a path needs a start in (0, 1] and a step or more, got {start}, {steps}")
    return np.linspace(start, 1.0, steps)


def quantile_path(pool: FloatArray, speeds: tuple[float, ...], coverages: FloatArray) -> FloatArray:
    """Thresholds that move together through the quantiles of the pool.

    At position x in [0, 1], mode k accepts the pool's lowest share ``speeds[k] * x`` of its scores.
    For each wanted coverage the path holds the first position whose rule accepts at least that
    share of the pool.

    Parameters
    ----------
    pool : ndarray of float, shape (N, K)
        Scores, NaN where a mode has no usable verdict.
    speeds : tuple of float, length K
        Between 0 and 1; 0 leaves the mode out.
    coverages : ndarray of float, shape (L,)

    Returns
    -------
    ndarray of float, shape (L', K), L' <= L
        In ascending order of coverage; coverages that no position reaches are left out, and equal
        neighbours are merged.

    Examples
    --------
    >>> pool = np.array([[0.1, 0.4], [0.2, 0.3], [0.3, 0.2], [0.4, 0.1]])
    >>> quantile_path(pool, (1.0, 0.0), np.array([0.5, 1.0]))
    array([[ 0.2, -inf],
           [ 0.4, -inf]])
    >>> quantile_path(pool, (0.5, 1.0), np.array([0.5, 1.0]))
    array([[0.1, 0.2],
           [0.1, 0.3]])
    """
    n, n_modes = pool.shape
    entry = np.full(n, np.inf)
    ordered = []
    for k, speed in enumerate(speeds):
        column = np.sort(pool[~np.isnan(pool[:, k]), k])
        ordered.append(column)
        if speed > 0:
            rank = np.searchsorted(column, pool[:, k], side="right") / n
            rank[np.isnan(pool[:, k])] = np.inf
            entry = np.minimum(entry, rank / speed)
    entry.sort()
    wanted = np.maximum(np.ceil(coverages * n - 1e-9).astype(np.int64), 1) - 1
    position = entry[wanted[wanted < n]]
    position = np.unique(position[np.isfinite(position)])
    path = np.full((len(position), n_modes), NONE)
    for k, speed in enumerate(speeds):
        # The largest pool score whose rank is at most speed * x.
        index = np.floor(speed * position * n + 1e-9).astype(np.int64)
        inside = (index > 0) & (len(ordered[k]) > 0)
        path[inside, k] = ordered[k][np.minimum(index[inside], len(ordered[k])) - 1]
    keep = np.append(True, np.any(path[1:] != path[:-1], axis=1))[: len(path)]
    kept: FloatArray = path[keep]
    return kept


def most_sent(target: Target, n: int, pool_size: int) -> float:
    """Share of the pool that a rule may send past the first mode to have a chance on n items.

    Below the budget by two standard errors of the difference between pool and tested items.
    """
    budget = target.max_retrieval
    if budget is None:
        return 1.0
    spread = np.sqrt(budget * (1.0 - budget) * (1.0 / max(n, 1) + 1.0 / max(pool_size, 1)))
    return float(max(budget - 2.0 * spread, 0.0))


def drop_hopeless(
    path: FloatArray, pool: FloatArray, n: int, target: Target, level: float, columns: int = 1
) -> FloatArray:
    """The path without the vectors that the pool already shows to be hopeless.

    Left out are leading vectors that would accept too few of the `n` tested items to tolerate a
    few errors at `level`, and vectors that send more of the pool past the first mode than the
    budget allows. Labels play no part, so the rest is as fixed in advance as the whole.

    Parameters
    ----------
    columns : int
        Columns of the first mode.
    path : FloatArray
        The file.
    pool : FloatArray
        Unlabelled scores.
    n : int
        Items that will be tested.
    target : Target
        Risk level and significance.
    level : float
        Significance at which it is tested.
    """
    if len(path) == 0 or len(pool) == 0:
        return path
    tallied = counts.path_counts(pool, np.zeros(pool.shape, dtype=bool), path)
    hopeful = np.ones(len(path), dtype=bool)
    if target.max_retrieval is not None:
        asks = (path[:, columns:] > NONE).any(axis=1)
        sent = len(pool) - tallied.by_mode[:, :columns].sum(axis=1)
        hopeful = ~asks | (sent <= most_sent(target, n, len(pool)) * len(pool))
    needed = int(binomial.first_certifying(np.array([_SPARE]), target.alpha, level)[0])
    enough = tallied.accepted * n >= needed * len(pool)
    if enough.any():
        hopeful[: int(enough.argmax())] = False
    return path[hopeful]


def pool_of(sample: Sample, reserve: float, seed: int) -> tuple[FloatArray, Sample, int]:
    """Scores to place a path with, the rows left to test on, and how many rows that took.

    An unlabelled pool costs no labelled rows. Without one, or with one that is smaller than the
    reserve would be, a random share of the labelled rows serves as the pool; those rows are then not
    tested on.
    """
    pool = sample.pool_scores
    if pool is not None and len(pool) and len(pool) >= round(reserve * sample.n):
        return _thin(pool), sample, 0
    reserved, rest = sample.reserve(reserve, seed)
    scores = reserved.scores if pool is None else np.concatenate((pool, reserved.scores))
    return _thin(scores), rest, reserved.n


def _thin(pool: FloatArray) -> FloatArray:
    """At most `_POOL_ROWS` rows, evenly spaced (the caller's order may mean something)."""
    step = -(-len(pool) // _POOL_ROWS)
    return pool[:: max(step, 1)]
