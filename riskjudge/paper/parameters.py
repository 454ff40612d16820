"""The fitted parameters, as they ship with the project."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from riskjudge.errors import InputError
from riskjudge.paper.model import Drift, SyntheticTrace, TraceModel
from riskjudge.paper.published import Configuration, data_path
from riskjudge.paper.targets import REQUERIED, draws_of, seed_of

FILE = "trace_model.json"


@dataclass(frozen=True, slots=True)
class Parameters:
    """Fitted models of all configurations.

    Attributes
    ----------
    made_by : str
        The command that made them.
    objective : str
        Which certified pair the calibration took during the fit.
    models : mapping of str to TraceModel
        By the configuration's name.
    drifts : mapping of str to Drift
        Of the re-queried configurations, by name.
    gaps : mapping of str to (float, float)
        Mean and worst distance of each fit from its figures, as the search saw them.
    """

    made_by: str
    objective: str
    models: Mapping[str, TraceModel]
    drifts: Mapping[str, Drift]
    gaps: Mapping[str, tuple[float, float]]

    def model(self, configuration: Configuration) -> TraceModel:
        """The model of a configuration; a re-queried one's is that of its main setting."""
        name = configuration.name
        if configuration.variant == REQUERIED:
            name = replace(configuration, variant="main").name
        if name not in self.models:
            raise InputError(f"no fitted parameters for {name}")
        return self.models[name]

    def trace(self, configuration: Configuration) -> SyntheticTrace:
        """The synthetic trace of a configuration: 2,000 items, the same at every call."""
        model, draws = self.model(configuration), draws_of(configuration)
        if configuration.variant != REQUERIED:
            return model.from_draws(draws)
        if configuration.name not in self.drifts:
            raise InputError(f"no fitted parameters for {configuration.name}")
        return model.requeried(draws, self.drifts[configuration.name], seed_of(configuration) + 1)

    def to_json(self) -> str:
        """The file's text."""
        data = {
            "what": "parameters of synthetic traces, fitted to published figures; see README.md",
            "made_by": self.made_by,
            "objective": self.objective,
            "models": {
                name: {"mean_gap": self.gaps[name][0], "worst_gap": self.gaps[name][1]}
                | _rounded(model.to_dict())
                for name, model in self.models.items()
            },
            "drifts": {
                name: {"mean_gap": self.gaps[name][0], "worst_gap": self.gaps[name][1]}
                | _rounded(asdict(drift))
                for name, drift in self.drifts.items()
            },
        }
        return json.dumps(data, indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_file(cls, path: Path) -> Parameters:
        """Read a parameter file.

        Raises
        ------
        InputError
            If the file is not one.
        """
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            models = {name: TraceModel.from_dict(entry) for name, entry in data["models"].items()}
            drifts = {
                name: Drift(entry["kept"], entry["shift"], entry["error_rate"])
                for name, entry in data["drifts"].items()
            }
            entries = {**data["models"], **data["drifts"]}
            gaps = {name: (e["mean_gap"], e["worst_gap"]) for name, e in entries.items()}
            return cls(data["made_by"], data["objective"], models, drifts, gaps)
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            raise InputError(f"{path} is not a parameter file: {error!r}") from error


@lru_cache(maxsize=1)
def fitted_parameters() -> Parameters:
    """The parameters that ship with riskjudge.

    Examples
    --------
    >>> trace = fitted_parameters().trace(Configuration("Qwen3-8B", "Qwen3-8B", "TriviaQA"))
    >>> trace.n
    2000
    """
    return Parameters.from_file(data_path("paper", FILE))


def _rounded(data: Any) -> Any:
    if isinstance(data, float):
        return round(data, 6)
    if isinstance(data, dict):
        return {key: _rounded(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_rounded(value) for value in data]
    return data
