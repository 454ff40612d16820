"""The paper's protocol: many random splits into calibration and test, at many risk levels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from riskjudge import binomial, counts
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

    @property
    def coverage(self) -> FloatArray:
        """Accepted share of the test items, shape (S, A)."""
        return self.accepted / self.n_test[:, None]

    @property
    def fdr(self) -> FloatArray:
        """Error rate among accepted test items, shape (S, A); NaN (UNDEFINED) if none is."""
        with np.errstate(invalid="ignore"):
            return self.errors / self.accepted

    def summary(self) -> list[dict[str, Any]]:
        """One row a risk level: means and standard deviations over the splits.

        The FDR is averaged over the splits that accepted anything; `n_undefined` counts the others.
        `above_alpha` is the share of splits whose test FDR exceeds alpha.
        """
        rows = []
        for a, alpha in enumerate(self.alphas):
            defined = self.accepted[:, a] > 0
            fdr = self.errors[defined, a] / self.accepted[defined, a]
            rows.append(
                {
                    "alpha": alpha,
                    "coverage": float(self.coverage[:, a].mean()),
                    "coverage_std": float(self.coverage[:, a].std(ddof=1)),
                    "fdr": float(fdr.mean()) if len(fdr) else None,
                    "fdr_std": float(fdr.std(ddof=1)) if len(fdr) > 1 else None,
                    "n_undefined": int(np.count_nonzero(~defined)),
                    "above_alpha": float(np.count_nonzero(fdr > alpha) / len(self.n_test)),
                    **{
                        f"share_{mode}": float((self.by_mode[:, a, k] / self.n_test).mean())
                        for k, mode in enumerate(self.modes)
                    },
                }
            )
        return rows


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
        Parallel jobs, through joblib: any of its backends will do.
    progress : callable, optional
        Called with the number of finished splits.

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
    gate = gate if gate is not None else Router()
    for alpha in alphas:
        binomial.check_level(alpha, "alpha")
    binomial.check_level(calibration_share, "calibration_share")
    if splits < 2:
        raise InputError(f"splits must be at least 2, got {splits}")
    labelled, unlabelled = trace.rows(trace.labelled), trace.rows(~trace.labelled)
    if len(labelled) < 4:
        raise InputError(f"a sweep needs at least 4 labelled items, got {len(labelled)}")
    _check_share(labelled, calibration_share)
    jobs = (
        delayed(_one_split)(gate, labelled, unlabelled, tuple(alphas), calibration_share, seed, r)
        for r in range(splits)
    )
    done = []
    for result in Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
        done.append(result)
        if progress is not None:
            progress(len(done))
    n_test, accepted, errors, by_mode, modes = zip(*done, strict=True)
    procedure = gate.procedure_for(len(modes[0]))
    return Sweep(
        tuple(float(alpha) for alpha in alphas),
        np.array(n_test),
        np.stack(accepted),
        np.stack(errors),
        np.stack(by_mode),
        modes[0],
        f"{procedure.name}, delta = {gate.delta:g}, {splits} random splits "
        f"({100 * calibration_share:g} % of {len(labelled)} labelled items to calibrate), seed {seed}",
    )


def _one_split(
    gate: Router | SelectiveGate,
    labelled: Trace,
    unlabelled: Trace,
    alphas: tuple[float, ...],
    share: float,
    seed: int,
    r: int,
) -> tuple[int, IntArray, IntArray, IntArray, tuple[str, ...]]:
    rng = np.random.default_rng([seed, r])
    chosen = _calibration_rows(labelled, share, rng)
    test = labelled.rows(~chosen)
    prepared = gate.prepare(labelled.rows(chosen), stack([test, unlabelled]))
    sample = prepared.sample
    seen = gate.sample_of(test)
    per_mode = sample.columns_per_mode
    n_modes = len(sample.modes) // per_mode
    ready = gate.procedure_for(n_modes).prepare(sample, gate.seed)
    rules = np.full((len(alphas), len(sample.modes)), counts.NONE)
    for a, alpha in enumerate(alphas):
        certificate = ready.certify(alpha, gate.delta, max_retrieval=gate.max_retrieval)
        thresholds = certificate.thresholds
        if thresholds is not None:
            rules[a] = [counts.NONE if t is None else t for t in thresholds.values()]
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
