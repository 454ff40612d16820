"""Rates, comparisons and rankings as tables for people."""

from __future__ import annotations

import numpy as np

from riskjudge.display.table import Table, percent
from riskjudge.rates.comparison import Ranking
from riskjudge.rates.drawing import Draw
from riskjudge.rates.estimate import Estimate
from riskjudge.rates.planning import RatePlan
from riskjudge.rates.report import DEFAULT, RateReport
from riskjudge.rates.sample import RateSample
from riskjudge.rates.systems import SystemRates

NAMES = {
    "raw": "raw (judge alone)",
    "classical": "labels alone",
    "rogan_gladen": "Rogan-Gladen",
    "ppi": "PPI",
    "ppi_plus_plus": "PPI++",
    "stratified": "post-stratified",
    "finite_sample": "finite sample (betting)",
}


def estimate_text(found: Estimate) -> str:
    """A rate with its interval.

    Examples
    --------
    >>> estimate_text(Estimate("labels alone", 0.5, 0.4, 0.6, 100, 100))
    '50.0 % [40.0, 60.0]'
    """
    if found.low is None or found.high is None:
        return percent(found.estimate)
    return f"{percent(found.estimate)} [{100 * found.low:.1f}, {100 * found.high:.1f}]"


def rates_table(report: RateReport, source: str = "") -> Table:
    """Every estimate of one rate, and its parts."""
    level = f"{100 * report.corrected.confidence:g} %"
    rows = [_row("corrected", report.corrected)]
    rows += [
        _row(NAMES[name], found) for name, found in report.estimates.items() if name != DEFAULT
    ]
    if len(report.parts) > 1:
        for part in report.parts:
            share = f"{part.name} ({percent(part.share)} of rows)"
            rows.append(_row(f"{share}, corrected", part.corrected))
            if part.raw.estimate is not None:
                rows.append(_row(f"{share}, raw", part.raw))
        rows.append(_row("all, nothing known of the rest", report.no_label_bounds))
    title = f"Pass rate{f' of {source}' if source else ''}: {report.n_all} rows, {report.n_labelled} labels"
    notes = [f"corrected: {report.corrected.method}; intervals at {level}"]
    notes += [
        f"{NAMES[name]}: {found.undefined}"
        for name, found in report.estimates.items()
        if found.undefined and name != DEFAULT
    ]
    return Table(
        title,
        ("rate", "estimate", "interval", "width", "labels", "rows"),
        tuple(rows),
        tuple(notes + list(report.notes)),
    )


def _row(name: str, found: Estimate) -> tuple[str, ...]:
    interval, width = "undefined", ""
    if found.low is not None and found.high is not None:
        interval = f"[{100 * found.low:.1f}, {100 * found.high:.1f}] %"
        width = f"{100 * (found.high - found.low):.1f}"
    return name, percent(found.estimate), interval, width, str(found.n_labelled), str(found.n_all)


def systems_table(rates: SystemRates) -> Table:
    """Raw and corrected rates of all systems side by side, in the order of the ranking."""
    ranking = rates.ranking
    assert ranking is not None
    ranks = dict(zip(ranking.systems, ranking.ranks, strict=True))
    header = ["system", "rank", "corrected", "raw", "labels alone", "labels", "rows"]
    if rates.pooled:
        header.insert(5, "pooled judge")
    rows = []
    for name in (*ranking.systems, *ranking.left_out):
        report = rates.systems[name]
        cells = [
            name,
            _rank(ranks[name]) if name in ranks else "",
            estimate_text(report.corrected),
            estimate_text(report.estimates["raw"]),
            estimate_text(report.estimates["classical"]),
            str(report.n_labelled),
            str(report.n_all),
        ]
        if rates.pooled:
            cells.insert(5, estimate_text(rates.pooled[name]))
        rows.append(tuple(cells))
    return Table(
        f"Pass rates by {rates.by}", tuple(header), tuple(rows), tuple(_system_notes(rates))
    )


def _rank(rank: tuple[int, int]) -> str:
    return str(rank[0]) if rank[0] == rank[1] else f"{rank[0]}–{rank[1]}"


