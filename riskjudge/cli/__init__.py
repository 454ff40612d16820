"""The command line: thin. Parse, call, print, exit code.

Exit codes: 0 done (and certified), 1 nothing certifies or a check says no, 2 bad input or usage,
3 the work could not be done, 130 interrupted.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence

import typer

from riskjudge.cli import (
    agreement,
    audit,
    bias,
    bound,
    calibrate,
    census,
    check,
    decide,
    demo,
    evidence,
    explain,
    fuse,
    judge,
    label,
    page,
    plan,
    plot,
    plot_escalation,
    plot_rates,
    plot_stress,
    rate,
    read,
    reading,
    report,
    reproduce,
    review,
    run,
    signal_plots,
    sql,
    stress,
    sweep,
    trace,
    watch,
)
from riskjudge.cli.guard import GuardedGroup
from riskjudge.cli.importing import add_options
from riskjudge.errors import OperationalError, RiskJudgeError

app = typer.Typer(
    name="riskjudge",
    cls=GuardedGroup,
    help="Which verdicts of my LLM judge may I trust?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        from riskjudge._version import __version__

        typer.echo(f"riskjudge {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    pass


for _commands in (
    demo,
    read,
    calibrate,
    explain,
    sweep,
    plan,
    decide,
    report,
    page,
    review,
    sql,
    stress,
    rate,
    label,
    plot,
    plot_escalation,
    plot_rates,
    plot_stress,
    signal_plots,
    check,
    watch,
    audit,
    reproduce,
    judge,
    run,
    evidence,
    fuse,
    bound,
    bias,
    census,
    reading,
    trace,
    agreement,
):
    _commands.register(app)
add_options(app)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with a code that means something."""
    try:
        app(args=arguments)  # exits by itself: 0, a command's own code, or 2 for bad usage
    except OperationalError as error:
        typer.echo(f"riskjudge: {error}", err=True)
        sys.exit(3)
    except RiskJudgeError as error:
        typer.echo(f"riskjudge: {error}", err=True)
        sys.exit(2)
    except OSError as error:
        typer.echo(f"riskjudge: {error}", err=True)
        sys.exit(3)
    except Exception:
        # A fault of ours must not read as "nothing certifies", which is exit code 1.
        traceback.print_exc()
        typer.echo("riskjudge: this should not have happened; please report it", err=True)
        sys.exit(3)
