"""Certificates, reports and sweeps as tables for people."""

from __future__ import annotations

from collections.abc import Mapping

from riskjudge.calibration import Certificate, Guarantee, Obstacle, Shortfall, UnderStress
from riskjudge.calibration.looks import Look
from riskjudge.data.reasons import IN_WORDS
from riskjudge.display.table import UNDEFINED, Table, percent
from riskjudge.evaluation.splits import Sweep
from riskjudge.evaluation.summary import Insufficient, Report, Segment
from riskjudge.share import Rate

_KIND = {
    Guarantee.HIGH_PROBABILITY: "high probability",
    Guarantee.EXPECTATION: "expectation",
    Guarantee.NONE: "none (thresholds were searched without correction)",
}


def short_rate(rate: Rate) -> str:
    """A rate with its exact interval.

    Examples
    --------
    >>> short_rate(Rate(1, 4))
    '25.0 % [0.6, 80.6]'
    """
    return str(rate).rpartition(" (")[0]


def certificate_table(certificate: Certificate, source: str = "") -> Table:
    """What was certified, on which counts."""
    c = certificate
    rows: list[tuple[str, str]] = [
        ("certified", "yes" if c.certified else "no"),
        ("guarantee", _KIND[c.guarantee]),
        ("in words", c.statement),
        ("procedure", c.procedure),
        ("alpha, delta", f"{c.alpha:g}, {c.delta:g}"),
        (
            "labelled items",
            f"{c.n} tested" + (f", {c.n_reserved} set aside" if c.n_reserved else ""),
        ),
        ("rules tested", f"up to {c.n_hypotheses}"),
    ]
    if c.thresholds is not None:
        rows += [
            (f"threshold, {mode}", "none (mode not used)" if t is None else f"≤ {t:.6g}")
            for mode, t in c.thresholds.items()
        ]
        rows += [
            ("coverage", f"{percent(c.coverage)} ({c.accepted}/{c.n})"),
            ("accepted by", _listed(c.accepted_by)),
            ("errors", f"{c.errors} of {c.accepted} accepted ({percent(c.fdp)})"),
        ]
        if c.level is not None:  # expectation control has no bound for this one calibration
            rows.append(("upper bound", f"{percent(c.upper_bound, 2)} at level {c.level:.3g}"))
    elif c.shortfall is not None:
        s = c.shortfall
        rows += [
            ("need", f"{s.need} accepted items without an error, at the least"),
            ("have", f"{s.have} accepted by the widest rule planned"),
            ("testing stopped at", _stopped(s)),
            ("because", _because(c, s)),
        ]
        if s.obstacle is Obstacle.TOO_FEW:
            rows.append(("labels needed", _labels(s.labels_needed, c.look)))
    rows += [(f"under {name}", _under(there)) for name, there in c.under.items()]
    if c.certified and c.coverage_unstressed is not None:
        rows.append(("without perturbations", f"coverage {percent(c.coverage_unstressed)}"))
    if c.look is not None:
        after = c.look.next_labels
        rows.append(
            ("next look", "none: delta is spent" if after is None else f"at {after} labels")
        )
    if c.seed is not None:
        rows.append(("seed", str(c.seed)))
    rows += [("assumes", assumption) for assumption in c.assumptions]
    title = "Certificate" + (f" for {source}" if source else "")
    return Table(title, ("", ""), tuple(rows))


def _under(there: UnderStress) -> str:
    if not there.accepted:
        return f"accepts none of {there.n}"
    share = percent(there.errors / there.accepted)
    bound = percent(there.upper_bound, 2)
    return f"{there.errors} errors of {there.accepted} accepted of {there.n} ({share}), upper bound {bound}"


_OBSTACLES = {
    Obstacle.STRESS: "it is not shown to hold under",
    Obstacle.NOTHING_ACCEPTED: "no rule in the plan accepted an item",
    Obstacle.TOO_FEW: "its error rate is below alpha, but the items are too few to show it",
    Obstacle.ERROR_RATE: "its error rate is not below alpha; more labels would not change that",
    Obstacle.RETRIEVAL_BUDGET: "it sends too many items past the first mode",
    Obstacle.OTHER_LEVELS: "the level for one kind of verdict (or the retrieval budget) is not shown to hold",
}


def _because(c: Certificate, shortfall: Shortfall) -> str:
    reason = _OBSTACLES[shortfall.obstacle]
    if shortfall.obstacle is not Obstacle.STRESS:
        return reason
    above = [name for name, there in c.under.items() if (there.upper_bound or 0.0) > c.alpha]
    return f"{reason} {', '.join(above) or 'every perturbation'}"


def _stopped(shortfall: Shortfall) -> str:
    if shortfall.best_bound is None:
        return "no rule at all"
    counts = f"{shortfall.best_errors} errors of {shortfall.best_accepted} accepted"
    return f"{counts}, upper bound {percent(shortfall.best_bound)}"


def _labels(number: int | None, look: Look | None) -> str:
    if look is not None:
        if number is None:
            return "no later look would do, if that rule's error rate and coverage stay"
        return f"the look at {number} labels would do, if that rule's error rate and coverage stay"
    if number is None:
        return "more than anybody would label: the rate is all but alpha"
    return (
        f"about {number} new ones, calibrated on alone, if that rule's error rate and coverage stay "
        "(to add to these labels and test again is one more chance to be wrong: --looks plans for it)"
    )


