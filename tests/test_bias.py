"""Bias indices of pairwise judges: known answers, cases without one, and the files they come from."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

from riskjudge.cli import main
from riskjudge.data.verdict import AbstainReason, Abstention, Undecided, Winner, WinnerVerdict
from riskjudge.errors import InputError
from riskjudge.items import Item
from riskjudge.ledger import position_preference, read_trials
from riskjudge.ledger.rows import Row
from riskjudge.reliability.bias import measure_bias
from riskjudge.reliability.comparisons import (
    Comparisons,
    from_judgebench,
    from_rows,
    from_table,
    is_judgebench,
)
from riskjudge.reliability.self_preference import self_preference
from riskjudge.reliability.verbosity import verbosity

_HERE = Path(__file__).resolve().parent.parent
REAL = Path(os.environ.get("RISKJUDGE_REAL", _HERE.parent / "shared" / "real"))
TRIALS = REAL / "llmbar_judge_trials_long.csv.gz"


def simulated(n, seed=0, *, length=0.8, label=1.0, position=0.5, spread=1.0, orders=(1, -1)):
    """Calls of a judge whose coefficients are known; `spread` is the deviation of an item's own taste."""
    rng = np.random.default_rng(seed)
    ratio = rng.normal(0, 1, n)
    right = rng.choice([-1, 1], n)
    taste = rng.normal(0, spread, n) if spread else np.zeros(n)
    scale = np.sqrt(np.mean(ratio**2))
    rows = []
    for a_first in orders:
        chance = special.expit(
            length * ratio / scale + label * right / 2 + position * a_first / 2 + taste
        )
        wins = np.where(rng.random(n) < chance, 1, -1)
        for i in range(n):
            rows.append(
                ("judge", f"i{i}", f"t{i}", wins[i], a_first, 100 * np.exp(ratio[i]), 100.0,
                 right[i], None, None)
            )  # fmt: skip
    return frame(rows)


def frame(rows):
    from riskjudge.reliability.comparisons import FIELDS

    return pd.DataFrame(rows, columns=list(FIELDS))


def exchanged(calls):
    """The same calls with the answers called b and a."""
    new = calls.copy()
    for name in ("a_wins", "a_first", "a_right"):
        new[name] = -calls[name]
    for one, other in (("length_a", "length_b"), ("model_a", "model_b")):
        new[one], new[other] = calls[other], calls[one]
    return new


def test_the_regression_agrees_with_a_plain_one():
    import statsmodels.api as sm

    calls = simulated(400, spread=0)
    found = verbosity(calls)
    ratio = np.log(calls["length_a"] / calls["length_b"])
    x = np.column_stack(
        (ratio / np.sqrt(np.mean(ratio[:400] ** 2)), calls["a_right"] / 2, calls["a_first"] / 2)
    )
    plain = sm.Logit((calls["a_wins"] > 0).to_numpy(float), x).fit(disp=0)
    assert found.coefficient.value == pytest.approx(plain.params[0])
    assert found.doubling.value == pytest.approx(
        np.exp(plain.params[0] * np.log(2) / np.sqrt(np.mean(ratio[:400] ** 2)))
    )
    assert found.controls == ("label", "position")
    longer = np.sign(ratio) == calls["a_wins"]
    assert (found.longer_wins.count, found.longer_wins.of) == (longer.sum(), 800)


def test_intervals_hold_the_truth_where_items_repeat():
    """Without a taste of items' own the model is right: 95 % intervals, both orders an item."""
    inside = []
    for seed in range(60):
        found = verbosity(simulated(80, seed, spread=0)).coefficient
        inside.append(found.low <= 0.8 <= found.high)
    assert sum(inside) >= stats.binom.ppf(1e-4, 60, 0.93)


def test_the_p_value_is_one_of_no_bias():
    p = [
        verbosity(simulated(60, seed, length=0.0, spread=2.0)).coefficient.p for seed in range(150)
    ]
    assert sum(np.array(p) <= 0.05) <= stats.binom.ppf(0.9999, 150, 0.07)
    assert verbosity(simulated(300, length=1.0)).coefficient.p < 1e-6


def test_repeating_every_call_tells_nothing_new():
    calls = simulated(100)
    again = pd.concat([calls, calls, calls], ignore_index=True)
    one, many = verbosity(calls), verbosity(again)
    assert many.coefficient.value == pytest.approx(one.coefficient.value)
    width = [v.coefficient.high - v.coefficient.low for v in (one, many)]
    assert width[1] == pytest.approx(width[0], rel=0.02)
    assert many.longer_wins.effective == pytest.approx(one.longer_wins.effective)


