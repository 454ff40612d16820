"""``riskjudge plot escalation``: certified cascades of judges against what else one might do."""

from __future__ import annotations

from typing import Annotated

import typer

from riskjudge.cli import options
from riskjudge.cli.plot import PLOTS, Output, Source, Title, draw, figure_files, source_line
from riskjudge.errors import InputError


def register(app: typer.Typer) -> None:
    """Add the command to ``plot``, which the application has."""
    PLOTS.command("escalation")(escalation)


def escalation(
    trace: options.TraceFile,
    costs: Annotated[
        list[str] | None,
        typer.Option("--cost", metavar="MODE=COST", help="Of a verdict of each mode; repeatable."),
    ] = None,
    output: Output = None,
    alphas: Annotated[
        str, typer.Option(help="Risk levels of the certified cascades, with commas between.")
    ] = "0.05,0.1,0.15,0.2,0.25,0.3",
    thresholds: Annotated[
        str, typer.Option(help="Of the rules that nobody calibrated, with commas between.")
    ] = "0.05,0.1,0.2,0.3",
    delta: options.Delta = 0.05,
    folds: Annotated[
        int, typer.Option(min=2, help="Each item is decided by a gate of the other folds.")
    ] = 5,
    by_verdict: options.ByVerdict = False,
    modes: options.Modes = None,
    item_id: options.ItemId = "item_id",
    label: options.Label = "label",
    group: options.Group = None,
    groups: options.Groups = "refuse",
    where: options.Where = None,
    scale: options.Scale = None,
    cut: options.Cut = None,
    tolerance: options.Tolerance = None,
    seed: options.Seed = 0,
    title: Title = None,
    source: Source = None,
    as_json: options.AsJson = False,
    form: options.Format = "terminal",
) -> None:
    """Accept, escalate or leave it: risk, coverage and cost of certified cascades of judges.

    The modes are judges, in the order of asking; they are held against accepting everything from one
    judge, and against thresholds that nobody calibrated.
    """
    from riskjudge.evaluation.escalation import compare_escalation, escalation_table
    from riskjudge.gate import Router
    from riskjudge.plots import EscalationDisplay

    files = figure_files(output, "escalation")
    table = options.load_trace(
        trace,
        modes,
        item_id=item_id,
        label=label,
        group=group,
        where=where,
        grading=options.grading_of(scale, cut, tolerance),
    )
    found = compare_escalation(
        table,
        costs_from(costs),
        gate=Router(delta=delta, by_verdict=by_verdict, groups=groups, seed=seed),
        alphas=options.levels(alphas),
        thresholds=options.numbers(thresholds, "--thresholds"),
        folds=folds,
        seed=seed,
    )
    where_from = source_line(source, trace, where)
    if not as_json:
        options.show(escalation_table(found, where_from), form)
    draw(
        EscalationDisplay.from_escalation(found, source=where_from),
        files,
        title,
        as_json,
        found.to_dict(),
    )


def costs_from(given: list[str] | None) -> dict[str, float]:
    """Costs by mode."""
    costs: dict[str, float] = {}
    for text in given or ():
        mode, equals, amount = text.rpartition("=")
        try:
            costs[mode] = float(amount)
        except ValueError:
            equals = ""
        if not (equals and mode):
            raise InputError(f"--cost takes MODE=COST, got {text!r}")
    return costs
