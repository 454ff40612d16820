"""Agreement read from tables and ledgers: many humans, declared scales, ties, spellings, abstentions."""

import json

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.inter_rater import cohens_kappa

from riskjudge.agreement import (
    cohen_kappa,
    gwet_ac1,
    position_consistency,
    promote,
    rater_agreement,
    validate_judge,
)
from riskjudge.data.verdict import (
    AbstainReason,
    Abstention,
    BooleanVerdict,
    Failure,
    FailureKind,
    Undecided,
    Winner,
    WinnerVerdict,
)
from riskjudge.errors import InputError
from riskjudge.io.tables import write_table
from riskjudge.ledger import Row
from riskjudge.ledger.jsonl import write_ledger


@pytest.fixture
def agreement(command, tmp_path):
    """Run the command on a table and give back its exit code, its JSON and its errors."""

    def run(table, *options, name="labels.csv"):
        path = tmp_path / name
        if isinstance(table, pd.DataFrame):
            write_table(table, path)
        else:
            write_ledger(path, table)
        code, out, err = command("agreement", path, "--json", "--replicates", 200, *options)
        return code, json.loads(out) if out else None, err

    return run


def crowd(n=200, humans=12, judge_error=0.5, human_error=0.05, seed=0):
    """Humans who agree with one another, and a judge."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    table = pd.DataFrame({"item_id": [f"i{i}" for i in range(n)]})
    table["judge"] = np.where(rng.random(n) < judge_error, 1 - truth, truth)
    for k in range(humans):
        table[f"h{k}"] = np.where(rng.random(n) < human_error, 1 - truth, truth)
    return table


def of_humans(table):
    names = [name for name in table.columns if name.startswith("h")]
    return [option for name in names for option in ("--human", name)]


def test_humans_who_agree_with_one_another_do_not_promote_a_random_judge(agreement):
    table = crowd(human_error=0.01)
    code, said, _ = agreement(table, "--judge", "judge", *of_humans(table), "--floor-n", 100)
    assert code == 1
    assert said["promotion"]["state"] == "held"
    assert abs(said["agreement"]["coefficients"]["alpha"]["value"]) < 0.2
    assert said["humans"]["coefficients"]["alpha"]["value"] > 0.75  # the ceiling
    labels = table.set_index("item_id")
    pooled = rater_agreement(labels)
    assert pooled.alpha.low > 0.667  # what would have promoted it
    with pytest.raises(InputError, match="its agreement with the humans"):
        promote(pooled)


def test_a_good_judge_among_many_humans_is_promoted(agreement):
    table = crowd(n=400, judge_error=0.03)
    code, said, _ = agreement(table, "--judge", "judge", *of_humans(table), "--floor-n", 100)
    assert (code, said["promotion"]["state"]) == (0, "promoted")


@pytest.mark.parametrize("humans", [1, 2, 5])
def test_the_judge_is_measured_against_a_human_at_random(humans):
    table = crowd(humans=humans, judge_error=0.2).set_index("item_id")
    report = validate_judge(table["judge"], table.drop(columns="judge"), replicates=50)
    pairs = [table[["judge", f"h{k}"]].to_numpy() for k in range(humans)]
    agree = np.mean([(pair[:, 0] == pair[:, 1]).mean() for pair in pairs])
    assert report.percent_agreement.value == pytest.approx(agree)
    assert report.n == len(table)
    # Kappa of the judge and one human drawn for each unit, averaged over the draws: one pool of
    # human labels is what chance agreement takes.
    one, other = table["judge"].mean(), table.drop(columns="judge").to_numpy().mean()
    chance = one * other + (1 - one) * (1 - other)
    assert report.kappa.value == pytest.approx((agree - chance) / (1 - chance))
    if humans == 1:
        assert report.kappa.value == pytest.approx(cohen_kappa(pairs[0]))
        alone = rater_agreement(table, replicates=50)
        assert report.alpha == alone.alpha


def test_a_human_who_labelled_little_counts_little():
    table = crowd(humans=3, human_error=0.0, judge_error=0.0).set_index("item_id")
    table = table.astype(object)
    table.iloc[10:, 3] = None
    table.iloc[:10, 3] = 1 - table.iloc[:10, 0].astype(int)  # the third human is always against it
    report = validate_judge(table["judge"], table.drop(columns="judge"), replicates=50)
    assert report.percent_agreement.value == pytest.approx(1 - 10 / 3 / len(table))


def two_raters(counts):
    """Units from a contingency table given as a mapping of label pairs to counts."""
    return [pair for pair, count in counts.items() for _ in range(count)]


def test_ac1_on_a_declared_scale():
    table = two_raters({(4, 4): 37, (4, 5): 13, (5, 4): 13, (5, 5): 37})
    observed, spread = 0.74, 0.5  # sum of p (1 - p) over the labels

    def ac1(categories):
        chance = spread / (categories - 1)
        return (observed - chance) / (1 - chance)

    assert gwet_ac1(table) == pytest.approx(ac1(2)) == pytest.approx(0.48)
    assert gwet_ac1(table, [1, 2, 3, 4, 5]) == pytest.approx(ac1(5))
    assert round(gwet_ac1(table, ["1", "2", "3", "4", "5"]), 2) == 0.70


def test_ordinal_kappa_on_a_declared_scale():
    counts = {(1, 1): 10, (1, 4): 5, (4, 4): 20, (4, 5): 6, (5, 4): 4, (5, 5): 15, (5, 1): 2}
    declared = np.zeros((5, 5))
    for (a, b), count in counts.items():
        declared[a - 1, b - 1] = count
    squeezed = declared[np.ix_([0, 3, 4], [0, 3, 4])]
    table = two_raters(counts)
    for categories, square in ((None, squeezed), (range(1, 6), declared)):
        expected = cohens_kappa(square, wt="quadratic").kappa
        categories = None if categories is None else list(categories)
        assert cohen_kappa(table, "ordinal", categories) == pytest.approx(expected)


def test_words_are_ordinal_once_their_order_is_declared():
    order = ["poor", "fair", "good", "great"]
    numbers = two_raters({(1, 1): 5, (1, 3): 2, (3, 3): 6, (4, 3): 1, (4, 4): 4, (2, 2): 3})
    words = [[order[a - 1].upper(), f" {order[b - 1]}"] for a, b in numbers]
    assert cohen_kappa(words, "ordinal", order) == pytest.approx(
        cohen_kappa(numbers, "ordinal", [1, 2, 3, 4])
    )
    with pytest.raises(InputError, match="ordinal level must be a number, or the categories"):
        cohen_kappa(words, "ordinal")


@pytest.mark.parametrize(
    ("categories", "said"),
    [
        ("1,2,3", "label 4 by .* is not one of the categories 1, 2, 3"),
        ("4", "two or more"),
        ("4,5,4", "declared twice"),
        ("4,5,five", "'five' is not a number"),
        ("4,5,", "'' is not a number"),
        ("4,5,nan", "'nan' is not a number"),
    ],
)
def test_categories_that_do_not_fit_are_named(agreement, categories, said):
    table = pd.DataFrame({"item_id": ["a", "b", "c"], "j": [4, 5, 4], "h": [4, 5, 5]})
    options = ("--judge", "j", "--human", "h", "--categories", categories)
    code, _, err = agreement(table, *options)
    assert code == 2
    with pytest.raises(InputError, match=said):
        raise InputError(err)


def test_case_and_stray_spaces_make_no_new_category(agreement):
    rng = np.random.default_rng(0)
    answer = rng.choice(["Yes", "No", "Partly right"], 60)
    table = pd.DataFrame(
        {
            "item_id": [str(i) for i in range(60)],
            "judge": [f" {text.lower()} ".replace(" right", "   right") for text in answer],
            "human": [text.upper() if i % 2 else f"{text} " for i, text in enumerate(answer)],
        }
    )
    for name in ("labels.csv", "labels.jsonl", "labels.parquet"):
        _, said, _ = agreement(table, "--judge", "judge", "--human", "human", name=name)
        assert said["agreement"]["coefficients"]["percent_agreement"]["value"] == 1.0
        assert ["NO", "No", "no"] in said["agreement"]["merged"]
    table["judge"] = ["   ", *table["judge"][1:]]
    _, said, _ = agreement(table, "--judge", "judge", "--human", "human", name="x.jsonl")
    assert said["agreement"]["left_out"] == 1  # a blank is no category


@pytest.mark.parametrize(
    ("tie", "named"),
    [("tie (bothbad)", ()), ("Tie", ()), ("C", ("C",)), ("no difference", ("No difference",))],
)
def test_ties_of_every_kind_are_no_winner(tie, named):
    first = dict(enumerate([*["a"] * 30, *["a"] * 40, *[tie] * 30]))
    second = dict(enumerate([*["A "] * 30, *["b"] * 40, *[tie] * 30]))
    found = position_consistency(first, second, ties=named)
    assert (found.consistent, found.trials, found.undecided) == (30, 70, 30)
    if named:
        with pytest.raises(InputError, match=r"is neither a winner .* nor a tie that was named"):
            position_consistency(first, second)


def test_several_kinds_of_tie_on_the_command_line(agreement):
    table = pd.DataFrame({"item_id": [str(i) for i in range(6)], "j": [1, 0] * 3, "h": [1, 0] * 3})
    table["w1"] = ["1", "2", "1", "0", "9", "tie"]
    table["w2"] = ["1", "1", "1", "0", "9", "1"]
    options = ("--judge", "j", "--human", "h", "--first", "w1", "--second", "w2")
    code, _, err = agreement(table, *options)
    assert code == 2
    assert "neither a winner" in err
    _, said, _ = agreement(table, *options, "--tie", "0", "--tie", "9")
    counts = said["position"]
    assert (counts["consistent"], counts["inconsistent"], counts["undecided"]) == (2, 1, 3)


def test_numbers_and_texts_name_the_same_winner():
    found = position_consistency({1: 1, 2: 2.0, 3: "2"}, {1: "1", 2: "2", 3: 1})
    assert (found.consistent, found.inconsistent) == (2, 1)


def ledger(n=60, mode="direct", judge="small"):
    rows = []
    for i in range(n):
        outcome = BooleanVerdict(i % 2 == 0)
        if i < 5:
            outcome = Abstention(AbstainReason.PANEL_SPLIT)
        elif i < 8:
            outcome = Failure(FailureKind.TIMEOUT)
        label = None if i >= n - 4 else i % 2 == 0
        rows.append(Row(f"q{i}", judge, mode, outcome, label=label, subset="ab"[i % 2]))
    return rows


def test_it_reads_a_ledger_of_ours(agreement):
    code, said, _ = agreement(ledger(), "--min-n", 5, name="ledger.jsonl")
    found = said["agreement"]
    assert code == 0
    assert found["n"] == 48
    assert found["abstained"] == {"panel_split": 5}
    assert found["failed"] == {"timeout": 3}
    assert found["left_out"] == 4  # those that nobody labelled
    assert found["coefficients"]["percent_agreement"]["value"] == 1.0
    _, said, _ = agreement(
        ledger(), "--where", "subset=a", "--by", "subset", "--min-n", 5, name="ledger.jsonl"
    )
    assert list(said["segments"]) == ["a"]
    assert said["agreement"]["abstained"] == {"panel_split": 3}


def test_of_several_arms_one_is_named(agreement):
    rows = [*ledger(), *ledger(mode="retrieval"), *ledger(judge="big")]
    code, _, err = agreement(rows, name="ledger.jsonl")
    assert code == 2
    assert "small/direct, small/retrieval, big/direct" in err
    for options in (("--judge", "small/direct"), ("--judge", "big"), ("--where", "mode=retrieval")):
        code, said, _ = agreement(rows, *options, name="ledger.jsonl")
        assert (code, said["agreement"]["n"]) == (0, 48)
    assert agreement(rows, "--judge", "huge", name="ledger.jsonl")[0] == 2


def test_pairs_of_a_ledger(agreement):
    outcomes = [WinnerVerdict(Winner.A), WinnerVerdict(Winner.B), Undecided()]
    rows = [
        Row(f"q{i}", "j", "pairwise", outcomes[i % 3], label=Winner.A if i % 2 else Winner.B)
        for i in range(60)
    ]
    _, said, _ = agreement(rows, name="ledger.jsonl")
    assert (said["agreement"]["n"], said["agreement"]["undecided"]) == (40, 20)


@pytest.mark.parametrize("option", [(), ("--why", "why1")])
def test_reasons_of_a_trace_are_abstentions(agreement, option):
    table = pd.DataFrame(
        {
            "item_id": [str(i) for i in range(40)],
            "label": [i % 2 for i in range(40)],
            "v1": [None if i < 6 else i % 2 for i in range(40)],
            "why1": ["swap_inconsistent"] * 4 + ["parse", None] + [None] * 34,
        }
    ).astype({"v1": "Int64"})
    _, said, _ = agreement(table, "--judge", "v1", "--human", "label", *option)
    found = said["agreement"]
    assert (found["abstained"], found["failed"]) == ({"swap_inconsistent": 4}, {"parse": 1})
    assert (found["n"], found["left_out"]) == (34, 1)


def test_where_keeps_rows_and_names_what_is_not_there(agreement):
    table = crowd(humans=1).assign(topic=lambda t: ["x", "y"] * (len(t) // 2))
    options = ("--judge", "judge", "--human", "h0")
    _, said, _ = agreement(table, *options, "--where", "topic=x")
    assert said["agreement"]["n"] == 100
    for where in ("colour=red", "topic=z", "topic"):
        code, _, err = agreement(table, *options, "--where", where)
        assert code == 2
        assert "Traceback" not in err


@pytest.mark.parametrize(
    "bad",
    [
        *[("--seed", -1), ("--replicates", 0), ("--replicates", -5), ("--confidence", "nan")],
        *[("--confidence", 1), ("--confidence", 95), ("--min-n", 0), ("--level", "cardinal")],
        *[("--floor-agreement", "nan"), ("--floor-n", 0), ("--floor-consistency", 2)],
        *[("--group", "nowhere"), ("--by", "nowhere"), ("--first", "nowhere"), ("--why", "nope")],
        *[("--human", "judge"), ("--id", "nowhere"), ("--coefficient", "rho"), ("--seed", "x")],
        *[("--first", "judge"), ("--judge", "nowhere")],
    ],
)
def test_options_that_make_no_sense_are_named(agreement, bad):
    code, out, err = agreement(crowd(20, 1), "--judge", "judge", "--human", "h0", *bad)
    assert (code, out) == (2, None)
    assert "Traceback" not in err
