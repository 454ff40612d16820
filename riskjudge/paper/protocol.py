"""The paper's protocol: many random calibration/test splits of one trace, at several risk levels.

A :class:`Run` says everything that decides its numbers. Its key is a hash of all of that and of the
trace itself, so that a cached result is used again only where it would come out the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol
from zipfile import BadZipFile

import numpy as np

from riskjudge import counts
from riskjudge._typing import FloatArray, IntArray
from riskjudge._version import __version__
from riskjudge.binomial import check_level
from riskjudge.calibration import PROCEDURES, Sample
from riskjudge.errors import InputError
from riskjudge.paper.published import Configuration

MODES = ("parametric", "retrieval")


class Items(Protocol):
    """What a run reads: labels (n,), verdicts (n, 2) with -1 for none, scores (n, 2) with NaN."""

    @property
    def labels(self) -> IntArray: ...
    @property
    def verdicts(self) -> IntArray: ...
    @property
    def scores(self) -> FloatArray: ...


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
        if self.splits < 1:
            raise InputError(f"splits must be at least 1, got {self.splits}")
        if self.procedure not in PROCEDURES:
            raise InputError(
                f"unknown procedure {self.procedure!r}; known: {', '.join(PROCEDURES)}"
            )

    def key(self, trace: Items, test: Items | None = None) -> str:
        """Hash of the settings, the traces' contents and the version of riskjudge."""
        digest = hashlib.sha256()
        settings = asdict(self) | {"version": __version__}
        digest.update(json.dumps(settings, sort_keys=True).encode())
        for one in (trace, test):
            if one is not None:
                for array in (one.labels, one.verdicts, one.scores):
                    digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:32]


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """Test counts of every split at every level.

    Attributes
    ----------
    alphas : tuple of float
    n_test : int
    errors : ndarray of int, shape (splits, levels)
    by_mode : ndarray of int, shape (splits, levels, modes)
        Accepted test items by the mode that accepted them.
    """

    alphas: tuple[float, ...]
    n_test: int
    errors: IntArray
    by_mode: IntArray

    @property
    def accepted(self) -> IntArray:
        """Accepted test items, shape (splits, levels)."""
        return np.asarray(self.by_mode.sum(axis=2))

    def at(self, alpha: float) -> int:
        """Column of a level."""
        return self.alphas.index(alpha)

    def coverage(self, alpha: float) -> FloatArray:
        """Coverage of each split."""
        return np.asarray(self.accepted[:, self.at(alpha)] / self.n_test)

    def share(self, alpha: float, mode: int) -> FloatArray:
        """Share of all test items that a mode accepts, in each split."""
        return np.asarray(self.by_mode[:, self.at(alpha), mode] / self.n_test)

    def fdr(self, alpha: float) -> FloatArray:
        """Error rate among the accepted of each split; NaN (UNDEFINED) where there are none."""
        m = self.accepted[:, self.at(alpha)]
        w = self.errors[:, self.at(alpha)]
        return np.where(m > 0, w / np.maximum(m, 1), np.nan)


def execute(run: Run, trace: Items, test: Items | None = None) -> Outcome:
    """Carry out a run.

    Examples
    --------
    >>> from riskjudge.paper.model import ModeModel, TraceModel
    >>> mode = ModeModel(0.15, (0.5, 0.5, 0.5, 0.5, 0.5))
    >>> trace = TraceModel((mode, mode), 0.5, 0.5).simulate(400, seed=0)
    >>> run = Run(Configuration("c", "j", "d"), alphas=(0.1, 0.3), splits=3)
    >>> outcome = execute(run, trace)
    >>> outcome.errors.shape, outcome.n_test
    ((3, 2), 200)
    """
    modes = MODES[: run.n_modes]
    procedure = PROCEDURES[run.procedure](**dict(run.options))
    sample = _sample(trace, modes)
    tested = _sample(test, modes) if test is not None else sample
    n = sample.n
    size = round(run.calibration * n)
    errors, by_mode = [], []
    for split in range(run.splits):
        order = np.random.default_rng([run.seed, split]).permutation(n)
        calibration = sample.rows(order[:size])
        thresholds = np.full((len(run.alphas), len(modes)), counts.NONE)
        for i, alpha in enumerate(run.alphas):
            certificate = procedure.certify(calibration, alpha, run.delta, seed=split)
            if certificate.thresholds is not None:
                values = (certificate.thresholds[mode] for mode in modes)
                thresholds[i] = [counts.NONE if t is None else t for t in values]
        rest = tested.rows(order[size:])
        found = counts.path_counts(rest.scores, rest.errors, thresholds)
        errors.append(found.errors)
        by_mode.append(found.by_mode)
    return Outcome(run.alphas, n - size, np.array(errors), np.array(by_mode))


def _sample(trace: Items, modes: Sequence[str]) -> Sample:
    k = len(modes)
    return Sample(
        np.ascontiguousarray(trace.scores[:, :k]), trace.verdicts[:, :k], trace.labels, tuple(modes)
    )


class Cache:
    """Outcomes on disk, a file each, named by the key of the run.

    Parameters
    ----------
    folder : Path
        Made if absent. A file that cannot be read is done again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self, key: str) -> Outcome | None:
        """The outcome stored under `key`, or None."""
        try:
            with np.load(self.folder / f"{key}.npz") as file:
                return Outcome(
                    tuple(file["alphas"].tolist()),
                    int(file["n_test"]),
                    file["errors"],
                    file["by_mode"],
                )
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            return None

    def store(self, key: str, outcome: Outcome) -> None:
        """Write to a temporary file, then rename: an interrupted run leaves no half file."""
        self.folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self.folder, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez(
                    file,
                    alphas=np.array(outcome.alphas),
                    n_test=outcome.n_test,
                    errors=outcome.errors,
                    by_mode=outcome.by_mode,
                )
            Path(name).replace(self.folder / f"{key}.npz")
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def execute_all(
    runs: Sequence[Run],
    trace_of: Callable[[Configuration], Items],
    cache: Cache,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Mapping[Run, Outcome]:
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
    from joblib import Parallel, delayed

    done: dict[Run, Outcome] = {}
    todo: dict[Run, tuple[str, Items, Items | None]] = {}
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
    results = Parallel(n_jobs=jobs, return_as="generator")(
        delayed(execute)(run, trace, test) for run, (_, trace, test) in todo.items()
    )
    for run, outcome in zip(todo, results, strict=True):
        cache.store(todo[run][0], outcome)
        done[run] = outcome
        if progress is not None:
            progress(len(done), total)
    return done
