r"""Which rows to label next: a random draw from strata, more where the judge is unsure.

Strata are made of what became of a row, its verdict and how sure the judge was. The budget goes to
stratum `h` half in proportion to its rows, half in proportion to :math:`N_h \sigma_h` (Neyman's
allocation, [1]_) with :math:`\sigma_h` from the labels there are, or else from the judge's
uncertainty; the first half bounds the harm of a judge that is sure and wrong. Of several systems
each is given the same say, however many rows it has.

Within a stratum every row without a label is as likely to be drawn as any other, so the labelled
rows of a stratum are a random draw of its rows, and ``rows / labels`` is their weight.

References
----------
.. [1] J. Neyman, "On the two different aspects of the representative method", J. R. Stat. Soc. 97,
   1934.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from riskjudge._typing import BoolArray, FloatArray, IntArray, ObjectArray
from riskjudge.errors import InputError
from riskjudge.rates.cells import FEWEST, bins_of
from riskjudge.rates.sample import PARTS, RateSample

_PRIOR = 4.0
_VERDICTS = ("no verdict", "fail", "pass")


@dataclass(frozen=True, eq=False)
class Draw:
    """Rows to label.

    Attributes
    ----------
    index : ndarray of int, shape (n,)
        Drawn rows, in random order.
    probability : ndarray of float, shape (n,)
        With which each was drawn from the rows of its stratum that had no label.
    stratum : ndarray of int, shape (rows,)
        Stratum of every row.
    names : tuple of str
        Of the strata.
    pieces : int
        Pieces that a verdict was cut into by confidence.
    """

    index: IntArray
    probability: FloatArray
    stratum: IntArray
    names: tuple[str, ...]
    pieces: int


def default_pieces(labels: int) -> int:
    """Pieces that a verdict is cut into, by the number of labels there will be.

    Examples
    --------
    >>> default_pieces(40), default_pieces(100), default_pieces(1000)
    (1, 2, 4)
    """
    return 1 if labels < 60 else 2 if labels < 600 else 4


def strata_of_rows(
    sample: RateSample, pieces: int, system: ObjectArray | None = None
) -> tuple[IntArray, tuple[str, ...]]:
    """Stratum of every row, and the names of the strata.

    Examples
    --------
    >>> some = RateSample.from_arrays(np.array([1, 1, 0]), np.full(3, -1))
    >>> strata_of_rows(some, 1)[1]
    ('accepted fail', 'accepted pass')
    """
    owners = np.full(len(sample), "", dtype=object) if system is None else system
    owner_names, owner = np.unique(owners.astype(str), return_inverse=True)
    key = (owner * len(PARTS) + sample.part) * 3 + sample.verdicts + 1
    found, code = np.unique(key, return_inverse=True)
    stratum = np.empty(len(sample), dtype=np.int64)
    names: list[str] = []
    for h, value in enumerate(found):
        inside = np.flatnonzero(code == h)
        verdict = int(value) % 3
        bins = bins_of(sample.uncertainty[inside], pieces if verdict else 1)
        stratum[inside] = len(names) + bins
        part = PARTS[int(value) // 3 % len(PARTS)]
        owner_name = owner_names[int(value) // (3 * len(PARTS))]
        name = f"{owner_name} {part} {_VERDICTS[verdict]}".strip()
        count = int(bins.max()) + 1
        names += [name if count == 1 else f"{name} {b + 1} of {count}" for b in range(count)]
    return stratum, tuple(names)


def weights_of(stratum: IntArray, labelled: BoolArray) -> FloatArray:
    """Weight of every labelled row, rows of its stratum over labels in it; NaN elsewhere.

    Examples
    --------
    >>> weights_of(np.array([0, 0, 0, 1]), np.array([True, False, False, True]))
    array([ 3., nan, nan,  1.])
    """
    size = int(stratum.max()) + 1
    labels = np.bincount(stratum[labelled], minlength=size)
    with np.errstate(divide="ignore"):
        weight = np.bincount(stratum, minlength=size) / labels
    return np.where(labelled, weight[stratum], np.nan)


def draw(
    sample: RateSample,
    n: int,
    *,
    system: ObjectArray | None = None,
    names: ObjectArray | None = None,
    seed: int = 0,
) -> Draw:
    """Draw rows to label.

    Parameters
    ----------
    sample : RateSample
        Labels it already has count as drawn at random within the strata.
    n : int
        Rows to draw; fewer come back if fewer have no label.
    system : ndarray of str, shape (rows,), optional
        Whose answer each row is: every system is then estimated as well as any other.
    names : ndarray of str, shape (rows,), optional
        Strata of an earlier draw, to go on with.
    seed : int

    Raises
    ------
    InputError
        If `n` is below 1, or every row has a label.

    Examples
    --------
    >>> some = RateSample.from_arrays(np.repeat([0, 1], 100), np.full(200, -1))
    >>> found = draw(some, 20)
    >>> len(found.index), found.names
    (20, ('accepted fail', 'accepted pass'))
    """
    if n < 1:
        raise InputError(f"at least one row has to be drawn, got {n}")
    free = ~sample.labelled
    if not free.any():
        raise InputError("every row has a label already")
    pieces = default_pieces(n + sample.n_labelled)
    if names is None:
        stratum, titles = strata_of_rows(sample, pieces, system)
        if FEWEST * len(titles) > n + sample.n_labelled:
            pieces = 1
            stratum, titles = strata_of_rows(sample, pieces, system)
    else:
        found, codes = np.unique(names.astype(str), return_inverse=True)
        stratum, titles = codes.astype(np.int64), tuple(map(str, found))
    wanted = _allocate(sample, stratum, len(titles), min(n, int(free.sum())), system)
    available = np.bincount(stratum[free], minlength=len(titles))
    rng = np.random.default_rng(seed)
    order = np.argsort(sample.item_id.astype(str), kind="stable")
    shuffled = order[rng.permutation(len(order))]
    shuffled = shuffled[free[shuffled]]
    by_stratum = shuffled[np.argsort(stratum[shuffled], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(available)[:-1]])
    place = np.arange(len(by_stratum)) - starts[stratum[by_stratum]]
    index = by_stratum[place < wanted[stratum[by_stratum]]]
    index = index[rng.permutation(len(index))]
    probability = (wanted / np.maximum(available, 1))[stratum[index]]
    return Draw(index.astype(np.int64), probability, stratum, titles, pieces)


def _allocate(
    sample: RateSample, stratum: IntArray, size: int, n: int, system: ObjectArray | None
) -> IntArray:
    """Rows to draw from each stratum, shape (H,)."""
    rows = np.bincount(stratum, minlength=size).astype(np.float64)
    held = np.bincount(stratum[sample.labelled], minlength=size)
    free = np.bincount(stratum[~sample.labelled], minlength=size)
    share = rows / len(sample)
    if system is not None:
        owner = np.unique(system.astype(str), return_inverse=True)[1]
        of = np.zeros(size, dtype=np.int64)
        of[stratum] = owner
        share = rows / np.bincount(owner)[of]
    wanted = share * _spread(sample, stratum, held)
    aim = 0.5 * share / share.sum() + 0.5 * wanted / wanted.sum()
    total = n + sample.n_labelled
    floor = np.minimum(FEWEST, rows) if FEWEST * size <= total else np.zeros(size)
    lack = np.maximum(np.maximum(aim * total, floor) - held, 0.0)
    return _rounded(lack, free, n)


def _spread(sample: RateSample, stratum: IntArray, held: IntArray) -> FloatArray:
    """Standard deviation of the labels in each stratum, from labels and the judge's uncertainty."""
    size = len(held)
    unsure = sample.uncertainty
    error = np.full(len(sample), 0.25)
    known = ~np.isnan(unsure)
    if known.any() and float(unsure[known].min()) >= 0.0 and float(unsure[known].max()) <= 1.0:
        # On the scale of a probability: the judge's own idea of its error rate.
        error[known] = np.clip(unsure[known], 0.02, 0.5)
    rows = np.maximum(np.bincount(stratum, minlength=size), 1)
    idea = np.bincount(stratum, weights=error, minlength=size) / rows
    verdict = np.bincount(stratum, weights=sample.verdicts == 1, minlength=size) / rows
    guess = np.where(verdict > 0.5, 1.0 - idea, idea)
    on = sample.labelled
    passes = np.bincount(stratum[on], weights=sample.labels[on], minlength=size)
    rate = (passes + _PRIOR * guess) / (held + _PRIOR)
    return np.sqrt(rate * (1.0 - rate))


def _rounded(lack: FloatArray, free: IntArray, n: int) -> IntArray:
    """Whole numbers that add up to `n`, in proportion to `lack`, none above `free`."""
    taken = np.zeros(len(lack), dtype=np.int64)
    weight = np.where(free > 0, np.maximum(lack, 1e-9), 0.0)
    while (left := n - int(taken.sum())) > 0:
        open_ = taken < free
        ideal = np.where(open_, weight, 0.0)
        ideal = ideal / ideal.sum() * left
        step = np.minimum(np.floor(ideal).astype(np.int64), free - taken)
        if not step.any():
            step[np.argsort(-np.where(open_, ideal, -1.0), kind="stable")[:left]] = 1
            step = np.minimum(step, free - taken)
        taken += step
    return taken
