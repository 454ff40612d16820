"""Plans: which threshold vectors will be tested, in which order, at which share of delta.

Every valid procedure works in two steps. First it writes a *plan*, without a look at the labels it
will test on. Then the plan is tested, and whatever was rejected ("the risk of this rule exceeds
alpha" is rejected) is certified at once, so that the best of it may be taken.

A plan is one or more *families*; a family is a set of *chains* tested on the same labelled rows.

The test of a family
--------------------
Each chain is an ordered list of threshold vectors and owns a share of the family's delta. It parks
that share on its first vector not yet rejected. A vector is rejected when its p-value is at most the
delta parked on it (by all chains that wait there). A chain that has no vector left hands its share
to the others in proportion to theirs. This goes on until nothing new is rejected.

Why it is valid
---------------
Claim: P(any true null is rejected) <= delta of the family. Let the plan be fixed (conditioned on
whatever it was made from). (1) The delta parked on a vector that is not rejected depends on the set
of rejected vectors only, and never shrinks as that set grows: a chain leaves a vector only when that
vector is rejected, and hand-overs only add. (2) Suppose some true null is rejected, and take the
moment before the first one is. The rejected set R then holds false nulls only, so R is contained in
the set F of all false nulls; by (1) the delta parked on each true null at R is at most the delta
c(h) parked on it at F. The c(h) are constants and sum to at most delta, since every chain parks on
one vector only. So some true null h has p(h) <= c(h), and since P(p(h) <= x) <= x for a true null
(:func:`riskjudge.binomial.p_value`), the union bound gives at most the sum of the c(h), which is at
most delta. Ties, plateaus and risks that fall and rise are all covered: nothing is assumed about
the risk. This is the sequential rejection principle (Goeman and Solari, Annals of Statistics 38,
2010) applied to the graphs of Bretz, Maurer, Brannath and Posch (Statistics in Medicine 28, 2009).
Families add up: the shares of delta of the families sum to at most one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from riskjudge import binomial, counts
from riskjudge._typing import BoolArray, FloatArray, IntArray
from riskjudge.calibration.sample import Sample
from riskjudge.counts import PathCounts
from riskjudge.errors import InputError

_CHUNK = 4096


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be certified.

    Attributes
    ----------
    alpha : float
        Largest tolerated error rate among accepted verdicts.
    delta : float
        Largest tolerated probability that the promise is broken.
    max_retrieval : float or None
        If given, the certified rule must also send at most this share of all items past the first
        mode. The null of a rule becomes "risk above alpha, or share above the budget"; its p-value
        is the larger of the two exact p-values (an intersection-union test: under either half of
        the null, the p-value of that half alone is valid, and the maximum is no smaller). So both
        promises hold together at the same delta. The share needs no labels.
    alpha_pass, alpha_fail : float or None
        Largest tolerated error rate among the accepted verdicts 1 and among the accepted verdicts 0,
        each by itself (thresholds by verdict). The null of a rule becomes "the risk among all, among
        passes or among fails is above its level", its p-value the largest of the three. Each is exact
        by itself: given how many passes are accepted, the wrong ones among them are binomial at the
        risk of passes, whatever happens to the fails; the same the other way round. If one part of the
        null is true, that part's p-value is valid, and the maximum is no smaller (an
        intersection-union test): no share of delta is split. A rule without a threshold for passes
        accepts none with certainty, and keeps the promise about them.
    min_tpr, min_tnr : float or None
        Smallest tolerated share of verdicts 1 among the accepted items whose label is 1 (true positive
        rate), and of verdicts 0 among those whose label is 0 (true negative rate). What is declined
        does not count. Two further parts of the null, tested in the same way: given how many items of
        a label are accepted, the wrong verdicts among them are binomial at one minus the rate. Items
        are drawn whatever their label, so that nobody has to know how common a label is. A rule that
        accepts no item of the label has shown nothing about it (p-value 1).

    Notes
    -----
    Where the sample holds variants (the same items under named perturbations), everything that is asked
    about errors is asked under each of them as well: the null of a rule is "its promise does not hold for
    the items as they came, or not under one of the perturbations", and its p-value the largest of all.
    Under each perturbation the items are independent draws from *its* population, so that part's p-value
    is valid by itself; that the same items occur in all parts does no harm, for whichever part of the null
    is true, the maximum is no smaller than its p-value (an intersection-union test, Berger, Technometrics
    24, 1982). No share of delta is split, however many perturbations there are. The budget of retrieval
    is about the items as they came.
    """

    alpha: float
    delta: float
    max_retrieval: float | None = None
    alpha_pass: float | None = None
    alpha_fail: float | None = None
    min_tpr: float | None = None
    min_tnr: float | None = None

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if value is not None or name in ("alpha", "delta"):
                object.__setattr__(self, name, binomial.check_level(value, name))

    @property
    def by_verdict(self) -> tuple[tuple[int, float], ...]:
        """Verdicts with a level of their own, and the levels."""
        levels = ((0, self.alpha_fail), (1, self.alpha_pass))
        return tuple((verdict, level) for verdict, level in levels if level is not None)

    @property
    def by_label(self) -> tuple[tuple[int, float], ...]:
        """Labels with a rate of their own, and the smallest share of right verdicts among them."""
        rates = ((0, self.min_tnr), (1, self.min_tpr))
        return tuple((label, rate) for label, rate in rates if rate is not None)

    @property
    def more_than_risk(self) -> bool:
        """Whether anything is asked about one kind of verdict or label by itself."""
        return bool(self.by_verdict or self.by_label)


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """Threshold vectors in the order of testing, shape (L, K), and the chain's share of delta."""

    path: FloatArray
    weight: float


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Chains that are tested together on `sample`, at `share` of delta.

    `n_reserved` counts the labelled items that this family sets aside, where families differ in it.
    """

    sample: Sample
    chains: tuple[Chain, ...]
    share: float = 1.0
    n_reserved: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """All that is decided before the tested labels are looked at."""

    families: tuple[Family, ...]
    n_reserved: int = 0
    assumptions: tuple[str, ...] = ()

    @property
    def n_hypotheses(self) -> int:
        return sum(len(chain.path) for family in self.families for chain in family.chains)


@dataclass(frozen=True, slots=True, eq=False)
class Tested:
    """Outcome of one family.

    Attributes
    ----------
    counts : PathCounts
        Of every vector, chain after chain.
    levels : ndarray of float, shape (L,)
        Level at which each vector was rejected, NaN where it was not.
    waiting : ndarray of float, shape (chains,)
        Delta parked, in the end, on the vector at which each chain waits; NaN where it is through.
    """

    sample: Sample
    counts: PathCounts
    levels: FloatArray
    waiting: FloatArray
    chains: tuple[Chain, ...]
    n_reserved: int | None = None

    @property
    def rejected(self) -> IntArray:
        """Indices of the certified vectors."""
        return np.flatnonzero(~np.isnan(self.levels))

    @property
    def stops(self) -> list[tuple[int, float]]:
        """Vector at which each chain waits, and its level; chains that are through are left out."""
        found = []
        start = 0
        for chain, level in zip(self.chains, self.waiting, strict=True):
            left = np.flatnonzero(np.isnan(self.levels[start : start + len(chain.path)]))
            found += [(start + int(left[0]), float(level))] if len(left) else []
            start += len(chain.path)
        return found

    def chain_of(self, i: int) -> FloatArray:
        """The path of the chain that vector i stands on, shape (L, K)."""
        ends = np.cumsum([len(chain.path) for chain in self.chains])
        return self.chains[int(np.searchsorted(ends, i, side="right"))].path


def rule_p_values(family_counts: PathCounts, sample: Sample, target: Target) -> FloatArray:
    """P-value of each rule's null, the retrieval budget and the variants included."""
    p = _error_p_values(family_counts, sample, target)
    for variant in sample.variants.values():
        there = counts.path_counts(variant.scores, variant.errors, family_counts.thresholds)
        p = np.maximum(p, _error_p_values(there, variant, target))
    if target.max_retrieval is None:
        return p
    calls = retrieval_calls(family_counts, sample)
    over = binomial.p_value(calls, np.full_like(calls, sample.n), target.max_retrieval)
    # A rule without a threshold in any later mode sends nothing on, with certainty.
    over = np.where(asks_later_modes(family_counts, sample), over, 0.0)
    return np.maximum(p, over)


