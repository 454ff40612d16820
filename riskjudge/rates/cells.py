"""Cells of rows that are alike to the judge: the strata of the post-stratified estimator.

Cells are made from what is known of every row (what became of it, the verdict, how sure the judge
was) and from *how many* labels fell into them, never from what those labels say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from riskjudge._typing import FloatArray, IntArray
from riskjudge.rates.sample import PARTS, RateSample

SPLIT_AT = 100
"""A cell is split by the judge's confidence while every piece keeps about so many labels."""
MOST_PIECES = 4
FEWEST = 3
"""A cell with fewer labels than this is joined to the one most like it."""
_CHANCE = 1e-3


@dataclass(frozen=True, eq=False)
class Cells:
    """A partition of the rows.

    Attributes
    ----------
    code : ndarray of int, shape (n,)
        Cell of each row.
    rows, labels : ndarray of int, shape (H,)
        Rows and labelled rows in each cell.
    unknown : ndarray of bool, shape (H,)
        Cells without a label that chance cannot have missed: nothing is known of their rate.
    names : tuple of str, length H
    """

    code: IntArray
    rows: IntArray
    labels: IntArray
    unknown: np.ndarray
    names: tuple[str, ...]


def make_cells(sample: RateSample) -> Cells:
    """Cells by what became of the row, verdict, and confidence where there are labels enough.

    Examples
    --------
    >>> sample = RateSample.from_arrays(np.repeat([0, 1], 50), np.resize([0, 1, -1, -1], 100))
    >>> make_cells(sample).rows
    array([50, 50])
    """
    code, names, likeness = _base(sample)
    n = sample.n_labelled
    labels = np.bincount(code[sample.labelled], minlength=len(names))
    rows = np.bincount(code, minlength=len(names))
    # If every row were as likely to be labelled, would the cell be without a label?
    missed = (labels == 0) & (
        n * np.log1p(-np.minimum(rows / len(sample), 1 - 1e-9)) < np.log(_CHANCE)
    )
    into = _joined(rows, labels, missed, likeness)
    kept, code = _numbered(into[code])
    merged = [
        " or ".join(names[h] for h in np.flatnonzero(into == cell) if rows[h]) for cell in kept
    ]
    return Cells(
        code,
        np.bincount(code, minlength=len(kept)),
        np.bincount(code[sample.labelled], minlength=len(kept)),
        missed[kept],
        tuple(merged),
    )


def _base(sample: RateSample) -> tuple[IntArray, list[str], IntArray]:
    """Cells before any is joined; `likeness` is shared by cells that are pieces of one."""
    key = 3 * sample.part + sample.verdicts + 1
    if sample.stratum is not None:
        key = key + 3 * len(PARTS) * sample.stratum
    found, code = _numbered(key)
    labels = np.bincount(code[sample.labelled], minlength=len(found))
    names: list[str] = []
    likeness: list[int] = []
    result = np.empty(len(sample), dtype=np.int64)
    for h, value in enumerate(found):
        inside = np.flatnonzero(code == h) if len(found) > 1 else np.arange(len(sample))
        verdict = int(value) % 3 - 1
        pieces = 1
        if verdict >= 0 and sample.stratum is None:
            pieces = min(MOST_PIECES, int(labels[h]) // SPLIT_AT)
        bins = bins_of(sample.uncertainty[inside], pieces)
        result[inside] = len(names) + bins
        name = PARTS[int(value) // 3 % len(PARTS)]
        name += "" if verdict < 0 else (", fail", ", pass")[verdict]
        count = int(bins.max()) + 1
        names += [
            name if count == 1 else f"{name}, confidence {count - b} of {count}"
            for b in range(count)
        ]
        likeness += [verdict] * count
    return result, names, np.array(likeness)


def _numbered(values: IntArray) -> tuple[IntArray, IntArray]:
    """Distinct small whole numbers, and the place of each value among them, without a sort.

    Examples
    --------
    >>> _numbered(np.array([4, 1, 4]))
    (array([1, 4]), array([1, 0, 1]))
    """
    there = np.bincount(values) > 0
    return np.flatnonzero(there), (np.cumsum(there) - 1)[values]


def bins_of(uncertainty: FloatArray, pieces: int) -> IntArray:
    """Bins of about equal size, the surest first; equal scores share a bin.

    Examples
    --------
    >>> bins_of(np.array([0.1, 0.1, 0.1, 0.4]), 2)
    array([0, 0, 0, 1])
    """
    if pieces < 2 or np.isnan(uncertainty).all():
        return np.zeros(len(uncertainty), dtype=np.int64)
    edges = np.unique(np.nanquantile(uncertainty, np.arange(1, pieces) / pieces, method="lower"))
    bins = np.searchsorted(edges, np.nan_to_num(uncertainty, nan=np.inf), side="left")
    return _numbered(bins)[1]


def _joined(rows: IntArray, labels: IntArray, missed: np.ndarray, likeness: IntArray) -> IntArray:
    """For each cell the cell it is counted with: small ones join the largest that is like them."""
    into = np.arange(len(rows))
    held = labels.copy()
    open_ = ~missed & (rows > 0)
    for h in np.lexsort((np.arange(len(rows)), rows)):
        if not open_[h] or held[h] >= FEWEST or open_.sum() < 2:
            continue
        others = np.flatnonzero(open_ & (np.arange(len(rows)) != h))
        alike = others[likeness[others] == likeness[h]]
        choice = alike if len(alike) else others
        target = choice[np.argmax(held[choice])]
        into[into == h] = target
        held[target] += held[h]
        open_[h] = False
    return into
