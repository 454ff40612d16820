"""Noise that masks a measured bias: the promise against known truth, its price, and the command."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

from riskjudge.cli import main
from riskjudge.errors import InputError
from riskjudge.reliability import bounded
from riskjudge.reliability.bounded import effect, mask
from riskjudge.reliability.published import published
from riskjudge.reliability.ranking import rank_systems
from riskjudge.reliability.scores import read_scores, widened

DELTA = 0.1


def quantiles(distribution, k=400):
    """k equally likely atoms: sampling and truth are then exact."""
    return distribution.ppf((np.arange(k) + 0.5) / k), np.full(k, 1 / k)


WORLDS = {
    "normal": quantiles(stats.norm(0, 0.4)),
    "heavy": quantiles(stats.t(1, scale=0.2)),
    "sparse": (np.array([0.0, 2.0]), np.array([0.8, 0.2])),
    "likert": (np.array([-1.0, 0.0, 1.0, 2.0]), np.array([0.1, 0.75, 0.1, 0.05])),
    # A rare huge shift just above tau = .1: the hardest to tell from a harmless one.
    "needle": (np.array([0.0, 1e6]), np.array([0.895, 0.105])),
}


def truth(world):
    shifts, chance = WORLDS[world]
    return lambda sigma: float(effect(shifts, sigma) @ chance)


def broken_share(world, n, tau, runs, delta=DELTA, seed=0):
    """Share of samples whose sigma leaves more than tau, and the sigmas."""
    shifts, chance = WORLDS[world]
    rng = np.random.default_rng(seed)
    found = [mask(rng.choice(shifts, n, p=chance), tau, delta).sigma for _ in range(runs)]
    risk = truth(world)
    broken = [sigma is not None and risk(sigma) > tau * (1 + 1e-12) for sigma in found]
    return np.mean(broken), np.array([np.inf if s is None else s for s in found])


@pytest.mark.parametrize(("world", "n"), [(w, n) for w in WORLDS for n in (22, 60)])
def test_the_promise_holds_against_known_truth(world, n, monkeypatch):
    monkeypatch.setattr(bounded, "_PRECISION", 1e-3)  # on the safe side all the same
    runs = 120
    share, _ = broken_share(world, n, 0.1, runs)
    assert share <= stats.binom.ppf(0.9999, runs, DELTA) / runs


def test_a_bound_that_is_broken_on_purpose_is_found(monkeypatch):
    """The mean of the sample in place of its bound breaks the promise about every second time."""

    def plug_in(losses, tau, bets):
        return math.inf if losses.mean() <= tau else -math.inf

    monkeypatch.setattr(bounded, "_PRECISION", 1e-3)
    monkeypatch.setattr(bounded, "_log_capital", plug_in)
    share, _ = broken_share("normal", 60, 0.1, 120)
    assert share > stats.binom.ppf(0.9999, 120, DELTA) / 120
    monkeypatch.undo()
    # Of the kind where the bound is sharp, a quarter of the evidence asked for is not enough either.
    wrong = stats.binom.pmf(0, 22, 0.105)
    assert DELTA / 2 < wrong <= DELTA
    share, _ = broken_share("needle", 12, 0.1, 200, delta=min(4 * DELTA, 0.99))
    assert share > stats.binom.ppf(0.9999, 200, DELTA) / 200


@pytest.mark.parametrize("world", ["normal", "sparse", "likert"])
def test_the_noise_is_within_twice_what_is_needed(world):
    tau = 0.1
    risk = truth(world)
    need = optimize.brentq(lambda sigma: risk(sigma) - tau, 1e-6, 1e6)
    _, found = broken_share(world, 200, tau, 15, delta=0.05)
    assert 1.0 < np.median(found) / need < 2.0


@pytest.mark.parametrize(("tau", "delta"), [(0.1, 0.05), (0.05, 0.05), (0.2, 0.01), (0.5, 0.5)])
def test_without_a_shift_it_needs_as_many_items_as_an_exact_binomial_bound(tau, delta):
    need = math.ceil(math.log(1 / delta) / -math.log(1 - tau))
    assert mask(np.zeros(need), tau, delta).sigma == 0.0
    short = mask(np.zeros(need - 1), tau, delta) if need > 1 else None
    assert short is None or (short.sigma, short.need) == (None, need)


def test_the_effect_is_the_total_variation_distance():
    for shift, sigma in ((0.3, 0.2), (-1.0, 2.0), (4.0, 0.5)):
        x = np.linspace(-20, 20, 400_001)
        apart = stats.norm.pdf(x, 0, sigma) - stats.norm.pdf(x, shift, sigma)
        assert effect([shift], sigma)[0] == pytest.approx(
            0.5 * np.abs(apart).sum() * (x[1] - x[0]), abs=1e-4
        )


def test_rows_and_perturbations_in_any_order_give_the_same_bytes():
    rng = np.random.default_rng(3)
    shifts = rng.normal(0, 1, (200, 3))
    unit = rng.integers(0, 80, 200)
    order = rng.permutation(200)
    for family in ("mean", "worst"):
        one = mask(shifts, 0.2, family=family, unit=unit)
        assert one == mask(shifts[order][:, [2, 0, 1]], 0.2, family=family, unit=unit[order])
        assert one.n == len(np.unique(unit))


def test_rows_of_one_unit_count_once():
    """Eighty copies of five items are five items."""
    shifts = np.tile([0.0, 0.0, 0.0, 0.0, 0.1], 80)
    assert mask(shifts, 0.1).sigma is not None
    found = mask(shifts, 0.1, unit=np.tile(np.arange(5), 80))
    assert (found.sigma, found.n, found.need) == (None, 5, 29)


def test_the_worst_perturbation_needs_more_noise_than_the_mean():
    shifts = np.column_stack((np.zeros(300), np.full(300, 0.5)))
    assert mask(shifts, 0.1).sigma < mask(shifts, 0.1, family="worst").sigma
    assert mask(shifts, 0.1, family="worst").sigma == mask(shifts[:, 1], 0.1).sigma


@pytest.mark.parametrize(
    "shifts", [[], np.zeros((3, 0)), [0.1, np.nan], [0.1, np.inf], [1e308], np.zeros((2, 2, 2))]
)
def test_shifts_that_are_none_are_refused(shifts):
    with pytest.raises(InputError, match="shift"):
        mask(shifts, 0.1)


def test_shifts_of_all_sizes_together():
    found = mask(np.concatenate([np.full(100, 1e-300), np.full(3, 1e100)]), 0.1)
    assert 0 < found.sigma < 1e-290
    assert mask(np.full(50, 1e-310), 0.1).sigma > 0


@pytest.mark.parametrize("tau", [0, 1, -0.1, math.nan, 2])
def test_tau_is_a_probability_of_masking_and_a_distance_of_the_published_method(tau):
    with pytest.raises(InputError):
        mask([0.1], tau)
    if tau in (1, 2):
        assert published([0.1], tau).tau == tau
    else:
        with pytest.raises(InputError):
            published([0.1], tau)


@pytest.mark.parametrize(("d", "tau"), [(1, 2.0), (1, 0.3), (5, 3.0), (5, 0.5)])
def test_the_published_definition_is_fulfilled_as_derived(d, tau):
    """Over neighbours and fresh noise, published scores are within tau often enough."""
    rng = np.random.default_rng(d)
    shifts = rng.normal(0, 0.2, (4000, d))
    found = published(shifts, tau, 0.1)
    apart = found.shrink * shifts + found.sigma * (
        rng.standard_normal(shifts.shape) - rng.standard_normal(shifts.shape)
    )
    assert np.mean(np.linalg.norm(apart, axis=1) > tau) <= 0.1
    assert found.attainable == (tau >= found.sensitivity / math.sqrt(0.1))
    assert found.attainable == (found.shrink == 1.0)


def test_shrinking_keeps_every_order():
    scores = np.array([1.0, 4.0, 2.0, 5.0])
    found = published([2.0, -1.0], 0.2)
    still = found.publish(scores) - found.sigma * np.random.default_rng(0).standard_normal(4)
    assert np.argsort(still).tolist() == np.argsort(scores).tolist()
    assert np.ptp(still) == pytest.approx(found.shrink * 4.0)


def test_rankings_against_closed_forms():
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.permutation(np.repeat([1, 2, 3, 4], 25)) + s for s in (0.0, 0.5)])
    ranking = rank_systems(scores, np.repeat(["a", "b"], 100), sigma=4.0, draws=4000)
    stays = stats.norm.cdf(0.5 / (4.0 * math.sqrt(2 / 100)))
    assert ranking.best_stays == pytest.approx(stays, abs=4 * math.sqrt(stays * (1 - stays) / 4000))
    assert ranking.spearman.mean == pytest.approx(2 * ranking.best_stays - 1)
    assert ranking.kendall.mean == pytest.approx(ranking.spearman.mean)
    assert [s.name for s in ranking.systems] == ["b", "a"]
    one, two = (
        rank_systems(scores[o], np.repeat(["a", "b"], 100)[o], 4.0)
        for o in (np.arange(200), rng.permutation(200))
    )
    assert one == two


def test_correlations_agree_with_scipy():
    rng = np.random.default_rng(1)
    scores, systems = rng.normal(0, 1, 60), np.tile(list("abcdef"), 10)
    ranking = rank_systems(scores, systems, sigma=2.0, draws=100, seed=5)
    means = np.array([s.mean for s in ranking.systems])
    noise = np.array([s.noise for s in ranking.systems])
    drawn = means + noise * np.random.default_rng(5).standard_normal((100, 6))
    for found, measure in (
        (ranking.spearman, stats.spearmanr),
        (ranking.kendall, stats.kendalltau),
    ):
        expected = [measure(means, row).statistic for row in drawn]
        assert found.mean == pytest.approx(np.mean(expected))
        assert found.low == pytest.approx(np.quantile(expected, 0.025))
    # With ties on both sides, too.
    tied = rank_systems([1.0, 1.0, 2.0, 3.0], list("abcd"), sigma=0.0)
    assert (tied.kendall.mean, tied.spearman.mean) == (pytest.approx(1.0), pytest.approx(1.0))


def test_equal_means_have_no_rank_correlation():
    ranking = rank_systems([1.0, 1.0], ["a", "b"], sigma=1.0)
    assert ranking.spearman is None
    assert ranking.to_dict()["kendall"] is None
    for scores, systems in (([1.0], ["a"]), ([1.0, np.nan], ["a", "b"]), ([1.0], ["a", "b"])):
        with pytest.raises(InputError):
            rank_systems(scores, systems, 1.0)


def table(n=120, systems=0, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"item_id": [f"i{k}" for k in range(n)]})
    if systems:
        frame = frame.merge(pd.DataFrame({"model": list("abcdef")[:systems]}), how="cross")
    frame["score"] = rng.integers(1, 6, len(frame))
    frame["padded"] = frame["score"] + rng.choice([0, 0, 0, 0.5], len(frame))
    frame["markdown"] = frame["score"] + rng.choice([0, 0, -0.25], len(frame))
    return frame


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("padded", None, "row 3, item 'i2': no score in 'padded'"),
        ("score", "high", "row 3, score: 'high' is not a number"),
        ("score", math.inf, "row 3, score: inf is not a finite number"),
        ("item_id", "i0", "row 3: the id 'i0' is that of row 1"),
    ],
)
def test_bad_rows_are_named(column, value, said):
    frame = table(10).astype(object)
    frame.loc[2, column] = value
    with pytest.raises(InputError, match=said):
        read_scores(frame, "score", ["padded"])


def test_one_row_a_score_is_the_same_table():
    wide = table(40, systems=2)
    names = {"score": "original", "padded": "padded", "markdown": "markdown"}
    long = wide.melt(["item_id", "model"], list(names), "perturbation", "value")
    long["perturbation"] = long["perturbation"].map(names)
    back, columns = widened(
        long.sample(frac=1, random_state=0), "value", "perturbation", "original", keep=["model"]
    )
    assert columns == ("markdown", "padded")
    one = read_scores(wide, "score", columns, system="model")
    other = read_scores(back, "value", columns, system="model")
    np.testing.assert_array_equal(one.shifts[one.order()], other.shifts[other.order()])
    with pytest.raises(InputError, match="a second score"):
        widened(
            pd.concat([long, long.iloc[:1]]), "value", "perturbation", "original", keep=["model"]
        )
    with pytest.raises(InputError, match="no perturbation is 'none'"):
        widened(long, "value", "perturbation", "none", keep=["model"])
    holes, columns = widened(long.iloc[1:], "value", "perturbation", "original", keep=["model"])
    with pytest.raises(InputError, match="no score in"):
        read_scores(holes, "value", columns, system="model")


def run(*arguments):
    with pytest.raises(SystemExit) as done:
        main(list(map(str, arguments)))
    return done.value.code


def test_the_command(tmp_path, capsys):
    table(300, systems=3).to_csv(tmp_path / "s.csv", index=False)
    both = ("--perturbed", "padded", "--perturbed", "markdown")
    out = tmp_path / "out.csv"
    asked = ("bound", tmp_path / "s.csv", *both, "--system", "model")
    assert run(*asked, "-o", out, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["n"], told["method"], len(told["ranking"]["systems"])) == (300, "masking", 3)
    noisy = pd.read_csv(out)
    noise = noisy["bounded"] - noisy["score"]
    assert noise.std() == pytest.approx(told["sigma"], rel=0.1)
    # The same rows in another order get the same noise.
    table(300, systems=3).sample(frac=1, random_state=1).to_parquet(tmp_path / "t.parquet")
    other = tmp_path / "other.csv"
    assert run("bound", tmp_path / "t.parquet", *both, "--system", "model", "-o", other) == 0
    keys = ["item_id", "model"]
    pd.testing.assert_frame_equal(
        noisy.sort_values(keys, ignore_index=True),
        pd.read_csv(other).sort_values(keys, ignore_index=True),
    )
    assert run(*asked) == 0
    assert "Spearman" in capsys.readouterr().out


def test_the_command_says_no_and_says_what_is_wrong(tmp_path, capsys):
    table(20).to_csv(tmp_path / "s.csv", index=False)
    asked = ("bound", tmp_path / "s.csv", "--perturbed", "padded")
    assert run(*asked, "-o", tmp_path / "out.csv") == 1
    assert "29 are needed" in " ".join(capsys.readouterr().out.split())
    assert not (tmp_path / "out.csv").exists()
    assert run(*asked, "--method", "published", "--tau", "0.5") == 0
    assert run("bound", tmp_path / "s.csv") == 2
    assert run("bound", tmp_path / "s.csv", "--perturbation", "x") == 2
    assert run(*asked, "--missing", "zero") == 2
    assert run(*asked, "--method", "other") == 2
    assert run(*asked, "--perturbed", "nothing") == 2
    assert run(*asked, "--perturbed", "score") == 2
    assert run("bound", tmp_path / "gone.csv", "--perturbed", "padded") == 2


def test_what_a_perturbation_had_nothing_to_change_in_is_unchanged_if_one_says_so():
    frame = table(40)
    frame["padded"] = frame["padded"].where(np.arange(40) % 2 == 0)
    with pytest.raises(InputError, match="row 2, item 'i1': no score in 'padded'"):
        read_scores(frame, "score", ["padded"])
    read = read_scores(frame, "score", ["padded"], missing="unchanged")
    assert (read.shifts[1::2] == 0).all()
    with pytest.raises(InputError, match="no score in 'score'"):
        read_scores(frame.assign(score=np.nan), "score", ["padded"], missing="unchanged")


def test_the_trace_of_a_stress_run_is_read(tmp_path, capsys):
    rng = np.random.default_rng(0)
    rows = [
        {
            "item_id": f"q{k}~{name}",
            "group": f"g{k // 2}",
            "perturbed": f"q{k}",
            "perturbation": name,
            "u1": u,
        }
        for k, u in enumerate(rng.random(40))
        for name, u in (("plain", u), ("length.pad", min(u + 0.1, 1.0)), ("label.flip", 1 - u))
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "stress.csv", index=False)
    asked = ("bound", tmp_path / "stress.csv", "--tau", "0.2", "--score", "u1", "--item-id", "perturbed",
             "--perturbation", "perturbation")  # fmt: skip
    assert run(*asked, "--perturbed", "length.pad", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["perturbations"], told["n"]) == (["length.pad"], 20)
    assert run(*asked, "--perturbed", "nothing") == 2
