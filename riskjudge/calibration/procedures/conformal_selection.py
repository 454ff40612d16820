"""Conformal selection: control of the expected error rate, not of its probability to exceed alpha."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from riskjudge import counts
from riskjudge._typing import FloatArray, IntArray
from riskjudge.calibration.certificate import Guarantee, Obstacle, Shortfall
from riskjudge.calibration.paths import quantile_path
from riskjudge.calibration.plan import Target
from riskjudge.calibration.procedure import Procedure, Selector
from riskjudge.calibration.procedures.portfolio import preset_speeds
from riskjudge.calibration.sample import Sample
from riskjudge.calibration.selection import Objective, Selection, nothing
from riskjudge.errors import InputError

_PLACING_ROWS = 20_000
_CORNERS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)


@dataclass(frozen=True, kw_only=True)
class ConformalSelection(Procedure):
    """The largest rule on a path whose estimated error rate, with one error added, is at most alpha.

    The promise is about an average, so that it is cheaper than one that holds with confidence
    1 - delta, and it is another one: **a single calibration may well exceed alpha** (about half of
    them do where the promise is tight). delta plays no part.

    Parameters
    ----------
    steps : int
        Vectors of the path; more of them cost nothing.
    reserve : float
        Share of the labelled rows that chooses among the paths of several modes (and places the
        path where there is no pool).

    Notes
    -----
    *The rule.* A path t_1 <= t_2 <= … (in every mode). N_l is the number of tested rows that are
    accepted *and wrong at any step up to l* (an item may change its mode along the path, so the
    wrong ones at step l alone would not be nested; with one mode, or where modes follow one another,
    it is the same). B_l is the number of items accepted by t_l in the batch: the m unlabelled pool
    items. Taken is the largest l with ``(m / (n + 1)) (1 + N_l) <= alpha B_l``.

    *Guarantee:* E[wrong among the accepted batch items / max(1, accepted batch items)] <= alpha. The
    average is over labelled rows and batch together. For one mode it is Benjamini-Hochberg on the
    conformal p-values ``(1 + #{wrong tested rows with a score no higher}) / (n + 1)`` of [1]_.

    *Assumed:* tested rows and batch items are exchangeable (one population, drawn alike).

    *Proof.* The path depends on the reserved rows and on the scores of tested rows and batch without
    regard to which is which; given it, rows and items are still exchangeable. Call an item *bad* if
    it is wrong at any step, and let N'_l count the bad batch items up to step l. Fix which items are
    bad, and the course of all the others. Go from the last step down. The bad items that are still
    in at step l are accepted there, since acceptance is nested, so B_l is known from N'_l, from the
    others, and from the bad ones that have left. Given all that, which of the ``N_l + N'_l`` items
    leave next is a uniform draw; if one leaves, the expectation of ``M = N' / (1 + N)`` becomes
    ``N'/(N + N') (N' - 1)/(1 + N) + N/(N + N') N'/N = N' / (1 + N)`` (less where N = 0). So M is a
    supermartingale down the path, and the step taken is a stopping time. At the last step a batch
    item j contributes ``1[j bad] / (1 + N)``; among j and the n tested rows k are bad, j is one with
    probability k / (n + 1), and then 1 + N = k: expectation at most 1 / (n + 1), in all
    ``E[M] <= m / (n + 1)``. Hence ``E[N'_l / B_l] <= alpha (n + 1) / m E[M] <= alpha``.

    *Without a pool* B_l / m becomes the accepted share of the tested rows, ``A_l / (n + 1)``, and
    the path is placed by the reserved rows. The same argument with a single fresh item gives
    ``E[F / (A_l / (n + 1))] <= alpha``, F the true share of all items that are accepted and wrong:
    the error rate with the accepted share of calibration in its denominator. Likewise for items
    that come after the batch, up to the pool's part in placing the path.

    References
    ----------
    .. [1] Y. Jin, E. Candès, "Selection by prediction with conformal p-values", JMLR 24, 2023. The
       martingale argument is that of J. Storey, J. Taylor, D. Siegmund, JRSS-B 66, 2004.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random((1000, 1))
    >>> wrong = rng.random((500, 1)) < 0.4 * scores[:500]
    >>> verdicts = wrong.astype(int)
    >>> sample = Sample(scores[:500], verdicts, np.zeros(500, int), ("judge",), scores[500:])
    >>> certificate = ConformalSelection().certify(sample, alpha=0.15, delta=0.05)
    >>> certificate.accepted, certificate.errors, str(certificate.guarantee)
    (288, 44, 'expectation')
    """

    name: ClassVar[str] = "conformal_selection"
    guarantee: ClassVar[Guarantee] = Guarantee.EXPECTATION
    steps: int = 200
    reserve: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.objective not in (Objective.COVERAGE, Objective.COVERAGE_THEN_COST):
            raise InputError(
                f"{self.name} takes the largest rule on its path; the objective {self.objective!r} "
                "would break its proof"
            )
        if self.steps < 1:
            raise InputError(f"steps must be at least 1, got {self.steps}")

    def selector(self, sample: Sample, seed: int) -> Selector:
        pool = sample.pool_scores
        if pool is not None and sample.n_modes == 1:
            part, rest = sample.rows(np.zeros(0, dtype=np.int64)), sample
        else:
            part, rest = sample.reserve(self.reserve, seed)
        placing = part.scores if pool is None else _mixed(rest.scores, pool, seed)
        paths = candidate_paths(placing, sample.columns_per_mode, self.steps)

        def select(target: Target) -> Selection:
            if target.max_retrieval is not None or target.more_than_risk:
                raise InputError(
                    f"{self.name} takes no retrieval budget and no level for a kind of verdict; use "
                    "a planned procedure"
                )
            if not paths or rest.n == 0:
                fewest = math.ceil(1.0 / target.alpha)
                unused = Shortfall(Obstacle.NOTHING_ACCEPTED, fewest, 0, None, 0, 0, None)
                empty = nothing(0, target.delta, part.n, n=rest.n)
                return replace(empty, shortfall=unused)
            path = max(paths, key=lambda p: _promise(p, part, placing, target.alpha))
            return _largest(path, part, rest, target)

        return select


def _largest(path: FloatArray, part: Sample, rest: Sample, target: Target) -> Selection:
    """The largest rule of the path whose estimated error rate is at most alpha."""
    pool = rest.pool_scores
    accepted = _accepted(rest.scores, path)
    ever = ever_wrong(rest, path)
    share = accepted / (rest.n + 1) if pool is None else _accepted_share(pool, path)
    with np.errstate(divide="ignore"):
        estimate = (1 + ever) / (rest.n + 1) / share
    passed = np.flatnonzero(estimate <= target.alpha)
    certified = len(passed) > 0
    i = int(passed[-1]) if certified else int(np.argmin(estimate))
    tallied = counts.path_counts(rest.scores, rest.errors, path[i : i + 1])
    chosen = Selection(
        thresholds=path[i] if certified else None,
        accepted=int(tallied.accepted[0]),
        errors=int(tallied.errors[0]),
        by_column=tallied.by_mode[0],
        level=target.delta,
        n=rest.n,
        n_hypotheses=len(path),
        most_accepted=int(accepted[-1]),
        n_reserved=part.n,
        path=path,
        assumptions=(EXCHANGEABLE,) if pool is not None else (),
    )
    if certified:
        statement = (_SHARE if pool is None else _BATCH).format(100 * target.alpha)
        return replace(chosen, statement=statement)
    shortfall = _shortfall(chosen, int(ever[i]), float(estimate[i]), target.alpha)
    return replace(chosen, shortfall=shortfall)


EXCHANGEABLE = (
    "the labelled items and those of the pool are exchangeable: one population, drawn alike"
)
_BATCH = (
    "On average over calibrations, at most {:g} % of the verdicts accepted among the pool items are "
    "wrong; a single calibration may exceed it."
)
_SHARE = (
    "On average over calibrations, the share of items accepted with a wrong verdict, divided by the "
    "share accepted at calibration, is at most {:g} %; a single calibration may exceed it."
)


def ever_wrong(sample: Sample, path: FloatArray) -> IntArray:
    """Rows that are accepted with a wrong verdict at that step or an earlier one, shape (L,).

    Examples
    --------
    >>> sample = Sample(np.array([[0.3, 0.1]]), np.array([[1, 0]]), np.array([1]), ("a", "b"))
    >>> ever_wrong(sample, np.array([[0.0, 0.0], [0.1, 0.2], [0.4, 0.4]]))
    array([0, 1, 1])
    """
    entry = _entries(sample.scores, path)
    # Mode k decides from its own entry on, unless an earlier mode was there before.
    before = np.minimum.accumulate(entry, axis=1)
    decides = np.column_stack((entry[:, :1] < len(path), entry[:, 1:] < before[:, :-1]))
    first = np.where(decides & sample.errors, entry, len(path)).min(axis=1)
    return _cumulated(first, len(path))


def _entries(scores: FloatArray, path: FloatArray) -> IntArray:
    """First step at which each mode accepts each item, L where none does; shape (n, K)."""
    columns = [
        np.searchsorted(path[:, k], column, side="left") for k, column in enumerate(scores.T)
    ]
    return np.where(np.isnan(scores), len(path), np.column_stack(columns))


def _cumulated(first: IntArray, n_steps: int) -> IntArray:
    return np.cumsum(np.bincount(first, minlength=n_steps + 1))[:n_steps]


def candidate_paths(pool: FloatArray, columns_per_mode: int, steps: int) -> list[FloatArray]:
    """Ascending paths: all modes together, each alone, and the first up to a corner, then the rest.

    They depend on the pool's scores only, and not on the order of its rows.
    """
    n_columns = pool.shape[1]
    coverages = np.arange(1, steps + 1) / steps
    paths = [quantile_path(pool, speeds, coverages) for speeds, _ in preset_speeds(n_columns)]
    if n_columns > columns_per_mode:
        ahead = np.arange(n_columns) < columns_per_mode
        first = quantile_path(pool, tuple(ahead.astype(float)), coverages)
        rest = quantile_path(pool, tuple((~ahead).astype(float)), coverages)
        for corner in _CORNERS:
            reached = list(first[_accepted_share(pool, first) <= corner])
            if reached and len(rest):
                followed = np.where(ahead, reached[-1], rest)
                paths.append(np.concatenate((reached, followed)))
    return [path for path in paths if len(path)]


def _mixed(tested: FloatArray, pool: FloatArray, seed: int) -> FloatArray:
    """Scores of both in one array; of very many, a random part, whichever side they come from."""
    both = np.concatenate((tested, pool))
    if len(both) <= _PLACING_ROWS:
        return both
    return both[np.random.default_rng(seed).permutation(len(both))[:_PLACING_ROWS]]


def _accepted(scores: FloatArray, path: FloatArray) -> IntArray:
    return _cumulated(_entries(scores, path).min(axis=1), len(path))


def _accepted_share(scores: FloatArray, path: FloatArray) -> FloatArray:
    return _accepted(scores, path) / max(len(scores), 1)


def _promise(path: FloatArray, part: Sample, placing: FloatArray, alpha: float) -> float:
    """Coverage that the path would reach if the rest were like the reserved part.

    The pool alone would not do in place of `placing`: the choice of a path must not know which
    scores belong to the batch.
    """
    if part.n == 0:
        return 0.0
    share = _accepted_share(placing, path)
    passed = (ever_wrong(part, path) + 0.5) / (part.n + 1) <= alpha * share
    return float(share[passed].max(initial=0.0))


def _shortfall(chosen: Selection, ever: int, estimate: float, alpha: float) -> Shortfall:
    share, rate = chosen.accepted / chosen.n, ever / max(chosen.accepted, 1)
    more, obstacle = None, Obstacle.ERROR_RATE if chosen.accepted else Obstacle.NOTHING_ACCEPTED
    if chosen.accepted and rate < alpha:
        obstacle = Obstacle.TOO_FEW
        more = math.ceil(1.0 / (share * (alpha - rate))) + chosen.n_reserved
    return Shortfall(
        obstacle=obstacle,
        need=math.ceil(1.0 / alpha),
        have=chosen.most_accepted,
        best_bound=min(estimate, 1.0) if math.isfinite(estimate) else None,
        best_accepted=chosen.accepted,
        best_errors=chosen.errors,
        labels_needed=more,
    )
