"""Average bias-boundedness as it was published ([1]_), what follows from it, and what makes it attainable.

References
----------
.. [1] B. Feuer, L. Rosenblatt, O. Elachqar, "Towards Provably Unbiased LLM Judges via Bias-Bounded
   Evaluation", arXiv:2603.05485, 2026.
.. [2] B. Laurent, P. Massart, "Adaptive estimation of a quadratic functional by model selection",
   Annals of Statistics 28, 2000, Lemma 1.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from riskjudge._typing import FloatArray
from riskjudge.binomial import check_level
from riskjudge.errors import InputError
from riskjudge.reliability.bounded import sizes_of


@dataclass(frozen=True, slots=True)
class Published:
    """Scores shrunk and blurred as the definition of the paper allows.

    Attributes
    ----------
    tau, delta : float
    n : int
        Pairs of a score (or a vector of scores) and its neighbour.
    dimension : int
        Scores in a vector, d.
    sensitivity : float
        Root mean square length of the shifts, D*.
    attainable : bool
        Whether the scores need not be shrunk.
    shrink : float
        Factor on the distance of a score from the centre; 1 where attainable.
    sigma : float
        The largest admissible noise beside it.
    """

    tau: float
    delta: float
    n: int
    dimension: int
    sensitivity: float
    attainable: bool
    shrink: float
    sigma: float

    @property
    def statement(self) -> str:
        """What the definition says, and what it does not."""
        shrunk = (
            ""
            if self.attainable
            else f" shrunk towards their centre to {self.shrink:.4g} of it and"
        )
        return (
            f"With probability {1 - self.delta:.4g}, two scores published for neighbours differ by at "
            f"most {self.tau:g}, if they are{shrunk} blurred by noise of standard deviation at most "
            f"{self.sigma:.4g}; no noise fulfils it as well. The root mean square shift "
            f"{self.sensitivity:.4g} is taken as known, not bounded."
        )

    def publish(self, scores: ArrayLike, centre: float | None = None, seed: int = 0) -> FloatArray:
        """Scores shrunk towards `centre` (their mean by default; fix it beforehand) and blurred."""
        given = np.asarray(scores, dtype=np.float64)
        middle = float(given.mean()) if centre is None else centre
        noise = np.random.default_rng(seed).standard_normal(given.shape)
        return middle + self.shrink * (given - middle) + self.sigma * noise

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {"method": "published", **asdict(self), "statement": self.statement}


def published(
    shifts: ArrayLike, tau: float, delta: float = 0.05, *, noise_share: float = 0.5
) -> Published:
    """Average bias-boundedness as it was published ([1]_), made attainable by shrinking.

    Parameters
    ----------
    shifts : array_like, shape (n,) or (n, d)
        ``f(D) - f(D')`` of n pairs of neighbours: scores, or vectors of d scores published together.
    tau : float
        Largest tolerated distance of what is published for neighbours, in units of the scores.
    delta : float
        Largest tolerated probability that it is larger.
    noise_share : float
        Where scores must be shrunk, the share of tau that is left to noise.

    Notes
    -----
    *Definition.* ``M(D) = f(D) + sigma Z`` with fresh standard normal noise each time; wanted is
    ``P(||M(D) - M(D')|| > tau) <= delta`` over neighbours and noise. By the triangle inequality the
    distance is at most ``||f(D) - f(D')|| + sigma ||Z - Z'||``. With ``D*² = E ||f(D) - f(D')||²``,
    Markov's inequality bounds the first term by ``D* sqrt(2 / delta)`` but for a probability of
    delta / 2, and ``||Z - Z'||²`` is twice a chi-square of d degrees of freedom, at most
    ``2 (d + 2 sqrt(d x) + 2 x)`` with ``x = log(2 / delta)`` but for another delta / 2 ([2]_). So any

        ``sigma <= (tau - D* sqrt(2 / delta)) / sqrt(2 (d + 2 sqrt(d x) + 2 x))``

    will do: this is the *largest* admissible noise. Noise is never needed: ``sigma = 0`` fulfils the
    definition as soon as ``tau >= D* sqrt(1 / delta)`` (Markov alone, no split of delta). And where tau
    is smaller than that, no noise helps, since noise only adds to the distance.

    *What makes it attainable* is shrinking: ``f_c = m + c (f - m)`` about a fixed centre m has
    ``f_c(D) - f_c(D') = c (f(D) - f(D'))``, so the sensitivity ``c D*``, and ``c D* sqrt(2 / delta)`` is
    below any tau for c small enough. This keeps every order, and whoever knows m and c can undo it: the
    definition speaks of the units of scores, not of what can be learned from them. :func:`.mask` asks
    for the latter.

    *Not proved* is what comes from D* being a mean over n measured pairs: it enters as if known.

    Examples
    --------
    >>> wide = published([0.1, -0.1], tau=1.0)
    >>> wide.attainable, round(wide.sigma, 3)
    (True, 0.074)
    >>> narrow = published([0.5, -0.5], tau=0.5)
    >>> narrow.attainable, round(narrow.shrink, 3), round(narrow.sigma, 3)
    (False, 0.079, 0.051)
    """
    check_level(delta, "delta")
    check_level(noise_share, "noise_share")
    if isinstance(tau, bool) or not 0.0 < tau < math.inf:
        raise InputError(f"tau is a distance of scores above 0, got {tau!r}")
    sizes = sizes_of(shifts)
    n, d = sizes.shape
    sensitivity = math.sqrt(float(np.mean((sizes**2).sum(axis=1))))
    reach = sensitivity * math.sqrt(2.0 / delta)
    attainable = tau >= sensitivity * math.sqrt(1.0 / delta)
    shrink = 1.0 if attainable else (1.0 - noise_share) * tau / reach
    x = math.log(2.0 / delta)
    spread = math.sqrt(2.0 * (d + 2.0 * math.sqrt(d * x) + 2.0 * x))
    sigma = max(0.0, tau - shrink * reach) / spread
    return Published(tau, delta, n, d, sensitivity, attainable, shrink, sigma)
