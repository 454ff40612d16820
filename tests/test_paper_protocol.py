"""The protocol, its cache, and the published-beside-reproduced cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from riskjudge.errors import InputError
from riskjudge.evaluation.splits import Sweep
from riskjudge.paper import protocol
from riskjudge.paper.coarse import coarse_protocol
from riskjudge.paper.model import ModeModel, TraceModel
from riskjudge.paper.protocol import EMPTY_FDR, Cache, Run, execute, execute_all
from riskjudge.paper.published import Configuration

HERE = Configuration("candidate", "judge", "data")
MODE = ModeModel(0.2, (1.0, 1.0, 1.0, 1.0, 1.0))
TRACE = (
    TraceModel((MODE, replace(MODE, error_rate=0.12)), 0.5, 0.4).simulate(600, seed=0).to_trace()
)
RUN = Run(HERE, (0.1, 0.2), splits=4)


def same(a: Sweep, b: Sweep) -> bool:
    return (
        a.alphas == b.alphas
        and a.n_test.tobytes() == b.n_test.tobytes()
        and a.errors.tobytes() == b.errors.tobytes()
        and a.by_mode.tobytes() == b.by_mode.tobytes()
    )


def test_counts_match_a_search_by_hand():
    """One split, mode 1 alone: the largest threshold whose exact bound is at most alpha."""
    from scipy.stats import beta

    run = Run(HERE, (0.2,), splits=1, n_modes=1, seed=5)
    outcome = execute(run, TRACE)
    order = np.random.default_rng([5, 0]).permutation(600)
    calibration, test = order[:300], order[300:]
    scores, wrong = TRACE.scores[:, 0], TRACE.verdicts[:, 0] != TRACE.labels
    best = -np.inf
    for t in np.sort(scores[calibration]):
        inside = scores[calibration] <= t
        m, w = int(inside.sum()), int(wrong[calibration][inside].sum())
        if w < m and beta.ppf(0.95, w + 1, m - w) <= 0.2:
            best = t
    accepted = scores[test] <= best
    assert outcome.by_mode[0, 0, 0] == accepted.sum()
    assert outcome.errors[0, 0] == wrong[test][accepted].sum()
    assert outcome.n_test.tolist() == [300]


def test_readings():
    outcome = execute(RUN, TRACE)
    assert outcome.coverage[:, outcome.at(0.2)] == pytest.approx(outcome.accepted[:, 1] / 300)
    assert outcome.shares.sum(axis=2) == pytest.approx(outcome.coverage)


def test_an_fdr_of_nothing_is_undefined():
    hopeless = replace(MODE, error_rate=0.5, rise=(0.0,) * 5)
    trace = TraceModel((hopeless, hopeless), 0.0, 0.0).simulate(300, seed=1).to_trace()
    outcome = execute(Run(HERE, (0.05,), splits=3), trace)
    assert (outcome.accepted == 0).all()
    assert np.isnan(outcome.fdr).all()
    assert outcome.summary()[0]["fdr"] is None
    assert outcome.summary(empty_fdr=EMPTY_FDR)[0]["fdr"] == 0.0


def test_the_calibration_share_decides_the_test_size():
    assert execute(replace(RUN, calibration=0.1), TRACE).n_test.tolist() == [540] * 4


def test_thresholds_carry_over_to_another_snapshot():
    later = (
        TraceModel((MODE, replace(MODE, error_rate=0.12)), 0.5, 0.4)
        .simulate(600, seed=3)
        .to_trace()
    )
    run = replace(RUN, test=replace(HERE, variant="requeried"))
    outcome = execute(run, TRACE, later)
    assert not same(outcome, execute(RUN, TRACE))
    assert same(execute(run, TRACE, TRACE), execute(RUN, TRACE))


@pytest.mark.parametrize(
    "change, message",
    [
        ({"alphas": (0.0,)}, "alpha"),
        ({"delta": 1.0}, "delta"),
        ({"splits": 0}, "splits"),
        ({"calibration": 1.0}, "calibration"),
        ({"procedure": "magic"}, "pointwise"),
    ],
)
def test_bad_settings_are_named(change, message):
    with pytest.raises(InputError, match=message):
        replace(RUN, **change)


def test_parallel_gives_the_same_bytes(tmp_path):
    runs = [RUN, replace(RUN, delta=0.01), replace(RUN, n_modes=1)]
    one = execute_all(runs, lambda _: TRACE, Cache(tmp_path / "one"), jobs=1)
    two = execute_all(runs, lambda _: TRACE, Cache(tmp_path / "two"), jobs=2)
    assert all(same(one[run], two[run]) for run in runs)


def test_a_dask_cluster_on_loopback_gives_the_same_bytes(tmp_path):
    distributed = pytest.importorskip("distributed", reason="the dask extra is not installed")
    from joblib import parallel_config

    runs = [RUN, replace(RUN, delta=0.01), replace(RUN, n_modes=1)]
    here = execute_all(runs, lambda _: TRACE, Cache(tmp_path / "here"))
    with (
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            processes=False,
            protocol="tcp",
            host="127.0.0.1",
            dashboard_address=":0",
        ) as cluster,
        distributed.Client(cluster),
        parallel_config(backend="dask"),
    ):
        there = execute_all(runs, lambda _: TRACE, Cache(tmp_path / "there"), jobs=2)
    assert all(same(here[run], there[run]) for run in runs)


def counting(monkeypatch, stop_after=None):
    done = []

    def watched(run, trace, test=None):
        if stop_after is not None and len(done) == stop_after:
            raise KeyboardInterrupt
        done.append(run)
        return execute(run, trace, test)

    monkeypatch.setattr(protocol, "execute", watched)
    return done


def test_an_interrupted_run_resumes(tmp_path, monkeypatch):
    runs = [replace(RUN, seed=seed) for seed in range(4)]
    counting(monkeypatch, stop_after=2)
    with pytest.raises(KeyboardInterrupt):
        execute_all(runs, lambda _: TRACE, Cache(tmp_path))
    done = counting(monkeypatch)
    steps = []
    outcomes = execute_all(
        runs, lambda _: TRACE, Cache(tmp_path), progress=lambda *step: steps.append(step)
    )
    assert done == runs[2:]
    assert steps == [(2, 4), (3, 4), (4, 4)]
    assert all(same(outcomes[run], execute(run, TRACE)) for run in runs)
    assert not list(tmp_path.glob("*.part"))


def test_results_of_other_settings_are_never_mixed(tmp_path):
    other = TraceModel((MODE, MODE), 0.5, 0.4).simulate(600, seed=0).to_trace()
    changes = [
        {"alphas": (0.1, 0.25)},
        {"procedure": "bonferroni"},
        {"options": (("objective", "correct"),)},
        {"delta": 0.01},
        {"calibration": 0.25},
        {"splits": 5},
        {"seed": 1},
        {"n_modes": 1},
        {"configuration": replace(HERE, variant="probe")},
        {"test": HERE},
    ]
    keys = {RUN.key(TRACE), RUN.key(other), RUN.key(TRACE, other)}
    keys |= {replace(RUN, **change).key(TRACE) for change in changes}
    assert len(keys) == 3 + len(changes)
    assert RUN.key(TRACE) == replace(RUN).key(TRACE)


def test_a_damaged_cache_file_is_done_again(tmp_path, monkeypatch):
    cache = Cache(tmp_path)
    first = execute_all([RUN], lambda _: TRACE, cache)
    (file,) = tmp_path.glob("*.npz")
    file.write_bytes(file.read_bytes()[:50])
    done = counting(monkeypatch)
    again = execute_all([RUN], lambda _: TRACE, cache)
    assert done == [RUN]
    assert same(first[RUN], again[RUN])


def test_the_coarse_protocol_is_close_to_the_exact_one():
    trace = TraceModel((MODE, replace(MODE, error_rate=0.12)), 0.5, 0.4).simulate(2000, seed=4)
    coarse = coarse_protocol(trace, (0.1, 0.2), splits=20, seed=1)
    exact = execute(Run(HERE, (0.1, 0.2), splits=20), trace.to_trace())
    for alpha in (0.1, 0.2):
        a = exact.at(alpha)
        assert coarse["coverage", alpha] == pytest.approx(exact.coverage[:, a].mean(), abs=0.05)
        assert coarse["fdr", alpha] == pytest.approx(np.nanmean(exact.fdr[:, a]), abs=0.02)
