"""A chain whose order and start are learned from a few of the labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from riskjudge import binomial
from riskjudge._typing import BoolArray, FloatArray, IntArray
from riskjudge.calibration.learning.error_model import ErrorModel, fit_error_model
from riskjudge.calibration.learning.foresight import best_start, foresee
from riskjudge.calibration.learning.lattice import build_lattice
from riskjudge.calibration.paths import most_sent
from riskjudge.calibration.plan import Chain, Family, Plan, Target
from riskjudge.calibration.procedure import PlannedProcedure
from riskjudge.calibration.sample import Sample
from riskjudge.counts import NONE

_POOL_ROWS = 2_000  # more rows would not sharpen an order that a few labels decide
_DRAWS = 64


@dataclass(frozen=True, kw_only=True)
class Learned(PlannedProcedure):
    """One chain, its order and its start learned from a random few of the labelled rows.

    The reserved rows A teach an error curve of each mode (:mod:`.error_model`; with a pool, also
    from where the modes disagree). Over a lattice of pool quantiles, the vector of least predicted
    risk is taken at each level of coverage (:mod:`.lattice`), and the chain starts where the
    coverage to expect is largest (:mod:`.foresight`). It is tested on the other rows B at the full
    delta, up to the first failure.

    Parameters
    ----------
    reserve : float
        Share of the labelled rows that teach and are not tested on.
    steps : int
        Levels of coverage.

    Notes
    -----
    *Guarantee:* P(risk of the chosen rule > alpha) <= delta, whatever the distribution.

    *Proof.* A is drawn without a look at scores or labels, so given A and the pool the rows of B are
    still independent draws from the population. The chain is computed from A, the pool, alpha, delta
    and the number of rows in B alone: given these it is fixed. For a fixed chain
    :mod:`riskjudge.calibration.plan` proves that a true null is rejected with probability at most
    delta; this holds for every A and pool, hence on average. The model enters nowhere: if it is
    wrong, the order is poor and coverage is lost, not validity.

    *What must not happen:* that the curves, the quantiles, the start or the split depend on the rows
    of B. Their scores and verdicts count, too: given which of B's rows fall below a threshold taken
    from B, the errors among them are no longer binomial at the rule's risk.

    *No pool:* the scores of A define the quantiles, and disagreements are not used (they would only
    repeat what A's labels say). Thresholds by verdict class: see :class:`Lesson`.

    References
    ----------
    Splitting to learn a sequence of tests: Angelopoulos, Bates, Candes, Jordan, Lei, "Learn then
    Test", arXiv:2110.01052, section 2.3; Laufer-Goldshtein, Fisch, Barzilay, Jaakkola, "Efficiently
    controlling multiple risks with Pareto testing", ICLR 2023.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random((1000, 2))
    >>> wrong = rng.random((1000, 2)) < [0.5, 0.3] * scores
    >>> sample = Sample(scores, wrong.astype(int), np.zeros(1000, int), ("plain", "search"))
    >>> certificate = Learned().certify(sample, alpha=0.15, delta=0.05)
    >>> certificate.certified, certificate.n, certificate.n_reserved
    (True, 930, 70)
    """

    name: ClassVar[str] = "learned"
    reserve: float = 0.07
    steps: int = 50

    def plan(self, sample: Sample, target: Target, seed: int) -> Plan:
        reserved, rest = sample.reserve(self.reserve, seed)
        lesson = learn(reserved, seed)
        tolerated = binomial.max_errors(rest.n, target.alpha, target.delta)
        path = lesson.path(self.steps, tolerated, most_sent(target, rest.n, len(lesson.pool)))
        return Plan((Family(rest, (Chain(lesson.columns(path), 1.0),)),), reserved.n)


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """What the reserved rows and the pool teach about the errors of K modes.

    Attributes
    ----------
    pool : ndarray of float, shape (N, K)
        A score for each mode, by which the pool is ordered: the mode's own score; or, where a mode
        has a column for each verdict class, the predicted risk. A judge that leans to one verdict is
        far safer in one class than in the other, and risks can be compared across classes.
    wrong : ndarray of float, shape (N, K)
        Most plausible error probabilities of the pool's verdicts.
    draws : ndarray of float, shape (N, K, S)
        The same under draws of the error model.
    model : ErrorModel
        Over the sample's columns.
    columns_per_mode : int
        See :class:`Sample`.
    seed : int
    """

    pool: FloatArray
    wrong: FloatArray
    draws: FloatArray
    model: ErrorModel
    columns_per_mode: int
    seed: int

    def path(self, steps: int, tolerated: IntArray, most_sent: float = 1.0) -> FloatArray:
        """Vectors of least predicted risk at each level of coverage, from the best start on.

        Parameters
        ----------
        steps : int
            Levels of coverage.
        tolerated : ndarray of int, shape (n + 1,)
            Largest error count that passes, for every accepted count out of the n tested items.
        most_sent : float
            Share of the pool that a vector may send past the first mode.

        Returns
        -------
        ndarray of float, shape (L, K)
            In terms of :attr:`pool`; :meth:`columns` turns them into the sample's terms.
        """
        lattice = build_lattice(self.pool, self.wrong)
        path = lattice.frontier(len(tolerated) - 1, tolerated, steps, most_sent)
        if len(path) == 0:
            return path
        rng = np.random.default_rng([self.seed, 1])
        return path[best_start(*foresee(self.pool, self.draws, path, tolerated, rng)) :]

    def columns(self, path: FloatArray) -> FloatArray:
        """The same rules as vectors over the sample's columns."""
        if self.columns_per_mode == 1:
            return path
        wanted = np.repeat(path, self.columns_per_mode, axis=1)
        vectors = np.full(wanted.shape, NONE)
        for c, (values, risks) in enumerate(_rising_risks(self.model)):
            within = np.searchsorted(risks, wanted[:, c], side="right")
            vectors[within > 0, c] = values[within[within > 0] - 1]
        return vectors


def learn(reserved: Sample, seed: int) -> Lesson:
    """Fit the error model to the reserved rows, and apply it to the pool."""
    scores, disagree = _pool(reserved)
    model = fit_error_model(reserved, scores, disagree)
    wrong = model.predict(scores)
    draws = model.draw(scores, _DRAWS, np.random.default_rng([seed, 0]))
    width = reserved.columns_per_mode
    if width > 1:
        scores, wrong, draws = (
            _used_column(columns, width) for columns in (_risk_scores(model, scores), wrong, draws)
        )
    return Lesson(scores, wrong, draws, model, width, seed)


def _pool(reserved: Sample) -> tuple[FloatArray, BoolArray | None]:
    """Scores that define ranks and coverage, and where neighbouring modes disagree."""
    if reserved.pool_scores is None or len(reserved.pool_scores) == 0:
        return reserved.scores, None
    step = -(-len(reserved.pool_scores) // _POOL_ROWS)
    scores, verdicts = reserved.pool_scores[::step], reserved.pool_verdicts
    if verdicts is None or reserved.n_modes == 1 or reserved.columns_per_mode > 1:
        return scores, None
    return scores, verdicts[::step, 1:] != verdicts[::step, :-1]


def _rising_risks(model: ErrorModel) -> list[tuple[FloatArray, FloatArray]]:
    """Distinct pool scores of each column, and their predicted risk, made to rise strictly.

    It has to rise for a risk to be turned back into one threshold.
    """
    risen = []
    for c, reference in enumerate(model.reference):
        values = np.unique(reference)
        scores = np.full((len(values), len(model.reference)), np.nan)
        scores[:, c] = values
        risks = np.maximum.accumulate(model.predict(scores)[:, c])
        risen.append((values, risks + 1e-9 * np.arange(len(values))))
    return risen


def _risk_scores(model: ErrorModel, scores: FloatArray) -> FloatArray:
    """Risk of each score of the pool, shape (N, columns)."""
    result = np.full(scores.shape, np.nan)
    for c, (values, risks) in enumerate(_rising_risks(model)):
        usable = ~np.isnan(scores[:, c])
        result[usable, c] = risks[np.searchsorted(values, scores[usable, c])]
    return result


def _used_column(columns: FloatArray, width: int) -> FloatArray:
    """Of the columns of each mode the one that is not NaN, shape (N, K, ...)."""
    split = columns.reshape(len(columns), columns.shape[1] // width, width, *columns.shape[2:])
    used = split[:, :, 0]
    for c in range(1, width):
        used = np.where(np.isnan(used), split[:, :, c], used)
    return used
