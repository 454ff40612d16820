"""``riskjudge plan``: how many labels a certificate takes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riskjudge.cli import options
from riskjudge.errors import InputError

if TYPE_CHECKING:
    from riskjudge.audit.planning import SimulatedPower
    from riskjudge.data.grading import Grading
    from riskjudge.display.table import Table


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("plan")(plan)


def plan(
    alpha: options.Alpha = 0.1,
    delta: options.Delta = 0.05,
    error_rate: Annotated[
        float | None, typer.Option(help="Expected error rate among accepted verdicts.")
    ] = None,
    coverage: Annotated[
        float | None, typer.Option(help="Expected share of accepted items; all by default.")
    ] = None,
    power: Annotated[float, typer.Option(help="Wanted probability of a certificate.")] = 0.8,
    pilot: Annotated[
        Path | None,
        typer.Option(
            metavar="TRACE",
            help="Labelled verdicts, 50 or more: the default procedure is simulated on a model of them.",
        ),
    ] = None,
    unlabelled: Annotated[
        int, typer.Option(help="Unlabelled items beside the labelled ones, for the simulation.")
    ] = 0,
    replicates: Annotated[
        int, typer.Option(help="Simulated calibrations for each number of labels; 0 for none.")
    ] = 200,
    rate: Annotated[
        bool,
        typer.Option("--rate", help="Plan a pass rate (see `rate`) in place of a certificate."),
    ] = False,
    width: Annotated[
        float | None, typer.Option(help="With --rate: wanted length of its interval.")
    ] = None,
    expected: Annotated[float, typer.Option(help="With --rate: expected pass rate.")] = 0.8,
    tpr: Annotated[
        float, typer.Option(help="With --rate: share of right answers that the judge passes.")
    ] = 0.9,
    tnr: Annotated[
        float, typer.Option(help="With --rate: share of wrong answers that the judge fails.")
    ] = 0.9,
    rows: Annotated[
        int | None, typer.Option(help="With --rate: rows with a verdict; as many as matter else.")
    ] = None,
    confidence: Annotated[
        float, typer.Option(help="With --rate: confidence of the interval.")
    ] = 0.95,
    modes: options.Modes = None,
    item_id: options.ItemId = "item_id",
    label: options.Label = "label",
    scale: options.Scale = None,
    cut: options.Cut = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    form: options.Format = "terminal",
) -> None:
    """How many labels are needed: by one rule fixed in advance, and by the default procedure.

    The second is simulated: on a model of the pilot, or, without one, on a judge whose errors rise
    with its uncertainty and whose surest verdicts have the given coverage and error rate.
    Exit code 1: with that error rate no number of labels would do.
    """
    if rate:
        _plan_rate(
            width,
            expected,
            tpr,
            tnr,
            rows,
            confidence,
            pilot,
            modes,
            item_id,
            label,
            options.grading_of(scale, cut),
            as_json,
            form,
        )
        return
    if width is not None:
        raise InputError("--width is the length of a pass rate's interval: give --rate too")
    from riskjudge.calibration.power import plan_labels
    from riskjudge.evaluation.plan import plan_table

    planned = plan_labels(
        alpha,
        delta,
        error_rate=error_rate,
        coverage=1.0 if coverage is None else coverage,
        power=power,
    )
    source: Any = None
    if pilot is not None:
        from riskjudge.audit.resample import TraceWorld

        table = options.load_trace(
            pilot,
            modes,
            item_id=item_id,
            label=label,
            grading=options.grading_of(scale, cut),
        )
        source = TraceWorld.from_trace(table, alpha=alpha)
    elif error_rate is not None and planned.labels_with_power is not None:
        from riskjudge.audit.planning import RisingErrors

        source = RisingErrors(error_rate, planned.coverage)
    found = at_plan = redrawn = None
    # The procedure may stop a little short of the coverage hoped for: nine tenths of it count.
    wanted = 0.0 if coverage is None else 0.9 * coverage

    def simulate(labels: int, model: Any = None, runs: int = replicates) -> SimulatedPower:
        from riskjudge.audit.planning import simulate_power

        return simulate_power(
            source if model is None else model, labels, alpha, delta,
            coverage=wanted, pool=unlabelled, replicates=runs, seed=seed,
        )  # fmt: skip

    if source is not None and replicates > 0:
        from riskjudge.audit.planning import labels_for_power, power_of_redrawn_pilots

        start = planned.labels_with_power or 200
        at_plan = simulate(start)
        found = labels_for_power(simulate, power, start)
        if pilot is not None and found is not None:
            enough, few = found.labels, max(replicates // 4, 1)
            redrawn = power_of_redrawn_pilots(
                table, lambda model: simulate(enough, model, few), alpha, seed=seed
            )
    if as_json:
        simulated = {"at_labels_with_power": at_plan, "enough": found}
        told = {name: None if value is None else asdict(value) for name, value in simulated.items()}
        options.print_json(
            asdict(planned) | {"default_procedure": told | {"power_of_redrawn_pilots": redrawn}}
        )
    else:
        options.show(plan_table(planned), form)
        if at_plan is not None:
            options.show(simulation_table(at_plan, found, power, redrawn), form)
    impossible = planned.labels is None or (source is not None and replicates > 0 and found is None)
    raise typer.Exit(1 if impossible else 0)


def _plan_rate(
    width: float | None,
    expected: float,
    tpr: float,
    tnr: float,
    rows: int | None,
    confidence: float,
    pilot: Path | None,
    modes: list[str] | None,
    item_id: str,
    label: str,
    grading: Grading | None,
    as_json: bool,
    form: str,
) -> None:
    """Labels for a pass rate: for a judge as expected, or as a pilot shows it."""
    from riskjudge.rates import RateSample
    from riskjudge.rates.planning import plan_from_pilot, plan_rate
    from riskjudge.rates.render import rate_plan_table

    if width is None:
        raise InputError("--rate needs the wanted length of the interval: --width 0.1, say")
    if pilot is None:
        planned = plan_rate(
            width, rate=expected, tpr=tpr, tnr=tnr, rows=rows, confidence=confidence
        )
    else:
        table = options.load_trace(pilot, modes, item_id=item_id, label=label, grading=grading)
        planned = plan_from_pilot(RateSample.from_trace(table), width, confidence=confidence)
    if as_json:
        options.print_json(asdict(planned))
    else:
        options.show(rate_plan_table(planned), form)
    raise typer.Exit(0 if planned.labels is not None else 1)


def simulation_table(
    at_plan: SimulatedPower,
    found: SimulatedPower | None,
    power: float,
    redrawn: tuple[float, float] | None,
) -> Table:
    """What the default procedure does with as many labels, and how many it takes."""
    from riskjudge.display.table import Table, percent

    def row(s: SimulatedPower) -> str:
        interval = f"[{percent(s.low)}, {percent(s.high)}]"
        return f"{percent(s.power)} {interval}, mean coverage {percent(s.mean_coverage)}"

    rows = [(f"certifies with {at_plan.labels} labels", row(at_plan))]
    if found is None:
        rows.append((f"labels to certify with probability {power:g}", "more than 50,000"))
    else:
        rows.append((f"labels to certify with probability {power:g}", str(found.labels)))
        rows.append((f"certifies with {found.labels} labels", row(found)))
    if redrawn is not None:
        low, high = redrawn
        rows.append(
            (
                "the same, were the pilot drawn again",
                f"{percent(low)} to {percent(high)} (8 redraws)",
            )
        )
    counted = "any certificate counts"
    if at_plan.coverage > 0:
        counted = f"a certificate that covers {percent(at_plan.coverage)} or more counts"
    notes = [f"{at_plan.replicates} simulated calibrations for each number of labels; {counted}."]
    if redrawn is not None:
        notes.append(
            "The pilot's labels have chosen this number, so calibrate on other labels; or fix a schedule "
            "of looks (calibrate --looks), whose sizes do not depend on labels."
        )
    return Table("The default procedure, simulated", ("", ""), tuple(rows), tuple(notes))