def _error_p_values(family_counts: PathCounts, sample: Sample, target: Target) -> FloatArray:
    """P-values of "wrong too often": among all accepted, those of a verdict, or those of a label."""
    p = np.asarray(binomial.p_value(family_counts.errors, family_counts.accepted, target.alpha))
    for verdict, level in target.by_verdict:
        p = np.maximum(p, _verdict_p_values(family_counts, sample, verdict, level))
    for label, rate in target.by_label:
        p = np.maximum(p, _label_p_values(family_counts, sample, label, 1.0 - rate))
    return p


def _verdict_p_values(path: PathCounts, sample: Sample, verdict: int, level: float) -> FloatArray:
    """P-values of "the accepted verdicts of this kind are wrong more often than `level`"."""
    if sample.columns_per_mode != 2:
        raise InputError("a level for each verdict needs thresholds by verdict")
    columns = np.arange(sample.scores.shape[1]) % 2 == verdict
    accepted = path.by_mode[:, columns].sum(axis=1)
    # The column that accepts an item is that of its verdict: masked, the others bring no error.
    errors = counts.path_counts(sample.scores, sample.errors & columns, path.thresholds).errors
    possible = (path.thresholds[:, columns] > counts.NONE).any(axis=1)
    return np.where(possible, binomial.p_value(errors, accepted, level), 0.0)


