"""Counts against the definition, item by item."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskjudge import counts
from riskjudge.counts import NONE, Plane, path_counts, route, threshold_counts
from riskjudge.errors import InputError


def by_hand(scores, errors, thresholds):
    """The routing rule of Eq. 9 in plain Python."""
    accepted = wrong = 0
    for item, wrongs in zip(scores, errors, strict=True):
        for score, is_wrong, t in zip(item, wrongs, thresholds, strict=True):
            if score <= t:
                accepted += 1
                wrong += bool(is_wrong)
                break
    return accepted, wrong


@st.composite
def samples(draw, modes=2):
    n = draw(st.integers(0, 12))
    score = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, np.nan])
    scores = draw(st.lists(st.lists(score, min_size=modes, max_size=modes), min_size=n, max_size=n))
    errors = draw(
        st.lists(st.lists(st.booleans(), min_size=modes, max_size=modes), min_size=n, max_size=n)
    )
    return (
        np.array(scores, dtype=float).reshape(n, modes),
        np.array(errors, dtype=bool).reshape(n, modes),
    )


@given(samples())
def test_plane_counts_every_pair(sample):
    scores, errors = sample
    plane = Plane(scores, errors)
    accepted, wrong = plane.counts()
    for i, t1 in enumerate(plane.grids[0]):
        for j, t2 in enumerate(plane.grids[1]):
            assert (accepted[i, j], wrong[i, j]) == by_hand(scores, errors, (t1, t2))


@given(samples(), st.lists(st.sampled_from([0.05, 0.1, 0.25, 0.4]), unique=True, min_size=1))
def test_plane_on_a_coarse_grid(sample, grid):
    scores, errors = sample
    grid = np.array(sorted(grid))
    plane = Plane(scores, errors, grids=(grid, grid))
    accepted, wrong = plane.counts()
    for i, t1 in enumerate(plane.grids[0]):
        for j, t2 in enumerate(plane.grids[1]):
            assert (accepted[i, j], wrong[i, j]) == by_hand(scores, errors, (t1, t2))


@given(samples(), st.integers(0, 12), st.integers(0, 5), st.sampled_from([1, 7, 1 << 22]))
def test_frontier_and_cells_do_not_depend_on_blocks(sample, accepted, tolerated, block):
    scores, errors = sample
    m, w = Plane(scores, errors).counts()
    before = counts._CELLS_PER_BLOCK
    try:
        counts._CELLS_PER_BLOCK = block
        plane = Plane(scores, errors)
        fewest = plane.fewest_errors
        cells = plane.cells(accepted, tolerated)
    finally:
        counts._CELLS_PER_BLOCK = before
    for k in range(len(scores) + 1):
        here = w[m == k]
        assert fewest[k] == (here.min() if here.size else len(scores) + 1)
    wanted = {}
    for i, j in zip(*np.nonzero((m == accepted) & (w <= tolerated)), strict=True):
        wanted.setdefault(int(i), int(j))
    assert dict(cells.tolist()) == wanted


@settings(max_examples=50)
@given(
    samples(modes=3),
    st.lists(st.tuples(*[st.sampled_from([NONE, 0.0, 0.15, 0.3, 0.5])] * 3), min_size=1),
)
def test_paths_of_three_modes(sample, path):
    scores, errors = sample
    tallied = path_counts(scores, errors, np.array(path))
    for i, thresholds in enumerate(path):
        assert (tallied.accepted[i], tallied.errors[i]) == by_hand(scores, errors, thresholds)
        modes = route(scores, np.array(thresholds))
        assert tallied.by_mode[i].tolist() == [np.count_nonzero(modes == k) for k in range(3)]


@given(samples(modes=1))
def test_one_mode_at_every_distinct_score(sample):
    scores, errors = sample
    tallied = threshold_counts(scores[:, 0], errors[:, 0])
    assert np.all(np.diff(tallied.thresholds[:, 0]) > 0)
    for t, accepted, wrong in zip(
        tallied.thresholds, tallied.accepted, tallied.errors, strict=True
    ):
        assert (accepted, wrong) == by_hand(scores, errors, t)


def test_a_tie_is_never_split():
    scores = np.array([0.1, 0.2, 0.2, 0.2, 0.3])
    tallied = threshold_counts(scores, np.array([0, 0, 1, 0, 1], bool))
    assert tallied.accepted.tolist() == [1, 4, 5]
    assert tallied.errors.tolist() == [0, 1, 2]


def test_a_missing_score_is_never_accepted():
    scores = np.array([[np.nan, np.nan], [0.1, np.nan], [np.nan, 0.1]])
    everything = np.array([[1e9, 1e9]])
    tallied = path_counts(scores, np.zeros((3, 2), bool), everything)
    assert tallied.accepted.tolist() == [2]


def test_a_large_plane_streams_in_blocks():
    rng = np.random.default_rng(0)
    scores = rng.random((2100, 2))  # more cells than one block holds
    errors = rng.random((2100, 2)) < 0.2
    plane = Plane(scores, errors)
    assert plane.shape[0] * plane.shape[1] > counts._CELLS_PER_BLOCK
    fewest = plane.fewest_errors
    m = 1500
    row, column = plane.cells(m, int(fewest[m]))[0]
    rule = np.array([[plane.grids[0][row], plane.grids[1][column]]])
    tallied = path_counts(scores, errors, rule)
    assert (tallied.accepted[0], tallied.errors[0]) == (m, fewest[m])


def test_wrong_shapes_are_named():
    with pytest.raises(InputError, match="two modes"):
        Plane(np.zeros((3, 1)), np.zeros((3, 1), bool))
    with pytest.raises(InputError, match=r"shape \(L, 2\)"):
        path_counts(np.zeros((3, 2)), np.zeros((3, 2), bool), np.zeros((4, 3)))


@pytest.mark.parametrize(
    "scores",
    [
        [0.2, 0.1, 0.2, np.nan, 0.0, -0.0, 5e-324],
        [-0.2, 0.1, -0.2, np.nan, -0.0, 0.0, -5e-324],
        [1e308, 1e-308, 1e308, 0.5, 0.5, 0.5, 0.5],
        [np.nan] * 7,
    ],
)
def test_every_threshold_of_any_sign_is_counted_as_by_hand(scores):
    scores, errors = np.array(scores), np.array([1, 0, 0, 1, 1, 0, 1], bool)
    counted = counts.threshold_counts(scores, errors)
    distinct = np.unique(scores[~np.isnan(scores)])
    assert np.array_equal(counted.thresholds.ravel(), distinct)
    assert counted.accepted.tolist() == [np.sum(scores <= t) for t in distinct]
    assert counted.errors.tolist() == [np.sum(errors[scores <= t]) for t in distinct]


def test_scores_and_errors_are_not_changed_by_counting():
    scores, errors = np.array([0.3, 0.1]), np.array([True, False])
    counts.threshold_counts(scores, errors)
    assert scores.tolist() == [0.3, 0.1]
    assert errors.tolist() == [True, False]


def test_a_long_path_over_two_modes_is_counted_as_vector_by_vector():
    rng = np.random.default_rng(3)
    scores = np.round(rng.random((300, 2)), 2)
    scores[rng.random((300, 2)) < 0.1] = np.nan
    errors = rng.random((300, 2)) < 0.3
    path = np.round(rng.random((40, 2)), 2)  # in no order at all
    path[rng.random((40, 2)) < 0.2] = counts.NONE
    whole = counts.path_counts(scores, errors, path)
    for i, vector in enumerate(path):
        one = counts.path_counts(scores, errors, vector[None])
        assert (whole.accepted[i], whole.errors[i]) == (one.accepted[0], one.errors[0])
        assert whole.by_mode[i].tolist() == one.by_mode[0].tolist()
