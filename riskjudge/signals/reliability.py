"""How well probabilities are calibrated: Brier score, expected calibration error, and the bins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from riskjudge import binomial
from riskjudge._typing import FloatArray, IntArray
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError
from riskjudge.signals.calibrators import calibrator_names
from riskjudge.signals.fusion import LinearFusion, absent, cross_fitted, fit_linear
from riskjudge.signals.signal import Signal, checked_signals


@dataclass(frozen=True, slots=True, eq=False)
class Reliability:
    """Probabilities held against labels.

    Attributes
    ----------
    name : str
    n : int
    brier : float
        Mean squared distance of probability and label.
    ece : float
        Mean distance of probability and share of ones over bins of equal size, weighted by size.
    mean, share, low, high : ndarray of float, shape (bins,)
        Mean probability of a bin, the share of ones in it, and its exact 95 % limits.
    size : ndarray of int, shape (bins,)
    """

    name: str
    n: int
    brier: float
    ece: float
    mean: FloatArray
    share: FloatArray
    low: FloatArray
    high: FloatArray
    size: IntArray

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        bins = zip(self.mean, self.share, self.low, self.high, self.size, strict=True)
        return {
            "name": self.name,
            "n": self.n,
            "brier": self.brier,
            "ece": self.ece,
            "bins": [
                {
                    "mean": float(m),
                    "share": float(s),
                    "low": float(a),
                    "high": float(b),
                    "n": int(n),
                }
                for m, s, a, b, n in bins
            ],
        }


def reliability(p: FloatArray, labels: IntArray, name: str = "", bins: int = 10) -> Reliability:
    """Hold probabilities against labels, in bins of about equal size; equal values stay together.

    Examples
    --------
    >>> found = reliability(np.repeat([0.2, 0.8], 50), np.tile([0, 0, 0, 0, 1], 20))
    >>> round(found.brier, 3), round(found.ece, 3), found.share.tolist()
    (0.34, 0.3, [0.2, 0.2])
    """
    if len(p) == 0 or len(p) != len(labels):
        raise InputError(f"{len(p)} probabilities and {len(labels)} labels do not belong together")
    edges = np.unique(np.quantile(p, np.linspace(0.0, 1.0, bins + 1)[1:-1], method="higher"))
    which = np.searchsorted(edges, p, side="right")
    used, which = np.unique(which, return_inverse=True)
    size = np.bincount(which, minlength=len(used))
    ones = np.bincount(which, weights=labels, minlength=len(used)).astype(np.int64)
    mean = np.bincount(which, weights=p, minlength=len(used)) / size
    share = ones / size
    low = 1.0 - np.asarray(binomial.upper_bound(size - ones, size, 0.025))
    high = np.asarray(binomial.upper_bound(ones, size, 0.025))
    brier = float(np.mean((p - labels) ** 2))
    ece = float(np.sum(size * np.abs(mean - share)) / len(p))
    return Reliability(name, len(p), brier, ece, mean, share, low, high, size)


def signal_reliability(
    trace: Trace,
    signals: tuple[Signal, ...],
    *,
    calibrators: Mapping[str, str] | None = None,
    bins: int = 10,
    seed: int = 0,
) -> list[Reliability]:
    """The fused probability and each calibrated signal against the labels, all cross-fitted.

    No row is predicted by anything that saw its label. An item without a signal's value is left out
    of that signal's figures.

    Examples
    --------
    >>> from riskjudge.signals.builtin import parse_signals
    >>> rng = np.random.default_rng(0)
    >>> label = rng.integers(0, 2, 500)
    >>> u = rng.uniform(0, 0.5, (500, 1))
    >>> trace = Trace.from_arrays(u, label[:, None] ^ (rng.random((500, 1)) < u), label)
    >>> found = signal_reliability(trace, parse_signals(["modes"], trace))
    >>> [one.name for one in found], bool(found[0].ece < 0.1)
    (['fused', 'verdict:mode1', 'confidence:mode1'], True)
    """
    rows = trace.rows(trace.labelled)
    chosen = checked_signals(signals)
    names = calibrator_names(calibrators)
    values = [signal.values(rows) for signal in chosen]
    families = [signal.family for signal in chosen]

    def fused(part: Any, labels: IntArray) -> LinearFusion:
        return fit_linear(part, labels, families, names)

    found = [
        reliability(cross_fitted(values, rows.labels, fused, seed), rows.labels, "fused", bins)
    ]
    for signal, column in zip(chosen, values, strict=True):
        known = ~absent(column)
        if not known.any():
            continue

        def single(part: Any, labels: IntArray, signal: Signal = signal) -> LinearFusion:
            fitted = fit_linear(part, labels, [signal.family], names)
            return _alone(fitted)

        p = cross_fitted([column[known]], rows.labels[known], single, seed)
        found.append(reliability(p, rows.labels[known], signal.name, bins))
    return found


def _alone(fitted: LinearFusion) -> LinearFusion:
    """The calibrator by itself: weights that give its log-odds back."""
    return LinearFusion(
        fitted.calibrators,
        fitted.centre,
        fitted.scale,
        fitted.scale,
        0.0 * fitted.missing,
        float(fitted.centre[0]),
    )
