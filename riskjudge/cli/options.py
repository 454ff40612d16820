"""Options that several commands share, and what they turn into."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riskjudge._checks import check_level
from riskjudge.cli import completion
from riskjudge.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from riskjudge.calibration import Procedure
    from riskjudge.data.grading import Grading
    from riskjudge.data.modes import ModeColumns
    from riskjudge.data.trace import Trace
    from riskjudge.display.table import Table
    from riskjudge.gate import Router, SelectiveGate
    from riskjudge.gate.outcomes import Outcomes

TraceFile = Annotated[
    Path, typer.Argument(metavar="TRACE", help="CSV, JSONL or Parquet, one row an item.")
]
GateFile = Annotated[Path, typer.Argument(metavar="GATE", help="JSON, written by calibrate.")]
OutcomesFile = Annotated[Path, typer.Argument(metavar="OUTCOMES", help="Written by decide.")]
By = Annotated[str | None, typer.Option(help="Report each value of this column too.")]
Floor = Annotated[
    int | None,
    typer.Option(
        "--floor",
        "--min-n",
        min=1,
        help="With fewer graded items a rate is insufficient. (default: 30, of segments only)",
    ),
]
Modes = Annotated[
    list[str] | None,
    typer.Option(
        "--mode",
        help="A mode as name=verdict,uncertainty; repeat it in the order of asking. By default v1,u1 v2,u2 …",
    ),
]
ItemId = Annotated[str, typer.Option("--item-id", help="Column of the unique id.")]
Label = Annotated[str, typer.Option("--label", help="Column of the label.")]
Group = Annotated[str | None, typer.Option("--group", help="Column of groups of dependent items.")]
Scale = Annotated[
    str | None,
    typer.Option(
        help="Verdicts and labels are scores of this scale, as 1-5 or 0-1; with --cut or --tolerance."
    ),
]
Cut = Annotated[
    float | None,
    typer.Option(help="Scores from here on are verdict 1; an error is the wrong side of the cut."),
]
Tolerance = Annotated[
    float | None,
    typer.Option(help="An error is a score more than this far from the label."),
]
Where = Annotated[
    list[str] | None, typer.Option("--where", help="Keep rows where column=value; repeatable.")
]
Alpha = Annotated[float, typer.Option(help="Largest tolerated error rate among accepted verdicts.")]
Alphas = Annotated[
    str | None,
    typer.Option(
        help="Risk levels, with commas between. [default: the paper's, .05 to .60 by .05]"
    ),
]
Delta = Annotated[
    float, typer.Option(help="Largest tolerated probability of breaking that promise.")
]
ProcedureName = Annotated[
    str | None,
    typer.Option(
        "--procedure",
        help="How thresholds are chosen; the best valid way by default.",
        autocompletion=completion.procedures,
    ),
]
ProcedureOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="An option of the procedure, the value as JSON; repeatable.",
    ),
]
ByVerdict = Annotated[
    bool, typer.Option("--by-verdict", help="A threshold for each verdict of a mode.")
]
Groups = Annotated[
    str,
    typer.Option(
        "--groups",
        help="Where labelled items share a group: refuse, or sample one of each.",
        autocompletion=completion.one_of("refuse", "sample"),
    ),
]
MaxRetrieval = Annotated[
    float | None,
    typer.Option("--max-retrieval", help="Largest share of items sent past the first mode."),
]
Only = Annotated[str | None, typer.Option("--only", help="Calibrate this one mode alone.")]
StatedSource = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        metavar="MODE:KEY=VALUE",
        help="What made a mode's scores, where the trace does not say: model, prompt, measure …; "
        "repeatable.",
    ),
]
OnMismatch = Annotated[
    str,
    typer.Option(
        "--on-mismatch",
        help="Scores that were not made as the gate's: refuse, or uncertify (no outcome is certified).",
        autocompletion=completion.one_of("refuse", "uncertify"),
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of whatever is drawn at random.")]
Splits = Annotated[int, typer.Option(help="Random splits.")]
Share = Annotated[float, typer.Option(help="Share of the labelled items to calibrate on.")]
Jobs = Annotated[int, typer.Option(help="Parallel jobs; -1 for one a core.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Format = Annotated[
    str,
    typer.Option(
        "--format",
        help="terminal, markdown, latex, csv or json.",
        autocompletion=completion.one_of("terminal", "markdown", "latex", "csv", "json"),
    ),
]


def load_trace(
    path: Path,
    modes: Sequence[str] | Sequence[ModeColumns] | None = None,
    *,
    item_id: str = "item_id",
    label: str = "label",
    group: str | None = None,
    where: Sequence[str] | None = None,
    frame: pd.DataFrame | None = None,
    grading: Grading | None = None,
) -> Trace:
    """Read a trace and keep the rows that `where` asks for; `frame` is the file's table if it was read."""
    from riskjudge.data.modes import ModeColumns
    from riskjudge.data.trace import Trace

    if frame is None:
        frame = load_table(path, modes, item_id=item_id, label=label)
    frame = keep_rows(frame, where, path)
    parsed = [m if isinstance(m, ModeColumns) else ModeColumns.parse(m) for m in modes or ()]
    return Trace.from_frame(
        frame,
        modes=parsed or None,
        item_id=item_id,
        label=label,
        group=group,
        source=str(path),
        grading=grading,
    )


