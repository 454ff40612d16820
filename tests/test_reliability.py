"""Stress tests: what a perturbation is, what is found at judges whose weaknesses are known."""

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from riskjudge.cli import main
from riskjudge.data.verdict import (
    AbstainReason,
    Abstention,
    BooleanVerdict,
    Failure,
    FailureKind,
    Winner,
    WinnerVerdict,
)
from riskjudge.errors import InputError
from riskjudge.items.item import Item, content_hash
from riskjudge.judges.protocol import FunctionJudge, Judgement
from riskjudge.judges.run import judge_items
from riskjudge.ledger import LedgerWriter, read_ledger
from riskjudge.reliability import (
    DEFAULT,
    PERTURBATIONS,
    Expect,
    Floor,
    Probe,
    perturbations_named,
    perturbed,
    plan_stress,
    reactions,
    read_rewrites,
    run_stress,
    stressed_trace,
)

CITIES = ["Abuja", "Lima", "Oslo", "Quito", "Rabat", "Sofia", "Tunis", "Vaduz", "Warsaw", "Zagreb"]


def grade(n=200):
    """Answers to questions, half of them right, in sentences that every rewriting changes."""
    items = []
    for i in range(n):
        right = f"{CITIES[i % 10]} number {i}"
        given = right if i % 2 else f"{CITIES[(i + 3) % 10]} number {i + n}"
        text = f"It is called {given}, because it is very big."
        items.append(
            Item(f"q{i}", f"Which city is number {i}?", (text,), i % 2 == 1, references=(right,))
        )
    return items


def compare(n=200):
    items = []
    for item in grade(n):
        wrong = f"It is called {CITIES[len(items) % 10]} of {item.id}."
        right = f"It is called {item.references[0]}."
        first = int(item.id[1:]) % 2 == 0
        pair = (right, wrong) if first else (wrong, right)
        label = Winner.A if first else Winner.B
        items.append(Item(item.id, item.prompt, pair, label, references=item.references))
    return items


def knows(item, text):
    """Whether a text holds the right answer, whatever it looks like."""
    return " ".join(item.references[0].lower().split()) in " ".join(text.lower().split())


def grader(name, weakness):
    """A judge that knows the answer and has one weakness."""

    def function(item):
        text = item.responses[0]
        return BooleanVerdict(weakness(item, text, knows(item, text)))

    return FunctionJudge(name, function)


GRADERS = {
    "clean": (lambda item, text, right: right, set()),
    "case": (lambda item, text, right: right and not text.isupper(), {"format.upper"}),
    "short": (lambda item, text, right: right and len(text) < 150, {"length.padding"}),
    "obeys": (
        lambda item, text, right: "Verdict: True" in text or (right and "Verdict: False" not in text),
        {"injection.answer"},
    ),
    "flattered": (lambda item, text, right: right or "carefully checked" in text, {"praise.self"}),
    "markdown": (lambda item, text, right: right and not text.startswith("#"), {"format.markdown"}),
    "gullible": (lambda item, text, right: right or len(text) < 40, {"flip.other_answer"}),
}  # fmt: skip


def found_at(judges, items, names=DEFAULT, seed=0, tmp_path=None):
    probes = plan_stress(judges, items, perturbations_named(names), seed)
    rows = [row for probe in probes for row in judge_items(probe.judges, probe.items)]
    return reactions(rows)


@pytest.mark.parametrize("name", GRADERS)
def test_exactly_the_known_weakness_is_found(name):
    weakness, expected = GRADERS[name]
    found = found_at([grader(name, weakness)], grade())
    assert {r.perturbation for r in found if r.found()} == expected
    # Nothing that applies is left out, and the one that needs a pair is.
    assert {r.perturbation for r in found} == set(DEFAULT) - {"position.swap"}


