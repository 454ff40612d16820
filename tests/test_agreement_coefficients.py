"""Agreement coefficients: published values, independent implementations, invariances, edges."""

from __future__ import annotations

import warnings

import krippendorff
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats import inter_rater

from riskjudge.agreement import (
    Level,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
)
from riskjudge.errors import InputError

NA = None
# Krippendorff (2011), "Computing Krippendorff's alpha-reliability", section C: twelve units, four
# observers.
TWELVE_UNITS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NA, NA, NA],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NA, 3],
        [NA, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NA],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NA],
    ],
    dtype=object,
).T
# The same paper, section A (binary labels of ten units) and B (names a-e for twelve units).
BINARY = list(zip([0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0], strict=True))
NAMES = list(zip("aabbdcccedda", "babbbccceddd", strict=True))


def raters(table: list[list[int]]) -> list[tuple[int, int]]:
    """Units of two raters from a contingency table."""
    return [(i, j) for i, row in enumerate(table) for j, n in enumerate(row) for _ in range(n)]


@pytest.mark.parametrize(
    ("level", "published"),
    [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)],
)
def test_alpha_of_krippendorffs_twelve_units(level, published):
    assert krippendorff_alpha(TWELVE_UNITS, level) == pytest.approx(published, abs=5e-4)


def test_alpha_of_krippendorffs_two_observer_examples():
    assert krippendorff_alpha(BINARY) == pytest.approx(0.095, abs=5e-4)
    assert krippendorff_alpha(NAMES) == pytest.approx(0.692, abs=5e-4)


def test_irrcac_on_pregnancy_types():
    # R package irrCAC, vignette "overview", dataset cont3x3abstractors.
    table = raters([[13, 0, 0], [0, 20, 7], [0, 4, 56]])
    assert percent_agreement(table) == pytest.approx(0.89)
    assert cohen_kappa(table) == pytest.approx(0.7964094, abs=5e-8)
    assert gwet_ac1(table) == pytest.approx(0.8493305, abs=5e-8)
    assert krippendorff_alpha(table) == pytest.approx(0.7972585, abs=5e-8)


def test_irrcac_ac1_with_missing_labels():
    # irrCAC, dataset cac.raw4raters (the twelve units again): pa = .8181818, AC1 = .77544.
    assert percent_agreement(TWELVE_UNITS) == pytest.approx(0.8181818, abs=5e-8)
    assert gwet_ac1(TWELVE_UNITS) == pytest.approx(0.77544, abs=5e-6)


def test_fleiss_kappa_of_fourteen_raters():
    # Ten subjects, five categories; worked through in "Fleiss' kappa", Wikipedia: kappa = .210.
    counts = [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
    table = [np.repeat(np.arange(5), row) for row in counts]
    assert fleiss_kappa(np.array(table)) == pytest.approx(0.210, abs=5e-4)
    assert fleiss_kappa(np.array(table)) == pytest.approx(
        inter_rater.fleiss_kappa(np.array(counts)), abs=1e-12
    )


def random_table(rng: np.random.Generator, continuous: bool, missing: float) -> np.ndarray:
    units, columns = rng.integers(4, 40), rng.integers(2, 6)
    truth = rng.integers(0, 5, (units, 1)).astype(float)
    table = np.where(rng.random((units, columns)) < 0.4, rng.integers(0, 5, truth.shape), truth)
    if continuous:
        table = 2000.0 + table + rng.normal(size=table.shape).round(2)
    table[rng.random(table.shape) < missing] = np.nan
    return table


@pytest.mark.parametrize("level", list(Level))
@pytest.mark.parametrize("continuous", [False, True])
def test_alpha_agrees_with_the_krippendorff_package(level, continuous):
    rng = np.random.default_rng(0)
    compared = 0
    for _ in range(60):
        table = random_table(rng, continuous, missing=0.25)
        ours = krippendorff_alpha(table, level)
        if ours is None:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            theirs = krippendorff.alpha(table.T, level_of_measurement=level.value)
        assert ours == pytest.approx(theirs, abs=1e-12)
        compared += 1
    assert compared > 50


def test_kappas_agree_with_statsmodels_and_scikit_learn():
    rng = np.random.default_rng(1)
    for _ in range(40):
        table = random_table(rng, continuous=False, missing=0.0).astype(int)
        pair = table[:, :2]
        contingency = np.histogram2d(*pair.T, bins=[np.arange(6) - 0.5] * 2)[0]
        nominal, ordinal = cohen_kappa(pair), cohen_kappa(pair, "ordinal")
        statsmodels = inter_rater.cohens_kappa(contingency, return_results=False)
        assert nominal == pytest.approx(statsmodels, abs=1e-12)
        assert nominal == pytest.approx(cohen_kappa_score(*pair.T), abs=1e-12)
        quadratic = cohen_kappa_score(*pair.T, weights="quadratic")
        assert ordinal == pytest.approx(quadratic, abs=1e-12)
        counts = inter_rater.aggregate_raters(table)[0]
        assert fleiss_kappa(table) == pytest.approx(inter_rater.fleiss_kappa(counts), abs=1e-12)


def test_interval_kappa_weighs_by_squared_difference():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(2, 50))
    expected = 1 - np.mean((x - y) ** 2) / np.mean((x[:, None] - y[None, :]) ** 2)
    assert cohen_kappa(np.c_[x, y], "interval") == pytest.approx(expected, abs=1e-12)


