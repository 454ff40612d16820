"""The runs of a reproduction: sweeps over random splits, in parallel, each kept once it is done.

A :class:`Run` says everything that decides its numbers. Its key is a hash of all of that and of the
trace itself, so that a cached result is used again only where it would come out the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from riskjudge._checks import check_count
from riskjudge._parallel import check_jobs, run_jobs
from riskjudge._version import __version__
from riskjudge.binomial import check_level
from riskjudge.calibration import PROCEDURES
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError
from riskjudge.evaluation.splits import SplitProtocol, Sweep
from riskjudge.gate import Router
from riskjudge.io.files import replacing
from riskjudge.paper.published import Configuration

EMPTY_FDR = 0.0
"""What a split that accepts nothing counts as in the paper's means of the FDR."""


@dataclass(frozen=True, slots=True)
class Run:
    """One configuration under one procedure: everything that decides the numbers.

    Attributes
    ----------
    configuration : Configuration
    alphas : tuple of float
        Risk levels; each split is counted once for all of them.
    procedure : str
        Name of a procedure, as in ``riskjudge.calibration.PROCEDURES``.
    options : tuple of (str, value)
        The procedure's options.
    delta : float
        Significance.
    calibration : float
        Share of the items that a split calibrates on; the rest is its test half.
    splits, seed : int
    n_modes : int
        2 for the router, 1 for mode 1 alone.
    test : Configuration, optional
        Tests on this trace of the same items in place of the calibration trace's own.
    """

    configuration: Configuration
    alphas: tuple[float, ...]
    procedure: str = "pointwise"
    options: tuple[tuple[str, Any], ...] = (("objective", "coverage"),)
    delta: float = 0.05
    calibration: float = 0.5
    splits: int = 100
    seed: int = 0
    n_modes: int = 2
    test: Configuration | None = None

    def __post_init__(self) -> None:
        for alpha in self.alphas:
            check_level(alpha, "alpha")
        check_level(self.delta, "delta")
        check_level(self.calibration, "calibration")
        check_count(self.splits, "splits")
        check_count(self.seed, "seed", least=0)
        if self.procedure not in PROCEDURES:
            raise InputError(
                f"unknown procedure {self.procedure!r}; known: {', '.join(PROCEDURES)}"
            )

    def key(self, trace: Trace, test: Trace | None = None) -> str:
        """Hash of the settings, the traces' contents and the version of riskjudge."""
        digest = hashlib.sha256()
        settings = asdict(self) | {"version": __version__}
        digest.update(json.dumps(settings, sort_keys=True).encode())
        for one in (trace, test):
            if one is not None:
                for array in (one.labels, one.verdicts, one.scores):
                    digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:32]


def execute(run: Run, trace: Trace, test: Trace | None = None) -> Sweep:
    """Carry out a run.

    Examples
    --------
    >>> from riskjudge.paper.model import ModeModel, TraceModel
    >>> mode = ModeModel(0.15, (0.5, 0.5, 0.5, 0.5, 0.5))
    >>> trace = TraceModel((mode, mode), 0.5, 0.5).simulate(400, seed=0).to_trace()
    >>> run = Run(Configuration("c", "j", "d"), alphas=(0.1, 0.3), splits=3)
    >>> execute(run, trace).errors.shape
    (3, 2)
    """
    modes = trace.modes[: run.n_modes]
    procedure = PROCEDURES[run.procedure](**dict(run.options))
    protocol = SplitProtocol(
        trace.select(modes),
        Router(delta=run.delta, procedure=procedure),
        run.alphas,
        run.calibration,
        run.seed,
        pool=False,  # the paper's procedures know the calibration items alone
        test=None if test is None else test.select(test.modes[: run.n_modes]),
    )
    return protocol.run(run.splits)


class Cache:
    """Outcomes on disk, a file each, named by the key of the run.

    Parameters
    ----------
    folder : Path
        Made if absent. A file that cannot be read is done again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self, key: str) -> Sweep | None:
        """The outcome stored under `key`, or None."""
        try:
            with np.load(self.folder / f"{key}.npz") as file:
                return Sweep(
                    tuple(file["alphas"].tolist()),
                    **{name: file[name] for name in _COUNTS},
                    modes=tuple(file["modes"].tolist()),
                    description=str(file["description"]),
                )
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            return None

    def store(self, key: str, outcome: Sweep) -> None:
        """Whole or not at all: an interrupted run leaves no half file."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with replacing(self.folder / f"{key}.npz") as part, part.open("wb") as file:
            np.savez(file, **asdict(outcome))


_COUNTS = ("n_test", "accepted", "errors", "by_mode")


def execute_all(
    runs: Sequence[Run],
    trace_of: Callable[[Configuration], Trace],
    cache: Cache,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Mapping[Run, Sweep]:
    """Carry out runs in parallel through joblib; finished ones are taken from the cache.

    Parameters
    ----------
    runs : sequence of Run
        Repeated runs are carried out once.
    trace_of : callable
        The trace of a configuration.
    cache : Cache
    jobs : int
        Worker processes. Inside ``joblib.parallel_config(backend="dask")`` the cluster's workers
        are used.
    progress : callable, optional
        Called with the runs done and the runs in all.
    """
    check_jobs(jobs)
    done: dict[Run, Sweep] = {}
    todo: dict[Run, tuple[str, Trace, Trace | None]] = {}
    for run in runs:
        if run in done or run in todo:
            continue
        trace = trace_of(run.configuration)
        test = trace_of(run.test) if run.test is not None else None
        key = run.key(trace, test)
        found = cache.load(key)
        if found is None:
            todo[run] = key, trace, test
        else:
            done[run] = found
    total = len(done) + len(todo)
    if progress is not None:
        progress(len(done), total)
    work = [(run, trace, test) for run, (_, trace, test) in todo.items()]
    results = run_jobs(_execute, work, jobs)
    for run, outcome in zip(todo, results, strict=True):
        cache.store(todo[run][0], outcome)
        done[run] = outcome
        if progress is not None:
            progress(len(done), total)
    return done


def _execute(work: tuple[Run, Trace, Trace | None]) -> Sweep:
    return execute(*work)
