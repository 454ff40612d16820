"""``riskjudge rate``: how good is the system?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from riskjudge.cli import options
from riskjudge.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from riskjudge._typing import ObjectArray
    from riskjudge.rates import RateSample, SystemRates

By = Annotated[
    str | None, typer.Option(help="Column that names the system: a rate each, and a ranking.")
]
Only = Annotated[str | None, typer.Option("--only", help="The mode whose verdicts are corrected.")]
GateFile = Annotated[
    Path | None,
    typer.Option(
        "--gate", help="Apply this gate first: accepted and abstained rows each get a rate."
    ),
]
Confidence = Annotated[float, typer.Option(help="Confidence of the intervals.")]
RateFile = Annotated[
    Path,
    typer.Argument(
        metavar="TRACE", help="A trace, or outcomes that decide wrote; some rows labelled."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("rate")(rate)


TAUGHT = "{} items taught the fusion, whose verdicts have seen their labels: left out"


class Loaded(NamedTuple):
    """A sample, the system of each row, and what should be said of how it was read."""

    sample: RateSample
    system: ObjectArray | None
    notes: list[str]


def load_sample(
    path: Path,
    *,
    by: str | None = None,
    gate: Path | None = None,
    only: str | None = None,
    modes: list[str] | None = None,
    item_id: str = "item_id",
    label: str = "label",
    group: str | None = None,
    where: list[str] | None = None,
    frame: pd.DataFrame | None = None,
    scale: str | None = None,
    cut: float | None = None,
) -> Loaded:
    """Read a trace, a trace and a gate, or outcomes; `frame` is the file's table if it was read."""
    from riskjudge.rates import RateSample, reading

    if frame is None:
        frame = options.load_table(path, modes, item_id=item_id, label=label)
    notes: list[str] = []
    if reading.is_outcomes(list(frame.columns)):
        if gate is not None or only is not None or modes:
            raise InputError(f"{path} holds outcomes: --gate, --only and --mode belong to a trace")
        return _from_outcomes(options.keep_rows(frame, where, path), path, by, group)
    if gate is not None and only is not None:
        raise InputError("--only chooses a mode, and --gate brings its own")
    opened = None if gate is None else options.open_router(gate)
    table = options.load_trace(
        path,
        modes or (None if opened is None else opened.columns),
        item_id=item_id,
        label=label,
        group=group,
        where=where,
        frame=frame,
        grading=options.grading_of(scale, cut, gate=None if opened is None else opened.gate),
    )
    if opened is not None:
        whole, table = len(table), opened.untaught(table)
        sample = RateSample.from_outcomes(opened.gate.decide(table))
        if len(table) < whole:
            notes.append(TAUGHT.format(whole - len(table)))
    else:
        sample, notes = reading.sample_of(table, only)
    extra = table.extra
    system = None if by is None else _system(extra, by, group, str(path))
    notes += reading.group_hint(sample, extra, by)
    return Loaded(sample, system, notes)


def _from_outcomes(frame: pd.DataFrame, path: Path, by: str | None, group: str | None) -> Loaded:
    from riskjudge.gate.outcomes import TAUGHT_FUSION, Outcomes
    from riskjudge.rates import RateSample, reading

    outcomes = Outcomes.from_frame(frame, str(path))
    notes = []
    if (taught := outcomes.flag(TAUGHT_FUSION)).any():
        outcomes = outcomes.rows(~taught)
        notes.append(TAUGHT.format(int(taught.sum())))
    sample = RateSample.from_outcomes(outcomes)
    if group is not None:
        sample = sample.grouped_by(reading.values_of(outcomes.extra, group, str(path)))
    system = None if by is None else _system(outcomes.extra, by, group, str(path))
    notes += reading.group_hint(sample, outcomes.extra, by)
    return Loaded(sample, system, notes)


def _system(extra: pd.DataFrame, by: str, group: str | None, source: str) -> ObjectArray:
    from riskjudge.rates import reading

    if by == group:
        raise InputError(f"--by and --group are both {by!r}: rows are grouped across systems")
    return reading.values_of(extra, by, source)


def rate(
    trace: RateFile,
    by: By = None,
    gate: GateFile = None,
    only: Only = None,
    confidence: Confidence = 0.95,
    pool_judge: Annotated[
        bool,
        typer.Option(
            "--pool-judge",
            help="Also correct each system by the judge's error rates over all systems; assumes that "
            "they are the same, and tests it.",
        ),
    ] = False,
    modes: options.Modes = None,
    item_id: options.ItemId = "item_id",
    label: options.Label = "label",
    group: options.Group = None,
    where: options.Where = None,
    scale: options.Scale = None,
    cut: options.Cut = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    form: options.Format = "terminal",
) -> None:
    """What share of the answers is right? The judge's rate, corrected by the labels there are."""
    from riskjudge.rates import rate_systems

    if pool_judge and by is None:
        raise InputError("--pool-judge pools over systems: name their column with --by")
    loaded = load_sample(
        trace,
        by=by,
        gate=gate,
        only=only,
        modes=modes,
        item_id=item_id,
        label=label,
        group=group,
        where=where,
        scale=scale,
        cut=cut,
    )
    rates = rate_systems(
        loaded.sample,
        loaded.system,
        by=by or "system",
        confidence=confidence,
        pool_judge=pool_judge,
        seed=seed,
    )
    rates = replace(rates, whole=replace(rates.whole, notes=(*loaded.notes, *rates.whole.notes)))
    if as_json:
        options.print_json({"trace": str(trace), **rates.to_dict()})
    else:
        _print(rates, str(trace), form)


def _print(rates: SystemRates, source: str, form: str) -> None:
    from riskjudge.rates.render import differences_table, rates_table, systems_table

    options.show(rates_table(rates.whole, source), form)
    if rates.ranking is not None:
        options.show(systems_table(rates), form)
        if rates.ranking.differences:
            options.show(differences_table(rates.ranking), form)
