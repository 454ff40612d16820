"""Drawing rows to label, labelling them, and taking the labels in."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import riskjudge
from riskjudge.cli import app
from riskjudge.errors import InputError
from riskjudge.rates import ESTIMATORS, RateSample
from riskjudge.rates.drawing import draw, weights_of
from riskjudge.rates.labelling import settle


def world(seed, n=2000):
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.7).astype(int)
    right = rng.random(n) < 0.85
    unsure = rng.beta(np.where(right, 2, 4), np.where(right, 6, 2)).round(3)
    frame = pd.DataFrame(
        {
            "item_id": [f"i{k:04}" for k in range(n)],
            "system": np.where(np.arange(n) % 5 == 0, "small", "large"),
            "question": [f"question {k}" for k in range(n)],
            "v1": np.where(right, truth, 1 - truth),
            "u1": unsure,
        }
    )
    return frame, truth


def run(*arguments, **keywords):
    done = CliRunner().invoke(app, [str(a) for a in arguments], **keywords)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def test_a_round_trip_keeps_every_estimator_valid(tmp_path):
    frame, truth = world(0)
    answer = dict(zip(frame["item_id"], truth, strict=True))
    trace, drawn, out = (tmp_path / f"{name}.csv" for name in ("trace", "drawn", "out"))
    frame.to_csv(trace, index=False)
    for seed in (1, 2):  # a second draw goes on from the first
        run("label", "next", trace, "-n", 150, "-o", drawn, "--seed", seed)
        rows = pd.read_csv(drawn)
        assert not {"v1", "u1"} & set(rows.columns)  # who labels does not see the judge
        rows["label"] = rows["item_id"].map(answer)
        rows.sample(frac=1, random_state=0).to_csv(drawn, index=False)
        run("label", "take", trace, drawn, "-o", out)
        trace = out
    taken = pd.read_csv(out)
    assert taken["label"].notna().sum() == 300
    # Weights add up to the rows of every stratum.
    sums = taken.groupby("stratum")["weight"].sum()
    assert sums.to_dict() == pytest.approx(taken.groupby("stratum").size().to_dict())
    data = json.loads(run("rate", out, "--json").stdout)
    for name in ("corrected", "classical", "ppi", "ppi_plus_plus"):
        low, high = data[name]["interval"]
        assert low < 0.7 < high, name


def test_draws_are_valid_in_repetition():
    rng = np.random.default_rng(3)
    hits = {"stratified": 0, "classical": 0, "ppi_plus_plus": 0}
    runs = 300
    for k in range(runs):
        frame, truth = world(1000 + k)
        blank = RateSample.from_trace(riskjudge.Trace.from_frame(frame))
        drawn = draw(blank, 120, seed=int(rng.integers(1 << 31)))
        labels = np.full(len(truth), -1)
        labels[drawn.index] = truth[drawn.index]
        weight = weights_of(drawn.stratum, labels >= 0)
        some = RateSample(
            blank.item_id, blank.verdicts, labels, blank.part, blank.uncertainty, weight
        )
        for name in hits:
            found = ESTIMATORS[name](some)
            hits[name] += found.low <= 0.7 <= found.high
    assert min(hits.values()) / runs > 0.92, hits


def test_more_is_drawn_where_the_judge_is_unsure_and_every_system_has_its_say():
    frame, _ = world(4)
    sample = RateSample.from_trace(riskjudge.Trace.from_frame(frame))
    drawn = draw(sample, 200)
    shares = np.bincount(drawn.stratum[drawn.index]) / np.bincount(drawn.stratum)
    sure = [h for h, name in enumerate(drawn.names) if name.endswith("1 of 2")]
    unsure = [h for h, name in enumerate(drawn.names) if name.endswith("2 of 2")]
    assert shares[unsure].min() > shares[sure].max()
    split = draw(sample, 200, system=frame["system"].to_numpy(dtype=object))
    small = np.mean(frame["system"].to_numpy()[split.index] == "small")
    assert 0.4 < small < 0.6  # of a fifth of the rows
    assert len(set(split.index.tolist())) == 200


def test_a_draw_does_not_depend_on_the_order_of_rows_and_stops_at_the_rows_there_are():
    frame, _ = world(5, 300)
    turned = frame.iloc[::-1].reset_index(drop=True)
    ids = []
    for some in (frame, turned):
        found = draw(RateSample.from_trace(riskjudge.Trace.from_frame(some)), 50, seed=7)
        ids.append([some["item_id"][i] for i in found.index])
    assert ids[0] == ids[1]
    sample = RateSample.from_trace(riskjudge.Trace.from_frame(frame))
    assert len(draw(sample, 1000).index) == 300
    with pytest.raises(InputError, match="at least one"):
        draw(sample, 0)


def test_two_annotators_in_the_terminal(tmp_path):
    frame, _ = world(6, 200)
    trace, drawn, out = (tmp_path / f"{name}.csv" for name in ("trace", "drawn", "out"))
    frame.to_csv(trace, index=False)
    run("label", "next", trace, "-n", 6, "-o", drawn)
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    shown = run("label", "ask", drawn, "-o", first, "--annotator", "a", input="p\nnonsense\nf\nq\n")
    assert "question: question" in shown.stdout
    assert "0 answered, 6 to go" in shown.stdout
    again = run("label", "ask", drawn, "-o", first, "--annotator", "a", input="u\ns\nb\np\np\np\n")
    assert "2 answered, 4 to go" in again.stdout
    run("label", "ask", drawn, "-o", second, "--annotator", "b", input="p\np\nf\np\np\ns\n")
    done = json.loads(run("label", "take", trace, drawn, first, second, "-o", out, "--json").stdout)
    ids = pd.read_csv(drawn)["item_id"].tolist()
    assert done["disputed"] == [ids[1]]
    assert done["labels"] == 5
    assert done["agreement"][0]["rows"] == 4
    assert done["agreement"][0]["agreed"] == 3
    taken = pd.read_csv(out).set_index("item_id")["label"]
    assert taken[ids[0]] == 1
    assert np.isnan(taken[ids[1]])


def test_kappa_is_undefined_where_all_say_the_same():
    found = settle(["x", "y"], {"a": {"x": 1, "y": 1}, "b": {"x": 1, "y": 1}})
    assert found.agreement[0].kappa is None
    found = settle(["x", "y"], {"a": {"x": 1, "y": 0}, "b": {"x": 1, "y": 0}})
    assert found.agreement[0].kappa == 1.0


@pytest.mark.parametrize(
    "spoil,message",
    [
        (lambda d: d.assign(item_id=["nobody", *d["item_id"][1:]]), "no item 'nobody'"),
        (lambda d: d.assign(label="maybe"), "'maybe' is not"),
        (lambda d: pd.concat([d, d[:1]]), "comes twice"),
        (lambda d: d.assign(stratum="accepted pass 9 of 9"), "lies in"),
    ],
)
def test_answers_that_do_not_fit_are_refused(tmp_path, spoil, message):
    frame, _ = world(7, 200)
    trace, drawn = tmp_path / "trace.csv", tmp_path / "drawn.csv"
    frame.to_csv(trace, index=False)
    run("label", "next", trace, "-n", 10, "-o", drawn)
    spoil(pd.read_csv(drawn).assign(label=1)).to_csv(drawn, index=False)
    done = CliRunner().invoke(
        app, ["label", "take", str(trace), str(drawn), "-o", str(tmp_path / "o.csv")]
    )
    assert isinstance(done.exception, InputError)
    assert message in str(done.exception)
    assert not (tmp_path / "o.csv").exists()
