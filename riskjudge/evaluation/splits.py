"""The paper's protocol: many random splits into calibration and test, at many risk levels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from riskjudge import binomial, counts
from riskjudge._checks import check_count
from riskjudge._parallel import run_jobs
from riskjudge._typing import BoolArray, FloatArray, IntArray
from riskjudge.data.trace import Trace, stack
from riskjudge.errors import InputError
from riskjudge.gate import Router, SelectiveGate

PAPER_ALPHAS = (0.05, 0.10, 0.15, 0.20, 0.25, 0.30, 0.35, 0.40, 0.45, 0.50, 0.55, 0.60)


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """Test counts of every split (rows) at every risk level (columns).

    Attributes
    ----------
    alphas : tuple of float, length A
    n_test : ndarray of int, shape (S,)
    accepted, errors : ndarray of int, shape (S, A)
    by_mode : ndarray of int, shape (S, A, K)
    modes : tuple of str
    description : str
        What was run, for titles.
    """

    alphas: tuple[float, ...]
    n_test: IntArray
    accepted: IntArray
    errors: IntArray
    by_mode: IntArray
    modes: tuple[str, ...]
    description: str

    def at(self, alpha: float) -> int:
        """Column of a risk level."""
        return self.alphas.index(alpha)

    @property
    def coverage(self) -> FloatArray:
        """Accepted share of the test items, shape (S, A)."""
        return self.accepted / self.n_test[:, None]

    @property
    def shares(self) -> FloatArray:
        """Share of the test items that each mode accepts, shape (S, A, K)."""
        return self.by_mode / self.n_test[:, None, None]

    @property
    def fdr(self) -> FloatArray:
        """Error rate among accepted test items, shape (S, A); NaN (UNDEFINED) if none is."""
        with np.errstate(invalid="ignore"):
            return self.errors / self.accepted

    def fdr_where_empty(self, value: float) -> FloatArray:
        """:attr:`fdr` with `value` in place of NaN (the paper's tables count such a split as 0)."""
        return np.where(self.accepted > 0, self.fdr, value)

    def summary(self, *, empty_fdr: float | None = None) -> list[dict[str, Any]]:
        """One row for each risk level: means and standard deviations over the splits.

        `n_undefined` counts the splits that accepted nothing. `above_alpha` is the share of splits
        whose test FDR exceeds alpha. It contains the noise of the test items: it may exceed delta
        where the true risk keeps the promise.

        Parameters
        ----------
        empty_fdr : float, optional
            What a split that accepted nothing counts as in the mean of the FDR. By default it is
            left out, since its FDR is undefined; the paper's tables count it as 0.
        """
        rows = []
        for a, alpha in enumerate(self.alphas):
            empty = self.accepted[:, a] == 0
            rates = self.fdr[:, a]
            above = float(np.count_nonzero(rates > alpha) / len(rates))
            rates = rates[~empty] if empty_fdr is None else self.fdr_where_empty(empty_fdr)[:, a]
            coverage, coverage_std = _mean_and_std(self.coverage[:, a])
            fdr, fdr_std = _mean_and_std(rates)
            shares = self.shares[:, a].mean(axis=0)
            rows.append(
                {
                    "alpha": alpha,
                    "coverage": coverage,
                    "coverage_std": coverage_std,
                    "fdr": fdr,
                    "fdr_std": fdr_std,
                    "n_undefined": int(np.count_nonzero(empty)),
                    "above_alpha": above,
                    **{f"share_{m}": float(s) for m, s in zip(self.modes, shares, strict=True)},
                }
            )
        return rows


def _mean_and_std(values: FloatArray) -> tuple[float | None, float | None]:
    """Of a sample; None where it is too small for them."""
    mean = float(values.mean()) if len(values) else None
    return mean, float(values.std(ddof=1)) if len(values) > 1 else None


def sweep(
    trace: Trace,
    gate: Router | SelectiveGate | None = None,
    *,
    alphas: Sequence[float] = PAPER_ALPHAS,
    splits: int = 100,
    calibration_share: float = 0.5,
    seed: int = 0,
    n_jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Sweep:
    """Calibrate on random parts of a labelled trace and test on the rest.

    Parameters
    ----------
    trace : Trace
        Its labelled items are split; items of one group stay together. The test items' scores,
        without their labels, serve as the unlabelled pool, beside the unlabelled items of the trace:
        in use, too, the items to be judged are at hand.
    gate : Router or SelectiveGate, optional
        Unfitted; its settings are used, except for `alpha`.
    alphas : sequence of float
    splits : int
        At least 2.
    calibration_share : float
        Share of the labelled items (of the groups) that is calibrated on.
    seed : int
        Split r is drawn from ``default_rng([seed, r])``, whatever `n_jobs`.
    n_jobs : int
        Parallel jobs; see :func:`riskjudge._parallel.run_jobs`.
    progress : callable, optional
        Called with the number of finished splits.

    Raises
    ------
    InputError
        For settings out of range, or too few labelled items.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> u = rng.random((800, 2))
    >>> label = rng.integers(0, 2, 800)
    >>> verdict = label[:, None] ^ (rng.random((800, 2)) < [0.6, 0.4] * u)
    >>> result = sweep(Trace.from_arrays(u, verdict, label), alphas=[0.1, 0.2], splits=3)
    >>> result.coverage.shape
    (3, 2)
    """
    if check_count(splits, "splits") < 2:
        raise InputError(f"splits must be at least 2, got {splits}")
    protocol = SplitProtocol(
        trace, gate if gate is not None else Router(), tuple(alphas), calibration_share, seed
    )
    return protocol.run(splits, n_jobs, progress)


@dataclass(frozen=True, slots=True)
class SplitProtocol:
    """How each split is drawn, calibrated and tested.

    Attributes
    ----------
    trace, gate, alphas, calibration_share, seed : object
        See :func:`sweep`.
    pool : bool
        Whether the test items' scores, and the unlabelled items, serve as the unlabelled pool.
    test : Trace or None
        The labelled items at another time, in the same order; tested on in place of the trace's own.
    """

    trace: Trace
    gate: Router | SelectiveGate
    alphas: tuple[float, ...]
    calibration_share: float = 0.5
    seed: int = 0
    pool: bool = True
    test: Trace | None = None

    def __post_init__(self) -> None:
        for alpha in self.alphas:
            binomial.check_level(alpha, "alpha")
        binomial.check_level(self.calibration_share, "calibration_share")
        check_count(self.seed, "seed", least=0)
        labelled = self.trace.rows(self.trace.labelled)
        if len(labelled) < 4:
            raise InputError(f"a sweep needs at least 4 labelled items, got {len(labelled)}")
        _check_share(labelled, self.calibration_share)
        if self.test is not None and (
            self.test.item_id.tolist() != labelled.item_id.tolist() or not self.test.labelled.all()
        ):
            raise InputError("the test trace must hold the labelled items, in the same order")
        # Splits are drawn by position, which the order of a file must not choose.
        object.__setattr__(self, "trace", self.trace.in_order())
        if self.test is not None:
            object.__setattr__(self, "test", self.test.in_order())

    def run(
        self, splits: int, n_jobs: int = 1, progress: Callable[[int], None] | None = None
    ) -> Sweep:
        """Carry out the splits 0, 1, … and put their counts together."""
        check_count(splits, "splits")
        done = []
        for counted in run_jobs(self.count, range(splits), n_jobs):
            done.append(counted)
            if progress is not None:
                progress(len(done))
        n_test, accepted, errors, by_mode, modes = zip(*done, strict=True)
        procedure = self.gate.procedure_for(len(modes[0]))
        return Sweep(
            tuple(float(alpha) for alpha in self.alphas),
            np.array(n_test),
            np.stack(accepted),
            np.stack(errors),
            np.stack(by_mode),
            modes[0],
            f"{procedure.name}, delta = {self.gate.delta:g}, {splits} random splits "
            f"({100 * self.calibration_share:g} % of {np.count_nonzero(self.trace.labelled)} "
            f"labelled items to calibrate), seed {self.seed}",
        )

    def count(self, r: int) -> tuple[int, IntArray, IntArray, IntArray, tuple[str, ...]]:
        """Split r: calibrate at every level on one part, count on the other."""
        gate, alphas = self.gate, self.alphas
        labelled = self.trace.rows(self.trace.labelled)
        rng = np.random.default_rng([self.seed, r])
        chosen = _calibration_rows(labelled, self.calibration_share, rng)
        test = (labelled if self.test is None else self.test).rows(~chosen)
        pool = stack([test, self.trace.rows(~self.trace.labelled)]) if self.pool else None
        prepared = gate.prepare(labelled.rows(chosen), pool)
        sample = prepared.sample
        seen = gate.sample_of(test)
        per_mode = sample.columns_per_mode
        ready = gate.procedure_for(len(sample.modes) // per_mode).prepare(sample, gate.seed)
        rules = np.full((len(alphas), len(sample.modes)), counts.NONE)
        for a, alpha in enumerate(alphas):
            rule = ready.select(gate.target(alpha)).thresholds
            if rule is not None:
                rules[a] = rule
        tallied = counts.path_counts(seen.scores, seen.errors, rules)
        by_mode = tallied.by_mode.reshape(len(alphas), -1, per_mode).sum(axis=2)
        return len(test), tallied.accepted, tallied.errors, by_mode, prepared.labelled.modes


def _check_share(labelled: Trace, share: float) -> None:
    units = len(labelled) if labelled.group is None else len(set(labelled.group.astype(str)))
    if not 0 < round(share * units) < units:
        raise InputError(
            f"a calibration share of {share:g} leaves one half of the {units} labelled items empty"
        )


def _calibration_rows(trace: Trace, share: float, rng: np.random.Generator) -> BoolArray:
    """A random share of the items; of the groups, where there are any."""
    if trace.group is None:
        unit, n_units = np.arange(len(trace)), len(trace)
    else:
        names, unit = np.unique(trace.group.astype(str), return_inverse=True)
        n_units = len(names)
    picked = np.zeros(n_units, dtype=bool)
    picked[rng.permutation(n_units)[: round(share * n_units)]] = True
    return picked[unit]
