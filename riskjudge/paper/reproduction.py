"""Published beside reproduced: every cell of a table with its difference and Monte Carlo error."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from riskjudge.data.trace import Trace
from riskjudge.evaluation.splits import Sweep
from riskjudge.paper.model import retrieval_changes
from riskjudge.paper.protocol import EMPTY_FDR, Cache, Run, execute_all
from riskjudge.paper.published import Configuration
from riskjudge.paper.tables import Cell, Settings, Table, runs_of
from riskjudge.paper.traces import TraceSource

CLOSE = 0.05
"""A reproduced cell this close to the published one counts as close."""


class Status(StrEnum):
    """What a reproduced figure is."""

    FITTED = "fitted"
    """The trace model was fitted to this figure."""
    PREDICTED = "predicted"
    """The trace model has not seen this figure."""
    MEASURED = "measured"
    """Run on a user's traces; nothing was fitted."""
    OTHER_PROCEDURE = "other procedure"
    """Run on synthetic traces under a procedure that the published figure does not come from."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over splits.

    Attributes
    ----------
    value : float or None
        None if UNDEFINED.
    standard_error : float or None
        Monte Carlo error: over the splits of this trace, or binomial for what is read off it.
    empty_splits : int
        Splits that accepted nothing. For an FDR they count as 0 here, as in the paper's means.
    """

    value: float | None
    standard_error: float | None
    empty_splits: int = 0


@dataclass(frozen=True, slots=True)
class Reproduced:
    """A cell with what came out."""

    cell: Cell
    status: Status
    estimate: Estimate

    @property
    def difference(self) -> float | None:
        """Reproduced minus published."""
        value = self.estimate.value
        return None if value is None else value - self.cell.published


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A table reproduced.

    Attributes
    ----------
    table : Table
    settings : Settings
    source : str
        What the traces are, in words.
    cells : tuple of Reproduced
    missing : tuple of Configuration
        Configurations without a trace; their cells are left out.
    """

    table: Table
    settings: Settings
    source: str
    cells: tuple[Reproduced, ...]
    missing: tuple[Configuration, ...]


@dataclass(frozen=True, slots=True)
class Deviation:
    """How far a group of cells is from the published figures.

    Attributes
    ----------
    cells : int
        Cells with a defined figure.
    mean_absolute : float or None
        None over no cell.
    close : float or None
        Share of cells within :data:`CLOSE`.
    largest : float or None
    """

    cells: int
    mean_absolute: float | None
    close: float | None
    largest: float | None

    @classmethod
    def of(cls, cells: Iterable[Reproduced]) -> Deviation:
        """Deviation of a group of cells.

        Examples
        --------
        >>> Deviation.of([])
        Deviation(cells=0, mean_absolute=None, close=None, largest=None)
        """
        gaps = np.abs([c.difference for c in cells if c.difference is not None])
        if len(gaps) == 0:
            return cls(0, None, None, None)
        close = gaps <= CLOSE + 1e-9
        return cls(len(gaps), float(gaps.mean()), float(close.mean()), float(gaps.max()))


def reproduce(
    tables: Sequence[Table],
    source: TraceSource,
    settings: Settings,
    cache: Cache,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
    more: Sequence[Run] = (),
) -> tuple[list[Reproduction], dict[Run, Sweep]]:
    """Reproduce tables.

    Parameters
    ----------
    tables : sequence of Table
    source : TraceSource
    settings : Settings
    cache : Cache
        Finished runs are taken from it and kept in it.
    jobs : int
    progress : callable, optional
        Called with the runs done and the runs in all.
    more : sequence of Run
        Further runs, for figures.

    Returns
    -------
    list of Reproduction, dict of Run to Sweep
    """
    wanted = {table.name: table.cells(settings) for table in tables}
    present: dict[str, list[Cell]] = {}
    missing: dict[str, dict[Configuration, None]] = {}
    for name, cells in wanted.items():
        lacking = [c.configuration for c in cells if not _available(source, c)]
        missing[name] = dict.fromkeys(lacking)
        present[name] = [c for c in cells if _available(source, c)]
    runs = [run for cells in present.values() for run in runs_of(cells)]
    runs += [run for run in more if source.has(run.configuration)]
    outcomes = dict(execute_all(runs, source.trace, cache, jobs, progress))
    reproductions = [
        Reproduction(
            table,
            settings,
            source.description,
            tuple(
                Reproduced(c, status_of(c, source, settings), estimate(c, outcomes, source))
                for c in present[table.name]
            ),
            tuple(missing[table.name]),
        )
        for table in tables
    ]
    return reproductions, outcomes


def status_of(cell: Cell, source: TraceSource, settings: Settings) -> Status:
    """What the reproduced figure of a cell is."""
    if not source.synthetic:
        return Status.MEASURED
    own = cell.run is None or cell.run.procedure != settings.procedure  # Table 13 names its own
    if not settings.as_in_the_paper and not own:
        return Status.OTHER_PROCEDURE
    return Status.PREDICTED if cell.predicted else Status.FITTED


def estimate(cell: Cell, outcomes: dict[Run, Sweep], source: TraceSource) -> Estimate:
    """The reproduced figure of a cell."""
    if cell.run is None:
        return _read_off(cell.reading, source.trace(cell.configuration))
    outcome = outcomes[cell.run]
    a = outcome.at(cell.keys["alpha"])
    match cell.reading:
        case "coverage":
            values = outcome.coverage[:, a]
        case "share_mode1":
            values = outcome.shares[:, a, 0]
        case _:
            values = outcome.fdr_where_empty(EMPTY_FDR)[:, a]
    empty = int(np.count_nonzero(outcome.accepted[:, a] == 0))
    spread = float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None
    return Estimate(float(values.mean()), spread, empty)


def _read_off(reading: str, trace: Trace) -> Estimate:
    if reading.startswith("accuracy"):
        verdicts = trace.verdicts[:, int(reading[-1]) - 1]
        readable = verdicts >= 0
        n = int(readable.sum())
        if n == 0:
            return Estimate(None, None)
        p = float((verdicts == trace.labels)[readable].mean())
        return Estimate(p, math.sqrt(p * (1 - p) / n))
    changes = retrieval_changes(trace.scores)
    if reading not in changes:
        return Estimate(None, None)
    value = changes[reading]
    error = math.sqrt(value * (1 - value) / len(trace.labels)) if "fraction" in reading else None
    return Estimate(value, error)


def _available(source: TraceSource, cell: Cell) -> bool:
    if not source.has(cell.configuration):
        return False
    return cell.run is None or source.has(cell.run.configuration)
