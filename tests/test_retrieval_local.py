"""Evidence on this machine: BM25 against the formula, corpora, snapshots and their drift."""

from __future__ import annotations

import json
import math
import threading
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskjudge.data.verdict import FailureKind
from riskjudge.errors import InputError, OperationalError
from riskjudge.retrieval import (
    BM25Retriever,
    Document,
    Passage,
    Recorder,
    RetrievalError,
    Retriever,
    Snapshot,
    compare_snapshots,
    make_retriever,
    read_corpus,
    read_snapshot,
    record_queries,
)
from riskjudge.retrieval.bm25 import tokenize
from riskjudge.retrieval.recording import HOPELESS
from riskjudge.retrieval.snapshot import Search

CORPUS = [
    Document("Chad", "N'Djamena is the capital of Chad, on the Chari.", "u1"),
    Document("Togo", "Lomé is the capital and the largest port of Togo.", "u2"),
    Document("Benin", "Porto-Novo is the capital of Benin; Cotonou is larger.", "u3"),
    Document("Saturn", "Titan is the largest moon of Saturn.", "u4"),
]


def lucene_bm25(query, documents, k1=1.5, b=0.75):
    """The textbook formula, straight from its definition."""
    texts = [tokenize(f"{document.title} {document.text}") for document in documents]
    mean = sum(map(len, texts)) / len(texts)
    scores = []
    for text in texts:
        score = 0.0
        for term in tokenize(query):
            df = sum(term in other for other in texts)
            idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
            tf = text.count(term)
            score += idf * tf / (tf + k1 * (1 - b + b * len(text) / mean))
        scores.append(score)
    return scores


@pytest.mark.parametrize(
    "query", ["capital of Togo", "largest port", "Saturn's largest moon", "is the", "zebra"]
)
def test_bm25_ranks_as_the_formula_does(query):
    expected = lucene_bm25(query, CORPUS)
    order = sorted(range(len(CORPUS)), key=lambda i: (-round(expected[i], 5), i))
    wanted = [CORPUS[i].url for i in order if expected[i] > 0]
    found = BM25Retriever(CORPUS).search(query, 10)
    assert [passage.url for passage in found] == wanted
    assert [passage.rank for passage in found] == list(range(1, len(found) + 1))


words = st.lists(st.sampled_from(["red", "green", "blue", "sea", "hill"]), min_size=1, max_size=6)


@given(texts=st.lists(words, min_size=1, max_size=9), query=words, k=st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_any_k_is_a_prefix_and_ties_keep_the_order_of_the_corpus(texts, query, k):
    documents = [Document("", " ".join(text), f"u{i:02}") for i, text in enumerate(texts)]
    retriever = BM25Retriever(documents)
    everything = retriever.search(" ".join(query), len(documents))
    assert retriever.search(" ".join(query), k) == everything[:k]
    scores = {
        d.url: round(s, 5)
        for d, s in zip(documents, lucene_bm25(" ".join(query), documents), strict=True)
    }
    ranked = [(-scores[passage.url], passage.url) for passage in everything]
    assert ranked == sorted(ranked)
    assert len(everything) == sum(score > 0 for score in scores.values())


def test_accents_and_case_do_not_hide_a_passage():
    assert BM25Retriever(CORPUS).search("LOME", 1)[0].url == "u2"


def test_the_index_is_reloaded_and_never_answers_for_other_passages(tmp_path, monkeypatch):
    import bm25s

    built = []
    real = bm25s.BM25.index
    monkeypatch.setattr(
        bm25s.BM25, "index", lambda self, *a, **k: (built.append(1), real(self, *a, **k))[1]
    )
    first = BM25Retriever(CORPUS, cache=tmp_path)
    again = BM25Retriever(CORPUS, cache=tmp_path)
    assert len(built) == 1
    assert again.search("capital of Togo", 4) == first.search("capital of Togo", 4)

    changed = [*CORPUS[:3], Document("Saturn", "Titan is a moon; so is the capital.", "u4")]
    stale = BM25Retriever(changed, cache=tmp_path)
    assert len(built) == 2
    assert "u4" in [passage.url for passage in stale.search("capital", 4)]
    assert stale.describe() != first.describe()
    assert BM25Retriever(CORPUS, cache=tmp_path, b=0.1).describe() != first.describe()
    assert len(built) == 3


def test_a_damaged_index_is_built_anew(tmp_path):
    wanted = BM25Retriever(CORPUS, cache=tmp_path).search("largest", 4)
    (folder,) = tmp_path.iterdir()
    for file in folder.iterdir():
        file.write_bytes(b"\x00garbage")
    assert BM25Retriever(CORPUS, cache=tmp_path).search("largest", 4) == wanted
    assert BM25Retriever(CORPUS, cache=tmp_path).search("largest", 4) == wanted


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path):
    (tmp_path / "file").write_text("in the way")
    assert BM25Retriever(CORPUS, cache=tmp_path / "file" / "cache").search("moon", 1)