def _label_p_values(path: PathCounts, sample: Sample, label: int, level: float) -> FloatArray:
    """P-values of "accepted items of this label are judged wrongly more often than `level`"."""
    of_label = sample.labels == label
    there = counts.path_counts(sample.scores[of_label], sample.errors[of_label], path.thresholds)
    return np.asarray(binomial.p_value(there.errors, there.accepted, level), dtype=np.float64)


def asks_later_modes(path: PathCounts, sample: Sample) -> BoolArray:
    """Which rules have a threshold in any mode but the first."""
    later = path.thresholds[:, sample.columns_per_mode :]
    return np.asarray((later > counts.NONE).any(axis=1))


def retrieval_calls(path: PathCounts, sample: Sample) -> IntArray:
    """Items that each rule sends past the first mode: all that mode 1 does not accept, if any later
    mode has a threshold."""
    first = path.by_mode[:, : sample.columns_per_mode].sum(axis=1)
    return np.where(asks_later_modes(path, sample), sample.n - first, 0)


def run_family(family: Family, target: Target) -> Tested:
    """Run the weight-passing test of a family (see the module's docstring)."""
    sample, delta = family.sample, target.delta * family.share
    path = np.concatenate([chain.path for chain in family.chains])
    tallied = counts.path_counts(sample.scores, sample.errors, path)
    levels = np.full(len(path), np.nan)
    weights = [chain.weight for chain in family.chains]
    if len(family.chains) == 1:
        reached = _passed(tallied, sample, target, delta * weights[0])
        levels[:reached] = delta * weights[0]
        waiting = np.array([delta * weights[0]])
    else:
        p = rule_p_values(tallied, sample, target)
        lengths = [len(chain.path) for chain in family.chains]
        levels, waiting = pass_weights(path, p, lengths, weights, delta)
    return Tested(sample, tallied, levels, waiting, family.chains, family.n_reserved)


def _passed(tallied: PathCounts, sample: Sample, target: Target, level: float) -> int:
    """Length of the leading run of a single chain that is rejected; stops computing at its end."""
    for start in range(0, len(tallied), _CHUNK):
        part = slice(start, start + _CHUNK)
        chunk = PathCounts(
            tallied.thresholds[part],
            tallied.accepted[part],
            tallied.errors[part],
            tallied.by_mode[part],
        )
        failed = np.flatnonzero(rule_p_values(chunk, sample, target) > level)
        if len(failed):
            return start + int(failed[0])
    return len(tallied)


def pass_weights(
    path: FloatArray, p: FloatArray, lengths: Sequence[int], weights: Sequence[float], delta: float
) -> tuple[FloatArray, FloatArray]:
    """Level at which each vector is rejected, and the one at which each chain waits in the end."""
    # Equal vectors on several chains are one hypothesis: their parked shares add up.
    _, identity = np.unique(path, axis=0, return_inverse=True)
    identity = identity.ravel()
    ends = np.cumsum(lengths)
    position = ends - np.asarray(lengths)
    share = np.asarray(weights, dtype=np.float64)
    level = np.full(len(path), np.nan)
    rejected = np.zeros(identity.max(initial=-1) + 1, dtype=bool)
    while True:
        for c, end in enumerate(ends):
            while position[c] < end and rejected[identity[position[c]]]:
                position[c] += 1
        waiting = position < ends
        if not waiting.any():
            return level, np.full(len(ends), np.nan)
        if (done := ~waiting & (share > 0)).any():
            share = np.where(waiting, share * (1.0 + share[done].sum() / share[waiting].sum()), 0.0)
        heads = identity[position[waiting]]
        parked = np.bincount(heads, weights=share[waiting] * delta)
        passing = [
            i for i in np.flatnonzero(waiting) if p[position[i]] <= parked[identity[position[i]]]
        ]
        if not passing:
            parked_at = np.full(len(ends), np.nan)
            parked_at[waiting] = parked[heads]
            return level, parked_at
        for i in passing:
            vector = identity[position[i]]
            level[identity == vector] = parked[vector]
            rejected[vector] = True