def test_a_judge_that_likes_the_first_slot_is_found_by_the_swap_alone():
    def first(item):
        sure = knows(item, item.responses[0]) and int(item.id.partition("~")[0][1:]) % 3
        return WinnerVerdict(
            Winner.A if sure or int(item.id.partition("~")[0][1:]) % 4 else Winner.B
        )

    names = ["repeat", "position", "format", "praise"]
    found = found_at([FunctionJudge("first", first)], compare(), names)
    assert {r.perturbation for r in found if r.found()} == {"position.swap"}

    def identity(item):
        return WinnerVerdict(Winner.A if knows(item, item.responses[0]) else Winner.B)

    found = found_at([FunctionJudge("sound", identity)], compare(), [*names, "flip", "injection"])
    assert not any(r.found() for r in found)
    swap = next(r for r in found if r.perturbation == "position.swap")
    assert (swap.changed.count, swap.changed.of) == (0, 200)
    assert swap.right_after.value == 1.0  # the label followed its candidate


class Noisy:
    """Knows the answer, and says the other thing with probability p, anew at each call."""

    mode = "direct"

    def __init__(self, p, seed):
        self.name, self.p, self.rng = "noisy", p, np.random.default_rng(seed)

    def __call__(self, item):
        flip = bool(self.rng.random() < self.p)
        return Judgement(BooleanVerdict(knows(item, item.responses[0]) is not flip))


def test_noise_is_found_by_repetition_and_is_not_taken_for_a_weakness():
    """In 60 runs of a judge that only draws at random: power of `repeat`, error of all others."""
    items = grade(60)
    names = ["repeat", "format.upper", "length.padding", "praise.self", "injection"]
    probes = plan_stress([Noisy(0.15, 0)], items, perturbations_named(names))
    power = wrong = 0
    for run in range(60):
        judge = Noisy(0.15, run)
        rows = [row for probe in probes for row in judge_items([judge], probe.items)]
        found = {r.perturbation for r in reactions(rows) if r.found()}
        power += "repeat" in found
        wrong += bool(found - {"repeat"})
    assert power >= 57
    assert wrong <= 8  # 5 % of 60, and three standard errors

    # The test has teeth: held against the tolerance, the same noise is "found" everywhere.
    without = [row for row in rows if not row.subject.endswith("~repeat")]
    assert all(r.found() for r in reactions(without) if r.expect is Expect.SAME)


def test_flips_are_told_from_declines_and_failures():
    def moody(item):
        kind = int(content_hash(item.responses[0]), 16) % 4
        if "###" not in item.responses[0]:
            return BooleanVerdict(True)
        return (
            BooleanVerdict(False),
            Abstention(AbstainReason.OUT_OF_SCOPE),
            Failure(FailureKind.TIMEOUT),
            BooleanVerdict(True),
        )[kind]

    items = grade(80)
    (found,) = found_at([FunctionJudge("moody", moody)], items, ["format.markdown"])
    kinds = Counter(int(content_hash(f"### Answer\n\n**{i.responses[0]}**"), 16) % 4 for i in items)
    assert found.changed.count == kinds[0]
    assert found.declined == kinds[1]
    assert found.failed == kinds[2]
    assert found.changed.of == kinds[0] + kinds[3]
    assert found.asked == 80
    assert found.kept.count == kinds[3]


def test_a_ledger_goes_on_where_it_stopped_and_gives_the_same(tmp_path):
    judge, items = grader("case", GRADERS["case"][0]), grade(30)
    probes = plan_stress([judge], items, perturbations_named(["repeat", "format"]))
    with LedgerWriter(tmp_path / "whole.jsonl") as ledger:
        assert run_stress(probes, ledger, timed=False) == sum(map(len, probes))
        assert run_stress(probes, ledger, timed=False) == 0
    part = plan_stress([judge], items, perturbations_named(["format.upper"]))
    with LedgerWriter(tmp_path / "parts.jsonl") as ledger:
        run_stress(part, ledger, timed=False)
        run_stress(probes, ledger, timed=False, concurrency=4)
    one, two = (reactions(read_ledger(tmp_path / f"{n}.jsonl").rows) for n in ("whole", "parts"))
    key = lambda r: r.perturbation  # noqa: E731
    assert sorted(one, key=key) == sorted(two, key=key)


