"""Run an audit: does a procedure keep its promise where the truth is known?"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from riskjudge._checks import check_count
from riskjudge._parallel import check_jobs, run_jobs
from riskjudge._typing import FloatArray
from riskjudge.audit.cells import Cell, CellCache, Setting, cell_of, label_of
from riskjudge.audit.truth import Population
from riskjudge.audit.worlds import World
from riskjudge.binomial import check_level
from riskjudge.calibration import Procedure, Sample, Target

CHUNK = 20
"""Replicates of one job. Fixed, so that sums come out the same however many jobs run."""

POPULATION = 200_000

_populations: dict[tuple[str, int, bool, int], Population] = {}


@dataclass(frozen=True, slots=True)
class Job:
    """Some replicates of cells that share their draws: one world and n, any procedures and levels."""

    setting: Setting
    procedures: tuple[Procedure, ...]
    alphas: tuple[tuple[float, ...], ...]
    first: int
    last: int


def audit(
    procedures: Sequence[Procedure],
    worlds: Sequence[World],
    *,
    ns: Sequence[int] = (1000,),
    alphas: Sequence[float] | None = None,
    delta: float = 0.05,
    pool: int = 1000,
    by_verdict: bool = False,
    replicates: int = 200,
    seed: int = 0,
    population: int = POPULATION,
    n_jobs: int = 1,
    cache: str | Path | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Cell]:
    """Calibrate again and again where the truth is known, and count the broken promises.

    Parameters
    ----------
    procedures : sequence of Procedure
    worlds : sequence of World
        See :func:`riskjudge.audit.worlds_named`, and :class:`riskjudge.audit.TraceWorld` for one's
        own.
    ns : sequence of int
        Numbers of labelled items.
    alphas : sequence of float, optional
        Risk levels; by default each world's own.
    delta : float
    pool : int
        Unlabelled items beside the labelled ones; 0 for none.
    by_verdict : bool
        Calibrate a threshold for each verdict of a mode.
    replicates, seed : int
        Replicate r of a world draws from ``default_rng([seed, crc32(name), r])``, so all procedures,
        and all risk levels, see the same items, whatever `n_jobs`.
    population : int
        Items behind the true risk, in worlds that have to sample it.
    n_jobs : int
        Parallel jobs; see :func:`riskjudge._parallel.run_jobs`.
    cache : path, optional
        Folder of finished cells. A run that was interrupted takes up where it stopped; cells of
        other settings, options or versions are never mixed in.
    progress : callable, optional
        Called with the calibrations done, of ``len(cells) * replicates``.

    Returns
    -------
    list of Cell
        In the order of worlds, ns, alphas, procedures.

    Examples
    --------
    >>> from riskjudge.audit import worlds_named
    >>> from riskjudge.calibration import FixedSequence, Pointwise
    >>> cells = audit([Pointwise(), FixedSequence()], worlds_named(["null_flat"]), ns=[300],
    ...               replicates=20, population=1000)
    >>> [(cell.procedure, cell.violations) for cell in cells]
    [('pointwise', 8), ('fixed_sequence', 0)]
    """
    _check(ns, alphas, delta, pool, replicates)
    check_count(seed, "seed", least=0)
    check_jobs(n_jobs)
    store = CellCache(None if cache is None else Path(cache))
    wanted = [
        Setting(world, n, pool, float(a), delta, by_verdict, replicates, seed, population)
        for world in worlds
        for n in ns
        for a in (alphas or (world.alpha,))
    ]
    keys = {
        (i, p): wanted[i].key(p_) for i in range(len(wanted)) for p, p_ in enumerate(procedures)
    }
    found = {at: store.load(key) for at, key in keys.items()}
    for (i, p), cell in found.items():
        if cell is not None:  # what a procedure is called does not decide its numbers
            found[i, p] = replace(cell, procedure=label_of(procedures[p]))
    done = replicates * sum(cell is not None for cell in found.values())
    if progress is not None:
        progress(done)
    groups = list(_groups(wanted, procedures, found))
    results = run_jobs(run_job, [job for _, jobs in groups for job in jobs], n_jobs)
    for indices, jobs in groups:
        parts = []
        for _ in jobs:
            parts.append(next(results))
            done += parts[-1].shape[1] * parts[-1].shape[2]
            if progress is not None:
                progress(done)
        outcome = np.moveaxis(np.concatenate(parts, axis=2), 1, 0)
        for at, (risks, coverages, seconds) in zip(indices, outcome, strict=True):
            cell = cell_of(procedures[at[1]], wanted[at[0]], risks, coverages, seconds)
            store.store(keys[at], cell)
            found[at] = cell
    return [done_cell for at in keys if (done_cell := found[at]) is not None]


def _check(
    ns: Sequence[int], alphas: Sequence[float] | None, delta: float, pool: int, replicates: int
) -> None:
    for alpha in alphas or ():
        check_level(alpha, "alpha")
    check_level(delta, "delta")
    check_count(pool, "pool", least=0)
    check_count(replicates, "replicates")
    for n in ns:
        check_count(n, "n", least=2)


def _groups(
    wanted: Sequence[Setting],
    procedures: Sequence[Procedure],
    found: dict[tuple[int, int], Cell | None],
) -> Iterator[tuple[list[tuple[int, int]], list[Job]]]:
    """Missing cells that share their draws, and the jobs that fill them."""
    by_draw: dict[tuple[int, int], list[int]] = {}
    for i, setting in enumerate(wanted):
        by_draw.setdefault((id(setting.world), setting.n), []).append(i)
    for members in by_draw.values():
        missing = {p: [i for i in members if found[i, p] is None] for p in range(len(procedures))}
        missing = {p: ins for p, ins in missing.items() if ins}
        if not missing:
            continue
        setting = wanted[members[0]]
        alphas = tuple(tuple(wanted[i].alpha for i in ins) for ins in missing.values())
        chosen = tuple(procedures[p] for p in missing)
        jobs = [
            Job(setting, chosen, alphas, first, min(first + CHUNK, setting.replicates))
            for first in range(0, setting.replicates, CHUNK)
        ]
        yield [(i, p) for p, ins in missing.items() for i in ins], jobs


def run_job(job: Job) -> FloatArray:
    """True risk (NaN: none), coverage and seconds, of shape (3, cells, replicates)."""
    setting = job.setting
    world = setting.world
    truth = _population(setting)
    columns = sum(len(alphas) for alphas in job.alphas)
    outcome = np.full((3, columns, job.last - job.first), np.nan)
    for r in range(job.first, job.last):
        rng = np.random.default_rng([setting.seed, zlib.crc32(world.name.encode()), r])
        items = world.draw(setting.n + setting.pool, rng)
        at = 0
        for procedure, alphas in zip(job.procedures, job.alphas, strict=True):
            sample = _sample(items, setting)  # a fresh one each: what it caches is timed
            rules = []
            start = time.perf_counter()
            ready = procedure.prepare(sample, r)
            for alpha in alphas:
                # Not `certify`: a certificate that says what is missing costs more than the choice.
                rules.append(ready.select(Target(alpha, setting.delta)).thresholds)
            seconds = (time.perf_counter() - start) / len(alphas)
            for rule in rules:
                risk, coverage = (None, 0.0) if rule is None else truth.risk(rule)
                found = np.nan if risk is None else risk, coverage, seconds
                outcome[:, at, r - job.first] = found
                at += 1
    return outcome


def _sample(items: Sample, setting: Setting) -> Sample:
    """The first n items with their labels, the others as the pool."""
    sample = items.rows(np.arange(setting.n))
    if setting.pool:
        sample = replace(
            sample, pool_scores=items.scores[setting.n :], pool_verdicts=items.verdicts[setting.n :]
        )
    return sample.by_verdict() if setting.by_verdict else sample


def _population(setting: Setting) -> Population:
    """The truth of a world; a worker keeps the last few."""
    world = setting.world
    key = (world.identity(), setting.population, setting.by_verdict, setting.seed)
    if key not in _populations:
        while len(_populations) >= 4:
            _populations.pop(next(iter(_populations)))
        # A seed of its own: [seed, crc] alone would be the stream of replicate 0.
        rng = np.random.default_rng(
            [setting.seed, zlib.crc32(f"population of {world.name}".encode())]
        )
        _populations[key] = world.population(setting.population, rng, setting.by_verdict)
    return _populations[key]
