"""``riskjudge check`` and ``watch``: is the calibration still true of what comes in?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from riskjudge.cli import options
from riskjudge.errors import InputError

GateFile = Annotated[Path, typer.Argument(metavar="GATE", help="JSON, written by calibrate.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command("check")(check)
    app.command("watch")(watch)


def check(
    gate: GateFile,
    calibration: Annotated[
        Path, typer.Argument(metavar="CALIBRATION", help="The trace the gate was calibrated on.")
    ],
    new: Annotated[
        Path, typer.Argument(metavar="NEW", help="A trace of new items; no labels needed.")
    ],
    level: Annotated[
        float, typer.Option(help="Largest probability of 'drifted' where nothing changed.")
    ] = 0.05,
    gap: Annotated[
        float, typer.Option(help="Change of a share that 'consistent' must not miss.")
    ] = 0.15,
    labels: Annotated[
        bool, typer.Option("--labels", help="Compare labels and errors too, where both have them.")
    ] = False,
    permutations: Annotated[int, typer.Option(help="Random permutations of a test.")] = 1999,
    modes: options.Modes = None,
    item_id: options.ItemId = "item_id",
    label: options.Label = "label",
    group: options.Group = None,
    where: options.Where = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    form: options.Format = "terminal",
) -> None:
    """Do new items look like the calibration items? Says consistent, drifted or insufficient.

    Scores, missing verdicts, verdicts and routing are compared by exact or permutation tests.
    --where is about the calibration trace. Exit code 0: consistent. 1: drifted, or too few items.
    """
    from riskjudge.gate import load_gate
    from riskjudge.monitor import DriftAnswer, check_drift
    from riskjudge.monitor.tables import check_table

    fitted = load_gate(gate)
    columns = modes or (fitted.columns_ if fitted.fitted else None)
    old, fresh = (
        options.load_trace(
            path, columns, item_id=item_id, label=label, group=group, where=conditions
        )
        for path, conditions in ((calibration, where), (new, None))
    )
    result = check_drift(
        fitted,
        old,
        fresh,
        level=level,
        gap=gap,
        labels=labels,
        permutations=permutations,
        seed=seed,
    )
    if as_json:
        options.print_json(result.to_dict())
    else:
        options.show(check_table(result, str(new)), form)
        for note in result.notes:
            typer.echo(f"note: {note}", err=True)
    raise typer.Exit(0 if result.answer is DriftAnswer.CONSISTENT else 1)


def watch(
    gate: GateFile,
    outcomes: Annotated[
        list[Path],
        typer.Argument(
            metavar="OUTCOMES...", help="Written by decide, with labels; in order of arrival."
        ),
    ],
    state: Annotated[
        Path | None,
        typer.Option(help="Resume from this JSON file if it is there, and write it back."),
    ] = None,
    level: Annotated[
        float, typer.Option(help="Largest probability of an alarm while the promise is kept.")
    ] = 0.05,
    as_json: options.AsJson = False,
    form: options.Format = "terminal",
) -> None:
    """Raise an alarm when accepted verdicts are wrong more often than the gate promised.

    Valid however often it is called: pass only new outcomes, and keep the state in --state.
    Exit code 0: no alarm. 1: alarm.
    """
    from riskjudge.gate import load_gate
    from riskjudge.gate.outcomes import read_outcomes
    from riskjudge.monitor import RiskAlarm
    from riskjudge.monitor.tables import alarm_table

    fitted = load_gate(gate)
    if not fitted.fitted:
        raise InputError(f"{gate} is not fitted: there is no promise to watch")
    alarm = RiskAlarm(fitted.alpha, level)
    if state is not None and state.exists():
        alarm = RiskAlarm.load(state)
        if (alarm.alpha, alarm.level) != (fitted.alpha, level):
            raise InputError(
                f"{state} watches alpha = {alarm.alpha:g} at level {alarm.level:g}, not "
                f"{fitted.alpha:g} at {level:g}; a test is not changed while it runs"
            )
    for path in outcomes:
        seen = read_outcomes(path)
        counted = seen.accepted & seen.certified & (seen.labels >= 0)
        alarm = alarm.add(list(seen.item_id[counted]), list(seen.wrong[counted]))
    if state is not None:
        alarm.save(state)
    if as_json:
        options.print_json(alarm.to_dict())
    else:
        options.show(alarm_table(alarm, ", ".join(map(str, outcomes))), form)
    raise typer.Exit(1 if alarm.raised else 0)
