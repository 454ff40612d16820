"""Fit the trace model to the published figures.

For each configuration the parameters of a :class:`~riskjudge.paper.model.TraceModel` are sought
that, run through the paper's protocol on the configuration's own 2,000 draws, give back the
published figures. Random numbers and splits stay the same throughout the search, so that the
distance is a function of the parameters alone; a damped least squares with finite differences wide
enough to step over single counts walks down it. What is fitted to what is said in
:mod:`riskjudge.paper.targets`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize, special

from riskjudge._typing import FloatArray
from riskjudge.errors import InputError
from riskjudge.paper.coarse import coarse_protocol
from riskjudge.paper.model import (
    KNOTS,
    Drift,
    ModeModel,
    SyntheticTrace,
    TraceModel,
    retrieval_changes,
)
from riskjudge.paper.protocol import EMPTY_FDR, Run, execute
from riskjudge.paper.published import Configuration, published
from riskjudge.paper.targets import (
    DEPTHS,
    LEARNED_SCORES,
    Target,
    draws_of,
    published_rows,
    seed_of,
    targets_of,
)

GOOD_ENOUGH = 0.02
"""A search whose worst figure is this close is not started again."""

_STRETCHES = len(KNOTS) - 1
_PRIOR_RISE = (0.3, 0.4, 0.6, 0.6, 0.5)
_PENALTY = 0.004
_FINE = (0.5, 0.5, 0.25)
_LABEL_RATE = {"TriviaQA": 0.6, "NQ-Open": 0.45, "PopQA": 0.3, "HotpotQA": 0.4}  # assumed
# Table 6 tops out at .86 there, at every level up to .60: these items are accepted in no mode.
_UNREADABLE = {("Qwen3-4B", "HotpotQA"): 0.14}

Residuals = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, slots=True)
class Fit:
    """Outcome of a search: the model, and its distance from the figures it was fitted to."""

    model: TraceModel
    mean_gap: float
    worst_gap: float


def fit_configuration(
    configuration: Configuration,
    main: TraceModel | None = None,
    objective: str = "coverage",
    splits: int = 32,
    rounds: int = 3,
) -> Fit:
    """Fit one configuration.

    Parameters
    ----------
    configuration : Configuration
    main : TraceModel, optional
        The fitted main setting, where a variant starts; needed for a variant.
    objective : str
        Which certified pair the calibration takes.
    splits : int
        Random splits per evaluation.
    rounds : int
        Most searches, from different starts; the best is kept.
    """
    if main is None and configuration.variant != "main":
        raise InputError(f"{configuration.name}: a variant starts from its fitted main setting")
    targets = targets_of(configuration)
    draws = draws_of(configuration)
    alphas = sorted({t.alpha for t in targets if t.alpha > 0})
    space = _Space.of(configuration, main or first_guess(configuration))
    seed = seed_of(configuration)

    def coarse(theta: FloatArray) -> FloatArray:
        trace = space.model(theta).from_draws(draws)
        return _read(targets, coarse_protocol(trace, alphas, splits, seed, objective))

    def exact(theta: FloatArray) -> FloatArray:
        trace = space.model(theta).from_draws(draws)
        return _read(targets, exact_protocol(configuration, trace, targets, objective))

    best: tuple[float, FloatArray] | None = None
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        theta = descend(_against(targets, coarse, space), space.start(rng, best is None), space)
        gaps = _against(targets, coarse, space)(theta)
        if best is None or gaps @ gaps < best[0]:
            best = float(gaps @ gaps), theta
        if np.abs(gaps).max() < GOOD_ENOUGH:
            break
    assert best is not None
    theta, gaps = correct(targets, coarse, exact, best[1], space)
    model = _with_marginals(configuration, space.model(theta))
    return Fit(model, float(np.mean(gaps)), float(np.max(gaps)))


def fit_drift(
    configuration: Configuration, main: TraceModel, objective: str = "coverage", splits: int = 32
) -> tuple[Drift, float, float]:
    """Fit the later snapshot of a configuration (Table 3): the drift, mean and worst gap."""
    targets = targets_of(configuration)
    draws = draws_of(configuration)
    trace = main.from_draws(draws)
    alphas = sorted({t.alpha for t in targets})
    rate = main.modes[1].error_rate
    space = _Space(
        ("kept", "shift", "error_rate"),
        prior=np.array([0.8, 0.0, rate]),
        scale=np.array([0.2, 0.3, 0.05]),
        low=np.array([0.3, -1.0, rate - 0.06]),
        high=np.array([0.98, 1.0, rate + 0.06]),
        steps=np.array([0.06, 0.06, 0.008]),
        base=main,
        tied=0.0,
        configuration=configuration,
    )

    def later(theta: FloatArray) -> SyntheticTrace:
        return main.requeried(draws, Drift(*theta.tolist()), seed_of(configuration) + 1)

    def coarse(theta: FloatArray) -> FloatArray:
        seed = seed_of(configuration)
        return _read(targets, coarse_protocol(trace, alphas, splits, seed, objective, later(theta)))

    def exact(theta: FloatArray) -> FloatArray:
        found = exact_protocol(configuration, trace, targets, objective, later(theta))
        return _read(targets, found)

    theta = descend(_against(targets, coarse, space), space.prior, space)
    theta, gaps = correct(targets, coarse, exact, theta, space)
    return Drift(*theta.tolist()), float(gaps.mean()), float(gaps.max())


def exact_protocol(
    configuration: Configuration,
    trace: SyntheticTrace,
    targets: list[Target],
    objective: str,
    test: SyntheticTrace | None = None,
) -> dict[tuple[str, float], float]:
    """Means of the exact protocol, on the very splits that a reproduction uses."""
    alphas = tuple(sorted({t.alpha for t in targets if t.alpha > 0}))
    run = Run(configuration, alphas, options=(("objective", objective),))
    metrics = {t.metric for t in targets}
    means = {}
    for k in (0, 1):
        readable = trace.verdicts[:, k] >= 0
        right = trace.verdicts[readable, k] == trace.labels[readable]
        means[f"accuracy{k + 1}", 0.0] = float(right.mean())
    if metrics & {"coverage", "fdr"}:
        joint = execute(run, trace.to_trace(), None if test is None else test.to_trace())
        for row in joint.summary(empty_fdr=EMPTY_FDR):
            means["coverage", row["alpha"]] = row["coverage"]
            means["fdr", row["alpha"]] = row["fdr"]
    if "coverage_mode1" in metrics:
        single = execute(replace(run, n_modes=1), trace.to_trace())
        for row in single.summary():
            means["coverage_mode1", row["alpha"]] = row["coverage"]
    return means


def correct(
    targets: list[Target],
    coarse: Residuals,
    exact: Residuals,
    theta: FloatArray,
    space: _Space,
    rounds: int = 2,
) -> tuple[FloatArray, FloatArray]:
    """Aim the coarse search at where the exact protocol comes out on the published figures.

    The exact protocol finds a little more coverage than the coarse grid, most where little can be
    accepted. That difference hardly depends on the parameters: it is measured, taken off the
    targets, and the search goes on from where it stopped.

    Returns
    -------
    ndarray, ndarray
        The parameters that are closest under the exact protocol, and the absolute gaps there.
    """
    best = theta
    best_gaps = _gaps(targets, exact(theta))
    found = best_gaps
    for _ in range(rounds):
        bias = found - _gaps(targets, coarse(theta))
        theta = descend(_against(targets, coarse, space, bias), theta, space, _FINE)
        found = _gaps(targets, exact(theta))
        if found @ found < best_gaps @ best_gaps:
            best, best_gaps = theta, found
    return best, np.abs(best_gaps)


def first_guess(configuration: Configuration) -> TraceModel:
    """Table 5's accuracies with middling curves and correlations."""
    row = next(r for r in published_rows(configuration) if "accuracy_mode1" in r)
    unreadable = _UNREADABLE.get((configuration.judge, configuration.dataset), 0.0)
    first, second = (
        ModeModel(round(1.0 - row[f"accuracy_mode{k}"], 4), _PRIOR_RISE, unreadable=unreadable)
        for k in (1, 2)
    )
    return TraceModel((first, second), 0.5, 0.4, _LABEL_RATE[configuration.dataset])


