"""Gate files that somebody made up: right checksum, wrong content. Never more than an InputError."""

import contextlib
import copy
import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from riskjudge.calibration import FixedSequence
from riskjudge.cli import main
from riskjudge.data.source import ScoreSource
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError
from riskjudge.evaluation.render import certificate_table
from riskjudge.gate import Router, SelectiveGate, load_gate
from riskjudge.gate.document import checksum
from riskjudge.gate.grouped import GroupedGate

EXAMPLES = int(os.environ.get("RISKJUDGE_FUZZ", "400"))


def make_trace(n=400, rates=(0.4, 0.2), source=None):
    rng = np.random.default_rng(0)
    scores = rng.random((n, len(rates)))
    labels = rng.integers(0, 2, n)
    verdicts = labels[:, None] ^ (rng.random(scores.shape) < np.array(rates) * scores)
    frame = Trace.from_arrays(scores, verdicts, labels).to_frame()
    frame["why1"] = None
    if source is not None:
        frame["source1"] = str(source)
    return Trace.from_frame(frame)


TRACE = make_trace()
SOURCED = make_trace(source=ScoreSource({"model": "small", "k": 3, "score": "tokens"}))
TOPICS = pd.DataFrame({"topic": np.repeat(["a", "b", "c"], [190, 190, 20])})
BY_TOPIC = replace(TRACE, extra=TOPICS)
GATES = {
    "router": Router(alpha=0.2).fit(TRACE),
    "by verdict": Router(alpha=0.2, by_verdict=True, max_retrieval=0.9).fit(TRACE),
    "one mode": SelectiveGate(alpha=0.2, mode="mode2", procedure=FixedSequence(steps=9)).fit(TRACE),
    "a path": Router(alpha=0.2, path=[[0.1, None], [0.4, 0.3]]).fit(TRACE),
    "bound": Router(alpha=0.2).fit(SOURCED),
    "empty": Router(alpha=0.05).fit(make_trace(rates=(0.9, 0.9))),
    "under stress": Router(alpha=0.2).fit(TRACE, stressed={"padded": TRACE}),
    "unfitted": Router(unfitted="abstain"),
    "grouped": GroupedGate(Router(alpha=0.3), by="topic", min_n=150).fit(BY_TOPIC),
}
DOCUMENTS = {name: json.loads(json.dumps(gate.to_dict())) for name, gate in GATES.items()}
NUMBERS = [0, 1, -1, 2, 3.5, -0.5, 0.2, 1e308, -1e308, 2**53, 2**63, 10**400]
TEXTS = ["", "x", "NaN", "Infinity", "-inf", "0.5", "a\0b", "é", "\ud800", "x" * 10_000]
NESTED = [[], {}, [[]], [None], [0], ["x"], {"": 1}, {"a": {"b": []}}, [[0.1, None]], [{}]]
STRANGE = st.sampled_from([None, True, False, {"name": "hybrid"}, *NUMBERS, *TEXTS, *NESTED])


def places(value, path=()):
    """Paths to every value inside, containers included."""
    if path:
        yield path
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*path, key))


PLACES = [
    (name, path)
    for name, document in DOCUMENTS.items()
    for path in places(document)
    if path[-1] != "checksum" and not ("path" in path and path[-1] not in (0, "path"))
]


def doctored(name, path, how, value):
    """A document with one change, and the checksum of what it says now."""
    document = copy.deepcopy(DOCUMENTS[name])
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    key = path[-1]
    if how == "replace":
        holder[key] = value
    elif how == "remove":
        del holder[key]
    elif isinstance(holder, list):
        holder.append(copy.deepcopy(holder[key]))
    else:
        holder[f"{key}s"] = holder.pop(key)
    return resealed(document)


def resealed(document):
    """With the checksum of what the document says now, and of the gates inside it."""
    inner = document.get("groups")
    for part in [*(inner.values() if isinstance(inner, dict) else ()), document.get("rest")]:
        if isinstance(part, dict):
            resealed(part)
    document["checksum"] = checksum(document)
    return document


