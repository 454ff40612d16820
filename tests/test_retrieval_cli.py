"""The `evidence` commands: search, snapshot, compare."""

from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from riskjudge.cli import evidence
from riskjudge.errors import InputError

PASSAGES = [
    {"title": "Togo", "text": "The capital of Togo is Lomé.", "url": "http://t"},
    {"title": "Benin", "text": "The capital of Benin is Porto-Novo.", "url": "http://b"},
]
QUESTIONS = ["What is the capital of Togo?", "What is the capital of Benin?", "Who?"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RISKJUDGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    write("passages.jsonl", PASSAGES)
    write("items.jsonl", [item(i, question) for i, question in enumerate(QUESTIONS)])
    return tmp_path


def item(number, question):
    return {"id": str(number), "question": question, "candidate": "x", "references": ["y"]}


def write(name, records):
    with open(name, "w") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def run(*arguments):
    app = typer.Typer()
    evidence.register(app)
    result = CliRunner().invoke(app, ["evidence", *arguments])
    if isinstance(result.exception, InputError):
        raise result.exception
    return result


def test_search_shows_what_a_judge_would_read(folder):
    shown = run("search", "capital of Togo", "--retriever", "bm25:passages.jsonl", "-k", "1")
    assert shown.exit_code == 0
    assert shown.stdout.splitlines() == [
        "1. Togo",
        "   The capital of Togo is Lomé.",
        "   http://t",
    ]
    data = run("search", "Togo", "--retriever", "bm25:passages.jsonl", "--json")
    assert [entry["url"] for entry in json.loads(data.stdout)["results"]] == ["http://t"]


def test_snapshot_then_replay_then_compare(folder):
    asked = ("snapshot", "items.jsonl", "--retriever", "bm25:passages.jsonl", "-o")
    first = run(*asked, "then.jsonl", "--json")
    assert first.exit_code == 0
    told = {"questions": 3, "answered": 2, "empty": 1, "failed": {}}
    assert json.loads(first.stdout) == {"schema_version": 1} | told
    replayed = run("search", QUESTIONS[0], "--retriever", "snapshot:then.jsonl", "--json")
    assert json.loads(replayed.stdout)["results"][0]["url"] == "http://t"

    write("passages.jsonl", [PASSAGES[1], {**PASSAGES[0], "url": "http://moved"}])
    assert run(*asked, "now.jsonl").exit_code == 0
    drift = run("compare", "then.jsonl", "now.jsonl", "-o", "each.csv", "--json")
    # Both questions find both pages; one page of the two has moved.
    assert json.loads(drift.stdout)["mean_unranked"] == pytest.approx(1 / 3)
    assert json.loads(drift.stdout)["undefined"] == 1
    assert (folder / "each.csv").read_text().splitlines()[0] == "query,unranked,ranked"
    assert "mean Jaccard overlap" in run("compare", "then.jsonl", "now.jsonl").stdout


def test_a_snapshot_with_gaps_says_so_and_exits_3(folder):
    write("partial.jsonl", [item(1, QUESTIONS[0]), item(2, QUESTIONS[0])])
    run("snapshot", "partial.jsonl", "--retriever", "bm25:passages.jsonl", "-o", "part.jsonl")
    # The recorded part replayed as the source of a larger recording: two queries are missing.
    result = run("snapshot", "items.jsonl", "--retriever", "snapshot:part.jsonl", "-o", "all.jsonl")
    assert result.exit_code == 3
    assert "1 answered, 0 with no result, 2 failed (status 2)" in result.stdout


def test_an_item_without_a_question_is_named(folder):
    write("items.jsonl", [item(1, "Who?"), item(2, " ")])
    with pytest.raises(InputError, match="item '2' has no question"):
        run("snapshot", "items.jsonl", "--retriever", "bm25:passages.jsonl", "-o", "s.jsonl")


def test_a_file_of_questions_alone_will_do(folder):
    write("nq.jsonl", [{"question": QUESTIONS[0], "answer": ["Lomé"]}])
    made = run("snapshot", "nq.jsonl", "--retriever", "bm25:passages.jsonl", "-o", "s.jsonl")
    assert made.exit_code == 0
    assert "1 answered" in made.stdout