def descend(
    residuals: Residuals,
    start: FloatArray,
    space: _Space,
    widths: Sequence[float] = (1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25),
) -> FloatArray:
    """Damped least squares with finite differences that shrink from round to round."""
    theta, current = start, residuals(start)
    damping = 3e-4
    for width in widths:
        jacobian = np.empty((len(current), len(theta)))
        for j, step in enumerate(space.steps * width):
            moved = theta.copy()
            moved[j] += step if theta[j] + step <= space.high[j] else -step
            jacobian[:, j] = (residuals(moved) - current) / (moved[j] - theta[j]) * space.steps[j]
        for _ in range(4):
            system = np.vstack((jacobian, np.sqrt(damping) * np.eye(len(theta))))
            right = np.concatenate((-current, np.zeros(len(theta))))
            step = np.linalg.lstsq(system, right, rcond=None)[0] * space.steps
            trial = np.clip(theta + step, space.low, space.high)
            value = residuals(trial)
            if value @ value < current @ current:
                theta, current = trial, value
                damping = max(damping / 4, 1e-6)
                break
            damping *= 6
    return theta


@dataclass(frozen=True, slots=True)
class _Space:
    """Free parameters of a configuration, as a vector with bounds, steps and a prior."""

    names: tuple[str, ...]
    prior: FloatArray
    scale: FloatArray
    low: FloatArray
    high: FloatArray
    steps: FloatArray
    base: TraceModel
    tied: float
    configuration: Configuration

    @classmethod
    def of(cls, configuration: Configuration, base: TraceModel) -> _Space:
        variant = configuration.variant
        rows: list[tuple[str, float, float, float, float, float]] = []
        for k in _free_modes(variant):
            mode = base.modes[k]
            rate = mode.error_rate
            if variant == "main":  # Table 5, to its rounding and the draws' own deviation
                rows.append((f"error{k}", rate, 0.004, rate - 0.015, rate + 0.015, 0.004))
            elif variant not in LEARNED_SCORES:  # a learned score leaves the verdicts alone
                rows.append((f"error{k}", rate, 0.1, 0.02, 0.6, 0.015))
            for j in range(_STRETCHES):
                rows.append((f"rise{k}.{j}", mode.rise[j], 1.0, -1.0, 6.0, 0.25))
        tied = _tied(configuration)
        if variant == "main" and tied > 0.0:
            rows.append(("saturated1", max(0.25, tied), 0.3, tied, 0.7, 0.05))
        if variant == "main" or variant in LEARNED_SCORES:
            rows.append(("score_correlation", base.score_correlation, 0.3, 0.0, 0.95, 0.08))
            rows.append(("error_correlation", base.error_correlation, 0.3, -0.3, 0.95, 0.08))
        names, *columns = zip(*rows, strict=True)
        prior, scale, low, high, steps = (np.array(column) for column in columns)
        return cls(names, prior, scale, low, high, steps, base, tied, configuration)

    def start(self, rng: np.random.Generator, first: bool) -> FloatArray:
        if first:
            return self.prior
        moved = self.prior + 2.0 * self.steps * rng.standard_normal(len(self.prior))
        return np.clip(moved, self.low, self.high)

    def penalty(self, theta: FloatArray) -> FloatArray:
        return _PENALTY * (theta - self.prior) / self.scale

    def model(self, theta: FloatArray) -> TraceModel:
        values = dict(zip(self.names, theta.tolist(), strict=True))
        correlation = values.get("score_correlation", self.base.score_correlation)
        saturated = self._saturated(values, correlation)
        first, second = (
            replace(
                mode,
                error_rate=values.get(f"error{k}", mode.error_rate),
                rise=tuple(values.get(f"rise{k}.{j}", mode.rise[j]) for j in range(_STRETCHES)),
                saturated=saturated[k],
            )
            for k, mode in enumerate(self.base.modes)
        )
        errors = values.get("error_correlation", self.base.error_correlation)
        return TraceModel((first, second), correlation, errors, self.base.label_rate)

    def _saturated(self, values: dict[str, float], correlation: float) -> tuple[float, float]:
        """Shares with zero entropy: mode 2's is free, mode 1's makes the published share tie."""
        variant = self.configuration.variant
        if variant in LEARNED_SCORES:
            return 0.0, 0.0
        if "saturated1" not in values:
            return self.base.modes[0].saturated, self.base.modes[1].saturated
        score = draws_of(self.configuration).scores
        second = correlation * score[:, 0] + np.sqrt(1.0 - correlation**2) * score[:, 1]
        share = values["saturated1"]
        inside = np.sort(score[special.ndtr(second) <= share, 0])
        wanted = round(self.tied * len(score))
        return float(special.ndtr(inside[min(wanted, len(inside) - 1)])), share


