"""``riskjudge fuse``: teach a fusion of signals with some of the labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riskjudge.cli import completion, options
from riskjudge.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from riskjudge.data.trace import Trace
    from riskjudge.signals import Cost, FusedGate, Signal

Signals = Annotated[
    str | None,
    typer.Option(
        help="What is fused, separated by spaces: modes, flips, gap:A,B, column:NAME, number:NAME, "
        "category:NAME, probability:NAME, popularity:NAME, length:NAME, overlap:A,B; @2 puts one "
        "into tier 2. All modes by default."
    ),
]
TrainShare = Annotated[
    str, typer.Option("--train-share", help="Share of the labels that teach, or auto.")
]
Train = Annotated[
    list[Path] | None,
    typer.Option(help="Labelled items from elsewhere that teach, so that no label here is spent."),
]
Calibrators = Annotated[
    list[str] | None,
    typer.Option(
        "--calibrator", metavar="FAMILY=NAME", help="platt, beta or isotonic for a signal family."
    ),
]
Costs = Annotated[
    list[str] | None,
    typer.Option(
        "--cost",
        metavar="SIGNAL=AMOUNT",
        help="What a signal costs an item, in --unit; repeatable.",
    ),
]
Unit = Annotated[
    str,
    typer.Option(
        help="Of costs: money, calls, tokens or seconds.",
        autocompletion=completion.one_of("money", "calls", "tokens", "seconds"),
    ),
]
Staged = Annotated[
    bool, typer.Option("--staged", help="A stage for each tier: dear signals only where needed.")
]
MaxCost = Annotated[
    float | None,
    typer.Option("--max-cost", help="Bound on the mean cost of an item, certified too."),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("fuse")(fuse)


def fuse(
    trace: options.TraceFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The fused trace, without the teaching rows.")
    ],
    fusion: Annotated[Path, typer.Option(help="Where the fusion goes, JSON.")],
    signals: Signals = None,
    train_share: TrainShare = "auto",
    train: Train = None,
    calibrators: Calibrators = None,
    estimator: Annotated[
        str,
        typer.Option(
            help="logistic or logistic_weak.",
            autocompletion=completion.one_of("logistic", "logistic_weak"),
        ),
    ] = "logistic",
    staged: Staged = False,
    costs: Costs = None,
    unit: Unit = "money",
    modes: options.Modes = None,
    item_id: options.ItemId = "item_id",
    label: options.Label = "label",
    group: options.Group = None,
    where: options.Where = None,
    scale: options.Scale = None,
    cut: options.Cut = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
) -> None:
    """Teach a fusion, and write the other rows with a fused mode before their own.

    Calibrate on what is written: ``riskjudge calibrate FUSED --fusion FUSION``. Or do both at once:
    ``riskjudge calibrate TRACE --fuse``.
    """
    from riskjudge.io.tables import write_table
    from riskjudge.signals import fit_fusion, fused_trace, split_teaching, write_fusion
    from riskjudge.signals.document import fusion_digest
    from riskjudge.signals.teaching import refuse_taught

    table = options.load_trace(
        trace,
        modes,
        item_id=item_id,
        label=label,
        group=group,
        where=where,
        grading=options.grading_of(scale, cut),
    )
    chosen = signals_from(signals, table, costs, unit)
    more = training_rows(train, table, item_id, label, group)
    teaching, rest = more, table
    if teaching is None:
        teaching, rest = split_teaching(table, len(chosen), share_from(train_share), seed)
    fitted = fit_fusion(
        teaching,
        chosen,
        calibrators=calibrators_from(calibrators),
        estimator=estimator,
        staged=staged,
        beside=rest if more is None else None,
        seed=seed,
    )
    refuse_taught(fitted, rest)
    fused = fused_trace(fitted, rest, fusion_digest(fitted))
    write_fusion(fitted, fusion)
    write_table(named_frame(fused), output)
    if as_json:
        told = {"taught_by": len(teaching), "signals": len(fitted.signals), "items": len(rest)}
        options.print_json(told | {"trace": str(output), "fusion": str(fusion)})
        return
    typer.echo(
        f"{len(teaching)} labelled items taught {len(fitted.signals)} signals; the other "
        f"{len(rest)} items written to {output}, the fusion to {fusion}",
        err=True,
    )


def named_frame(trace: Trace) -> pd.DataFrame:
    """The trace as a table whose columns keep the names they were read from."""
    names: dict[str, str] = {}
    unnamed = []
    for k, mode in enumerate(trace.columns, start=1):
        parts = {"v": mode.verdict, "u": mode.uncertainty, "why": mode.why, "source": mode.source}
        if mode.verdict.startswith("v"):  # the name of v1's mode stands in mode1
            parts["mode"] = f"mode{mode.verdict[1:]}"
        else:
            unnamed.append(f"mode{k}")
        names |= {f"{short}{k}": name for short, name in parts.items() if name is not None}
    return trace.to_frame().drop(columns=unnamed, errors="ignore").rename(columns=names)


def calibrated(
    gate: FusedGate, table: Trace, pool: Trace | None, fusion: Path | None, train: Trace | None
) -> FusedGate:
    """The gate calibrated with a fusion that `fuse` wrote, or one that some labels teach now."""
    if fusion is None:
        return gate.fit(table, pool, train)
    from riskjudge.signals import read_fusion

    if train is not None:
        raise InputError("--train teaches a new fusion; leave out --train or --fusion")
    fitted = read_fusion(fusion)
    missing = [mode for mode in fitted.modes if mode not in table.modes]
    if missing:
        raise InputError(
            f"{fusion} was made from the modes {', '.join(fitted.modes)}; the trace has "
            f"{', '.join(table.modes)}. Name them with --mode"
        )
    return gate.calibrate(fitted, table.select(fitted.modes), pool)


def fused_gate(
    table: Trace,
    *,
    alpha: float,
    delta: float,
    signals: str | None,
    train_share: str,
    calibrators: Sequence[str] | None,
    staged: bool,
    costs: Sequence[str] | None,
    max_cost: float | None,
    unit: str,
    groups: str,
    seed: int,
) -> FusedGate:
    """An unfitted fused gate from the command line's words."""
    from riskjudge.signals import FusedGate

    return FusedGate(
        alpha,
        delta,
        signals=signals_from(signals, table, costs, unit),
        train_share=share_from(train_share),
        calibrators=calibrators_from(calibrators),
        staged=staged,
        max_cost=max_cost,
        unit=unit,
        groups=groups,
        seed=seed,
    )