@pytest.mark.parametrize("seed", range(3))
def test_names_and_order_of_the_answers_change_nothing(seed):
    calls = simulated(120, seed)
    calls["model_a"], calls["model_b"] = "me", "you"
    one = measure_bias(Comparisons(calls, {}), own={"judge": "me"})[0].to_dict()
    swap = np.random.default_rng(seed).random(120) < 0.5
    part = calls["item"].str[1:].astype(int).map(lambda i: swap[i])
    mixed = pd.concat([calls[~part], exchanged(calls)[part]]).sample(frac=1, random_state=seed)
    other = measure_bias(Comparisons(mixed, {}), own={"judge": "me"})[0].to_dict()
    assert _close(one, other)


def _close(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_close(one[k], other[k]) for k in one)
    return one == (pytest.approx(other, rel=1e-6) if isinstance(one, float) else other)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda c: c.assign(a_wins=np.sign(c.length_a - c.length_b).astype(int)), "separated"),
        (lambda c: c.assign(a_wins=c.a_first), "separated"),
        (lambda c: c.assign(a_wins=c.a_right), "separated"),
        (lambda c: c.assign(length_a=100.0), "need 30 items of different length, have 0"),
        (lambda c: c.assign(length_b=np.nan), "have 0"),
        (lambda c: c.assign(length_b=0.0), "have 0"),
        (lambda c: c[c.item.isin([f"i{k}" for k in range(29)])], "have 29"),
        (
            lambda c: c.assign(length_a=np.where(c.a_right > 0, 200.0, 50.0)),
            "length cannot be told from label",
        ),
    ],
)
def test_no_silly_number_where_there_is_none(change, why):
    found = verbosity(change(simulated(100)))
    assert why in found.coefficient.undefined
    assert found.coefficient.value is found.coefficient.p is found.doubling.value is None
    json.dumps(measure_bias(Comparisons(change(simulated(100)), {}))[0].to_dict(), allow_nan=False)


def test_one_order_without_labels_still_tells_length():
    calls = simulated(200, orders=(1,)).assign(a_right=0)
    found = verbosity(calls)
    assert found.controls == ("position",)
    assert found.coefficient.value > 0
    assert found.longer_right.value is None
    unknown = verbosity(calls.assign(a_first=0))
    assert unknown.controls == ()


def own_calls(n, find_own, find_other, share=0.5, seed=0, orders=2):
    """Pairs of one answer of its own; the shares in which it finds the better answer."""
    rng = np.random.default_rng(seed)
    right = np.where(rng.random(n) < share, 1, -1)
    side = rng.choice([-1, 1], n)  # on which side its own answer is
    rows = []
    for i in range(n):
        for k in range(orders):
            hit = rng.random() < (find_own if right[i] > 0 else find_other)
            own_wins = right[i] if hit else -right[i]
            models = ("me", "you") if side[i] > 0 else ("you", "me")
            rows.append(
                ("judge", f"i{i}", f"t{i}", own_wins * side[i], 1 - 2 * k, 10.0, 12.0,
                 right[i] * side[i], *models)
            )  # fmt: skip
    return frame(rows)


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_own_answers_are_held_against_their_labels(share):
    inside, values = [], []
    for seed in range(60):
        found = self_preference(own_calls(60, 0.9, 0.6, share, seed), "ME")
        inside.append(found.excess.low <= 0.15 <= found.excess.high)
        values.append(found.excess.value)
    assert sum(inside) >= stats.binom.ppf(1e-4, 60, 0.93)
    assert np.mean(values) == pytest.approx(0.15, abs=0.03)


def test_better_own_answers_are_no_self_preference():
    found = self_preference(own_calls(400, 0.8, 0.8, share=0.9), "me")
    assert found.wins.value > 0.7
    assert found.excess.low < 0 < found.excess.high
    assert found.excess.p > 0.05
    flagged = self_preference(own_calls(400, 1.0, 0.5), "me")
    assert flagged.excess.value == pytest.approx(0.25, abs=0.05)
    assert flagged.excess.p < 1e-6


def test_a_judge_that_is_always_right_has_an_interval_with_a_length():
    found = self_preference(own_calls(60, 1.0, 1.0), "me").excess
    assert (found.value, found.p) == (0.0, 1.0)
    assert -0.2 < found.low < -0.01
    assert 0.01 < found.high < 0.2


@pytest.mark.parametrize(
    ("calls", "why"),
    [
        (own_calls(60, 0.9, 0.6).assign(a_right=0), "no labels"),
        (own_calls(60, 0.9, 0.6, share=1.0), "have 60 on which its own is better and 0"),
        (own_calls(20, 0.9, 0.6), "need 30"),
    ],
)
def test_self_preference_is_undefined_without_labels_of_both_kinds(calls, why):
    found = self_preference(calls, "me")
    assert why in found.excess.undefined
    assert found.wins.value is not None


