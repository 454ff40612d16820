"""``riskjudge plot``: pictures of traces, gates, outcomes and sweeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riskjudge.cli import completion, options
from riskjudge.cli.options import levels

if TYPE_CHECKING:
    from riskjudge.data.trace import Trace
    from riskjudge.evaluation.splits import Sweep
    from riskjudge.gate import Router, SelectiveGate
    from riskjudge.plots.display import Display

Output = Annotated[
    list[Path] | None,
    typer.Option("--output", "-o", help=".png, .pdf or .svg; repeatable; KIND.png by default."),
]
Title = Annotated[str | None, typer.Option(help="In place of the heading.")]
Source = Annotated[
    str | None,
    typer.Option(
        help="On what it was run, for the title (say if it is synthetic); the file by default."
    ),
]
GateFile = Annotated[
    Path | None, typer.Option("--gate", help="A gate that calibrate wrote, to be marked.")
]
GateAlpha = Annotated[
    float, typer.Option(help="Risk level to draw; a gate given by --gate brings its own.")
]
GateDelta = Annotated[
    float, typer.Option(help="Level of the bounds; a gate given by --gate brings its own.")
]


Procedures = Annotated[
    list[str] | None,
    typer.Option(
        "--procedure",
        help="Repeat it to compare; the best valid one by default.",
        autocompletion=completion.procedures,
    ),
]
BandKind = Annotated[
    str,
    typer.Option(
        help="std, or quantiles (the central 80 %).",
        autocompletion=completion.one_of("std", "quantiles"),
    ),
]

PLOTS = typer.Typer(help="Draw a trace, a gate or outcomes.", no_args_is_help=True)
"""What ``plot`` holds; other files add to it."""


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    PLOTS.command("coverage")(
        _over_levels(
            "coverage",
            "CoverageDisplay",
            "Coverage at each risk level, over random splits of a labelled trace.",
        )
    )
    PLOTS.command("fdr")(
        _over_levels(
            "fdr",
            "FDRDisplay",
            "Test FDR at each risk level beside the diagonal, over random splits.",
        )
    )
    PLOTS.command("risk-coverage")(risk_coverage)
    PLOTS.command("plane")(plane)
    PLOTS.command("routing")(routing)
    app.add_typer(PLOTS, name="plot")


def _over_levels(kind: str, display: str, text: str) -> Callable[..., None]:
    """A command that sweeps risk levels and draws one of the displays of a sweep."""

    def command(
        trace: options.TraceFile,
        output: Output = None,
        alphas: options.Alphas = None,
        splits: options.Splits = 100,
        share: options.Share = 0.5,
        delta: options.Delta = 0.05,
        procedures: Procedures = None,
        by_verdict: options.ByVerdict = False,
        only: options.Only = None,
        band: BandKind = "std",
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
        jobs: options.Jobs = -1,
        title: Title = None,
        source: Source = None,
        as_json: options.AsJson = False,
    ) -> None:
        from riskjudge import plots
        from riskjudge.plots.curves import known_band

        files = figure_files(output, kind)
        known_band(band)
        table = options.load_trace(
            trace,
            modes,
            item_id=item_id,
            label=label,
            group=group,
            where=where,
            grading=options.grading_of(scale, cut, tolerance),
        )
        gates = [
            options.make_gate(
                table,
                alpha=0.1,
                delta=delta,
                procedure=options.procedure_from(procedure, None),
                by_verdict=by_verdict,
                groups=groups,
                max_retrieval=None,
                only=only,
                seed=seed,
            )
            for procedure in procedures or (None,)
        ]
        swept = _sweeps(table, gates, levels(alphas), splits, share, seed, jobs)
        drawn = getattr(plots, display).from_sweep(
            *swept, band=band, source=source_line(source, trace, where)
        )
        draw(drawn, files, title, as_json)

    command.__doc__ = text
    return command


def risk_coverage(
    trace: options.TraceFile,
    gate: GateFile = None,
    output: Output = None,
    alpha: GateAlpha = 0.1,
    delta: GateDelta = 0.05,
    by_verdict: options.ByVerdict = False,
    only: options.Only = None,
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
) -> None:
    """Error rate against coverage, each mode and the router, with exact pointwise bounds."""
    from riskjudge.plots import RiskCoverageDisplay

    files = figure_files(output, "risk-coverage")
    given = None
    opened = None if gate is None else options.open_router(gate)
    table = options.load_trace(
        trace,
        modes or (None if opened is None else opened.columns),
        item_id=item_id,
        label=label,
        group=group,
        where=where,
        grading=options.grading_of(scale, cut, tolerance, opened and opened.router),
    )
    if opened is not None:
        given, table = opened.router, opened.see(opened.untaught(table))
    if given is None:
        given = options.make_gate(
            table,
            alpha=alpha,
            delta=delta,
            procedure=None,
            by_verdict=by_verdict,
            groups=groups,
            max_retrieval=None,
            only=only,
            seed=seed,
        )
    where_from = source_line(source, trace, where)
    draw(RiskCoverageDisplay.from_trace(table, given, source=where_from), files, title, as_json)


def plane(
    trace: options.TraceFile,
    gate: GateFile = None,
    output: Output = None,
    alpha: GateAlpha = 0.1,
    delta: GateDelta = 0.05,
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
) -> None:
    """The error bound of each pair of thresholds of two modes, as a heat map."""
    from riskjudge.gate import Router
    from riskjudge.plots import ThresholdPlaneDisplay

    files = figure_files(output, "plane")
    given = None
    opened = None if gate is None else options.open_router(gate)
    table = options.load_trace(
        trace,
        modes or (None if opened is None else opened.columns),
        item_id=item_id,
        label=label,
        group=group,
        where=where,
        grading=options.grading_of(scale, cut, tolerance, opened and opened.router),
    )
    if opened is not None:
        given, table = opened.router, opened.see(opened.untaught(table))
    if given is None:
        given = Router(alpha, delta, groups=groups, seed=seed)
    display = ThresholdPlaneDisplay.from_trace(
        table, given.alpha, given.delta, given, source=source_line(source, trace, where)
    )
    draw(display, files, title, as_json)


def routing(
    outcomes: Annotated[Path, typer.Argument(metavar="OUTCOMES", help="Written by decide.")],
    output: Output = None,
    by: Annotated[str | None, typer.Option(help="A bar for each value of this column too.")] = None,
    floor: Annotated[int, typer.Option(help="Segments of fewer graded items get no bar.")] = 30,
    title: Title = None,
    source: Source = None,
    as_json: options.AsJson = False,
) -> None:
    """What became of the items: accepted by each mode, abstained by reason, failed."""
    from riskjudge.gate.outcomes import read_outcomes
    from riskjudge.plots import RoutingDisplay

    files = figure_files(output, "routing")
    display = RoutingDisplay.from_outcomes(
        read_outcomes(outcomes), by=by, floor=floor, source=source_line(source, outcomes, None)
    )
    draw(display, files, title, as_json)


def _sweeps(
    table: Trace,
    gates: Sequence[Router | SelectiveGate],
    alphas: Sequence[float],
    splits: int,
    share: float,
    seed: int,
    jobs: int,
) -> list[Sweep]:
    """One sweep for each gate, all on the same splits."""
    from riskjudge.evaluation.splits import sweep

    with options.progress_bar("splits", splits * len(gates)) as progress:
        return [
            sweep(
                table,
                gate,
                alphas=alphas,
                splits=splits,
                calibration_share=share,
                seed=seed,
                n_jobs=jobs,
                progress=_offset(progress, i * splits),
            )
            for i, gate in enumerate(gates)
        ]


def _offset(progress: Callable[[int], None], by: int) -> Callable[[int], None]:
    return lambda done: progress(by + done)


def source_line(source: str | None, path: Path, where: Sequence[str] | None) -> str:
    return source if source is not None else ", ".join([path.name, *(where or ())])


def figure_files(output: Sequence[Path] | None, kind: str) -> list[Path]:
    """Where the figure goes; a wrong ending is found before anything is computed."""
    from riskjudge.plots.style import figure_format

    files = list(output) if output else [Path(f"{kind}.png")]
    for path in files:
        figure_format(path)
    return files


def draw(
    display: Display,
    files: list[Path],
    title: str | None,
    as_json: bool,
    figures: Mapping[str, object] | None = None,
) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    display.plot(title=title).save(*files)
    if as_json:
        options.print_json(
            {
                "heading": title if title is not None else display.heading,
                "details": display.details,
                "files": [str(path) for path in files],
                **(figures or {}),
            }
        )
    else:
        typer.echo(f"{', '.join(map(str, files))} written", err=True)
