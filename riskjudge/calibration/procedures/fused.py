"""Chains over fused modes, insured by chains over the modes they were fused from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from riskjudge import binomial
from riskjudge._typing import FloatArray
from riskjudge.calibration.learning.ranking import RiskRanking, rank_risks
from riskjudge.calibration.paths import coverage_levels, most_sent
from riskjudge.calibration.plan import Chain, Family, Plan, Target
from riskjudge.calibration.procedure import PlannedProcedure, Planner
from riskjudge.calibration.procedures.portfolio import PresetChains
from riskjudge.calibration.sample import Sample
from riskjudge.counts import NONE
from riskjudge.errors import InputError

_PRESET = 0.1  # of a group's share: chains that start where the learned one may be too bold


@dataclass(frozen=True, kw_only=True)
class Fused(PlannedProcedure):
    """A chain over fused modes, and chains over the plain ones, in one family that passes delta on.

    The first `stages` modes of the sample are fused ones: probabilities that a model taught by the
    rows in ``sample.taught`` gives to each item (see :mod:`riskjudge.signals`). The other modes are
    those that were fused. A rule is a threshold vector over all of them, with a threshold for each
    verdict. A chain uses columns of its own group and no threshold elsewhere:

    * *fused*: the fused modes, both verdicts at one threshold, for they share one probability scale;
    * *plain*: the plain modes, both verdicts at one threshold, as in :class:`.Hybrid`;
    * *by verdict*: the plain modes with a threshold for each verdict, likewise.

    Where the labels are too few to teach a fusion, the plain chains still come through.

    Parameters
    ----------
    stages : int
        Fused modes, which come first.
    fused_share : float
        Share of delta of the fused chain.
    plain_share : float
        Share of delta of the plain chains; those by verdict own the rest.
    steps : int
        Levels of coverage of each chain.
    start_coverage : float
        Pool coverage at which preset chains start.

    Notes
    -----
    *Guarantee:* P(risk of the chosen rule > alpha) <= delta, whatever the distribution and the
    signals.

    *Proof.* Let A be the taught rows, drawn without a look at labels, and B the tested ones. The
    fused modes are fixed functions of an item's signals once A is given: the model, its calibrators
    and scalers were fitted on A alone. So given A (and the pool) the rows of B, each with its fused
    and plain scores and verdicts, are independent draws from one population. Every chain is computed
    from A, the pool, alpha, delta and the number of rows in B, and is fixed, too; the shares sum to
    one. :mod:`riskjudge.calibration.plan` proves for any fixed chains that a true null is rejected
    with probability at most delta. This holds for every A, hence on average. It does not matter what
    the signals are, nor that the fused verdict may differ from every judge's: each fused mode is a
    judge like any other. If a signal is worthless, or is there for A and gone later, coverage is
    lost and nothing else.

    *What must not happen:* that a row of B teaches: the model, a scaler, a filling for missing
    values, or the order of the chains. The taught rows' own fused scores must come from models that
    did not see their labels (cross-fitting), or the chain starts too boldly; that is a matter of
    coverage, for they are not tested on.

    *Under a budget* (``max_retrieval``: the share of items sent past the first fused mode) only the
    fused chain is tested, since a plain mode that stands behind the stages would be asked of all.
    """

    name: ClassVar[str] = "fused"
    stages: int = 1
    fused_share: float = 0.8
    plain_share: float = 0.1
    steps: int = 50
    start_coverage: float = 0.25

    def __post_init__(self) -> None:
        super().__post_init__()
        binomial.check_level(self.fused_share, "fused_share")
        binomial.check_level(self.plain_share, "plain_share")
        if self.fused_share + self.plain_share > 1.0:
            raise InputError(
                "fused_share and plain_share are shares of delta and sum to at most 1, got "
                f"{self.fused_share} and {self.plain_share}"
            )

    def planner(self, sample: Sample, seed: int) -> Planner:
        taught = sample.taught
        if taught is None or sample.columns_per_mode != 2 or len(sample.modes) < 2 * self.stages:
            raise InputError(
                "the procedure 'fused' tests modes that a fusion made, each with a threshold for "
                "each verdict; fuse the trace first (riskjudge calibrate --fuse, or a FusedGate)"
            )
        groups = _groups(taught, self.stages, seed)
        weights = self._weights(len(groups))
        coverages = coverage_levels(self.start_coverage, self.steps)
        presets = [PresetChains.over(group.ranking.pool, coverages) for group in groups]

        def plan(target: Target) -> Plan:
            chains: list[Chain] = []
            wanted = [*zip(groups, presets, weights, strict=True)]
            if target.max_retrieval is not None:
                wanted = [(groups[0], presets[0], 1.0)]
            for group, preset, share in wanted:
                chains += self._chains(group, preset, share, sample.n, target)
            total = sum(chain.weight for chain in chains)
            family = tuple(Chain(chain.path, chain.weight / total) for chain in chains)
            return Plan((Family(sample, family),), taught.n)

        return plan

    def _weights(self, n_groups: int) -> tuple[float, ...]:
        """Shares of delta of the groups: fused, plain, plain by verdict."""
        if n_groups == 1:
            return (1.0,)
        return (self.fused_share, self.plain_share, 1.0 - self.fused_share - self.plain_share)

    def _chains(
        self, group: _Group, presets: PresetChains, share: float, n: int, target: Target
    ) -> list[Chain]:
        """The learned chain of a group, and its preset ones."""
        ranking = group.ranking
        tolerated = binomial.max_errors(n, target.alpha, target.delta * share)
        learned = ranking.path(self.steps, tolerated, most_sent(target, n, len(ranking.pool)))
        left = 0.0 if group.alone else share * _PRESET
        if len(learned) == 0:
            left = share
        chains = []
        if left > 0.0:
            for chain in presets.chains(n, target, left):
                chains.append(Chain(group.embed(chain.path), chain.weight))
        if len(learned):
            chains.insert(0, Chain(group.embed(learned), share - sum(c.weight for c in chains)))
        return chains


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """Some modes, ranked by the risk that the taught rows predict.

    `embed` turns a path over the group's modes into one over all columns. A group that is `alone`
    has no preset chains beside the learned one.
    """

    ranking: RiskRanking
    embed: Callable[[FloatArray], FloatArray]
    alone: bool


def _groups(taught: Sample, stages: int, seed: int) -> list[_Group]:
    """Fused modes, plain modes, plain modes by verdict; the first alone if nothing else is there."""
    n_columns = len(taught.modes)
    fused, plain = slice(0, 2 * stages), slice(2 * stages, n_columns)

    def among(columns: slice, width: int, ranking: RiskRanking) -> Callable[..., FloatArray]:
        def embed(path: FloatArray) -> FloatArray:
            vectors = np.full((len(path), n_columns), NONE)
            vectors[:, columns] = np.repeat(ranking.columns(path), width, axis=1)
            return vectors

        return embed

    groups = []
    for columns, by_verdict in ((fused, False), (plain, False), (plain, True)):
        if columns.start == n_columns:
            continue
        part = _columns(taught, columns)
        ranking = rank_risks(part if by_verdict else _whole_modes(part), seed)
        embed = among(columns, 1 if by_verdict else 2, ranking)
        groups.append(_Group(ranking, embed, alone=columns is fused))
    return groups


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
