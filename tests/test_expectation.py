"""Conformal selection: what it controls, what it does not, and what breaks it."""

import json

import numpy as np
import pytest

from riskjudge import InputError, Router, Trace, counts
from riskjudge.calibration import (
    PROCEDURES,
    Certificate,
    ConformalSelection,
    Guarantee,
    Pointwise,
    Sample,
)
from riskjudge.calibration.procedures.conformal_selection import candidate_paths, ever_wrong
from riskjudge.evaluation.render import certificate_table


def draw(n, rng, curves=(0.6,), levels=0, missing=0.0):
    scores = rng.random((n, len(curves)))
    if levels:
        scores = (np.floor(scores * levels) + 0.5) / levels
    wrong = rng.random(scores.shape) < scores * np.array(curves)
    labels = rng.integers(0, 2, n)
    verdicts = labels[:, None] ^ wrong
    gone = rng.random(scores.shape) < missing
    scores[gone], verdicts[gone] = np.nan, -1
    return Sample(scores, verdicts, labels, tuple("abcd"[: len(curves)]))


def joined(sample, batch):
    return Sample(
        sample.scores, sample.verdicts, sample.labels, sample.modes, batch.scores, batch.verdicts
    )


def rule(certificate):
    if certificate.thresholds is None:
        return None
    return np.array([counts.NONE if t is None else t for t in certificate.thresholds.values()])


def wrong_share(batch, thresholds):
    """Wrong among accepted, 0 if none is (the false discovery proportion)."""
    if thresholds is None:
        return 0.0
    tallied = counts.path_counts(batch.scores, batch.errors, thresholds[None, :])
    return int(tallied.errors[0]) / max(int(tallied.accepted[0]), 1)


@pytest.mark.parametrize("levels", [0, 5], ids=["continuous", "tied"])
@pytest.mark.parametrize("seed", range(5))
def test_one_mode_is_benjamini_hochberg_on_conformal_p_values(seed, levels):
    rng = np.random.default_rng(seed)
    sample, batch = draw(60, rng, levels=levels), draw(50, rng, levels=levels)
    bad = sample.scores[sample.errors[:, 0], 0]
    p = np.array([(1 + np.sum(bad <= u)) / 61 for u in batch.scores[:, 0]])
    ordered = np.sort(p)
    passed = np.flatnonzero(ordered <= 0.25 * np.arange(1, 51) / 50)
    selected = p <= ordered[passed[-1]] if len(passed) else np.zeros(50, dtype=bool)
    chosen = rule(ConformalSelection().certify(joined(sample, batch), 0.25, 0.05))
    accepted = np.zeros(50, dtype=bool) if chosen is None else batch.scores[:, 0] <= chosen[0]
    np.testing.assert_array_equal(accepted, selected)


@pytest.mark.parametrize("columns_per_mode", [1, 2])
def test_paths_ascend_and_the_wrong_ones_are_counted_once_they_were(columns_per_mode):
    rng = np.random.default_rng(0)
    sample = draw(200, rng, (0.6, 0.4), levels=12, missing=0.1)
    if columns_per_mode == 2:
        sample = sample.by_verdict()
    for path in candidate_paths(sample.scores, columns_per_mode, 40):
        assert (path[1:] >= path[:-1]).all()
        seen = np.zeros(sample.n, dtype=bool)
        expected = []
        for vector in path:
            mode = counts.route(sample.scores, vector)
            seen |= (mode >= 0) & sample.errors[np.arange(sample.n), mode]
            expected.append(seen.sum())
        np.testing.assert_array_equal(ever_wrong(sample, path), expected)


@pytest.mark.parametrize(
    "curves, levels, missing",
    [((0.6,), 0, 0.0), ((0.6,), 4, 0.1), ((0.7, 0.5), 0, 0.0), ((0.7, 0.5), 4, 0.1)],
    ids=["one mode", "one mode, tied, failures", "two modes", "two modes, tied, failures"],
)
def test_expected_error_rate_of_the_batch(curves, levels, missing):
    # Few labels, so that the average would show a missing correction; 500 replicates.
    rng = np.random.default_rng(1)
    share = []
    for r in range(500):
        sample, batch = (
            draw(40, rng, curves, levels, missing),
            draw(60, rng, curves, levels, missing),
        )
        chosen = ConformalSelection().prepare(joined(sample, batch), r).select(target(0.2))
        share.append(wrong_share(batch, chosen.thresholds))
    error = np.std(share) / np.sqrt(len(share))
    assert np.mean(share) <= 0.2 + 3 * error


def target(alpha):
    from riskjudge.calibration import Target

    return Target(alpha, 0.05)


