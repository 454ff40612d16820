"""Reports: known counts, rates that are undefined and not zero, tables in four clothes."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

from riskjudge.display import Table
from riskjudge.errors import InputError
from riskjudge.evaluation import Insufficient, Rate, summarize
from riskjudge.evaluation.render import certificate_table, report_tables
from riskjudge.gate.outcomes import Outcomes
from riskjudge.io.tables import write_table


def outcomes(rows):
    columns = (
        "item_id",
        "mode",
        "verdict",
        "label",
        "abstain_reason",
        "failure",
        "undecided",
        "topic",
    )
    frame = pd.DataFrame([(f"i{k}", *row) for k, row in enumerate(rows)], columns=list(columns))
    status = np.select(
        [frame["abstain_reason"].notna(), frame["failure"].notna()],
        ["abstained", "score_failed"],
        default="graded",
    )
    return Outcomes.from_frame(frame.assign(status=status, certified=True, asked=1))


KNOWN = [
    ("one", 1, 1, None, None, False, "x"),
    ("one", 0, 1, None, None, False, "x"),
    ("two", 1, 1, None, None, False, "x"),
    ("two", 1, None, None, None, False, "y"),
    (None, None, 1, "below_conformal", None, False, "y"),
    (None, None, 0, "panel_split", None, False, "y"),
    (None, None, 0, None, "timeout", False, "y"),
    (None, None, 0, None, None, True, "z"),
]


def test_known_counts():
    whole = summarize(outcomes(KNOWN)).whole
    assert whole.accepted_by == {"one": 2, "two": 2}
    assert whole.abstained_by == {"panel_split": 1, "below_conformal": 1}
    assert whole.failed_by == {"timeout": 1}
    assert whole.undecided == 1
    assert (whole.items, whole.accepted, whole.abstained, whole.failed) == (8, 4, 2, 1)
    assert (whole.fdr.count, whole.fdr.of) == (1, 3)  # one accepted item has no label
    assert whole.agreement.value == pytest.approx(2 / 3)
    assert whole.coverage.value == 0.5


def test_rates_over_nothing_are_undefined():
    whole = summarize(outcomes(KNOWN[4:])).whole
    assert whole.fdr == Rate(0, 0)
    assert json.loads(json.dumps(whole.fdr.value)) is None
    printed = report_tables(summarize(outcomes(KNOWN[4:])))[0].to_markdown()
    assert "| FDR | undefined (0/0) |" in printed


def test_segments_under_the_floor_are_insufficient():
    report = summarize(outcomes(KNOWN), by="topic", floor=3)
    assert report.segments["z"] == Insufficient(need=3, have=0)
    assert report.segments["x"].fdr.of == 3
    assert sum(s.items for s in report.segments.values() if not isinstance(s, Insufficient)) == 3
    with pytest.raises(InputError, match="no column 'subject'"):
        summarize(outcomes(KNOWN), by="subject")


def test_a_row_that_contradicts_itself_is_named():
    with pytest.raises(InputError, match="row 1: an item is accepted in a mode or carries one of"):
        outcomes([("one", 1, 1, "panel_split", None, False, "x")])
    with pytest.raises(InputError, match="row 2"):
        outcomes([KNOWN[0], (None, None, 1, None, None, False, "x")])


def test_tables_escape_what_their_format_needs():
    table = Table("A_b & 10 %", ("", "x|y"), (("a_1", "5 % ± 1"),))
    assert r"A\_b \& 10 \%" in table.to_latex()
    assert r"a\_1 & 5 \% $\pm$ 1 \\" in table.to_latex()
    assert r"x\|y" in table.to_markdown()
    assert table.to_csv() == ",x|y\na_1,5 % ± 1\n"


def test_a_certificate_in_words():
    from riskjudge.calibration import FixedSequence, Sample

    rng = np.random.default_rng(0)
    scores = rng.random((500, 1))
    wrong = rng.random((500, 1)) < 0.2 * scores
    sample = Sample(scores, wrong.astype(int), np.zeros(500, int), ("judge",))
    good = certificate_table(FixedSequence().certify(sample, 0.15, 0.05)).to_markdown()
    assert (
        "With confidence 95 %, at most 15 % of the verdicts that these thresholds accept are wrong."
        in good
    )
    assert "set aside" in good
    none = certificate_table(FixedSequence().certify(sample, 0.001, 0.05)).to_markdown()
    assert "| certified | no |" in none
    assert "| need | 2995 accepted items without an error, at the least |" in none


def test_the_floor_counts_graded_items_and_not_all(tmp_path, command):
    """One accepted item of forty says nothing about a rate of errors."""
    accepted = ("one", 1, 1, None, None, False, "x")
    declined = (None, None, 1, "below_conformal", None, False, "x")
    table = outcomes([accepted, *[declined] * 39])
    whole = summarize(table, floor=10).whole
    assert (whole.fdr.value, whole.agreement.value, whole.coverage.value) == (None, None, 1 / 40)
    assert whole.to_dict()["fdr"]["insufficient"] == {"need": 10, "have": 1}
    path = tmp_path / "outcomes.csv"
    write_table(table.to_frame(), path)
    for options in ((), ("--by", "topic")):
        code, out, _ = command("report", path, "--floor", 10, *options)
        assert code == 0
        assert "insufficient: need 10, have 1" in out
        assert "0.0 %" not in out
        data = json.loads(command("report", path, "--floor", 10, "--json", *options)[1])
        assert data["whole"]["fdr"]["value"] is None
    assert data["segments"]["x"] == {"need": 10, "have": 1, "status": "insufficient"}
    assert summarize(table, by="topic").segments["x"] == Insufficient(30, 1)
    assert summarize(table).whole.fdr.value == 0.0  # nobody asked for a floor
    for floor in (0, -1, "x", "nan"):
        code, _, err = command("report", path, "--floor", floor)
        assert code == 2
        assert "Traceback" not in err


def test_without_labels_the_floor_counts_items():
    table = outcomes([(m, v, None, *rest) for m, v, _, *rest in KNOWN])
    report = summarize(table, by="topic", floor=3)
    assert report.segments["x"].coverage.value == 1.0
    assert report.segments["z"] == Insufficient(need=3, have=1)


def test_groups_of_dependent_items_make_the_intervals_longer():
    rng = np.random.default_rng(0)
    covered = {None: 0, "question": 0}
    for _ in range(200):
        question = np.repeat(np.arange(60), 5)
        wrong = np.repeat(rng.random(60) < 0.2, 5)
        frame = pd.DataFrame(
            {
                "item_id": [f"i{k}" for k in range(300)],
                "mode": "one", "verdict": 1, "label": np.where(wrong, 0, 1),
                "abstain_reason": None, "failure": None, "undecided": False, "status": "graded",
                "certified": True, "asked": 1, "question": question,
            }
        )  # fmt: skip
        decided = Outcomes.from_frame(frame)
        for group in covered:
            found = summarize(decided, group=group)
            covered[group] += found.whole.fdr.low <= 0.2 <= found.whole.fdr.high
    assert covered["question"] >= 184
    assert covered[None] < 160
    assert found.to_dict()["group"] == "question"
    assert found.whole.fdr.to_dict()["effective"] < 100
    assert "dependent by question" in report_tables(found)[0].notes[-1]
    frame.loc[3, "question"] = None
    with pytest.raises(InputError, match="row 4"):
        summarize(Outcomes.from_frame(frame), group="question")


def test_every_field_of_a_report_is_in_its_json():
    report = summarize(outcomes(KNOWN), by="topic", floor=3)
    names = {field.name for field in dataclasses.fields(report)}
    assert set(report.to_dict()) == names - {"group"}  # nobody named one
    whole = report.whole
    assert set(whole.to_dict()) == {field.name for field in dataclasses.fields(whole)}
    json.dumps(report.to_dict(), allow_nan=False)


def graded(wrong, right, declined=0, topic="x", start=0):
    rows = [("one", 1, 0, None, None, False, topic)] * wrong
    rows += [("one", 1, 1, None, None, False, topic)] * right
    return rows + [(None, None, 1, "below_conformal", None, False, topic)] * declined


LINES = [  # wrong, right, declined, options, whether it is held
    ((5, 95, 0), ("--max-fdr", 0.05), True),  # a line is held where it is met exactly
    ((6, 94, 0), ("--max-fdr", 0.05), False),
    ((5, 95, 0), ("--max-fdr", 0.05, "--sure"), False),
    ((0, 100, 0), ("--max-fdr", 0.05, "--sure"), True),  # 1 - 0.025 ** (1 / 100) = 0.0362
    ((0, 72, 0), ("--max-fdr", 0.05, "--sure"), True),  # 0.0499
    ((0, 71, 0), ("--max-fdr", 0.05, "--sure"), False),  # 0.0506
    ((0, 3, 0), ("--max-fdr", 0.05), True),
    ((0, 3, 0), ("--max-fdr", 0.05, "--floor", 10), False),
    ((0, 0, 9), ("--max-fdr", 1), False),  # undefined
    ((0, 0, 9), ("--floor-coverage", 0), True),
    ((0, 50, 50), ("--floor-coverage", 0.5), True),
    ((0, 49, 51), ("--floor-coverage", 0.5), False),
    ((0, 50, 50), ("--floor-coverage", 0.5, "--sure"), False),
    ((0, 50, 50), ("--floor-coverage", 0.5, "--max-fdr", 0), True),
    ((1, 49, 50), ("--floor-coverage", 0.5, "--max-fdr", 0), False),
]


@pytest.mark.parametrize(("rows", "options", "held"), LINES)
def test_a_line_is_held_or_missed(tmp_path, command, rows, options, held):
    path = tmp_path / "o.csv"
    write_table(outcomes(graded(*rows)).to_frame(), path)
    code, out, err = command("report", path, *options)
    assert code == (0 if held else 1)
    assert "Report on" in out
    assert ("MISSED" in err) is not held
    assert "need at " in err
    data = json.loads(command("report", path, *options, "--json")[1])
    assert all(line["held"] for line in data["lines"]) is held


def test_lines_hold_in_each_segment(tmp_path, command):
    path = tmp_path / "o.csv"
    rows = graded(0, 100, topic="good") + graded(20, 80, topic="bad") + graded(0, 5, topic="few")
    write_table(outcomes(rows).to_frame(), path)
    assert command("report", path, "--max-fdr", 0.1)[0] == 0
    code, _, err = command("report", path, "--max-fdr", 0.1, "--by", "topic")
    assert code == 1
    assert "held: FDR in topic = good: need at most 10 %, have 0.00 % (0/100" in err
    assert "MISSED: FDR in topic = bad: need at most 10 %, have 20.00 % (20/100" in err
    assert "MISSED: FDR in topic = few: need at most 10 %, have too little evidence (5" in err
    options = ("--max-fdr", 0.2, "--by", "topic", "--floor", 5)
    assert command("report", path, *options)[0] == 0


def test_what_no_certificate_covers_or_was_calibrated_on_holds_no_line(tmp_path, command):
    path = tmp_path / "o.csv"
    table = outcomes(graded(0, 100))
    table.certified[:40] = False
    write_table(table.to_frame(), path)
    assert command("report", path, "--floor-coverage", 0.6)[0] == 0
    code, _, err = command("report", path, "--floor-coverage", 0.61)
    assert code == 1
    assert "have 60.00 %" in err
    assert "certified" in err
    write_table(table.to_frame().assign(calibrated_on=[True] + [False] * 99), path)
    assert command("report", path, "--floor-coverage", 0.6)[0] == 0
    code, _, err = command("report", path, "--max-fdr", 1)
    assert code == 1
    assert "calibrated on 1 of the items" in err


@pytest.mark.parametrize("option", ["--floor-coverage", "--max-fdr"])
@pytest.mark.parametrize("value", [-0.1, 1.1, 95, "nan", "x"])
def test_a_line_is_a_share(tmp_path, command, option, value):
    path = tmp_path / "o.csv"
    write_table(outcomes(KNOWN).to_frame(), path)
    code, out, err = command("report", path, option, value)
    assert (code, out) == (2, "")
    assert "Traceback" not in err


def test_sure_belongs_to_a_line(tmp_path, command):
    write_table(outcomes(KNOWN).to_frame(), tmp_path / "o.csv")
    assert command("report", tmp_path / "o.csv", "--sure")[0] == 2
