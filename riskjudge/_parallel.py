"""Independent jobs, in this process or in several; the answers do not depend on which."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from riskjudge.errors import InputError

Job = TypeVar("Job")
Answer = TypeVar("Answer")

WORTH_A_POOL = 5.0
"""CPU seconds of work below which processes that first have to import everything gain nothing."""


def check_jobs(n_jobs: int) -> int:
    """A number of parallel jobs, as joblib counts them.

    Raises
    ------
    InputError
        For 0 and for what is no whole number.

    Examples
    --------
    >>> check_jobs(-1)
    -1
    """
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0:
        raise InputError(f"jobs must be 1 or more, or -1 for one a core, got {n_jobs!r}")
    return n_jobs


def run_jobs(
    function: Callable[[Job], Answer], jobs: Sequence[Job], n_jobs: int = 1
) -> Iterator[Answer]:
    """The answers, in the order of the jobs, each as soon as it and those before it are there.

    Parameters
    ----------
    function : callable
        Of a job alone; picklable where several processes are asked for.
    jobs : sequence
    n_jobs : int
        Processes through joblib; -1 for one a core. They are started only where the work left is
        worth it, by the time that the first jobs take here, and each uses one BLAS thread. Inside
        ``joblib.parallel_config(backend=...)`` that backend runs all jobs.

    Examples
    --------
    >>> list(run_jobs(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    from joblib import Parallel, cpu_count, delayed, parallel_config
    from joblib.parallel import get_active_backend
    from threadpoolctl import ThreadpoolController

    check_jobs(n_jobs)
    backend, _ = get_active_backend()
    if type(backend).__name__ != "LokyBackend":
        streams = "generator" if backend.supports_return_generator else "list"  # Ray's does not
        yield from Parallel(n_jobs=None if n_jobs == 1 else n_jobs, return_as=streams)(
            delayed(function)(job) for job in jobs
        )
        return
    workers = n_jobs if n_jobs > 0 else max(cpu_count() + 1 + n_jobs, 1)
    threads = ThreadpoolController()
    done, seconds = 0, 0.0
    for job in jobs:
        left = len(jobs) - done
        if done and min(workers, left) > 1 and seconds / done * left > WORTH_A_POOL:
            break
        start = time.process_time()
        with threads.limit(limits=1, user_api="blas"):
            answer = function(job)
        done, seconds = done + 1, seconds + time.process_time() - start
        yield answer
    if done < len(jobs):
        with parallel_config(backend="loky", inner_max_num_threads=1):
            yield from Parallel(n_jobs=min(workers, len(jobs) - done), return_as="generator")(
                delayed(function)(job) for job in jobs[done:]
            )