def use(document):
    """Everything that is done with a gate from a file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "gate.json"
        file.write_text(json.dumps(document))
        gate = load_gate(file)
        gate.decide(replace(SOURCED, extra=TOPICS), on_mismatch="uncertify")
        repr(gate)
        if gate.fitted:
            for part in getattr(gate, "all_gates", {"": gate}).values():
                certificate_table(part.certificate_, "items")
            for dialect in ("ansi", "mysql"):
                gate.to_sql("verdict", dialect)
        gate.save(file)
        assert load_gate(file).to_dict() == gate.to_dict()
    return gate


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(PLACES), st.sampled_from(["replace"] * 8 + ["remove", "rename"]), STRANGE)
def test_one_change_anywhere_is_refused_or_harmless(place, how, value):
    with contextlib.suppress(InputError):
        use(doctored(*place, how, value))


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_the_documents_themselves_are_fine(name):
    use(DOCUMENTS[name])


THRESHOLD = ("certificate", "thresholds", "mode1")


@pytest.mark.parametrize(
    ("name", "path", "how", "value"),
    [
        ("router", ("modes",), "replace", []),
        ("router", ("modes",), "replace", {}),
        ("router", ("modes", 0, "name"), "replace", "other"),
        ("router", ("modes", 0, "name"), "replace", 1),
        ("router", ("modes", 0, "verdict"), "replace", None),
        ("router", ("modes", 0), "remove", None),
        ("router", ("modes", 0), "twice", None),
        ("router", THRESHOLD, "replace", "NaN"),
        ("router", THRESHOLD, "replace", "Infinity"),
        ("router", THRESHOLD, "replace", True),
        ("router", THRESHOLD, "replace", 10**400),
        ("router", THRESHOLD, "remove", None),
        ("router", THRESHOLD, "rename", None),
        ("router", ("certificate", "thresholds"), "replace", [0.1, 0.2]),
        ("router", ("certificate", "alpha"), "replace", True),
        ("router", ("certificate", "alpha"), "replace", 0),
        ("router", ("certificate", "errors"), "replace", 10**6),
        ("router", ("certificate", "n"), "replace", 2.5),
        ("router", ("certificate", "guarantee"), "replace", "certain"),
        ("router", ("certificate", "assumptions"), "replace", "none"),
        ("by verdict", ("settings", "by_verdict"), "replace", False),
        ("by verdict", ("settings", "by_verdict"), "replace", 1),
        ("router", ("settings", "seed"), "replace", -1),
        ("router", ("settings", "alpha"), "replace", "0.2"),
        ("router", ("settings", "procedure"), "replace", "magic"),
        ("router", ("settings", "procedure"), "replace", {"name": "hybrid", "options": {"x": 1}}),
        ("one mode", ("settings", "procedure", "options"), "replace", {"steps": "many"}),
        ("one mode", ("settings", "mode"), "replace", 3),
        ("router", ("settings", "path"), "replace", [["x"]]),
        ("router", ("fitted",), "replace", "yes"),
        ("router", ("fitted",), "replace", 1),
        ("router", ("kind",), "replace", ["router"]),
        ("router", ("certificate",), "remove", None),
        ("router", ("settings",), "replace", []),
        ("bound", ("modes", 0, "source"), "replace", {"k": [3]}),
        ("bound", ("modes", 0, "source"), "replace", "small"),
        ("empty", ("certificate", "shortfall", "need"), "replace", "many"),
        ("unfitted", ("settings", "unfitted"), "replace", "shrug"),
        ("unfitted", ("settings", "procedure"), "remove", None),
        ("router", ("settings", "max_retrieval"), "remove", None),
        ("grouped", ("groups",), "replace", []),
        ("grouped", ("groups", "a"), "replace", DOCUMENTS["unfitted"]),
        ("grouped", ("groups", "a", "certificate", "errors"), "replace", True),
        ("grouped", ("by",), "replace", 1),
    ],
)
def test_a_doctored_gate_exits_with_2(tmp_path, capsys, name, path, how, value):
    file, rows = tmp_path / "gate.json", tmp_path / "rows.csv"
    file.write_text(json.dumps(doctored(name, path, how, value)))
    TRACE.to_frame().to_csv(rows, index=False)
    for command in (["decide", file, rows], ["sql", file], ["calibrate", rows, "--path", file]):
        with pytest.raises(SystemExit) as done:
            main([str(argument) for argument in command])
        out, err = capsys.readouterr()
        assert (done.value.code, out) == (2, ""), command
        assert "Traceback" not in err


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00",
        b"null",
        b"[" * 100_000,
        b"1" * 5_000,
        b'{"format": "riskjudge-gate"}',
        b'{"format": "riskjudge-gate", "format_version": 1}',
        b'{"format": "riskjudge-gate", "format_version": true}',
        b'{"format": "riskjudge-gate", "format_version": 2, "format_version": 2}',
        b'{"format": "riskjudge-gate", "format_version": NaN}',
        b'{"format": "riskjudge-gate", "format_version": 2, "checksum": "x"}',
    ],
)
def test_a_file_that_is_no_gate_exits_with_2(tmp_path, capsys, content):
    file, rows = tmp_path / "gate.json", tmp_path / "rows.csv"
    file.write_bytes(content)
    TRACE.to_frame().to_csv(rows, index=False)
    with pytest.raises(SystemExit) as done:
        main(["decide", str(file), str(rows)])
    assert done.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_folder_is_no_gate(tmp_path):
    with pytest.raises(InputError, match="folder"):
        load_gate(tmp_path)


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_the_order_of_keys_and_spaces_change_nothing(tmp_path, name):
    file = tmp_path / "gate.json"
    file.write_text(json.dumps(DOCUMENTS[name], sort_keys=True, indent=7))
    again, first = load_gate(file), GATES[name]
    trace = SOURCED if name == "bound" else BY_TOPIC
    assert again.decide(trace).to_frame().equals(first.decide(trace).to_frame())
    assert again.to_dict() == first.to_dict()
