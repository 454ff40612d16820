"""The split protocol: counts by hand, seeds, and jobs that do not change a byte."""

import numpy as np
import pytest

from riskjudge.data.trace import Trace
from riskjudge.errors import InputError
from riskjudge.evaluation.splits import sweep
from riskjudge.gate import Router


@pytest.fixture(scope="module")
def trace():
    rng = np.random.default_rng(0)
    scores = rng.random((500, 2))
    labels = rng.integers(0, 2, 500)
    verdicts = labels[:, None] ^ (rng.random((500, 2)) < np.array([0.4, 0.2]) * scores)
    return Trace.from_arrays(scores, verdicts, labels)


def test_one_split_by_hand(trace):
    result = sweep(trace, Router(procedure="pointwise"), alphas=[0.2], splits=2, seed=5)
    rows = np.zeros(500, bool)
    rows[np.random.default_rng([5, 1]).permutation(500)[:250]] = True
    gate = Router(alpha=0.2, procedure="pointwise").fit(trace.rows(rows))
    decided = gate.decide(trace.rows(~rows))
    assert result.accepted[1, 0] == decided.accepted.sum()
    assert result.errors[1, 0] == decided.wrong.sum()
    assert (
        result.by_mode[1, 0].tolist()
        == np.bincount(decided.mode[decided.accepted], minlength=2).tolist()
    )


def test_jobs_and_backends_change_nothing(trace):
    from joblib import parallel_config

    alone = sweep(trace, alphas=[0.1, 0.3], splits=4, seed=1)
    with parallel_config(backend="threading"):
        together = sweep(trace, alphas=[0.1, 0.3], splits=4, seed=1, n_jobs=2)
    for name in ("accepted", "errors", "by_mode", "n_test"):
        assert getattr(alone, name).tobytes() == getattr(together, name).tobytes()


def test_summary_keeps_undefined_apart(trace):
    rows = sweep(trace, alphas=[0.0001, 0.4], splits=3).summary()
    assert rows[0]["fdr"] is None
    assert rows[0]["n_undefined"] == 3
    assert rows[0]["coverage"] == 0.0
    assert rows[1]["n_undefined"] == 0
    assert rows[1]["fdr"] <= 0.4


def test_groups_stay_together():
    rng = np.random.default_rng(2)
    frame = Trace.from_arrays(
        rng.random((300, 1)), rng.integers(0, 2, (300, 1)), rng.integers(0, 2, 300)
    ).to_frame()
    grouped = Trace.from_frame(frame.assign(group=np.repeat(np.arange(60), 5)))
    result = sweep(grouped, Router(procedure="pointwise", groups="sample"), alphas=[0.6], splits=2)
    assert result.n_test.tolist() == [150, 150]


def test_bad_settings_are_named(trace):
    for options, says in (
        ({"splits": 1}, "splits"),
        ({"splits": 2.5}, "splits"),
        ({"n_jobs": 0}, "jobs"),
        ({"seed": -1}, "seed"),
        ({"calibration_share": 1.0}, "calibration_share"),
        ({"alphas": [0.0]}, "alpha"),
    ):
        with pytest.raises(InputError, match=says):
            sweep(trace, **options)
