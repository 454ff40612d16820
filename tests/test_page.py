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
    decided = gate.decide(items)
    write_page(path, gate, decided, calibration=calibration, by="topic", alphas=(0.1, 0.15, 0.3))
    return path


def test_the_content_adds_up(halves, gate):
    calibration, items = halves
    content = page_content(
        gate, gate.decide(items), calibration=calibration, alphas=(0.05, 0.15, 0.3)
    )
    whole = content.report.whole
    assert whole.items == 1000 == whole.accepted + whole.abstained + whole.undecided + whole.failed
    assert sum(count for _, _, count, _ in content.abstained) == 1000 - whole.accepted
    assert content.promises[0].statement == gate.certificate_.statement
    at = {level.alpha: level for level in content.levels}
    assert at[0.15].coverage == whole.coverage
    assert at[0.3].coverage.count > at[0.15].coverage.count
    alone = Router(alpha=0.3).fit(calibration)
    assert at[0.3].coverage.count == np.count_nonzero(alone.decide(items).accepted)


def test_examples_are_sorted_as_they_say(halves, gate):
    content = page_content(gate, gate.decide(halves[1]), calibration=halves[0], alphas=(0.15,))
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
    decided = gate.decide(items)
    write_page(again, gate, decided, calibration=calibration, by="topic", alphas=(0.1, 0.15, 0.3))
    assert again.read_bytes() == written.read_bytes()


def test_an_empty_certificate_says_so(halves, tmp_path):
    frame = halves[0].to_frame()
    frame["label"] = 1 - frame["v1"].fillna(1).astype(int)  # always wrong
    gate = Router(alpha=0.05, procedure="fixed_sequence").fit(Trace.from_frame(frame))
    write_page(tmp_path / "none.html", gate, gate.decide(halves[1]))
    text = (tmp_path / "none.html").read_text("utf-8")
    assert "No rule could be certified" in text
    assert 'class="promise none"' in text


def test_what_a_search_over_levels_leaves_is_said_rightly(halves, gate, written, tmp_path):
    assert "confidence 85 % only (1 − 3 × 0.05)" in " ".join(written.read_text("utf-8").split())
    bold = Router(alpha=0.15, delta=0.3).fit(halves[0])
    write_page(
        tmp_path / "p.html",
        bold,
        bold.decide(halves[1]),
        calibration=halves[0],
        alphas=(0.1, 0.2, 0.3),
    )
    assert "nothing is promised" in (tmp_path / "p.html").read_text("utf-8")


def test_items_that_were_calibrated_on_are_no_test(halves, gate, written, tmp_path):
    write_page(tmp_path / "own.html", gate, gate.decide(halves[0]))
    assert "1,000 of these items are those" in (tmp_path / "own.html").read_text("utf-8")
    assert "no test of the promise" not in written.read_text("utf-8")


def test_levels_of_another_calibration_are_refused(halves, gate, tmp_path):
    with pytest.raises(InputError, match="not those that the gate was fitted on"):
        write_page(tmp_path / "p.html", gate, gate.decide(halves[0]), calibration=halves[1])
    assert not (tmp_path / "p.html").exists()


def test_an_unfitted_gate_has_no_page(halves, tmp_path):
    with pytest.raises(InputError, match="calibrate it first"):
        write_page(tmp_path / "page.html", Router(), Router().decide(halves[1]))
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
    write_page(tmp_path / "page.html", gate, gate.decide(Trace.from_frame(frame)))
    assert (tmp_path / "page.html").stat().st_size < 200_000


def plain(path):
    """The words of a page."""
    return " ".join(re.sub(r"<[^>]*>", " ", path.read_text("utf-8")).split())


@pytest.fixture(scope="module")
def kinds(halves, tmp_path_factory):
    """A saved gate of each kind, and the files it was calibrated on and is to decide."""
    from riskjudge.gate.grouped import GroupedGate
    from riskjudge.signals import FusedGate

    folder = tmp_path_factory.mktemp("kinds")
    for name, half in zip(("labelled", "fresh"), halves, strict=True):
        half.to_frame().to_csv(folder / f"{name}.csv", index=False)
    gates = {
        "router": Router(alpha=0.2),
        "one_mode": riskjudge.SelectiveGate(alpha=0.3),
        "by_verdict": Router(alpha=0.2, by_verdict=True, procedure="portfolio"),
        "grouped": GroupedGate(Router(alpha=0.25), "topic", 200),
        "fused": FusedGate(alpha=0.2),
        "nothing": Router(alpha=0.0005),
    }
    for name, unfitted in gates.items():
        unfitted.fit(halves[0]).save(folder / f"{name}.json")
    return folder


KINDS = ("router", "one_mode", "by_verdict", "grouped", "fused", "nothing")


@pytest.mark.parametrize("kind", KINDS)
def test_a_gate_of_any_kind_has_a_page(kinds, command, tmp_path, kind):
    """In one step, or in two; with or without the slider; never a traceback."""
    gate, fresh = kinds / f"{kind}.json", kinds / "fresh.csv"
    one, two = tmp_path / "one.html", tmp_path / "two.html"
    assert command("page", gate, fresh, "-o", one)[0] == 0
    command("decide", gate, fresh, "-o", tmp_path / "o.csv")
    by = ("--by", "topic") if kind == "grouped" else ()
    code, out, err = command("report", tmp_path / "o.csv", "--gate", gate, "--html", two, *by)
    assert code == 0, err
    assert "Traceback" not in err
    assert one.read_bytes() == two.read_bytes()
    promise = "No rule could be certified" if kind == "nothing" else "of the verdicts that these"
    assert promise in plain(one)
    assert promise in " ".join(out.split())
    if kind == "grouped":
        assert plain(one).count("together with the other groups") == 2
        assert "No promise is made about a single line" not in plain(one)


