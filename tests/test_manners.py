"""Manners of the command line: JSON everywhere, one voice for errors, choices in the shell, 80 columns."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from typer.main import get_command

import riskjudge
from riskjudge.cli import app
from riskjudge.cli.options import SCHEMA_VERSION


def commands(command=None, path=()):
    """Every command with its words."""
    command = get_command(app) if command is None else command
    if hasattr(command, "commands"):
        for name, inner in sorted(command.commands.items()):
            yield from commands(inner, (*path, name))
    else:
        yield path, command


COMMANDS = dict(commands())


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_prints_json_and_says_what_it_does(path):
    command = COMMANDS[path]
    flags = [flag for parameter in command.params for flag in parameter.opts]
    assert "--json" in flags
    assert command.help


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A trace with long names, a gate, outcomes."""
    where = tmp_path_factory.mktemp("manners")
    frame = riskjudge.demo_trace().to_frame()[:900].drop(columns=["mode1", "mode2"])
    frame["topic"] = np.where(
        np.arange(900) % 2, "a_topic_with_one_very_long_name_that_has_no_space_at_all", "short"
    )
    frame["system"] = np.where(np.arange(900) % 3, "a system with a long name of many words", "b")
    frame["mode1"] = "a_parametric_mode_with_a_name_that_is_long"
    frame["mode2"] = "a_retrieval_mode_with_a_name_that_is_longer_still"
    frame.to_csv(where / "t.csv", index=False)
    trace = riskjudge.Trace.from_frame(frame)
    gate = riskjudge.Router(0.25, by_verdict=True, procedure="portfolio").fit(trace)
    gate.save(where / "g.json")
    gate.decide(trace).to_frame().to_csv(where / "o.csv", index=False)
    return where


PRINTED = [
    "calibrate t.csv --alpha 0.25 --no-registry",
    "calibrate t.csv --alpha 0.0004 --no-registry",
    "calibrate t.csv --alpha 0.3 --by topic --no-registry",
    "decide g.json t.csv --by topic",
    "report o.csv --gate g.json --by topic",
    "report o.csv --by system",
    "review o.csv --limit 3",
    "rate t.csv --by system",
    "rate o.csv",
    "check g.json t.csv t.csv",
    "sweep t.csv --alphas 0.1,0.2 --splits 3 --procedure pointwise",
    "explain g.json",
    "plan --alpha 0.1 --error-rate 0.05",
    "agreement t.csv --judge v1 --human label --replicates 20",
]


@pytest.mark.parametrize("line", PRINTED)
def test_json_has_a_version(folder, monkeypatch, command, line):
    monkeypatch.chdir(folder)
    code, out, err = command(*line.split(), "--json")
    assert code in (0, 1), err
    data = json.loads(out)
    assert next(iter(data)) == "schema_version"
    assert data["schema_version"] == SCHEMA_VERSION


@pytest.mark.parametrize("line", [line for line in PRINTED if "explain" not in line])
def test_tables_fit_into_eighty_columns(folder, monkeypatch, command, line):
    """Nothing is wider, no number is torn apart, no word is lost."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = command(*line.split())
    assert code in (0, 1), err
    for row in out.splitlines():
        assert len(row) <= 80, row
    for value in re.findall(r"\[[0-9.]*,?\s*$", out, re.MULTILINE):
        pytest.fail(f"an interval is torn apart: {value!r}")
    if "--by" in line:  # names are wrapped, and there from their beginning
        assert ("a_topic" if "topic" in line else "a system") in out


def test_a_gate_that_was_printed_is_a_gate(folder, monkeypatch, command):
    monkeypatch.chdir(folder)
    for more in ((), ("--fuse",), ("--by", "topic")):
        out = command("calibrate", "t.csv", "--alpha", 0.3, "--no-registry", "--json", *more)[1]
        (folder / "printed.json").write_text(out)
        assert command("decide", "printed.json", "t.csv")[0] == 0
        changed = json.loads(out)
        changed["another"] = 1
        (folder / "printed.json").write_text(json.dumps(changed))
        assert command("decide", "printed.json", "t.csv")[0] == 2


@pytest.mark.parametrize(
    "line",
    [
        "report",
        "reprot",
        "report o.csv --nope",
        "report o.csv --floor",
        "report o.csv --floor x",
        "report o.csv too many",
        "report nowhere.csv",
        "report o.csv --by nothing",
        "calibrate t.csv --seed -1",
        "calibrate t.csv --alpha 7",
        "calibrate t.csv --procedure magic",
        "plot coverage",
        "decide g.json t.csv --format pictures",
        "--nope",
    ],
)
def test_errors_have_one_voice(folder, monkeypatch, command, line):
    monkeypatch.chdir(folder)
    code, _, err = command(*line.split())
    assert code == 2
    told = [row for row in err.splitlines() if not row.startswith("note: ")]
    assert len(told) == 1
    assert told[0].startswith("riskjudge: ")
    assert not told[0].startswith("riskjudge: riskjudge")


OFFERED = [
    ("calibrate t.csv --procedure ", {"hybrid", "portfolio", "pointwise"}),
    ("calibrate t.csv --procedure ho", {"holm_grid"}),
    ("calibrate t.csv --spending ", {"rising", "linear", "obrien_fleming", "series"}),
    ("calibrate t.csv --groups ", {"refuse", "sample"}),
    ("calibrate t.csv --unfitted ", {"pass", "abstain"}),
    ("calibrate t.csv --format ", {"terminal", "markdown", "latex", "csv", "json"}),
    ("calibrate t.csv --unit ", {"money", "calls", "tokens", "seconds"}),
    ("calibrate t.csv --input-format in", {"inspect"}),
    ("decide g.json t.csv --on-mismatch ", {"refuse", "uncertify"}),
    ("review o.csv --order ", {"least-sure", "nearest"}),
    ("sql g.json --dialect du", {"duckdb"}),
    ("sql g.json --value ", {"mode", "verdict"}),
    ("read x.json --format lm", {"lm-eval"}),
    ("trace l.jsonl --uncertainty v", {"variation_ratio"}),
    ("judge i.jsonl --score ", {"tokens", "samples"}),
    ("judge i.jsonl --format ", {"items", "nq-open", "evouna"}),
    ("agreement t.csv --level o", {"ordinal"}),
    ("plot coverage t.csv --band ", {"std", "quantiles"}),
    ("fuse t.csv --estimator ", {"logistic", "logistic_weak"}),
    ("re", {"report", "review", "read", "reading", "reproduce"}),
]


@pytest.mark.parametrize(("line", "choices"), OFFERED)
def test_choices_complete_in_the_shell(monkeypatch, capsys, line, choices):
    from riskjudge.cli import main

    words = f"riskjudge {line}".split(" ")
    monkeypatch.setenv("_RISKJUDGE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", " ".join(words))
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    monkeypatch.setattr(sys, "argv", ["riskjudge"])
    with pytest.raises(SystemExit):
        main()
    offered = set(capsys.readouterr().out.split())
    assert choices <= offered
    assert not line.endswith(" ") or choices == offered or len(choices) == 3


def test_what_is_offered_is_taken():
    """The shell offers what the library knows, not a copy that grows old."""
    from riskjudge.calibration import PROCEDURES
    from riskjudge.cli.completion import formats, procedures
    from riskjudge.gate.sql import DIALECTS
    from riskjudge.readers import FORMATS

    assert procedures("") == list(PROCEDURES)
    assert set(OFFERED[10][1]) <= set(DIALECTS)
    assert formats("") == list(FORMATS)


def test_completion_is_quick():
    code = "import sys, riskjudge.cli.completion as o; o.one_of('a')(''); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
