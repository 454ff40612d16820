"""What a procedure sees: scores, errors, and unlabelled scores beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from riskjudge._typing import BoolArray, FloatArray, IntArray
from riskjudge.binomial import check_level
from riskjudge.counts import Plane, contradicts
from riskjudge.errors import InputError


@dataclass(frozen=True, eq=False)
class Sample:
    """Labelled calibration items, and optionally a pool of unlabelled ones.

    Attributes
    ----------
    scores : ndarray of float, shape (n, K)
        Uncertainty of each item in each mode, higher = less sure; NaN where the mode gave no usable
        verdict.
    verdicts : ndarray of int, shape (n, K)
        Verdicts 0 or 1, -1 where there is none. With a `reach`, scores in whole steps.
    labels : ndarray of int, shape (n,)
        What is right, 0 or 1, or a score in the same steps.
    modes : tuple of str
        Names of the modes, in the order in which they are asked.
    pool_scores, pool_verdicts : ndarray or None
        The same of items whose labels nobody looked at, independent of the labelled ones.
    columns_per_mode : int
        1, or 2 after :meth:`by_verdict`: then each mode has one column for each verdict.
    taught : Sample or None
        Labelled items that were set aside before, without a look at their labels, and have taught
        something (a fused mode, say). They may shape a plan, and what they taught is never tested on
        them.
    also_tested : ndarray of bool, shape (taught.n,), or None
        Which of those rows are draws from the same population, so that a rule which they did not teach
        may be tested on them, too. None: none of them.
    reach : int
        Largest distance of a verdict from its label that is no error; see :class:`.Grading`.
    variants : mapping of str to Sample
        The same items, row by row, as they look under named perturbations; a row to which one does not
        apply has no score. A rule must keep its promise under each of them, too; see :class:`.Target`.
    """

    scores: FloatArray
    verdicts: IntArray
    labels: IntArray
    modes: tuple[str, ...]
    pool_scores: FloatArray | None = None
    pool_verdicts: IntArray | None = None
    columns_per_mode: int = 1
    taught: Sample | None = None
    reach: int = 0
    also_tested: BoolArray | None = None
    variants: Mapping[str, Sample] = field(default_factory=dict)
    errors: BoolArray = field(init=False)

    def __post_init__(self) -> None:
        n, n_modes = self.scores.shape
        if self.verdicts.shape != (n, n_modes) or self.labels.shape != (n,):
            raise InputError(
                f"scores {self.scores.shape}, verdicts {self.verdicts.shape} and labels "
                f"{self.labels.shape} do not belong together"
            )
        if len(self.modes) != n_modes:
            raise InputError(f"{n_modes} modes need {n_modes} names, got {self.modes}")
        for name, variant in self.variants.items():
            if variant.scores.shape != self.scores.shape:
                raise InputError(f"the items under {name!r} are not the same, row by row")
        errors = contradicts(self.verdicts, self.labels[:, None], self.reach)
        object.__setattr__(self, "errors", errors)

    @property
    def n(self) -> int:
        return len(self.labels)

    @property
    def n_scored(self) -> int:
        """Items with a score in any mode."""
        return int(np.count_nonzero(~np.isnan(self.scores).all(axis=1)))

    @property
    def n_modes(self) -> int:
        return len(self.modes)

    @property
    def every_score(self) -> FloatArray:
        """Distinct scores, those of the variants included: counts change at no other thresholds."""
        scores = np.concatenate([self.scores, *(v.scores for v in self.variants.values())])
        return np.unique(scores[~np.isnan(scores)])

    @cached_property
    def plane(self) -> Plane:
        """Counts over all pairs of distinct scores (two modes only); shared by all risk levels."""
        return Plane(self.scores, self.errors)

    def rows(self, index: IntArray | BoolArray) -> Sample:
        """The labelled rows at `index`, with the same pool."""
        return Sample(
            self.scores[index],
            self.verdicts[index],
            self.labels[index],
            self.modes,
            self.pool_scores,
            self.pool_verdicts,
            self.columns_per_mode,
            self.taught,
            self.reach,
            self.also_tested,
            {name: variant.rows(index) for name, variant in self.variants.items()},
        )

    def by_verdict(self) -> Sample:
        """Split every mode into two columns, one for each verdict, so that each has a threshold.

        A verdict of 1 has no score in its mode's column for 0, and the other way round. At most one
        of the two can accept an item, so the first column that accepts is the first mode that does:
        a router with thresholds by verdict is a plain router over twice as many columns.

        Examples
        --------
        >>> one = np.ones((1, 1))
        >>> sample = Sample(0.2 * one, one.astype(int), np.array([1]), ("judge",))
        >>> sample.by_verdict().modes, sample.by_verdict().scores
        (('judge[0]', 'judge[1]'), array([[nan, 0.2]]))
        """
        if self.reach:
            raise InputError(
                "thresholds by verdict need verdicts of two kinds; scores within a tolerance have none "
                "(a cut makes some)"
            )
        return Sample(
            scores_by_verdict(self.scores, self.verdicts),
            np.repeat(self.verdicts, 2, axis=1),
            self.labels,
            tuple(f"{mode}[{verdict}]" for mode in self.modes for verdict in (0, 1)),
            None
            if self.pool_scores is None or self.pool_verdicts is None
            else scores_by_verdict(self.pool_scores, self.pool_verdicts),
            None if self.pool_verdicts is None else np.repeat(self.pool_verdicts, 2, axis=1),
            columns_per_mode=2,
            taught=None if self.taught is None else self.taught.by_verdict(),
            also_tested=self.also_tested,
            variants={name: variant.by_verdict() for name, variant in self.variants.items()},
        )

    def reserve(self, share: float, seed: int) -> tuple[Sample, Sample]:
        """Set a random share of the labelled rows aside: ``(reserved, rest)``, drawn without labels."""
        check_level(share, "reserve")
        if self.n < 2:
            return self.rows(np.zeros(0, dtype=np.int64)), self
        size = min(max(1, round(share * self.n)), self.n - 1)
        shuffled = np.random.default_rng(seed).permutation(self.n)
        return self.rows(np.sort(shuffled[:size])), self.rows(np.sort(shuffled[size:]))


def scores_by_verdict(scores: FloatArray, verdicts: IntArray) -> FloatArray:
    """Scores of shape (n, K) as columns of shape (n, 2 K): verdict 0 and verdict 1 of each mode."""
    split = np.where(verdicts[:, :, None] == np.arange(2), scores[:, :, None], np.nan)
    return split.reshape(len(scores), 2 * scores.shape[1])
