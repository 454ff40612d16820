"""``riskjudge plot reliability`` and ``plot signals``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from riskjudge.cli import fuse, options
from riskjudge.cli.plot import PLOTS, draw, figure_files

Output = Annotated[
    list[Path] | None,
    typer.Option("--output", "-o", help=".png, .pdf or .svg; repeatable; KIND.png by default."),
]
Title = Annotated[str | None, typer.Option(help="In place of the heading.")]


def register(app: typer.Typer) -> None:
    """Add the commands to ``plot``, which the application has."""
    PLOTS.command("reliability")(reliability)
    PLOTS.command("signals")(signals)


def reliability(
    trace: options.TraceFile,
    output: Output = None,
    signals: fuse.Signals = None,
    calibrators: fuse.Calibrators = None,
    modes: options.Modes = None,
    item_id: options.ItemId = "item_id",
    label: options.Label = "label",
    where: options.Where = None,
    scale: options.Scale = None,
    cut: options.Cut = None,
    seed: options.Seed = 0,
    title: Title = None,
    as_json: options.AsJson = False,
) -> None:
    """Are the fused probability and each calibrated signal what they say? Brier score and ECE too."""
    from riskjudge.plots.reliability import ReliabilityDisplay
    from riskjudge.signals.reliability import signal_reliability

    files = figure_files(output, "reliability")
    grading = options.grading_of(scale, cut)
    table = options.load_trace(
        trace, modes, item_id=item_id, label=label, where=where, grading=grading
    )
    found = signal_reliability(
        table,
        fuse.signals_from(signals, table, None, "money"),
        calibrators=fuse.calibrators_from(calibrators),
        seed=seed,
    )
    drawn = ReliabilityDisplay.from_reliability(found, source=trace.name)
    draw(drawn, files, title, as_json, {"signals": [one.to_dict() for one in found]})


def signals(
    trace: options.TraceFile,
    output: Output = None,
    signals: fuse.Signals = None,
    alpha: options.Alpha = 0.1,
    delta: options.Delta = 0.05,
    splits: Annotated[int, typer.Option(help="Random halves.")] = 20,
    modes: options.Modes = None,
    item_id: options.ItemId = "item_id",
    label: options.Label = "label",
    group: options.Group = None,
    groups: options.Groups = "refuse",
    where: options.Where = None,
    scale: options.Scale = None,
    cut: options.Cut = None,
    seed: options.Seed = 0,
    title: Title = None,
    as_json: options.AsJson = False,
) -> None:
    """What each signal adds: certified coverage with all of them and without each."""
    from riskjudge.plots.signals import SignalsDisplay
    from riskjudge.signals.contribution import contributions

    files = figure_files(output, "signals")
    table = options.load_trace(
        trace,
        modes,
        item_id=item_id,
        label=label,
        group=group,
        where=where,
        grading=options.grading_of(scale, cut),
    )
    chosen = fuse.signals_from(signals, table, None, "money")
    with options.progress_bar("splits", splits) as progress:
        found = contributions(
            table,
            chosen,
            alpha=alpha,
            delta=delta,
            splits=splits,
            groups=groups,
            seed=seed,
            progress=progress,
        )
    drawn = SignalsDisplay.from_coverages(found, alpha=alpha, source=trace.name)
    draw(drawn, files, title, as_json, {"coverage": {k: float(v.mean()) for k, v in found.items()}})
