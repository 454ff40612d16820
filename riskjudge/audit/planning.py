"""How many labels the procedure itself needs: calibrations simulated on a model, before any are bought."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from riskjudge import binomial
from riskjudge.audit.resample import TraceWorld
from riskjudge.calibration import Procedure, Sample, Target, default_procedure
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError

_MOST = 50_000
_STEP = 1.04


class Source(Protocol):
    """Whatever labelled items can be drawn from: a world of the audit, or :class:`RisingErrors`."""

    def draw(self, n: int, rng: np.random.Generator) -> Sample:
        """Draw n independent labelled items."""


@dataclass(frozen=True, slots=True)
class RisingErrors:
    """One mode whose error probability rises with the rank of its score.

    At rank x it is ``2 * error_rate * x / coverage``, at most one half: the surest share `coverage`
    of the items is wrong at the rate `error_rate` (if that is at most one quarter). It is what is
    assumed where nobody has a pilot.
    """

    error_rate: float
    coverage: float

    def draw(self, n: int, rng: np.random.Generator) -> Sample:
        rank = rng.random((n, 1))
        wrong = rng.random((n, 1)) < np.minimum(2.0 * self.error_rate * rank / self.coverage, 0.5)
        labels = rng.integers(0, 2, n)
        return Sample(rank, labels[:, None] ^ wrong, labels, ("judge",))


@dataclass(frozen=True, slots=True)
class SimulatedPower:
    """How often a procedure certifies with so many labels.

    Attributes
    ----------
    labels : int
    certified : int
        Of the `replicates`, those with a certificate that accepts at least `coverage` of the items.
    power, low, high : float
        Their share, and its exact 95 % interval: the simulation's own error.
    mean_coverage : float
        Accepted share, 0 where nothing was certified.
    """

    labels: int
    certified: int
    replicates: int
    coverage: float
    power: float
    low: float
    high: float
    mean_coverage: float


def simulate_power(
    source: Source,
    labels: int,
    alpha: float,
    delta: float,
    *,
    coverage: float = 0.0,
    procedure: Procedure | None = None,
    pool: int = 0,
    replicates: int = 200,
    seed: int = 0,
) -> SimulatedPower:
    """Calibrate on items drawn from a model, again and again.

    Parameters
    ----------
    source : Source
    labels : int
    coverage : float
        A certificate counts if it accepts at least this share of the tested items; 0 for any.
    procedure : Procedure, optional
        The default procedure by default.
    pool : int
        Unlabelled items beside the labelled ones.
    alpha : float
        Risk level.
    delta : float
        Significance.
    replicates : int
        Simulated repetitions.
    seed : int
        Seeds whatever is drawn at random.

    Examples
    --------
    >>> found = simulate_power(RisingErrors(0.03, 0.6), 300, 0.1, 0.05, replicates=20)
    >>> found.certified, found.replicates
    (20, 20)
    """
    target = Target(alpha, delta)
    shares = np.zeros(replicates)
    hits = 0
    for r in range(replicates):
        items = source.draw(labels + pool, np.random.default_rng([seed, labels, r]))
        sample = items.rows(np.arange(labels))
        if pool:
            sample = replace(
                sample, pool_scores=items.scores[labels:], pool_verdicts=items.verdicts[labels:]
            )
        chosen = (procedure or default_procedure(items.n_modes)).selector(sample, r)(target)
        if chosen.thresholds is not None:
            shares[r] = chosen.accepted / chosen.n
            hits += bool(shares[r] >= coverage)
    low, high = binomial.interval(hits, replicates)
    return SimulatedPower(
        labels, hits, replicates, coverage, hits / replicates, float(low), float(high),
        float(shares.mean()),
    )  # fmt: skip


def power_of_redrawn_pilots(
    pilot: Trace,
    simulate: Callable[[Source], SimulatedPower],
    alpha: float,
    *,
    redraws: int = 8,
    seed: int = 0,
) -> tuple[float, float]:
    """Least and largest power over models of redrawn pilots: how little a pilot of this size knows.

    Each redraw takes as many of the pilot's rows, with replacement, and fits the model anew.

    Parameters
    ----------
    pilot : Trace
        Labelled items.
    simulate : callable
        From a model to its simulated power.
    alpha : float
        Risk level.
    redraws : int
        Number of models.
    seed : int
        Seeds the redraws.
    """
    rows = np.flatnonzero(pilot.labelled)
    rng = np.random.default_rng([seed, 2])
    found = []
    for _ in range(redraws):
        redrawn = pilot.rows(rng.choice(rows, len(rows)))
        if len(np.unique(redrawn.labels)) == 2:
            found.append(simulate(TraceWorld.from_trace(redrawn, alpha=alpha)).power)
    return (min(found), max(found)) if found else (0.0, 1.0)


def labels_for_power(
    simulate: Callable[[int], SimulatedPower], power: float, start: int = 100
) -> SimulatedPower | None:
    """Fewest labels, to within 4 %, whose simulated power is at least `power`.

    Returns
    -------
    SimulatedPower or None
        None if 50,000 labels would not do.
    """
    binomial.check_level(power, "power")
    if start < 2:
        raise InputError(f"start must be at least 2, got {start}")
    low, found = 1, simulate(start)
    while found.power < power:
        low, start = start, 2 * start
        if start > _MOST:
            return None
        found = simulate(start)
    while found.labels > max(low * _STEP, low + 1):
        middle = round((low * found.labels) ** 0.5)
        tried = simulate(min(max(middle, low + 1, 2), found.labels - 1))
        if tried.power >= power:
            found = tried
        else:
            low = tried.labels
        if found.labels <= 2:
            break
    return found
