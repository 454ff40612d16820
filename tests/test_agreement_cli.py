"""The command ``riskjudge agreement``."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from riskjudge.cli.agreement import register
from riskjudge.errors import InputError

app = typer.Typer()
register(app)


@app.callback()
def riskjudge() -> None:
    """Keep `agreement` a subcommand, as in the application."""


def run(*arguments: object):
    return CliRunner().invoke(app, ["agreement", *map(str, arguments)])


def frame(n: int = 400, error: float = 0.02) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    human = rng.integers(0, 2, n)
    judge = np.where(rng.random(n) < error, 1 - human, human)
    other = np.where(rng.random(n) < 0.05, 1 - human, human)
    swapped = np.where(rng.random(n) < 0.03, 1 - judge, judge)
    return pd.DataFrame(
        {
            "item_id": [f"{i:04d}" for i in range(n)],
            "judge": judge,
            "human": human,
            "other": other,
            "swapped": swapped,
            "part": np.where(np.arange(n) < n - 5, "long", "short"),
        }
    )


@pytest.fixture(params=["csv", "jsonl", "parquet"])
def file(request, tmp_path):
    path = tmp_path / f"labels.{request.param}"
    if request.param == "csv":
        frame().to_csv(path, index=False)
    elif request.param == "jsonl":
        frame().to_json(path, orient="records", lines=True)
    else:
        frame().to_parquet(path)
    return path


def test_good_agreement_exits_zero(file):
    result = run(file, "--judge", "judge", "--human", "human")
    assert result.exit_code == 0
    assert "n = 400" in result.output
    assert "verdict on the evidence (lower end of alpha): good" in result.output


def test_json_is_the_same_for_every_format(file, tmp_path):
    result = run(file, "--judge", "judge", "--human", "human", "--by", "part", "--json")
    answer = json.loads(result.stdout)
    assert answer["agreement"]["n"] == 400
    assert answer["agreement"]["raters"] == ["judge", "human"]
    short = answer["segments"]["short"]
    assert (short["need"], short["n"]) == (20, 5)
    assert short["coefficients"]["alpha"]["undefined"] == "too_few_units"
    csv = tmp_path / "again.csv"
    frame().to_csv(csv, index=False)
    again = run(csv, "--judge", "judge", "--human", "human", "--by", "part", "--json")
    assert again.stdout == result.stdout


def test_unreliable_exits_one(tmp_path):
    path = tmp_path / "labels.csv"
    frame(error=0.3).to_csv(path, index=False)
    result = run(path, "--judge", "judge", "--human", "human")
    assert result.exit_code == 1
    assert "unreliable" in result.output


def test_several_humans_show_their_own_agreement(file):
    result = run(file, "--judge", "judge", "--human", "human", "--human", "other")
    assert "humans alone: human × other" in result.output


def test_promotion_decides_the_exit_code(file):
    trials = ["--first", "judge", "--second", "swapped", "--floor-consistency"]
    base = [file, "--judge", "judge", "--human", "human", *trials]
    promoted = run(*base, "0.9")
    assert promoted.exit_code == 0
    assert "promotion: promoted" in promoted.output
    held = run(*base, "0.99")
    assert held.exit_code == 1
    assert "promotion: held" in held.output
    short = run(*base, "0.9", "--floor-n", "1000", "--json")
    assert short.exit_code == 1
    walk = json.loads(short.stdout)["promotion"]
    assert walk["state"] == "insufficient"
    assert walk["floors"][0] == {
        "floor": "n",
        "need": 1000,
        "have": 400,
        "point": None,
        "met": False,
        "undefined": None,
    }


def test_segments_and_undefined_are_said_in_the_table(tmp_path):
    rows = frame()
    rows["judge"] = rows["human"] = 1
    path = tmp_path / "labels.csv"
    rows.to_csv(path, index=False)
    result = run(path, "--judge", "judge", "--human", "human", "--by", "part")
    assert result.exit_code == 1
    assert "UNDEFINED" in result.output
    assert "constant_labels" in result.output
    assert "insufficient: need 20, have 5" in result.output


def test_numbers_can_stand_for_a_tie(tmp_path):
    rows = frame(n=40)
    rows["first"], rows["second"] = 0, 0
    path = tmp_path / "labels.csv"
    rows.to_csv(path, index=False)
    order = ["--first", "first", "--second", "second", "--tie", "0", "--json"]
    result = run(path, "--judge", "judge", "--human", "human", *order)
    assert json.loads(result.stdout)["position"]["undecided"] == 40


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--human", "nobody"], "no column 'nobody'"),
        (["--human", "judge"], "a rater always agrees with itself"),
        (["--human", "human", "--level", "ordinary"], "level must be one of"),
        (["--human", "human", "--coefficient", "rho"], "coefficient must be one of"),
        (["--human", "human", "--first", "judge"], "--first and --second go together"),
        (["--human", "human", "--floor-consistency", "0.5"], "needs two-order trials"),
        (["--human", "human", "--id", "part"], "id 'long' occurs more than once"),
        (["--human", "part", "--level", "interval"], "must be a number"),
        (["--human", "part"], "mix text and numbers"),
    ],
)
def test_bad_input_is_named(file, options, message):
    result = run(file, "--judge", "judge", *options)
    # The application turns an InputError into exit code 2.
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)
    assert not result.stdout


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("absent.csv", None, "no such file"),
        ("labels.xlsx", "", "must end in .csv"),
        ("empty.csv", "", "is empty"),
        ("broken.jsonl", '{"item_id": 1}\n{"item', "line 2: not JSON"),
    ],
)
def test_unreadable_files_are_named(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    result = run(path, "--judge", "judge", "--human", "human")
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)


def test_bare_nan_in_json_lines_is_a_missing_label(tmp_path):
    path = tmp_path / "labels.jsonl"
    lines = [json.dumps({"item_id": i, "judge": i % 2, "human": i % 2}) for i in range(30)]
    path.write_text("\n".join([*lines, '{"item_id": 99, "judge": NaN, "human": 1}']))
    result = run(path, "--judge", "judge", "--human", "human", "--json")
    assert json.loads(result.stdout)["agreement"]["left_out"] == 1
