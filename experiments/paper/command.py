"""What the scripts of this folder share: one table or figure through ``riskjudge reproduce``."""

from __future__ import annotations

import sys

import typer

from riskjudge.cli.reproduce import register


def run(name: str) -> None:
    """Reproduce one table or figure; the command line's options apply (``--help`` lists them)."""
    app = typer.Typer(add_completion=False)
    register(app)
    app([name, *sys.argv[1:]])