def _system_notes(rates: SystemRates) -> list[str]:
    ranking = rates.ranking
    assert ranking is not None
    notes = []
    if len(ranking.perhaps_best) == 1:
        notes.append(f"{ranking.perhaps_best[0]} is the best")
    elif ranking.perhaps_best:
        notes.append(
            f"may be the best, and cannot be told apart: {', '.join(ranking.perhaps_best)}"
        )
    if ranking.left_out:
        notes.append(f"not ranked, for want of labels: {', '.join(ranking.left_out)}")
    if not ranking.paired and len(ranking.systems) > 1:
        notes.append(
            "systems are taken as independent; where they answered the same questions, --group "
            "COLUMN (the question) makes the differences sharper, and right"
        )
    if rates.same_judge is not None:
        tpr, tnr = (percent(p) if p is not None else "undefined" for p in rates.same_judge)
        notes.append(
            "pooled judge: assumes that the judge errs alike on every system; p-values of that "
            f"assumption: TPR {tpr}, TNR {tnr}"
        )
        if any(p is not None and p < 0.05 for p in rates.same_judge):
            notes.append("the labels speak against that assumption: do not use the pooled column")
    seen = set()
    for name in (*ranking.systems, *ranking.left_out):
        for note in rates.systems[name].notes:
            if note not in seen:
                seen.add(note)
                notes.append(f"{name}: {note}")
    return notes


def differences_table(ranking: Ranking) -> Table:
    """All pairs of systems with both intervals and a verdict in words."""
    level = f"{100 * ranking.confidence:g} %"
    return Table(
        "Differences of corrected rates, points",
        ("comparison", "difference", f"{level}, this pair", f"{level}, all pairs", "verdict"),
        tuple(
            (
                f"{d.better} − {d.than}",
                f"{100 * d.estimate:.1f}",
                f"[{100 * d.low:.1f}, {100 * d.high:.1f}]",
                f"[{100 * d.simultaneous[0]:.1f}, {100 * d.simultaneous[1]:.1f}]",
                "better" if d.told_apart else "cannot be told apart",
            )
            for d in ranking.differences
        ),
        (
            f"the verdicts hold together with {level} confidence (critical value {ranking.critical:.2f})",
        ),
    )


def draw_table(drawn: Draw, sample: RateSample, source: str = "") -> Table:
    """How many rows each stratum has, how many labels, and how many are to be labelled."""
    size = len(drawn.names)
    rows = np.bincount(drawn.stratum, minlength=size)
    held = np.bincount(drawn.stratum[sample.labelled], minlength=size)
    now = np.bincount(drawn.stratum[drawn.index], minlength=size)
    return Table(
        f"Rows to label{f' of {source}' if source else ''}",
        ("stratum", "rows", "labelled", "drawn", "weight"),
        tuple(
            (
                name,
                str(rows[h]),
                str(held[h]),
                str(now[h]),
                f"{rows[h] / (held[h] + now[h]):.1f}" if held[h] + now[h] else "undefined",
            )
            for h, name in enumerate(drawn.names)
        ),
        ("weight: rows of the stratum that a label will stand for",),
    )


def rate_plan_table(plan: RatePlan) -> Table:
    """Labels that a wanted width takes."""
    labels = "no number would do" if plan.labels is None else str(plan.labels)
    rows = [
        ("expected pass rate", percent(plan.rate)),
        ("rows with a verdict", "as many as matter" if plan.rows is None else str(plan.rows)),
        ("labels, corrected rate", labels),
        ("labels, without the judge", str(plan.labels_alone)),
    ]
    if plan.saved is not None:
        rows.append(("the judge saves a factor of", f"{plan.saved:.2f}"))
    notes: tuple[str, ...] = ()
    if plan.labels is None:
        notes = ("with so few rows the interval stays wider even if all are labelled",)
    level = f"{100 * plan.confidence:g} %"
    title = f"Labels for a {level} interval {100 * plan.width:g} points long"
    return Table(title, ("", ""), tuple(rows), notes)
