"""The trace model: known shares, determinism, and what its parameters mean."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskjudge.demo import demo_trace
from riskjudge.errors import InputError
from riskjudge.paper.demo import demo_trace_path, demo_trace_text
from riskjudge.paper.model import Draws, Drift, ModeModel, TraceModel, retrieval_changes
from riskjudge.paper.parameters import Parameters, fitted_parameters
from riskjudge.paper.published import (
    TABLES,
    Configuration,
    main_configurations,
    published,
)
from riskjudge.paper.targets import all_configurations, targets_of

FLAT = (0.0,) * 5
STEEP = (1.0, 1.0, 1.0, 1.0, 1.0)


def model(**changes: object) -> TraceModel:
    mode = ModeModel(0.2, STEEP)
    return replace(TraceModel((mode, mode), 0.6, 0.4), **changes)


def test_error_rates_are_the_given_ones():
    modes = (ModeModel(0.3, STEEP), ModeModel(0.1, FLAT))
    trace = TraceModel(modes, 0.5, 0.5).simulate(200_000, seed=1)
    rates = (trace.verdicts != trace.labels[:, None]).mean(axis=0)
    # binomial standard error .001
    assert rates == pytest.approx([0.3, 0.1], abs=0.004)


def test_a_flat_curve_makes_errors_independent_of_the_score():
    mode = ModeModel(0.2, FLAT)
    trace = TraceModel((mode, mode), 0.0, 0.0).simulate(100_000, seed=2)
    wrong = trace.verdicts[:, 0] != trace.labels
    low = trace.scores[:, 0] < np.median(trace.scores[:, 0])
    assert wrong[low].mean() == pytest.approx(wrong[~low].mean(), abs=0.01)


def test_a_rising_curve_makes_surer_verdicts_better():
    trace = model().simulate(50_000, seed=3)
    wrong = trace.verdicts[:, 1] != trace.labels
    low = trace.scores[:, 1] < np.median(trace.scores[:, 1])
    assert wrong[low].mean() < wrong[~low].mean() / 2


def test_correlations_join_the_modes():
    apart = model(score_correlation=0.0, error_correlation=0.0).simulate(50_000, seed=4)
    alike = model(score_correlation=0.9, error_correlation=0.9).simulate(50_000, seed=4)

    def both_wrong(trace):
        return (trace.verdicts != trace.labels[:, None]).all(axis=1).mean()

    assert both_wrong(alike) > 1.5 * both_wrong(apart)
    assert np.corrcoef(alike.scores.T)[0, 1] > 0.8
    assert abs(np.corrcoef(apart.scores.T)[0, 1]) < 0.03


def test_saturated_items_tie_at_zero_and_unreadable_ones_have_nothing():
    mode = ModeModel(0.2, STEEP, saturated=0.25, unreadable=0.1)
    trace = TraceModel((mode, mode), 0.5, 0.5).simulate(20_000, seed=5)
    lost = np.isnan(trace.scores)
    assert (lost == (trace.verdicts < 0)).all()
    assert (lost[:, 0] == lost[:, 1]).all()
    assert lost[:, 0].mean() == pytest.approx(0.1, abs=0.01)
    assert (trace.scores[~lost[:, 0], 0] == 0).mean() == pytest.approx(0.25, abs=0.015)


@given(
    rate=st.floats(0.02, 0.6),
    rise=st.tuples(*[st.floats(-1.0, 6.0)] * 5),
    seed=st.integers(0, 2**32 - 1),
)
def test_scores_are_entropies_and_the_mean_error_is_kept(rate, rise, seed):
    mode = ModeModel(rate, rise, saturated=0.1, shape=(4.0, 0.8))
    trace = TraceModel((mode, mode), 0.3, 0.3).simulate(200, seed)
    assert (trace.scores >= 0).all()
    assert (trace.scores <= np.log(2) + 1e-12).all()
    ranks = (np.arange(4000) + 0.5) / 4000
    assert mode.error_probability(ranks).mean() == pytest.approx(rate, abs=1e-6)


def test_same_seed_same_bytes_other_seed_others():
    first, again, other = (model().simulate(100, seed) for seed in (7, 7, 8))
    assert first.scores.tobytes() == again.scores.tobytes()
    assert first.verdicts.tobytes() == again.verdicts.tobytes()
    assert first.scores.tobytes() != other.scores.tobytes()


def test_a_requery_changes_mode_two_only():
    draws = Draws.of(5000, seed=9)
    before = model().from_draws(draws)
    after = model().requeried(draws, Drift(kept=0.8, shift=0.3, error_rate=0.15), seed=1)
    assert (before.labels == after.labels).all()
    assert (before.scores[:, 0] == after.scores[:, 0]).all()
    assert (before.verdicts[:, 0] == after.verdicts[:, 0]).all()
    assert after.scores[:, 1].mean() < before.scores[:, 1].mean()
    assert (before.scores[:, 1] != after.scores[:, 1]).all()


def test_retrieval_changes_of_a_known_table():
    scores = np.array([[0.1, 0.4], [0.4, 0.2], [0.3, 0.3], [0.2, np.nan]])
    found = retrieval_changes(scores)
    assert found["fraction_raised"] == pytest.approx(1 / 3)
    assert found["mean_increase"] == pytest.approx(0.3)
    assert found["mean_decrease"] == pytest.approx(-0.2)
    assert "mean_increase" not in retrieval_changes(scores[1:3])


def test_model_survives_json():
    data = json.loads(json.dumps(model().to_dict()))
    assert TraceModel.from_dict(data) == model()
    del data["modes"][0]["rise"]
    with pytest.raises(InputError, match="rise"):
        TraceModel.from_dict(data)


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_an_impossible_error_rate_is_named(rate):
    with pytest.raises(InputError, match="error_rate"):
        ModeModel(rate, STEEP).error_probability(np.array([0.5]))


def test_a_curve_of_the_wrong_length_is_named():
    with pytest.raises(InputError, match="5 rises, got 2"):
        ModeModel(0.2, (1.0, 1.0)).error_probability(np.array([0.5]))


def test_published_figures():
    assert len(published("table01")) == 160
    assert len(published("table06")) == 192
    assert len(main_configurations()) == 32
    joint = {(r["judge"], r["dataset"]): r["coverage_joint"] for r in published("table02")[:16]}
    assert joint["Qwen3-14B", "HotpotQA"] == 0.86
    assert all(published(name) for name in TABLES)
    with pytest.raises(InputError, match="table01"):
        published("table99")


def test_tables_agree_with_one_another():
    """The same figure stands in several tables: they were checked, and stay equal."""
    main = {(Configuration.of(r), r["alpha"]): r["coverage"] for r in published("table01")}
    for row in published("table06"):
        if row["alpha"] <= 0.25:
            assert main[Configuration.of(row), row["alpha"]] == row["coverage"]
    for row in published("table13"):
        assert main[Configuration.of(row), row["alpha"]] == row["coverage_pointwise"]


def test_predicted_tables_are_no_targets():
    """Tables 9, 10, 13 and the direct row of 12 must not leak into the fit."""
    main = Configuration("Qwen3-8B", "Qwen3-8B", "TriviaQA")
    targets = targets_of(main)
    mode1 = [t for t in targets if t.metric == "coverage_mode1"]
    assert [(t.alpha, t.value) for t in mode1] == [(0.2, 0.59)]
    coverages = {t.alpha: t.value for t in targets if t.metric == "coverage"}
    assert coverages == {0.05: 0.12, 0.1: 0.63, 0.15: 0.91, 0.2: 1, 0.25: 1, 0.3: 1, 0.4: 1, 0.6: 1}
    assert {t.metric for t in targets} <= {
        "coverage",
        "fdr",
        "coverage_mode1",
        "accuracy1",
        "accuracy2",
    }


def test_every_configuration_has_parameters():
    parameters = fitted_parameters()
    assert "fit.py" in parameters.made_by
    for configuration in all_configurations():
        trace = parameters.trace(configuration)
        assert trace.n == 2000


def test_parameters_survive_their_file(tmp_path):
    parameters = fitted_parameters()
    path = tmp_path / "p.json"
    path.write_text(parameters.to_json())
    assert Parameters.from_file(path).to_json() == parameters.to_json()
    path.write_text("{}")
    with pytest.raises(InputError, match="not a parameter file"):
        Parameters.from_file(path)


def test_demo_trace_is_what_the_generator_makes():
    assert demo_trace_path().read_text(encoding="utf-8") == demo_trace_text()
    trace = demo_trace()
    assert len(trace) == 2000
    assert all(str(item).startswith("synthetic-") for item in trace.item_id)
    assert "synthetic" in demo_trace_path().name
