"""Judges that can decline: scripted ones, pairs in both orders, panels, cuts, scopes and gates.

All of them have the one shape of :class:`Judge`, so they nest; :func:`read_judges` composes them
from a TOML file and :func:`run_into_ledger` runs them.
"""

from riskjudge.judges.cascade import Cascade, Gated
from riskjudge.judges.limits import Cut, Scoped
from riskjudge.judges.pairs import PairwiseTrial, PointwiseComparison
from riskjudge.judges.panel import Panel
from riskjudge.judges.protocol import FunctionJudge, Judge, Judgement, ask
from riskjudge.judges.scripted import (
    SCRIPTED,
    FailingEvery,
    constant,
    first_slot,
    longest,
    oracle,
    random_judge,
    second_slot,
)
from riskjudge.judges.sidecar import SidecarJudge

# After the judges it composes.
from riskjudge.judges.config import compose, read_judges  # isort: skip
from riskjudge.judges.run import judge_item, judge_items, run_into_ledger  # isort: skip

__all__ = [
    "SCRIPTED",
    "Cascade",
    "Cut",
    "FailingEvery",
    "FunctionJudge",
    "Gated",
    "Judge",
    "Judgement",
    "PairwiseTrial",
    "Panel",
    "PointwiseComparison",
    "Scoped",
    "SidecarJudge",
    "ask",
    "compose",
    "constant",
    "first_slot",
    "judge_item",
    "judge_items",
    "longest",
    "oracle",
    "random_judge",
    "read_judges",
    "run_into_ledger",
    "second_slot",
]
