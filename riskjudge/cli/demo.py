"""``riskjudge demo``: the whole flow in under a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from riskjudge.cli import options


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("demo")(demo)


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for what it makes.")
    ] = Path("riskjudge-demo"),
    alpha: options.Alpha = 0.15,
    delta: options.Delta = 0.05,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
) -> None:
    """Calibrate, decide, report and draw on a synthetic trace that ships with riskjudge."""
    from riskjudge.demo import SOURCE, run_demo
    from riskjudge.evaluation.render import certificate_table, report_tables

    made = run_demo(
        output,
        alpha=alpha,
        delta=delta,
        seed=seed,
        say=lambda text: typer.echo(f"… {text}", err=True),
    )
    certificate = made.router.certificate_
    if as_json:
        options.print_json(
            {
                "source": SOURCE,
                "certificate": certificate.to_dict(),
                "report": made.report.to_dict(),
                "files": [str(path) for path in made.files],
            }
        )
    else:
        options.show(certificate_table(certificate, SOURCE))
        for table in report_tables(made.report, f"{SOURCE}, the items not calibrated on"):
            options.show(table)
        typer.echo(
            f"\n{len(made.files)} files are in {output}/: {', '.join(p.name for p in made.files)}"
        )
    raise typer.Exit(0 if certificate.certified else 1)