def _free_modes(variant: str) -> tuple[int, ...]:
    if variant in DEPTHS or variant == "empty":
        return (1,)
    return (0,) if variant == "self_eval" else (0, 1)


def _read(targets: list[Target], means: dict[tuple[str, float], float]) -> FloatArray:
    return np.array([means[t.metric, t.alpha] for t in targets])


def _gaps(targets: list[Target], found: FloatArray) -> FloatArray:
    return np.array([t.weight for t in targets]) * (found - [t.value for t in targets])


def _against(
    targets: list[Target], coarse: Residuals, space: _Space, bias: FloatArray | float = 0.0
) -> Residuals:
    def residuals(theta: FloatArray) -> FloatArray:
        return np.concatenate((_gaps(targets, coarse(theta)) + bias, space.penalty(theta)))

    return residuals


def _tied(configuration: Configuration) -> float:
    """Share of items whose uncertainty is the same in both modes: Table 14's remainder.

    Equal entropies to the last bit are entropies of zero: a verdict token of probability one.
    """
    for row in published("table14"):
        if Configuration.of(row) == configuration:
            return float(max(0.0, 1.0 - row["fraction_raised"] - row["fraction_lowered"]))
    return 0.0


def _with_marginals(configuration: Configuration, model: TraceModel) -> TraceModel:
    """Shapes of the uncertainties that give Table 14's shares and mean changes.

    They decide nothing: a calibration sees only the order of each mode's uncertainties.
    """
    rows = [r for r in published("table14") if Configuration.of(r) == configuration]
    if not rows:
        return model
    wanted = {key: rows[0][key] for key in ("fraction_raised", "fraction_lowered")}
    wanted |= {key: rows[0][key] for key in ("mean_increase", "mean_decrease")}
    draws = draws_of(configuration)

    def shaped(theta: FloatArray) -> TraceModel:
        a1, a2, b1, b2 = np.exp(theta).tolist()
        first, second = model.modes
        return replace(
            model, modes=(replace(first, shape=(a1, b1)), replace(second, shape=(a2, b2)))
        )

    def loss(theta: FloatArray) -> float:
        found = retrieval_changes(shaped(theta).from_draws(draws).scores)
        gaps = [
            (found.get(key, 0.0) - value) * (2.0 if key.startswith("mean") else 1.0)
            for key, value in wanted.items()
        ]
        return float(np.sum(np.square(gaps))) + 1e-6 * float(np.sum((theta - start) ** 2))

    start = np.log([3.0, 4.0, 1.0, 1.0])
    best = optimize.minimize(loss, start, method="Nelder-Mead", options={"maxfev": 800})
    return shaped(best.x)