@pytest.mark.parametrize(
    ("query", "k"), [("", 3), ("  ", 3), (None, 3), ("moon", 0), ("moon", True)]
)
def test_a_search_that_means_nothing_is_refused(query, k):
    with pytest.raises(InputError):
        BM25Retriever(CORPUS).search(query, k)


def test_a_corpus_folder_mixes_texts_and_jsonl(tmp_path):
    (tmp_path / "b.md").write_text("One.\n\nTwo.\n\n" + "long " * 130 + "\n\nEnd.\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.jsonl").write_text('{"title": "T", "text": "x", "url": "http://x"}\n')
    (tmp_path / ".hidden.txt").write_text("no")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    found = read_corpus(tmp_path)
    assert [document.url for document in found] == ["b.md#1", "b.md#2", "b.md#3", "http://x"]
    assert found[0].text == "One. Two."
    assert found[0].title == "b"
    assert read_corpus(tmp_path / "b.md") == found[:3]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{broken", "line 1: not JSON"),
        ('{"text": "a"}\n{"title": "no text"}', "line 2: a passage needs a `text`"),
        ('{"text": 5}', "`text` is a text, got 5"),
        ("[1]", "a JSON object is needed"),
        ('{"text": "a", "id": "7"}\n{"text": "b", "id": "7"}', "line 2: duplicate passage '7'"),
        ("\n\n", "no passage in it"),
    ],
)
def test_a_damaged_corpus_names_the_line(tmp_path, content, problem):
    path = tmp_path / "passages.jsonl"
    path.write_text(content)
    with pytest.raises(InputError, match=problem):
        read_corpus(path)


def test_specs_name_the_known_sources(tmp_path):
    for spec in ("altavista:", "bm25", "", "moon"):
        with pytest.raises(InputError, match=r"bm25:PASSAGES\.jsonl or bm25:FOLDER; snapshot:FILE"):
            make_retriever(spec)
    with pytest.raises(InputError, match="names no file"):
        make_retriever("bm25:")
    with pytest.raises(InputError, match="no such file"):
        make_retriever(f"bm25:{tmp_path}/missing.jsonl")


