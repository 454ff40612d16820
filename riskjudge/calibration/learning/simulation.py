"""Where a sequence of tests should start, by simulated tests.

Nothing here touches a tested label, so whatever is decided here is part of the plan.
"""

from __future__ import annotations

import numpy as np

from riskjudge import counts
from riskjudge._typing import BoolArray, FloatArray, IntArray

_FUTURES = 256


def simulate_tests(
    pool: FloatArray,
    wrong: FloatArray,
    path: FloatArray,
    tolerated: IntArray,
    rng: np.random.Generator,
) -> tuple[BoolArray, FloatArray]:
    """Whether the test of each vector passes, in a number of possible futures.

    A future is a draw of the error model, and a normal walk of the error count along the path: items
    that two neighbouring vectors both accept, in the same mode, bring the same errors to both.

    Parameters
    ----------
    pool : ndarray of float, shape (N, K)
    wrong : ndarray of float, shape (N, K, S)
        Error probabilities under S draws of the error model; NaN where there is no score.
    path : ndarray of float, shape (L, K)
    tolerated : ndarray of int, shape (n + 1,)
        Largest error count that passes, for every accepted count out of the n tested items.
    rng : np.random.Generator
        Source of randomness.

    Returns
    -------
    passes : ndarray of bool, shape (L, futures)
    coverage : ndarray of float, shape (L,)
        Of the pool.
    """
    n, size = len(tolerated) - 1, len(pool)
    mode = np.stack([counts.route(pool, vector) for vector in path])
    accepted = np.count_nonzero(mode >= 0, axis=1)
    same = np.count_nonzero((mode[1:] == mode[:-1]) & (mode[1:] >= 0), axis=1)
    kept = np.append(0.0, same / np.maximum(accepted[:-1], 1))
    known = np.nan_to_num(wrong)
    errors = sum((mode == k).astype(np.float64) @ known[:, k] for k in range(pool.shape[1]))
    m = accepted * (n / size)
    mean = np.tile(errors * (n / size), (1, -(-_FUTURES // wrong.shape[2])))
    variance = np.maximum(mean * (1.0 - mean / np.maximum(m, 1e-9)[:, None]), 0.0)
    walk = rng.standard_normal(mean.shape)
    walk[0] *= np.sqrt(variance[0])
    for i in range(1, len(path)):
        fresh = np.maximum(variance[i] - kept[i] ** 2 * variance[i - 1], 0.0)
        walk[i] = kept[i] * walk[i - 1] + walk[i] * np.sqrt(fresh)
    limit = tolerated[np.rint(m).astype(np.int64)][:, None]
    return (limit >= 0) & (mean + walk <= limit + 0.5), accepted / size


def best_start(passes: BoolArray, coverage: FloatArray) -> int:
    """Where to start a sequence that ends at its first failure, for the largest expected coverage.

    Parameters
    ----------
    passes : ndarray of bool, shape (L, futures)
    coverage : ndarray of float, shape (L,)
        Ascending.

    Examples
    --------
    >>> passes = np.array([[True, False, False], [True, True, True], [False, True, True]])
    >>> best_start(passes, np.array([0.2, 0.6, 0.9]))
    1
    """
    reached = np.zeros(passes.shape)
    following = np.zeros(passes.shape[1])
    for i in reversed(range(len(passes))):
        following = np.where(passes[i], np.maximum(coverage[i], following), 0.0)
        reached[i] = following
    return int(np.argmax(reached.mean(axis=1)))
