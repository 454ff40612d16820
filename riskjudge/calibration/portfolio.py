"""A portfolio of label-free chains that pass their share of delta on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from riskjudge.binomial import FloatArray
from riskjudge.calibration.paths import coverage_levels, pool_of, quantile_path
from riskjudge.calibration.plan import Chain, Family, Plan, Target
from riskjudge.calibration.procedure import PlannedProcedure
from riskjudge.calibration.sample import Sample


@dataclass(frozen=True, kw_only=True)
class Portfolio(PlannedProcedure):
    """Several chains over the quantiles of an unlabelled pool, each with a share of delta.

    For two modes: both modes with the first at half speed (.35), both at equal speed (.25), the
    second mode alone (.30), the first alone (.10). A chain that is through hands its share on. For
    one mode it is a single chain; for more, the modes alone and all modes together.

    Parameters
    ----------
    start_coverage : float
        Pool coverage at which each chain starts.
    steps : int
        Vectors of each chain.
    reserve : float
        Share of the labelled rows that serves as the pool where there is none.

    Notes
    -----
    Valid without assumption: the pool is independent of the tested rows, so the plan is fixed, and
    :mod:`riskjudge.calibration.plan` proves the test of a fixed plan.
    """

    name: ClassVar[str] = "portfolio"
    start_coverage: float = 0.25
    steps: int = 40
    reserve: float = 0.1

    def plan(self, sample: Sample, target: Target, seed: int) -> Plan:
        pool, rest, taken = pool_of(sample, self.reserve, seed)
        coverages = coverage_levels(self.start_coverage, self.steps)
        chains = preset_chains(pool, coverages, sample.columns_per_mode)
        return Plan((Family(rest, chains),), taken)


def preset_chains(
    pool: FloatArray, coverages: FloatArray, columns_per_mode: int = 1
) -> tuple[Chain, ...]:
    """The portfolio's chains over a pool of shape (N, columns).

    The columns of one mode (one for each verdict class) move together.
    """
    chains = []
    for speeds, weight in preset_speeds(pool.shape[1] // columns_per_mode):
        by_column = tuple(speed for speed in speeds for _ in range(columns_per_mode))
        path = quantile_path(pool, by_column, coverages)
        if len(path):
            chains.append(Chain(path, weight))
    total = sum(chain.weight for chain in chains)
    return tuple(Chain(chain.path, chain.weight / total) for chain in chains)


def preset_speeds(n_modes: int) -> list[tuple[tuple[float, ...], float]]:
    """Speeds of the modes, and the share of delta, of each preset chain.

    Examples
    --------
    >>> preset_speeds(2)
    [((0.5, 1.0), 0.35), ((1.0, 1.0), 0.25), ((0.0, 1.0), 0.3), ((1.0, 0.0), 0.1)]
    """
    if n_modes == 1:
        return [((1.0,), 1.0)]
    slow = tuple(0.5 ** (n_modes - 1 - k) for k in range(n_modes))
    last = (0.0,) * (n_modes - 1) + (1.0,)
    others = [
        (tuple(float(j == k) for j in range(n_modes)), 0.1 / (n_modes - 1))
        for k in range(n_modes - 1)
    ]
    return [(slow, 0.35), ((1.0,) * n_modes, 0.25), (last, 0.3), *others]
