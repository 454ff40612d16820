"""Jobs in this process or in several: the same answers, and processes only where they pay."""

import pytest
from joblib import parallel_config, register_parallel_backend
from joblib._parallel_backends import ThreadingBackend

from riskjudge import _parallel
from riskjudge._parallel import run_jobs
from riskjudge.errors import InputError


class NoStreams(ThreadingBackend):
    """A backend that, as Ray's, cannot hand its answers over one by one."""

    supports_return_generator = False


def made_here():
    """Functions that processes get by value: they cannot import this file by its name."""

    def square(x):
        return x * x

    def blas_threads(_):
        import numpy as np
        from threadpoolctl import threadpool_info

        np.ones((2, 2)) @ np.ones((2, 2))
        counts = [i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"]
        return max(counts, default=1)

    return square, blas_threads


square, blas_threads = made_here()


@pytest.mark.parametrize("backend", ["threading", "no_streams"])
def test_any_backend_gives_the_same_answers(backend):
    register_parallel_backend("no_streams", NoStreams)
    with parallel_config(backend=backend):
        assert list(run_jobs(square, range(5), 2)) == [0, 1, 4, 9, 16]


def test_small_work_starts_no_process(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a pool was started")

    monkeypatch.setattr("joblib.Parallel", refuse)
    assert list(run_jobs(square, range(50), 4)) == [x * x for x in range(50)]


def test_large_work_does_and_keeps_the_order(monkeypatch):
    monkeypatch.setattr(_parallel, "WORTH_A_POOL", 0.0)
    assert list(run_jobs(square, range(7), 2)) == [0, 1, 4, 9, 16, 25, 36]
    assert list(run_jobs(blas_threads, range(4), 2)) == [1, 1, 1, 1]


@pytest.mark.parametrize("n_jobs", [0, 1.5, True, "2"])
def test_a_number_of_jobs_that_is_none(n_jobs):
    with pytest.raises(InputError, match="jobs must be"):
        list(run_jobs(square, [1], n_jobs))
