"""Plans keep their promise: the power that is told is the power that is met."""

import json

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

from riskjudge import binomial
from riskjudge.audit.planning import RisingErrors, labels_for_power, simulate_power
from riskjudge.calibration import Portfolio, plan_labels
from riskjudge.calibration.power import power_with
from riskjudge.cli import app


@pytest.mark.parametrize(
    ("alpha", "error_rate", "coverage", "power"),
    [(0.1, 0.05, 0.5, 0.8), (0.1, 0.02, 0.2, 0.9), (0.05, 0.02, 0.7, 0.8), (0.2, 0.1, 1.0, 0.8)],
)
def test_the_planned_power_of_a_fixed_rule_is_met(alpha, error_rate, coverage, power):
    n = plan_labels(
        alpha, 0.05, error_rate=error_rate, coverage=coverage, power=power
    ).labels_with_power
    rng = np.random.default_rng(1)
    accepted = rng.binomial(n, coverage, 40_000)
    errors = rng.binomial(accepted, error_rate)
    met = binomial.certifies(errors, accepted, alpha, 0.05).mean()
    told = power_with(n, error_rate, alpha, 0.05, coverage)
    assert abs(met - told) < 4 * np.sqrt(told * (1 - told) / 40_000)
    assert told >= power
    # The naive count, m / coverage, falls short: it forgets that the accepted count is random.
    naive = plan_labels(alpha, 0.05, error_rate=error_rate, power=power).accepted_with_power
    if coverage < 1:
        assert power_with(int(np.ceil(naive / coverage)), error_rate, alpha, 0.05, coverage) < power


def test_power_by_hand():
    # Three items, half accepted: certified at alpha = .6, delta = .3 by two or three right ones.
    chance = sum(stats.binom.pmf(m, 3, 0.5) * 0.9**m for m in (2, 3))
    assert binomial.max_errors(3, 0.6, 0.3).tolist() == [-1, -1, 0, 0]
    assert power_with(3, 0.1, 0.6, 0.3, 0.5) == pytest.approx(chance)


def test_the_simulated_power_of_a_procedure_is_met_on_fresh_draws():
    source, procedure = RisingErrors(0.05, 0.6), Portfolio()

    def simulate(n, seed=0, replicates=150):
        return simulate_power(source, n, 0.1, 0.05, coverage=0.54, procedure=procedure,
                              replicates=replicates, seed=seed)  # fmt: skip

    found = labels_for_power(simulate, 0.8, 200)
    fresh = simulate(found.labels, seed=1, replicates=400)
    error = np.sqrt(0.8 * 0.2 * (1 / 150 + 1 / 400))
    assert abs(fresh.power - found.power) < 3 * error
    assert found.low <= found.power <= found.high
    assert simulate(found.labels // 2, seed=1).power < 0.8 - 3 * error


def test_the_model_has_the_rates_it_was_given():
    items = RisingErrors(0.05, 0.6).draw(200_000, np.random.default_rng(0))
    inside = items.scores[:, 0] <= 0.6
    assert inside.mean() == pytest.approx(0.6, abs=0.005)
    assert items.errors[inside, 0].mean() == pytest.approx(0.05, abs=0.003)


def test_on_the_command_line(tmp_path):
    def plan(*arguments):
        done = CliRunner().invoke(app, ["plan", "--json", "--replicates", "20", *arguments])
        return done.exit_code, json.loads(done.stdout)

    code, told = plan("--error-rate", "0.03", "--coverage", "0.5")
    assert code == 0
    simulated = told["default_procedure"]
    assert simulated["at_labels_with_power"]["labels"] == told["labels_with_power"]
    assert simulated["enough"]["power"] >= 0.8
    assert plan("--error-rate", "0.2")[0] == 1
    assert plan()[1]["default_procedure"]["enough"] is None
    rng = np.random.default_rng(0)
    u, label = rng.random((120, 1)), rng.integers(0, 2, 120)
    from riskjudge.data.trace import Trace

    trace = Trace.from_arrays(u, label[:, None] ^ (rng.random((120, 1)) < 0.3 * u), label)
    trace.to_frame().to_csv(tmp_path / "pilot.csv", index=False)
    code, told = plan("--pilot", str(tmp_path / "pilot.csv"))
    assert code == 0
    assert told["default_procedure"]["enough"]["power"] >= 0.8
    low, high = told["default_procedure"]["power_of_redrawn_pilots"]
    assert 0 <= low < high <= 1  # 120 rows do not tell the power to the digit
    text = CliRunner().invoke(app, ["plan", "--error-rate", "0.03", "--replicates", "10"]).output
    assert "simulated" in text
