"""``riskjudge watch``: an alarm when the promise is broken."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from riskjudge.cli import options
from riskjudge.errors import InputError


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("watch")(watch)


def watch(
    gate: options.GateFile,
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
    Files count in the order given, the items of one file in the order of a hash of their ids.
    Exit code 0: no alarm. 1: alarm.
    """
    from riskjudge.gate.outcomes import read_outcomes
    from riskjudge.monitor import RiskAlarm
    from riskjudge.monitor.tables import alarm_table
    from riskjudge.signals import load_any_gate

    fitted = load_any_gate(gate)
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
        alarm = alarm.add_batch(list(seen.item_id[counted]), list(seen.wrong[counted]))
    if state is not None:
        alarm.save(state)
    if as_json:
        options.print_json(alarm.to_dict())
    else:
        options.show(alarm_table(alarm, ", ".join(map(str, outcomes))), form)
    raise typer.Exit(1 if alarm.raised else 0)