tables = arrays(float, st.tuples(st.integers(2, 12), st.integers(2, 4)), elements=st.integers(0, 3))


@settings(max_examples=30, deadline=None)
@given(tables, st.randoms(use_true_random=False))
def test_order_and_names_of_labels_do_not_matter(table, random):
    order = list(range(len(table)))
    random.shuffle(order)
    columns = list(range(table.shape[1]))
    random.shuffle(columns)
    shuffled = table[order][:, columns]
    renamed = np.array(["d", "a", "c", "b"], dtype=object)[shuffled.astype(int)]
    for coefficient in (percent_agreement, krippendorff_alpha, gwet_ac1, fleiss_kappa, cohen_kappa):
        before = coefficient(table)
        assert coefficient(renamed) == (before if before is None else pytest.approx(before))


@settings(max_examples=30, deadline=None)
@given(tables)
def test_levels_are_invariant_to_the_transformations_they_admit(table):
    linear, monotone, scaled = 3.0 * table - 7.0, np.exp(table), 5.0 * table
    for level, other in (("interval", linear), ("ordinal", monotone), ("ratio", scaled)):
        before = krippendorff_alpha(table, level)
        after = krippendorff_alpha(other, level)
        assert after == (before if before is None else pytest.approx(before, abs=1e-9))


@settings(max_examples=30, deadline=None)
@given(tables)
def test_a_unit_with_one_label_says_nothing_about_alpha(table):
    single = np.full((1, table.shape[1]), np.nan)
    single[0, 0] = 9
    for level in Level:
        before = krippendorff_alpha(table, level)
        after = krippendorff_alpha(np.vstack([table, single]), level)
        assert after == (before if before is None else pytest.approx(before, abs=1e-12))


@settings(max_examples=30, deadline=None)
@given(tables)
def test_coefficients_stay_in_range(table):
    for coefficient in (cohen_kappa, fleiss_kappa, gwet_ac1, krippendorff_alpha):
        value = coefficient(table)
        assert value is None or -1.0 <= value <= 1.0 + 1e-12
    share = percent_agreement(table)
    assert 0.0 <= share <= 1.0


def test_two_labels_make_the_four_levels_one():
    table = [[0, 0], [1, 1], [1, 0], [1, 1], [0, 0]]
    alphas = {round(krippendorff_alpha(table, level), 12) for level in Level}
    assert len(alphas) == 1


@pytest.mark.parametrize("table", [[[0, 0], [0, 0]], [[1, 1], [1, 1]], [["x", "x"], ["x", None]]])
def test_constant_labels_are_undefined(table):
    assert percent_agreement(table) == 1.0
    for coefficient in (cohen_kappa, fleiss_kappa, gwet_ac1, krippendorff_alpha):
        assert coefficient(table) is None


@pytest.mark.parametrize("table", [[[None, 1], [None, 0]], [[1, None], [None, 0]]])
def test_without_a_pair_of_labels_everything_is_undefined(table):
    coefficients = (percent_agreement, cohen_kappa, fleiss_kappa, gwet_ac1, krippendorff_alpha)
    for coefficient in coefficients:
        assert coefficient(table) is None


def test_a_judge_that_never_varies_has_kappa_zero():
    assert cohen_kappa([[1, 1], [1, 0], [1, 1]]) == 0.0


def test_kappa_is_for_two_raters_and_fleiss_for_complete_units():
    assert cohen_kappa([[1, 1, 0], [0, 0, 1]]) is None
    assert fleiss_kappa([[1, 1, 0], [0, 0, None]]) is None


def test_true_one_and_one_point_zero_are_one_label():
    assert percent_agreement([[True, 1], [False, 0.0], [True, np.int64(1)]]) == 1.0
    assert krippendorff_alpha(pd.DataFrame({"j": [True, False], "h": [1.0, 0.0]})) == 1.0


@pytest.mark.parametrize(
    ("table", "level", "message"),
    [
        ([[1, "1"], [0, "0"]], "nominal", "mix text and numbers: label '1' by 1 of unit 0, but"),
        ([["low", "high"]], "ordinal", "'low' by 0 of unit 0: a label at the ordinal level must"),
        ([[1.0, -2.0]], "ratio", "-2.0 by 1 of unit 0: a label at the ratio level is not negative"),
        ([[1.0, float("inf")]], "interval", "inf by 1 of unit 0: must be true/false, a finite"),
        ([[1, b"x"]], "nominal", "by 1 of unit 0: must be true/false, a finite number or text"),
        ([1, 0, 1], "nominal", "units in rows and raters in columns, got 1-D"),
        ([[1, 0]], "ordinary", "level must be one of nominal, ordinal, interval, ratio"),
    ],
)
def test_bad_labels_are_named(table, level, message):
    with pytest.raises(InputError, match=message):
        krippendorff_alpha(table, level)


def test_a_repeated_id_is_named():
    table = pd.DataFrame({"j": [1, 0, 1], "h": [1, 0, 0]}, index=["u", "v", "u"])
    with pytest.raises(InputError, match="id 'u' occurs more than once"):
        krippendorff_alpha(table)
