"""Searches over all threshold vectors: the paper's Algorithm 1, bare and corrected."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar

import numpy as np

from riskjudge import binomial, counts
from riskjudge._typing import FloatArray, IntArray
from riskjudge.calibration.certificate import Guarantee
from riskjudge.calibration.plan import Target
from riskjudge.calibration.procedure import Procedure, Selector
from riskjudge.calibration.sample import Sample
from riskjudge.calibration.selection import Objective, Selection, nothing
from riskjudge.errors import InputError


@dataclass(frozen=True, kw_only=True)
class ExhaustiveSearch(Procedure):
    """Test every vector of distinct calibration scores at one level, take the best that passes.

    "No threshold in this mode" is one of the values of each axis, so that rules over one mode alone
    are reached. At least two modes' worth of pairs, 10^6 at n = 1,000, are searched exactly.
    """

    objective: str = Objective.COVERAGE

    @abstractmethod
    def level(self, sample: Sample, target: Target) -> float:
        """Significance at which each vector is tested."""

    def selector(self, sample: Sample, seed: int) -> Selector:
        return lambda target: self._search(sample, target)

    def _search(self, sample: Sample, target: Target) -> Selection:
        beyond = target.max_retrieval is not None or target.more_than_risk
        if beyond or self.objective == Objective.CHEAPEST:
            raise InputError(
                f"the exhaustive search of {self.name!r} takes no retrieval budget, no level for a kind "
                "of verdict or label and no objective 'cheapest'; use one of the planned procedures"
            )
        if sample.columns_per_mode > 1 or sample.n_modes > 2:
            raise InputError(
                f"{self.name!r} searches one or two thresholds, got {sample.n_modes}: "
                "use one of the planned procedures"
            )
        level = self.level(sample, target)
        n_hypotheses = _n_rules(sample)
        if n_hypotheses == 0:
            return nothing(0, level, n=sample.n)
        find = self._search_line if sample.n_modes == 1 else self._search_plane
        thresholds, accepted, errors, most = find(sample, target, level)
        by_column = np.zeros(sample.n_modes, dtype=np.int64)
        if thresholds is not None:
            accepted_by = counts.route(sample.scores, thresholds)
            by_column = np.bincount(accepted_by[accepted_by >= 0], minlength=sample.n_modes)
        return Selection(
            thresholds, accepted, errors, by_column, level, sample.n, n_hypotheses, most
        )

    def _search_line(
        self, sample: Sample, target: Target, level: float
    ) -> tuple[FloatArray | None, int, int, int]:
        tallied = counts.threshold_counts(sample.scores[:, 0], sample.errors[:, 0])
        passed = np.flatnonzero(
            binomial.certifies(tallied.errors, tallied.accepted, target.alpha, level)
        )
        most = int(tallied.accepted[-1])
        if len(passed) == 0:
            return None, *_closest(tallied.accepted, tallied.errors, level), most
        right = tallied.accepted[passed] - tallied.errors[passed]
        i = passed[np.argmax(right)] if self.objective == Objective.CORRECT else passed[-1]
        return tallied.thresholds[i], int(tallied.accepted[i]), int(tallied.errors[i]), most

    def _search_plane(
        self, sample: Sample, target: Target, level: float
    ) -> tuple[FloatArray | None, int, int, int]:
        plane = sample.plane
        fewest = plane.fewest_errors
        tolerated = binomial.max_errors(sample.n, target.alpha, level)
        passed = np.flatnonzero(fewest <= tolerated)
        if len(passed) == 0:
            reached = np.flatnonzero((fewest <= sample.n) & (np.arange(sample.n + 1) > 0))
            return None, *_closest(reached, fewest[reached], level), int(reached[-1])
        if self.objective == Objective.CORRECT:
            right = passed - fewest[passed]
            best = passed[right == right.max()]
            cells = np.concatenate([plane.cells(int(m), int(fewest[m])) for m in best])
            cells = cells[np.lexsort((cells[:, 1], cells[:, 0]))]
        else:
            cells = plane.cells(int(passed[-1]), int(tolerated[passed[-1]]))
        # Rows ascend with the first threshold: the last row asks the later mode the least.
        row, column = cells[-1 if self.objective == Objective.COVERAGE_THEN_COST else 0]
        thresholds = np.array([plane.grids[0][row], plane.grids[1][column]])
        final = counts.path_counts(sample.scores, sample.errors, thresholds[None, :])
        return thresholds, int(final.accepted[0]), int(final.errors[0]), int(passed[-1])


@dataclass(frozen=True, kw_only=True)
class Pointwise(ExhaustiveSearch):
    """The paper's Algorithm 1: all pairs at the full delta. **No guarantee.**

    Every rule is tested as if it were the only one, at level delta, and the best of those that pass
    is taken (Eq. 14). The Clopper-Pearson bound covers one rule fixed in advance; the rule picked
    among a million is picked partly for its luck, and its true risk exceeds alpha more often than
    delta. This procedure is here to reproduce the paper and for comparison.

    Ties in the objective go to the first pair in ascending order of the thresholds, as in the
    paper; under ``coverage_then_cost`` to the pair that asks the second mode least often.

    References
    ----------
    Badshah, Emami, Sajjad, arXiv:2608.17994, Eq. 14, Algorithm 1, Appendix B.2.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random((500, 1))
    >>> wrong = rng.random((500, 1)) < 0.4 * scores
    >>> sample = Sample(scores, wrong.astype(int), np.zeros(500, int), ("judge",))
    >>> certificate = Pointwise().certify(sample, alpha=0.15, delta=0.05)
    >>> certificate.accepted, certificate.errors, str(certificate.guarantee)
    (306, 35, 'none')
    """

    name: ClassVar[str] = "pointwise"
    guarantee: ClassVar[Guarantee] = Guarantee.NONE

    def level(self, sample: Sample, target: Target) -> float:
        return target.delta


class Correction(StrEnum):
    """How many rules the Bonferroni correction counts; see :class:`Bonferroni`."""

    ITEMS = "items"
    VALUES = "values"
    PAPER = "paper"


@dataclass(frozen=True, kw_only=True)
class Bonferroni(ExhaustiveSearch):
    """The paper's conservative variant: all pairs, delta divided by their number.

    Parameters
    ----------
    correction : str
        ``items`` (default) counts ``(N + 1)^K - 1`` rules, whatever the scores are. ``values``
        counts the rules over the distinct values seen; it is valid only if the set of possible
        values is known in advance and all of them occur (vote shares, say), which is then listed
        as an assumption. ``paper`` divides by ``N^K`` as printed (Appendix D.4).

    Notes
    -----
    The candidates are the calibration items' own scores, so a rule is not fixed before its test.
    The proof for ``items``: name each threshold by the item it is taken from (or by "none"); there
    are ``(N + 1)^K - 1`` such names. Fix a name, and condition on its at most K items. The other
    items are still independent draws, so with counts (m', w') over them alone
    ``P(p(m', w') <= x) <= x`` whenever the rule's risk exceeds alpha. The named items add at most K
    accepted items, hence ``p(m, w) >= p(m' + K, w') >= (1 - alpha)^K p(m', w')``: K further
    error-free draws have probability ``(1 - alpha)^K``. So a test at
    ``delta (1 - alpha)^K / ((N + 1)^K - 1)`` errs with probability at most
    ``delta / ((N + 1)^K - 1)``, and the union bound over the names gives delta. Ties do no harm:
    equal rules only have several names. With ``paper`` the same argument gives
    ``delta ((N + 1)^K - 1) / (N^K (1 - alpha)^K)``, a little above delta; its certificate says so.

    References
    ----------
    Badshah, Emami, Sajjad, arXiv:2608.17994, Appendix D.4.
    """

    name: ClassVar[str] = "bonferroni"
    guarantee: ClassVar[Guarantee] = Guarantee.HIGH_PROBABILITY
    correction: str = Correction.ITEMS

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.correction not in list(Correction):
            known = ", ".join(Correction)
            raise InputError(f"unknown correction {self.correction!r}; the corrections are {known}")

    def level(self, sample: Sample, target: Target) -> float:
        k = sample.n_modes
        match Correction(self.correction):
            case Correction.PAPER:
                return float(target.delta / max(sample.n, 1) ** k)
            case Correction.VALUES:
                return target.delta / max(_n_rules(sample), 1)
            case _:
                return float(
                    target.delta * (1 - target.alpha) ** k / max((sample.n + 1) ** k - 1, 1)
                )

    def _search(self, sample: Sample, target: Target) -> Selection:
        chosen = super()._search(sample, target)
        match Correction(self.correction):
            case Correction.PAPER:
                rules = ((sample.n + 1) / max(sample.n, 1)) ** sample.n_modes
                inflated = target.delta * rules / (1 - target.alpha) ** sample.n_modes
                note = f"the proof for candidates taken from the data gives delta = {inflated:.4g}"
                return replace(chosen, assumptions=(note,), proved_delta=min(inflated, 1.0))
            case Correction.VALUES:
                note = "the possible score values are known in advance and all of them occur"
            case _:
                return chosen
        return replace(chosen, assumptions=(note,))


def _n_rules(sample: Sample) -> int:
    """Rules over the distinct scores, without the one that accepts nothing."""
    if sample.n_modes == 2:
        rows, columns = sample.plane.shape
        return rows * columns - 1
    return len(np.unique(sample.scores[~np.isnan(sample.scores)]))


def _closest(accepted: IntArray, errors: IntArray, level: float) -> tuple[int, int]:
    bounds = binomial.upper_bound(errors, accepted, level)
    i = int(np.argmin(bounds))
    return int(accepted[i]), int(errors[i])
