"""``riskjudge sweep``: calibrate and test over many random splits."""

from __future__ import annotations

import typer

from riskjudge.cli import options


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("sweep")(sweep)


def sweep(
    trace: options.TraceFile,
    alphas: options.Alphas = None,
    splits: options.Splits = 100,
    share: options.Share = 0.5,
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
    scale: options.Scale = None,
    cut: options.Cut = None,
    tolerance: options.Tolerance = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
    as_json: options.AsJson = False,
    form: options.Format = "terminal",
) -> None:
    """Calibrate and test over many random splits, at many risk levels (the paper's protocol)."""
    from riskjudge.evaluation.render import SHARE_ABOVE, sweep_table
    from riskjudge.evaluation.splits import sweep as run

    table = options.load_trace(
        trace,
        modes,
        item_id=item_id,
        label=label,
        group=group,
        where=where,
        grading=options.grading_of(scale, cut, tolerance),
    )
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
            {
                "source": str(trace),
                "description": result.description,
                "levels": result.summary(),
                "notes": {"above_alpha": SHARE_ABOVE},
            }
        )
    else:
        options.show(sweep_table(result), form)
