"""The claims of the paper: the committed verdicts are what the published tables give."""

from __future__ import annotations

import csv
import importlib.util
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from riskjudge.paper.published import data_path, published

SCRIPT = Path(__file__).resolve().parents[1] / "experiments" / "paper" / "claims.py"


@pytest.fixture(scope="module")
def claims() -> ModuleType:
    spec = importlib.util.spec_from_file_location("paper_claims", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["paper_claims"] = module
    spec.loader.exec_module(module)
    return module


def test_the_committed_file_is_what_the_tables_give(claims):
    assert data_path("paper", "claims.csv").read_text(encoding="utf-8") == claims.to_csv()


def test_enough_claims_of_each_verdict():
    with data_path("paper", "claims.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    verdicts = Counter(row["verdict"] for row in rows)
    assert len(rows) >= 25
    assert set(verdicts) == {"reproduced", "contradicted", "not checkable"}


@pytest.mark.parametrize(
    ("check", "figure"),
    [
        ("baselines_hotpot", "empty 0.57"),
        ("depth", "0.36 for 0.48"),
        ("above_80", "0.82"),
        ("harder", "16 of 80"),
        ("conservative_price", "-0.87"),
        ("plateau", "(0.22) for 0.21"),
    ],
)
def test_the_paper_against_its_own_tables(claims, check, figure):
    verdict, ours = getattr(claims, check)()
    assert verdict == "contradicted"
    assert figure in ours


def test_another_table_gives_another_verdict(claims, monkeypatch):
    assert claims.mean_fdr()[0] == "reproduced"
    raised = [row | {"fdr": row["alpha"] + 0.01} for row in published("table06")]
    monkeypatch.setattr(claims, "published", lambda table: raised)
    verdict, ours = claims.mean_fdr()
    assert verdict == "contradicted"
    assert ours.startswith("192 of 192")


def test_lora_is_not_always_best(claims):
    verdict, ours = claims.best_score("lora_prompt", "probe", "predictive_entropy")()
    assert verdict == "contradicted"
    assert "TriviaQA at 0.05: 0.00 for 0.12" in ours
