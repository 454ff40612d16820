"""``riskjudge calibrate``, ``sweep`` and ``plan``: from labels to a certificate."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from riskjudge.cli import options


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command("calibrate")(calibrate)
    app.command("sweep")(sweep)
    app.command("plan")(plan)


def calibrate(
    trace: options.TraceFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where the gate goes, JSON.")
    ] = None,
    alpha: options.Alpha = 0.1,
    delta: options.Delta = 0.05,
    procedure: options.ProcedureName = None,
    settings: options.ProcedureOptions = None,
    path: Annotated[
        Path | None,
        typer.Option(
            metavar="GATE",
            help="Test the sequence of a gate fitted on other items, in place of a procedure: an order "
            "that costs no labels.",
        ),
    ] = None,
    pool: Annotated[
        Path | None,
        typer.Option(
            help="Further items without labels, independent of the labelled ones; the items still to "
            "be judged will do."
        ),
    ] = None,
    by_verdict: options.ByVerdict = False,
    max_retrieval: options.MaxRetrieval = None,
    only: options.Only = None,
    modes: options.Modes = None,
    item_id: options.ItemId = "item_id",
    label: options.Label = "label",
    group: options.Group = None,
    groups: options.Groups = "refuse",
    where: options.Where = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    form: options.Format = "terminal",
) -> None:
    """Calibrate a gate on labelled verdicts and print its certificate.

    Exit code 0: certified. 1: nothing certifies (the gate written then accepts nothing).
    """
    from riskjudge.evaluation.render import certificate_table

    table = options.load_trace(trace, modes, item_id=item_id, label=label, group=group, where=where)
    more = None
    if pool is not None:
        more = options.load_trace(pool, table.columns, item_id=item_id, group=group, where=where)
    gate = options.make_gate(
        table,
        alpha=alpha,
        delta=delta,
        procedure=options.procedure_from(procedure, settings),
        by_verdict=by_verdict,
        groups=groups,
        max_retrieval=max_retrieval,
        only=only,
        seed=seed,
        path=path,
    ).fit(table, more)
    if output is not None:
        gate.save(output)
    certificate = gate.certificate_
    if as_json:
        from riskjudge.gate.document import gate_to_dict

        options.print_json(gate_to_dict(gate))
    else:
        options.show(certificate_table(certificate, str(trace)), form)
        if certificate.n_reserved and gate.n_pool_ == 0:
            typer.echo(
                "note: no unlabelled items were given; --pool, or rows without a label, would place "
                "the thresholds better",
                err=True,
            )
        for note in gate.notes_:
            typer.echo(f"note: {note}", err=True)
        if output is not None:
            typer.echo(f"gate written to {output}", err=True)
    raise typer.Exit(0 if certificate.certified else 1)


def sweep(
    trace: options.TraceFile,
    alphas: Annotated[
        str, typer.Option(help="Risk levels, with commas between them.")
    ] = "0.05,0.10,0.15,0.20,0.25,0.30,0.35,0.40,0.45,0.50,0.55,0.60",
    splits: Annotated[int, typer.Option(help="Random splits.")] = 100,
    share: Annotated[
        float, typer.Option(help="Share of the labelled items to calibrate on.")
    ] = 0.5,
    delta: options.Delta = 0.05,
    procedure: options.ProcedureName = None,
    settings: options.ProcedureOptions = None,
    by_verdict: options.ByVerdict = False,
    max_retrieval: options.MaxRetrieval = None,
    only: options.Only = None,
    modes: options.Modes = None,
    item_id: options.ItemId = "item_id",
    label: options.Label = "label",
    group: options.Group = None,
    groups: options.Groups = "refuse",
    where: options.Where = None,
    seed: options.Seed = 0,
    jobs: Annotated[int, typer.Option(help="Parallel jobs; -1 for one a core.")] = -1,
    as_json: options.AsJson = False,
    form: options.Format = "terminal",
) -> None:
    """Calibrate and test over many random splits, at many risk levels (the paper's protocol)."""
    from riskjudge.evaluation.render import sweep_table
    from riskjudge.evaluation.splits import sweep as run

    table = options.load_trace(trace, modes, item_id=item_id, label=label, group=group, where=where)
    gate = options.make_gate(
        table,
        alpha=0.1,
        delta=delta,
        procedure=options.procedure_from(procedure, settings),
        by_verdict=by_verdict,
        groups=groups,
        max_retrieval=max_retrieval,
        only=only,
        seed=seed,
    )
    with options.progress_bar("splits", splits) as progress:
        result = run(
            table,
            gate,
            alphas=options.levels(alphas),
            splits=splits,
            calibration_share=share,
            seed=seed,
            n_jobs=jobs,
            progress=progress,
        )
    if as_json:
        options.print_json(
            {"source": str(trace), "description": result.description, "levels": result.summary()}
        )
    else:
        options.show(sweep_table(result), form)


def plan(
    alpha: options.Alpha = 0.1,
    delta: options.Delta = 0.05,
    error_rate: Annotated[
        float | None, typer.Option(help="Expected error rate among accepted verdicts.")
    ] = None,
    coverage: Annotated[float, typer.Option(help="Expected share of accepted items.")] = 1.0,
    power: Annotated[float, typer.Option(help="Wanted probability of a certificate.")] = 0.8,
    as_json: options.AsJson = False,
    form: options.Format = "terminal",
) -> None:
    """How many labels are needed.

    Exit code 1: with that error rate no number of labels would do.
    """
    from riskjudge.calibration import plan_labels
    from riskjudge.evaluation.render import plan_table

    planned = plan_labels(alpha, delta, error_rate=error_rate, coverage=coverage, power=power)
    if as_json:
        options.print_json(asdict(planned))
    else:
        options.show(plan_table(planned), form)
    raise typer.Exit(0 if planned.labels is not None else 1)