def test_pairs_of_two_own_answers_or_none_tell_nothing():
    calls = own_calls(60, 0.9, 0.6)
    assert self_preference(calls, "somebody") is None
    assert self_preference(calls.assign(model_a="me", model_b="me"), "me") is None


def test_holm_is_over_the_judges():
    calls = pd.concat(
        [
            simulated(80, seed, length=length).assign(judge=f"j{seed}")
            for seed, length in enumerate((0.0, 0.4, 1.0))
        ]
    )
    found = [bias.verbosity.coefficient for bias in measure_bias(Comparisons(calls, {}))]
    order = np.argsort([index.p for index in found])
    expected = np.minimum(
        np.maximum.accumulate([(3 - k) * found[i].p for k, i in enumerate(order)]), 1
    )
    assert [found[i].p_holm for i in order] == pytest.approx(list(expected))
    with pytest.raises(InputError, match="no judge 'x'"):
        measure_bias(Comparisons(calls, {}), own={"x": "y"})


def test_rows_of_a_ledger_give_both_orders():
    items = {"q": Item("q", "?", ("long answer", "short"), label=Winner.A)}
    items["q"].extra["model_a"] = "me"
    inconsistent = Row(
        "q", "j", "pair", Abstention(AbstainReason.SWAP_INCONSISTENT), order="ab+ba", label=Winner.A,
        disclosure={"orders": {"ab": "a", "ba": "b"}, "position": "first"},
    )  # fmt: skip
    tied = Row("q", "k", "pair", Undecided(), order="ab+ba",
               disclosure={"orders": {"ab": "a", "ba": "undecided"}})  # fmt: skip
    single = Row("q", "l", "pair", WinnerVerdict(Winner.B), order="ba")
    found = from_rows([inconsistent, tied, single], items)
    assert found.calls[["judge", "a_wins", "a_first", "a_right"]].to_numpy().tolist() == [
        ["j", -1, -1, 1], ["j", 1, 1, 1], ["k", 1, 1, 1], ["l", -1, -1, 1],
    ]  # fmt: skip
    assert found.left_out == {"k": 1}
    assert set(found.calls["length_a"]) == {11.0}
    assert set(found.calls["model_a"]) == {"me"}
    bias = measure_bias(found)[0]
    assert (bias.position.first, bias.position.second) == (1, 0)
    assert (bias.first_wins.count, bias.first_wins.of) == (2, 2)


def test_a_table_names_the_row_that_is_wrong():
    table = pd.DataFrame(
        {
            "item_id": ["x", "y", "z"],
            "winner": ["a", 2, "tie"],
            "response_a": ["one two", "one", ""],
            "response_b": ["one", "one two three", "x"],
            "label": ["A", "1", None],
            "first": ["a", "b", None],
        }
    )
    found = from_table(table, length="words")
    assert found.calls["a_wins"].tolist() == [1, -1]
    assert found.calls["length_b"].tolist() == [1.0, 3.0]
    assert found.left_out == {"judge": 1}
    renamed = table.rename(columns={"winner": "preferred"})
    assert len(from_table(renamed, columns={"winner": "preferred"}).calls) == 2
    for bad, said in (
        ({"winner": ["a", "c", "b"]}, "row 2, winner: 'c' is not a or b"),
        ({"label": [None, None, "good"]}, "row 3, label: 'good'"),
        ({"item_id": ["x", None, "z"]}, "row 2, item_id"),
        ({"length_a": [1, -2, 3]}, "row 2, length_a"),
    ):
        with pytest.raises(InputError, match=said):
            from_table(table.assign(**bad))
    for columns in ({"winner": "gone"}, {"wins": "winner"}):
        with pytest.raises(InputError):
            from_table(table, columns=columns)
    with pytest.raises(InputError, match="has no column 'winner'"):
        from_table(table.drop(columns="winner"))
    with pytest.raises(InputError, match="no call named a winner"):
        from_table(table.iloc[2:])


def judgebench(path, n=60, seed=0):
    """Outputs in which a judge takes the longer answer, and the first where it is unsure."""
    rng = np.random.default_rng(seed)
    lines = []
    for k in range(n):
        sizes = rng.integers(5, 200, 2)
        better = "A>B" if rng.random() < 0.5 else "B>A"
        longer = "A>B" if sizes[0] > sizes[1] else "B>A"
        said = longer if rng.random() < 0.75 else better
        swapped = {"A>B": "B>A", "B>A": "A>B"}[said]
        second = swapped if rng.random() < 0.8 else "A>B"
        lines.append(
            json.dumps(
                {
                    "pair_id": f"p{k}", "label": better, "judge_name": "arena_hard",
                    "response_model": "gpt", "response_A": "x" * sizes[0], "response_B": "x" * sizes[1],
                    "judgments": [
                        {"judgment": {"judge_model": "mini"}, "decision": said},
                        {"judgment": {}, "decision": second},
                    ],
                }
            )
        )  # fmt: skip
    path.write_text("\n".join(lines) + "\n")
    return path