def load_table(
    path: Path,
    modes: Sequence[str] | Sequence[ModeColumns] | None = None,
    *,
    item_id: str = "item_id",
    label: str = "label",
) -> pd.DataFrame:
    """The table of a trace, or of another tool's file; see :func:`riskjudge.cli.importing.imported`."""
    from riskjudge.cli.importing import imported
    from riskjudge.data.modes import ModeColumns
    from riskjudge.io.tables import read_table

    given = [ModeColumns.parse(mode) for mode in modes or () if isinstance(mode, str)]
    found = imported(
        path,
        columns=[column for mode in given for column in (mode.verdict, mode.uncertainty)],
        judges=[mode.name for mode in modes or () if isinstance(mode, ModeColumns)],
        item_id=item_id,
        label=label,
    )
    return read_table(path, text=[item_id]) if found is None else found


def grading_of(
    scale: str | None = None,
    cut: float | None = None,
    tolerance: float | None = None,
    gate: Any = None,
) -> Grading | None:
    """How scores are graded: as the flags say, or as a fitted gate was calibrated."""
    from riskjudge.data.grading import Grading

    fitted = getattr(getattr(gate, "router_", gate), "grading_", None)
    if scale is not None:
        return Grading.parse(scale, cut=cut, tolerance=tolerance)
    if (cut, tolerance) != (None, None):
        raise InputError("--cut and --tolerance are about scores: give their --scale, as 1-5, too")
    found: Grading | None = fitted
    return found


@dataclass(frozen=True)
class OpenRouter:
    """A gate with one certificate for all items, and a trace as its router sees it.

    A fused gate is a router over a trace in which the fused modes stand before the others.
    """

    gate: Any
    router: Router

    @property
    def columns(self) -> Sequence[ModeColumns] | None:
        """What is read from a table."""
        return self.gate.columns_ if self.gate.fitted else None

    def see(self, trace: Trace) -> Trace:
        """A trace for the router."""
        seen: Trace = trace if self.gate is self.router else self.gate.seen(trace)
        return seen

    def untaught(self, trace: Trace) -> Trace:
        """A trace without the rows that taught a fusion: its verdicts have seen their labels."""
        rest: Trace = trace if self.gate is self.router else self.gate.untaught(trace)
        return rest


def open_router(path: Path) -> OpenRouter:
    """Load a gate of any kind but one with a certificate for each group."""
    from riskjudge.gate.load import one_router
    from riskjudge.signals import FusedGate, load_any_gate

    gate = load_any_gate(path)
    router = gate.router_ if isinstance(gate, FusedGate) else one_router(gate, path)
    return OpenRouter(gate, router)


def own_group(outcomes: Outcomes) -> str | None:
    """The column of groups that outcomes carry, if there is one."""
    return "group" if "group" in outcomes.extra.columns else None


def keep_rows(frame: pd.DataFrame, where: Sequence[str] | None, path: Path) -> pd.DataFrame:
    """The rows of a table that every condition ``column=value`` holds for."""
    for condition in where or ():
        column, equals, value = condition.partition("=")
        if not equals:
            raise InputError(f"--where takes column=value, got {condition!r}")
        if column not in frame.columns:
            raise InputError(
                f"{path} has no column {column!r}; its columns are {', '.join(map(str, frame.columns))}"
            )
        kept = frame[_equals(frame[column], value)]
        if kept.empty:
            values = ", ".join(sorted(frame[column].map(str).unique())[:12])
            raise InputError(f"{path}: no row has {column} = {value!r}; there are {values}")
        frame = kept
    return frame


def _equals(column: pd.Series, value: str) -> pd.Series:
    """Rows of a column that read like `value`: 2020 is 2020.0, true is True, nothing is missing."""
    if not value.strip():
        return column.isna()
    same = column.notna() & (column.map(str).str.lower() == value.strip().lower())
    try:
        return same | ((_numbers(column) == float(value)).fillna(False).astype(bool))
    except ValueError:
        return same


def _numbers(column: pd.Series) -> pd.Series:
    """The column as numbers, NaN where it holds none."""
    import pandas as pd

    numbers: pd.Series = pd.to_numeric(column, errors="coerce")
    return numbers