def test_without_the_added_error_it_is_broken():
    # The same rule with N in place of 1 + N.
    rng = np.random.default_rng(1)
    share = []
    for _ in range(800):
        sample, batch = draw(40, rng), draw(60, rng)
        t = np.sort(batch.scores[:, 0])
        bad = sample.scores[sample.errors[:, 0], 0]
        estimate = np.searchsorted(np.sort(bad), t, "right") / 41 * 60 / np.arange(1, 61)
        passed = np.flatnonzero(estimate <= 0.2)
        share.append(wrong_share(batch, t[passed[-1:]] if len(passed) else None))
    error = np.std(share) / np.sqrt(len(share))
    assert np.mean(share) > 0.2 + 3 * error


def test_without_a_pool_the_quantity_named_is_controlled():
    # One mode with error probability .6 u: a threshold t accepts wrong items at a rate of .3 t^2.
    rng = np.random.default_rng(2)
    ratio = []
    for r in range(600):
        chosen = ConformalSelection().prepare(draw(60, rng), r).select(target(0.2))
        if chosen.thresholds is None:
            ratio.append(0.0)
        else:
            t = chosen.thresholds[0]
            ratio.append(0.3 * t**2 / (chosen.accepted / (chosen.n + 1)))
    error = np.std(ratio) / np.sqrt(len(ratio))
    assert np.mean(ratio) <= 0.2 + 3 * error
    assert np.mean(ratio) > 0.12  # and the promise is used


def test_a_single_calibration_often_exceeds_alpha():
    # That is the difference to high probability: true risk at t is .3 t.
    rng = np.random.default_rng(3)
    over = 0
    for r in range(200):
        sample = joined(draw(300, rng), draw(300, rng))
        chosen = ConformalSelection().prepare(sample, r).select(target(0.2))
        over += chosen.thresholds is not None and 0.3 * chosen.thresholds[0] > 0.2
    assert 0.3 < over / 200 < 0.6


def test_certificate_and_its_words():
    rng = np.random.default_rng(0)
    sample, batch = draw(400, rng, (0.6, 0.4)), draw(300, rng, (0.6, 0.4))
    certificate = ConformalSelection().certify(joined(sample, batch), 0.15, 0.05)
    assert certificate.guarantee is Guarantee.EXPECTATION
    assert certificate.level is certificate.upper_bound is None
    assert "pool items" in certificate.statement
    assert "may exceed" in certificate.statement
    assert (certificate.n, certificate.n_reserved) == (360, 40)
    rows = dict(certificate_table(certificate).rows)
    assert "upper bound" not in rows
    assert rows["guarantee"] == "expectation"
    again = Certificate.from_dict(json.loads(json.dumps(certificate.to_dict(), allow_nan=False)))
    assert again == certificate
    alone = ConformalSelection().certify(sample, 0.15, 0.05)
    assert "share accepted at calibration" in alone.statement


def test_nothing_certifies():
    rng = np.random.default_rng(0)
    scores = rng.random((100, 1))
    labels = rng.integers(0, 2, 100)
    sample = Sample(scores, 1 - labels[:, None], labels, ("judge",), rng.random((50, 1)))
    certificate = ConformalSelection().certify(sample, 0.1, 0.05)
    assert not certificate.certified
    assert certificate.shortfall.labels_needed is None
    assert certificate.shortfall.need == 10


def test_no_usable_verdict_at_all():
    nothing = np.full((10, 2), np.nan)
    sample = Sample(nothing, np.full((10, 2), -1), np.arange(10) % 2, ("a", "b"))
    assert not ConformalSelection().certify(sample, 0.1, 0.05).certified


def test_what_is_turned_away():
    sample = draw(50, np.random.default_rng(0), (0.5, 0.5))
    with pytest.raises(InputError, match="retrieval budget"):
        ConformalSelection().certify(sample, 0.1, 0.05, max_retrieval=0.4)
    with pytest.raises(InputError, match="would break its proof"):
        ConformalSelection(objective="correct")


def test_through_a_router_with_thresholds_by_verdict(tmp_path):
    sample = draw(600, np.random.default_rng(5), (0.6, 0.4))
    trace = Trace.from_arrays(sample.scores, sample.verdicts, sample.labels)
    router = Router(0.15, procedure="conformal_selection", by_verdict=True).fit(trace)
    assert router.certificate_.certified
    router.save(tmp_path / "gate.json")
    assert "expectation" in (tmp_path / "gate.json").read_text()
    assert PROCEDURES["conformal_selection"] is ConformalSelection


def test_it_accepts_more_than_the_same_labels_certify_with_confidence():
    rng = np.random.default_rng(7)
    sample = joined(draw(500, rng), draw(500, rng))
    expected = ConformalSelection().certify(sample, 0.15, 0.05).coverage
    assert expected > Pointwise().certify(sample, 0.15, 0.05).coverage
