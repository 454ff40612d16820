"""The pytest plugin: it holds lines, names what is missed, and costs nothing where it is not used."""

import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import riskjudge
from riskjudge.gate.grouped import GroupedGate

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[1]


@pytest.fixture
def project(pytester):
    """A project with a gate and labelled items, whose tests use the fixture."""
    frame = riskjudge.demo_trace().to_frame()
    frame["topic"] = np.where(np.arange(len(frame)) % 2, "odd", "even")
    old, new = frame[:1000], frame[1000:]
    riskjudge.Router(0.2).fit(riskjudge.Trace.from_frame(old)).save(pytester.path / "gate.json")
    grouped = GroupedGate(riskjudge.Router(0.25), "topic", 100)
    grouped.fit(riskjudge.Trace.from_frame(old)).save(pytester.path / "grouped.json")
    new.to_csv(pytester.path / "items.csv", index=False)
    pytester.makeini("[pytest]\nriskjudge_gate = gate.json\n")
    return pytester


def run(project, *arguments):
    return project.runpytest("-p", "riskjudge.testing", "-p", "no:cacheprovider", *arguments)


def test_lines_that_are_held_and_missed(project):
    project.makepyfile(
        """
        import riskjudge, pandas as pd

        def test_held(riskjudge_gate):
            report = riskjudge_gate.holds("items.csv", max_fdr=0.2, floor_coverage=0.9)
            assert report.whole.items == 1000

        def test_any_form(riskjudge_gate):
            frame = pd.read_csv("items.csv")
            trace = riskjudge.read_trace("items.csv")
            outcomes = riskjudge_gate.load().decide(trace)
            outcomes.to_frame().to_csv("outcomes.csv")
            for items in (frame, trace, outcomes, "outcomes.csv"):
                riskjudge_gate.holds(items, max_fdr=0.2)

        def test_missed(riskjudge_gate):
            riskjudge_gate.holds("items.csv", max_fdr=0.1, floor_coverage=0.9)

        def test_not_sure(riskjudge_gate):
            riskjudge_gate.holds("items.csv", max_fdr=0.18, sure=True)

        def test_segments(riskjudge_gate):
            riskjudge_gate.holds("items.csv", max_fdr=0.2, by="topic", min_n=600)
        """
    )
    done = run(project)
    done.assert_outcomes(passed=2, failed=3)
    text = done.stdout.str()
    assert "AssertionError: the gate misses 1 of 2 lines" in text
    assert "MISSED  FDR: need at most 10 %, have 17.66 % (174/985" in text
    assert "held    coverage: need at least 90 %, have 98.50 %" in text
    assert "MISSED  FDR in topic = even: need at most 20 %, have too little evidence" in text
    assert "testing.py" not in text  # the traceback ends in the user's test


def test_the_command_line_names_another_gate(project):
    project.makepyfile(
        "def test_it(riskjudge_gate):\n    riskjudge_gate.holds('items.csv', max_fdr=0.25, by='topic')"
    )
    run(project, "--riskjudge-gate", "grouped.json").assert_outcomes(passed=1)
    done = run(project, "--riskjudge-gate", "nowhere.json")
    done.assert_outcomes(failed=1)
    assert "nowhere.json" in done.stdout.str()


def test_without_a_gate_or_a_line_it_is_said_what_is_missing(project):
    (project.path / "tox.ini").write_text("[pytest]\n")
    project.makepyfile(
        """
        def test_gate(riskjudge_gate):
            riskjudge_gate.holds("items.csv", max_fdr=0.2)

        def test_line(riskjudge_gate):
            import riskjudge
            riskjudge_gate.holds("items.csv", gate=riskjudge.load_gate("gate.json"))
        """
    )
    done = run(project)
    done.assert_outcomes(failed=2)
    assert "which gate?" in done.stdout.str()
    assert "name a line to hold" in done.stdout.str()


def test_it_is_inert_for_those_who_do_not_use_it(project):
    project.makepyfile(
        """
        import sys

        def test_nothing_is_loaded():
            heavy = ("numpy", "pandas", "scipy", "typer", "riskjudge.cli", "riskjudge.gate")
            assert not [name for name in heavy if name in sys.modules]
        """
    )
    done = project.runpytest_subprocess(
        "-p", "riskjudge.testing", "-W", "error", "--strict-markers"
    )
    done.assert_outcomes(passed=1)
    # pytest's own header lists every plugin that is installed; beyond that, nothing is said.
    said = [line for line in done.outlines if not line.startswith("plugins: ")]
    assert not [line for line in said if "riskjudge" in line]


def test_the_entry_point_is_the_module():
    """Under its own name, so that naming it with -p too does not register it twice."""
    points = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    assert points["pytest11"] == {"riskjudge.testing": "riskjudge.testing"}
    code = (
        "import sys, riskjudge.testing; print([m for m in ('numpy', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
