"""Where the traces of a reproduction come from: the fitted model, or a user's files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path

import numpy as np

from riskjudge.data.trace import Trace, read_trace
from riskjudge.errors import InputError
from riskjudge.paper.parameters import Parameters, fitted_parameters
from riskjudge.paper.published import Configuration
from riskjudge.paper.targets import REQUERIED

ENDINGS = (".csv", ".jsonl", ".parquet")


class TraceSource(ABC):
    """Gives the trace of a configuration, and says what kind of trace it is."""

    synthetic: bool
    description: str

    @abstractmethod
    def has(self, configuration: Configuration) -> bool:
        """Whether there is a trace of this configuration."""

    @abstractmethod
    def trace(self, configuration: Configuration) -> Trace:
        """The trace of a configuration."""


class SyntheticTraces(TraceSource):
    """Traces made by the fitted model. No judge was asked.

    Examples
    --------
    >>> source = SyntheticTraces()
    >>> source.has(Configuration("Qwen3-8B", "Qwen3-8B", "PopQA")), source.synthetic
    (True, True)
    """

    synthetic = True
    description = "synthetic traces (a model fitted to the published figures; no judge was run)"

    def __init__(self, parameters: Parameters | None = None) -> None:
        self.parameters = parameters or fitted_parameters()
        self._made: dict[Configuration, Trace] = {}

    def has(self, configuration: Configuration) -> bool:
        if configuration.variant == REQUERIED:
            return configuration.name in self.parameters.drifts
        return configuration.name in self.parameters.models

    def trace(self, configuration: Configuration) -> Trace:
        if configuration not in self._made:
            self._made[configuration] = self.parameters.trace(configuration).to_trace()
        return self._made[configuration]


class FolderTraces(TraceSource):
    """A user's traces: one file a configuration, nothing synthetic among them.

    A file is named ``candidate__judge__dataset__variant`` with the ending ``.csv``, ``.jsonl`` or
    ``.parquet``, such as ``Qwen3-8B__Qwen3-14B__NQ-Open__main.csv``; variants are listed in
    :class:`~riskjudge.paper.published.Configuration`. Its columns are ``item_id, label, v1, u1,
    v2, u2``, as :func:`riskjudge.data.trace.read_trace` takes them; an empty verdict or score is one
    that could not be read. Unlabelled items are left out. A re-queried trace is joined to its main
    one by id.

    Parameters
    ----------
    folder : Path

    Raises
    ------
    InputError
        If the folder is absent or holds no trace; later, if a trace is not one.
    """

    synthetic = False

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise InputError(f"{folder} is not a folder")
        self.folder = folder
        self.description = f"traces in {folder}"
        self._files = {
            path.stem: path for path in sorted(folder.iterdir()) if path.suffix in ENDINGS
        }
        if not self._files:
            raise InputError(
                f"{folder} holds no trace; a file is named like "
                "Qwen3-8B__Qwen3-14B__NQ-Open__main.csv (or .jsonl, .parquet)"
            )
        self._read: dict[Configuration, Trace] = {}

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the trace files, without their endings."""
        return tuple(self._files)

    def has(self, configuration: Configuration) -> bool:
        return configuration.name in self._files

    def trace(self, configuration: Configuration) -> Trace:
        if configuration not in self._read:
            path = self._files[configuration.name]
            trace = read_trace(path)
            if trace.n_modes < 2:
                raise InputError(f"{path} has one mode; the paper's protocol needs v1, u1, v2, u2")
            trace = trace.rows(trace.labelled)
            if len(trace) < 2:
                raise InputError(f"{path} has {len(trace)} labelled items; at least 2 are needed")
            if configuration.variant == REQUERIED:
                trace = _aligned(trace, self.trace(replace(configuration, variant="main")))
            self._read[configuration] = trace
        return self._read[configuration]


def _aligned(later: Trace, main: Trace) -> Trace:
    """The later snapshot in the order of the main trace, joined by id."""
    position = {item: i for i, item in enumerate(later.item_id)}
    absent = [item for item in main.item_id if item not in position]
    if absent:
        raise InputError(
            f"the re-queried trace lacks item {absent[0]!r} of the main one ({len(absent)} in all)"
        )
    return later.rows(np.array([position[item] for item in main.item_id]))
