"""Commands that find evidence, keep it, and measure how it drifts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riskjudge.cli import completion, options
from riskjudge.errors import InputError

if TYPE_CHECKING:
    from riskjudge.display.table import Table
    from riskjudge.retrieval import Drift, Tally

Source = Annotated[
    str,
    typer.Option(
        "--retriever",
        help="bm25:PASSAGES.jsonl, bm25:FOLDER, snapshot:FILE, ddgs:, tavily: or serper:.",
    ),
]
Depth = Annotated[int, typer.Option("-k", "--depth", help="Passages for each query.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the application, as ``evidence …``."""
    evidence = typer.Typer(
        help="Find evidence, keep a snapshot of it, and measure its drift.", no_args_is_help=True
    )
    evidence.command("search")(search)
    evidence.command("snapshot")(snapshot)
    evidence.command("compare")(compare)
    app.add_typer(evidence, name="evidence")


def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    retriever: Source,
    k: Depth = 3,
    as_json: options.AsJson = False,
) -> None:
    """Show what a source answers to one query: what a judge would read."""
    from dataclasses import asdict

    from riskjudge.retrieval import make_retriever

    source = make_retriever(retriever)
    found = source.search(query, k)
    if as_json:
        options.print_json(
            {"retriever": source.describe(), "results": [asdict(passage) for passage in found]}
        )
        return
    for passage in found:
        typer.echo(f"{passage.rank}. {passage.title}\n   {passage.snippet}\n   {passage.url}")
    if not found:
        typer.echo("the source answered and has nothing", err=True)


def snapshot(
    items: Annotated[
        Path, typer.Argument(metavar="ITEMS", help="JSONL of ours, NQ-open JSONL, or EVOUNA JSON.")
    ],
    retriever: Source,
    output: Annotated[Path, typer.Option("--output", "-o", help="The snapshot, JSONL.")],
    k: Depth = 3,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="items, nq-open or evouna. (default: by its content)",
            autocompletion=completion.one_of("items", "nq-open", "evouna"),
        ),
    ] = None,
    concurrency: Annotated[int, typer.Option(help="Searches at the same time.")] = 4,
    as_json: options.AsJson = False,
) -> None:
    """Record what a source answers to every question, to replay it as snapshot:FILE.

    Run it again to fill in what failed or was interrupted. Exit code 3 while anything is missing.
    """
    from riskjudge.retrieval import Recorder, make_retriever, record_queries

    questions = _questions(items, form)
    with (
        Recorder(make_retriever(retriever), output) as recorder,
        options.progress_bar("searching", len(questions)) as progress,
    ):
        tally = record_queries(recorder, questions, k, concurrency=concurrency, progress=progress)
    failed = sum(tally.failed.values())
    if as_json:
        options.print_json(
            {
                "questions": len(questions),
                "answered": tally.answered,
                "empty": tally.empty,
                "failed": {kind.value: count for kind, count in sorted(tally.failed.items())},
            }
        )
    else:
        typer.echo(_said(tally, output))
    if failed:
        typer.echo(f"first failure: {tally.first_failure}", err=True)
        raise typer.Exit(3)


def compare(
    first: Annotated[Path, typer.Argument(help="The snapshot that thresholds were fitted on.")],
    second: Annotated[Path, typer.Argument(help="A later one.")],
    k: Depth = 3,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Overlap of every query: CSV, JSONL …")
    ] = None,
    as_json: options.AsJson = False,
    form: options.Format = "terminal",
) -> None:
    """Measure drift: Jaccard overlap of two snapshots' top-k, ranked and unranked."""
    from riskjudge.io.tables import write_table
    from riskjudge.retrieval import compare_snapshots, read_snapshot

    drift = compare_snapshots(read_snapshot(first), read_snapshot(second), k)
    if output is not None:
        import pandas as pd

        write_table(pd.DataFrame(drift.to_dict()["queries"]), output)
    if as_json:
        options.print_json(drift.to_dict())
    else:
        options.show(_drift_table(drift), form)


def _questions(path: Path, form: str | None) -> list[str]:
    """The questions as `judge` asks them, each once."""
    from riskjudge.items.questions import read_questions

    items = read_questions(path, form)
    for item in items:
        if not item.prompt.strip():
            raise InputError(f"{path}: item {item.id!r} has no question")
    return list(dict.fromkeys(item.prompt for item in items))


def _said(tally: Tally, output: Path) -> str:
    kinds = ", ".join(f"{kind.value} {count}" for kind, count in sorted(tally.failed.items()))
    failed = f"{sum(tally.failed.values())} failed ({kinds})" if kinds else "none failed"
    return f"{tally.answered} answered, {tally.empty} with no result, {failed}; {output}"


def _drift_table(drift: Drift) -> Table:
    from riskjudge.display.table import Table

    def rate(value: float | None) -> str:
        return "undefined" if value is None else f"{value:.3f}"

    return Table(
        f"Drift of the top-{drift.k}",
        ("", "value"),
        (
            ("queries in both", str(len(drift.queries))),
            ("mean Jaccard overlap", rate(drift.mean_unranked)),
            ("mean Jaccard overlap, ranked", rate(drift.mean_ranked)),
            ("same pages in the same order", str(drift.unchanged)),
            ("no result in either", str(drift.undefined)),
            ("only in the first", str(len(drift.only_first))),
            ("only in the second", str(len(drift.only_second))),
        ),
    )
