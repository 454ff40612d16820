"""Labelled items that are no random draw: noticed, or set right by known weights."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from typer.testing import CliRunner

from riskjudge import binomial
from riskjudge.cli import app
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError
from riskjudge.monitor.selection import thin_by_weight, unlike_pool


def make_trace(n=900, seed=0, easy=0.5, unlabelled=0, prefix=""):
    """Half of the population is easy (4 % wrong), half hard (30 %)."""
    rng = np.random.default_rng(seed)
    share = np.where(np.arange(n) < n - unlabelled, easy, 0.5)
    topic = np.where(rng.random(n) < share, "easy", "hard")
    labels = rng.integers(0, 2, n)
    wrong = rng.random(n) < np.where(topic == "easy", 0.04, 0.3)
    verdicts = (labels ^ wrong)[:, None]
    labels[n - unlabelled :] = -1
    ids = [f"{prefix}{i}" for i in range(n)]
    trace = Trace.from_arrays(rng.random((n, 1)), verdicts, labels, item_id=ids)
    # Easy items were drawn nine times as often as hard ones: weights 1 and 9.
    return replace(
        trace, extra=pd.DataFrame({"topic": topic, "w": np.where(topic == "easy", 1.0, 9.0)})
    )


def test_a_biased_choice_is_noticed_and_a_random_one_is_not():
    (said,) = unlike_pool(make_trace(easy=0.9, unlabelled=400).select(["mode1"]))[:1]
    assert "topic" in said or "w" in said
    found = sum(bool(unlike_pool(make_trace(300, s, unlabelled=150), seed=s)) for s in range(60))
    assert stats.binomtest(found, 60, 0.01, "greater").pvalue > 0.01


def test_weights_make_the_labelled_items_draws_from_the_target():
    """True risk .17: the plain count certifies .15 nearly always, the weighted one at most delta."""
    runs, delta, plain, weighted, kept_easy, kept = 300, 0.05, 0, 0, 0, 0
    for r in range(runs):
        trace = make_trace(800, r, easy=0.9, prefix=f"{r}-")
        thin = thin_by_weight(trace, "w", 9.0, seed=1)
        for name, part in (("plain", trace), ("weighted", thin)):
            errors = int((part.verdicts[:, 0] != part.labels).sum())
            certified = bool(binomial.p_value(errors, len(part), 0.1699) <= delta)
            plain += certified and name == "plain"
            weighted += certified and name == "weighted"
        kept_easy += int((thin.extra["topic"] == "easy").sum())
        kept += len(thin)
    assert plain > 0.9 * runs
    assert stats.binomtest(weighted, runs, delta, "greater").pvalue > 0.01
    assert stats.binomtest(kept_easy, kept, 0.5).pvalue > 0.001


def test_the_order_of_rows_does_not_decide_which_are_kept():
    trace = make_trace(easy=0.9)
    shuffled = trace.rows(np.random.default_rng(2).permutation(len(trace)))
    kept = [set(thin_by_weight(t, "w", 9.0).item_id) for t in (trace, shuffled)]
    assert kept[0] == kept[1] != set(thin_by_weight(trace, "w", 9.0, seed=1).item_id)


def test_bad_weights_are_named():
    trace = make_trace(20)
    for column, largest in (
        ("nothing", 9.0),
        ("topic", 9.0),
        ("w", 5.0),
        ("w", -1.0),
        ("w", np.nan),
        ("w", np.inf),
    ):
        with pytest.raises(InputError):
            thin_by_weight(trace, column, largest)


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, 9.1, "many"])
def test_a_weight_that_is_none_is_named_with_its_item(weight):
    trace = make_trace(20)
    trace.extra["w"] = trace.extra["w"].astype(object)
    trace.extra.loc[trace.extra.index[7], "w"] = weight
    with pytest.raises(InputError, match=repr(trace.item_id[7])):
        thin_by_weight(trace, "w", 9.0)


def test_weights_of_zero_keep_nothing():
    trace = make_trace(20)
    trace.extra["w"] = 0.0
    with pytest.raises(InputError, match="no labelled item is kept"):
        thin_by_weight(trace, "w", 9.0)


def test_weights_of_items_that_share_groups_are_refused():
    """A group of several items would be kept more often than its weights say."""
    trace = replace(make_trace(20), group=np.array([f"g{i // 2}" for i in range(20)], dtype=object))
    with pytest.raises(InputError, match="share groups"):
        thin_by_weight(trace, "w", 9.0)
    assert len(thin_by_weight(trace.rows(np.arange(0, 20, 2)), "w", 9.0))


def test_on_the_command_line(tmp_path):
    trace = make_trace(1500, easy=0.9, unlabelled=500)
    trace.to_frame().to_csv(tmp_path / "t.csv", index=False)

    def calibrate(*arguments):
        done = CliRunner().invoke(app, ["calibrate", str(tmp_path / "t.csv"), "--json", *arguments])
        return json.loads(done.stdout)["certificate"] if done.stdout else done

    said = " ".join(calibrate("--alpha", "0.3")["assumptions"])
    assert "do not look like the unlabelled ones" in said
    weighted = calibrate("--alpha", "0.3", "--weight", "w", "--max-weight", "9")
    assert weighted["n"] + weighted["n_reserved"] < 400
    said = " ".join(weighted["assumptions"])
    assert "kept with probability" in said
    assert "do not look like" not in said
    assert isinstance(calibrate("--weight", "w").exception, InputError)
