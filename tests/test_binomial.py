"""Exact binomial inference against R, SciPy, statsmodels, and by brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats
from statsmodels.stats.proportion import proportion_confint

from riskjudge import binomial
from riskjudge.errors import InputError

levels = st.floats(1e-12, 0.9)
risks = st.floats(0.01, 0.95)


# What R prints for binom.test(w, m)$conf.int; the first is the example of its help page.
@pytest.mark.parametrize(
    ("w", "m", "low", "high"),
    [
        (682, 925, 0.7076683, 0.7654066),
        (4, 20, 0.057334, 0.436614),
        (10, 50, 0.1003022, 0.3371831),
        (20, 100, 0.1266556, 0.2918427),
        (35, 100, 0.2572938, 0.4518494),
    ],
)
def test_intervals_match_r(w, m, low, high):
    assert binomial.interval(w, m) == pytest.approx((low, high), rel=1e-5)
    assert binomial.upper_bound(w, m, 0.025) == pytest.approx(high, rel=1e-5)
    assert binomial.lower_bound(w, m, 0.025) == pytest.approx(low, rel=1e-5)


def test_closed_forms():
    assert binomial.upper_bound(0, 10, 0.05) == pytest.approx(1 - 0.05**0.1)
    assert binomial.lower_bound(10, 10, 0.05) == pytest.approx(0.05**0.1)
    assert binomial.p_value(0, 29, 0.1) == pytest.approx(0.9**29)
    assert binomial.p_value(28, 29, 0.1) == pytest.approx(1 - 0.1**29)


@given(st.integers(0, 300), st.integers(0, 300), levels)
def test_bounds_match_scipy_and_statsmodels(a, b, delta):
    w, m = min(a, b), max(a, b)
    if m == 0:
        assert np.isnan(binomial.upper_bound(w, m, delta))
        assert np.isnan(binomial.lower_bound(w, m, delta))
        return
    low, high = proportion_confint(w, m, alpha=2 * delta if delta < 0.5 else 0.9, method="beta")
    if delta < 0.5:
        assert binomial.upper_bound(w, m, delta) == pytest.approx(high, abs=1e-9)
        assert binomial.lower_bound(w, m, delta) == pytest.approx(low, abs=1e-9)
    if w < m:
        assert binomial.upper_bound(w, m, delta) == pytest.approx(
            stats.beta.isf(delta, w + 1, m - w)
        )


@given(st.integers(0, 200), st.integers(0, 200), risks, levels)
def test_the_test_is_the_bound(a, b, alpha, delta):
    w, m = min(a, b), max(a, b)
    bound = binomial.upper_bound(w, m, delta)
    if abs(bound - alpha) > 1e-9:
        assert binomial.certifies(w, m, alpha, delta) == (bound <= alpha)


def test_edges():
    assert binomial.p_value(0, 0, 0.1) == 1.0
    assert not binomial.certifies(0, 0, 0.1, 0.05)
    assert binomial.upper_bound(7, 7, 0.05) == 1.0
    assert binomial.lower_bound(0, 7, 0.05) == 0.0
    # 1 - 1e-17 is one in floating point; the bound is not.
    assert binomial.upper_bound(2, 50, 1e-17) == pytest.approx(stats.beta.isf(1e-17, 3, 48))
    assert binomial.upper_bound(0, 100, 1e-17) == pytest.approx(-np.expm1(np.log(1e-17) / 100))


def test_known_values_of_the_paper():
    """The figures at the end of the paper's method: n = m = 1,000, delta = .05 and .05 / n^2."""
    for alpha, fdr, corrected, fewest, fewest_corrected in (
        (0.05, 0.038, 0.017, 59, 328),
        (0.10, 0.084, 0.052, 29, 160),
        (0.15, 0.131, 0.092, 19, 104),
        (0.20, 0.178, 0.135, 14, 76),
        (0.25, 0.227, 0.179, 11, 59),
    ):
        strict = 0.05 / 1000**2
        assert binomial.max_errors(1000, alpha, 0.05)[1000] == round(1000 * fdr)
        assert binomial.max_errors(1000, alpha, strict)[1000] == round(1000 * corrected)
        assert binomial.min_accepted(alpha, 0.05) == fewest
        assert binomial.min_accepted(alpha, strict) == fewest_corrected


