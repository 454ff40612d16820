"""The page: complete, escaped, the same bytes each time, and alive in a real browser."""

import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import riskjudge
from riskjudge import InputError, Router, Trace
from riskjudge.cli import app
from riskjudge.page import write_page
from riskjudge.page.content import page_content

ATTACK = '<script>document.title = "taken"</script><img src=x onerror=alert(1)> "&\''


@pytest.fixture(scope="module")
def halves():
    frame = riskjudge.demo_trace().to_frame()
    frame["question"] = ATTACK
    frame["topic"] = np.where(np.arange(len(frame)) % 3, "common", ATTACK)
    return Trace.from_frame(frame[:1000]), Trace.from_frame(frame[1000:])


@pytest.fixture(scope="module")
def gate(halves):
    return Router(alpha=0.15).fit(halves[0])


@pytest.fixture(scope="module")
def written(halves, gate, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    calibration, items = halves
    write_page(path, gate, items, calibration=calibration, by="topic", alphas=(0.1, 0.15, 0.3))
    return path


def test_the_content_adds_up(halves, gate):
    calibration, items = halves
    content = page_content(gate, items, calibration=calibration, alphas=(0.05, 0.15, 0.3))
    whole = content.report.whole
    assert whole.items == 1000 == whole.accepted + whole.abstained + whole.undecided + whole.failed
    assert sum(count for _, _, count, _ in content.abstained) == 1000 - whole.accepted
    assert content.promise == gate.certificate_.statement
    at = {level.alpha: level for level in content.levels}
    assert at[0.15].coverage == whole.coverage
    assert at[0.3].coverage.count > at[0.15].coverage.count
    alone = Router(alpha=0.3).fit(calibration)
    assert at[0.3].coverage.count == np.count_nonzero(alone.decide(items).accepted)


def test_examples_are_sorted_as_they_say(halves, gate):
    content = page_content(gate, halves[1], calibration=halves[0], alphas=(0.15,))
    wrong = [example.uncertainty for example in content.wrong]
    assert wrong == sorted(wrong)
    least_sure = [example.uncertainty for example in content.levels[0].accepted]
    assert least_sure == sorted(least_sure, reverse=True)
    assert all(example.verdict != example.label for example in content.wrong)


def test_what_users_wrote_is_escaped(written):
    text = written.read_text("utf-8")
    assert ATTACK not in text
    assert "<img src=x" not in text
    assert "&lt;script&gt;document.title" in text


def test_the_page_needs_no_network(written):
    text = re.sub(r'xmlns(:xlink)?="[^"]*"|xlink:href="#[^"]*"', "", written.read_text("utf-8"))
    text = re.sub(r"<!DOCTYPE[^>]*>", "", text)
    assert "http:" not in text
    assert "https:" not in text
    assert not re.search(r"""(src|href)=["'](?!#)(?!data:)""", text)


def test_the_same_page_is_the_same_bytes(halves, gate, written, tmp_path):
    again = tmp_path / "again.html"
    calibration, items = halves
    write_page(again, gate, items, calibration=calibration, by="topic", alphas=(0.1, 0.15, 0.3))
    assert again.read_bytes() == written.read_bytes()


def test_an_empty_certificate_says_so(halves, tmp_path):
    frame = halves[0].to_frame()
    frame["label"] = 1 - frame["v1"].fillna(1).astype(int)  # always wrong
    gate = Router(alpha=0.05, procedure="fixed_sequence").fit(Trace.from_frame(frame))
    write_page(tmp_path / "none.html", gate, halves[1])
    text = (tmp_path / "none.html").read_text("utf-8")
    assert "No rule could be certified" in text
    assert 'class="promise none"' in text


def test_what_a_search_over_levels_leaves_is_said_rightly(halves, gate, written, tmp_path):
    assert "confidence 85 % only (1 − 3 × 0.05)" in " ".join(written.read_text("utf-8").split())
    levels = [0.05 + 0.02 * i for i in range(20)]
    write_page(tmp_path / "p.html", gate, halves[1], calibration=halves[0], alphas=levels)
    assert "nothing is promised" in (tmp_path / "p.html").read_text("utf-8")


def test_items_that_were_calibrated_on_are_no_test(halves, gate, written, tmp_path):
    write_page(tmp_path / "own.html", gate, halves[0])
    assert "1,000 of these items are those" in (tmp_path / "own.html").read_text("utf-8")
    assert "no test of the promise" not in written.read_text("utf-8")


def test_levels_of_another_calibration_are_refused(halves, gate, tmp_path):
    with pytest.raises(InputError, match="not those that the gate was fitted on"):
        write_page(tmp_path / "p.html", gate, halves[0], calibration=halves[1])
    assert not (tmp_path / "p.html").exists()


def test_an_unfitted_gate_has_no_page(halves, tmp_path):
    with pytest.raises(InputError, match="calibrate it first"):
        write_page(tmp_path / "page.html", Router(), halves[1])
    assert not (tmp_path / "page.html").exists()


def test_the_command(halves, gate, tmp_path):
    gate.save(tmp_path / "gate.json")
    items = halves[1].to_frame()
    items.to_parquet(tmp_path / "new.parquet")
    done = CliRunner().invoke(
        app,
        [
            "page",
            str(tmp_path / "gate.json"),
            str(tmp_path / "new.parquet"),
            "-o",
            str(tmp_path / "page.html"),
            "--title",
            "My <judge>",
        ],
    )
    assert done.exit_code == 0, done.output
    assert "<title>My &lt;judge&gt;</title>" in (tmp_path / "page.html").read_text("utf-8")


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no Chromium on this machine")
def test_a_browser_shows_the_level_and_runs_nothing_else(written):
    done = subprocess.run(
        [
            "chromium",
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--virtual-time-budget=2000",
            "--dump-dom",
            written.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "<title>Which verdicts may be trusted?</title>" in done.stdout
    assert re.search(r'<b id="l-alpha">15 %</b>', done.stdout)
    assert len(re.findall(r'id="l-examples">.*?</tbody>', done.stdout, re.DOTALL)) == 1
    assert "at most 15 % of the verdicts" in done.stdout


def test_ten_thousand_items_stay_one_small_file(gate, halves, tmp_path):
    frame = pd.concat([halves[1].to_frame()] * 10, ignore_index=True)
    frame["item_id"] = [f"i{n}" for n in range(len(frame))]
    write_page(tmp_path / "page.html", gate, Trace.from_frame(frame))
    assert (tmp_path / "page.html").stat().st_size < 200_000
