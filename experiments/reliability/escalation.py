"""Certified cascades of real judges, beside accepting everything and thresholds that nobody calibrated.

    RISKJUDGE_REAL=folder python experiments/reliability/escalation.py [--quick] [--output DIR]

`folder` holds ``llmbar_two_mode_by_judge.csv`` and the two ``evouna_*_two_mode.csv``; files that are not
there are left out. LLMBar: six judges, joined by item, each a mode (vote shares with a reference of
its own; many ties). EVOUNA: one small model asked from memory and with a passage, a threshold for each
verdict. Costs are relative prices that we *assume*: 1 for the cheapest of the six judges and 30 for
GPT-4, 1 and 4 for the two modes (a passage is about four times the prompt). Writes
``results/escalation.csv`` and a figure for each data set.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import pandas as pd

from riskjudge import ModeColumns, Router, Trace, read_trace
from riskjudge.evaluation.escalation import Escalation, compare_escalation
from riskjudge.plots import EscalationDisplay

mpl.use("Agg")
HERE = Path(__file__).resolve().parent
JUDGES = {"LLaMA2": 1, "Falcon": 1.5, "ChatGPT-0301": 2, "ChatGPT": 2, "PaLM2": 3, "GPT-4": 30}
Case = tuple[str, str, Trace, dict[str, float], Router, tuple[float, ...]]


def llmbar(path: Path) -> Trace:
    """The six judges as modes of one table, joined by item."""
    trials = pd.read_csv(path)
    joined = trials.drop_duplicates("item_id")[["item_id", "label"]]
    for judge in JUDGES:
        own = trials[trials["judge"] == judge][["item_id", "v2", "u2"]]
        names = {"v2": f"v_{judge}", "u2": f"u_{judge}"}
        joined = joined.merge(own.rename(columns=names), on="item_id", how="left")
    modes = [ModeColumns(judge, f"v_{judge}", f"u_{judge}") for judge in JUDGES]
    return Trace.from_frame(joined, modes=modes)


def cases(folder: Path) -> Iterator[Case]:
    """Name, source, trace, costs, gate and fixed thresholds of each data set that is there."""
    path = folder / "llmbar_two_mode_by_judge.csv"
    if path.is_file():
        yield "llmbar", "LLMBar, six judges", llmbar(path), dict(JUDGES), Router(), (0.0, 0.25)
    for name, words in (("tq", "TriviaQA"), ("nq", "Natural Questions")):
        path = folder / f"evouna_{name}_qwen05b_two_mode.csv"
        if path.is_file():
            trace = read_trace(path)
            trace = Trace.from_frame(
                trace.to_frame(),
                modes=[ModeColumns("memory", "v1", "u1"), ModeColumns("passage", "v2", "u2")],
            )
            costs = {"memory": 1.0, "passage": 4.0}
            gate = Router(by_verdict=True)
            yield f"evouna_{name}", f"EVOUNA, {words}", trace, costs, gate, (0.3, 0.35, 0.4, 0.45)


def rows(name: str, found: Escalation) -> Iterator[dict[str, object]]:
    """A line a strategy."""
    for s in found.strategies:
        yield {
            "data": name,
            "strategy": s.kind,
            "setting": s.name,
            "items": s.items,
            "accepted": s.accepted,
            "errors": s.errors,
            "risk": s.risk.value,
            "risk_low": s.risk.low,
            "risk_high": s.risk.high,
            "cost_per_accepted": s.cost_per_accepted,
            "calls_per_item": sum(s.calls.values()) / s.items,
        }


def main() -> None:
    """Run every data set that is there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two folds, one level, no figure")
    parser.add_argument("--output", type=Path, default=HERE)
    asked = parser.parse_args()
    folder = Path(os.environ.get("RISKJUDGE_REAL", "."))
    lines: list[dict[str, object]] = []
    for name, source, trace, costs, gate, thresholds in cases(folder):
        if asked.quick:
            found = compare_escalation(
                trace, costs, gate=gate, alphas=[0.2], thresholds=thresholds[:1], folds=2
            )
        else:
            found = compare_escalation(trace, costs, gate=gate, thresholds=thresholds)
            (asked.output / "figures").mkdir(parents=True, exist_ok=True)
            display = EscalationDisplay.from_escalation(found, source=source)
            display.plot().save(asked.output / "figures" / f"escalation_{name}.png")
        lines += rows(name, found)
    (asked.output / "results").mkdir(parents=True, exist_ok=True)
    pd.DataFrame(lines).to_csv(
        asked.output / "results" / "escalation.csv",
        index=False,
        float_format="%.4g",
        lineterminator="\n",
    )


if __name__ == "__main__":
    main()
