"""``riskjudge audit``: does a procedure keep its promise, on known truth or in a setting like yours?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riskjudge.cli import completion, options
from riskjudge.errors import InputError

if TYPE_CHECKING:
    from riskjudge.audit import Cell, World
    from riskjudge.calibration import Procedure


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("audit")(audit)


def audit(
    procedures: Annotated[
        list[str] | None,
        typer.Option(
            "--procedure",
            help="Repeatable. [default: the default procedure; pointwise beside it]",
            autocompletion=completion.procedures,
        ),
    ] = None,
    settings: options.ProcedureOptions = None,
    scenarios: Annotated[
        list[str] | None,
        typer.Option(
            "--scenario",
            help="A scenario, all, nulls, paper, or paper:<configuration>; repeatable. [default: all]",
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(help="Your own setting: a labelled trace, resampled with a smoothed truth."),
    ] = None,
    ns: Annotated[
        str | None,
        typer.Option(
            "--n", help="Labelled items, with commas between. [default: 1000; the trace's own]"
        ),
    ] = None,
    alphas: Annotated[
        str | None,
        typer.Option(help="Risk levels, with commas between. [default: each scenario's; 0.1]"),
    ] = None,
    delta: options.Delta = 0.05,
    replicates: Annotated[int, typer.Option(help="Calibrations a cell.")] = 200,
    pool: Annotated[
        int | None,
        typer.Option(help="Unlabelled items beside them. [default: 1000; the trace's own]"),
    ] = None,
    by_verdict: options.ByVerdict = False,
    modes: options.Modes = None,
    item_id: options.ItemId = "item_id",
    label: options.Label = "label",
    where: options.Where = None,
    scale: options.Scale = None,
    cut: options.Cut = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
    cache: Annotated[
        Path | None,
        typer.Option(help="Folder of finished cells: an interrupted audit goes on from there."),
    ] = None,
    as_json: options.AsJson = False,
    form: options.Format = "terminal",
) -> None:
    """Count how often a procedure's rule has a true risk above alpha, and what coverage it leaves.

    Exit code 0: every procedure that promises high probability is compatible with delta in every
    cell. 1: one is not.
    """
    from riskjudge.audit import audit as run
    from riskjudge.audit import promises_kept
    from riskjudge.audit.resample import TraceWorld
    from riskjudge.audit.summary import REFERENCE
    from riskjudge.audit.worlds import worlds_named

    worlds: list[World] = []
    sizes, spare = [1000], 1000
    n_modes = 2
    if trace is not None:
        table = options.load_trace(
            trace,
            modes,
            item_id=item_id,
            label=label,
            where=where,
            grading=options.grading_of(scale, cut),
        )
        worlds.append(TraceWorld.from_trace(table, name=trace.stem))
        sizes = [int(table.labelled.sum())]
        spare = len(table) - sizes[0]
        n_modes = table.n_modes
    if scenarios or trace is None:
        worlds += worlds_named(scenarios or ["all"])
    sizes = _sizes(ns) if ns is not None else sizes
    levels = options.levels(alphas) if alphas is not None else None
    audited = _procedures(procedures, settings, n_modes)
    total = len(audited) * len(worlds) * len(sizes) * len(levels or [0]) * replicates
    shared: dict[str, Any] = {
        "ns": sizes,
        "alphas": levels,
        "delta": delta,
        "pool": spare if pool is None else pool,
        "replicates": replicates,
        "seed": seed,
        "n_jobs": jobs,
        "cache": cache,
    }
    with options.progress_bar("calibrations", total) as progress:
        if by_verdict:
            # The pointwise search takes one threshold a mode: as the reference it stays as it is.
            plain = [p for p in audited if p.name == REFERENCE]
            split = [p for p in audited if p.name != REFERENCE]
            cells = run(split, worlds, by_verdict=True, progress=progress, **shared)
            cells += run(plain, worlds, **shared)
        else:
            cells = run(audited, worlds, progress=progress, **shared)
    _print(cells, as_json, form)
    raise typer.Exit(0 if promises_kept(cells) else 1)


def _procedures(
    names: list[str] | None, settings: list[str] | None, n_modes: int
) -> list[Procedure]:
    """The procedures asked for, then the pointwise rule (of up to two modes) as the reference."""
    from riskjudge.calibration import Pointwise, default_procedure
    from riskjudge.gate import procedure_named

    if settings and len(names or ()) != 1:
        raise InputError("--set belongs to one procedure: name just one with --procedure")
    if settings:
        chosen = [options.procedure_from((names or [""])[0], settings)]
    else:
        chosen = [procedure_named(name) for name in names or ()]
    found = [p for p in chosen if p is not None and not isinstance(p, str)]
    if not found:
        found = [default_procedure(n_modes)]
    if n_modes > 2:
        return found
    return [p for p in found if p != Pointwise()] + [Pointwise()]


def _print(cells: list[Cell], as_json: bool, form: str) -> None:
    from riskjudge.audit.summary import cells_table, in_words, promises_kept, summary_table
    from riskjudge.audit.summary import summarize as by_procedure

    own = [cell for cell in cells if cell.kind == "own"]
    if as_json:
        options.print_json(
            {
                "promises_kept": promises_kept(cells),
                "cells": [
                    cell.to_dict()
                    | {
                        "violation": cell.violation,
                        "interval": list(cell.interval),
                        "verdict": str(cell.verdict),
                        "seconds": cell.seconds,
                    }
                    for cell in cells
                ],
                "procedures": [summary.to_dict() for summary in by_procedure(cells)],
                "in_words": [in_words(cell) for cell in own],
            }
        )
        return
    options.show(cells_table(cells), form)
    if len(cells) > 2:
        options.show(summary_table(cells), form)
    if form == "terminal":
        for cell in own:
            typer.echo(in_words(cell))


def _sizes(text: str) -> list[int]:
    numbers = options.numbers(text, "--n")
    if not all(n.is_integer() and n >= 1 for n in numbers):
        raise InputError(f"--n takes whole numbers from 1 on, got {text!r}")
    return [int(n) for n in numbers]
