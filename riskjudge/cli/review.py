"""``riskjudge review``: what was left to people, sorted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from riskjudge.cli import completion, options
from riskjudge.errors import InputError


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("review")(review)


def review(
    outcomes: options.OutcomesFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The queue: .csv, .jsonl or .parquet.")
    ] = None,
    order: Annotated[
        str,
        typer.Option(
            help="least-sure first, or nearest to the threshold first (needs --gate).",
            autocompletion=completion.one_of("least-sure", "nearest"),
        ),
    ] = "least-sure",
    gate: Annotated[
        Path | None, typer.Option(help="The gate that decided: adds each item's threshold.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Rows to print.")] = 20,
    as_json: options.AsJson = False,
    form: options.Format = "terminal",
) -> None:
    """List what was not accepted, and why, in the order in which people should look at it."""
    from riskjudge.evaluation.review import queue_table, review_queue
    from riskjudge.gate.outcomes import read_outcomes
    from riskjudge.io.tables import write_table
    from riskjudge.page.examples import text_columns
    from riskjudge.page.gates import require_own_outcomes, thresholds_for
    from riskjudge.signals import load_any_gate

    seen = read_outcomes(outcomes)
    thresholds = None
    if gate is not None:
        fitted = load_any_gate(gate)
        if not fitted.fitted:
            raise InputError(f"{gate} is not fitted: it has no threshold")
        require_own_outcomes(fitted, seen)
        thresholds = thresholds_for(fitted, seen)
    queue = review_queue(seen, order, thresholds)
    if output is not None:
        write_table(queue, output)
    if as_json:
        import json

        rows = json.loads(queue.head(limit).to_json(orient="records", double_precision=15))
        options.print_json({"items": len(queue), "order": order, "rows": rows})
    else:
        texts = text_columns(list(queue.columns))
        options.show(queue_table(queue, texts, limit, str(outcomes)), form)
    if output is not None:
        typer.echo(f"{len(queue)} items written to {output}", err=True)
