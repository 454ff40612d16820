"""The audit: its arithmetic, its truth, that it finds broken procedures, and that it resumes."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import typer
from scipy import stats
from statsmodels.stats.proportion import proportion_confint
from typer.testing import CliRunner

from riskjudge import binomial, counts
from riskjudge.audit import (
    Cell,
    Mode,
    Population,
    Scenario,
    ScenarioWorld,
    TraceWorld,
    Verdict,
    audit,
    cells_table,
    in_words,
    judge,
    promises_kept,
    summarize,
    worlds_named,
)
from riskjudge.audit.cells import Setting
from riskjudge.audit.run import Job, run_job
from riskjudge.audit.truth import posterior_error
from riskjudge.calibration import PROCEDURES, FixedSequence, Guarantee, Pointwise, Portfolio
from riskjudge.calibration.paths import coverage_levels, quantile_path
from riskjudge.calibration.plan import Chain, Family, Plan, Target
from riskjudge.calibration.procedure import PlannedProcedure, Planner, Procedure, Selector
from riskjudge.calibration.sample import Sample
from riskjudge.calibration.selection import Selection, nothing
from riskjudge.cli import audit as command
from riskjudge.counts import NONE
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError

VALIDITY = Path(__file__).resolve().parents[1] / "experiments" / "validity"


# Known answers


def test_verdict_is_the_exact_one_sided_test():
    for violations, replicates, delta in ((10, 200, 0.05), (18, 200, 0.05), (19, 200, 0.05)):
        p = stats.binomtest(violations, replicates, delta, alternative="greater").pvalue
        assert (judge(violations, replicates, delta) is Verdict.EXCEEDS) == (p < 0.01)
    assert judge(0, 50, 0.05) is Verdict.COMPATIBLE
    assert judge(50, 50, 0.05) is Verdict.EXCEEDS


def test_interval_is_clopper_pearson():
    cell = a_cell(violations=7, replicates=200)
    assert cell.interval == pytest.approx(proportion_confint(7, 200, alpha=0.02, method="beta"))
    assert a_cell(violations=0, replicates=200).interval[0] == 0.0


def test_population_agrees_with_counting():
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 8, (500, 3)) / 8
    scores[rng.random((500, 3)) < 0.1] = np.nan
    wrong = rng.random((500, 3)) < 0.3
    population = Population(scores, wrong.astype(float))
    for _ in range(30):
        rule = rng.choice(np.append(np.arange(8) / 8, NONE), 3)
        tallied = counts.path_counts(scores, wrong, rule[None, :])
        m, w = int(tallied.accepted[0]), int(tallied.errors[0])
        risk, coverage = population.risk(rule)
        assert coverage == m / 500
        assert risk is None if m == 0 else risk == pytest.approx(w / m)


def test_posterior_error_agrees_with_simulation():
    rng = np.random.default_rng(1)
    n, rho, rate = 400_000, 0.5, 0.4
    chance = (np.array([0.3, 0.2]), np.array([0.1, 0.25]))
    label = (rng.random(n) < rate).astype(int)
    common = rng.standard_normal((n, 1))
    latent = np.sqrt(rho) * common + np.sqrt(1 - rho) * rng.standard_normal((n, 2))
    errs = stats.norm.cdf(latent) < np.where(label[:, None] == 1, chance[1], chance[0])
    verdicts = label[:, None] ^ errs
    for first in (0, 1):
        for second in (0, 1):
            seen = (verdicts == [first, second]).all(axis=1)
            expected = posterior_error(
                np.array([[first, second]]),
                (chance[0][None, :], chance[1][None, :]),
                rate,
                np.full(2, np.sqrt(rho)),
            )[0]
            assert expected == pytest.approx(errs[seen].mean(axis=0), abs=0.006)


@pytest.mark.parametrize("name", ["trivia", "classes", "tied", "failures", "overconfident"])
@pytest.mark.parametrize("by_verdict", [False, True])
def test_true_risk_is_that_of_many_draws(name: str, by_verdict: bool):
    """0.004 is three standard errors of the drawn risk."""
    world = worlds_named([name])[0]
    population = world.population(60_000, np.random.default_rng(0), by_verdict)
    items = world.draw(200_000, np.random.default_rng(1))
    items = items.by_verdict() if by_verdict else items
    rule = np.array([0.15, 0.1, 0.3, 0.2] if by_verdict else [0.1, 0.3])
    tallied = counts.path_counts(items.scores, items.errors, rule[None, :])
    risk, coverage = population.risk(rule)
    assert risk == pytest.approx(tallied.errors[0] / tallied.accepted[0], abs=0.004)
    assert coverage == pytest.approx(tallied.accepted[0] / items.n, abs=0.008)


def test_nulls_are_nulls():
    """Whatever is accepted in a null has a risk above alpha: checked over a grid of rules."""
    for world in worlds_named(["nulls"]):
        population = world.population(20_000, np.random.default_rng(0), by_verdict=False)
        for first in (NONE, 0.01, 0.1, 0.4, 0.7):
            for second in (NONE, 0.01, 0.1, 0.4, 0.7):
                risk, _ = population.risk(np.array([first, second]))
                assert risk is None or risk > world.alpha, (world.name, first, second)


# Procedures broken on purpose must fail the audit that valid ones pass

SPEEDS = ((0.5, 1.0), (1.0, 1.0), (0.0, 1.0), (1.0, 0.0))


@dataclass(frozen=True, kw_only=True)
class OrderedByTestedRows(PlannedProcedure):
    """Broken: the order of the chain is learned on the rows that it is tested on."""

    name: ClassVar[str] = "order_from_tested_rows"

    def planner(self, sample: Sample, seed: int) -> Planner:
        levels = coverage_levels(0.25, 40)
        path = np.concatenate([quantile_path(sample.pool_scores, s, levels) for s in SPEEDS])
        seen = counts.path_counts(sample.scores, sample.errors, path)

        def plan(target: Target) -> Plan:
            p = binomial.p_value(seen.errors, seen.accepted, target.alpha)
            return Plan((Family(sample, (Chain(path[np.argsort(p)], 1.0),)),))

        return plan


@dataclass(frozen=True, kw_only=True)
class FullDeltaTwice(PlannedProcedure):
    """Broken at share 1: one family of tests for each mode, each at the full delta."""

    name: ClassVar[str] = "full_delta_twice"
    share: float = 1.0

    def planner(self, sample: Sample, seed: int) -> Planner:
        levels = coverage_levels(0.5, 20)
        alone = [(1.0, 0.0), (0.0, 1.0)]
        chains = [Chain(quantile_path(sample.pool_scores, s, levels), 1.0) for s in alone]
        plan = Plan(tuple(Family(sample, (chain,), self.share) for chain in chains))
        return lambda target: plan


@dataclass(frozen=True, kw_only=True)
class SplitTies(PlannedProcedure):
    """Broken: certifies the first items of a tie, and deploys the threshold that takes them all."""

    name: ClassVar[str] = "split_ties"

    def planner(self, sample: Sample, seed: int) -> Planner:
        raise NotImplementedError

    def selector(self, sample: Sample, seed: int) -> Selector:
        return lambda target: self._choose(sample, target)

    def _choose(self, sample: Sample, target: Target) -> Selection:
        order = np.argsort(sample.scores[:, 0], kind="stable")
        accepted = np.arange(50, sample.n + 1)
        wrong = np.cumsum(sample.errors[order, 0])[accepted - 1]
        failed = np.flatnonzero(~binomial.certifies(wrong, accepted, target.alpha, target.delta))
        run = int(failed[0]) if len(failed) else len(accepted)
        if run == 0:
            return nothing(len(accepted), target.delta)
        m, w = int(accepted[run - 1]), int(wrong[run - 1])
        rule = sample.scores[order[m - 1]]
        return Selection(rule, m, w, np.array([m]), target.delta, sample.n, len(accepted), sample.n)


INDEPENDENT = Scenario(
    "flat_and_independent", "null", (Mode((0.151,) * 2), Mode((0.151,) * 2)), 0.15, 0.0, 0.0
)
STEPS = Scenario("steps", "tied", (Mode((0.03, 0.03, 0.3, 0.5, 0.5), levels=3),), 0.1)


def verdict_of(procedure: Procedure, scenario: Scenario, replicates: int, n: int = 400) -> Cell:
    (cell,) = audit(
        [procedure], [ScenarioWorld(scenario)], ns=[n], pool=400, replicates=replicates,
        population=20_000,
    )  # fmt: skip
    return cell


def test_pointwise_fails_on_a_flat_null():
    cell = verdict_of(Pointwise(), worlds_named(["null_flat"])[0].scenario, 60)
    assert cell.verdict is Verdict.EXCEEDS
    assert promises_kept([cell])  # it promised nothing


def test_an_order_learned_on_the_tested_rows_fails():
    null = worlds_named(["null_flat"])[0].scenario
    cell = verdict_of(OrderedByTestedRows(), null, 100)
    assert cell.verdict is Verdict.EXCEEDS
    assert not promises_kept([cell])
    for valid in (FixedSequence(), Portfolio()):
        assert verdict_of(valid, null, 100).verdict is Verdict.COMPATIBLE


def test_full_delta_at_both_stages_fails():
    """Not quite 2 delta (counts are discrete); many labels and replicates tell that from delta."""
    assert verdict_of(FullDeltaTwice(), INDEPENDENT, 600, n=2000).verdict is Verdict.EXCEEDS
    halved = verdict_of(FullDeltaTwice(share=0.5), INDEPENDENT, 600, n=2000)
    assert halved.verdict is Verdict.COMPATIBLE


def test_split_ties_fail():
    broken = verdict_of(SplitTies(), STEPS, 60)
    assert broken.verdict is Verdict.EXCEEDS
    whole = verdict_of(FixedSequence(), STEPS, 60)
    assert whole.verdict is Verdict.COMPATIBLE
    assert whole.coverage > 0.2


# The same call gives the same bytes


SMALL = {"ns": [200], "pool": 100, "population": 2_000, "replicates": 50}


def folder_bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.json"))}


def test_an_interrupted_audit_goes_on_where_it_stopped(tmp_path: Path):
    worlds = worlds_named(["trivia", "null_flat"])
    procedures = [FixedSequence(), Portfolio()]
    whole = audit(procedures, worlds, cache=tmp_path / "whole", **SMALL)

    def stop(done: int) -> None:
        if done >= 150:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit(procedures, worlds, cache=tmp_path / "parts", progress=stop, **SMALL)
    kept = folder_bytes(tmp_path / "parts")
    assert 0 < len(kept) < 4
    seen: list[int] = []
    resumed = audit(procedures, worlds, cache=tmp_path / "parts", progress=seen.append, **SMALL)
    assert seen[0] == 50 * len(kept)
    assert resumed == whole
    assert folder_bytes(tmp_path / "parts") == folder_bytes(tmp_path / "whole")


def test_results_do_not_depend_on_the_number_of_jobs():
    worlds = worlds_named(["trivia"])
    one = audit([FixedSequence(), Portfolio()], worlds, alphas=[0.1, 0.2], **SMALL)
    two = audit([FixedSequence(), Portfolio()], worlds, alphas=[0.1, 0.2], n_jobs=2, **SMALL)
    assert one == two
    assert [cell.procedure for cell in one] == ["fixed_sequence", "portfolio"] * 2


def test_replicates_do_not_depend_on_one_another():
    world = worlds_named(["trivia"])[0]
    setting = Setting(world, 200, 100, 0.1, 0.05, False, 50, 0, 2_000)
    together = run_job(Job(setting, (Portfolio(),), ((0.1,),), 0, 12))
    alone = run_job(Job(setting, (Portfolio(),), ((0.1,),), 10, 12))
    np.testing.assert_array_equal(together[:2, :, 10:], alone[:2])


def test_settings_are_never_mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    setting = Setting(worlds_named(["trivia"])[0], 200, 100, 0.1, 0.05, False, 50, 0, 2_000)
    others = [
        replace(setting, **{name: value})
        for name, value in {
            "n": 201, "pool": 0, "alpha": 0.11, "delta": 0.06, "by_verdict": True,
            "replicates": 51, "seed": 1, "population": 2_001, "world": worlds_named(["hotpot"])[0],
        }.items()
    ]  # fmt: skip
    keys = {s.key(Portfolio()) for s in [setting, *others]}
    keys |= {setting.key(Portfolio(steps=20)), setting.key(FixedSequence())}
    monkeypatch.setattr("riskjudge.audit.cells.__version__", "99")
    keys.add(setting.key(Portfolio()))
    assert len(keys) == 13


def test_a_damaged_cell_is_done_again(tmp_path: Path):
    first = audit([FixedSequence()], worlds_named(["trivia"]), cache=tmp_path, **SMALL)
    (file,) = tmp_path.glob("*.json")
    before = file.read_bytes()
    file.write_bytes(before[:40])
    assert audit([FixedSequence()], worlds_named(["trivia"]), cache=tmp_path, **SMALL) == first
    assert file.read_bytes() == before


# A user's own setting


def own(name: str, n: int, seed: int = 3) -> tuple[TraceWorld, ScenarioWorld]:
    real = worlds_named([name])[0]
    items = real.draw(n, np.random.default_rng(seed))
    return TraceWorld.from_trace(
        Trace.from_arrays(items.scores, items.verdicts, items.labels)
    ), real


@pytest.mark.parametrize(
    "name", ["trivia", "classes", "tied", "failures", "dependent", "first_only"]
)
def test_the_smoothed_truth_is_close_to_the_real_one(name: str):
    """Over rules of at least 20 % coverage; the sampling error of 2,000 labels alone is .01."""
    world, real = own(name, 2000)
    rng = np.random.default_rng(0)
    for by_verdict in (False, True):
        modelled = world.population(0, rng, by_verdict)
        truth = real.population(40_000, rng, by_verdict)
        gaps = []
        for _ in range(40):
            rule = rng.choice([NONE, 0.02, 0.1, 0.25, 0.45, 0.7], 4 if by_verdict else 2)
            risk, coverage = truth.risk(rule)
            if risk is not None and coverage >= 0.2:
                gaps.append(modelled.risk(rule)[0] - risk)
        assert np.abs(gaps).mean() < 0.02
        assert np.abs(gaps).max() < 0.05


def test_own_audit_agrees_with_the_real_world():
    """Coverage within .1: that far may two samples of 2,000 labels lie apart."""
    world, real = own("trivia", 2000)
    settings = {**SMALL, "ns": [1000], "pool": 500, "replicates": 60}
    mine, theirs = audit([Portfolio()], [world, real], **settings)
    assert mine.verdict is Verdict.COMPATIBLE
    assert mine.coverage == pytest.approx(theirs.coverage, abs=0.1)
    assert "With your 1000 labelled items" in in_words(mine)


def test_resampling_preserves_all_but_the_labels():
    world, _ = own("failures", 500)
    drawn = world.draw(4000, np.random.default_rng(0))
    rows = {tuple(row) for row in np.nan_to_num(world.trace.scores, nan=-9.0)}
    assert {tuple(row) for row in np.nan_to_num(drawn.scores, nan=-9.0)} <= rows
    assert np.all((drawn.verdicts < 0) == np.isnan(drawn.scores))
    risk, _ = world.population(0, np.random.default_rng(0), False).risk(np.array([0.1, 0.3]))
    tallied = counts.path_counts(drawn.scores, drawn.errors, np.array([[0.1, 0.3]]))
    assert risk == pytest.approx(tallied.errors[0] / tallied.accepted[0], abs=0.03)


def test_a_model_needs_labels():
    one = np.ones((60, 1))
    with pytest.raises(InputError, match="50 labelled"):
        TraceWorld.from_trace(Trace.from_arrays(one, one.astype(int), np.full(60, -1)))
    with pytest.raises(InputError, match="both classes"):
        TraceWorld.from_trace(Trace.from_arrays(one, one.astype(int), np.ones(60, int)))


# What it says


def a_cell(**changes: object) -> Cell:
    cell = Cell(
        "portfolio", Guarantee.HIGH_PROBABILITY, {}, "trivia", "smooth", 1000, 1000, 0.1, 0.05,
        False, 200, 0, 3, 190, 0.6, 0.1, 0.07, 0.004,
    )  # fmt: skip
    return replace(cell, **changes)  # type: ignore[arg-type]


def test_ratios_are_to_the_pointwise_rule():
    pointwise = a_cell(procedure="pointwise", guarantee=Guarantee.NONE, coverage=0.8)
    null = a_cell(world="null_flat", kind="null", violations=30, coverage=0.01)
    cells = [a_cell(), null, pointwise, a_cell(by_verdict=True, coverage=0.72)]
    mine, reference, split = summarize(cells)
    assert (mine.ratio, mine.n_ratio, reference.ratio) == (pytest.approx(0.75), 1, 1.0)
    assert split.procedure == "portfolio, by verdict"
    assert split.ratio == pytest.approx(0.9)
    assert (mine.worst, mine.worst_on_nulls) == (0.015, 0.15)
    assert mine.exceeding == ("null_flat, n = 1000, alpha = 0.1",)
    assert not promises_kept(cells)
    assert "undefined" in cells_table(cells).to_markdown()  # the null has no reference


def test_unknown_worlds_are_named():
    with pytest.raises(InputError, match=r"unknown scenario 'trivial'.*trivia"):
        worlds_named(["trivial"])
    with pytest.raises(InputError, match=r"such as .*TriviaQA"):
        worlds_named(["paper:TriviaQA"])


def test_paper_worlds_know_their_truth():
    name = "paper:Qwen3-8B__Qwen3-8B__TriviaQA__main"
    (world,) = worlds_named([name])
    for by_verdict in (False, True):
        population = world.population(60_000, np.random.default_rng(0), by_verdict)
        items = world.draw(200_000, np.random.default_rng(1))
        items = items.by_verdict() if by_verdict else items
        rule = np.array([0.0, 0.1, 0.2, 0.2] if by_verdict else [0.1, 0.2])
        tallied = counts.path_counts(items.scores, items.errors, rule[None, :])
        expected = tallied.errors[0] / tallied.accepted[0]
        assert population.risk(rule)[0] == pytest.approx(expected, abs=0.006)


# Command line


def run_command(*arguments: str) -> tuple[int, str]:
    app = typer.Typer()
    command.register(app)
    result = CliRunner().invoke(app, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout


FAST = ("--n", "200", "--pool", "100", "--replicates", "6", "--jobs", "1")


def test_command_on_scenarios():
    code, text = run_command(
        "--procedure", "portfolio", "--procedure", "fixed_sequence", "--scenario", "trivia",
        "--scenario", "null_flat", "--json", *FAST,
    )  # fmt: skip
    assert code == 0
    data = json.loads(text, parse_constant=pytest.fail)
    assert data["promises_kept"]
    names = {cell["procedure"] for cell in data["cells"]}
    assert names == {"portfolio", "fixed_sequence", "pointwise"}
    assert len(data["cells"]) == 6


def test_command_says_no_to_a_broken_promise(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(PROCEDURES, "order_from_tested_rows", OrderedByTestedRows)
    code, text = run_command(
        "--procedure", "order_from_tested_rows", "--scenario", "null_flat", "--n", "300",
        "--pool", "300", "--replicates", "40", "--jobs", "1", "--format", "markdown",
    )  # fmt: skip
    assert code == 1
    assert "exceeds" in text


def test_command_on_your_own_trace(tmp_path: Path):
    world, _ = own("classes", 300)
    file = tmp_path / "mine.csv"
    world.trace.to_frame().to_csv(file, index=False)
    code, text = run_command(
        "--trace", str(file), "--procedure", "portfolio", "--alphas", "0.2", "--by-verdict",
        "--replicates", "6", "--jobs", "1", "--json",
    )  # fmt: skip
    assert code == 0
    said = json.loads(text)["in_words"]
    assert said[0].startswith("With your 300 labelled items and your scores, at alpha = 0.2")
    assert "portfolio, by verdict breaks its promise in" in said[0]


# The study and the peers


@pytest.fixture
def validity(monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", [str(VALIDITY), *sys.path])
    return VALIDITY


def test_quick_study_runs(validity: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    study = importlib.import_module("study")
    assert study.main(["--quick", "--output", str(tmp_path)]) == 0
    made = {path.stem for path in tmp_path.glob("*.csv")}
    assert made == set(study.PARTS)
    assert "portfolio" in capsys.readouterr().out


def peers(validity: Path) -> dict[str, object]:
    found = importlib.import_module("peers").PEERS
    return {peer.name: peer for peer in found}


def test_sgr_splits_ties(validity: Path):
    cell = verdict_of(peers(validity)["SGR"], STEPS, 40)
    assert cell.verdict is Verdict.EXCEEDS


def test_linear_constraints_by_hand(validity: Path):
    """n = 8, alpha = .25: the condition is errors <= m / 4 - 1."""
    scores = np.column_stack([np.full(8, np.nan), np.arange(8) / 10])
    wrong = np.array([0, 0, 0, 0, 0, 0, 1, 0])
    verdicts = np.column_stack([np.full(8, -1), wrong])
    sample = Sample(scores, verdicts, np.zeros(8, int), ("a", "b"))
    found = peers(validity)
    for name in ("SCOPE (one mode)", "LEC (two modes)"):
        # 8 accepted with one error: 1 <= 1.
        assert found[name].certify(sample, 0.25, 0.05).accepted == 8
        # alpha = .2: 8 accepted allow .6 errors, 5 without an error allow 0.
        assert found[name].certify(sample, 0.2, 0.05).accepted == 6


def test_graph_hands_its_level_on(validity: Path):
    peers(validity)
    graph = importlib.import_module("lattice_graph")
    p = np.array([[0.01, 0.02], [0.03, 0.04]])
    level = np.array([[0.05, 0.0], [0.0, 0.0]])
    # .05 at the corner, .025 to each neighbour: .02 passes, .03 does not; .025 goes on to the last.
    np.testing.assert_array_equal(
        graph._pass_on(p, level), np.array([[True, True], [False, False]])
    )


@pytest.mark.parametrize("name", ["Pareto testing", "lattice graph (BalanceRAG style)"])
def test_valid_peers_pass(validity: Path, name: str):
    null = worlds_named(["null_flat"])[0].scenario
    assert verdict_of(peers(validity)[name], null, 60).verdict is Verdict.COMPATIBLE
