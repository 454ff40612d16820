"""A whole reproduction: named tables and figures into a folder, with a summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from riskjudge.errors import InputError
from riskjudge.io.files import replacing
from riskjudge.paper import render
from riskjudge.paper.figures import FIGURES, draw
from riskjudge.paper.protocol import Cache
from riskjudge.paper.published import Configuration
from riskjudge.paper.reproduction import Reproduced, Reproduction, reproduce
from riskjudge.paper.tables import TABLES, Settings
from riskjudge.paper.traces import FolderTraces, TraceSource
from riskjudge.plots.style import save_figure

ALL = "all"
CACHE = ".cache"


@dataclass(frozen=True, slots=True)
class Session:
    """What a reproduction wrote.

    Attributes
    ----------
    reproductions : list of Reproduction
    figures : list of str
    output : Path
    source : str
    synthetic : bool
    missing : tuple of Configuration
        Configurations that some table or figure needed and no trace was there for.
    """

    reproductions: list[Reproduction]
    figures: list[str]
    output: Path
    source: str
    synthetic: bool
    missing: tuple[Configuration, ...]

    @property
    def cells(self) -> list[Reproduced]:
        """Cells of all tables."""
        return [c for r in self.reproductions for c in r.cells]

    @property
    def distinct_cells(self) -> list[Reproduced]:
        """Each reproduced figure once, although several tables may show it."""
        return list({_identity(c): c for c in self.cells}.values())

    def summary(self) -> dict[str, Any]:
        """A JSON-ready summary: deviations by status, and by table."""
        return {
            "traces": self.source,
            "synthetic": self.synthetic,
            "overall": _by_status(self.distinct_cells),
            "tables": {r.table.name: _by_status(r.cells) for r in self.reproductions},
            "figures": self.figures,
            "missing": [c.name for c in self.missing],
            "output": str(self.output),
        }


def names_of(wanted: Sequence[str]) -> list[str]:
    """Tables and figures that were asked for, ``all`` spelt out.

    Raises
    ------
    InputError
        For an unknown name; the message lists the known ones.

    Examples
    --------
    >>> names_of(["table01", "fig02"])
    ['table01', 'fig02']
    """
    known = [*TABLES, *FIGURES]
    unknown = [name for name in wanted if name not in (*known, ALL)]
    if unknown:
        raise InputError(
            f"unknown table or figure {unknown[0]!r}; known: {', '.join(known)}, {ALL}"
        )
    return known if ALL in wanted or not wanted else list(dict.fromkeys(wanted))


def run_session(
    wanted: Sequence[str],
    source: TraceSource,
    settings: Settings,
    output: Path,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Session:
    """Reproduce tables and figures into a folder.

    Parameters
    ----------
    wanted : sequence of str
        Names of tables and figures, or ``all``.
    source : TraceSource
    settings : Settings
    output : Path
        Made if absent. Finished runs are kept in its ``.cache``.
    jobs : int
    progress : callable, optional
        Called with the runs done and the runs in all.
    """
    names = names_of(wanted)
    tables = [TABLES[name] for name in names if name in TABLES]
    figures = [FIGURES[name] for name in names if name in FIGURES]
    runs = [run for figure in figures for run in figure.runs(settings)]
    needed = dict.fromkeys(run.configuration for run in runs)
    needed |= dict.fromkeys(c.configuration for table in tables for c in table.cells(settings))
    if not any(source.has(configuration) for configuration in needed):
        raise InputError(_nothing_found(list(needed), source))
    output.mkdir(parents=True, exist_ok=True)
    reproductions, outcomes = reproduce(
        tables, source, settings, Cache(output / CACHE), jobs, progress, runs
    )
    for reproduction in reproductions:
        name = reproduction.table.name
        _write(output / f"{name}.csv", render.to_csv(reproduction))
        _write(output / f"{name}.md", render.to_markdown(reproduction))
        _write(output / f"{name}.tex", render.to_latex(reproduction))
    drawn = []
    for spec in figures:
        if any(source.has(run.configuration) for run in spec.runs(settings)):
            figure = draw(spec, outcomes, settings, source)
            for ending in ("png", "pdf"):
                save_figure(figure, output / f"{spec.name}.{ending}")
            drawn.append(spec.name)
    missing = dict.fromkeys(c for r in reproductions for c in r.missing)
    missing |= dict.fromkeys(r.configuration for r in runs if not source.has(r.configuration))
    session = Session(
        reproductions, drawn, output, source.description, source.synthetic, tuple(missing)
    )
    _write(output / "summary.md", summary_markdown(session))
    return session


def _nothing_found(needed: Sequence[Configuration], source: TraceSource) -> str:
    wanted = [configuration.name for configuration in needed]
    text = f"nothing to reproduce: looked for {_some(wanted)} among {source.description}"
    if isinstance(source, FolderTraces):
        text += f", found {_some(source.files)}; a file is named candidate__judge__dataset__variant"
    return text


def _some(names: Sequence[str], most: int = 4) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def summary_markdown(session: Session) -> str:
    """The closing summary as Markdown."""
    overall = render.deviations(session.distinct_cells)
    lines = ["# Reproduction", "", f"Run on {session.source}.", ""]
    lines += [f"- {render.deviation_line(s, d)}" for s, d in overall.items()]
    lines += ["", "| table | status | cells | mean abs. deviation | within .05 | largest |"]
    lines += ["|---|---|---|---|---|---|"]
    for r in session.reproductions:
        for status, d in render.deviations(r.cells).items():
            if d.mean_absolute is not None and d.close is not None and d.largest is not None:
                numbers = f"{d.mean_absolute:.3f} | {100 * d.close:.0f} % | {d.largest:.2f}"
                lines.append(f"| {r.table.name} | {status} | {d.cells} | {numbers} |")
    if session.missing:
        lines += ["", "No trace for: " + ", ".join(c.name for c in session.missing)]
    return "\n".join(lines) + "\n"


def _identity(cell: Reproduced) -> tuple[Any, ...]:
    c = cell.cell
    return c.configuration, c.run, c.reading, c.alpha


def _by_status(cells: Sequence[Reproduced]) -> dict[str, Any]:
    return {str(status): asdict(d) for status, d in render.deviations(cells).items()}


def _write(path: Path, text: str) -> None:
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")
