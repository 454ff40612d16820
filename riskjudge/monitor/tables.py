"""Checks and alarms as tables for people."""

from __future__ import annotations

from riskjudge.display.table import Table
from riskjudge.monitor.alarm import RiskAlarm
from riskjudge.monitor.drift import DriftAnswer, DriftCheck


def check_table(check: DriftCheck, source: str = "") -> Table:
    """One row a comparison, the answer in the title."""
    rows = tuple(
        (
            c.what,
            f"{c.old}/{c.new}",
            _number(c.gap),
            _number(c.p_value),
            _number(c.adjusted),
            str(c.method or ""),
        )
        for c in check.comparisons
    )
    asked = f"a change of {100 * check.gap:g} percentage points"
    if check.answer is DriftAnswer.INSUFFICIENT:
        need = (
            f"need {check.need} new items"
            if check.need is not None
            else "need more calibration items"
        )
        said = f"Nothing significant, but to see {asked}: {need}, have {check.have}."
    elif check.answer is DriftAnswer.CONSISTENT:
        said = f"Nothing significant; {asked} would be seen with probability .8 or more."
    else:
        said = f"Changed: {', '.join(check.changed)}."
    return Table(
        f"Drift check{f' of {source}' if source else ''}: {check.answer}",
        ("comparison", "old/new", "gap", "p", "p (Holm)", "method"),
        rows,
        (said, f"Level {check.level:g} over all comparisons together."),
    )


def alarm_table(alarm: RiskAlarm, source: str = "") -> Table:
    """Labels, errors and the fortune of the bet against the promise."""
    n, wrong = alarm.labels, alarm.errors
    rows = (
        ("alarm", f"raised by label {alarm.raised_at}" if alarm.raised else "none"),
        ("promised rate", f"{100 * alarm.alpha:g} %"),
        ("labelled accepted verdicts", str(n)),
        ("wrong", f"{wrong} ({100 * wrong / n:.1f} %)" if n else "0 (undefined)"),
        ("e-value now", f"{alarm.e_value:.3g}"),
        ("largest e-value", f"{alarm.peak:.3g}, an alarm from {1 / alarm.level:g} on"),
    )
    return Table(
        f"Watch{f' over {source}' if source else ''}",
        ("", ""),
        rows,
        (
            f"If the promise is kept, the probability of an alarm, ever, is at most {alarm.level:g}.",
        ),
    )


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3g}"
