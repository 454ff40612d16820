"""The same data give the same answer: in every format, in any order of rows and of keys."""

import csv
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from riskjudge.calibration import PROCEDURES
from riskjudge.cli import options
from riskjudge.data.modes import ModeColumns
from riskjudge.data.trace import Trace, read_trace
from riskjudge.errors import InputError
from riskjudge.evaluation import summarize
from riskjudge.gate import Router
from riskjudge.io.tables import read_table, write_table

FORMATS = ("csv", "jsonl", "parquet")


def by_hand(rows, path):
    """Write rows as each format's own library does, not as the project does."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    return path


@pytest.mark.parametrize(
    "cells",
    [
        ["None", "Mild", "Severe"],
        ["NA", "CH", "US"],
        ["null", "NaN", "nan"],
        ["a", None, " b "],
        ["", "  ", "x"],
        [2019, 2020, None],
        [2019.0, 2020.0, 2021.0],
        [0.1 + 0.2, 1 / 3, 1e-300],
        [0.5, None, 2.0],
        [True, False, True],
        [True, None, False],
        ["01", "02", "10"],
        ["1.1", "1.10", "2.0"],
        ["1", "2", "3"],
        ["true", "False", "TRUE"],
        ["x, y", 'say "no"', "two\nlines"],
        ["2020-01-01", "2021-05-06", None],
        [2**53 + 1, 2**60, -(2**62)],
    ],
)
def test_a_column_is_the_same_in_every_format(tmp_path, cells):
    rows = [{"item_id": f"i{k}", "extra": cell} for k, cell in enumerate(cells)]
    read = [read_table(by_hand(rows, tmp_path / f"t.{form}"), text=["item_id"]) for form in FORMATS]
    for other in read[1:]:
        pd.testing.assert_frame_equal(read[0], other, check_column_type=False)
    for form in FORMATS:  # and what is written reads back as what it was
        write_table(read[0], tmp_path / f"again.{form}")
        again = read_table(tmp_path / f"again.{form}", text=["item_id"])
        pd.testing.assert_frame_equal(read[0], again[list(read[0])], check_column_type=False)


def test_texts_that_spell_a_missing_value_are_texts_and_are_found(tmp_path):
    rows = [
        {"item_id": str(k), "label": 1, "v1": 1, "u1": 0.1, "country": c}
        for k, c in enumerate(["NA", "CH", "None", None])
    ]
    for form in FORMATS:
        path = by_hand(rows, tmp_path / f"t.{form}")
        assert read_table(path)["country"].tolist()[:3] == ["NA", "CH", "None"]
        for value, found in (("NA", ["0"]), ("none", ["2"]), ("", ["3"])):
            trace = options.load_trace(path, where=[f"country={value}"])
            assert trace.item_id.tolist() == found, (form, value)


@pytest.mark.parametrize("missing", ["", "NA", "NaN", "null", "None", " "])
def test_in_columns_of_a_role_the_usual_spellings_are_missing(tmp_path, missing):
    rows = [
        {"item_id": "a", "label": missing, "v1": "1", "u1": "0.5", "why1": missing},
        {"item_id": "b", "label": "true", "v1": missing, "u1": missing, "why1": "timeout"},
        {"item_id": "c", "label": "1.0", "v1": "0.0", "u1": missing, "why1": missing},
    ]
    for form in FORMATS:
        trace = read_trace(by_hand(rows, tmp_path / f"t.{form}"))
        assert trace.labels.tolist() == [-1, 1, 1]
        assert trace.verdicts[:, 0].tolist() == [1, -1, 0]
        assert trace.to_frame()["why1"].fillna("").tolist() == ["", "timeout", "no_confidence"]


def test_scores_of_32_bits_are_the_decimal_numbers_they_print_as(tmp_path):
    frame = pd.DataFrame({"item_id": ["a", "b", "c"], "v1": [1, 1, 0], "u1": [0.1, 0.3, 0.7]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    for kind in ("float32", "float16", "category"):
        other = frame.assign(u1=frame["u1"].astype(kind))
        pq.write_table(pa.Table.from_pandas(other), tmp_path / "t.parquet")
        assert read_trace(tmp_path / "t.parquet").scores[:, 0].tolist() == [0.1, 0.3, 0.7]
        assert Trace.from_frame(other).scores[:, 0].tolist() == [0.1, 0.3, 0.7]
    assert read_trace(tmp_path / "t.csv").scores[:, 0].tolist() == [0.1, 0.3, 0.7]


@pytest.mark.parametrize("ids", [[1, 2], ["1", "2"], [1.0, 2.0], ["1.0", "2.0"], [" 1", "2 "]])
def test_an_id_and_a_group_are_one_name_however_they_are_typed(tmp_path, ids):
    rows = [{"item_id": i, "label": 1, "v1": 1, "u1": 0.1, "group": i} for i in ids]
    for form in FORMATS:
        trace = read_trace(by_hand(rows, tmp_path / f"t.{form}"))
        assert trace.item_id.tolist() == trace.group.tolist() == ["1", "2"]
    trace = Trace.from_frame(pd.DataFrame(rows))
    assert trace.item_id.tolist() == trace.group.tolist() == ["1", "2"]


def test_ids_that_differ_only_in_type_are_one_id_twice(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"item_id":1,"v1":1,"u1":0.1}\n{"item_id":"1","v1":1,"u1":0.1}\n')
    with pytest.raises(InputError, match="row 2: the id '1' is that of row 1"):
        read_trace(path)


def test_pool_items_that_share_a_group_are_left_out_whatever_their_type():
    table, _ = example(200, 0)
    labelled = table.assign(group=np.arange(200))
    pool = table.assign(item_id=[f"p{k}" for k in range(200)], group=np.arange(200) + 0.0)
    gate = Router(0.3).fit(Trace.from_frame(labelled), Trace.from_frame(pool.drop(columns="label")))
    assert any("200 pool items share a group" in note for note in gate.notes_)


def example(n, seed):
    rng = np.random.default_rng(seed)
    u = rng.integers(0, 12, (n, 2)) / 16 + rng.random((n, 2)) / 1000
    label = rng.integers(0, 2, n)
    verdict = label[:, None] ^ (rng.random((n, 2)) < 0.6 * u)
    table = pd.DataFrame({"item_id": [f"q{k}" for k in range(n)], "label": label})
    for k in range(2):
        table[f"v{k + 1}"], table[f"u{k + 1}"] = verdict[:, k].astype(int), u[:, k]
    table["tier"] = rng.choice(["NA", "easy", "hard"], n)
    table["group"] = [str(k // 2) for k in range(n)]
    return table, rng


def answer(trace, procedure, by_verdict, groups, folder):
    """All that a calibration says, as text."""
    gate = Router(0.3, 0.1, procedure=procedure, by_verdict=by_verdict, groups=groups, seed=3).fit(
        trace
    )
    outcomes = gate.decide(trace)
    frame = outcomes.to_frame().sort_values("item_id")
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    report = summarize(outcomes, by="tier").to_dict()
    gate.save(folder / "gate.json")
    text = (folder / "gate.json").read_text()
    return text + json.dumps([gate.notes_, rows, report], default=str)


@pytest.mark.parametrize("procedure", sorted(PROCEDURES.keys() - {"fixed_sequence"}))
def test_no_order_of_rows_or_keys_and_no_format_changes_an_answer(tmp_path_factory, procedure):
    @settings(
        max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
    )
    @given(st.integers(0, 1000), st.sampled_from([(False, "sample"), (True, "refuse")]))
    def holds(seed, how):
        by_verdict, groups = how
        table, rng = example(160, seed)
        if groups == "refuse":
            table = table.drop(columns="group")
        if procedure in ("conformal_selection",) and by_verdict:
            by_verdict = False
        folder = tmp_path_factory.mktemp("same")
        said = set()
        for form in FORMATS:
            mixed = table.iloc[rng.permutation(len(table))]
            mixed = mixed[list(rng.permutation(list(table)))]
            path = by_hand(mixed.to_dict("records"), folder / f"t.{form}")
            try:
                said.add(answer(read_trace(path), procedure, by_verdict, groups, folder))
            except InputError as error:
                said.add(str(error))
        assert len(said) == 1

    holds()


def test_a_second_mode_may_share_verdicts_and_says_so():
    table, _ = example(100, 1)
    modes = [ModeColumns("a", "v1", "u1"), ModeColumns("b", "v1", "u2")]
    gate = Router(0.3).fit(Trace.from_frame(table.drop(columns="group"), modes=modes))
    assert any("a and b share the verdicts of 'v1'" in note for note in gate.notes_)
