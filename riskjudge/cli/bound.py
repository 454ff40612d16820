"""``riskjudge bound``: noise that masks a measured bias of scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from riskjudge.cli import completion, options
from riskjudge.errors import InputError


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("bound")(bound)


def bound(
    scores: Annotated[
        Path, typer.Argument(metavar="SCORES", help="CSV, JSONL or Parquet, one row an item.")
    ],
    score: Annotated[str, typer.Option(help="Column of the scores as they are.")] = "score",
    perturbed: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of the scores under a perturbation, or with --perturbation the name of one; "
            "repeatable."
        ),
    ] = None,
    perturbation: Annotated[
        str | None,
        typer.Option(
            help="Of a table with one row a score: the column that names the perturbation."
        ),
    ] = None,
    original: Annotated[
        str, typer.Option(help="What stands there where nothing was perturbed.")
    ] = "plain",
    tau: Annotated[
        float,
        typer.Option(
            help="Largest tolerated mean effect, a probability; of --method published a distance of scores."
        ),
    ] = 0.1,
    delta: options.Delta = 0.05,
    method: Annotated[
        str,
        typer.Option(
            help="masking, or published.", autocompletion=completion.one_of("masking", "published")
        ),
    ] = "masking",
    family: Annotated[
        str,
        typer.Option(
            help="Over the perturbations of an item: mean, or worst.",
            autocompletion=completion.one_of("mean", "worst"),
        ),
    ] = "mean",
    missing: Annotated[
        str,
        typer.Option(
            help="No score under a perturbation: refuse; or unchanged, where it had nothing to change.",
            autocompletion=completion.one_of("refuse", "unchanged"),
        ),
    ] = "refuse",
    system: Annotated[
        str | None,
        typer.Option("--system", help="Column of systems to rank by their mean noisy score."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The table with a column `bounded` of noisy scores."),
    ] = None,
    item_id: options.ItemId = "item_id",
    group: options.Group = None,
    where: options.Where = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    form: options.Format = "terminal",
) -> None:
    """Add noise to scores, as little as masks a measured bias, and say what is promised.

    The scores of the same items under perturbations that should change nothing tell how large the
    bias is. Exit code 0: a promise holds. 1: too few items for one.
    """
    from riskjudge.io.tables import read_table, write_table
    from riskjudge.reliability.bounded import Masking, mask
    from riskjudge.reliability.published import Published, published
    from riskjudge.reliability.ranking import rank_systems
    from riskjudge.reliability.scores import read_scores, widened
    from riskjudge.reliability.tables import bound_table, ranking_table

    if method not in ("masking", "published"):
        raise InputError(f"--method takes masking or published, got {method!r}")
    if method == "published" and (system is not None or family != "mean"):
        raise InputError("--system and --family belong to --method masking")
    if perturbation is None and not perturbed:
        raise InputError(
            "say where the perturbed scores are: --perturbed COLUMN for each, or --perturbation COLUMN"
        )
    names = [name for name in (item_id, group, system, perturbation) if name is not None]
    frame = options.keep_rows(read_table(scores, text=[*names, "group"]), where, scores)
    if group is None and "group" in frame.columns:
        group = "group"  # as in a trace
    columns = tuple(perturbed or ())
    if perturbation is not None:
        keep = [name for name in (system, group) if name is not None]
        frame, found_in = widened(
            frame, score, perturbation, original, item_id=item_id, keep=keep, source=str(scores)
        )
        columns = columns or found_in
    if output is not None and "bounded" in frame.columns:
        raise InputError(
            f"{scores} has a column 'bounded' already: rename it, or leave --output out"
        )
    read = read_scores(
        frame,
        score,
        columns,
        item_id=item_id,
        group=group,
        system=system,
        missing=missing,
        source=str(scores),
    )
    found: Masking | Published
    sigma: float | None
    if method == "published":
        found = published(read.shifts, tau, delta)
        sigma, holds = found.sigma, True
    else:
        found = mask(read.shifts, tau, delta, family=family, unit=read.unit)
        sigma, holds = found.sigma, found.sigma is not None
    ranking = None
    if system is not None and read.system is not None and sigma is not None:
        ranking = rank_systems(read.scores, read.system, sigma, shifts=read.shifts, seed=seed)
    if output is not None and holds:
        order = read.order()
        noisy = found.publish(read.scores[order], seed=seed)
        bounded = noisy.copy()
        bounded[order] = noisy
        write_table(frame.assign(bounded=bounded), output)
    if as_json:
        told = {} if ranking is None else {"ranking": ranking.to_dict()}
        options.print_json(found.to_dict() | {"perturbations": list(read.names)} | told)
    else:
        options.show(bound_table(found, str(scores), read.names), form)
        if ranking is not None:
            options.show(ranking_table(ranking), form)
        if output is not None:
            said = f"noisy scores written to {output}" if holds else f"nothing written to {output}"
            typer.echo(f"{said} (keep the seed to yourself: it undoes the noise)", err=True)
    raise typer.Exit(0 if holds else 1)
