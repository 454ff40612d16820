"""A lattice of threshold vectors over the pool, and its most promising cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from riskjudge._typing import FloatArray, IntArray
from riskjudge.counts import NONE
from riskjudge.errors import InputError

_CELLS = 4096
_MOST_MODES = 8


@dataclass(frozen=True, slots=True, eq=False)
class Lattice:
    """Threshold vectors at quantiles of a pool; the cells are flat indices.

    Attributes
    ----------
    axes : tuple of ndarray of float
        Ascending thresholds of each mode, "no threshold in this mode" first.
    size : int
        Items in the pool.
    accepted : ndarray of int, shape (C,)
        Accepted items of the pool.
    errors : ndarray of float, shape (C,)
        Predicted errors among them.
    sent : ndarray of int, shape (C,)
        Items of the pool sent past the first mode.
    """

    axes: tuple[FloatArray, ...]
    size: int
    accepted: IntArray
    errors: FloatArray
    sent: IntArray

    def thresholds(self, cells: IntArray) -> FloatArray:
        """Threshold vectors of some cells, shape (L, K)."""
        index = np.unravel_index(cells, tuple(len(axis) for axis in self.axes))
        return np.column_stack([axis[i] for axis, i in zip(self.axes, index, strict=True)])

    def frontier(
        self, n: int, tolerated: IntArray, steps: int, most_sent: float = 1.0
    ) -> FloatArray:
        """At each level of coverage the vector most likely to pass, in ascending order of coverage.

        A vector is left out if one of larger coverage is at least as likely to pass: to test it
        first could only end the sequence early.

        Parameters
        ----------
        n : int
            Number of items that will be tested.
        tolerated : ndarray of int, shape (n + 1,)
            Largest error count that passes, for every accepted count; -1 where none does.
        steps : int
            Levels of coverage; the last one holds the cells of largest coverage only.
        most_sent : float
            Share of the pool that a vector may send past the first mode.

        Returns
        -------
        ndarray of float, shape (L, K), L <= steps + 1
        """
        margin = self._margin(n, tolerated)
        usable = (self.accepted > 0) & (self.sent <= most_sent * self.size)
        top = int(self.accepted[usable].max(initial=0))
        level = self.accepted * steps // max(top, 1)
        promising = np.lexsort((-self.accepted, -margin))
        promising = promising[usable[promising]]
        _, first = np.unique(level[promising], return_index=True)
        cells = promising[first]
        best = np.maximum.accumulate(margin[cells][::-1])[::-1]
        keep = np.append(margin[cells][:-1] > best[1:], True)[: len(cells)]
        return self.thresholds(cells[keep])

    def _margin(self, n: int, tolerated: IntArray) -> FloatArray:
        """Distance of the predicted error count from the tolerated one, in standard deviations."""
        scale = n / max(self.size, 1)
        m, mean = self.accepted * scale, self.errors * scale
        limit = tolerated[np.minimum(np.rint(m).astype(np.int64), n)]
        variance = mean * (1.0 - mean / np.maximum(m, 1e-9))
        margin = (limit + 0.5 - mean) / np.sqrt(np.maximum(variance, 1e-9))
        return np.where(limit >= 0, margin, -np.inf)


def build_lattice(pool: FloatArray, wrong: FloatArray) -> Lattice:
    """Count a pool over the lattice of its quantiles.

    Parameters
    ----------
    pool : ndarray of float, shape (N, K)
        Scores, NaN where a mode has no usable verdict.
    wrong : ndarray of float, shape (N, K)
        Predicted error probabilities; used where there is a score.

    Raises
    ------
    InputError
        For more modes than a lattice can serve.

    Examples
    --------
    >>> pool = np.array([[0.1, 0.5], [0.4, 0.2], [0.4, np.nan]])
    >>> lattice = build_lattice(pool, np.full((3, 2), 0.5))
    >>> lattice.accepted.reshape(3, 3)
    array([[0, 1, 2],
           [1, 2, 2],
           [3, 3, 3]])
    >>> lattice.errors.reshape(3, 3)[2]
    array([1.5, 1.5, 1.5])
    """
    n, n_modes = pool.shape
    if n_modes > _MOST_MODES:
        raise InputError(f"an order is learned over at most {_MOST_MODES} modes, got {n_modes}")
    most = max(int(_CELLS ** (1.0 / n_modes) + 1e-9) - 1, 1)
    axes, columns = zip(*(_axis(column, most) for column in pool.T), strict=True)
    ranks = np.column_stack(columns)
    shape = tuple(len(axis) for axis in axes)
    accepted, errors = np.zeros(shape), np.zeros(shape)
    for k in range(n_modes):
        usable = ~np.isnan(pool[:, k])
        cell = np.ravel_multi_index(tuple(ranks[usable, : k + 1].T), shape[: k + 1])
        accepted += _by_mode(cell, np.ones(len(cell)), k, shape)
        errors += _by_mode(cell, wrong[usable, k], k, shape)
        if k == 0:
            sent = n - np.rint(accepted).astype(np.int64)
    sent[(slice(None), *(0,) * (n_modes - 1))] = 0  # no threshold in any later mode
    return Lattice(
        axes, n, np.rint(accepted).astype(np.int64).ravel(), errors.ravel(), sent.ravel()
    )


def _by_mode(cell: IntArray, values: FloatArray, k: int, shape: tuple[int, ...]) -> FloatArray:
    """Sum of `values` over the items that mode k accepts, for every vector of the lattice.

    `cell` holds the items' ranks in modes 0 to k. Mode k accepts an item whose rank is below its
    index in mode k, and in no earlier mode. Later modes do not matter: their axes are broadcast.
    """
    lead = shape[: k + 1]
    sums = np.bincount(cell, weights=values, minlength=int(np.prod(lead)))
    placed: FloatArray = sums.astype(np.float64).reshape(lead)
    for axis in range(k):
        placed = np.flip(np.cumsum(np.flip(placed, axis), axis=axis), axis)
    total = np.zeros_like(placed)
    np.cumsum(placed[..., :-1], axis=-1, out=total[..., 1:])
    return total.reshape(*lead, *(1,) * (len(shape) - k - 1))


def _axis(column: FloatArray, most: int) -> tuple[FloatArray, IntArray]:
    """At most `most` thresholds at equal quantiles, and the rank of each item among them."""
    usable = ~np.isnan(column)
    ordered = np.sort(column[usable])
    last = np.ceil(np.linspace(0.0, 1.0, most + 1)[1:] * len(ordered)).astype(np.int64)
    values = np.unique(ordered[last[last > 0] - 1])
    rank = np.searchsorted(values, column, side="left")
    rank[~usable] = len(values)
    return np.concatenate(([NONE], values)), rank