def test_judgebench_decisions_are_about_positions(tmp_path):
    path = judgebench(tmp_path / "out.jsonl")
    assert is_judgebench(path)
    found = from_judgebench(path)
    records = [json.loads(line) for line in path.read_text().splitlines()]
    calls = found.calls.set_index(["item", "a_first"])["a_wins"]
    for record in records:
        one, two = (judgment["decision"] for judgment in record["judgments"])
        assert calls[record["pair_id"], 1] == (1 if one == "A>B" else -1)
        assert calls[record["pair_id"], -1] == (-1 if two == "A>B" else 1)
    bias = measure_bias(found)[0]
    assert (bias.judge, bias.self_preference) == ("mini", None)
    assert bias.verbosity.coefficient.p < 0.05
    path.write_text(path.read_text().replace('"label": "A>B"', '"label": "A=B"'))
    with pytest.raises(InputError, match=r"line .*`label`"):
        from_judgebench(path)


@pytest.mark.skipif(not TRIALS.is_file(), reason="needs LLMBar's stored trials (RISKJUDGE_REAL)")
def test_positions_agree_with_the_census_on_real_trials():
    rows = [row for row in read_trials(TRIALS, ["Vanilla"]) if row.judge in ("GPT-4", "Falcon")]
    for bias in measure_bias(from_rows(rows, {})):
        census = position_preference(row for row in rows if row.judge == bias.judge)
        assert bias.position == census
        assert bias.verbosity.coefficient.value is None


def run(*arguments):
    with pytest.raises(SystemExit) as done:
        main(list(map(str, arguments)))
    return done.value.code


def test_the_command(tmp_path, capsys):
    path = judgebench(tmp_path / "out.jsonl")
    assert run("bias", path, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["judges"][0]["verbosity"]["items"] > 30
    calls = own_calls(80, 0.9, 0.5)
    table = pd.DataFrame(
        {
            "item_id": calls["item"],
            "winner": np.where(calls["a_wins"] > 0, "a", "b"),
            "label": np.where(calls["a_right"] > 0, "a", "b"),
            "model_a": calls["model_a"],
            "model_b": calls["model_b"],
        }
    )
    table.to_csv(tmp_path / "calls.csv", index=False)
    assert run("bias", tmp_path / "calls.csv", "--own", "judge=me") == 0
    out = capsys.readouterr().out
    assert "Its own answers" in out
    assert "need 30 items of different length, have 0" in " ".join(out.split())
    assert run("bias", tmp_path / "calls.csv", "--own", "judge") == 2
    assert run("bias", tmp_path / "calls.csv", "--judge", "nobody") == 2
    assert run("bias", tmp_path / "calls.csv", "--length", "miles") == 2
    assert run("bias", tmp_path / "calls.csv", "--strategy", "Vanilla") == 2
    assert run("bias", tmp_path / "gone.csv") == 2


def test_the_command_on_a_ledger_and_on_a_json_list(tmp_path, capsys):
    """A judge that always takes the longer answer, as `riskjudge judge` records it."""
    pairs = [
        {"id": f"q{k}", "prompt": "?", "responses": ["x" * (3 + k), "y" * 40], "label": "ab"[k % 2]}
        for k in range(30)
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    config = (
        '[judges.lengthy]\ntype = "pairwise"\njudge = "long"\n[judges.long]\ntype = "longest"\n'
    )
    (tmp_path / "judges.toml").write_text(config)
    ledger = tmp_path / "ledger.jsonl"
    asked = ("--config", tmp_path / "judges.toml", "-o", ledger)
    assert run("judge", tmp_path / "pairs.jsonl", *asked) == 0
    capsys.readouterr()
    assert run("bias", ledger, "--items", tmp_path / "pairs.jsonl", "--json") == 0
    (told,) = json.loads(capsys.readouterr().out)["judges"]
    assert told["verbosity"]["longer_wins"]["value"] == 1.0
    assert "separated" in told["verbosity"]["coefficient"]["undefined"]
    assert run("bias", ledger) == 2
    assert "--items" in capsys.readouterr().err
    calls = [{"instruction": f"i{k}", "preference": 1 + k % 2, "output_1": "a", "output_2": "b c"}
             for k in range(4)]  # fmt: skip
    (tmp_path / "calls.json").write_text(json.dumps(calls))
    names = {"item_id": "instruction", "winner": "preference", "response_a": "output_1",
             "response_b": "output_2"}  # fmt: skip
    columns = [text for pair in names.items() for text in ("--column", "=".join(pair))]
    assert run("bias", tmp_path / "calls.json", *columns, "--json") == 0
    (told,) = json.loads(capsys.readouterr().out)["judges"]
    assert told["verbosity"]["longer_wins"]["count"] == 2
