"""``riskjudge report``: coverage, risk and abstentions of outcomes."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from riskjudge.cli import options
from riskjudge.cli import page as pages
from riskjudge.errors import InputError


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("report")(report)


def report(
    outcomes: options.OutcomesFile,
    by: options.By = None,
    floor: options.Floor = None,
    group: options.Group = None,
    gate: Annotated[
        Path | None,
        typer.Option(
            help="The gate that decided: shows its promise beside what was measured, and how many may be "
            "wrong in a batch of this size."
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", help="Write the report as one self-contained page, too."),
    ] = None,
    calibration: pages.Calibration = None,
    title: pages.Title = None,
    item_id: options.ItemId = "item_id",
    label: options.Label = "label",
    floor_coverage: Annotated[
        float | None,
        typer.Option(help="Exit with 1 if a smaller share of the items is accepted, certified."),
    ] = None,
    max_fdr: Annotated[
        float | None,
        typer.Option(
            help="Exit with 1 if a larger share of the accepted verdicts with a label is wrong."
        ),
    ] = None,
    sure: Annotated[
        bool,
        typer.Option(
            "--sure",
            help="The whole 95 % interval must keep these lines, not only the measured share.",
        ),
    ] = False,
    as_json: options.AsJson = False,
    form: options.Format = "terminal",
) -> None:
    """Coverage, FDR and every abstention, from outcomes with or without labels.

    Exit code 1: a line (--floor-coverage, --max-fdr) is missed, in the whole or in a segment. What
    is undefined holds no line.
    """
    from riskjudge.calibration.predictive import batch_bound
    from riskjudge.evaluation import summarize
    from riskjudge.evaluation.lines import check_lines
    from riskjudge.evaluation.render import report_tables
    from riskjudge.gate.outcomes import read_outcomes
    from riskjudge.page.gates import certificates_of, require_own_outcomes
    from riskjudge.signals import FusedGate, load_any_gate

    seen = read_outcomes(outcomes)
    group = group or options.own_group(seen)
    summary = summarize(seen, by=by, floor=floor, group=group)
    lines = []
    if floor_coverage is not None or max_fdr is not None:
        lines = check_lines(summary, floor_coverage=floor_coverage, max_fdr=max_fdr, sure=sure)
    elif sure:
        raise InputError("--sure belongs to --floor-coverage and --max-fdr")
    fitted, bound, certificates = None, None, {}
    if gate is not None:
        fitted = load_any_gate(gate)
        if not fitted.fitted:
            raise InputError(f"{gate} is not fitted: it promises nothing about a batch")
        require_own_outcomes(fitted, seen)
        if isinstance(fitted, FusedGate):
            summary = replace(summary, cost=fitted.spent(seen))
        certificates = certificates_of(fitted)
        if not summary.calibrated_on and len(certificates) == 1:
            accepted = summary.whole.accepted - summary.whole.uncertified
            bound = batch_bound(fitted.certificate_, accepted)
    if html is not None:
        pages.write(
            html,
            fitted,
            seen,
            calibration=calibration,
            item_id=item_id,
            label=label,
            by=by,
            floor=floor,
            group=group,
            title=title,
        )
    elif calibration is not None or title is not None:
        raise InputError("--calibration and --title belong to --html")
    if as_json:
        data = summary.to_dict()
        if gate is not None:
            data["batch"] = None if bound is None else asdict(bound)
            data["promise"] = {name: c.statement for name, c in certificates.items()}
        if lines:
            data["lines"] = [line.to_dict() for line in lines]
        options.print_json(data)
    else:
        for printed in report_tables(summary, str(outcomes), certificates):
            options.show(printed, form)
        if bound is not None:
            typer.echo(bound.statement, err=True)
    if html is not None:
        typer.echo(f"page written to {html}", err=True)
    for line in lines:
        typer.echo(f"{'held' if line.held else 'MISSED'}: {line}", err=True)
    if not all(line.held for line in lines):
        raise typer.Exit(1)
