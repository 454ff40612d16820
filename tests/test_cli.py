"""The command line: what it prints, what it leaves behind, and what its exit codes mean."""

import json

import numpy as np
import pytest

from riskjudge.cli import main
from riskjudge.data.trace import Trace
from riskjudge.io.tables import read_table, write_table


@pytest.fixture
def trace_file(tmp_path):
    rng = np.random.default_rng(0)
    scores = rng.random((900, 2))
    labels = rng.integers(0, 2, 900)
    verdicts = labels[:, None] ^ (rng.random((900, 2)) < np.array([0.4, 0.2]) * scores)
    path = tmp_path / "trace.csv"
    frame = Trace.from_arrays(scores, verdicts, labels).to_frame()
    write_table(frame.assign(topic=["x", "y", "y"] * 300), path)
    return path


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return stop.value.code, printed.out, printed.err


def test_calibrate_decide_report(capsys, tmp_path, trace_file):
    gate, outcomes = tmp_path / "gate.json", tmp_path / "outcomes.parquet"
    code, out, err = run(capsys, "calibrate", trace_file, "--alpha", 0.15, "-o", gate)
    assert code == 0
    assert "With confidence 95 %, at most 15 %" in " ".join(out.split())
    assert "gate written to" in err
    code, out, _ = run(capsys, "decide", gate, trace_file, "-o", outcomes, "--by", "topic")
    assert code == 0
    assert "below_conformal" in out
    assert len(read_table(outcomes)) == 900
    code, out, _ = run(capsys, "report", outcomes, "--by", "topic", "--floor", 400, "--json")
    report = json.loads(out)
    assert code == 0
    assert report["whole"]["items"] == 900
    assert report["segments"]["x"] == {"need": 400, "have": 300, "status": "insufficient"}
    assert report["segments"]["y"]["coverage"]["of"] == 600


def test_nothing_certifies_is_exit_code_1(capsys, tmp_path, trace_file):
    gate = tmp_path / "gate.json"
    code, out, _ = run(capsys, "calibrate", trace_file, "--alpha", 0.001, "--json", "-o", gate)
    assert code == 1
    printed = json.loads(out)
    assert printed["certificate"]["thresholds"] is None
    assert printed["certificate"]["shortfall"]["need"] > 900
    code, out, _ = run(capsys, "decide", gate, trace_file, "--json")
    assert code == 0
    assert json.loads(out)["whole"]["fdr"]["value"] is None


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["calibrate", "absent.csv"], 2, "absent.csv: no such file"),
        (["calibrate", "{trace}", "--alpha", "1.5"], 2, "alpha must lie strictly between 0 and 1"),
        (["calibrate", "{trace}", "--procedure", "magic"], 2, "the procedures are pointwise"),
        (["calibrate", "{trace}", "--mode", "m=v9,u9"], 2, "no column 'v9'"),
        (["calibrate", "{trace}", "--where", "topic=z"], 2, "there are x, y"),
        (["calibrate", "{trace}", "--label", "lable"], 2, "no column 'lable'"),
        (["calibrate", "{trace}", "--alpha", "1e-12"], 2, "alpha must be at least 1e-06"),
        (
            ["calibrate", "{trace}", "--procedure", "portfolio", "--set", "steps=abc"],
            2,
            "whole number",
        ),
        (["sweep", "{trace}", "--share", "0.9999"], 2, "leaves one half of the 900"),
        (["calibrate", "{trace}", "--set", "steps=3"], 2, "name it with --procedure"),
        (["calibrate", "{trace}", "--procedure", "portfolio", "--set", "speed=3"], 2, "speed"),
        (["calibrate", "{trace}", "--only", "mode1", "--max-retrieval", "0.5"], 2, "router"),
        (
            ["calibrate", "{trace}", "-o", "/no/such/folder/gate.json"],
            3,
            "there is no folder /no/such/folder",
        ),
        (["calibrate"], 2, "missing argument"),
        (["nonsense"], 2, "no such command"),
        (["decide", "{trace}", "{trace}"], 2, "not a gate"),
        (["report", "{trace}"], 2, "no column 'status'"),
        (["sweep", "{trace}", "--alphas", "a,b"], 2, "--alphas takes numbers"),
        (["sweep", "{trace}", "--splits", "1"], 2, "splits must be at least 2"),
        (["plan", "--alpha", "0.1", "--error-rate", "0.2"], 1, ""),
    ],
)
def test_bad_input_and_its_exit_code(capsys, trace_file, arguments, code, says):
    given = [argument.format(trace=trace_file) for argument in arguments]
    got, _, err = run(capsys, *given)
    assert got == code
    assert says in " ".join(err.replace("│", " ").split())
    assert "Traceback" not in err