def report_tables(
    report: Report, source: str = "", certificates: Mapping[str, Certificate] | None = None
) -> list[Table]:
    """The promise, if certificates are given; the whole in detail, and a row for each segment."""
    title = f"Report on {source}" if source else "Report"
    warnings = tuple(f"Not valid: {note}." for note in report.notes)
    notes = _NOTES if report.group is None else (_GROUPED.format(report.group),)
    lines = (*_lines(report.whole), *_costs(report))
    tables = [Table(title, ("", ""), lines, (*warnings, *notes))]
    if certificates:
        tables.insert(0, promise_table(certificates, report))
    if report.by is not None:
        header = (report.by, "items", "accepted", "abstained", "failed", "coverage", "FDR")
        rows = tuple((value, *_row(segment)) for value, segment in report.segments.items())
        tables.append(Table(f"{title}, by {report.by}", header, rows, notes))
    return tables


def _costs(report: Report) -> list[tuple[str, str]]:
    lines = []
    for unit, spent in (report.cost or {}).items():
        each = "undefined" if (one := spent.an_accepted_verdict) is None else f"{one:.4g}"
        lines.append(
            (f"cost in {unit}", f"{spent.an_item:.4g} an item, {each} an accepted verdict")
        )
    return lines


def promise_table(certificates: Mapping[str, Certificate], report: Report) -> Table:
    """What was promised, beside what was measured.

    Parameters
    ----------
    certificates : mapping of str to Certificate
        By what they are about; empty for all items.
    report : Report
    """
    first = next(iter(certificates.values()))
    rows = [(where or "in words", c.statement) for where, c in certificates.items()]
    deltas = sorted({c.delta for c in certificates.values()})
    rows += [
        ("alpha, delta", f"{first.alpha:g}, {', '.join(f'{delta:.4g}' for delta in deltas)}"),
        ("kind", " / ".join(sorted({_KIND[c.guarantee] for c in certificates.values()}))),
        ("measured here", _measured(report)),
    ]
    if len(certificates) == 1:
        rows.append(("about", "all accepted verdicts together; no promise per segment"))
    return Table("Promise", ("", ""), tuple(rows))


def _measured(report: Report) -> str:
    fdr = report.whole.fdr
    if report.calibrated_on:
        return "no test: some of these items were calibrated on"
    if fdr.interval is None:
        return f"{fdr!s}: no accepted verdict has a label" if not fdr.of else str(fdr)
    return f"{fdr!s} of the accepted verdicts with a label are wrong"


_NOTES = ("Intervals are exact (Clopper-Pearson), two-sided, 95 %.",)
_GROUPED = (
    "Intervals are two-sided, 95 %, exact for the number of independent items that the items, "
    "dependent by {}, are worth."
)


def _row(segment: Segment | Insufficient) -> tuple[str, ...]:
    if isinstance(segment, Insufficient):
        said = f"insufficient: need {segment.need}, have {segment.have}"
        return ("", said, "", "", "", "")
    counted = (segment.items, segment.accepted, segment.abstained, segment.failed)
    return (*map(str, counted), percent(segment.coverage.value), short_rate(segment.fdr))


def _lines(s: Segment) -> list[tuple[str, str]]:
    lines = [("items", str(s.items)), ("accepted", str(s.accepted))]
    lines += [(f"  in {mode}", str(count)) for mode, count in s.accepted_by.items()]
    lines.append(("abstained", str(s.abstained)))
    lines += [
        (f"  {IN_WORDS[reason]} ({reason})", str(count)) for reason, count in s.abstained_by.items()
    ]
    lines.append(("failed", str(s.failed)))
    lines += [(f"  {kind}", str(count)) for kind, count in s.failed_by.items()]
    if s.undecided:
        lines.append(("undecided", str(s.undecided)))
    if s.uncertified:
        lines.append(("uncertified", str(s.uncertified)))
    if s.without_certificate:
        lines.append(("decided without a certificate", f"{s.without_certificate} of {s.items}"))
    return [
        *lines,
        ("modes asked", str(s.asked)),
        ("coverage", str(s.coverage)),
        ("FDR", str(s.fdr)),
        ("agreement", str(s.agreement)),
    ]


def sweep_table(sweep: Sweep) -> Table:
    """Mean ± standard deviation over the splits, a row a risk level."""
    rows = []
    for row in sweep.summary():
        undefined = row["n_undefined"]
        rows.append(
            (
                f"{row['alpha']:g}",
                _mean_and_std(row["coverage"], row["coverage_std"]),
                _mean_and_std(row["fdr"], row["fdr_std"]),
                str(undefined),
                f"{row['above_alpha']:.2f}",
                *(f"{row[f'share_{mode}']:.3f}" for mode in sweep.modes),
            )
        )
    return Table(
        f"Coverage and test FDR: {sweep.description}",
        (
            "alpha",
            "coverage",
            "test FDR",
            "undefined",
            "test FDR > alpha",
            *(f"by {m}" for m in sweep.modes),
        ),
        tuple(rows),
        (
            "Mean ± standard deviation over splits. FDR over the splits that accepted anything; "
            "'undefined' counts the others.",
            SHARE_ABOVE,
        ),
    )


def _mean_and_std(mean: float | None, std: float | None) -> str:
    if mean is None:
        return UNDEFINED
    return f"{mean:.3f}" + ("" if std is None else f" ± {std:.3f}")


SHARE_ABOVE = (
    "'test FDR > alpha' is the share of splits whose test half, noise included, has more errors than "
    "alpha; the true risk may keep the promise where this share exceeds delta."
)


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())