def refuse_others(given: dict[str, object]) -> None:
    """Turn options away that a fused gate does not take."""
    for option, value in given.items():
        if value is not None:
            raise InputError(f"a fused gate is calibrated without {option}")


def signals_from(
    text: str | None, table: Trace, costs: Sequence[str] | None, unit: str
) -> tuple[Signal, ...]:
    """Signals of the trace, with what they cost."""
    from riskjudge.signals import parse_signals

    priced = {name: _cost(amount, unit) for name, amount in _pairs(costs, "--cost")}
    return parse_signals((text or "modes").split(), table, priced)


def training_rows(
    files: Sequence[Path] | None, table: Trace, item_id: str, label: str, group: str | None
) -> Trace | None:
    """Labelled items from other files, below one another."""
    from riskjudge.data.trace import stack

    if not files:
        return None
    traces = [
        options.load_trace(
            path,
            table.columns,
            item_id=item_id,
            label=label,
            group=group,
            grading=table.grading,
        )
        for path in files
    ]
    ids = [i for part in traces for i in part.item_id]
    if len(set(ids)) < len(ids):
        twice = next(i for i in ids if ids.count(i) > 1)
        raise InputError(f"the training files hold the item {twice!r} twice")
    return traces[0] if len(traces) == 1 else stack(traces)


def share_from(text: str) -> float | None:
    """A share, or None for auto."""
    if text == "auto":
        return None
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--train-share takes a number or auto, got {text!r}") from None


def calibrators_from(settings: Sequence[str] | None) -> dict[str, str]:
    """Calibrators by family."""
    return dict(_pairs(settings, "--calibrator"))


def _pairs(settings: Sequence[str] | None, option: str) -> list[tuple[str, str]]:
    found = []
    for setting in settings or ():
        key, equals, value = setting.rpartition("=")
        if not equals:
            raise InputError(f"{option} takes KEY=VALUE, got {setting!r}")
        found.append((key.strip(), value.strip()))
    return found


def _cost(amount: str, unit: str) -> Cost:
    from riskjudge.signals import Cost

    if unit not in ("calls", "tokens", "money", "seconds"):
        raise InputError(f"--unit takes calls, tokens, money or seconds, got {unit!r}")
    try:
        return Cost(**{unit: float(amount)})
    except ValueError:
        raise InputError(f"--cost takes SIGNAL=AMOUNT, got the amount {amount!r}") from None