def test_where_and_mode_names(capsys, trace_file):
    code, out, _ = run(
        capsys, "calibrate", trace_file, "--where", "topic=y", "--alpha", 0.3,
        "--mode", "second=v2,u2", "--mode", "first=v1,u1", "--json",
    )  # fmt: skip
    printed = json.loads(out)
    assert code == 0
    assert list(printed["certificate"]["thresholds"]) == ["second", "first"]
    assert printed["calibration"]["n_labelled"] == 600


def test_sweep_and_plan(capsys, trace_file):
    code, out, _ = run(
        capsys, "sweep", trace_file, "--splits", 4, "--alphas", "0.1,0.3", "--jobs", 1,
        "--procedure", "pointwise", "--json",
    )  # fmt: skip
    levels = json.loads(out)["levels"]
    assert code == 0
    assert [level["alpha"] for level in levels] == [0.1, 0.3]
    assert levels[1]["coverage"] > 0.9
    code, out, _ = run(capsys, "plan", "--alpha", 0.1, "--json")
    assert (code, json.loads(out)["labels"]) == (0, 29)


def test_sql_prints_a_case_expression(capsys, tmp_path, trace_file):
    run(capsys, "calibrate", trace_file, "--alpha", 0.15, "-o", tmp_path / "gate.json")
    code, out, _ = run(capsys, "sql", tmp_path / "gate.json", "--value", "verdict")
    assert code == 0
    assert out.startswith("CASE\n  WHEN")


@pytest.mark.parametrize("form", ["markdown", "latex", "csv"])
def test_every_format(capsys, trace_file, form):
    code, out, _ = run(capsys, "calibrate", trace_file, "--alpha", 0.15, "--format", form)
    assert code == 0
    assert "upper bound" in out
    assert run(capsys, "calibrate", trace_file, "--format", "word")[0] == 2


def test_the_demo(capsys, tmp_path):
    folder = tmp_path / "demo"
    code, out, _ = run(capsys, "demo", "-o", folder, "--json")
    made = json.loads(out)
    assert code == 0
    assert "synthetic" in made["source"]
    assert made["certificate"]["guarantee"] == "high_probability"
    for path in made["files"]:
        assert (folder / path.split("/")[-1]).stat().st_size > 0
    assert "synthetic" in (folder / "report.md").read_text()


def test_real_traces(capsys, real, tmp_path):
    """The commands on real files: what certifies does so with its counts, the rest says why not."""
    gate = tmp_path / "gate.json"
    code, out, _ = run(
        capsys, "calibrate", real / "evouna_tq_qwen05b_two_mode.csv", "--alpha", 0.1, "--by-verdict",
        "-o", gate, "--json",
    )  # fmt: skip
    assert code == 0
    assert json.loads(out)["certificate"]["accepted"] > 800
    code, *_ = run(capsys, "calibrate", real / "evouna_nq_qwen05b_two_mode.csv", "--alpha", 0.1)
    assert code == 1
    judges = real / "llmbar_two_mode_by_judge.csv"
    code, *_ = run(capsys, "calibrate", judges, "--where", "judge=ChatGPT", "--alpha", 0.2)
    assert code == 1  # below chance: nothing should certify
    code, _, err = run(capsys, "calibrate", judges)
    assert code == 2
    assert "row 420: the id" in err
    answers = real / "openqa_nq301_bem_gpt4_human.csv"
    code, _, err = run(capsys, "calibrate", answers, "--group", "question_id", "--alpha", 0.2)
    assert code == 2  # it has v2, a second judge without an uncertainty
    assert "--mode mode1=v1,u1 reads the table without it" in err
    answers = (answers, "--mode", "mode1=v1,u1", "--group", "question_id")
    code, _, err = run(capsys, "calibrate", *answers, "--alpha", 0.2)
    assert code == 2
    assert "301 groups" in err
    code, _, err = run(capsys, "calibrate", *answers, "--groups", "sample", "--alpha", 0.3)
    assert code in (0, 1)
    assert "one item drawn at random" in err


