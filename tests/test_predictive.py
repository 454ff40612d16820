"""Bounds for a finite batch: exact where they say so, and false where the promise is taken for one."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from riskjudge.calibration import FixedSequence, Pointwise, Sample
from riskjudge.calibration.predictive import batch_bound, predicted_errors
from riskjudge.errors import InputError


def test_the_prediction_bound_is_exact_for_a_fixed_rule():
    """Summed over all counts at many risks: exceeded with probability at most .05, and near it."""
    m, batch, level = 60, 40, 0.05
    bounds = np.array([predicted_errors(w, m, batch, level) for w in range(m + 1)])
    assert (np.diff(bounds) >= 0).all()
    exceeded = []
    for risk in np.linspace(0.005, 0.6, 120):
        chance = stats.binom.pmf(np.arange(m + 1), m, risk)
        exceeded.append(float((chance * stats.binom.sf(bounds, batch, risk)).sum()))
    assert max(exceeded) <= level
    assert max(exceeded) > 0.6 * level


def test_a_bound_one_lower_would_be_false():
    m, batch = 60, 40
    bounds = np.array([predicted_errors(w, m, batch) for w in range(m + 1)]) - 1
    chance = stats.binom.pmf(np.arange(m + 1), m, 0.12)
    assert (chance * stats.binom.sf(bounds, batch, 0.12)).sum() > 0.05


def certificate_at(seed=0, rate=0.06):
    rng = np.random.default_rng(seed)
    wrong = (rng.random((400, 1)) < rate).astype(int)
    sample = Sample(np.full((400, 1), 0.5), wrong, np.zeros(400, int), ("judge",))
    return FixedSequence(path=[[0.5]]).certify(sample, 0.1, 0.05)


def test_the_bound_of_a_batch_holds_where_the_share_alone_does_not():
    """A rule whose risk is exactly alpha: its share in a batch of 300 exceeds alpha every other time."""
    certificate = certificate_at()
    assert certificate.certified
    bound = batch_bound(certificate, 300)
    assert bound.wrong == 39
    assert stats.binom.sf(bound.wrong, 300, 0.1) <= 0.05 < stats.binom.sf(bound.wrong - 1, 300, 0.1)
    assert stats.binom.sf(30, 300, 0.1) > 0.4
    assert "at most 39" in bound.statement
    assert bound.confidence == pytest.approx(0.9)
    assert batch_bound(replace(certificate, delta_of_fits=0.3), 300).confidence == pytest.approx(
        0.65
    )


def test_where_there_is_no_promise_there_is_no_bound():
    assert batch_bound(certificate_at(rate=0.3), 100) is None
    rng = np.random.default_rng(0)
    sample = Sample(rng.random((300, 1)), np.zeros((300, 1), int), np.zeros(300, int), ("judge",))
    assert batch_bound(Pointwise().certify(sample, 0.1, 0.05), 100) is None
    empty = batch_bound(certificate_at(), 0)
    assert (empty.wrong, empty.share) == (0, None)
    with pytest.raises(InputError):
        batch_bound(certificate_at(), -1)
    with pytest.raises(InputError):
        predicted_errors(3, 2, 10)