def with_sources(table: Trace, stated: list[str] | None) -> Trace:
    """The trace with the sources that ``--source`` states."""
    from riskjudge.data.source import ScoreSource

    facts: dict[str, dict[str, Any]] = {}
    for text in stated or ():
        mode, colon, fact = text.partition(":")
        key, equals, value = fact.partition("=")
        if not (colon and equals and key):
            raise InputError(f"--source takes MODE:KEY=VALUE, got {text!r}")
        known = table.sources[table.mode_index(mode)]
        if known is not None:
            raise InputError(f"--source {text!r}: the trace says itself what made {mode}: {known}")
        try:
            read = json.loads(value)
        except ValueError:
            read = value
        facts.setdefault(mode, {})[key] = read if isinstance(read, int | float | bool) else value
    return table.with_sources({mode: ScoreSource(given) for mode, given in facts.items()})


def procedure_from(name: str | None, settings: Sequence[str] | None) -> str | Procedure | None:
    """A procedure by name, with the options given as KEY=VALUE."""
    from riskjudge.gate import procedure_named

    options: dict[str, Any] = {}
    for setting in settings or ():
        key, equals, value = setting.partition("=")
        if not equals:
            raise InputError(f"--set takes KEY=VALUE, got {setting!r}")
        try:
            options[key.strip().replace("-", "_")] = json.loads(value)
        except json.JSONDecodeError:
            options[key.strip().replace("-", "_")] = value
    if options and name is None:
        raise InputError("--set belongs to a procedure: name it with --procedure")
    return procedure_named(name, **options) if name is not None else None


def make_gate(
    trace: Trace,
    *,
    alpha: float,
    delta: float,
    procedure: str | Procedure | None,
    by_verdict: bool,
    groups: str,
    max_retrieval: float | None,
    only: str | None,
    seed: int,
    path: Path | None = None,
) -> Router | SelectiveGate:
    """An unfitted router, or a gate over one mode."""
    from riskjudge.gate import Router, SelectiveGate

    shared: dict[str, Any] = {
        "procedure": procedure,
        "path": path,
        "by_verdict": by_verdict,
        "groups": groups,
        "seed": seed,
    }
    if only is not None or trace.n_modes == 1:
        if max_retrieval is not None:
            raise InputError("--max-retrieval needs a router over two or more modes")
        mode = trace.modes[trace.mode_index(only)] if only is not None else None
        return SelectiveGate(alpha, delta, mode=mode, **shared)
    return Router(alpha, delta, max_retrieval=max_retrieval, **shared)


def levels(text: str | None) -> Sequence[float]:
    """Risk levels from numbers with commas between them; the paper's by default."""
    if text is None:
        from riskjudge.evaluation.splits import PAPER_ALPHAS

        return PAPER_ALPHAS
    return [check_level(level, "--alphas") for level in numbers(text, "--alphas")]


def numbers(text: str, option: str) -> list[float]:
    """Numbers with commas between them."""
    try:
        found = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise InputError(f"{option} takes numbers with commas between, got {text!r}") from None
    if not found:
        raise InputError(f"{option} needs at least one number")
    return found


def show(table: Table, form: str = "terminal") -> None:
    """Print a table in one of its forms."""
    from rich.console import Console

    match form:
        case "terminal":
            console = Console()
            console.print(table.title, style="bold", highlight=False, markup=False)
            console.print(table.to_rich(console.width), markup=False)
            for note in table.notes:
                console.print(note, highlight=False, style="dim", markup=False)
        case "markdown":
            typer.echo(table.to_markdown())
        case "latex":
            typer.echo(table.to_latex())
        case "csv":
            typer.echo(table.to_csv(), nl=False)
        case "json":
            typer.echo(table.to_json())
        case _:
            raise InputError(f"--format takes terminal, markdown, latex, csv or json, got {form!r}")


SCHEMA_VERSION = 1
"""Version of what ``--json`` prints: it grows where a key is renamed, goes, or changes its meaning."""


def print_json(data: Mapping[str, Any]) -> None:
    """Strict JSON, its schema's version first: an undefined rate is null."""
    versioned = {"schema_version": SCHEMA_VERSION} | dict(data)
    typer.echo(json.dumps(versioned, indent=2, allow_nan=False))


@contextmanager
def progress_bar(title: str, total: int | None) -> Iterator[Callable[..., None]]:
    """A progress bar with rate and time left, on a terminal's error stream; else nothing.

    It is called with what is done, and with the total where that was not known before.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )

    class RateColumn(ProgressColumn):
        def render(self, task: Task) -> str:
            return f"{task.speed:.1f}/s" if task.speed else ""

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(title, total=total)
        yield lambda done, total=total: bar.update(task, completed=done, total=total)
