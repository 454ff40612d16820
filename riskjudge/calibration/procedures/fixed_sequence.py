"""Fixed sequence testing: one chain, the full delta, stop at the first failure."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from riskjudge._checks import check_count
from riskjudge._typing import FloatArray
from riskjudge.calibration.paths import coverage_levels, drop_hopeless, pool_of, quantile_path
from riskjudge.calibration.plan import Chain, Family, Plan, Target
from riskjudge.calibration.procedure import PlannedProcedure, Planner
from riskjudge.calibration.sample import Sample
from riskjudge.counts import NONE
from riskjudge.errors import InputError

_LARGEST = sys.float_info.max
Path = Sequence[Sequence[float | None]]


@dataclass(frozen=True, kw_only=True)
class FixedSequence(PlannedProcedure):
    """Test threshold vectors one after the other, each at the full delta, up to the first failure.

    Where the sequence comes from, in this order:

    1. `path`: vectors fixed in advance (None inside = no threshold in that mode). With a pool,
       leading vectors that would accept too few items to tolerate an error are skipped.
    2. `start` (one mode): every calibration score from a threshold fixed in advance upwards.
    3. `start_accepted` (one mode): every calibration score, from the first one that accepts that
       many items.
    4. Otherwise quantiles of the unlabelled pool (of a random `reserve` of the labelled rows where
       there is none), at `steps` coverages from `start_coverage` to 1; over several modes their
       thresholds move through equal quantiles.

    Parameters
    ----------
    path, start, start_accepted : sequence of vectors, float, int; each optional
        See above; at most one of them.
    start_coverage : float
        Pool coverage of the first vector.
    steps : int
        Number of vectors.
    reserve : float
        Share of the labelled rows set aside where there is no pool.

    Notes
    -----
    *Sources 1 and 4.* The sequence does not depend on the tested items. Let h be its first true
    null. A true null is rejected only if h is, and P(p(h) <= delta) <= delta. Nothing is assumed.

    *Source 2.* A threshold between two neighbouring calibration scores accepts the same calibration
    items as the lower of them, and has the same p-value. So to test every calibration score from
    `start` on is to test **every real threshold** from `start` on, a sequence fixed in advance. Let
    v be the infimum of the thresholds >= `start` whose risk exceeds alpha. If the risk at v itself
    exceeds alpha, v is the first true null, and passing it has probability at most delta. If not,
    the risk exceeds alpha at points t arbitrarily close above v; passing beyond t has probability at
    most delta, and the chance that a calibration score falls between v and t vanishes as t falls to
    v. Again nothing is assumed: risks that fall and rise are covered.

    *Source 3.* Here the *start* is random. Assume that the risk R(t) never falls as t grows, and let
    v be as above over all t. If at least `start_accepted` items lie at or below v, a null can only
    be reached by passing v, and given the number M of items up to v their errors are Bin(M, R(v)),
    so that has probability at most delta given every such M. If not, the first test is at a null u
    > v; its items' errors are independent, and each is wrong with probability above alpha: up to v
    by R(v) > alpha, beyond v since the average error between v and any u must be at least R(v) for
    R not to fall, and at u itself by the same argument. So that test passes with probability at
    most delta, too. The two cases exclude one another, hence delta in all. *Where it stops:* if the
    risk is above alpha at the surest scores, falls below it, and rises above it again, the random
    start may fall on either side of the first stretch; then each stretch can contribute up to delta
    (two of them: 2 delta). Judges that are overconfident at their surest scores look like that. The
    certificate lists the assumption.

    References
    ----------
    Maurer, Hothorn, Lehmacher, "Multiple comparisons in drug clinical trials and preclinical
    assays: a-priori ordered hypotheses", 1995; Angelopoulos et al., "Learn then Test",
    arXiv:2110.01052, section 2.3.
    """

    name: ClassVar[str] = "fixed_sequence"
    path: Path | None = None
    start: float | None = None
    start_accepted: int | None = None
    start_coverage: float = 0.25
    steps: int = 40
    reserve: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        given = [n for n in ("path", "start", "start_accepted") if getattr(self, n) is not None]
        if len(given) > 1:
            raise InputError(f"a fixed sequence takes one of {' and '.join(given)}, not both")
        start: Any = self.start
        number = isinstance(start, Real) and not isinstance(start, bool)
        # Compared and not converted: a whole number may be too large for a float.
        if start is not None and not (number and -_LARGEST <= start <= _LARGEST):
            raise InputError(f"start must be a finite number, got {start!r}")
        if self.start_accepted is not None:
            check_count(self.start_accepted, "start_accepted", least=0)
        if self.path is not None:
            try:
                path = tuple(tuple(vector) for vector in self.path)
            except TypeError:
                raise InputError(f"path must be a list of vectors, got {self.path!r}") from None
            object.__setattr__(self, "path", path)

    def planner(self, sample: Sample, seed: int) -> Planner:
        if self.path is None and (self.start is not None or self.start_accepted is not None):
            along_scores = self._along_scores(sample)
            return lambda target: along_scores
        rest, taken = sample, 0
        assumptions: tuple[str, ...] = (FIXED_PATH,)
        if self.path is not None:
            path, pool = decode_path(self.path, sample), sample.pool_scores
        else:
            pool, rest, taken = pool_of(sample, self.reserve, seed)
            coverages = coverage_levels(self.start_coverage, self.steps)
            path, assumptions = quantile_path(pool, (1.0,) * sample.n_modes, coverages), ()

        def plan(target: Target) -> Plan:
            hopeful = path
            if pool is not None:
                columns = rest.columns_per_mode
                hopeful = drop_hopeless(path, pool, rest.n, target, target.delta, columns)
            return _single(rest, hopeful, taken, assumptions)

        return plan

    def _along_scores(self, sample: Sample) -> Plan:
        if sample.n_modes > 1:
            raise InputError(
                f"start and start_accepted order the scores of one mode, got {sample.n_modes} "
                "modes: give a path, or an unlabelled pool"
            )
        values = sample.every_score
        if self.start is not None:
            path = np.concatenate(([self.start], values[values > self.start]))
            return _single(sample, path[:, None], assumptions=(FIXED_START,))
        accepted = np.searchsorted(np.sort(sample.scores[:, 0]), values, side="right")
        path = values[accepted >= (self.start_accepted or 0)]
        return _single(sample, path[:, None], assumptions=(MONOTONE,))


FIXED_PATH = "the path was fixed without a look at the labels of these items"
FIXED_START = "the start was fixed without a look at these items"
MONOTONE = "the error rate below a threshold never falls as the threshold grows"


def decode_path(path: Path, sample: Sample) -> FloatArray:
    """A path as an array of shape (L, K), None as "no threshold".

    Raises
    ------
    InputError
        If a vector has not one threshold for each mode.
    """
    for i, vector in enumerate(path):
        if len(vector) != sample.n_modes:
            raise InputError(
                f"vector {i} of the path has {len(vector)} thresholds, the trace has "
                f"{sample.n_modes} ({', '.join(sample.modes)})"
            )
    try:
        vectors = [[NONE if t is None else float(t) for t in vector] for vector in path]
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"the thresholds of a path are numbers or null, got {path!r}") from None
    return np.array(vectors, dtype=np.float64).reshape(len(vectors), sample.n_modes)


def _single(
    sample: Sample, path: FloatArray, n_reserved: int = 0, assumptions: tuple[str, ...] = ()
) -> Plan:
    return Plan((Family(sample, (Chain(path, 1.0),)),), n_reserved, assumptions)
