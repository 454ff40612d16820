"""Uncertainty at the verdict token and elsewhere: known answers, then properties, then edges."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskjudge.errors import InputError
from riskjudge.uncertainty import (
    Alternative,
    NoConfidence,
    OutOfRange,
    Token,
    Votes,
    bidirectional_preference_entropy,
    binary_entropy,
    fit_probe,
    tokens_at,
    verbalised_confidence,
    verdict_mass,
)

LABELS = ("True", "False")


def token(text, *alternatives):
    """A token whose alternatives are given as (text, probability), itself first."""
    top = tuple(
        Alternative(other, math.log(p)) for other, p in ((text, alternatives[0]), *alternatives[1:])
    )
    return Token(text, math.log(alternatives[0]), top)


def test_entropy_is_scipys():
    from scipy.stats import entropy

    for p in (1e-12, 0.01, 0.3, 0.5, 0.77, 1 - 1e-9):
        assert binary_entropy(p) == pytest.approx(entropy([p, 1 - p]), rel=1e-6)
    assert binary_entropy(0.0) == binary_entropy(1.0) == 0.0
    with pytest.raises(InputError):
        binary_entropy(1.5)


@given(st.floats(0, 1))
def test_entropy_is_symmetric_and_bounded(p):
    assert 0.0 <= binary_entropy(p) <= math.log(2) + 1e-12
    assert binary_entropy(p) == pytest.approx(binary_entropy(1 - p), abs=1e-12)


def test_variants_are_pooled_and_the_mass_is_theirs():
    spelled = token(
        " True",
        0.5,
        ("True", 0.1),
        (" TRUE", 0.05),
        ("true.", 0.05),
        (" False", 0.1),
        ("**False", 0.05),
        (" Maybe", 0.1),
        (" The", 0.02),
    )
    mass = verdict_mass([spelled], "True", LABELS)
    assert mass.p_first == pytest.approx(0.7 / 0.85)
    assert mass.mass == pytest.approx(0.85)
    assert not mass.bounded


def test_a_label_of_several_tokens_has_the_probability_of_all_of_them():
    first = token(" Fal", 0.8, (" Tr", 0.1), (" True", 0.05))
    mass = verdict_mass([first, Token("se", math.log(0.5))], "False", LABELS)
    assert mass.p_first == pytest.approx(0.15 / (0.15 + 0.4))


def test_words_that_only_look_like_a_label_do_not_count():
    spelled = token(" True", 0.6, (" Truth", 0.1), (" Falsehood", 0.1), (" T.", 0.1), ("?", 0.05))
    mass = verdict_mass([spelled], "True", LABELS)
    assert mass.mass == pytest.approx(0.6)
    assert mass.bounded


def test_a_missing_label_is_bounded_by_the_smallest_returned_and_never_zero():
    spelled = token("No", 0.9, ("Nope", 0.04), ("no", 0.01))
    mass = verdict_mass([spelled], "No", ("Yes", "No"))
    # "Nope" is no label; "Yes" can have at most the smallest returned, 0.01.
    assert mass.p_first == pytest.approx(0.01 / (0.91 + 0.01))
    assert mass.bounded
    alone = verdict_mass([Token("No", -0.01, (Alternative("No", -0.01),))], "No", ("Yes", "No"))
    assert alone.p_first == pytest.approx(1 - math.exp(-0.01), rel=1e-6)


@pytest.mark.parametrize("lowest", [-9999.0, float("-inf")])
def test_an_endpoints_way_to_write_never_is_not_a_zero(lowest):
    top = (Alternative("True", 0.0), Alternative("False", lowest))
    mass = verdict_mass([Token("True", 0.0, top)], "True", LABELS)
    flipped = verdict_mass([Token("True", 0.0, top)], "True", ("False", "True"))
    assert 0.0 < flipped.p_first < 1e-40
    assert mass.entropy == flipped.entropy > 0.0


@given(
    st.lists(st.floats(-30, 0), min_size=1, max_size=8),
    st.lists(
        st.sampled_from([" True", "true", " False", "FALSE", " Fal", "x", "", "\n"]), max_size=8
    ),
)
def test_the_belief_is_always_a_proper_probability(logprobs, texts):
    top = tuple(Alternative(t, lp) for t, lp in zip(texts, logprobs, strict=False))
    spelled = Token(" True", logprobs[0], (Alternative(" True", logprobs[0]), *top))
    mass = verdict_mass([spelled], "True", LABELS)
    assert 0.0 < mass.p_first <= 1.0
    assert 0.0 <= mass.mass <= 1.0
    assert 0.0 < mass.entropy <= math.log(2) + 1e-12


@pytest.mark.parametrize(
    ("tokens", "reason"),
    [
        ([], "do not spell"),
        ([Token("True", -0.1)], "no alternatives"),
        ([Token("True", -math.inf, (Alternative("True", -math.inf),))], "no finite"),
    ],
)
def test_a_confidence_that_is_missing_says_why(tokens, reason):
    found = verdict_mass(tokens, "True", LABELS)
    assert isinstance(found, NoConfidence)
    assert reason in found.reason


def test_the_verdicts_own_place_is_found_and_not_a_word_in_the_rationale():
    texts = ["It", " is", " True", " that", "…", "\n", "Verdict", ":", " False"]
    reply = "".join(texts)
    start = reply.rindex("False")
    tokens = [Token(text, -float(place)) for place, text in enumerate(texts)]
    (found,) = tokens_at(tokens, reply, start, start + 5)
    assert found.logprob == -8.0
    start = reply.index("True")
    assert tokens_at(tokens, reply, start, start + 4)[0].logprob == -2.0


def test_places_survive_stripped_replies_thoughts_and_split_characters():
    crab = "🦀".encode()
    tokens = [
        Token("<think>True</think>", -1.0),
        Token("\n", -2.0),
        Token("�", -3.0, raw=crab[:2]),
        Token("�", -4.0, raw=crab[2:]),
        Token(" True", -5.0),
        Token("<|im_end|>", -6.0),
    ]
    assert [t.logprob for t in tokens_at(tokens, "🦀 True", 2, 6)] == [-5.0]
    assert tokens_at(tokens, "something else", 0, 4) == ()


def test_votes():
    assert Votes((True, True, False)).verdict is True
    assert Votes((True, None, None)).verdict is None
    assert Votes((True, False)).verdict is None
    assert Votes((None,)).share is None
    assert Votes((None,)).entropy is None
    assert Votes((True,) * 3 + (False,)).entropy == pytest.approx(binary_entropy(0.75))


def test_verbalised_confidence():
    assert verbalised_confidence("confidence: 7%") == 0.07
    assert isinstance(verbalised_confidence("I am 90 sure"), NoConfidence)
    assert isinstance(verbalised_confidence("Confidence: 9\nConfidence: 10"), NoConfidence)
    with pytest.raises(OutOfRange, match="900"):
        verbalised_confidence("Confidence: 900")


def test_a_judge_with_a_favourite_slot_knows_nothing():
    assert bidirectional_preference_entropy([0.95, 0.95]) == pytest.approx(math.log(2))
    assert bidirectional_preference_entropy([0.9, 0.2]) == pytest.approx(binary_entropy(0.85))


def features(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    return x, x[:, 0] - x[:, 1] + rng.normal(size=n) > 0.5


def test_a_probe_learns_and_refuses_the_items_it_was_trained_on():
    from sklearn.metrics import roc_auc_score

    x, wrong = features(600)
    ids = [f"i{n}" for n in range(600)]
    probe = fit_probe(ids[:300], x[:300], wrong[:300])
    scores = probe.uncertainty(ids[300:], x[300:])
    assert roc_auc_score(wrong[300:], scores) > 0.8
    assert (
        abs(roc_auc_score(wrong[:300], probe.held_out) - roc_auc_score(wrong[300:], scores)) < 0.1
    )
    with pytest.raises(InputError, match="'i299' trained this probe"):
        probe.uncertainty(ids[299:302], x[299:302])
    again = fit_probe(ids[:300], x[:300], wrong[:300]).uncertainty(ids[300:], x[300:])
    assert np.array_equal(scores, again)


def test_cross_fitting_lets_no_item_see_its_own_label():
    """On noise, in-sample scores look skilled; held-out ones must not."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(1)
    x, wrong = rng.normal(size=(200, 5)), rng.random(200) < 0.4
    forest = RandomForestClassifier(20, random_state=0)
    probe = fit_probe([str(n) for n in range(200)], x, wrong, estimator=forest)
    assert roc_auc_score(wrong, forest.fit(x, wrong).predict_proba(x)[:, 1]) > 0.95
    assert 0.35 < roc_auc_score(wrong, probe.held_out) < 0.65


@pytest.mark.parametrize(
    ("ids", "x", "wrong", "problem"),
    [
        (["a", "a"], np.zeros((2, 1)), [0, 1], "duplicate id 'a'"),
        (["a", "b"], np.array([[0.0], [np.nan]]), [0, 1], "item 'b'"),
        (["a", "b"], np.zeros((3, 1)), [0, 1], "shape"),
        (["a", "b"], np.zeros((2, 1)), [0], "one each"),
        (list("abcdefgh"), np.zeros((8, 1)), [0] * 7 + [1], "the rarer of the two has 1"),
    ],
)
def test_a_probe_names_what_is_wrong(ids, x, wrong, problem):
    with pytest.raises(InputError, match=problem):
        fit_probe(ids, x, wrong)
