"""LLMBar: the public layout, the census, and the stored trials of real judges."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from riskjudge.cli.census import register
from riskjudge.data.verdict import describe
from riskjudge.errors import InputError, OperationalError
from riskjudge.items import read_llmbar
from riskjudge.items.llmbar import MAIN_SUBSETS
from riskjudge.ledger import position_preference, read_trials, readings

_HERE = Path(__file__).resolve().parent.parent
REAL = Path(os.environ.get("RISKJUDGE_REAL", _HERE.parent / "shared" / "real"))
TRIALS = REAL / "llmbar_judge_trials_long.csv.gz"
needs_real_data = pytest.mark.skipif(
    not (REAL / "llmbar").is_dir() or not TRIALS.is_file(),
    reason="needs LLMBar and its stored trials; set RISKJUDGE_REAL to the folder that holds them",
)


def census(*arguments):
    app = typer.Typer()
    register(app)
    app.command("another")(lambda: None)
    result = CliRunner().invoke(app, ["census", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout


@pytest.fixture
def folder(tmp_path):
    """The layout with two pairs a subset."""
    pairs = [
        {"input": "Sum up.", "output_1": "short", "output_2": "much longer", "label": 1},
        {"input": "Sum up.", "output_1": "much longer", "output_2": "short", "label": 2},
    ]
    for subset in MAIN_SUBSETS:
        path = tmp_path / "Dataset" / subset / "dataset.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(pairs))
    return tmp_path


def test_the_layout_is_found_from_each_of_its_folders(folder):
    items = read_llmbar(folder)
    assert [item.id for item in items[:3]] == [
        "LLMBar/Natural/0",
        "LLMBar/Natural/1",
        "LLMBar/Adversarial/Neighbor/0",
    ]
    assert [item.label for item in items[:2]] == ["a", "b"]
    assert items == read_llmbar(folder / "Dataset") == read_llmbar(folder / "Dataset" / "LLMBar")


def test_the_census_of_a_small_layout(folder):
    assert census("--llmbar", folder, "--judge", "longest", "--judge", "second-slot") == (
        "longest/pairwise pairs=10 graded=10 abstained=0 undecided=0 calls=20 agreement=0.0000\n"
        "longest/pointwise-bool pairs=10 graded=10 abstained=0 undecided=0 calls=20 "
        "agreement=0.0000\n"
        "second-slot/pairwise pairs=10 graded=0 abstained=10 undecided=0 calls=20 "
        "agreement=undefined\n"
        "second-slot/pointwise-bool pairs=10 graded=0 abstained=0 undecided=10 calls=20 "
        "agreement=undefined\n"
    )


def test_damage_in_the_layout_is_named(folder):
    path = folder / "Dataset" / MAIN_SUBSETS[2] / "dataset.json"
    path.write_text('[{"input": "", "output_1": "", "output_2": "", "label": 3}]')
    with pytest.raises(InputError, match=r"GPTInst.*pair 0"):
        read_llmbar(folder)
    path.write_text("[")
    with pytest.raises(InputError, match="not JSON"):
        read_llmbar(folder)
    path.unlink()
    with pytest.raises(InputError, match="no such file"):
        read_llmbar(folder)
    with pytest.raises(InputError, match="not an LLMBar folder"):
        read_llmbar(folder / "elsewhere")


def test_census_mistakes(folder):
    with pytest.raises(InputError, match="--llmbar DIR or --trials FILE"):
        census()
    with pytest.raises(InputError, match="no scripted judge 'best'"):
        census("--llmbar", folder, "--judge", "best")
    with pytest.raises(InputError, match="--strategy goes with --trials"):
        census("--llmbar", folder, "--strategy", "Vanilla")


HEADER = "item_id,subset,judge,strategy,label,w_ab,w_ba,score_1,score_2\n"
STORED = [
    ("1,1,,", "a", "winners"),
    ("2.0,2.0,,", "b", "winners"),
    ("1,2,,", "abstained:swap_inconsistent", "winners"),
    (",2,,", "failed:no_verdict", "winners"),
    (",,,", "failed:no_verdict", "winners"),
    # Graded apart: the scores are read, not the winners that break their tie by position.
    ("2,1,9,9", "undecided", "scores"),
    ("1,1,3,9", "b", "scores"),
    ("1,1,3,", "failed:no_verdict", "scores"),
]


@pytest.mark.parametrize(("values", "outcome", "read"), STORED)
def test_a_stored_trial_is_the_trial_that_was_made(tmp_path, values, outcome, read):
    path = tmp_path / "trials.csv"
    path.write_text(HEADER + f"q1,s,j,Vanilla,1,{values}\n")
    [row] = read_trials(path)
    assert describe(row.outcome) == outcome
    assert (row.calls, row.disclosure["read"]) == (2, read)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("q1,s,j,Vanilla,3,1,1,,", "line 2: `label` is 1 or 2"),
        ("q1,s,j,Vanilla,1,0,1,,", "line 2: `w_ab` is 1, 2 or empty"),
        ("q1,s,j,Vanilla,1,1,1", "line 2: 7 fields"),
        ("q1,s,j,Vanilla,1,1,1,9,x", "line 2: the scores are finite numbers"),
        ("q1,s,j,Vanilla,1,1,1,9,nan", "line 2: the scores are finite numbers"),
        ("q1,s,j,Vanilla,1,1,1,,\nq1,s,j,Vanilla,1,1,1,,", "line 3: the trial .* occurs twice"),
    ],
)
def test_damage_in_a_trials_file_is_named(tmp_path, line, said):
    path = tmp_path / "trials.csv.gz"
    path.write_bytes(gzip.compress((HEADER + line + "\n").encode()))
    with pytest.raises(InputError, match=said):
        read_trials(path)


def test_other_trials_files_are_refused_in_one_line(tmp_path):
    path = tmp_path / "trials.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="no column 'item_id'"):
        read_trials(path)
    path.write_bytes(b"\x28\xb5\x2f\xfd....")
    with pytest.raises((InputError, OperationalError), match=r"zstandard|damaged"):
        census("--trials", path)


@needs_real_data
def test_the_census_of_the_main_pairs():
    assert census("--llmbar", REAL / "llmbar", "--judge", "first-slot") == (
        "first-slot/pairwise pairs=419 graded=0 abstained=419 undecided=0 calls=838 "
        "agreement=undefined\n"
        "first-slot/pointwise-bool pairs=419 graded=0 abstained=0 undecided=419 calls=838 "
        "agreement=undefined\n"
    )


@needs_real_data
def test_the_other_subsets_are_read_too():
    assert len(read_llmbar(REAL / "llmbar", ["CaseStudy/Constraint"])) == 89
    merged = read_llmbar(REAL / "llmbar", ["Processed/LLMEval^2"])
    # One of its pairs has an empty output: nothing to judge.
    assert (len(merged), sum(not item.has_body for item in merged)) == (200, 1)


@needs_real_data
def test_the_stored_trials_of_real_judges():
    rows = read_trials(TRIALS)
    assert len(rows) == 40_413
    counts = {reading.segment[0]: reading for reading in readings(rows, ("judge",))}
    said = {
        judge: (r.items, r.graded, r.agreed, r.abstained, r.undecided, r.failed)
        for judge, r in counts.items()
    }
    assert said == {
        "ChatGPT": (7535, 4636, 2160, 2458, 409, 32),
        "ChatGPT-0301": (5765, 3428, 1661, 2327, 0, 10),
        "Falcon": (5765, 2077, 1206, 3667, 0, 21),
        "GPT-4": (8792, 7773, 6572, 696, 305, 18),
        "LLaMA2": (6697, 4373, 2054, 2292, 0, 32),
        "PaLM2": (5859, 4036, 2859, 1709, 0, 114),
    }


@needs_real_data
def test_order_flips_on_the_main_pairs():
    rows = [row for row in read_trials(TRIALS, ["Vanilla"]) if row.subset in MAIN_SUBSETS]
    flips = {r.segment[0]: r.abstention_rate for r in readings(rows, ("judge",))}
    assert flips["GPT-4"] == 30 / 419
    assert flips["Falcon"] == 245 / 419
    falcon = position_preference(row for row in rows if row.judge == "Falcon")
    assert falcon.interval()[0] > 0.5
