"""Noise that masks a measured bias of a judge's scores: how much is enough, and with which promise.

A *shift* is what a perturbation that should change nothing (padding, markdown, the other order) does
to the score of an item: ``b = score of the perturbed item - score``. Publishing ``score + sigma Z``
with standard normal ``Z`` masks it: whoever sees the published score cannot tell well whether the
item was perturbed. :func:`mask` finds the smallest `sigma` at which this holds on average over items
and perturbations, with a confidence that is proved. The definition of the paper that asked the
question ([1]_) is in :mod:`.published`.

References
----------
.. [1] B. Feuer, L. Rosenblatt, O. Elachqar, "Towards Provably Unbiased LLM Judges via Bias-Bounded
   Evaluation", arXiv:2603.05485, 2026.
.. [2] S. Bates, A. Angelopoulos, L. Lei, J. Malik, M. I. Jordan, "Distribution-Free, Risk-Controlling
   Prediction Sets", Journal of the ACM 68, 2021: a monotone loss needs no correction for the search.
.. [3] I. Waudby-Smith, A. Ramdas, "Estimating means of bounded random variables by betting", Journal
   of the Royal Statistical Society B 86, 2024.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from riskjudge._typing import FloatArray, IntArray, ObjectArray
from riskjudge.binomial import check_level
from riskjudge.errors import InputError

FAMILIES = ("mean", "worst")
_LARGEST = 1e100  # of a shift: its square is finite
_PRECISION = 1e-6  # relative, of the smallest sigma


def effect(shifts: ArrayLike, sigma: float) -> FloatArray:
    """What noise leaves of a shift: the total variation distance of N(x, sigma²) and N(x + b, sigma²).

    It is the largest change that the shift makes in the probability of *any* statement about the
    published score, rounded, clipped or held against a cut as it may be: ``2 Phi(|b| / 2 sigma) - 1``,
    from 1 without noise to 0 with endless noise. No shift has no effect.

    Examples
    --------
    >>> effect([0.0, 1.0, -1.0, 3.0], 0.5).round(3).tolist()
    [0.0, 0.683, 0.683, 0.997]
    >>> effect([0.0, 1.0], 0.0).tolist()
    [0.0, 1.0]
    """
    size = np.abs(np.asarray(shifts, dtype=np.float64))
    if sigma == 0.0:
        return (size > 0.0).astype(np.float64)
    with np.errstate(over="ignore"):  # endlessly many deviations away is simply far
        return np.asarray(special.erf(size / (sigma * math.sqrt(8.0))))


@dataclass(frozen=True, slots=True)
class Masking:
    """How much noise masks a measured bias.

    Attributes
    ----------
    sigma : float or None
        Standard deviation of the noise; 0 where none is needed, None where too few items tell.
    tau, delta : float
    family : str
        ``mean`` or ``worst``, over the perturbations of an item.
    n : int
        Independent items (or groups) that the shifts were measured on.
    need : int
        Items that would do if no perturbation had changed any score.
    touched : float
        Share of the shifts that are not 0: the effect without noise.
    remaining : float or None
        Mean effect at `sigma`, on these items.
    largest : float
        The largest shift, in absolute value.
    """

    sigma: float | None
    tau: float
    delta: float
    family: str
    n: int
    need: int
    touched: float
    remaining: float | None
    largest: float

    @property
    def statement(self) -> str:
        """The promise in words."""
        if self.sigma is None:
            return (
                f"Nothing is promised: {self.n} items are too few to bound the mean effect by "
                f"{self.tau:g} with confidence {1 - self.delta:.4g}; {self.need} are needed at least."
            )
        each = "the worst of these perturbations" if self.family == "worst" else "a perturbation"
        return (
            f"With confidence {1 - self.delta:.4g}, on an average item {each} changes the probability "
            f"of any statement about the published score by at most {self.tau:g}, if noise of standard "
            f"deviation {self.sigma:.4g} is added."
        )

    def publish(self, scores: ArrayLike, seed: int = 0) -> FloatArray:
        """Scores with the noise added; whoever knows the seed can take it off again.

        Raises
        ------
        InputError
            If too few items tell how much noise is needed.
        """
        if self.sigma is None:
            raise InputError(self.statement)
        given = np.asarray(scores, dtype=np.float64)
        return given + self.sigma * np.random.default_rng(seed).standard_normal(given.shape)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {"method": "masking", **asdict(self), "statement": self.statement}


def mask(
    shifts: ArrayLike,
    tau: float,
    delta: float = 0.05,
    *,
    family: str = "mean",
    unit: Sequence[object] | ObjectArray | None = None,
) -> Masking:
    """The smallest noise that masks a bias on average, proved.

    Parameters
    ----------
    shifts : array_like, shape (n,) or (n, P)
        For each of n items what each of P perturbations does to its score.
    tau : float
        Largest tolerated mean effect, see :func:`effect`.
    delta : float
        Largest tolerated probability (over the draw of the items) that it is larger.
    family : {"mean", "worst"}
        An item's effect is the mean over its perturbations, or that of the worst one.
    unit : sequence, length n, optional
        Rows of one unit (answers of several systems to one question, say) depend on one another: their
        effects are averaged first, and the units are what is independent. By default every row is.

    Returns
    -------
    Masking

    Raises
    ------
    InputError
        If there are no shifts, or one is missing or infinite.

    Notes
    -----
    *Setting.* Items are independent draws from the population whose scores will be published, and
    the perturbations are a fixed family. ``L(sigma)`` is an item's effect at noise `sigma`: a number
    in [0, 1] that never grows with `sigma`, because the effect of each shift does not. Wanted is
    ``R(sigma) = E L(sigma) <= tau``.

    *One sigma.* For a fixed `sigma` let ``K = mean over lambda of prod_i (1 + lambda (tau - L_i))``
    over a few bets ``lambda`` in ``[0, 1 / (1 - tau)]`` that are fixed by n, tau and delta alone. Each
    factor is at least 0, since ``L_i <= 1``. If ``R(sigma) >= tau``, each has an expectation of at
    most 1, so (independence) each product and their mean have, and Markov's inequality gives
    ``P(K >= 1 / delta) <= delta``. Then ``K >= 1 / delta`` shows ``R(sigma) < tau`` (the betting test
    of [3]_ with fixed bets, which makes the order of the items irrelevant).

    *The smallest sigma.* Each factor, hence K, never falls as sigma grows: the sigmas that pass are
    all those from one on, and that one is returned. Let s be the largest sigma with ``R(s) >= tau``
    (R is continuous above 0; if there is none, nothing can go wrong). The returned one is too small,
    ``R > tau``, only if it is at most s, and then s itself passes, which has probability at most
    `delta`. One test, whatever the search looked at: no correction ([2]_).

    *How much is lost.* The bets run from the one that is best for 0-or-1 effects,
    ``sqrt(2 log(1 / delta) / (n tau (1 - tau)))``, up to ``1 / (1 - tau)`` in factors of two at most: two of
    them at n = 200 and tau = .1, so that the mean costs a factor of two in delta and no more. Without
    a single shift, ``log(1 / delta) / -log(1 - tau)`` items are enough, as for an exact binomial bound,
    and no method that assumes nothing about the shifts can do with fewer.

    *What is not promised.* The effect on a mean of many scores: noise averages out, a bias that all
    items share does not (see :func:`.rank_systems`). Items from another population, perturbations
    that were not tried.

    Examples
    --------
    >>> shifts = np.random.default_rng(0).normal(0, 0.3, (400, 2))
    >>> found = mask(shifts, tau=0.1)
    >>> round(found.sigma, 2), found.remaining < 0.1
    (1.06, True)
    >>> mask(np.zeros(20), tau=0.1).need, mask(np.zeros(29), tau=0.1).sigma
    (29, 0.0)
    >>> mask(np.zeros(58), tau=0.1, unit=[i // 2 for i in range(58)]).n
    29
    """
    check_level(tau, "tau")
    check_level(delta, "delta")
    if family not in FAMILIES:
        raise InputError(f"family is mean or worst, got {family!r}")
    sizes, first = _by_unit(sizes_of(shifts), unit)
    n = len(first)
    bets = _bets(n, tau, delta)
    rows = np.diff(np.append(first, len(sizes)))

    def losses(sigma: float) -> FloatArray:
        found = effect(sizes, sigma)
        each = found.max(axis=1) if family == "worst" else found.mean(axis=1)
        # Sorted: the order of the items must not matter, not even in the last digit.
        return np.sort(np.add.reduceat(each, first) / rows)

    def passes(sigma: float) -> bool:
        return _log_capital(losses(sigma), tau, bets) >= math.log(1.0 / delta)

    sigma: float | None = None
    if _log_capital(np.zeros(n), tau, bets) >= math.log(1.0 / delta):
        sigma = _smallest(passes, float(sizes.max()))
    return Masking(
        sigma=sigma,
        tau=tau,
        delta=delta,
        family=family,
        n=n,
        need=_items_needed(n if sigma is None else 1, tau, delta),
        touched=float(losses(0.0).mean()),
        remaining=None if sigma is None else float(losses(sigma).mean()),
        largest=float(sizes.max()),
    )


def sizes_of(shifts: ArrayLike) -> FloatArray:
    """Sizes of shifts, shape (n, P), sorted within a row.

    Raises
    ------
    InputError
        If there are none, or one is missing or infinite.
    """
    sizes = np.abs(np.asarray(shifts, dtype=np.float64))
    if sizes.ndim == 1:
        sizes = sizes[:, None]
    if sizes.ndim != 2 or sizes.size == 0:
        raise InputError("shifts are numbers of n items and P perturbations, one of each at least")
    known = sizes <= _LARGEST  # NaN is not, either
    if not known.all():
        row = int((~known).any(axis=1).argmax())
        raise InputError(
            f"shifts, row {row + 1}: a shift is a finite number (up to {_LARGEST:g}), got "
            f"{sizes[row].tolist()}"
        )
    return np.sort(sizes, axis=1)


def _by_unit(
    sizes: FloatArray, unit: Sequence[object] | ObjectArray | None
) -> tuple[FloatArray, IntArray]:
    """Rows sorted so that units are together, and where each unit begins."""
    if unit is None:
        return sizes, np.arange(len(sizes))
    names = np.array([str(name) for name in unit], dtype=object)
    if len(names) != len(sizes):
        raise InputError(f"{len(sizes)} rows of shifts need as many units, got {len(names)}")
    _, codes = np.unique(names.astype(str), return_inverse=True)
    order = np.lexsort((*sizes.T, codes))
    return sizes[order], np.flatnonzero(np.diff(codes[order], prepend=-1))


def _bets(n: int, tau: float, delta: float) -> FloatArray:
    """The bets on items with an effect below tau; see the notes of :func:`mask`."""
    top = 1.0 / (1.0 - tau)
    low = math.sqrt(2.0 * math.log(1.0 / delta) / (n * tau * (1.0 - tau)))
    if low >= top:
        return np.array([top])
    return np.geomspace(low, top, 1 + math.ceil(math.log2(top / low)))


def _log_capital(losses: FloatArray, tau: float, bets: FloatArray) -> float:
    with np.errstate(divide="ignore"):  # the highest bet loses everything on an effect of 1
        won = np.log(np.maximum(1.0 + bets[:, None] * (tau - losses), 0.0)).sum(axis=1)
    return float(special.logsumexp(won)) - math.log(len(bets))


def _smallest(passes: Callable[[float], bool], scale: float) -> float:
    """The smallest sigma that passes, up to a relative error on the safe side."""
    if passes(0.0):
        return 0.0
    high = scale
    while not passes(high):
        high *= 2.0
    low = high / 2.0
    while low > 0.0 and passes(low):
        high, low = low, low / 2.0
    while high - low > _PRECISION * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high


def _items_needed(n: int, tau: float, delta: float) -> int:
    while _log_capital(np.zeros(n), tau, _bets(n, tau, delta)) < math.log(1.0 / delta):
        n += 1
    return n
