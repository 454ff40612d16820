"""A chain over fused modes, insured by the modes they were fused from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from riskjudge import binomial
from riskjudge._typing import FloatArray
from riskjudge.calibration.learning.ranking import rank_risks
from riskjudge.calibration.paths import most_sent
from riskjudge.calibration.plan import Chain, Family, Plan, Target
from riskjudge.calibration.procedure import PlannedProcedure, Planner
from riskjudge.calibration.procedures.hybrid import Hybrid
from riskjudge.calibration.sample import Sample
from riskjudge.counts import NONE
from riskjudge.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Fused(PlannedProcedure):
    """A chain over fused modes; and :class:`.Hybrid` over the plain ones, with a share of delta.

    The first `stages` modes of the sample are fused ones: probabilities that a model taught by the
    rows in ``sample.taught`` gives to each item (see :mod:`riskjudge.signals`). The other modes are
    those that were fused. A rule is a threshold vector over all of them, with a threshold for each
    verdict. Three families are tested, each at its share of delta:

    * *fused*: one learned chain over the fused modes, both verdicts at one threshold, for they share
      one probability scale. It is tested on the rows that taught nothing;
    * *plain* and *by verdict*: what :class:`.Hybrid` tests on the plain modes, without and with a
      threshold for each verdict. The fusion has no part in it, so it is tested on all rows: those that
      taught the fusion, too, where they were drawn from the same population.

    A fusion is a bet that is the better the more rows have taught it, so the fused chain's share is
    ``t / (t + half_taught)`` for t of them. Where they are too few to teach it well, what is certified
    is what Hybrid certifies at most of delta. Nothing is handed on between the families: a chain that
    is through accepts all there is to accept.

    Parameters
    ----------
    stages : int
        Fused modes, which come first.
    half_taught : int
        Taught rows with which the fused chain owns half of delta.
    split_share : float
        Share of the plain modes' delta that goes to those by verdict.
    steps : int
        Levels of coverage of each chain.
    start_coverage : float
        Pool coverage at which preset chains start.

    Notes
    -----
    *Guarantee:* P(risk of the chosen rule > alpha) <= delta, whatever the distribution and the
    signals.

    *Proof.* Let A be the taught rows, drawn without a look at labels, and B the others. The fused
    modes are fixed functions of an item's signals once A is given: the model, its calibrators and
    scalers were fitted on A alone. So given A (and the pool) the rows of B, each with its fused scores
    and verdicts, are independent draws from one population, and the fused chain, computed from A,
    alpha, delta and the number of rows in B, is fixed, too; :mod:`riskjudge.calibration.plan` proves
    that a true null among its rules is rejected with probability at most its share of delta. This
    holds for every A, hence on average. The plain rules do not depend on the fusion. Rows of A and B
    together are independent draws, and for those rules alone the proof in :class:`.Hybrid` holds word
    for word, at its share of delta. That the same labels also taught a fusion changes nothing about
    what Hybrid does with them. The union bound adds the shares, which sum to one: any of the certified
    rules may be taken. It does not matter what the signals are, nor that the fused verdict may differ
    from every judge's. If a signal is worthless, or is there for A and gone later, coverage is lost
    and nothing else.

    *What must not happen:* that a row of B teaches: the model, a scaler, a filling for missing
    values, or the order of the fused chain; and that a plain chain is tested on rows of A that are no
    draws from the population (``sample.also_tested`` says which ones are), or passes delta on to a
    fused one while both stand on rows that taught. The taught rows' own fused scores must come from
    models that did not see their labels (cross-fitting), or the chain starts too boldly; that is a
    matter of coverage, for it is not tested on them.

    *Under a budget* (``max_retrieval``: the share of items sent past the first fused mode) only the
    fused chain is tested, since a plain mode that stands behind the stages would be asked of all.
    """

    name: ClassVar[str] = "fused"
    tests_variants: ClassVar[bool] = False  # its families are built of columns, variants left out
    stages: int = 1
    half_taught: int = 40
    split_share: float = 0.2
    steps: int = 50
    start_coverage: float = 0.25

    def planner(self, sample: Sample, seed: int) -> Planner:
        taught, width = sample.taught, 2 * self.stages
        if taught is None or sample.columns_per_mode != 2 or len(sample.modes) < width:
            raise InputError(
                "the procedure 'fused' tests modes that a fusion made, each with a threshold for "
                "each verdict; fuse the trace first (riskjudge calibrate --fuse, or a FusedGate)"
            )
        fused = rank_risks(_whole_modes(_columns(taught, slice(0, width))), seed)
        own, insurance = taught.n / (taught.n + self.half_taught), []
        if len(sample.modes) > width:
            plain = _columns(_all_rows(sample), slice(width, None))
            hybrid = Hybrid(steps=self.steps, start_coverage=self.start_coverage)
            left = 1.0 - own
            for part, share in (
                (_whole_modes(plain), left * (1.0 - self.split_share)),
                (plain, left * self.split_share),
            ):
                if share > 0.0:
                    insurance.append((hybrid.planner(part, seed), share))

        def plan(target: Target) -> Plan:
            insured = insurance if target.max_retrieval is None else []
            share = own if insured else 1.0
            tolerated = binomial.max_errors(sample.n, target.alpha, target.delta * share)
            sent = most_sent(target, sample.n, len(fused.pool))
            path = np.repeat(fused.path(self.steps, tolerated, sent), 2, axis=1)
            chain = Chain(_placed(path, sample.n_modes, 0), 1.0)
            families = [Family(sample, (chain,) if len(path) else (), share, taught.n)]
            for planner, part in insured:
                planned = planner(replace(target, delta=target.delta * part))
                (family,) = planned.families
                families.append(_among_all(family, sample.modes, part, planned.n_reserved))
            return Plan(tuple(families), taught.n)

        return plan


def _all_rows(sample: Sample) -> Sample:
    """The tested rows, and those of the taught ones on which other rules may be tested."""
    taught, chosen = sample.taught, sample.also_tested
    if taught is None or chosen is None or not chosen.any():
        return sample
    return replace(
        sample,
        scores=np.concatenate((sample.scores, taught.scores[chosen])),
        verdicts=np.concatenate((sample.verdicts, taught.verdicts[chosen])),
        labels=np.concatenate((sample.labels, taught.labels[chosen])),
    )


def _among_all(family: Family, modes: tuple[str, ...], share: float, n_reserved: int) -> Family:
    """A family over the plain modes as one over all columns; it never looks at the fused ones."""
    tested = family.sample
    width = 1 if tested.columns_per_mode == 2 else 2
    split = tested if width == 1 else tested.by_verdict()
    before = len(modes) - split.n_modes
    none = np.full((split.n, before), np.nan)
    whole = Sample(
        np.column_stack((none, split.scores)),
        np.column_stack((np.full(none.shape, -1), split.verdicts)),
        split.labels,
        modes,
        columns_per_mode=2,
    )
    chains = tuple(
        Chain(_placed(np.repeat(chain.path, width, axis=1), len(modes), before), chain.weight)
        for chain in family.chains
    )
    return Family(whole, chains, share, n_reserved)


def _placed(path: FloatArray, n_columns: int, at: int) -> FloatArray:
    """A path over some columns as one over all, with no threshold in the others."""
    vectors = np.full((len(path), n_columns), NONE)
    vectors[:, at : at + path.shape[1]] = path
    return vectors


def _columns(sample: Sample, columns: slice) -> Sample:
    """Some of the columns, pool and all."""
    pool, verdicts = sample.pool_scores, sample.pool_verdicts
    return Sample(
        sample.scores[:, columns],
        sample.verdicts[:, columns],
        sample.labels,
        sample.modes[columns],
        None if pool is None else pool[:, columns],
        None if verdicts is None else verdicts[:, columns],
        sample.columns_per_mode,
    )


def _whole_modes(sample: Sample) -> Sample:
    """The inverse of :meth:`Sample.by_verdict`."""

    def joined(scores: FloatArray) -> FloatArray:
        return np.where(np.isnan(scores[:, ::2]), scores[:, 1::2], scores[:, ::2])

    pool, verdicts = sample.pool_scores, sample.pool_verdicts
    return Sample(
        joined(sample.scores),
        sample.verdicts[:, ::2],
        sample.labels,
        tuple(mode.removesuffix("[0]") for mode in sample.modes[::2]),
        None if pool is None else joined(pool),
        None if verdicts is None else verdicts[:, ::2],
    )