def test_a_spec_makes_bm25_and_keeps_its_index_where_told(tmp_path, monkeypatch):
    monkeypatch.setenv("RISKJUDGE_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "passages.jsonl"
    path.write_text('{"title": "Togo", "text": "The capital is Lomé."}\n')
    source = make_retriever(f"bm25:{path}")
    assert isinstance(source, Retriever)
    assert source.search("capital of Togo", 3) == [
        Passage("Togo", "The capital is Lomé.", "passages.jsonl#1", 1)
    ]
    assert source.describe().startswith("bm25:passages.jsonl@")
    assert str(tmp_path) not in source.describe()
    assert any((tmp_path / "cache").iterdir())


class Source:
    """Answers from a table; counts how often it was asked."""

    def __init__(self, answers, name="web:one"):
        self.answers, self.name, self.asked = answers, name, []

    def search(self, query, k):
        self.asked.append(query)
        answer = self.answers[query]
        if isinstance(answer, Exception):
            raise answer
        return [Passage(url, f"text of {url}", url, i) for i, url in enumerate(answer[:k], 1)]

    def describe(self):
        return self.name


def clock():
    return datetime(2026, 1, 31, 12, tzinfo=UTC)


def test_a_recording_keeps_everything_and_replays_offline(tmp_path):
    path = tmp_path / "snapshot.jsonl"
    source = Source({"q1": ["http://a", "http://b"], "q2": []})
    with Recorder(source, path, clock=clock) as recorder:
        live = [recorder.search("q1", 3), recorder.search("q2", 3), recorder.search("q1", 3)]
    assert source.asked == ["q1", "q2"]
    assert json.loads(path.read_text().splitlines()[0]) == {
        "query": "q1",
        "time": "2026-01-31T12:00:00+00:00",
        "retriever": "web:one",
        "k": 3,
        "results": [
            {"title": "http://a", "snippet": "text of http://a", "url": "http://a", "rank": 1},
            {"title": "http://b", "snippet": "text of http://b", "url": "http://b", "rank": 2},
        ],
    }
    replay = make_retriever(f"snapshot:{path}")
    assert [replay.search("q1", 3), replay.search("q2", 3), replay.search("q1", 3)] == live
    assert replay.search("q1", 1) == live[0][:1]
    # An unrecorded query is a gap, an empty answer is an answer.
    with pytest.raises(RetrievalError) as gap:
        replay.search("q3", 3)
    assert gap.value.kind is FailureKind.STATUS
    with pytest.raises(InputError, match="recorded with k=3, and 9 passages are wanted"):
        replay.search("q1", 9)


def test_an_interrupted_recording_goes_on_and_asks_for_what_is_missing(tmp_path):
    path = tmp_path / "snapshot.jsonl"
    broken = RetrievalError(FailureKind.TIMEOUT, "slow")
    with Recorder(Source({"q1": ["http://a"], "q2": broken}), path, clock=clock) as recorder:
        recorder.search("q1", 3)
        with pytest.raises(RetrievalError):
            recorder.search("q2", 3)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"query": "q2", "time": "20')
    source = Source({"q1": ["http://other"], "q2": ["http://b"]})
    with Recorder(source, path, clock=clock) as recorder:
        assert [passage.url for passage in recorder.search("q1", 3)] == ["http://a"]
        recorder.search("q2", 3)
    assert source.asked == ["q2"]
    assert path.read_bytes().startswith(whole)
    assert set(read_snapshot(path).searches) == {"q1", "q2"}


def test_a_snapshot_has_one_source_and_one_writer(tmp_path):
    path = tmp_path / "snapshot.jsonl"
    with Recorder(Source({"q1": ["http://a"]}), path) as recorder:
        recorder.search("q1", 3)
        with pytest.raises(OperationalError, match="another process"):
            Recorder(Source({}), path)
    with pytest.raises(InputError, match="holds answers of 'web:one', and this is 'web:two'"):
        Recorder(Source({}, "web:two"), path)


def test_many_threads_record_each_query_once(tmp_path):
    answers = {f"q{i}": [f"http://{i}"] for i in range(50)}
    path = tmp_path / "snapshot.jsonl"
    source = Source(answers)
    with Recorder(source, path) as recorder:
        threads = [
            threading.Thread(target=lambda: [recorder.search(query, 3) for query in answers])
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(source.asked) == sorted(answers)
    assert len(path.read_text().splitlines()) == 50
    assert set(read_snapshot(path).searches) == set(answers)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"query": ""}, "a query is a text"),
        ({"k": 0}, "k, the number of passages"),
        ({"k": "3"}, "`k` is a int, got '3'"),
        ({"time": None}, "`time` is a str"),
        ({"results": None}, "`results` is a list"),
        ({"results": [{"title": "t"}]}, "title, snippet, url, rank"),
        ({"results": [{"title": "t", "snippet": "", "url": "u", "rank": 2}]}, "ranks"),
        ({"results": [{"title": " ", "snippet": "", "url": "u", "rank": 1}]}, "blank"),
        ({"k": 1, "results": [{"title": "t", "snippet": "", "url": "u", "rank": r} for r in (1, 2)]},
         "2 results where k=1"),
    ],
)  # fmt: skip
def test_a_damaged_snapshot_names_the_line(tmp_path, change, problem):
    good = {"query": "q", "time": "t", "retriever": "r", "k": 3, "results": []}
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps(good) + "\n" + json.dumps({**good, "query": "q2", **change}) + "\n")
    with pytest.raises(InputError, match=rf"line 2: .*{problem}"):
        read_snapshot(path)


def test_a_query_that_occurs_twice_is_an_error(tmp_path):
    line = json.dumps({"query": "q", "time": "t", "retriever": "r", "k": 3, "results": []})
    path = tmp_path / "s.jsonl"
    path.write_text(f"{line}\n{line}\n")
    with pytest.raises(InputError, match="line 2: duplicate query 'q'"):
        read_snapshot(path)