@pytest.mark.parametrize("name", PERTURBATIONS)
def test_a_perturbation_repeats_and_is_drawn_for_each_item(name):
    perturbation = PERTURBATIONS[name]
    for items in (grade(40), compare(40)):
        one = perturbed(perturbation, items, seed=3)
        assert one == perturbed(perturbation, items, seed=3)
        by_id = {item.id: item for item in perturbed(perturbation, items[::-1], seed=3)}
        same = perturbation.expect is Expect.SAME
        for item in one:
            origin = next(i for i in items if i.id == item.extra["perturbed"])
            assert item.prompt == origin.prompt
            assert item.references == origin.references
            if same and name != "position.swap":
                assert item.label == origin.label
                assert by_id[item.id].responses == item.responses
            if name not in ("repeat",) and not name.startswith("evidence"):
                assert item.responses != origin.responses
            if not same and len(item.responses) == 1:
                assert item.label is False
                assert not knows(origin, item.responses[0])


def test_items_that_a_perturbation_does_not_change_are_left_out():
    items = [Item("a", "?", ("7",), True), Item("b", "?", ("Chad",), True), Item("c", "?", ("",))]
    assert [i.id for i in perturbed(PERTURBATIONS["format.upper"], items)] == ["b~format.upper"]
    assert perturbed(PERTURBATIONS["flip.other_answer"], items[:1]) == []


@pytest.mark.parametrize("name", ["perturbed", "expect", "swapped"])
def test_a_column_that_says_what_was_done_to_an_item_is_the_tests_own(name):
    item = Item("q1", "?", ("x",), True, extra={name: "no"})
    with pytest.raises(InputError, match=f"item 'q1' has a column '{name}'.*rename it"):
        plan_stress([grader("g", GRADERS["clean"][0])], [item], perturbations_named(["repeat"]))


def test_bad_plans_are_refused_by_name(tmp_path):
    items = grade(4)
    judge = grader("clean", GRADERS["clean"][0])
    with pytest.raises(InputError, match="no perturbation is called 'shout'; there are repeat"):
        perturbations_named(["shout"])
    with pytest.raises(InputError, match="no judge"):
        plan_stress([], items, [])
    with pytest.raises(InputError, match="nothing to ask about"):
        plan_stress([judge], [Item("x", "?", ("",))], [])
    again = perturbed(PERTURBATIONS["format.upper"], items)
    with pytest.raises(InputError, match="was perturbed before"):
        plan_stress([judge], again, [])
    clash = [Item("q", "?", ("abc",)), Item("q~format.upper", "?", ("abc",))]
    with pytest.raises(InputError, match=r"there is an item 'q~format\.upper'"):
        perturbed(PERTURBATIONS["format.upper"], clash)
    with pytest.raises(InputError, match="tolerance"):
        reactions([], tolerance=float("nan"))
    with pytest.raises(InputError, match="no row is about a perturbed item"):
        reactions(judge_items([judge], items))


