"""``riskjudge calibrate``: from labels to a certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from riskjudge.cli import completion, options, promoted, schedule
from riskjudge.cli import fuse as fusing
from riskjudge.cli.hold_out import Aside, rest_of, set_aside
from riskjudge.errors import InputError
from riskjudge.io.files import is_stream, writable_target

if TYPE_CHECKING:
    from riskjudge.calibration import Certificate
    from riskjudge.data.trace import Trace
    from riskjudge.gate import Router
    from riskjudge.gate.grouped import GroupedGate
    from riskjudge.signals import FusedGate


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("calibrate")(calibrate)


def calibrate(
    trace: options.TraceFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where the gate goes, JSON.")
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            help="Largest tolerated error rate among accepted verdicts; 0.1 by default, or the larger of "
            "--alpha-pass and --alpha-fail.",
        ),
    ] = None,
    alpha_pass: Annotated[
        float | None, typer.Option(help="The same among accepted passes (verdict 1) by themselves.")
    ] = None,
    alpha_fail: Annotated[
        float | None, typer.Option(help="The same among accepted fails (verdict 0) by themselves.")
    ] = None,
    min_tpr: Annotated[
        float | None,
        typer.Option(
            "--min-tpr",
            help="Smallest share of passes among the accepted items that are right to pass (label 1).",
        ),
    ] = None,
    min_tnr: Annotated[
        float | None,
        typer.Option(
            "--min-tnr",
            help="Smallest share of fails among the accepted items that are right to fail (label 0).",
        ),
    ] = None,
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
    robust: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES|all",
            help="Perturbations, or families of them, under which the promise is to hold as well; their "
            "items are rows of the trace, as riskjudge stress writes them.",
        ),
    ] = None,
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
    hold_out: Annotated[
        float | None,
        typer.Option(
            help="Share of the labelled items (of the groups) that is set aside to report on, by a hash "
            "of their ids and the seed."
        ),
    ] = None,
    by_group: Annotated[
        str | None,
        typer.Option("--by-group", help="The same as --group: whole groups are set aside."),
    ] = None,
    rest: Annotated[
        Path | None,
        typer.Option(
            help="Where the items set aside go; by default GATE-rest.csv beside the gate."
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="A certificate for each value of this column, and one for the groups that are too small; "
            "delta is that of all together."
        ),
    ] = None,
    min_n: Annotated[
        int | None,
        typer.Option(
            help="Labelled items that a group needs for a certificate of its own, with --by."
        ),
    ] = None,
    weight: Annotated[
        str | None,
        typer.Option(
            help="Column of known weights (one over the probability of being chosen, up to a factor): "
            "labelled rows are kept with probability weight / --max-weight."
        ),
    ] = None,
    max_weight: Annotated[
        float | None, typer.Option(help="A number that no weight of the population exceeds.")
    ] = None,
    source: options.StatedSource = None,
    unfitted: Annotated[
        str | None,
        typer.Option(
            help="Write a gate that is not fitted: pass lets everything through uncertified, abstain "
            "declines everything. No label is needed.",
            autocompletion=completion.one_of("pass", "abstain"),
        ),
    ] = None,
    looks: schedule.LooksOption = None,
    batch: schedule.Batch = None,
    sizes: schedule.Sizes = None,
    spending: schedule.SpendingOption = None,
    state: schedule.State = None,
    registry: Annotated[
        Path | None,
        typer.Option(
            help="File that remembers, by hashes, which labels certificates have used; by default "
            "riskjudge-labels.jsonl beside the gate. Where no gate is written, that of the current folder "
            "counts, if there is one."
        ),
    ] = None,
    no_registry: Annotated[
        bool, typer.Option("--no-registry", help="Neither read nor write such a file.")
    ] = False,
    require_promoted: promoted.Required = None,
    fuse: Annotated[
        bool, typer.Option("--fuse", help="Fuse signals; some of the labels teach the fusion.")
    ] = False,
    fusion: Annotated[
        Path | None, typer.Option(help="Calibrate a fusion that riskjudge fuse wrote.")
    ] = None,
    signals: fusing.Signals = None,
    train_share: fusing.TrainShare = "auto",
    train: fusing.Train = None,
    calibrators: fusing.Calibrators = None,
    staged: fusing.Staged = False,
    costs: fusing.Costs = None,
    max_cost: fusing.MaxCost = None,
    unit: fusing.Unit = "money",
    as_json: options.AsJson = False,
    form: options.Format = "terminal",
) -> None:
    """Calibrate a gate on labelled verdicts and print its certificate.

    Exit code 0: certified. 1: nothing certifies (the gate written then accepts nothing).
    """
    from riskjudge.gate.grouped import GroupedGate
    from riskjudge.monitor.selection import thin_by_weight, unlike_pool

    for written in (output, state, registry):
        if written is not None and not is_stream(written):
            writable_target(written)  # before a look is spent, or a fit is counted
    if by_group is not None:
        if group not in (None, by_group):
            raise InputError("--group and --by-group name one column; give one of them")
        group = by_group
    frame = options.load_table(trace, modes, item_id=item_id, label=label)
    table = options.load_trace(
        trace,
        modes,
        item_id=item_id,
        label=label,
        group=group,
        where=where,
        frame=frame,
        grading=options.grading_of(scale, cut, tolerance),
    )
    table = options.with_sources(table, source)
    aside = None
    if hold_out is not None:
        if looks is not None or sizes is not None or state is not None:
            raise InputError("--hold-out and a schedule of looks do not go together")
        frame = options.keep_rows(frame, where, trace)
        table, aside = set_aside(table, frame, hold_out, seed, rest or rest_of(output, trace))
    elif rest is not None:
        raise InputError("--rest belongs to --hold-out")
    stressed: dict[str, Trace] | None = None
    if robust is not None:
        from riskjudge.data.perturbed import chosen_perturbations, split_by_perturbation

        if hold_out is not None and table.group is None:
            raise InputError(
                "--hold-out with --robust needs --group: an item and its perturbed forms"
            )
        table, perturbed = split_by_perturbation(table)
        stressed = chosen_perturbations(perturbed, robust)
    if unfitted is not None:
        _write_unfitted(table, unfitted, only, output, as_json)
        return
    more = None
    if pool is not None:
        more = options.load_trace(
            pool, table.columns, item_id=item_id, group=group, where=where, grading=table.grading
        )
    said: list[str] = []
    if (weight is None) != (max_weight is None):
        raise InputError("--weight and --max-weight go together")
    if weight is not None and max_weight is not None:
        if looks is not None or sizes is not None or state is not None:
            raise InputError("--weight and a schedule of looks do not go together")
        whole = int(table.labelled.sum())
        table = thin_by_weight(table, weight, max_weight, seed)
        said.append(
            f"labelled rows were chosen with probabilities proportional to 1 / {weight}, and kept with "
            f"probability {weight} / {max_weight:g} (seed {seed}): {int(table.labelled.sum())} of {whole}"
        )
    said += unlike_pool(table, more, seed=seed)
    if alpha is None:
        given = [level for level in (alpha_pass, alpha_fail) if level is not None]
        alpha = max(given) if len(given) == 2 else 0.1
    finish = partial(
        _finish,
        source=str(trace),
        said=said,
        promotions=promoted.require(require_promoted, table.columns, table.sources),
        aside=aside,
        output=output,
        registry=registry,
        no_registry=no_registry,
        as_json=as_json,
        form=form,
    )
    if fuse or fusion is not None:
        fusing.refuse_others(
            {
                "--procedure": procedure,
                "--path": path,
                "--only": only,
                "--by": by,
                "--max-retrieval (a fused gate takes --max-cost)": max_retrieval,
                "--robust": robust,
                "--looks, --batch or --sizes": looks or batch or sizes,
                "--alpha-pass": alpha_pass,
                "--alpha-fail": alpha_fail,
                "--min-tpr": min_tpr,
                "--min-tnr": min_tnr,
            }
        )
        to_fit = fusing.fused_gate(
            table,
            alpha=alpha,
            delta=delta,
            signals=signals,
            train_share=train_share,
            calibrators=calibrators,
            staged=staged,
            costs=costs,
            max_cost=max_cost,
            unit=unit,
            groups=groups,
            seed=seed,
        )
        elsewhere = fusing.training_rows(train, table, item_id, label, group)
        fused = fusing.calibrated(to_fit, table, more, fusion, elsewhere)
        finish(fused, table, more)
    if signals or train or costs or max_cost is not None or staged:
        raise InputError("--signals, --train, --cost, --max-cost and --staged belong to --fuse")
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
    )
    gate.set_params(alpha_pass=alpha_pass, alpha_fail=alpha_fail, min_tpr=min_tpr, min_tnr=min_tnr)
    if by is not None:
        if stressed is not None:
            raise InputError(
                f"--by and --robust do not go together; --where {by}=VALUE --robust … does, for each group"
            )
        if looks is not None or sizes is not None or state is not None:
            raise InputError(
                "--by and a schedule of looks do not go together; a schedule for each group does: "
                f"--where {by}=VALUE with an -o of its own and --delta divided by the number of groups. "
                "Then all groups and looks hold together with the undivided delta"
            )
        grouped = GroupedGate(gate, by, min_n).fit(table, more)
        finish(grouped, table, more)
    if min_n is not None:
        raise InputError("--min-n belongs to --by")
    gate = schedule.fit_on_schedule(
        gate,
        table,
        more,
        looks=looks,
        batch=batch,
        sizes=sizes,
        spending=spending,
        state=state,
        output=output,
        stressed=stressed,
    )
    finish(gate, table, more)


def put_on_record(
    gate: Router | GroupedGate, registry: Path | None, no_registry: bool, output: Path | None
) -> None:
    """Count this fit in the registry that is named, or the one beside the gate.

    A fit that writes no gate has been looked at as well: it counts where the current folder has a
    registry.
    """
    from riskjudge.gate.registry import FILE_NAME, registered

    if no_registry:
        if registry is not None:
            raise InputError("--registry and --no-registry do not go together")
        return
    if registry is None:
        written = output is not None and (output.is_file() or not output.exists())  # no pipe
        beside = output.parent if written and output is not None else Path()
        registry = beside / FILE_NAME if written or Path(FILE_NAME).exists() else None
    if registry is not None:
        registered(gate, registry)


def with_assumptions(certificate: Certificate, said: Sequence[str]) -> Certificate:
    """The certificate with further statements on what it rests on."""
    return replace(certificate, assumptions=(*certificate.assumptions, *said))


def _finish(
    gate: Router | GroupedGate | FusedGate,
    table: Trace,
    pool: Trace | None,
    *,
    source: str,
    said: Sequence[str],
    promotions: Mapping[str, Path],
    aside: Aside | None,
    output: Path | None,
    registry: Path | None,
    no_registry: bool,
    as_json: bool,
    form: str,
) -> NoReturn:
    """Record, write and print a fitted gate, and exit with a code that says whether it certified."""
    from riskjudge.advice import next_steps
    from riskjudge.evaluation.render import certificate_table
    from riskjudge.page.gates import routers_of
    from riskjudge.signals import FusedGate

    parts = routers_of(gate)
    for part in parts.values():
        part.certificate_ = with_assumptions(part.certificate_, said)
        part.promotions_ = promoted.relative(promotions, output)
    counted = gate.router_ if isinstance(gate, FusedGate) else gate
    put_on_record(counted, registry, no_registry, output)
    if output is not None:
        gate.save(output)
    if aside is not None:
        aside.write()
    if as_json:
        options.print_json(gate.to_dict())
    else:
        for where, part in parts.items():
            title = f"{source}, {where}" if where else source
            options.show(certificate_table(part.certificate_, title), form)
            if not where and part.certificate_.n_reserved and part.n_pool_ == 0:
                typer.echo(
                    "note: no unlabelled items were given; --pool, or rows without a label, would place "
                    "the thresholds better",
                    err=True,
                )
        for step in next_steps(gate, table, pool):
            typer.echo(f"next: {step}", err=True)
    if output is not None:
        typer.echo(f"gate written to {output}", err=True)
    if aside is not None:
        typer.echo(str(aside), err=True)
    for note in gate.notes_:
        typer.echo(f"note: {note}", err=True)
    raise typer.Exit(0 if any(part.certificate_.certified for part in parts.values()) else 1)


def _write_unfitted(
    table: Trace, unfitted: str, only: str | None, output: Path | None, as_json: bool
) -> None:
    from riskjudge.gate import Router, SelectiveGate

    if unfitted not in ("pass", "abstain"):
        raise InputError(f"--unfitted takes pass or abstain, got {unfitted!r}")
    gate = SelectiveGate(mode=only) if only is not None else Router()
    gate.set_params(unfitted=unfitted)
    if output is not None:
        gate.save(output)
    if as_json:
        options.print_json(gate.to_dict())
    else:
        what = "lets everything through" if unfitted == "pass" else "declines everything"
        typer.echo(f"a gate that is not fitted: it {what}, and nothing is certified")
