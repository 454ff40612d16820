"""``riskjudge stress``: does the judge change its mind when only the surface changes?"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riskjudge._checks import check_level
from riskjudge.cli import options
from riskjudge.cli.item_options import (
    Candidates,
    Items,
    ItemsFormat,
    Labels,
    LedgerFile,
    Limit,
    Systems,
    beside,
    read_asked,
    refuse_incomplete,
    say_changed,
)
from riskjudge.cli.model_options import ModelOptions, open_judges, with_model_options
from riskjudge.errors import InputError, OperationalError

if TYPE_CHECKING:
    from riskjudge.judges import Judge
    from riskjudge.judges.judging import AnyGate
    from riskjudge.ledger import Row
    from riskjudge.llm import Budget
    from riskjudge.reliability import Probe, Reaction, RiskUnder


ChangedTolerance = Annotated[
    float, typer.Option(help="Share of changed verdicts tolerated without a repetition.")
]
FindingLevel = Annotated[
    float, typer.Option(help="Chance of any finding at a judge that nothing changes.")
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("stress")(stress)


@with_model_options
def stress(
    *,
    items: Items,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="A trace of all that was asked (.csv, .parquet), with a ledger beside it; or a ledger.",
        ),
    ],
    perturbations: Annotated[
        str | None,
        typer.Option(
            help="Names or families with commas between them, or all. (default: one or two of each "
            "family; a name that there is none of lists them)"
        ),
    ] = None,
    rewrites: Annotated[
        Path | None,
        typer.Option(
            help="JSONL of responses that a model or a person rewrote: id, perturbation, response."
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="Judges composed in TOML, in place of a model.")
    ] = None,
    uncertainty: Annotated[
        str | None, typer.Option(help="With --config, the trace's measure. (default: confidence)")
    ] = None,
    gate: Annotated[
        Path | None,
        typer.Option(help="A gate: its risk on the items as they came, and on perturbed ones."),
    ] = None,
    on_mismatch: options.OnMismatch = "refuse",
    floors: Annotated[
        list[str] | None,
        typer.Option(
            "--floor",
            metavar="NAME=SHARE",
            help="Least share of verdicts that stay as they have to, of a perturbation, a family or "
            "all; exit code 1 where it is missed. Repeatable.",
        ),
    ] = None,
    tolerance: ChangedTolerance = 0.05,
    level: FindingLevel = 0.05,
    by: options.By = None,
    labels: Labels = None,
    form: ItemsFormat = None,
    systems: Systems = "",
    candidates: Candidates = None,
    limit: Limit = None,
    ledger: LedgerFile = None,
    seed: options.Seed = 0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be asked, and ask nothing.")
    ] = False,
    tables: Annotated[
        str, typer.Option("--tables", help="terminal, markdown, latex or csv.")
    ] = "terminal",
    as_json: options.AsJson = False,
    models: ModelOptions,
) -> None:
    """Perturb items and ask again: flips, accuracy and confidence under each perturbation.

    Surface changes (format, length, wording, praise, position, an instruction inside the answer) must
    not change a verdict; an answer that is wrong by construction must be judged wrong. With --gate the
    report says what the gate's risk becomes. A ledger that is already there goes on. Exit code 1: a
    floor is missed.
    """
    from riskjudge.items.admission import admissions
    from riskjudge.ledger import LedgerWriter
    from riskjudge.reliability import (
        DEFAULT,
        Floor,
        check_gate,
        check_tolerance,
        left_to_ask,
        perturbations_named,
        plan_stress,
        reactions,
        read_rewrites,
        run_stress,
    )

    check_level(level, "level")
    extra = read_rewrites(rewrites) if rewrites is not None else []
    names = DEFAULT if perturbations is None else _split(perturbations)
    chosen = perturbations_named(names, extra)
    held = [Floor.parse(text, [p.name for p in chosen]) for text in floors or ()]
    ways = admissions(labels or ["column"])
    if any(way.kind == "llm" for way in ways):
        raise InputError("stress asks no evaluator; label with exact, f1 or column")
    check_tolerance(tolerance)
    asked = read_asked(items, form, systems, candidates, limit, ways)
    if by is not None and not any(by == "subset" or by in item.extra for item in asked):
        raise InputError(f"no item has the column {by!r}")
    trace, path = _files(output, ledger)
    loaded = _gate(gate)
    with ExitStack() as stack:
        budget = models.budget()
        judges, measure, concurrency = _judges(stack, models, config, uncertainty, output, budget)
        if loaded is not None:  # whatever would be refused in the end is refused before it costs
            check_gate(loaded, judges, measure, on_mismatch)
        probes = plan_stress(judges, asked, chosen, seed)
        writer = stack.enter_context(LedgerWriter(path))
        say_changed(writer.rows, asked, judges)
        left = left_to_ask(probes, writer)
        _say_cost(probes, left)
        if dry_run:
            return
        bar = stack.enter_context(options.progress_bar("asking", left))
        run_stress(probes, writer, concurrency=concurrency, report=bar)
        rows = writer.rows
    found = reactions(rows, tolerance=tolerance, by=by)
    risks: list[RiskUnder] = []
    if loaded is not None:
        from riskjudge.reliability import risk_under

        risks = risk_under(loaded, probes, rows, measure, on_mismatch)
    if trace is not None:
        _write_trace(probes, rows, measure, trace)
    missed = [(floor, r) for floor in held for r in floor.missed_by(found)]
    if as_json:
        options.print_json(
            {
                "schema_version": 1,
                "reactions": [{**r.to_dict(), "found": r.found(level)} for r in found],
                "gate": [risk.to_dict() for risk in risks],
                "floors_missed": [
                    {"floor": f.name, "least": f.least, "perturbation": r.perturbation,
                     "judge": r.judge, "mode": r.mode, "kept": r.kept.to_dict()}
                    for f, r in missed
                ],
            }
        )  # fmt: skip
    else:
        _print(found, risks, loaded, str(items), level, tables)
    every = [item for probe in probes for item in probe.items]
    refuse_incomplete(rows, every, judges, budget)
    if all(r.changed.of == 0 for r in found):
        raise OperationalError(
            "no item has a verdict both before and after; nothing can be compared"
        )
    for floor, r in missed:
        typer.echo(
            f"floor missed: {r.judge}/{r.mode} keeps {r.kept.count} of {r.kept.of} verdicts under "
            f"{r.perturbation}, {floor.name} asks for {floor.least:g}",
            err=True,
        )
    if missed:
        raise typer.Exit(1)


def _split(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InputError("--perturbations takes names with commas between them")
    return names


def _files(output: Path, ledger: Path | None) -> tuple[Path | None, Path]:
    """The trace, if one is wanted, and the ledger."""
    if output.suffix == ".jsonl":
        if ledger is not None:
            raise InputError(f"{output} is itself a ledger; for a trace write .csv or .parquet")
        return None, output
    from riskjudge.io.tables import table_format

    table_format(output)
    return output, ledger or beside(output, "ledger.jsonl")


def _gate(path: Path | None) -> AnyGate | None:
    if path is None:
        return None
    from riskjudge.signals.gate import load_any_gate

    return load_any_gate(path)


def _judges(
    stack: ExitStack,
    models: ModelOptions,
    config: Path | None,
    uncertainty: str | None,
    output: Path,
    budget: Budget,
) -> tuple[Sequence[Judge], str | None, int]:
    """The judges, the measure of their uncertainty, and how many are asked at once."""
    if config is None:
        if uncertainty is not None:
            raise InputError("--uncertainty goes with --config; a model's judges have their own")
        judges, _ = stack.enter_context(open_judges(models, beside(output, "cache.sqlite"), budget))
        return judges, None, models.concurrency
    from riskjudge.judges import read_judges

    models.refuse_beside("--config")
    # One at a time: a scripted judge may count its calls.
    read = read_judges(config, budget=budget, rate=models.rate_limit())
    return read, uncertainty or "confidence", 1


def _say_cost(probes: Sequence[Probe], left: int) -> None:
    total = sum(len(probe) for probe in probes)
    each = max(_calls(judge) for judge in probes[0].judges)
    calls = "" if each == 1 else f", up to {each} calls each"
    kinds = len(probes) - 1
    typer.echo(
        f"{len(probes[0].items)} items, {kinds} perturbation{'s' * (kinds != 1)}, "
        f"{len(probes[0].judges)} judge(s): {total} judgements, {left} left to ask{calls}",
        err=True,
    )
    for probe in probes[1:]:
        if not len(probe):
            typer.echo(f"{probe.name} applies to no item and judge: left out", err=True)


def _calls(judge: Any) -> int:
    """Calls that one judgement takes, as far as the judge says."""
    settings, prompt = getattr(judge, "settings", None), getattr(judge, "prompt", None)
    return 1 if settings is None or prompt is None else int(settings.samples_for(prompt))


def _write_trace(
    probes: Sequence[Probe], rows: Sequence[Row], measure: str | None, path: Path
) -> None:
    from riskjudge.io.tables import write_table
    from riskjudge.reliability import stressed_trace

    try:
        trace = stressed_trace(probes, rows, measure)
    except OperationalError as error:
        typer.echo(f"no trace written: {error}", err=True)
        return
    write_table(trace.to_frame(), path)
    typer.echo(f"{len(trace)} rows, by the column perturbation, in {path}", err=True)


def _print(
    found: Sequence[Reaction],
    risks: Sequence[RiskUnder],
    gate: AnyGate | None,
    source: str,
    level: float,
    tables: str,
) -> None:
    from riskjudge.reliability.render import reaction_tables, risk_table

    for table in reaction_tables(found, source, level):
        options.show(table, tables)
    if gate is not None:
        options.show(risk_table(risks, getattr(gate, "alpha", None), source), tables)
