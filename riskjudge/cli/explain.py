"""``riskjudge explain``: a gate in words."""

from __future__ import annotations

import typer

from riskjudge.cli import options


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("explain")(explain)


def explain(gate: options.GateFile, as_json: options.AsJson = False) -> None:
    """Say what a gate promises, what it is bound to, and what would void it."""
    from riskjudge.signals import load_any_gate
    from riskjudge.signals.explain import explain as explained

    told = explained(load_any_gate(gate))
    if as_json:
        options.print_json({"gate": str(gate), "certificates": [one.to_dict() for one in told]})
        return
    for one in told:
        typer.echo(f"{one.title}\n")
        typer.echo(f"Promise: {one.promise}")
        parts = (
            ("Rule", one.rule),
            ("Bound to", one.bound_to),
            ("Assumes", one.assumes),
            ("Voided by", one.voided_by),
        )
        for name, lines in parts:
            if lines:
                typer.echo(f"{name}:")
                for line in lines:
                    typer.echo(f"  - {line}")
        typer.echo("")
