"""Accepted and error counts of threshold rules, as integers.

A *routing rule* over K modes is a vector of thresholds: an item is accepted by the first mode whose
score (uncertainty, higher = less sure) is at most that mode's threshold, else by none (Eq. 9 of
[1]_). ``-inf`` is "no threshold in this mode"; a NaN score is "no usable verdict in this mode" and
is never accepted, whatever the threshold. Equal scores are accepted together or not at all.

Everything here counts; nothing decides. Counts do not depend on a risk level, so one set of counts
serves a whole sweep over levels.

References
----------
.. [1] S. Badshah, A. Emami, H. Sajjad, "Judge, Retrieve, or Abstain", arXiv:2608.17994.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from riskjudge._typing import BoolArray, FloatArray, IntArray
from riskjudge.errors import InputError

NONE = -np.inf
"""Threshold that no score reaches: the mode is not used."""


def encode_thresholds(vector: Iterable[float]) -> list[float | None]:
    """Thresholds for JSON: "no threshold" is None, never an infinity.

    Examples
    --------
    >>> encode_thresholds([0.5, NONE])
    [0.5, None]
    """
    return [None if t == NONE else float(t) for t in vector]


def decode_thresholds(values: Iterable[float | None]) -> FloatArray:
    """The inverse of :func:`encode_thresholds`.

    Examples
    --------
    >>> decode_thresholds([0.5, None])
    array([ 0.5, -inf])
    """
    return np.array([NONE if t is None else t for t in values], dtype=np.float64)


_CELLS_PER_BLOCK = 1 << 18  # stays in the cache of a core
_CELLS_KEPT = 1 << 22
_FEW_VECTORS = 8
_BITS = 32
_MASK = (1 << _BITS) - 1


@dataclass(frozen=True, slots=True, eq=False)
class PathCounts:
    """Counts along a sequence of L threshold vectors.

    Attributes
    ----------
    thresholds : ndarray of float, shape (L, K)
    accepted, errors : ndarray of int, shape (L,)
        Accepted items, and wrong verdicts among them.
    by_mode : ndarray of int, shape (L, K)
        Accepted items by the mode that accepted them.
    """

    thresholds: FloatArray
    accepted: IntArray
    errors: IntArray
    by_mode: IntArray

    def __len__(self) -> int:
        return len(self.accepted)


def route(scores: FloatArray, thresholds: FloatArray) -> IntArray:
    """Index of the mode that accepts each item, -1 where none does.

    Parameters
    ----------
    scores : ndarray of float, shape (n, K)
    thresholds : ndarray of float, shape (K,)

    Examples
    --------
    >>> route(np.array([[0.1, 0.5], [0.4, 0.2], [0.4, np.nan]]), np.array([0.2, 0.3]))
    array([ 0,  1, -1])
    """
    below = scores <= thresholds
    return np.where(below.any(axis=1), below.argmax(axis=1), -1)


def contradicts(verdicts: IntArray, labels: IntArray, reach: int = 0) -> BoolArray:
    """Which verdicts are wrong: further than `reach` from their label. All errors are counted by this.

    A missing verdict (-1) contradicts every label, so that it is nowhere counted as right.

    Examples
    --------
    >>> contradicts(np.array([1, 0, -1]), np.array([1, 1, 0])).tolist()
    [False, True, True]
    >>> contradicts(np.array([3, 0, -1]), np.array([1, 1, 0]), reach=1).tolist()
    [True, False, True]
    """
    if reach == 0:
        return np.asarray(verdicts != labels)
    return np.asarray((verdicts < 0) | (np.abs(verdicts - labels) > reach))


def threshold_counts(scores: FloatArray, errors: BoolArray) -> PathCounts:
    """Counts of a single mode at every distinct score, in ascending order.

    Parameters
    ----------
    scores : ndarray of float, shape (n,)
        NaN where the mode has no usable verdict.
    errors : ndarray of bool, shape (n,)
        Whether the verdict is wrong.

    Examples
    --------
    >>> counts = threshold_counts(np.array([0.2, 0.1, 0.2, np.nan]), np.array([1, 0, 0, 1], bool))
    >>> counts.thresholds.ravel(), counts.accepted, counts.errors
    (array([0.1, 0.2]), array([1, 3]), array([0, 1]))
    """
    scores = np.asarray(scores, dtype=np.float64)
    missing = np.isnan(scores)
    if missing.any():
        scores, errors = scores[~missing], errors[~missing]
    ordered, wrong = _sorted_with_errors(scores, errors)
    last_of_tie = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=last_of_tie[:-1])
    accepted = np.arange(1, len(ordered) + 1)
    if not last_of_tie.all():
        ordered, wrong, accepted = ordered[last_of_tie], wrong[last_of_tie], accepted[last_of_tie]
    return PathCounts(ordered[:, None], accepted, wrong, accepted[:, None])


def _sorted_with_errors(scores: FloatArray, errors: BoolArray) -> tuple[FloatArray, IntArray]:
    """Sorted scores, and the errors among them up to each position.

    The bits of a float that is not negative order as the float does, and leave the sign bit free. So
    a score and its error flag fit one integer, and a plain sort, which is far quicker than an
    indirect one, carries the flag along. Negative scores take two sorts.
    """
    if len(scores) and scores.min() < 0.0:
        ordered = np.sort(scores)
        wrong = np.sort(scores[errors.astype(bool)])
        return ordered, np.searchsorted(wrong, ordered, side="right")
    keys = (scores + 0.0).view(np.uint64)  # + 0.0: minus zero has a sign bit
    keys <<= np.uint64(1)
    keys |= errors.astype(bool)
    keys.sort()
    wrong = np.cumsum(keys & np.uint64(1), dtype=np.int64)
    keys >>= np.uint64(1)
    return keys.view(np.float64), wrong


def path_counts(scores: FloatArray, errors: BoolArray, path: FloatArray) -> PathCounts:
    """Counts of K modes along any sequence of threshold vectors.

    Parameters
    ----------
    scores : ndarray of float, shape (n, K)
    errors : ndarray of bool, shape (n, K)
        Whether each mode's verdict is wrong.
    path : ndarray of float, shape (L, K)

    Examples
    --------
    >>> scores = np.array([[0.1, 0.5], [0.4, 0.2], [0.4, np.nan]])
    >>> wrong = np.array([[0, 1], [1, 1], [0, 0]], bool)
    >>> counts = path_counts(scores, wrong, np.array([[NONE, 0.3], [0.2, 0.3], [0.4, NONE]]))
    >>> counts.accepted, counts.errors, counts.by_mode[1]
    (array([1, 2, 3]), array([1, 1, 1]), array([1, 1]))
    """
    n, n_modes = scores.shape
    if path.ndim != 2 or path.shape[1] != n_modes:
        raise InputError(f"a path over {n_modes} modes has shape (L, {n_modes}), got {path.shape}")
    if n_modes == 2 and len(path) > _FEW_VECTORS:
        return _path_counts_on_plane(scores, errors, path)
    by_mode = np.zeros(path.shape, dtype=np.int64)
    wrong = np.zeros(len(path), dtype=np.int64)
    rows = max(1, _CELLS_PER_BLOCK // max(n, 1))
    for first in range(0, len(path), rows):
        block = slice(first, first + rows)
        free = np.ones((len(path[block]), n), dtype=bool)
        for k in range(n_modes):
            taken = (scores[:, k] <= path[block, k, None]) & free
            free &= ~taken
            by_mode[block, k] = np.count_nonzero(taken, axis=1)
            wrong[block] += np.count_nonzero(taken & errors[:, k], axis=1)
    return PathCounts(path, by_mode.sum(axis=1), wrong, by_mode)


def _path_counts_on_plane(scores: FloatArray, errors: BoolArray, path: FloatArray) -> PathCounts:
    """Counts of two modes as cells of the plane over the path's own thresholds.

    Each item is ranked once, so n items and L vectors take ``n log L + L**2`` steps and not ``n L``.
    """
    axes = [np.unique(column) for column in path.T]
    plane = Plane(scores, errors, grids=(axes[0], axes[1]))
    row, column = (
        np.searchsorted(grid, values) for grid, values in zip(plane.grids, path.T, strict=True)
    )
    accepted, wrong = plane.counts()
    first = accepted[row, 0]  # no threshold in the second mode
    total = accepted[row, column]
    return PathCounts(path, total, wrong[row, column], np.column_stack((first, total - first)))


class Plane:
    """Counts of two modes over the whole plane of threshold pairs.

    The axes are the distinct scores of each mode, "no threshold in this mode" first; or a coarser
    grid that is given. Within one row (a fixed first threshold) the accepted count never falls, and
    cells with equal accepted counts accept the same items.

    Parameters
    ----------
    scores : ndarray of float, shape (n, 2)
    errors : ndarray of bool, shape (n, 2)
    grids : pair of ndarray of float, optional
        Ascending thresholds to use in place of the distinct scores; ``-inf`` is put in front.

    Attributes
    ----------
    grids : pair of ndarray of float
        The thresholds of both axes, ``-inf`` first; the plane has shape ``(G1, G2)``.

    Notes
    -----
    Accepted and error counts of a cell travel as one packed integer, so that a two-dimensional
    cumulative sum gives both. At n = 1,000 all 10^6 pairs take a few milliseconds. Planes of more
    than some millions of cells are streamed in blocks of rows: memory stays linear in n, time is
    the number of cells.

    Examples
    --------
    >>> scores = np.array([[0.1, 0.5], [0.4, 0.2], [0.4, np.nan]])
    >>> plane = Plane(scores, np.array([[0, 1], [1, 1], [0, 0]], bool))
    >>> plane.grids[0], plane.grids[1]
    (array([-inf,  0.1,  0.4]), array([-inf,  0.2,  0.5]))
    >>> accepted, errors = plane.counts()
    >>> accepted
    array([[0, 1, 2],
           [1, 2, 2],
           [3, 3, 3]])
    >>> errors
    array([[0, 1, 2],
           [0, 1, 1],
           [1, 1, 1]])
    """

    def __init__(
        self,
        scores: FloatArray,
        errors: BoolArray,
        grids: tuple[FloatArray, FloatArray] | None = None,
    ) -> None:
        if scores.ndim != 2 or scores.shape[1] != 2:
            raise InputError(f"a plane has two modes, got scores of shape {scores.shape}")
        axes = []
        ranks = []
        for k in range(2):
            column = scores[:, k]
            usable = ~np.isnan(column)
            rank = np.full(len(column), -1)  # -1: no threshold of this axis accepts the item
            if grids is None:
                values, rank[usable] = np.unique(column[usable], return_inverse=True)
            else:
                values = np.asarray(grids[k], dtype=np.float64)
                values = values[values > NONE]
                position = np.searchsorted(values, column[usable], side="left")
                rank[usable] = np.where(position < len(values), position, -1)
            axes.append(np.concatenate(([NONE], values)))
            ranks.append(rank)
        self.n = len(scores)
        self.grids: tuple[FloatArray, FloatArray] = (axes[0], axes[1])
        self._ranks = ranks
        self._cost = [(1 << _BITS) + errors[:, k].astype(np.int64) for k in range(2)]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.grids[0]), len(self.grids[1])

    def counts(self) -> tuple[IntArray, IntArray]:
        """Accepted and error counts of every cell, each of shape ``(G1, G2)``."""
        packed = np.concatenate([block for _, block in self._blocks()])
        return packed >> _BITS, packed & _MASK

    @cached_property
    def fewest_errors(self) -> IntArray:
        """Fewest errors of any cell with m accepted items, for every m; ``n + 1`` where no cell has m.

        Shape ``(n + 1,)``. With this table a search for the best certified cell costs O(n) for each
        further risk level.
        """
        worst = (self.n + 1) | (1 << (2 * _BITS - 2))
        best = np.full(self.n + 1, worst, dtype=np.int64)
        for _, block in self._blocks():
            for part in np.array_split(block, len(block) // 64 + 1):
                np.minimum.at(best, (part >> _BITS).ravel(), part.ravel())
        return best & _MASK

    def cells(self, accepted: int, max_errors: int) -> IntArray:
        """Cells with this many accepted items and at most this many errors.

        Returns
        -------
        ndarray of int, shape (r, 2)
            Row and column, in ascending order of rows; of equal cells in a row, the first.
        """
        found = []
        low = np.int64(accepted) << _BITS
        for first, block in self._blocks():
            column = _first_at_least(block, low)
            inside = np.flatnonzero(column < block.shape[1])
            value = block[inside, column[inside]]
            hit = inside[(value >> _BITS == accepted) & (value & _MASK <= max_errors)]
            found.append(np.column_stack((hit + first, column[hit])))
        return np.concatenate(found)

    def _blocks(self) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Packed counts in blocks of rows: accepted in the high half, errors in the low half."""
        n_rows, n_columns = self.shape
        yield from self._kept if n_rows * n_columns <= _CELLS_KEPT else self._stream()

    @cached_property
    def _kept(self) -> list[tuple[int, NDArray[np.int64]]]:
        return list(self._stream())

    def _stream(self) -> Iterator[tuple[int, NDArray[np.int64]]]:
        n_rows, n_columns = self.shape
        rows = max(1, _CELLS_PER_BLOCK // n_columns)
        carry = np.zeros(n_columns, dtype=np.int64)
        for first in range(0, n_rows, rows):
            block, carry = self._block(first, min(first + rows, n_rows), carry)
            yield first, block

    def _block(
        self, first: int, stop: int, carry: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows ``first:stop``; `carry` and the second result are the running row of differences."""
        (rank1, rank2), (cost1, cost2) = self._ranks, self._cost
        steps = np.zeros((stop - first, self.shape[1]), dtype=np.int64)
        if first == 0:
            # No threshold in mode 1: whatever mode 2 can accept is mode 2's.
            inside = rank2 >= 0
            np.add.at(steps[0], rank2[inside] + 1, cost2[inside])
        # From row rank1 + 1 on the item is mode 1's: in every column, and no longer mode 2's.
        row = rank1 + 1 - first
        here = (rank1 >= 0) & (row >= 0) & (row < stop - first)
        np.add.at(steps[:, 0], row[here], cost1[here])
        here &= rank2 >= 0
        np.subtract.at(steps, (row[here], rank2[here] + 1), cost2[here])
        steps[0] += carry
        for i in range(1, len(steps)):  # one row at a time: much faster than cumsum over axis 0
            steps[i] += steps[i - 1]
        carry = steps[-1].copy()
        return np.cumsum(steps, axis=1, out=steps), carry


def _first_at_least(rows: NDArray[np.int64], value: np.int64) -> IntArray:
    """For each ascending row, the first column with an entry of at least `value`."""
    low = np.full(len(rows), -1)
    high = np.full(len(rows), rows.shape[1])
    index = np.arange(len(rows))
    while np.any(high - low > 1):
        middle = (low + high) // 2
        inner = np.clip(middle, 0, rows.shape[1] - 1)
        reached = (rows[index, inner] >= value) & (middle >= 0)
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return high