def test_every_room_of_the_command_line_is_registered(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0
    for command in (
        "demo", "calibrate", "sweep", "plan", "decide", "report", "sql", "plot", "check", "watch",
        "audit", "reproduce", "judge", "run", "evidence", "census", "reading", "trace", "agreement",
    ):  # fmt: skip
        assert f" {command} " in out, command


BAD_SETTINGS = [
    ("sweep", ["--jobs", 0], "jobs must be"),
    ("sweep", ["--splits", "x"], "--splits"),
    ("sweep", ["--splits", 0], "splits"),
    ("sweep", ["--seed", -1], "--seed"),
    ("sweep", ["--alphas", "nan"], "--alphas must lie"),
    ("sweep", ["--alphas", "0.1,1.5"], "--alphas must lie"),
    ("sweep", ["--share", "nan"], "calibration_share must lie"),
    ("calibrate", ["--alpha", "nan"], "alpha must lie"),
    ("calibrate", ["--seed", -1], "--seed"),
    ("calibrate", ["--procedure", "fixed_sequence", "--set", 'start="x"'], "start must be"),
    ("calibrate", ["--procedure", "fixed_sequence", "--set", "path=5"], "path must be"),
    ("calibrate", ["--procedure", "hybrid", "--set", "foo=1"], "hybrid has no option 'foo'"),
    ("calibrate", ["--procedure", "hybrid", "--set", "steps=true"], "steps must be"),
    ("calibrate", ["--procedure", "hybrid", "--set", "reserve=NaN"], "reserve must be"),
    ("plot fdr", ["--jobs", 0], "jobs must be"),
    ("plot plane", ["--alpha", "nan"], "alpha must lie"),
    ("plot risk-coverage", ["--alpha", 3], "alpha must lie"),
]


@pytest.mark.parametrize("command, options, says", BAD_SETTINGS)
def test_settings_out_of_range_are_named(capsys, trace_file, command, options, says):
    code, out, err = run(capsys, *command.split(), trace_file, *options)
    assert code == 2
    assert says in err
    assert "Traceback" not in err
    assert out == ""


def test_the_share_above_alpha_is_labelled_as_noisy(capsys, trace_file):
    arguments = ["sweep", trace_file, "--splits", 2, "--alphas", "0.3", "--procedure", "portfolio"]
    code, out, _ = run(capsys, *arguments, "--json")
    assert code == 0
    assert "noise included" in json.loads(out)["notes"]["above_alpha"]
    assert "noise included" in " ".join(run(capsys, *arguments)[1].split())


def test_a_gate_is_bound_to_what_made_its_scores(capsys, tmp_path, trace_file):
    gate, unfitted = tmp_path / "gate.json", tmp_path / "unfitted.json"
    bound = [
        "--source",
        "mode1:model=small",
        "--source",
        "mode1:k=3",
        "--source",
        "mode2:model=big",
    ]
    code, _, _ = run(capsys, "calibrate", trace_file, "--alpha", 0.3, "-o", gate, *bound)
    assert code == 0
    code, out, _ = run(capsys, "explain", gate)
    assert code == 0
    for said in ("k = 3, model = small", "With confidence 95 %", "Voided by", "seed 0"):
        assert said in out
    code, out, _ = run(capsys, "explain", gate, "--json")
    assert json.loads(out)["certificates"][0]["bound_to"][1].endswith("model = big")
    code, _, err = run(capsys, "decide", gate, trace_file)
    assert code == 2
    assert "nothing is known of what made the scores in these items" in err
    other = [
        "--source",
        "mode1:model=small",
        "--source",
        "mode1:k=5",
        "--source",
        "mode2:model=big",
    ]
    code, _, err = run(capsys, "decide", gate, trace_file, *other)
    assert code == 2
    assert "mode1: k: 3 in the gate, 5 in these items" in err
    out_file = tmp_path / "outcomes.csv"
    code, _, err = run(
        capsys, "decide", gate, trace_file, *other, "--on-mismatch", "uncertify", "-o", out_file
    )
    assert code == 0
    assert "no outcome is certified" in err
    assert "True" not in {line.split(",")[7] for line in out_file.read_text().splitlines()[1:]}
    assert run(capsys, "decide", gate, trace_file, *bound)[0] == 0
    assert run(capsys, "calibrate", trace_file, "--unfitted", "pass", "-o", unfitted)[0] == 0
    assert "Unfitted" in run(capsys, "explain", unfitted)[1]
    assert run(capsys, "decide", unfitted, trace_file)[0] == 0
    assert run(capsys, "calibrate", trace_file, "--unfitted", "shrug")[0] == 2
    assert run(capsys, "calibrate", trace_file, "--source", "mode1=x")[0] == 2
    assert run(capsys, "calibrate", trace_file, "--source", "nobody:k=1")[0] == 2


def test_every_reader_of_gates_refuses_the_same_files(capsys, tmp_path, trace_file):
    doubled, binary = tmp_path / "doubled.json", tmp_path / "binary.json"
    doubled.write_text('{"format": 1, "format": 2}')
    binary.write_bytes(b"\xff\xfe\x00")
    for path, says in (
        (tmp_path, "is a folder, not a gate"),
        (doubled, "a key occurs twice"),
        (binary, "not a gate: it is damaged or not JSON"),
    ):
        for arguments in (["explain", path], ["sql", path], ["decide", path, trace_file]):
            code, _, err = run(capsys, *arguments)
            assert (code, says in err) == (2, True), (arguments, err)
