"""Tables of a stress test."""

from __future__ import annotations

from collections.abc import Sequence

from riskjudge.display.table import UNDEFINED, Table, percent
from riskjudge.reliability.gated import RiskUnder
from riskjudge.reliability.perturbation import Expect
from riskjudge.reliability.reaction import REPEAT, Reaction
from riskjudge.share import Rate


def reaction_tables(found: Sequence[Reaction], source: str, level: float = 0.05) -> list[Table]:
    """A table for each judge: what each perturbation did to its verdicts.

    Parameters
    ----------
    found : sequence of Reaction
        From :func:`.reactions`.
    source : str
        On what it was run.
    level : float
        Chance of a finding at a judge that nothing does anything to.

    Returns
    -------
    list of Table
    """
    arms = dict.fromkeys((r.judge, r.mode) for r in found)
    return [
        _table([r for r in found if (r.judge, r.mode) == arm], "/".join(arm), source, level)
        for arm in arms
    ]


def _table(found: Sequence[Reaction], arm: str, source: str, level: float) -> Table:
    columns = {
        "perturbation": [f"  {r.segment}" if r.segment else r.perturbation for r in found],
        "changed": [f"{r.changed.count}/{r.changed.of}" for r in found],
        "share, 95 %": [with_interval(r.changed) for r in found],
        "p": ["" if r.adjusted is None else _p(r.adjusted) + " *" * r.found(level) for r in found],
        "lost": [f"{r.declined}+{r.failed}" if r.declined + r.failed else "" for r in found],
        "right": [_before_after(r) for r in found],
        "conf.": [_signed(r) for r in found],
    }
    shown = {name: cells for name, cells in columns.items() if any(cells)}
    notes = [
        "changed: of the verdicts given both times, those that differ from the one on the item itself"
    ]
    if any(r.expect is Expect.WRONG for r in found):
        notes.append("flip.…: answers that are wrong by construction and were passed")
    if any(r.declined + r.failed for r in found):
        notes.append("lost: verdicts that became an abstention or no preference + a failure")
    against = "asking twice" if any(r.tested_against == REPEAT for r in found) else "the tolerance"
    notes.append(
        f"p: exact test against {against} (repeat and flip: against the tolerance), after Holm; "
        f"*: found at {level:g}"
    )
    if any(r.confidence_shift for r in found):
        notes.append("conf.: mean change of the confidence in the verdict that was given")
    if any(r.segment for r in found):
        notes.append("segments are described, not tested")
    rows = tuple(zip(*shown.values(), strict=True))
    return Table(f"Stress test of {arm} on {source}", tuple(shown), rows, tuple(notes))


def with_interval(rate: Rate) -> str:
    """A share with its interval in per cent.

    Parameters
    ----------
    rate : Rate
        Of counts.

    Returns
    -------
    str

    Examples
    --------
    >>> with_interval(Rate(10, 200)), with_interval(Rate(0, 0))
    ('5 % [2, 9]', 'undefined')
    """
    if rate.value is None or rate.interval is None:
        return UNDEFINED
    low, high = rate.interval
    return f"{100 * rate.value:.0f} % [{100 * low:.0f}, {100 * high:.0f}]"


def _before_after(r: Reaction) -> str:
    if r.right_before.value is None or r.right_after.value is None:
        return ""
    return f"{100 * r.right_before.value:.0f}→{100 * r.right_after.value:.0f} %"


def _signed(r: Reaction) -> str:
    return "" if r.confidence_shift is None else f"{r.confidence_shift[0]:+.3f}"


def _p(value: float) -> str:
    return "<.001" if value < 0.001 else f"{value:.3f}".lstrip("0") if value < 1 else "1"


def risk_table(found: Sequence[RiskUnder], alpha: float | None, source: str) -> Table:
    """What a gate accepts and gets wrong under each perturbation.

    Parameters
    ----------
    found : sequence of RiskUnder
        From :func:`.risk_under`.
    alpha : float or None
        The gate's level.
    source : str
        On what it was run.

    Returns
    -------
    Table
    """
    rows = [
        (
            r.perturbation,
            percent(r.coverage.value),
            f"{r.risk.count}/{r.risk.of}",
            with_interval(r.risk),
            "" if r.holds is None else "no" if not r.holds else "not refuted",
        )
        for r in found
    ]
    level = "" if alpha is None else f"alpha = {alpha:g}"
    return Table(
        f"The same gate under stress{f', {level}' if level else ''}, on {source}",
        ("perturbation", "coverage", "wrong/accepted", "risk, 95 %", "within alpha"),
        tuple(rows),
        (
            "The promise is about items like those of the calibration; this says how far it carries.",
            "no: the whole interval lies above alpha. calibrate --robust certifies the worst of them.",
        ),
    )
