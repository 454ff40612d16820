"""What stands on the page, as plain values; nothing here knows of HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from riskjudge.data.reasons import said
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError
from riskjudge.evaluation.splits import PAPER_ALPHAS
from riskjudge.evaluation.summary import Insufficient, Report, Segment, summarize
from riskjudge.gate.outcomes import Outcomes
from riskjudge.page.examples import Example, Examples
from riskjudge.page.gates import (
    Gate,
    Promise,
    decide_again,
    delta_of,
    other_levels,
    promises_of,
    require_own_outcomes,
    routers_of,
    thresholds_of,
)
from riskjudge.share import Rate


@dataclass(frozen=True, slots=True)
class Level:
    """The certificate that the calibration items give at one risk level.

    Attributes
    ----------
    alpha : float
    statements : tuple of str
        One for each certificate of the gate.
    thresholds : tuple of (str, str)
    coverage, fdr : Rate
        Of the items on the page.
    accepted : tuple of Example
        The least sure of the accepted ones.
    """

    alpha: float
    statements: tuple[str, ...]
    thresholds: tuple[tuple[str, str], ...]
    coverage: Rate
    fdr: Rate
    accepted: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """Accepted verdicts of one kind: what was said (any number, where verdicts are numbers), by
    which mode, and how often it was wrong."""

    mode: str
    verdict: str | None
    accepted: int
    fdr: Rate


@dataclass(frozen=True, slots=True)
class PageContent:
    """Everything on the page.

    Attributes
    ----------
    title : str
    promises : tuple of Promise
        One for each certificate; none where the gate is not at hand.
    alpha, delta : float or None
        Risk level, and significance of all certificates together.
    report : Report
    levels : tuple of Level
        Empty where the calibration items are not at hand.
    abstained : tuple of (str, str, int, tuple of Example)
        Reason, what it means, how many, and some.
    kinds : tuple of Kind
    scored : bool
        Whether verdicts are numbers.
    wrong : tuple of Example
        Accepted verdicts that contradict their label, the surest first.
    """

    title: str
    promises: tuple[Promise, ...]
    alpha: float | None
    delta: float | None
    report: Report
    levels: tuple[Level, ...]
    abstained: tuple[tuple[str, str, int, tuple[Example, ...]], ...]
    kinds: tuple[Kind, ...]
    scored: bool
    wrong: tuple[Example, ...]

    @property
    def certified(self) -> bool:
        """Whether any certificate lets verdicts be accepted."""
        return any(promise.certified for promise in self.promises)

    @property
    def calibrated_on(self) -> int:
        """How many of the items the gate was calibrated on."""
        return self.report.calibrated_on

    @property
    def segments(self) -> list[tuple[str, Segment | Insufficient]]:
        """Segments by the value of the report's column."""
        return list(self.report.segments.items())


def page_content(
    gate: Gate | None,
    outcomes: Outcomes,
    *,
    calibration: Trace | None = None,
    by: str | None = None,
    floor: int | None = None,
    group: str | None = None,
    title: str | None = None,
    alphas: Sequence[float] = PAPER_ALPHAS,
) -> PageContent:
    """Gather what stands on the page.

    Parameters
    ----------
    gate : Router, GroupedGate or FusedGate, optional
        Fitted; the one that decided. Without it the page holds no promise.
    outcomes : Outcomes
        What was decided. With labels the page says where errors are.
    calibration : Trace, optional
        The items that the gate was fitted on (others in the same trace are left out). With them
        the page holds a valid certificate for each of `alphas` and for the gate's own level.
    by, floor, group : optional
        As in :func:`.summarize`.
    title : str, optional
    alphas : sequence of float

    Raises
    ------
    InputError
        If the gate is not fitted, was fitted on other items than `calibration`, or did not decide
        these outcomes.
    """
    promises: tuple[Promise, ...] = ()
    levels: tuple[Level, ...] = ()
    if gate is not None:
        promises = promises_of(gate)
        require_own_outcomes(gate, outcomes)
        if calibration is not None:
            levels = _levels(gate, outcomes, calibration, alphas)
    elif calibration is not None:
        raise InputError("other risk levels need the gate beside the calibration items")
    shown = Examples(outcomes)
    return PageContent(
        title=title or "Which verdicts may be trusted?",
        promises=promises,
        alpha=None if gate is None else gate.alpha,
        delta=None if gate is None else delta_of(gate),
        report=summarize(outcomes, by=by, floor=floor, group=group),
        levels=levels,
        abstained=tuple(shown.by_reason()),
        kinds=tuple(_kinds(outcomes)),
        scored=outcomes.grading is not None,
        wrong=shown.some(np.flatnonzero(outcomes.wrong)),
    )


def _kinds(outcomes: Outcomes) -> list[Kind]:
    found = []
    for k, mode in enumerate(outcomes.modes):
        for verdict in (1, 0) if outcomes.grading is None else (None,):
            those = outcomes.mode == k
            if verdict is not None:
                those &= outcomes.verdict == verdict
            if those.any():
                graded = int(np.count_nonzero(those & (outcomes.labels >= 0)))
                wrong = int(np.count_nonzero(those & outcomes.wrong))
                word = None if verdict is None else said(verdict)
                found.append(Kind(mode, word, int(np.count_nonzero(those)), Rate(wrong, graded)))
    return found


def _levels(
    gate: Gate, outcomes: Outcomes, calibration: Trace, alphas: Sequence[float]
) -> tuple[Level, ...]:
    wanted = tuple(sorted({*alphas, gate.alpha}))
    found = []
    for alpha, fitted in zip(wanted, other_levels(gate, calibration, wanted), strict=True):
        decided = outcomes if fitted is gate else decide_again(fitted, outcomes)
        whole = summarize(decided).whole
        parts = routers_of(fitted)
        found.append(
            Level(
                alpha=alpha,
                statements=tuple(part.certificate_.statement for part in parts.values()),
                thresholds=tuple(
                    (f"{where}, {mode}" if where else mode, text)
                    for where, part in parts.items()
                    for mode, text in thresholds_of(part.certificate_)
                ),
                coverage=whole.coverage,
                fdr=whole.fdr,
                accepted=Examples(decided).some(
                    np.flatnonzero(decided.accepted), surest_first=False
                ),
            )
        )
    return tuple(found)