@pytest.mark.parametrize("kind", ["one_mode", "grouped", "fused"])
def test_every_kind_has_its_other_levels(kinds, command, tmp_path, kind):
    from riskjudge.page.gates import decide_again, other_levels
    from riskjudge.signals import load_any_gate

    gate = load_any_gate(kinds / f"{kind}.json")
    labelled = riskjudge.read_trace(kinds / "labelled.csv")
    fresh = gate.decide(riskjudge.read_trace(kinds / "fresh.csv"))
    lower, own, higher = other_levels(gate, labelled, (0.12, gate.alpha, 0.4))
    assert own is gate
    accepted = [np.count_nonzero(decide_again(g, fresh).accepted) for g in (lower, own, higher)]
    assert accepted == sorted(accepted)
    assert accepted[0] < accepted[2]
    assert accepted[1] == np.count_nonzero(fresh.accepted)
    with pytest.raises(InputError, match="not those that the gate was fitted on"):
        other_levels(gate, riskjudge.read_trace(kinds / "fresh.csv"), (0.4,))


def test_calibration_items_are_found_among_others(kinds, halves):
    from riskjudge.page.gates import other_levels
    from riskjudge.signals import load_any_gate

    gate = load_any_gate(kinds / "router.json")
    everything = pd.concat([half.to_frame() for half in halves], ignore_index=True)
    (alone,) = other_levels(gate, halves[0], (0.3,))
    (found,) = other_levels(gate, Trace.from_frame(everything), (0.3,))
    assert found.certificate_ == alone.certificate_


def test_outcomes_of_another_gate_are_refused(kinds, command, tmp_path):
    command("decide", kinds / "router.json", kinds / "fresh.csv", "-o", tmp_path / "o.csv")
    for other, said in (("by_verdict", "not decided by this gate"), ("one_mode", "another gate")):
        for more in ((), ("--html", tmp_path / "p.html")):
            code, out, err = command(
                "report", tmp_path / "o.csv", "--gate", kinds / f"{other}.json", *more
            )
            assert (code, out) == (2, "")
            assert said in err
    assert not (tmp_path / "p.html").exists()


def test_outcomes_alone_have_a_page_without_a_promise(kinds, command, tmp_path):
    command("decide", kinds / "router.json", kinds / "fresh.csv", "-o", tmp_path / "o.csv")
    assert command("report", tmp_path / "o.csv", "--html", tmp_path / "p.html")[0] == 0
    assert "No promise stands on this page" in plain(tmp_path / "p.html")
    code, _, err = command("report", tmp_path / "o.csv", "--calibration", kinds / "labelled.csv")
    assert code == 2
    assert "belong to --html" in err


def test_older_outcomes_still_have_a_report_and_a_page(kinds, command, tmp_path):
    """Without what each mode said there are no scores to show, and nothing to compare."""
    command("decide", kinds / "router.json", kinds / "fresh.csv", "-o", tmp_path / "o.csv")
    frame = pd.read_csv(tmp_path / "o.csv")
    new = [c for c in frame if re.fullmatch(r"(v|u|why|mode)[12]|last_.*|uncertainty", c)]
    frame.drop(columns=new).to_csv(tmp_path / "old.csv", index=False)
    page = ("--html", tmp_path / "p.html", "--gate", kinds / "router.json")
    assert command("report", tmp_path / "old.csv", *page)[0] == 0
    code, _, err = command(
        "report", tmp_path / "old.csv", *page, "--calibration", kinds / "labelled.csv"
    )
    assert code == 2
    assert "decide the items again" in err.replace("\n", " ")


NASTY = [
    ATTACK,
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]> & &amp; \u2028 \u202e reversed",
    "\x00 \x1b[31m",
    "x" * 5000,
    "שלום עולם والسلام",
    "👩‍👩‍👧‍👦🏳️‍🌈",
    "{{ 7 * 7 }} {% for x in y %} $\\frac{1}{2}$",
]


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_nothing_that_users_wrote_is_more_than_text(halves, gate, tmp_path, text):
    """In ids, texts, segments, the names of modes, the title: in HTML, attributes and JSON."""
    import html.parser

    frame = halves[1].to_frame()[:300].astype({"item_id": object})
    frame["item_id"] = [f"{text} {i}" for i in range(300)]
    frame["answer"], frame["topic"] = text, text
    frame["mode1"] = text
    mode = riskjudge.ModeColumns(text.strip(), "v1", "u1")
    calibration = Trace.from_frame(halves[0].to_frame().drop(columns="mode1"), modes=[mode])
    fitted = riskjudge.SelectiveGate(alpha=0.3).fit(calibration)
    items = Trace.from_frame(frame.drop(columns="mode1"), modes=[mode])
    path = tmp_path / "p.html"
    write_page(
        path, fitted, fitted.decide(items), calibration=calibration, by="topic", title=text,
        alphas=(0.3,),
    )  # fmt: skip
    tags = {"script": 0, "img": 0}

    class Reader(html.parser.HTMLParser):
        def handle_starttag(self, tag, attrs):
            tags[tag] = tags.get(tag, 0) + 1
            assert not any(name.startswith("on") for name, _ in attrs)

    Reader().feed(path.read_text("utf-8"))
    assert (tags["script"], tags["img"]) == (3, 0)
    assert path.stat().st_size < 400_000


def test_half_a_surrogate_in_a_title_is_no_traceback(halves, gate, tmp_path):
    write_page(tmp_path / "p.html", gate, gate.decide(halves[1]), title="half \ud800 a pair")
    assert "<title>half ? a pair</title>" in (tmp_path / "p.html").read_text("utf-8")