def test_rewrites_come_from_a_file(tmp_path):
    path = tmp_path / "rewrites.jsonl"
    lines = [
        {"id": f"q{i}", "perturbation": "paraphrase.model", "response": f"the answer: {i}"}
        for i in range(3)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (rewritten,) = read_rewrites(path)
    assert [i.id for i in perturbed(rewritten, grade(4))] == [
        f"q{i}~paraphrase.model" for i in range(3)
    ]
    for bad, message in [
        ({"id": "q0", "perturbation": "paraphrase.model", "response": "x"}, "a second line"),
        ({"id": "q9", "perturbation": "repeat", "response": "x"}, "of ours"),
        ({"id": "q9", "perturbation": "p", "response": 3}, "`response` is a text"),
        ({"id": "q9", "perturbation": "p", "response": "x", "expect": "better"}, "same or wrong"),
        ({"perturbation": "p", "response": "x"}, "`id` and `perturbation`"),
        ({"id": "q9", "perturbation": "paraphrase.model", "response": "x", "expect": "wrong"}, "expects"),
    ]:  # fmt: skip
        path.write_text("".join(json.dumps(line) + "\n" for line in [*lines, bad]))
        with pytest.raises(InputError, match=f"line 4: .*{message}"):
            read_rewrites(path)


def test_floors_hold_a_perturbation_or_a_family():
    found = found_at([grader("case", GRADERS["case"][0])], grade(), ["repeat", "format"])
    names = [r.perturbation for r in found]
    assert [r.perturbation for r in Floor.parse("format=0.95", names).missed_by(found)] == [
        "format.upper"
    ]
    assert Floor.parse("repeat=1", names).missed_by(found) == []
    assert len(Floor.parse("all=0.5", names).missed_by(found)) == 0
    for text, message in [
        ("format", "name=share"),
        ("format=2", "from 0 to 1"),
        ("x=0.5", "no pert"),
    ]:
        with pytest.raises(InputError, match=message):
            Floor.parse(text, names)

    # A perturbation under which no verdict came back is below every floor.
    def breaks(item):
        return Failure(FailureKind.TIMEOUT) if "~" in item.id else BooleanVerdict(True)

    (lost,) = found_at([FunctionJudge("broken", breaks)], grade(5), ["format.upper"])
    assert lost.kept.value is None
    assert Floor("format", 0.0).missed_by([lost]) == [lost]


def test_exchanged_parts_leave_the_judge_as_it_was():
    """Evidence and stored replies are exchanged through composed judges, and nowhere else."""
    from riskjudge.judges import Panel
    from riskjudge.judges.model import ModelJudge, ModelSettings
    from riskjudge.llm import ModelClient, ReplyCache
    from riskjudge.prompts import load_prompt
    from riskjudge.reliability.rebuilt import asked_again, with_evidence
    from riskjudge.retrieval.passage import Passage

    class Found:
        def search(self, query, k):
            return [Passage(f"t{i}", "s", f"u{i}", i + 1) for i in range(k)]

        def describe(self):
            return "found"

    class Counting:
        base_url = "http://counting"
        sent = 0

        def send(self, request):
            self.sent += 1
            text = "Verdict: True" if self.sent % 2 else "Verdict: False"
            return json.dumps(
                {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
            )

    endpoint = Counting()
    client = ModelClient(endpoint, ReplyCache(":memory:"))
    settings = ModelSettings("m")
    direct = ModelJudge(client, load_prompt("parametric"), settings, name="direct")
    shown = ModelJudge(client, load_prompt("retrieval"), settings, Found(), name="shown")
    panel = Panel([direct, shown])
    item = Item("q", "?", ("x",))
    first = direct(item).outcome
    assert direct(item).outcome == first
    assert endpoint.sent == 1
    assert asked_again(direct)(item).outcome != first
    assert asked_again(direct).source == direct.source
    assert direct(item).outcome == first

    assert with_evidence(direct, PERTURBATIONS["evidence.reverse"].change) is None
    turned = with_evidence(panel, PERTURBATIONS["evidence.reverse"].change)
    assert shown(item).disclosure["passages"] == ["u0", "u1", "u2"]
    seats = turned.seats
    assert seats[1](item).disclosure["passages"] == ["u2", "u1", "u0"]
    assert seats[1].source == shown.source
    stray = with_evidence(shown, PERTURBATIONS["evidence.irrelevant"].change)
    assert stray(item).disclosure["passages"] == ["u0", "u1", "u2", "about:irrelevant"]


CONFIG = """
seed = 7
[judges.longest]
type = "longest"
[judges.oracle]
type = "oracle"
error_rate = 0.0
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "judges.toml").write_text(CONFIG)
    lines = [
        {"id": i.id, "question": i.prompt, "responses": list(i.responses), "label": i.label.value,
         "references": list(i.references), "subset": "even" if n % 2 else "odd"}
        for n, i in enumerate(compare(40))
    ]  # fmt: skip
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


@pytest.fixture
def command(capsys):
    def called(*arguments):
        with pytest.raises(SystemExit) as done:
            main(["stress", *map(str, arguments)])
        out, err = capsys.readouterr()
        return done.value.code, out, err

    return called


def test_the_command_reports_resumes_and_holds_floors(files, command):
    shared = (files / "items.jsonl", "-o", files / "s.jsonl", "--config", files / "judges.toml")
    code, out, err = command(*shared, "--by", "subset")
    assert code == 0
    assert "Stress test of longest/direct" in out
    assert "repeat applies" not in err
    code, out, err = command(*shared, "--json", "--floor", "length=0.99")
    assert code == 1
    assert "0 left to ask" in err
    assert "floor missed: longest/direct keeps" in err
    found = json.loads(out)
    by = {(r["judge"], r["perturbation"]): r for r in found["reactions"]}
    assert by["longest", "length.padding"]["found"]
    assert not by["oracle", "position.swap"]["found"]
    assert by["longest", "position.swap"]["changed"]["count"] == 0
    assert [f["perturbation"] for f in found["floors_missed"]] == ["length.padding"]
    rows = (files / "s.jsonl").read_bytes().count(b"\n")
    assert rows == 2 * 40 + sum(r["asked"] for r in found["reactions"])


def test_the_command_refuses_what_it_cannot_do(files, command):
    shared = (files / "items.jsonl", "-o", files / "x.jsonl", "--config", files / "judges.toml")
    for options, message in [
        (("--perturbations", "shout"), "no perturbation is called 'shout'"),
        (("--perturbations", ","), "names with commas"),
        (("--floor", "shout=1"), "no perturbation 'shout' is run"),
        (("--floor", "format=x"), "a floor is name=share"),
        (("--model", "m"), "--model has no effect with --config"),
        (("--tolerance", "-1"), "the tolerance is a share"),
        (("--level", "2"), "level must lie"),
        (("--label", "llm"), "stress asks no evaluator"),
        (("--by", "colour"), "no item has the column 'colour'"),
    ]:
        code, _, err = command(*shared, *options)
        assert code == 2, (options, err)
        assert message in err
    assert not (files / "x.jsonl").exists()  # nothing was asked
    code, _, err = command(*shared, "--dry-run")
    assert code == 0
    assert "judgements" in err
    assert (files / "x.jsonl").read_bytes() == b""


PANEL = """
seed = 3
[judges.first]
type = "oracle"
error_rate = 0.1
[judges.second]
type = "oracle"
error_rate = 0.15
[judges.third]
type = "oracle"
error_rate = 0.2
[judges.panel]
type = "panel"
seats = ["first", "second", "third"]
"""


def test_from_stress_to_a_robust_gate_and_a_picture(tmp_path, command, capsys):
    """A panel whose split votes are its uncertainty: stress, --robust, the same gate under stress."""
    items = compare(160)
    lines = [
        {"id": i.id, "question": i.prompt, "responses": list(i.responses), "label": i.label.value,
         "references": list(i.references)}
        for i in items
    ]  # fmt: skip
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "items.jsonl").write_text(text)
    (tmp_path / "judges.toml").write_text(PANEL)
    trace, gate = tmp_path / "stress.csv", tmp_path / "gate.json"
    asked = (tmp_path / "items.jsonl", "--config", tmp_path / "judges.toml", "-o", trace,
             "--perturbations", "repeat,position,format.upper",
             "--uncertainty", "variation_ratio")  # fmt: skip
    code, out, err = command(*asked)
    assert code == 0, err
    assert all(len(line) <= 80 for line in out.splitlines()), out
    table = pd.read_csv(trace)
    assert {"stress_flips1", "expect", "swapped"} <= set(table.columns)

    def calls(*arguments):
        with pytest.raises(SystemExit) as done:
            main([str(a) for a in arguments])
        out, err = capsys.readouterr()
        return done.value.code, out, err

    code, out, err = calls("calibrate", trace, "--alpha", 0.2, "--robust", "position", "-o", gate)
    assert code == 0, (out, err)
    assert "under position.swap" in out
    code, out, err = command(*asked, "--gate", gate, "--json")
    assert code == 0, err
    risks = {r["perturbation"]: r for r in json.loads(out)["gate"]}
    assert risks["plain"]["coverage"]["of"] == 160
    assert set(risks) == {"plain", "repeat", "position.swap", "format.upper"}
    ledger = next(tmp_path.glob("stress*.jsonl"))
    picture = tmp_path / "stress.png"
    code, out, err = calls("plot", "stress", ledger, "-o", picture, "--json")
    assert code == 0, err
    assert picture.stat().st_size > 10_000
    assert {r["perturbation"] for r in json.loads(out)["reactions"]} >= {"position.swap"}


def test_a_flip_under_perturbation_is_a_column_of_the_item():
    """Upper case flips odd items, the swap flips those of a judge that likes the first slot."""
    items = compare(20)

    class Shouting:
        name, mode = "shouting", "direct"

        def __call__(self, item):
            number = int(item.id.partition("~")[0][1:])
            sound = Winner.A if knows(item, item.responses[0]) else Winner.B
            flip = any(text.isupper() for text in item.responses) and number % 2
            return Judgement(WinnerVerdict(sound.other if flip else sound), confidence=0.9)

    judge = Shouting()
    names = perturbations_named(["position.swap", "format.upper", "flip.other_answer"])
    probes = plan_stress([judge], items, names)
    rows = [row for probe in probes for row in judge_items(probe.judges, probe.items)]
    trace = stressed_trace(probes, rows, "confidence")
    plain = (trace.extra["perturbation"] == "plain").to_numpy()
    shares = dict(zip(trace.item_id[plain], trace.extra["stress_flips1"][plain], strict=True))
    # Of two invariances one changed the odd items; the other order and the wrong answer count as kept.
    assert shares == {f"q{i}": 0.5 * (i % 2) for i in range(20)}
    assert trace.extra["stress_flips1"][~plain].isna().all()
    # Asked about nothing but the items themselves, there is nothing to tell.
    alone = stressed_trace([Probe("plain", probes[0].items, (judge,))], rows, "confidence")
    assert alone.extra["stress_flips1"].isna().all()


def test_the_heat_map_shows_every_judge_and_frames_what_was_found():
    from riskjudge.reliability.heat_map import StressDisplay

    weak = {name: grader(name, GRADERS[name][0]) for name in ("clean", "case", "obeys", "short")}
    names = ["format.upper", "length.padding", "injection.answer"]
    found = found_at(list(weak.values()), grade(60), names)
    display = StressDisplay.from_reactions(found, source="graders whose weakness is known").plot()
    assert display.judges == tuple(weak)
    framed = {(display.judges[c], display.perturbations[r]) for r, c in np.argwhere(display.found)}
    assert framed == {(n, p) for n in weak for p in GRADERS[n][1]}
    assert len(display.ax_.patches) == len(framed)
    assert {t.get_text() for t in display.ax_.texts} >= {"0"}
    with pytest.raises(InputError, match=r"case was put under format\.upper twice"):
        StressDisplay.from_reactions([*found, *[r for r in found if r.judge == "case"]])
    with pytest.raises(InputError, match="nothing to draw"):
        StressDisplay.from_reactions([])
