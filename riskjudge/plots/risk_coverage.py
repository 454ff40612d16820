"""Error rate against coverage as the thresholds rise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from riskjudge import binomial, counts
from riskjudge._typing import FloatArray, IntArray
from riskjudge.calibration.certificate import Guarantee
from riskjudge.calibration.paths import quantile_path
from riskjudge.calibration.procedures.portfolio import preset_speeds
from riskjudge.calibration.sample import Sample
from riskjudge.plots.display import Display
from riskjudge.plots.style import INK, legend_below, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from riskjudge.calibration import Certificate
    from riskjudge.data.trace import Trace
    from riskjudge.gate import Router, SelectiveGate

_MOST_POINTS = 1000
_PATH_STEPS = 400
_FEW = 25
_NOISE = 30  # a rate of fewer items is not drawn (it is in the arrays)


@dataclass(frozen=True, slots=True, eq=False)
class RiskCurve:
    """Counts along ascending thresholds, and what follows from them.

    Attributes
    ----------
    name : str
    accepted, errors : ndarray of int, shape (L,)
    coverage, risk : ndarray of float, shape (L,)
    low, high : ndarray of float, shape (L,)
        One-sided Clopper-Pearson bounds of the error rate, for each threshold by itself.
    """

    name: str
    accepted: IntArray
    errors: IntArray
    coverage: FloatArray
    risk: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def from_counts(cls, name: str, tallied: counts.PathCounts, n: int, delta: float) -> RiskCurve:
        """From counts over `n` items; steps that accept nothing have no risk and are left out."""
        some = np.flatnonzero(tallied.accepted > 0)
        if len(some) > _MOST_POINTS:
            some = some[np.linspace(0, len(some) - 1, _MOST_POINTS).astype(np.int64)]
        m, w = tallied.accepted[some], tallied.errors[some]
        low, high = binomial.lower_bound(w, m, delta), binomial.upper_bound(w, m, delta)
        return cls(name, m, w, m / n, w / m, low, high)


@dataclass(eq=False)
class RiskCoverageDisplay(Display):
    """Error rate among the accepted items against their share: each mode alone, and the router.

    The router's path moves all thresholds together through the quantiles of their scores: if the
    gate is certified, so that it passes through the certified thresholds; else with the first mode
    at half speed.

    Attributes
    ----------
    curves : tuple of RiskCurve
        One a mode, then the router's (if there is more than one threshold to move).
    certificate : Certificate or None
        Of the gate, if it is fitted.
    alpha : float
    heading, details : str

    Notes
    -----
    The band is exact for a threshold fixed in advance. It is not simultaneous: a threshold picked
    because its band lies below alpha has no guarantee.

    Examples
    --------
    >>> from riskjudge.data.trace import Trace
    >>> trace = Trace.from_arrays(np.array([[0.1], [0.2], [0.2], [0.3]]), np.ones((4, 1), int),
    ...                           np.array([1, 1, 0, 0]))
    >>> curve = RiskCoverageDisplay.from_trace(trace).curves[0]
    >>> curve.coverage, curve.risk.round(3)
    (array([0.25, 0.75, 1.  ]), array([0.   , 0.333, 0.5  ]))
    """

    curves: tuple[RiskCurve, ...]
    certificate: Certificate | None
    alpha: float
    heading: str
    details: str

    height: ClassVar[float] = 3.0

    @classmethod
    def from_trace(
        cls,
        trace: Trace,
        gate: Router | SelectiveGate | None = None,
        *,
        alpha: float = 0.1,
        delta: float = 0.05,
        source: str = "",
    ) -> Self:
        """From the labelled items of a trace.

        Parameters
        ----------
        trace : Trace
        gate : Router or SelectiveGate, optional
            Fitted or not. Its alpha, delta, modes and settings are used; if it is fitted, its
            certificate is marked.
        alpha, delta : float
            Without a gate.
        source : str
            On what it was run (say so here if it is synthetic); printed in the title.

        Raises
        ------
        InputError
            If the trace could not be calibrated on: no labels, dependent items.
        """
        if gate is None:
            from riskjudge.gate import Router

            gate = Router(alpha, delta)
        binomial.check_level(gate.alpha, "alpha")
        binomial.check_level(gate.delta, "delta")
        prepared = gate.prepare(trace)
        sample = gate.sample_of(prepared.labelled)
        certificate = gate.certificate_ if gate.fitted else None
        curves = [
            RiskCurve.from_counts(mode.name, _alone(prepared.labelled, k), sample.n, gate.delta)
            for k, mode in enumerate(prepared.labelled.columns)
        ]
        lines = [
            source,
            f"{sample.n} labelled items, α = {gate.alpha:g}, δ = {gate.delta:g}",
            "band: exact Clopper–Pearson bounds, level δ on each side, for one threshold fixed "
            "in advance",
        ]
        speeds = _speeds(sample, certificate)
        # Without verdicts to tell apart, a path that moves one threshold is that mode's curve.
        if np.count_nonzero(speeds) > 1 or sample.columns_per_mode > 1:
            path = quantile_path(sample.scores, speeds, np.linspace(0, 1, _PATH_STEPS + 1)[1:])
            tallied = counts.path_counts(sample.scores, sample.errors, path)
            name = "router" if len(curves) > 1 else "a threshold by verdict"
            curves.append(RiskCurve.from_counts(name, tallied, sample.n, gate.delta))
        if certificate is not None:
            lines.append(_certificate_text(certificate))
            if gate.fingerprint_ != prepared.labelled.fingerprint():
                lines.append("the certificate is from other items than the curves")
        details = "\n".join(filter(None, lines))
        return cls(tuple(curves), certificate, gate.alpha, "Risk against coverage", details)

    def _draw(self, ax: Axes) -> None:
        top = self._top()
        for i, curve in enumerate(self.curves):
            style = look(i)
            few = len(curve.coverage) <= _FEW
            seen = slice(None) if few else curve.accepted >= _NOISE
            x = curve.coverage[seen]
            ax.fill_between(
                x, curve.low[seen], curve.high[seen], color=style.colour, alpha=0.15, lw=0
            )
            ax.plot(
                x,
                curve.risk[seen],
                color=style.colour,
                ls=style.line,
                marker=style.marker,
                markevery=1 if few else _evenly(x),
                label=curve.name,
            )
        ax.axhline(self.alpha, color=INK, lw=0.8)
        ax.annotate(
            f"α = {self.alpha:g}",
            (1, self.alpha),
            (3, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            va="center",
        )
        self._mark_certificate(ax)
        ax.set_xlim(0, 1.015)
        ax.set_ylim(0, top)
        ax.grid(True)
        ax.set_xlabel("coverage (accepted share of labelled items)")
        ax.set_ylabel("risk (wrong among accepted)")
        legend_below(ax, 2)

    def _mark_certificate(self, ax: Axes) -> None:
        c = self.certificate
        if c is None or c.coverage is None or c.fdp is None or c.upper_bound is None:
            return
        what = "chosen" if c.guarantee == Guarantee.NONE else "certified"
        ax.errorbar(
            [c.coverage],
            [c.fdp],
            yerr=[[0.0], [c.upper_bound - c.fdp]],
            color=INK,
            marker="*",
            markersize=8,
            markerfacecolor="white",
            ls="",
            lw=1.0,
            capsize=3,
            zorder=5,
            label=f"{what}, up to its bound",
        )

    def _top(self) -> float:
        """Room for the curves beyond their noisy start, and for alpha and the certified bound."""
        heights = [1.6 * self.alpha]
        for curve in self.curves:
            heights += list(1.08 * curve.risk[curve.coverage >= 0.05])
            heights += list(1.03 * curve.high[curve.coverage >= 0.2])
        return min(max(heights), 1.0)


def _alone(labelled: Trace, k: int) -> counts.PathCounts:
    return counts.threshold_counts(labelled.scores[:, k], labelled.wrong[:, k])


def _speeds(sample: Sample, certificate: Certificate | None) -> tuple[float, ...]:
    """Speeds of the columns: in the ratio of the certified thresholds' ranks, else the preset ones."""
    per_mode = sample.columns_per_mode
    if certificate is None or certificate.thresholds is None:
        preset, _ = preset_speeds(sample.n_modes // per_mode)[0]
        return tuple(speed for speed in preset for _ in range(per_mode))
    limits = [counts.NONE if t is None else t for t in certificate.thresholds.values()]
    ranks = np.count_nonzero(sample.scores <= np.array(limits), axis=0)
    return tuple(float(rank) for rank in ranks / max(ranks.max(), 1))


def _certificate_text(c: Certificate) -> str:
    if c.upper_bound is None or c.level is None or c.coverage is None:
        why = "" if c.shortfall is None else f" (need {c.shortfall.need}, have {c.shortfall.have})"
        if c.shortfall is not None and c.shortfall.best_bound is not None:
            why = f" (best bound reached: {100 * c.shortfall.best_bound:.1f} %)"
        return f"{c.procedure}: nothing is certified, nothing accepted{why}"
    promise = "; searched without correction, no guarantee" if c.guarantee == Guarantee.NONE else ""
    return (
        f"{c.procedure}: {c.errors} wrong of {c.accepted} accepted ({100 * c.coverage:.1f} % of "
        f"{c.n}), bound {100 * c.upper_bound:.2f} % at level {c.level:.3g}{promise}"
    )


def _evenly(coverage: FloatArray) -> list[int]:
    """Indices of about twelve markers, evenly spaced in coverage."""
    wanted = np.linspace(coverage[0], coverage[-1], 12)
    return sorted({int(i) for i in np.searchsorted(coverage, wanted).clip(0, len(coverage) - 1)})
