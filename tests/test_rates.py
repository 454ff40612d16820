"""Pass rates corrected for the judge's errors: known answers, peers, and coverage by simulation."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import riskjudge
from riskjudge.cli import app
from riskjudge.errors import InputError
from riskjudge.proportion import clopper_pearson, share_of
from riskjudge.rates import ESTIMATORS, RateSample, estimate_rates, rank_systems, rate_systems
from riskjudge.rates.betting import mean_interval
from riskjudge.rates.cells import make_cells
from riskjudge.rates.report import no_label_bounds


def drawn(rng, n, labels, rate=0.7, tpr=0.9, tnr=0.8):
    """Verdicts on n rows, labels on the first of them; rows are in random order already."""
    truth = (rng.random(n) < rate).astype(int)
    verdicts = np.where(rng.random(n) < np.where(truth == 1, tpr, 1 - tnr), 1, 0)
    return verdicts, np.where(np.arange(n) < labels, truth, -1)


def sample(*arguments, **keywords):
    return RateSample.from_arrays(*drawn(*arguments, **keywords))


def test_labels_alone_are_the_exact_interval_of_statsmodels():
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    some = sample(np.random.default_rng(0), 1000, 137)
    found = ESTIMATORS["classical"](some)
    passes = int(some.labels[some.labelled].sum())
    low, high = proportion.proportion_confint(passes, 137, method="beta")
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-6)


def test_the_post_stratified_estimate_by_hand():
    verdicts = np.repeat([1, 0], [60, 40])
    labels = np.full(100, -1)
    labels[:10] = np.repeat([1, 0], [8, 2])
    labels[60:70] = np.repeat([1, 0], [1, 9])
    found = ESTIMATORS["stratified"](RateSample.from_arrays(verdicts, labels))
    assert found.estimate == pytest.approx(0.6 * 0.8 + 0.4 * 0.1)
    low1, high1 = clopper_pearson(0.8, 10, 0.95)
    low0, high0 = clopper_pearson(0.1, 10, 0.95)
    between = 1.959964**2 * 0.6 * 0.4 * 0.7**2 / 100
    assert found.low == pytest.approx(
        0.52 - np.sqrt((0.6 * (0.8 - low1)) ** 2 + (0.4 * (0.1 - low0)) ** 2 + between), abs=1e-6
    )
    assert found.high == pytest.approx(
        0.52 + np.sqrt((0.6 * (high1 - 0.8)) ** 2 + (0.4 * (high0 - 0.1)) ** 2 + between), abs=1e-6
    )


@pytest.mark.parametrize("name,tuning", [("ppi", 1), ("ppi_plus_plus", None)])
def test_prediction_powered_inference_agrees_with_its_authors(name, tuning):
    ppi_py = pytest.importorskip("ppi_py")
    rng = np.random.default_rng(1)
    for tpr, tnr in [(0.9, 0.8), (0.6, 0.5), (0.99, 0.3)]:
        some = sample(rng, 900, 120, 0.4, tpr, tnr)
        on = some.labelled
        arrays = [a.astype(float) for a in (some.labels[on], some.verdicts[on], some.verdicts[~on])]
        low, high = ppi_py.ppi_mean_ci(*arrays, alpha=0.05, lam=tuning)
        point = ppi_py.ppi_mean_pointestimate(*arrays, lam=tuning)
        found = ESTIMATORS[name](some)
        assert found.estimate == pytest.approx(float(np.squeeze(point)), abs=1e-6)
        assert found.low == pytest.approx(float(np.squeeze(low)), abs=1e-6)
        assert found.high == pytest.approx(float(np.squeeze(high)), abs=1e-6)


def test_rogan_gladen_by_hand_and_undefined_where_the_judge_has_no_skill():
    verdicts = np.repeat([1, 0], [600, 400])
    labels = np.full(1000, -1)
    labels[:100], labels[600:700] = np.repeat([1, 0], [90, 10]), np.repeat([1, 0], [10, 90])
    found = ESTIMATORS["rogan_gladen"](RateSample.from_arrays(verdicts, labels))
    assert found.detail == {"tpr": 0.9, "tnr": 0.9, "judged": 0.6}
    assert found.estimate == pytest.approx((0.6 + 0.9 - 1) / 0.8)
    assert found.low < found.estimate < found.high
    turned = ESTIMATORS["rogan_gladen"](RateSample.from_arrays(1 - verdicts, labels))
    assert (turned.estimate, turned.low) == (None, None)
    assert "is not above 1" in turned.undefined
    one_kind = ESTIMATORS["rogan_gladen"](
        RateSample.from_arrays(verdicts, np.where(labels == 1, 1, -1))
    )
    assert one_kind.estimate is None
    assert "no label says failures" in one_kind.undefined


def test_zero_failures_seen_still_leaves_room_below():
    verdicts = np.ones(1000, dtype=int)
    found = estimate_rates(RateSample.from_arrays(verdicts, np.where(np.arange(1000) < 100, 1, -1)))
    for name in ("classical", "stratified", "finite_sample"):
        assert found.estimates[name].low < 0.98, name
        assert found.estimates[name].high == pytest.approx(1.0)


def test_no_labels_is_undefined_and_not_zero():
    report = estimate_rates(RateSample.from_arrays(np.array([1, 0, 1]), np.full(3, -1)))
    assert report.estimates["raw"].estimate == pytest.approx(2 / 3)
    for name in set(ESTIMATORS) - {"raw"}:
        assert report.estimates[name].estimate is None, name
    assert json.loads(json.dumps(report.to_dict()))["corrected"]["interval"] is None


def test_rows_without_a_verdict_belong_to_the_rate():
    rng = np.random.default_rng(2)
    verdicts, labels = drawn(rng, 4000, 800, 0.9)
    missing = np.arange(4000) % 4 == 0
    verdicts[missing] = -1
    labels[missing & (labels >= 0)] = 0  # the judge fails where the system does
    report = estimate_rates(RateSample.from_arrays(verdicts, labels))
    truth = 0.75 * 0.9
    assert report.corrected.low < truth < report.corrected.high
    assert report.estimates["raw"].low > truth + 0.05
    parts = {part.name: part for part in report.parts}
    assert parts["failed"].corrected.estimate == 0.0
    assert parts["failed"].share == 0.25
    bounds = report.no_label_bounds
    assert bounds.high - bounds.low > 0.25
    assert bounds.low < truth < bounds.high


def test_a_part_that_nobody_labelled_is_not_made_up():
    verdicts, labels = drawn(np.random.default_rng(3), 2000, 400)
    missing = np.arange(2000) % 5 == 0
    verdicts[missing] = labels[missing] = -1
    found = ESTIMATORS["stratified"](RateSample.from_arrays(verdicts, labels))
    assert found.estimate is None
    assert "no label among the rows failed" in found.undefined
    assert found.high - found.low > 0.2


def test_effective_numbers_of_weights_and_groups():
    assert share_of(np.array([1, 0, 1, 0])).effective == pytest.approx(4)
    assert share_of(np.ones(4), np.array([3.0, 1, 1, 1])).effective == pytest.approx(3)
    doubled = np.repeat(np.resize([1, 0, 0], 60), 2)
    alone = share_of(doubled)
    grouped = share_of(doubled, group=np.repeat(np.arange(60), 2))
    assert 45 < grouped.effective < 62 < alone.effective


def test_weights_undo_an_unequal_draw():
    rng = np.random.default_rng(4)
    truth = np.repeat([1, 0], [9000, 1000])
    probability = np.where(truth == 1, 0.01, 0.3)
    labels = np.where(rng.random(10_000) < probability, truth, -1)
    verdicts = np.full(10_000, 1)
    verdicts[rng.random(10_000) < 0.3] = 0
    found = estimate_rates(RateSample.from_arrays(verdicts, labels, weight=1 / probability))
    for name in ("classical", "stratified", "ppi", "ppi_plus_plus"):
        assert found.estimates[name].low < 0.9 < found.estimates[name].high, name
    assert found.estimates["finite_sample"].estimate is None
    without = estimate_rates(RateSample.from_arrays(verdicts, labels))
    assert without.corrected.high < 0.5


def test_a_draw_by_the_judges_confidence_is_pointed_at():
    rng = np.random.default_rng(5)
    verdicts, labels = drawn(rng, 2000, 2000)
    unsure = rng.random(2000)
    labels[(unsure < 0.5) | (rng.random(2000) < 0.5)] = -1
    notes = estimate_rates(RateSample.from_arrays(verdicts, labels, uncertainty=unsure)).notes
    assert any("hardly drawn at random" in note for note in notes)
    verdicts, labels = drawn(rng, 2000, 300)
    quiet = estimate_rates(RateSample.from_arrays(verdicts, labels, uncertainty=unsure)).notes
    assert quiet == ()


def test_a_cell_is_split_by_confidence_only_with_labels_enough():
    rng = np.random.default_rng(6)
    few = RateSample.from_arrays(*drawn(rng, 3000, 150), uncertainty=rng.random(3000))
    many = RateSample.from_arrays(*drawn(rng, 3000, 1500), uncertainty=rng.random(3000))
    assert len(make_cells(few).rows) == 2
    assert len(make_cells(many).rows) > 4
    tied = RateSample.from_arrays(*drawn(rng, 3000, 1500), uncertainty=np.zeros(3000))
    assert len(make_cells(tied).rows) == 2


def coverage(name, runs, rng, *, labels, rate, tpr, tnr, rows=2000):
    hits = 0
    for _ in range(runs):
        found = ESTIMATORS[name](sample(rng, rows, labels, rate, tpr, tnr))
        hits += found.low is not None and found.low <= rate <= found.high
    return hits / runs


@pytest.mark.parametrize(
    "labels,rate,tpr,tnr",
    [(50, 0.9, 0.9, 0.9), (100, 0.05, 0.9, 0.9), (100, 0.98, 0.55, 0.5), (200, 0.5, 0.7, 0.6)],
)
def test_the_corrected_interval_holds_where_the_raw_one_does_not(labels, rate, tpr, tnr):
    rng = np.random.default_rng(7)
    runs = 600  # standard error 0.009 at 95 %
    cell = {"labels": labels, "rate": rate, "tpr": tpr, "tnr": tnr}
    assert coverage("stratified", runs, rng, **cell) >= 0.93
    assert coverage("raw", 100, rng, **cell) < 0.3


def test_the_betting_interval_holds():
    rng = np.random.default_rng(8)
    assert coverage("finite_sample", 150, rng, labels=100, rate=0.9, tpr=0.8, tnr=0.7) >= 0.94
    low, high = mean_interval(rng.random(2000), 0.95)
    assert low < 0.5 < high
    assert high - low < 0.06


def test_a_good_judge_saves_labels():
    rng = np.random.default_rng(9)
    some = sample(rng, 20_000, 400, 0.6, 0.9, 0.9)
    report = estimate_rates(some)
    saved = (report.estimates["classical"].width / report.corrected.width) ** 2
    assert saved > 1.5


def test_groups_make_intervals_longer_where_rows_depend():
    rng = np.random.default_rng(10)
    hits = {True: 0, False: 0}
    for _ in range(200):
        group = np.repeat(np.arange(300), 5)
        truth = np.repeat(rng.random(300) < 0.6, 5).astype(int)
        verdicts = np.where(rng.random(1500) < 0.8, truth, 1 - truth)
        labels = np.where(np.isin(group, np.arange(40)), truth, -1)
        for grouped in hits:
            some = RateSample.from_arrays(verdicts, labels, group=group if grouped else None)
            found = ESTIMATORS["stratified"](some)
            hits[grouped] += found.low <= 0.6 <= found.high
    assert hits[True] >= 186
    assert hits[False] < 170


def systems(rng, rates, n=400, labels=150):
    """The same questions answered by every system; hard questions are hard for all."""
    hard = rng.standard_normal(n)
    result = {}
    for name, rate in rates.items():
        from scipy import stats

        score = 0.8 * hard + 0.6 * rng.standard_normal(n)
        truth = (score < stats.norm.ppf(rate)).astype(int)
        verdicts = np.where(rng.random(n) < 0.85, truth, 1 - truth)
        result[name] = RateSample.from_arrays(
            verdicts, np.where(np.arange(n) < labels, truth, -1), group=np.arange(n)
        )
    return result


def test_differences_of_systems_hold_together_and_pairing_helps():
    rng = np.random.default_rng(11)
    rates = {"a": 0.8, "b": 0.7, "c": 0.7}
    together = shorter = 0
    for _ in range(150):
        found = systems(rng, rates)
        ranking = rank_systems(found)
        together += all(
            d.simultaneous[0] <= rates[d.better] - rates[d.than] <= d.simultaneous[1]
            for d in ranking.differences
        )
        alone = rank_systems(
            {k: RateSample.from_arrays(s.verdicts, s.labels) for k, s in found.items()}
        )
        shorter += np.mean([d.high - d.low for d in ranking.differences]) < np.mean(
            [d.high - d.low for d in alone.differences]
        )
    assert together >= 138
    assert shorter >= 140


def test_a_ranking_says_what_cannot_be_told_apart():
    ranking = rank_systems(systems(np.random.default_rng(16), {"a": 0.9, "b": 0.4, "c": 0.4}))
    assert ranking.systems[0] == "a"
    assert ranking.ranks == ((1, 1), (2, 3), (2, 3))
    assert ranking.perhaps_best == ("a",)
    assert "cannot be told apart" in ranking.differences[-1].sentence()


def test_labels_of_one_system_help_another_only_when_asked():
    rng = np.random.default_rng(13)
    verdicts, labels = drawn(rng, 2000, 2000)
    system = np.repeat(["known", "new"], 1000).astype(object)
    labels[300:] = -1
    some = RateSample.from_arrays(verdicts, labels)
    assert rate_systems(some, system).systems["new"].corrected.estimate is None
    pooled = rate_systems(some, system, pool_judge=True)
    assert pooled.pooled["new"].low < 0.7 < pooled.pooled["new"].high
    assert pooled.same_judge == (None, None)


def test_the_order_of_rows_changes_nothing():
    rng = np.random.default_rng(14)
    frame = table(rng)
    shuffled = frame.sample(frac=1, random_state=0)
    first, second = (
        rate_systems(
            RateSample.from_trace(riskjudge.Trace.from_frame(f)),
            f["system"].to_numpy(dtype=object),
        ).to_dict()
        for f in (frame, shuffled)
    )
    # Sums in another order differ in the last digit.
    assert json.loads(json.dumps(first), parse_float=lambda x: round(float(x), 9)) == json.loads(
        json.dumps(second), parse_float=lambda x: round(float(x), 9)
    )


def table(rng, n=600):
    verdicts, labels = drawn(rng, n, n)
    return pd.DataFrame(
        {
            "item_id": [f"i{k:04}" for k in range(n)],
            "system": rng.choice(["a", "b"], n),
            "question": np.arange(n) // 3,
            "label": np.where(rng.random(n) < 0.3, labels, np.nan),
            "v1": verdicts,
            "u1": rng.random(n).round(2),
        }
    )


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "trace.csv"
    table(np.random.default_rng(15)).to_csv(path, index=False)
    return path


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_the_command_line(file):
    done = run("rate", file, "--json")
    data = json.loads(done.stdout)
    assert data["corrected"]["method"].startswith("post-stratified")
    low, high = data["corrected"]["interval"]
    assert low < data["corrected"]["estimate"] < high
    assert set(ESTIMATORS) <= set(data)
    by = json.loads(run("rate", file, "--by", "system", "--pool-judge", "--json").stdout)
    assert set(by["systems"]) == {"a", "b"}
    assert by["ranking"]["systems"][0]["rank"] == [1, 2]
    assert by["corrected"]["n_all"] == 600
    printed = run("rate", file, "--by", "system").stdout
    assert "cannot be told apart" in printed
    assert run("rate", file, "--by", "nonsense").exception is not None


def test_the_command_line_with_a_gate_and_with_outcomes(tmp_path):
    trace, gate, outcomes = (tmp_path / name for name in ("t.csv", "g.json", "o.csv"))
    riskjudge.demo_trace().to_frame().to_csv(trace, index=False)
    assert run("calibrate", trace, "--alpha", "0.2", "-o", gate).exit_code == 0
    run("decide", gate, trace, "-o", outcomes)
    done = [run("rate", trace, "--gate", gate, "--json"), run("rate", outcomes, "--json")]
    both = [json.loads(one.stdout) for one in done]
    assert both[0] == both[1] | {"trace": str(trace)}
    for data in both:
        parts = data["parts"]
        total = sum(p["share"] * p["corrected"]["estimate"] for p in parts.values())
        assert total == pytest.approx(data["corrected"]["estimate"], abs=0.01)
        assert parts["accepted"]["raw"]["estimate"] is not None
        bounds = data["no_label_bounds"]["interval"]
        assert bounds[1] - bounds[0] > parts["abstained"]["share"]


def test_a_labelled_row_needs_its_weight(file):
    frame = pd.read_csv(file)
    frame["weight"] = np.where(frame["label"].notna(), 2.0, np.nan)
    RateSample.from_trace(riskjudge.Trace.from_frame(frame))
    frame.loc[frame["label"].notna().idxmax(), "weight"] = 0
    with pytest.raises(InputError, match="weight"):
        RateSample.from_trace(riskjudge.Trace.from_frame(frame))


@pytest.mark.parametrize("accepted", [0.5, 1.0])
def test_bounds_without_labels_of_the_rest(accepted):
    n = 1000
    verdicts = np.where(np.arange(n) < accepted * n, 1, -1)
    found = no_label_bounds(RateSample.from_arrays(verdicts, np.where(verdicts == 1, 1, -1)))
    assert found.high == pytest.approx(1.0)
    assert found.low == pytest.approx(accepted, abs=0.04)


def test_a_plan_delivers_the_width_it_was_made_for():
    from riskjudge.rates.planning import plan_from_pilot, plan_rate

    plan = plan_rate(0.1, rate=0.7, tpr=0.9, tnr=0.9, rows=10_000)
    rng = np.random.default_rng(17)
    widths = [
        ESTIMATORS["stratified"](sample(rng, 10_000, plan.labels, 0.7, 0.9, 0.9)).width
        for _ in range(100)
    ]
    assert np.mean(widths) == pytest.approx(0.1, rel=0.05)
    assert plan_rate(0.01, rows=500).labels is None
    pilot = plan_from_pilot(sample(rng, 10_000, 300, 0.7, 0.9, 0.9), 0.1)
    assert pilot.labels == pytest.approx(plan.labels, rel=0.25)
    done = run("plan", "--rate", "--width", 0.1, "--expected", 0.7, "--json")
    assert json.loads(done.stdout)["labels"] == plan_rate(0.1, rate=0.7).labels
    assert run("plan", "--rate", "--width", 0.001, "--rows", 1000).exit_code == 1
    assert isinstance(run("plan", "--rate").exception, InputError)


def test_the_pictures(tmp_path):
    from riskjudge.plots import DifferencesDisplay, LabelWidthDisplay, RatesDisplay

    found = systems(np.random.default_rng(18), {"a": 0.9, "b": 0.7, "c": 0.4})
    ranking = rank_systems(found)
    drawn = DifferencesDisplay.from_ranking(ranking)
    assert drawn.values[:, 0].tolist() == [d.estimate for d in ranking.differences]
    drawn.plot().save(tmp_path / "differences.png")
    group = np.concatenate([s.group for s in found.values()])
    whole = RateSample.from_arrays(
        np.concatenate([s.verdicts for s in found.values()]),
        np.concatenate([s.labels for s in found.values()]),
        group=group,
    )
    rates = rate_systems(whole, np.repeat(list("abc"), 400).astype(object))
    shown = RatesDisplay.from_rates(rates)
    assert shown.names == ("a", "b", "c")
    assert shown.values[1, 0, 0] == rates.systems["a"].corrected.estimate
    shown.plot().save(tmp_path / "rates.svg")
    widths = LabelWidthDisplay.from_sample(whole)
    # The curve goes through what is there, groups and all.
    at_now = np.interp(widths.now[0], widths.labels, widths.corrected)
    assert at_now == pytest.approx(widths.now[1], rel=0.1)
    widths.plot().save(tmp_path / "widths.pdf")


@pytest.mark.parametrize("kind", ["rates", "differences", "label-width"])
def test_pictures_from_the_command_line(file, tmp_path, kind):
    out = tmp_path / f"{kind}.png"
    done = run("plot", kind, file, "--by", "system", "-o", out)
    assert done.exit_code == 0, done.exception
    assert out.stat().st_size > 5000


def test_edges_are_said_and_never_made_up():
    rng = np.random.default_rng(19)
    verdicts, labels = drawn(rng, 300, 60)
    one_group = estimate_rates(RateSample.from_arrays(verdicts, labels, group=np.zeros(300)))
    for name in ("stratified", "rogan_gladen", "finite_sample"):
        assert one_group.estimates[name].low is None, name
    assert one_group.estimates["classical"].width == pytest.approx(1.0)
    alike = estimate_rates(RateSample.from_arrays(verdicts, np.where(labels >= 0, 1, -1)))
    assert any("mean nothing here" in note for note in alike.notes)
    assert alike.corrected.low < 0.97
    nobody = estimate_rates(RateSample.from_arrays(np.full(300, -1), labels))
    assert nobody.estimates["raw"].estimate is None
    assert nobody.corrected.estimate == pytest.approx(nobody.estimates["classical"].estimate)
    single = estimate_rates(RateSample.from_arrays(np.array([1]), np.array([1])))
    assert single.corrected.low == pytest.approx(0.025)
