"""Judges behind a fused gate: their answers about one item, weighed together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from riskjudge.data.modes import ABSENCES, FIRST_FAILURE
from riskjudge.data.trace import Trace
from riskjudge.data.verdict import (
    UNDECIDED,
    AbstainReason,
    Abstention,
    BooleanVerdict,
    Failure,
    FailureKind,
    Outcome,
    ScoreVerdict,
    Undecided,
    Verdict,
    Winner,
    WinnerVerdict,
    describe,
)
from riskjudge.errors import InputError
from riskjudge.items.item import Item
from riskjudge.judges.protocol import Judge, Judgement, ask
from riskjudge.judges.source import refuse_other_sources, source_of
from riskjudge.ledger.uncertainty import flips, measure_named
from riskjudge.signals.gate import FusedGate, load_any_gate


@dataclass(frozen=True, slots=True)
class FusedJudge:
    """Asks the judges of a fused gate, stage by stage, and gives the gate's verdict.

    The next stage is asked only where the one before does not accept. The gate's verdict may be no
    judge's own. What it declines is an abstention, `below_conformal`; where no judge gave a verdict,
    a failure among them is the outcome, or else what the last of them said. Every judgement discloses
    the probability, who was asked and what each said, and whether a certificate stands behind it.

    Signals over columns are read from what the item brings along (``Item.extra``).

    Parameters
    ----------
    gate : FusedGate
        Calibrated.
    judges : sequence of Judge
        One for each of the gate's modes, in its order.
    measures : sequence of str
        The uncertainty of each.
    certified : bool
        Whether the gate's certificate covers these judges' scores.
    name : str
    """

    gate: FusedGate
    judges: tuple[Judge, ...]
    measures: tuple[str, ...]
    certified: bool = True
    name: str = "fused"

    @property
    def mode(self) -> str:
        """The mode that all judges share, or ``"mixed"``."""
        modes = {judge.mode for judge in self.judges}
        return modes.pop() if len(modes) == 1 else "mixed"

    @property
    def composition(self) -> str:
        """Its parts and the fusion, in one line."""
        parts = zip(self.judges, self.measures, strict=True)
        made = [source_of(judge, measure) for judge, measure in parts]
        digest = self.gate.router_.sources_[0]
        return f"fused({', '.join(map(str, made))}, {digest})"

    def __call__(self, item: Item) -> Judgement:
        modes, said = self.gate.modes_, dict[int, Judgement]()
        if not self.gate.steps:
            declined = Abstention(AbstainReason.BELOW_CONFORMAL)
            return Judgement(declined, calls=0, disclosure={"certified": self.certified})
        for stage, step in enumerate(self.gate.steps):
            for mode in step:
                said[modes.index(mode)] = ask(self.judges[modes.index(mode)], item)
            decided = self.gate.decide(self._trace(item, said))
            if 0 <= decided.mode[0] <= stage:
                break
        accepted, pair = bool(decided.accepted[0]), len(item.responses) == 2
        outcome: Outcome
        if accepted:
            outcome = _verdict(int(decided.verdict[0]), pair)
        else:
            outcome = _outcome(ABSENCES[int(decided.why_not[0])])
        readings = decided.readings
        assert readings is not None
        stages = range(min(stage + 1, len(self.gate.fusion_.stages)))
        unsure = [float(readings.scores[0, t]) for t in stages if readings.verdicts[0, t] >= 0]
        weighed: dict[str, Any] = {
            "asked": [self.judges[k].name for k in said],
            "said": [describe(judgement.outcome) for judgement in said.values()],
            "uncertainty": unsure[-1] if unsure else None,
            "certified": self.certified,
        }
        if not accepted and unsure:
            weighed["gated"] = describe(_verdict(int(readings.verdicts[0, len(unsure) - 1]), pair))
        return Judgement(
            outcome,
            confidence=1.0 - unsure[-1] if accepted and unsure else None,
            disclosure=weighed,
            calls=sum(judgement.calls for judgement in said.values()),
        )

    def _trace(self, item: Item, said: dict[int, Judgement]) -> Trace:
        """One row: what was said so far, and what the item brings along."""
        import pandas as pd

        n = len(self.judges)
        verdicts, scores = np.full((1, n), -1), np.full((1, n), np.nan)
        absence = np.full((1, n), ABSENCES.index(FailureKind.NO_VERDICT))
        for k, judgement in said.items():
            verdict = judgement.outcome
            if isinstance(verdict, ScoreVerdict):
                raise InputError("a fused gate takes booleans and winners; put a cut on the score")
            if isinstance(verdict, Verdict):
                verdicts[0, k] = int(verdict.value in (True, Winner.A))
                score = measure_named(self.measures[k])(judgement)
                scores[0, k] = np.nan if score is None else score
                missing = ABSENCES.index(FailureKind.NO_CONFIDENCE)
                absence[0, k] = missing if score is None else -1
            else:
                absence[0, k] = ABSENCES.index(_word(verdict))
        flipped = {}
        for k, judgement in said.items():
            if (share := flips(judgement)) is not None:
                flipped[f"flips{self.gate.columns_[k].verdict.removeprefix('v')}"] = share
        extra = {
            **flipped,
            **item.extra,
            **({} if item.subset is None else {"subset": item.subset}),
        }
        return Trace(
            np.array([item.id], dtype=object),
            self.gate.columns_,
            verdicts,
            scores,
            absence,
            np.array([-1]),
            None,
            pd.DataFrame([extra]),
            self.gate.sources_,
        )


def fused_from_file(
    path: str | Path,
    judges: Sequence[Judge],
    name: str,
    *,
    uncertainty: str | None = None,
    on_mismatch: str = "refuse",
) -> FusedJudge:
    """Judges behind a fused gate from a file, where it was taught on scores made as theirs are.

    Parameters
    ----------
    path : str or Path
    judges : sequence of Judge
        One for each of the gate's modes, in its order.
    name : str
    uncertainty : str, optional
        The measure of every judge; by default the one that the gate records for its mode.
    on_mismatch : {"refuse", "uncertify"}
        See :func:`riskjudge.judges.fitted.fitted_route`.

    Raises
    ------
    InputError
        If the file holds no fused gate, another number of modes, or other sources.
    """
    gate = load_any_gate(path)
    if not isinstance(gate, FusedGate):
        raise InputError(f"{path} holds no fused gate; type = 'gate' or 'router' takes it")
    if len(gate.modes_) != len(judges):
        raise InputError(
            f"{path} was taught on {len(gate.modes_)} modes ({', '.join(gate.modes_)}), and there "
            f"are {len(judges)} judges"
        )
    measures = []
    for mode, source in zip(gate.modes_, gate.sources_, strict=True):
        recorded = None if source is None else source.get("measure")
        measure = uncertainty or recorded
        if not isinstance(measure, str):
            raise InputError(
                f"{path} does not record which measure of uncertainty mode {mode!r} was taught on; say "
                "it with `uncertainty`"
            )
        measures.append(measure)
    sources = [source_of(judge, m) for judge, m in zip(judges, measures, strict=True)]
    certified = refuse_other_sources(gate, sources, path, on_mismatch)
    return FusedJudge(gate, tuple(judges), tuple(measures), certified, name)


def _verdict(code: int, pair: bool) -> Verdict:
    if pair:
        return WinnerVerdict(Winner.A if code == 1 else Winner.B)
    return BooleanVerdict(code == 1)


def _word(outcome: Outcome) -> str:
    """An outcome without a verdict as a trace names it."""
    match outcome:
        case Abstention(reason):
            return str(reason)
        case Failure(kind, _):
            return str(kind)
    return UNDECIDED


def _outcome(reason: str) -> Outcome:
    """The inverse of :func:`_word`."""
    if reason == UNDECIDED:
        return Undecided()
    if ABSENCES.index(reason) >= FIRST_FAILURE:
        return Failure(FailureKind(reason), "no judge gave a verdict to weigh")
    return Abstention(AbstainReason(reason))
