"""Judges from TOML: all four reasons are reachable, and mistakes name their table and option."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from riskjudge.data.verdict import BooleanVerdict, Winner, describe
from riskjudge.errors import InputError
from riskjudge.items import Item
from riskjudge.judges import FunctionJudge, judge_items, read_judges
from riskjudge.ledger import readings

PAIR = Item("q1", "Capital of Chad?", ("N'Djamena", "Abuja"), label=Winner.A, subset="facts")


def judges_from(tmp_path, text, **options):
    path = tmp_path / "judges.toml"
    path.write_text(text, encoding="utf-8")
    return read_judges(path, **options)


@pytest.fixture
def container():
    """A judge container that answers questions about capitals and finds others out of scope."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            known = "Capital" in request["prompt"]
            body = json.dumps({"winner": "a"} if known else {"abstain": "out_of_scope"}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def test_all_four_reasons_come_out_of_one_configuration(tmp_path, container):
    judges = judges_from(
        tmp_path,
        f"""
        seed = 7

        [judges.first]
        type = "first-slot"
        [judges.second]
        type = "second-slot"
        [judges.knower]
        type = "oracle"
        [judges.trial]
        type = "pairwise"
        judge = "knower"
        [judges.contrary-trial]
        type = "pairwise"
        judge = "wrong"
        [judges.wrong]
        type = "oracle"
        error_rate = 1.0

        [judges.panel]
        type = "panel"
        seats = ["trial", "contrary-trial"]

        [judges.position-bound]
        type = "pairwise"
        judge = "first"

        [judges.trio]
        type = "panel"
        seats = ["first", "knower", "second"]
        [judges.gated]
        type = "gate"
        judge = "trio"
        uncertainty = "variation_ratio"
        threshold = 0.1

        [judges.sidecar]
        type = "sidecar"
        url = "{container}"
        timeout = 5

        [judges.short]
        type = "scope"
        judge = "knower"
        max_chars = 20
        """,
    )
    items = [PAIR, Item("q2", "Why is the sky blue?", ("x", "y"), label=Winner.B)]
    reasons = {
        entry.segment[0]: dict(entry.reasons)
        for entry in readings(judge_items(judges, items), ("judge",))
    }
    assert reasons == {
        "panel": {"panel_split": 2},
        "position-bound": {"swap_inconsistent": 2},
        "gated": {"below_conformal": 2},
        "sidecar": {"out_of_scope": 1},
        "short": {"out_of_scope": 2},
    }


def test_judges_that_others_are_made_of_are_not_run_unless_asked(tmp_path):
    text = """
        [judges.one]
        type = "longest"
        [judges.trial]
        type = "pairwise"
        judge = "one"
        """
    assert [judge.name for judge in judges_from(tmp_path, text)] == ["trial"]
    both = judges_from(tmp_path, 'run = ["one", "trial"]' + text)
    assert [(judge.name, judge.mode) for judge in both] == [
        ("one", "direct"),
        ("trial", "pairwise"),
    ]


def test_seeds_are_those_of_the_table_or_the_file(tmp_path):
    judges = judges_from(
        tmp_path,
        """
        seed = 3
        [judges.a]
        type = "random"
        [judges.b]
        type = "random"
        seed = 9
        """,
    )
    assert [judge(PAIR).seed for judge in judges] == [3, 9]


def test_a_cut_a_constant_and_a_failing_judge(tmp_path):
    judges = judges_from(
        tmp_path,
        """
        [judges.seven]
        type = "constant"
        score = 7
        [judges.good]
        type = "cut"
        judge = "seven"
        cut = 5
        high = 10
        [judges.flaky]
        type = "failing"
        judge = "good"
        every = 2
        kind = "status"
        """,
    )
    [flaky] = judges
    item = Item("q", "?", ("x",))
    assert [describe(flaky(item).outcome) for _ in range(2)] == ["true", "failed:status"]


def test_scopes(tmp_path):
    judges = judges_from(
        tmp_path,
        """
        [judges.first]
        type = "first-slot"
        [judges.subsets]
        type = "scope"
        judge = "first"
        subsets = ["facts"]
        [judges.pattern]
        type = "scope"
        judge = "first"
        pattern = "^Capital"
        """,
    )
    other = Item("q2", "The Capital?", ("x", "y"), subset="rest")
    for judge in judges:
        assert describe(judge(PAIR).outcome) == "a"
        assert describe(judge(other).outcome) == "abstained:out_of_scope"


def test_a_caller_may_add_a_type(tmp_path):
    def build(spec):
        word = spec.text("word")
        return FunctionJudge(spec.name, lambda item: BooleanVerdict(word in item.prompt))

    text = '[judges.w]\ntype = "word"\nword = "Chad"\n'
    [judge] = judges_from(tmp_path, text, builders={"word": build})
    assert judge(PAIR).outcome == BooleanVerdict(True)


ONE = '[judges.one]\ntype = "first-slot"\n'

MISTAKES = [
    ("", r"no \[judges.NAME\] table"),
    ("x = 1\n" + ONE, "unknown entry 'x'"),
    ("[judges", "not TOML"),
    ('[judges.one]\ntype = "best"\n', r"\[judges.one\] `type`: 'best' is none of first-slot"),
    ("[judges.one]\n", r"\[judges.one\] `type`: is missing"),
    (ONE + "sede = 3\n", r"\[judges.one\] `sede`: is unknown here"),
    ('[judges.p]\ntype = "pairwise"\njudge = "two"\n', r"`judge`: there is no \[judges.two\]"),
    ('[judges.p]\ntype = "panel"\nseats = "one"\n', "`seats`: is a list of texts"),
    ('[judges.p]\ntype = "panel"\nseats = []\n', r"\[judges.p\]: panel 'p' has no seats"),
    ('[judges.p]\ntype = "panel"\nseats = ["one", "one"]\n' + ONE, "sits on 2 seats"),
    ('run = ["two"]\n' + ONE, "`run`: there is no judge 'two'"),
    ("run = []\n" + ONE, "`run` is a list"),
    ('[judges.c]\ntype = "constant"\nscore = "7"\n', "`score`: is a number, got '7'"),
    ('[judges.c]\ntype = "constant"\nscore = true\n', "`score`: is a number, got True"),
    ('[judges.c]\ntype = "constant"\nscore = nan\n', "finite number"),
    ('[judges.o]\ntype = "oracle"\nerror_rate = 2\n', "lies in"),
    ('[judges.r]\ntype = "random"\nseed = 1.5\n', "`seed`: is a whole number"),
    ('[judges.s]\ntype = "sidecar"\nurl = "localhost"\n', "`url`"),
    ('[judges.s]\ntype = "scope"\njudge = "one"\n' + ONE, "a scope is bounded by"),
    ('[judges.s]\ntype = "scope"\njudge = "one"\npattern = "("\n' + ONE, "regular expression"),
    ('[judges.g]\ntype = "gate"\njudge = "one"\n' + ONE, "either a `threshold` or a `gate`"),
    ('[judges.g]\ntype = "gate"\njudge = "one"\nuncertainty = "luck"\n', "one of .* got 'luck'"),
    ('[judges.g]\ntype = "gate"\njudge = "one"\ngate = "no.json"\n' + ONE, "no.json: no such file"),
    ('[judges.r]\ntype = "router"\njudges = []\n', "router 'r' has no judges"),
    ('[judges.f]\ntype = "failing"\njudge = "one"\nevery = 0\n' + ONE, "at least 1"),
    ('[judges.f]\ntype = "failing"\njudge = "one"\nevery = 2\nkind = "x"\n' + ONE, "`kind`"),
    (
        '[judges.a]\ntype = "pairwise"\njudge = "b"\n[judges.b]\ntype = "pairwise"\njudge = "a"\n',
        "made of each other: a -> b -> a",
    ),
]


@pytest.mark.parametrize(("text", "said"), MISTAKES)
def test_a_mistake_names_its_table_and_option(tmp_path, text, said):
    with pytest.raises(InputError, match=said) as caught:
        judges_from(tmp_path, text)
    assert "judges.toml" in str(caught.value)


def test_a_configuration_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_judges(tmp_path / "none.toml")


def test_the_example_of_the_reference_page_is_read_and_has_every_type():
    pytest.importorskip("openai", reason="the extra `openai` is not installed")
    import re
    import tomllib

    from riskjudge.judges.config import BUILDERS, compose

    page = (Path(__file__).parents[1] / "docs" / "toml.md").read_text("utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    config = tomllib.loads(example)
    judges = compose(config)
    assert [judge.name for judge in judges] == config["run"]
    shown = {table["type"] for table in config["judges"].values()}
    assert shown == set(BUILDERS) - {"fused"}  # which cannot do without a file
    assert all(f"`{kind}`" in page for kind in BUILDERS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('sed = 1\n[judges.a]\ntype = "longest"', "did you mean 'seed'"),
        ('seed = "x"\n[judges.a]\ntype = "random"', "`seed` is a whole number, got 'x'"),
        ('seed = true\n[judges.a]\ntype = "random"', "`seed` is a whole number"),
        ('[judges.a]\ntype = "longst"', "did you mean 'longest'"),
        (
            '[judges.a]\ntype = "pairwise"\njugde = "b"\njudge = "b"\n[judges.b]\ntype = "longest"',
            "did you mean 'judge'",
        ),
        (
            '[judges.a]\ntype = "pairwise"\njudge = "bb"\n[judges.bbb]\ntype = "longest"',
            "did you mean 'bbb'",
        ),
        ("[judges.a]\ntype = 3", "`type`: is a text, got 3"),
        ("[judges]\na = 3", "is a table of options, got 3"),
        ("judges = 3", "no .judges.NAME. table"),
        ('run = [1]\n[judges.a]\ntype = "longest"', "`run` is a list of judges' names"),
        ('run = ["aa"]\n[judges.aaa]\ntype = "longest"', "did you mean 'aaa'"),
        ('[judges.a]\ntype = "constant"\nscore = nan', "is a finite number"),
        (
            '[judges.a]\ntype = "gate"\njudge = "b"\nthreshold = nan\n[judges.b]\ntype = "longest"',
            "`threshold`: is a finite number",
        ),
        (
            '[judges.a]\ntype = "gate"\njudge = "b"\nthreshold = inf\n[judges.b]\ntype = "longest"',
            "`threshold`: is a finite number",
        ),
        ('[judges.a]\ntype = "sidecar"\nurl = "http://h/"\ntimeout = nan', "`timeout`"),
        (
            '[judges.a]\ntype = "panel"\nseats = "b"\n[judges.b]\ntype = "longest"',
            "a list of texts",
        ),
        (
            '[judges.a]\ntype = "model"\nmodel = "m"\nbase_url = "http://h/v1"\nextra_body = 3',
            "`extra_body`: is a table",
        ),
        (
            '[judges.a]\ntype = "model"\nmodel = "m"\nbase_url = "http://h/v1"\nmodel_ = "x"',
            "did you mean 'model'",
        ),
        (
            '[judges.a]\ntype = "model"\nmodel = "m"\nbase_url = "http://h/v1"\ntemperature = nan',
            "`temperature`: is a finite number",
        ),
    ],
)
def test_a_mistake_names_what_was_probably_meant(tmp_path, text, said):
    (tmp_path / "judges.toml").write_text(text)
    with pytest.raises(InputError, match=said):
        read_judges(tmp_path / "judges.toml")