def test_recording_counts_answers_empties_and_failures_apart(tmp_path):
    answers = {
        "a": ["http://a"],
        "b": [],
        "c": RetrievalError(FailureKind.STATUS, "HTTP 500"),
        "d": RetrievalError(FailureKind.TIMEOUT, "slow"),
    }
    seen = []
    with Recorder(Source(answers), tmp_path / "s.jsonl") as recorder:
        tally = record_queries(recorder, ["a", "b", "c", "d", "a"], 3, progress=seen.append)
    assert (tally.answered, tally.empty) == (1, 1)
    assert tally.failed == {FailureKind.STATUS: 1, FailureKind.TIMEOUT: 1}
    assert seen == [1, 2, 3, 4]


def test_a_hopeless_recording_stops_early(tmp_path):
    answers = {f"q{i}": RetrievalError(FailureKind.STATUS, "HTTP 401") for i in range(500)}
    source = Source(answers)
    with (
        Recorder(source, tmp_path / "s.jsonl") as recorder,
        pytest.raises(OperationalError, match=r"first 20 searches all failed.*HTTP 401"),
    ):
        record_queries(recorder, answers, 3, concurrency=2)
    assert HOPELESS <= len(source.asked) <= HOPELESS + 2


def taken(name, **answers):
    searches = {
        query: Search(
            query,
            "2026-01-31",
            "web",
            3,
            tuple(Passage(u, "", u, i) for i, u in enumerate(urls, 1)),
        )
        for query, urls in answers.items()
    }
    return Snapshot(name, searches, "")


def test_drift_by_hand():
    first = taken("then", same=["a", "b", "c"], moved=["a", "b", "c"], half=["a", "b", "c"],
                  gone=["a"], empty=[], old=["a"])  # fmt: skip
    second = taken("now", same=["a", "b", "c"], moved=["c", "a", "b"], half=["a", "x", "c"],
                   gone=[], empty=[], new=["a"])  # fmt: skip
    drift = compare_snapshots(first, second, 3)
    assert {o.query: (o.unranked, o.ranked) for o in drift.queries} == {
        "same": (1.0, 1.0),
        "moved": (1.0, 0.0),
        "half": (0.5, 0.5),
        "gone": (0.0, 0.0),
        "empty": (None, None),
    }
    assert drift.mean_unranked == pytest.approx(2.5 / 4)
    assert drift.mean_ranked == pytest.approx(1.5 / 4)
    assert (drift.unchanged, drift.undefined) == (1, 1)
    assert (drift.only_first, drift.only_second) == (("old",), ("new",))
    assert compare_snapshots(first, second, 1).mean_unranked == pytest.approx(2 / 4)
    json.dumps(drift.to_dict(), allow_nan=False)


def test_drift_where_nothing_can_be_said():
    nothing = compare_snapshots(taken("a", q=[]), taken("b", q=[]), 3)
    assert nothing.mean_unranked is None
    assert nothing.to_dict()["mean_ranked"] is None
    with pytest.raises(InputError, match="share no query"):
        compare_snapshots(taken("a", q=[]), taken("b", p=[]), 3)
    with pytest.raises(InputError, match="recorded with k=3"):
        compare_snapshots(taken("a", q=["u"]), taken("b", q=["u"]), 6)


def test_the_same_page_under_two_spellings_is_no_drift():
    then = taken("a", q=["http://Example.org/x/", "https://b.org/?id=1"])
    now = taken("b", q=["https://example.org/x#top", "https://b.org/?id=2"])
    assert compare_snapshots(then, now, 3).queries[0].unranked == pytest.approx(1 / 3)


urls = st.lists(st.sampled_from("abcdef"), max_size=3, unique=True)


@given(first=urls, second=urls)
def test_overlap_is_symmetric_and_ranked_never_exceeds_unranked(first, second):
    there = compare_snapshots(taken("a", q=first), taken("b", q=second), 3).queries[0]
    back = compare_snapshots(taken("b", q=second), taken("a", q=first), 3).queries[0]
    assert there == back
    if there.unranked is not None:
        assert 0 <= there.ranked <= there.unranked <= 1
        assert (there.ranked == 1) == (first == second)
