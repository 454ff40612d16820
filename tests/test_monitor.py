"""The deployment checks: drift without labels, and an alarm from a few of them."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats
from statsmodels.stats.multitest import multipletests
from typer.testing import CliRunner

import riskjudge
from riskjudge import InputError, Router, Trace
from riskjudge.cli import app
from riskjudge.io.tables import write_table
from riskjudge.monitor import DriftAnswer, RiskAlarm, check_drift
from riskjudge.monitor.alarm import _rates, log_fortune
from riskjudge.monitor.drift import items_needed
from riskjudge.monitor.tables import alarm_table, check_table
from riskjudge.monitor.two_sample import (
    Method,
    compare_categories,
    compare_ordered,
    gap_of_distributions,
    holm,
)

REAL = Path(os.environ.get("RISKJUDGE_REAL", Path(__file__).parents[1] / "../shared/real"))


def draw(n, seed, *, shift=0.0, levels=0, missing=0.0, first="i"):
    """A two-mode trace; `shift` moves the scores of mode 2, `levels` ties them."""
    rng = np.random.default_rng(seed)
    scores = rng.random((n, 2))
    label = rng.integers(0, 2, n)
    verdicts = label[:, None] ^ (rng.random((n, 2)) < [0.4, 0.3] * scores)
    scores[:, 1] = scores[:, 1] ** np.exp(-shift)
    if levels:
        scores = np.floor(scores * levels) / levels
    gone = rng.random((n, 2)) < missing
    scores[gone], verdicts[gone] = np.nan, -1
    return Trace.from_arrays(scores, verdicts, label, item_id=[f"{first}{i}" for i in range(n)])


class TestTwoSample:
    def test_two_categories_are_fishers_test_where_margins_are_equal(self):
        p = compare_categories(
            np.array([8, 2]), np.array([1, 9]), permutations=9, rng=np.random.default_rng(0)
        )
        assert p.method is Method.EXACT
        assert p.p_value == pytest.approx(stats.fisher_exact([[8, 2], [1, 9]])[1], rel=1e-9)

    def test_ordered_scores_against_scipys_exact_cramer_von_mises(self):
        rng = np.random.default_rng(3)
        old, new = rng.random(9), rng.random(8) ** 2
        exact = stats.cramervonmises_2samp(old, new, method="exact").pvalue
        ours = compare_ordered(old, new, permutations=40_000, rng=rng).p_value
        assert ours == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 40_000))

    def test_gap_is_the_kolmogorov_smirnov_distance(self):
        rng = np.random.default_rng(4)
        old, new = rng.integers(0, 9, 70).astype(float), rng.integers(2, 12, 40).astype(float)
        assert gap_of_distributions(old, new) == pytest.approx(stats.ks_2samp(old, new).statistic)

    def test_holm_is_that_of_statsmodels(self):
        rng = np.random.default_rng(0)
        for size in (1, 2, 5, 9):
            p = np.round(rng.random(size) ** 3, 2)
            expected = multipletests(p, method="holm")[1]
            np.testing.assert_allclose(np.array(holm(list(p)), dtype=float), expected)

    def test_without_holm_the_level_is_lost(self):
        # Six comparisons of shares, 400 replicates: 3 s.e. of .05 are .033.
        rng = np.random.default_rng(1)
        naive = corrected = 0
        for _ in range(400):
            old, new = rng.binomial(200, 0.5, 6), rng.binomial(150, 0.5, 6)
            p = [
                compare_categories(
                    np.array([a, 200 - a]), np.array([b, 150 - b]), permutations=1, rng=rng
                ).p_value
                for a, b in zip(old, new, strict=True)
            ]
            naive += min(p) <= 0.05
            corrected += min(holm(p)) <= 0.05
        assert corrected / 400 <= 0.05 + 0.033
        assert naive / 400 > 0.05 + 0.1

    def test_nothing_to_compare(self):
        rng = np.random.default_rng(0)
        empty = compare_ordered(np.zeros(0), np.ones(5), permutations=9, rng=rng)
        constant = compare_ordered(np.ones(4), np.ones(5), permutations=9, rng=rng)
        assert empty.p_value is constant.p_value is None

    @pytest.mark.parametrize("levels", [0, 3, 7], ids=["continuous", "3 levels", "7 levels"])
    def test_level_is_kept_with_and_without_ties(self, levels):
        # 1,000 replicates: three standard errors of .05 are .021.
        rng = np.random.default_rng(levels)
        found = 0
        for _ in range(1000):
            old, new = rng.random(40), rng.random(25)
            if levels:
                old, new = np.floor(old * levels), np.floor(new * levels)
            p = compare_ordered(old, new, permutations=99, rng=rng).p_value
            found += p is not None and p <= 0.05
        assert found / 1000 <= 0.05 + 0.021
        assert found / 1000 >= 0.02  # not empty talk


class TestDrift:
    def test_same_population_is_consistent(self):
        old, new = draw(800, 0), draw(600, 1)
        check = check_drift(Router(0.15).fit(old), old, new, permutations=499)
        assert check.answer is DriftAnswer.CONSISTENT
        assert check.changed == ()
        assert check.need <= check.have == 600

    @pytest.mark.parametrize(
        "change, what",
        [({"shift": 0.5}, "scores of mode2"), ({"missing": 0.08}, "missing verdicts of mode1")],
    )
    def test_a_change_is_named(self, change, what):
        old, new = draw(800, 0), draw(600, 1, **change)
        check = check_drift(Router(0.15).fit(old), old, new, permutations=999)
        assert check.answer is DriftAnswer.DRIFTED
        assert what in check.changed

    def test_tied_scores_can_drift_too(self):
        old, new = draw(800, 0, levels=4), draw(600, 1, levels=4, shift=0.5)
        assert check_drift(Router(0.15).fit(old), old, new).answer is DriftAnswer.DRIFTED

    def test_few_items_are_insufficient_and_say_how_many_would_do(self):
        old, new = draw(800, 0), draw(20, 1)
        check = check_drift(Router(0.15).fit(old), old, new, permutations=199)
        assert check.answer is DriftAnswer.INSUFFICIENT
        assert check.have == 20 < check.need
        assert "need" in check_table(check).notes[0]

    def test_too_few_calibration_items_need_more_of_those(self):
        assert items_needed(50, 0.15, 0.005) is None

    def test_need_gives_the_power_it_promises(self):
        # A share of .5 that becomes .65, exact test at .05/8; 400 draws: 3 s.e. are .06.
        level, n_old = 0.05 / 8, 1000
        need = items_needed(n_old, 0.15, level)
        rng = np.random.default_rng(0)
        old, new = rng.binomial(n_old, 0.5, 400), rng.binomial(need, 0.65, 400)
        rest = np.random.default_rng(1)
        found = sum(
            compare_categories(
                np.array([a, n_old - a]), np.array([b, need - b]), permutations=1, rng=rest
            ).p_value
            <= level
            for a, b in zip(old, new, strict=True)
        )
        assert found / 400 >= 0.8 - 0.06

    def test_level_of_the_whole_check(self):
        # The gate is fitted on the old items themselves. 60 replicates: 3 s.e. of .05 are .085.
        drifted = 0
        for r in range(60):
            old, new = (
                draw(150, 2 * r, levels=5 * (r % 2)),
                draw(100, 2 * r + 1, levels=5 * (r % 2)),
            )
            gate = Router(0.3, procedure="pointwise").fit(old)
            check = check_drift(gate, old, new, permutations=99, seed=r)
            drifted += check.answer is DriftAnswer.DRIFTED
        assert drifted / 60 <= 0.05 + 0.085

    def test_labels_show_what_scores_do_not(self):
        old, new = draw(800, 0), draw(800, 1)
        flipped = np.where(np.random.default_rng(2).random(800) < 0.2, 1 - new.labels, new.labels)
        worse = Trace.from_arrays(new.scores, new.verdicts, flipped)
        gate = Router(0.15).fit(old)
        assert check_drift(gate, old, worse).answer is DriftAnswer.CONSISTENT
        assert check_drift(gate, old, worse, labels=True).answer is DriftAnswer.DRIFTED

    def test_same_call_same_answer(self):
        old, new = draw(300, 0), draw(300, 1)
        gate = Router(0.3).fit(old)
        assert check_drift(gate, old, new, seed=5) == check_drift(gate, old, new, seed=5)

    def test_notes_on_another_trace_on_shared_ids_and_on_groups(self):
        old, new = draw(300, 0), draw(300, 1)
        gate = Router(0.3).fit(old)
        assert "not the one" in check_drift(gate, new, old, permutations=99).notes[0]
        frame = draw(300, 2, first="j").to_frame().assign(group=np.arange(300) // 3)
        notes = check_drift(gate, old, Trace.from_frame(frame), permutations=99).notes
        assert notes == ("one item drawn from each of 100 groups of the new trace",)
        assert "300 ids" in check_drift(gate, old, new, permutations=99).notes[0]

    def test_a_gate_that_accepts_nothing_and_one_that_is_not_fitted(self):
        old, new = draw(300, 0), draw(300, 1)
        empty = Router(0.001).fit(old)
        assert check_drift(empty, old, new, permutations=99).answer is DriftAnswer.CONSISTENT
        with pytest.raises(riskjudge.NotFittedError):
            check_drift(Router(), old, new)

    def test_json_is_strict(self):
        old, new = draw(300, 0), draw(40, 1)
        check = check_drift(Router(0.3).fit(old), old, new, permutations=99)
        data = json.loads(json.dumps(check.to_dict(), allow_nan=False))
        assert data["answer"] == "insufficient"
        assert {c["what"] for c in data["comparisons"]} >= {"routing", "scores of mode1"}


class TestAlarm:
    @pytest.mark.parametrize("alpha", [0.05, 0.2])
    def test_fortune_is_the_mixture_it_claims_to_be(self, alpha):
        wrong = np.array([1, 0, 1, 1, 0, 1])
        b = 1 / alpha - 1
        mass = stats.beta.sf(alpha, 1, b)

        def bet(p):
            w, m = wrong.sum(), len(wrong)
            ratio = (p / alpha) ** w * ((1 - p) / (1 - alpha)) ** (m - w)
            return ratio * stats.beta.pdf(p, 1, b) / mass

        integral = integrate.quad(bet, alpha, 1)[0]
        # Half the money is on the start at 0; the rest waits for later starts.
        expected = 0.5 * integral + 0.5
        assert np.exp(log_fortune(wrong[None, :], alpha)[0, -1]) == pytest.approx(
            expected, rel=1e-8
        )

    @given(st.lists(st.booleans(), max_size=6), st.sampled_from([0.05, 0.3, 0.5]))
    @settings(max_examples=40, deadline=None)
    def test_next_bet_is_fair_at_alpha_and_loses_below(self, past, alpha):
        def fortune(*more):
            return np.exp(log_fortune(np.array([[*past, *more]], dtype=np.int64), alpha))[0, -1]

        now = fortune() if past else 1.0
        for rate in (alpha, alpha / 2):
            after = rate * fortune(True) + (1 - rate) * fortune(False)
            assert after <= now * (1 + 1e-9)

    def test_a_new_start_is_fair_too(self):
        past = [0] * 24
        rows = np.array([[*past, 0, 0], [*past, 0, 1], [*past, 1, 0], [*past, 1, 1]])
        e = np.exp(log_fortune(rows, 0.2))
        assert 0.8 * e[0, 24] + 0.2 * e[2, 24] == pytest.approx(e[0, 23])
        assert 0.8 * e[0, 25] + 0.2 * e[1, 25] == pytest.approx(e[0, 24])

    def test_false_alarms_under_an_adversary_who_stops_when_it_suits(self):
        # The error rate is alpha or 0, chosen every 25 labels by a look at the fortune; "ever" is the
        # worst stopping time. 1,000 sequences: 3 s.e. of .05 are .021.
        alpha, level, n = 0.2, 0.05, 150
        rng = np.random.default_rng(0)
        wrong = np.zeros((1000, 0), dtype=np.int64)
        while wrong.shape[1] < n:
            last = log_fortune(wrong, alpha)[:, -1] if wrong.shape[1] else np.zeros(1000)
            rate = np.where(last > np.log(0.5), alpha, 0.0)
            wrong = np.hstack((wrong, rng.random((1000, 25)) < rate[:, None]))
        ever = (log_fortune(wrong, alpha) >= -np.log(level)).any(axis=1).mean()
        assert ever <= level + 0.021

    def test_an_exact_test_that_is_looked_at_after_each_label_is_broken(self):
        alpha, level = 0.2, 0.05
        wrong = np.random.default_rng(1).random((1000, 150)) < alpha
        m = np.arange(1, 151)
        errors = np.cumsum(wrong, axis=1)
        p = stats.binom.sf(errors - 1, m, alpha)
        assert (p <= level).any(axis=1).mean() > level + 0.1
        assert (log_fortune(wrong.astype(np.int64), alpha) >= -np.log(level)).any(
            axis=1
        ).mean() <= level + 0.021

    def test_it_finds_a_doubled_risk(self):
        # Median delay at alpha .2: 35 labels at twice the rate (400 sequences in the docstring).
        wrong = (np.random.default_rng(2).random((200, 300)) < 0.4).astype(np.int64)
        reached = log_fortune(wrong, 0.2) >= np.log(20)
        assert reached.any(axis=1).mean() >= 0.99
        assert 20 <= np.median(reached.argmax(axis=1) + 1) <= 55

    def test_a_late_change_is_found(self):
        rng = np.random.default_rng(3)
        wrong = np.hstack((rng.random((100, 250)) < 0.1, rng.random((100, 250)) < 0.5))
        reached = log_fortune(wrong.astype(np.int64), 0.2) >= np.log(20)
        assert np.median(np.where(reached.any(axis=1), reached.argmax(axis=1), 500)) - 250 <= 60

    def test_resumed_is_the_same_as_in_one_go(self, tmp_path):
        rng = np.random.default_rng(0)
        ids = [f"i{i}" for i in range(80)]
        wrong = rng.random(80) < 0.3
        whole = RiskAlarm(0.1).add(ids, wrong)
        RiskAlarm(0.1).add(ids[:33], wrong[:33]).save(tmp_path / "state.json")
        resumed = RiskAlarm.load(tmp_path / "state.json").add(ids[33:], wrong[33:])
        assert resumed == whole
        assert resumed.to_dict() == whole.to_dict()
        assert whole.raised
        assert whole.peak >= 20

    def test_a_batch_sorted_by_uncertainty_is_no_alarm(self):
        """Errors at alpha, the batch from the surest item to the least sure: 400 calls of 400."""
        alpha, level, runs, n = 0.1, 0.05, 400, 400
        alarms = unshuffled = 0
        for r in range(runs):
            rng = np.random.default_rng([5, r])
            wrong = rng.random(n) < np.linspace(0.0, 2 * alpha, n)
            ids = [f"{r}-{i}" for i in range(n)]
            alarms += RiskAlarm(alpha, level).add_batch(ids, list(wrong)).raised
            fortune = log_fortune(wrong.astype(int)[None, :], alpha)
            unshuffled += bool(fortune.max() >= -np.log(level))
        assert stats.binomtest(alarms, runs, level, "greater").pvalue > 0.01
        assert unshuffled > 2 * level * runs  # in the order of the file it would be

    def test_the_order_of_rows_within_a_call_does_not_count(self):
        rng = np.random.default_rng(0)
        ids, wrong = [f"i{k}" for k in range(90)], list(rng.random(90) < 0.2)
        order = rng.permutation(90)
        shuffled = RiskAlarm(0.1).add_batch([ids[k] for k in order], [wrong[k] for k in order])
        assert shuffled == RiskAlarm(0.1).add_batch(ids, wrong)

    def test_an_alarm_stays(self):
        alarm = RiskAlarm(0.1).add(list("abcdefgh"), [True] * 8)
        later = alarm.add([f"x{i}" for i in range(500)], [False] * 500)
        assert later.e_value < 1 < 20 <= later.peak
        assert later.raised_at == alarm.raised_at

    def test_no_label_no_alarm(self):
        alarm = RiskAlarm(0.1)
        assert (alarm.e_value, alarm.peak, alarm.raised) == (1.0, 1.0, False)
        assert "undefined" in dict(alarm_table(alarm).rows)["wrong"]

    def test_what_is_turned_away(self, tmp_path):
        with pytest.raises(InputError, match="'a' was counted before"):
            RiskAlarm(0.1).add(["a", "a"], [True, False])
        with pytest.raises(InputError, match="alpha"):
            RiskAlarm(1.0)
        (tmp_path / "s.json").write_text("{")
        with pytest.raises(InputError, match="not JSON"):
            RiskAlarm.load(tmp_path / "s.json")
        (tmp_path / "s.json").write_text('{"format": "riskjudge-gate"}')
        with pytest.raises(InputError, match="not the state of an alarm"):
            RiskAlarm.load(tmp_path / "s.json")
        state = RiskAlarm(0.1).add(["a"], [True]).to_dict()
        with pytest.raises(InputError, match="no 'bets'"):
            RiskAlarm.from_dict({k: v for k, v in state.items() if k != "bets"})
        for changed, message in [
            ({"bets": [0.0]}, "'bets' are not 64 numbers"),
            ({"bets": ["0"] * 64}, "'bets' are not 64 numbers"),
            ({"labels": -1}, "'labels' is no count"),
            ({"labels": True}, "'labels' is no count"),
            ({"errors": 2}, "more errors than labels"),
            ({"errors_since": 3}, "more errors than labels"),
            ({"recent": "a"}, "'recent' are no ids"),
            ({"log_peak": float("nan")}, "'log_peak' is no number"),
            ({"log_peak": -5.0}, "above its peak"),
            ({"log_peak": 9.0}, "'raised_at' contradicts"),
            ({"raised_at": 1}, "'raised_at' contradicts"),
            ({"alpha": None}, "'alpha' is no number"),
            ({"format_version": 1}, "start a new state"),
        ]:
            with pytest.raises(InputError, match=message):
                RiskAlarm.from_dict(state | changed)

    @pytest.mark.parametrize("alpha", [0.05, 0.2, 0.5])
    def test_the_bets_are_the_integral_over_the_prior_with_every_restart(self, alpha):
        """Against incomplete beta functions: to rounding for 127 labels, within 1 % of log later."""
        wrong = (np.random.default_rng(3).random((2, 600)) < 1.3 * alpha).astype(np.int64)
        errors = np.hstack((np.zeros((2, 1), np.int64), np.cumsum(wrong, axis=1)))
        b = 1 / alpha - 1
        expected = np.tile(1 / (np.arange(600) // 25 + 2.0), (2, 1))
        for j, start in enumerate(range(0, 600, 25)):
            w, m = errors[:, start + 1 :] - errors[:, [start]], np.arange(1, 601 - start)
            mass = special.betaln(1 + w, b + m - w) - special.betaln(1, b)
            tail = special.betaincc(1 + w, b + m - w, alpha) / special.betaincc(1, b, alpha)
            bet = np.exp(mass - w * np.log(alpha) - (m - w) * np.log1p(-alpha)) * tail
            expected[:, start:] += bet / ((j + 1) * (j + 2))
        found = log_fortune(wrong, alpha)
        np.testing.assert_allclose(found[:, :127], np.log(expected[:, :127]), rtol=0, atol=1e-9)
        np.testing.assert_allclose(found, np.log(expected), rtol=0.01, atol=0.01)

    def test_the_state_does_not_grow_and_knows_what_came_last(self):
        ids = [f"i{k:05d}" for k in range(30_000)]
        few = RiskAlarm(0.1).add(ids[:15_000], [False] * 15_000)
        many = few.add(ids[15_000:], [False] * 15_000)
        size = [len(json.dumps(alarm.to_dict())) for alarm in (few, many)]
        assert abs(size[1] - size[0]) < 500
        with pytest.raises(InputError, match="'i20000' was counted before"):
            many.add(["i20000"], [True])

    @pytest.mark.parametrize("alpha", [1e-4, 0.01, 0.5, 0.9, 0.999])
    def test_rates_at_any_alpha(self, alpha):
        p, log_weights = _rates(alpha)
        assert np.all((alpha <= p) & (p <= 1))
        assert np.exp(log_weights).sum() == pytest.approx(1)
        # The mean of Beta(1, b) above alpha.
        assert np.exp(log_weights) @ p == pytest.approx(1 - (1 - alpha) ** 2, rel=1e-9)


class TestCommandLine:
    @pytest.fixture
    def run(self):
        return lambda *arguments: CliRunner().invoke(app, [str(a) for a in arguments])

    @pytest.fixture
    def files(self, tmp_path):
        old = draw(600, 0)
        Router(0.15).fit(old).save(tmp_path / "gate.json")
        write_table(old.to_frame(), tmp_path / "old.csv")
        new = draw(400, 1, first="n").to_frame().drop(columns="label")
        write_table(new, tmp_path / "new.csv")
        write_table(draw(400, 1, shift=1.0).to_frame(), tmp_path / "drifted.parquet")
        return tmp_path

    def test_check(self, run, files):
        done = run("check", files / "gate.json", files / "old.csv", files / "new.csv", "--json")
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["answer"] == "consistent"
        done = run("check", files / "gate.json", files / "old.csv", files / "drifted.parquet")
        assert done.exit_code == 1
        assert "drifted" in done.stdout

    def test_watch(self, run, files):
        gate = riskjudge.load_gate(files / "gate.json")
        for name, seed, bad in (("a", 7, False), ("b", 8, True)):
            trace = draw(300, seed, first=name)
            outcomes = gate.decide(trace).to_frame()
            if bad:
                outcomes["label"] = 1 - outcomes["label"]
            write_table(outcomes, files / f"{name}.parquet")
        arguments = ("--state", files / "state.json", "--json")
        first = run("watch", files / "gate.json", files / "a.parquet", *arguments)
        assert first.exit_code == 0, first.output
        second = run("watch", files / "gate.json", files / "b.parquet", *arguments)
        assert second.exit_code == 1
        seen = json.loads(second.stdout)
        assert seen["raised_at"] > json.loads(first.stdout)["labels"]
        again = run("watch", files / "gate.json", files / "b.parquet", *arguments)
        assert isinstance(again.exception, InputError)


@pytest.mark.skipif(
    not (REAL / "evouna_tq_qwen05b_two_mode.csv").exists(), reason="the real traces are not here"
)
def test_two_batches_of_a_real_judge():
    trace = riskjudge.read_trace(REAL / "evouna_tq_qwen05b_two_mode.csv")
    batch = trace.extra["batch"].to_numpy()
    old, new = trace.rows(batch == 1), trace.rows(batch == 2)
    gate = Router(0.2).fit(old)
    check = check_drift(gate, old, new, labels=True)
    by_name = {c.what: c for c in check.comparisons}
    moved = by_name["verdicts of mode2, label 1"]
    # .830 (405/488) against .775 (873/1,127): p = .0135 taken alone, as in R's fisher.test.
    assert moved.p_value == pytest.approx(0.013516, abs=1e-5)
    assert moved.gap == pytest.approx(405 / 488 - 873 / 1127)
    assert check.answer is DriftAnswer.CONSISTENT  # one of a dozen comparisons: no finding
    outcomes = gate.decide(new)
    alarm = RiskAlarm(0.2).add(
        list(outcomes.item_id[outcomes.accepted]), list(outcomes.wrong[outcomes.accepted])
    )
    assert not alarm.raised