@given(st.integers(0, 120), risks, levels)
def test_critical_counts_by_brute_force(n, alpha, delta):
    table = binomial.max_errors(n, alpha, delta)
    for m in range(0, n + 1, max(1, n // 7)):
        w = np.arange(m + 1)
        passing = np.flatnonzero(stats.binom.cdf(w, m, alpha) <= delta)
        borderline = np.any(np.abs(stats.binom.cdf(w, m, alpha) - delta) < 1e-12)
        if not borderline:
            assert table[m] == (passing[-1] if len(passing) else -1)
    assert np.all(np.diff(table) >= 0)
    assert np.all(np.diff(table) <= 1)


@given(st.integers(0, 60), risks, st.floats(1e-17, 0.9))
def test_fewest_accepted_by_brute_force(w, alpha, delta):
    m = binomial.min_accepted(alpha, delta, errors=w)
    assert binomial.p_value(w, m, alpha) <= delta
    assert m == w + 1 or binomial.p_value(w, m - 1, alpha) > delta


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: binomial.p_value(1, 2, 0.0), "alpha"),
        (lambda: binomial.upper_bound(1, 2, 1.0), "delta"),
        (lambda: binomial.p_value(3, 2, 0.1), "errors <= accepted"),
        (lambda: binomial.p_value(-1, 2, 0.1), "errors <= accepted"),
        (lambda: binomial.p_value(0.5, 2, 0.1), "integer"),
        (lambda: binomial.max_errors(-1, 0.1, 0.05), "n must"),
        (lambda: binomial.check_level("x", "alpha"), "alpha"),
    ],
)
def test_bad_input_is_named(call, says):
    with pytest.raises(InputError, match=says):
        call()


@pytest.mark.parametrize("alpha", [0.02, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("delta", [1e-12, 0.05, 0.4, 0.7])
def test_many_counts_are_decided_as_one_by_one(alpha, delta):
    m = np.repeat(np.arange(80), 80).reshape(80, 80)
    w = np.minimum(np.tile(np.arange(80), (80, 1)), m)
    many = binomial.certifies(w, m, alpha, delta)
    assert many.shape == (80, 80)
    assert np.array_equal(many, binomial.p_value(w, m, alpha) <= delta)


def test_p_values_of_a_true_null_are_valid():
    """P(p <= x) <= x at every attainable x when the rate is alpha or more: exact, by summation."""
    for m, alpha, rate in ((20, 0.1, 0.1), (57, 0.2, 0.2), (57, 0.2, 0.21), (200, 0.15, 0.3)):
        w = np.arange(m + 1)
        p = binomial.p_value(w, np.full(m + 1, m), alpha)
        mass = stats.binom.pmf(w, m, rate)
        assert all(mass[p <= x].sum() <= x + 1e-12 for x in p)


@pytest.mark.parametrize("alpha", [0.001, 0.05, 0.3, 0.9])
@pytest.mark.parametrize("delta", [1e-12, 0.01, 0.4])
def test_many_counts_are_decided_as_each_alone(alpha, delta):
    m = np.repeat(np.arange(1, 400), 30)
    w = np.minimum(np.tile(np.arange(30), 399), m)
    alone = special.bdtr(w.astype(float), m, alpha) <= delta
    assert np.array_equal(binomial.certifies(w, m, alpha, delta), alone)


@pytest.mark.parametrize("alpha", [1e-4, 0.05, 0.3, 0.99])
@pytest.mark.parametrize("delta", [1e-300, 1e-9, 0.05, 0.6, 0.999])
def test_the_first_sample_that_certifies_is_the_first(alpha, delta):
    w = np.unique(np.r_[np.arange(40), np.geomspace(1, 20_000, 30).astype(int)])
    m = binomial.first_certifying(w, alpha, delta)
    assert np.all(special.bdtr(w.astype(float), m, alpha) <= delta)
    assert np.all((special.bdtr(w.astype(float), m - 1, alpha) > delta) | (m - 1 <= w))


def test_a_sample_beyond_what_can_be_computed_is_refused():
    with pytest.raises(InputError, match="more than 2,147,483,647 items would be needed"):
        binomial.min_accepted(1e-6, 0.05, errors=30_000)
