"""Labels by exact match, token F1 or a column, and the readers of public question files."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskjudge.errors import InputError
from riskjudge.items import Item, read_items
from riskjudge.items.admission import Admission, admissions, exact_match, normalise, token_f1
from riskjudge.items.answers import answer_key
from riskjudge.items.questions import read_questions


def squad_f1(candidate, reference):
    """The formula as the SQuAD paper gives it, by precision and recall."""
    said, wanted = normalise(candidate).split(), normalise(reference).split()
    shared = sum(min(said.count(t), wanted.count(t)) for t in set(said))
    if not shared:
        return 0.0
    precision, recall = shared / len(said), shared / len(wanted)
    return 2 * precision * recall / (precision + recall)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("The Beatles", "beatles"),
        ("  A   cat,\tan owl & the dog! ", "cat owl dog"),
        ("U.S.A.", "usa"),
        ("Röntgen", "röntgen"),
        ("ﬁve", "five"),
        ("twenty-one", "twentyone"),
        ("21", "21"),
        ("«Ñandú»", "ñandú"),
        ("Theatre", "theatre"),
        ("the", ""),
    ],
)
def test_normalisation(text, wanted):
    assert normalise(text) == wanted


def test_numbers_written_as_words_are_left_alone():
    assert exact_match("five", ["5"]) == 0.0


def test_the_best_alias_counts():
    assert exact_match("dai yongge.", ["Xiu Li Dai", "Dai Yongge"]) == 1.0
    assert token_f1("Conrad Röntgen", ["Marie Curie", "Wilhelm Conrad Röntgen"]) == pytest.approx(
        0.8
    )
    assert token_f1("the", ["the"]) == 1.0
    assert token_f1("the", ["a"]) == 0.0
    assert token_f1("cat", ["the"]) == 0.0
    assert token_f1("cat", []) == exact_match("cat", []) == 0.0


@given(st.text(alphabet="ab the.", max_size=30), st.text(alphabet="ab the.", max_size=30))
def test_f1_is_the_harmonic_mean_of_precision_and_recall(candidate, reference):
    assert token_f1(candidate, [reference], normalise) == pytest.approx(
        squad_f1(candidate, reference)
    )
    assert token_f1(candidate, [reference]) == token_f1(reference, [candidate])
    if exact_match(candidate, [reference]):
        assert token_f1(candidate, [reference]) == 1.0


def test_labels_and_what_has_none():
    item = Item("q", "?", ("Wilhelm Röntgen",), label=False, references=("Wilhelm Conrad Röntgen",))
    ways = {way.name: way.label(item) for way in admissions(["f1,exact", "column", "f1:0.9"])}
    assert ways == {"f1": True, "exact": False, "column": False, "f1_0.9": False}
    assert Admission("f1").label(Item("q", "?", ("x",))) is None
    assert Admission("f1").label(Item("q", "?", ("",), references=("x",))) is None
    assert Admission("column").label(Item("q", "?", ("x",))) is None
    for way, problem in (("llm", "asking"), ("f1", "pair")):
        responses = ("x",) if way == "llm" else ("x", "y")
        with pytest.raises(InputError, match=problem):
            Admission(way).label(Item("q", "?", responses, references=("x",)))


@pytest.mark.parametrize("text", ["bleu", "f1:2", "f1:x", "exact:0.5", "f1,f1"])
def test_a_label_that_is_none_is_named(text):
    with pytest.raises(InputError):
        admissions([text])


def test_our_own_items(tmp_path):
    path = tmp_path / "items.jsonl"
    row = {"id": "1", "question": "?", "candidate": "x", "references": ["a", "b"], "label": True}
    path.write_text(json.dumps(row) + "\n")
    (item,) = read_questions(path)
    assert item == Item("1", "?", ("x",), label=True, references=("a", "b"))
    path.write_text(json.dumps({**row, "references": "a"}) + "\n")
    with pytest.raises(InputError, match="line 1: `references` is a list"):
        read_items(path)
    path.write_text(json.dumps({**row, "prompt": "?"}) + "\n")
    with pytest.raises(InputError, match="they mean the same"):
        read_items(path)


def test_evouna_records(tmp_path):
    path = tmp_path / "x.json"
    record = {
        "question": "who?",
        "golden_answer": "Olivia/MFSK",
        "improper": "False",
        "answer_fid": "Olivia",
        "judge_fid": "True",
        "answer_gpt4": None,
        "judge_gpt4": None,
    }
    path.write_text(json.dumps([record, {**record, "improper": True}]))
    items = read_questions(path, systems=["fid", "gpt4"])
    assert [item.id for item in items] == ["0-fid", "0-gpt4"]
    assert items[0].label is True
    assert items[0].references == ("Olivia/MFSK", "Olivia", "MFSK")
    assert items[0].group == items[1].group == "0"
    assert not items[1].has_body
    assert read_questions(path, systems=["fid"])[0].group is None
    with pytest.raises(InputError, match="no system 'bard'; has fid, gpt4"):
        read_questions(path, systems=["bard"])
    path.write_text(json.dumps([{**record, "judge_fid": "maybe"}]))
    with pytest.raises(InputError, match="record 1: 'maybe'"):
        read_questions(path, systems=["fid"])


def test_nq_open_records(tmp_path):
    path, answers = tmp_path / "nq.jsonl", tmp_path / "answers.json"
    path.write_text('{"question": "when?", "answer": ["May 18", "18 May"]}\n')
    answers.write_text('{"when?": "18 May"}')
    assert not read_questions(path)[0].has_body
    (item,) = read_questions(path, candidates=answers)
    assert Admission("exact").label(item) is True
    path.write_text('{"question": "when?"}\n')
    with pytest.raises(InputError, match="line 1"):
        read_questions(path, "nq-open")


def test_real_question_files_as_they_stand(real):
    nq = read_questions(real / "evouna" / "NQ.json", systems=["fid"])
    tq = read_questions(real / "evouna" / "TQ.json")
    assert len(nq) == 3020
    assert len({item.id for item in tq}) == len(tq) == 9690
    agree = [Admission("f1").label(item) is item.label for item in nq if item.label is not None]
    assert sum(agree) / len(agree) > 0.8
    assert len(read_questions(real / "nq_open" / "NQ-open.dev.jsonl")) == 3610


SAME = [
    *[("The Beatles", "beatles"), ("A dog", "dog"), ("the lord of the rings", "Lord of Rings")],
    *[("−5", "-5"), ("1,000", "1000"), ("-1,000", "-1000"), ("1,000.", "1000"), ("５", "5")],
    *[("$1,000.50", "$1000.50"), ("1,234,567", "1234567"), ("1\u202f000", "1000"), (".5", "0.5")],
    *[("U.S.A.", "USA"), ("the U.S.", "US"), ("twenty-one", "twenty one"), ("ﬁve", "five")],
    *[("O’Brien", "O'Brien"), ("“Paris”", "Paris"), ("'Paris'", "Paris"), ("Paris?", "paris")],
    *[("Röntgen", "Ro\u0308ntgen"), ("½", "1/2"), ("1½", "1 1/2"), ("50 %", "50%")],
    *[("(A)", "A"), ("A.", "a"), ("3.5.", "3.5"), ("C#.", "C#"), ("Smith, John", "smith john")],
    *[("1990–1995", "1990-1995"), ("the 1990s", "1990s"), ("an apple.", "apple")],
    *[("  Paris\n", "Paris"), ("Yahoo!", "yahoo"), ("Straße", "STRASSE")],
]
APART = [
    *[("35", "3.5"), ("5", "-5"), ("+5", "5"), ("1,5", "15"), ("1.000", "1000"), ("2.10", "2.1")],
    *[("C#", "C"), ("C++", "C"), ("F#", "F"), (".NET", "NET"), ("AT&T", "ATT"), ("A*", "A")],
    *[("?", "A"), ("A", "the"), ("a", "an"), ("an", "the"), ("...", "?"), ("!", "?"), ("", "A")],
    *[
        ("50%", "50"),
        ("€5", "$5"),
        ("$5", "5"),
        ("<5", ">5"),
        ("<5", "5"),
        ("~5", "5"),
        ("5!", "5"),
    ],
    *[("½", "12"), ("½", "1"), ("1½", "11/2"), ("10²", "102"), ("10⁻³", "10-3"), ("1/2", "12")],
    *[("A-", "A"), ("B+", "B"), ("A, B", "B"), ("vitamin A", "vitamin"), ("The The", "the")],
    *[("(0,1)", "[0,1]"), ("12:30", "1230"), ("9/11", "911"), ("3-5", "35"), ("5'", '5"')],
    *[("≥5", "≤5"), ("=", "≠"), ("x_1", "x1"), ("10^3", "103"), ("No", "Nö"), ("", ""), (" ", "")],
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_spellings_of_one_answer(one, other):
    for measure in (exact_match, token_f1):
        assert measure(one, [other]) == measure(other, [one]) == 1.0


@pytest.mark.parametrize(("one", "other"), APART)
def test_two_answers_stay_two(one, other):
    for measure in (exact_match, token_f1):
        assert measure(one, [other]) < 1.0
        assert measure(other, [one]) < 1.0


@given(st.text(max_size=20), st.text(max_size=20))
def test_an_answer_never_becomes_empty(one, other):
    key = answer_key(one)
    assert bool(key) == bool(one.translate(dict.fromkeys([0x200B, 0x2060, 0xFEFF, 0xAD])).strip())
    assert exact_match(one, [one]) == float(bool(key))
    assert exact_match(one, [other]) == exact_match(other, [one])


@given(
    st.decimals(allow_nan=False, allow_infinity=False),
    st.decimals(allow_nan=False, allow_infinity=False),
)
def test_two_numbers_are_never_one(one, other):
    if one != other:
        assert exact_match(str(one), [str(other)]) == 0.0


def test_the_published_measures_have_names_of_their_own():
    item = Item("q", "?", ("3.5",), references=("35",))
    ways = {way.name: way.label(item) for way in admissions(["exact,squad_exact,squad_f1:0.9,f1"])}
    assert ways == {"exact": False, "squad_exact": True, "squad_f1_0.9": True, "f1": False}
    nothing = Item("q", "?", ("the",), references=("A",))
    assert Admission("squad_exact").label(nothing) is False
