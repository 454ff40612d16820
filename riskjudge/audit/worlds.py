"""Worlds: whatever items can be drawn from, and whose truth is known."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy import special

from riskjudge._typing import FloatArray
from riskjudge.audit.scenarios import SCENARIOS, Scenario
from riskjudge.audit.truth import Population, posterior_error
from riskjudge.calibration.sample import Sample
from riskjudge.errors import InputError

if TYPE_CHECKING:
    from riskjudge.paper.model import TraceModel

PAPER_ALPHA = 0.1


class World(Protocol):
    """Where calibration items come from.

    Attributes
    ----------
    name, kind : str
        `kind` is that of :class:`riskjudge.audit.Scenario`, ``paper`` or ``own``.
    alpha : float
        Risk level at which the world is run unless another is asked for.
    """

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def alpha(self) -> float: ...

    def draw(self, n: int, rng: np.random.Generator) -> Sample:
        """Draw n independent labelled items."""

    def population(self, size: int, rng: np.random.Generator, by_verdict: bool) -> Population:
        """The truth that rules are measured against."""

    def identity(self) -> str:
        """Text that differs wherever the world differs."""


@dataclass(frozen=True)
class ScenarioWorld:
    """A synthetic scenario as a world.

    Examples
    --------
    >>> world = ScenarioWorld(SCENARIOS["null_flat"])
    >>> population = world.population(1000, np.random.default_rng(0), by_verdict=False)
    >>> round(population.risk(np.array([0.3, 0.3]))[0], 6)
    0.105
    """

    scenario: Scenario

    @property
    def name(self) -> str:
        return self.scenario.name

    @property
    def kind(self) -> str:
        return self.scenario.kind

    @property
    def alpha(self) -> float:
        return self.scenario.alpha

    def draw(self, n: int, rng: np.random.Generator) -> Sample:
        return self.scenario.draw(n, rng)

    def population(self, size: int, rng: np.random.Generator, by_verdict: bool) -> Population:
        items = self.scenario.draw(size, rng)
        chance = np.column_stack(
            [_curve(items.scores[:, k], mode.curve) for k, mode in enumerate(self.scenario.modes)]
        )
        if not by_verdict:
            # The lean to one label averages out: the labels are even and say nothing of the scores.
            return Population(items.scores, chance)
        lean = np.array([mode.lean for mode in self.scenario.modes])
        loadings = np.full(len(lean), math.sqrt(self.scenario.error_correlation))
        wrong = posterior_error(
            items.verdicts, (chance * (1 + lean), chance * (1 - lean)), 0.5, loadings
        )
        return Population.by_verdict(items.scores, items.verdicts, wrong)

    def identity(self) -> str:
        return json.dumps(asdict(self.scenario), sort_keys=True)


def _curve(scores: FloatArray, curve: tuple[float, ...]) -> FloatArray:
    """Error probability at a score: :meth:`Scenario.draw` sets the score to ln 2 * level ** 2."""
    level = np.sqrt(np.nan_to_num(scores) / math.log(2.0))
    return np.interp(level, np.linspace(0.0, 1.0, len(curve)), curve)


@dataclass(frozen=True)
class PaperWorld:
    """A fitted trace model of one of the paper's configurations as a world."""

    configuration: str
    model: TraceModel
    kind: str = "paper"
    alpha: float = PAPER_ALPHA

    @property
    def name(self) -> str:
        return f"paper:{self.configuration}"

    def draw(self, n: int, rng: np.random.Generator) -> Sample:
        return self._draw(n, rng)[0]

    def population(self, size: int, rng: np.random.Generator, by_verdict: bool) -> Population:
        items, chance = self._draw(size, rng)
        if not by_verdict:
            return Population(items.scores, chance)
        rho = self.model.error_correlation
        loadings = math.sqrt(abs(rho)) * np.array([1.0, math.copysign(1.0, rho)])
        wrong = posterior_error(items.verdicts, (chance, chance), self.model.label_rate, loadings)
        return Population.by_verdict(items.scores, items.verdicts, wrong)

    def _draw(self, n: int, rng: np.random.Generator) -> tuple[Sample, FloatArray]:
        """Items, and the probability of an error at the rank behind each score."""
        from riskjudge.paper.model import Draws

        draws = Draws(
            rng.standard_normal((n, 2)), rng.standard_normal((n, 2)), rng.random(n), rng.random(n)
        )
        trace = self.model.from_draws(draws)
        rho = self.model.score_correlation
        second = rho * draws.scores[:, 0] + math.sqrt(1.0 - rho**2) * draws.scores[:, 1]
        rank = special.ndtr(np.column_stack((draws.scores[:, 0], second)))
        chance = np.column_stack(
            [mode.error_probability(rank[:, k]) for k, mode in enumerate(self.model.modes)]
        )
        names = ("parametric", "retrieval")
        return Sample(trace.scores, trace.verdicts, trace.labels, names), chance

    def identity(self) -> str:
        return json.dumps([self.configuration, self.model.to_dict()], sort_keys=True)


def worlds_named(names: Sequence[str]) -> list[World]:
    """Worlds by name.

    Parameters
    ----------
    names : sequence of str
        Names of scenarios; ``all`` (every scenario), ``nulls`` (those in which nothing may be
        accepted); ``paper`` (all configurations of the paper's main tables) or
        ``paper:<configuration>``.

    Raises
    ------
    InputError
        For an unknown name; the message lists the known ones.

    Examples
    --------
    >>> [world.name for world in worlds_named(["trivia", "bumpy", "trivia"])]
    ['trivia', 'bumpy']
    """
    found: dict[str, World] = {}
    for name in names:
        if name in ("all", "nulls"):
            for scenario in SCENARIOS.values():
                if name == "all" or scenario.kind == "null":
                    found[scenario.name] = ScenarioWorld(scenario)
        elif name in SCENARIOS:
            found[name] = ScenarioWorld(SCENARIOS[name])
        elif name == "paper" or name.startswith("paper:"):
            for world in _paper_worlds(name.partition(":")[2]):
                found[world.name] = world
        else:
            known = ", ".join([*SCENARIOS, "all", "nulls", "paper", "paper:<configuration>"])
            raise InputError(f"unknown scenario {name!r}; known: {known}")
    return list(found.values())


def _paper_worlds(configuration: str) -> list[World]:
    try:
        from riskjudge.paper.parameters import fitted_parameters

        models = fitted_parameters().models
    except (ImportError, OSError, InputError) as error:
        raise InputError(f"the paper's trace models are not installed here: {error}") from error
    if configuration:
        if configuration not in models:
            close = [name for name in models if configuration.lower() in name.lower()]
            raise InputError(
                f"no trace model for {configuration!r}; such as {', '.join((close or list(models))[:4])}"
            )
        return [PaperWorld(configuration, models[configuration])]
    return [PaperWorld(name, model) for name, model in models.items() if name.endswith("__main")]
