"""A reproduced table for people: terminal, Markdown, LaTeX, CSV. Published stands beside it.

In the paper's layout a cell reads ``reproduced (published)``; a predicted one carries a star. The
side-by-side list gives each difference and its Monte Carlo error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from riskjudge.display.table import Table, latex
from riskjudge.paper.reproduction import CLOSE, Deviation, Reproduced, Reproduction, Status

_CELL = 11  # columns of the terminal that a cell takes
_NAMES = {
    "coverage_mode1_only": "M1 only",
    "coverage_joint": "Joint",
    "fdr_original": "FDR τ0",
    "fdr_requeried": "FDR τ1",
    "coverage_original": "Cov. τ0",
    "coverage_requeried": "Cov. τ1",
    "accuracy_mode1": "M1",
    "accuracy_mode2": "M2",
    "fdr": "FDR",
    "coverage": "Cov.",
    "coverage_pointwise": "Point.",
    "coverage_conservative": "Cons.",
    "exact_match": "Exact match",
    "token_f1": "Token F1",
    "llm_evaluator": "LLM evaluator",
    "predictive_entropy": "PE",
    "probe": "Probe",
    "lora_prompt": "LoRA",
    "direct": "Direct",
    "self_eval": "Self-eval",
    "empty": "Empty",
    "joint": "Joint",
    "fraction_raised": "share raised",
    "fraction_lowered": "share lowered",
    "mean_increase": "mean increase",
    "mean_decrease": "mean decrease",
    "share_mode1": "Mode 1",
    "calibration_fraction": "n_cal/n",
    "Qwen3-4B": "Qwen-4B",
    "Qwen3-8B": "Qwen-8B",
    "Qwen3-14B": "Qwen-14B",
    "Llama-3.1-8B": "Llama-8B",
    "Llama-3.1-70B": "Llama-70B",
}


def number(value: float | None) -> str:
    """A figure as the paper prints it.

    Examples
    --------
    >>> number(0.123), number(1.0), number(-0.07), number(None)
    ('.12', '1.0', '-.07', 'n/a')
    """
    if value is None:
        return "n/a"
    text = f"{value:.2f}"
    if text in ("1.00", "-1.00"):
        return text[:-1]
    text = text.replace("0.", ".", 1)
    return ".00" if text == "-.00" else text


def signed(value: float | None) -> str:
    """A difference with its sign."""
    if value is None:
        return "n/a"
    return number(value) if value < -0.004999 else "+" + number(abs(value))


def what_was_run(reproduction: Reproduction) -> str:
    """One sentence: traces, procedure, splits."""
    s = reproduction.settings
    return (
        f"Reproduced on {reproduction.source}; procedure {s.procedure}, objective {s.objective}, "
        f"{s.splits} random splits, seed {s.seed}."
    )


def layout(reproduction: Reproduction) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Row and column keys in the order of the published file."""
    table = reproduction.table
    rows = dict.fromkeys(tuple(c.cell.at(k) for k in table.rows) for c in reproduction.cells)
    columns = dict.fromkeys(tuple(c.cell.at(k) for k in table.columns) for c in reproduction.cells)
    first = list(dict.fromkeys(column[0] for column in columns))
    return list(rows), sorted(columns, key=lambda column: first.index(column[0]))


def grid(reproduction: Reproduction) -> dict[tuple[tuple[Any, ...], tuple[Any, ...]], Reproduced]:
    """Cells by row and column key."""
    table = reproduction.table
    return {
        (
            tuple(c.cell.at(k) for k in table.rows),
            tuple(c.cell.at(k) for k in table.columns),
        ): c
        for c in reproduction.cells
    }


def name_of(key: Any) -> str:
    """A layout key for people."""
    if isinstance(key, float):
        return f"{key:.2f}".replace("0.", ".", 1)
    return _NAMES.get(str(key), str(key))


def cell_text(cell: Reproduced | None) -> str:
    """``reproduced (published)``, a star if predicted."""
    if cell is None:
        return "–"
    star = "*" if cell.status is Status.PREDICTED else ""
    return f"{number(cell.estimate.value)} ({number(cell.cell.published)}){star}"


def to_terminal(reproduction: Reproduction, width: int = 80) -> list[Table]:
    """One table, or one for each group of columns where it would be too wide; marked up for rich."""
    rows, columns = layout(reproduction)
    cells = grid(reproduction)
    groups: list[list[tuple[Any, ...]]] = [columns]
    fitting = (width - 12 * len(reproduction.table.rows)) // _CELL
    if len(columns) > fitting and columns and len(columns[0]) > 1:
        firsts = dict.fromkeys(column[0] for column in columns)
        groups = [[c for c in columns if c[0] == first] for first in firsts]
    tables = []
    for group in groups:
        shared = len(groups) > 1
        title = f"{reproduction.table.name}: {reproduction.table.title}"
        heads = ["\n".join(map(name_of, column[1:] if shared else column)) for column in group]
        tables.append(
            Table(
                f"{title} – {name_of(group[0][0])}" if shared else title,
                (*map(name_of, reproduction.table.rows), *heads),
                tuple(
                    (*map(name_of, row), *(_coloured(cells.get((row, c))) for c in group))
                    for row in rows
                ),
                left=len(reproduction.table.rows),
            )
        )
    return tables


def _coloured(cell: Reproduced | None) -> str:
    text = cell_text(cell)
    if cell is None or cell.difference is None or abs(cell.difference) <= 0.02:
        return text
    return f"[{'red' if abs(cell.difference) > CLOSE else 'yellow'}]{text}[/]"


def deviation_line(label: str, deviation: Deviation) -> str:
    """One line of a summary."""
    if deviation.mean_absolute is None or deviation.close is None:
        return f"{label}: no cell"
    return (
        f"{label}: {deviation.cells} cells, mean absolute deviation "
        f"{deviation.mean_absolute:.3f}, {100 * deviation.close:.0f} % within {CLOSE:g}, "
        f"largest {deviation.largest:.2f}"
    )


def deviations(cells: Sequence[Reproduced]) -> dict[Status, Deviation]:
    """Deviation by status, of the statuses that occur."""
    present = dict.fromkeys(c.status for c in cells)
    return {status: Deviation.of(c for c in cells if c.status is status) for status in present}


def to_markdown(reproduction: Reproduction) -> str:
    """The table in the paper's layout, then every cell side by side."""
    rows, columns = layout(reproduction)
    cells = grid(reproduction)
    keys = _key_names(reproduction)
    left = len(reproduction.table.rows)
    table = Table(
        "",
        (
            *map(name_of, reproduction.table.rows),
            *(" ".join(map(name_of, column)) for column in columns),
        ),
        tuple(
            (*map(name_of, row), *(cell_text(cells.get((row, column))) for column in columns))
            for row in rows
        ),
        left=left,
    )
    beside = Table(
        "",
        (
            *keys,
            "metric",
            *["published", "reproduced", "difference"],
            "Monte Carlo error",
            "status",
        ),
        tuple(
            (
                *(name_of(c.cell.keys[k]) for k in keys),
                c.cell.metric,
                number(c.cell.published),
                number(c.estimate.value),
                signed(c.difference),
                _small(c.estimate.standard_error),
                str(c.status),
            )
            for c in reproduction.cells
        ),
        left=len(keys) + 1,
    )
    lines = [f"# {reproduction.table.name}: {reproduction.table.title}", ""]
    lines += [what_was_run(reproduction), ""]
    lines += ["A cell reads *reproduced (published)*; `*` marks a predicted one.", ""]
    lines.append(table.to_markdown())
    lines += ["", *(f"- {deviation_line(s, d)}" for s, d in deviations(reproduction.cells).items())]
    if reproduction.missing:
        lines += ["", "No trace for: " + ", ".join(c.name for c in reproduction.missing)]
    lines += ["", "## Side by side", "", beside.to_markdown()]
    return "\n".join(lines) + "\n"


_CSV = (
    "published",
    "reproduced",
    "difference",
    "standard_error",
    "splits",
    "empty_splits",
    "status",
    "traces",
)


def to_csv(reproduction: Reproduction) -> str:
    """One row for each cell."""
    keys = _key_names(reproduction)
    kind = "synthetic" if reproduction.source.startswith("synthetic") else "files"
    rows = []
    for c in reproduction.cells:
        run = c.cell.run
        rows.append(
            (
                reproduction.table.name,
                *(str(c.cell.keys[k]) for k in keys),
                c.cell.metric,
                str(c.cell.published),
                _full(c.estimate.value),
                _full(c.difference),
                _full(c.estimate.standard_error),
                "" if run is None else str(run.splits),
                "" if run is None else str(c.estimate.empty_splits),
                str(c.status),
                kind,
            )
        )
    return Table("", ("table", *keys, "metric", *_CSV), tuple(rows)).to_csv()


def to_latex(reproduction: Reproduction) -> str:
    """A ``table*`` for booktabs in the paper's layout."""
    rows, columns = layout(reproduction)
    cells = grid(reproduction)
    table = reproduction.table
    left = len(table.rows)
    lines = [
        r"\begin{table*}",
        r"\centering\footnotesize",
        rf"\begin{{tabular}}{{{'l' * left}{'r' * len(columns)}}}",
        r"\toprule",
    ]
    for level in range(len(table.columns)):
        last = level == len(table.columns) - 1
        heads = [_tex(name_of(k)) if last else "" for k in table.rows]
        lines.append(" & ".join([*heads, *_spans(columns, level)]) + r" \\")
    lines.append(r"\midrule")
    for row in rows:
        texts = [_tex_cell(cells.get((row, column))) for column in columns]
        lines.append(" & ".join([*(_tex(name_of(part)) for part in row), *texts]) + r" \\")
    caption = f"{table.title}. {what_was_run(reproduction)} Published figures in brackets"
    if any(c.status is Status.PREDICTED for c in reproduction.cells):
        caption += "; a star marks a predicted cell"
    lines += [
        r"\bottomrule",
        r"\end{tabular}",
        rf"\caption{{{_tex(caption)}.}}",
        rf"\label{{tab:{table.name}}}",
        r"\end{table*}",
    ]
    return "\n".join(lines) + "\n"


def _spans(columns: Sequence[tuple[Any, ...]], level: int) -> list[str]:
    spans: list[tuple[tuple[Any, ...], int]] = []
    for column in columns:
        head = column[: level + 1]
        if spans and spans[-1][0] == head:
            spans[-1] = (head, spans[-1][1] + 1)
        else:
            spans.append((head, 1))
    return [
        _tex(name_of(head[-1]))
        if width == 1
        else rf"\multicolumn{{{width}}}{{c}}{{{_tex(name_of(head[-1]))}}}"
        for head, width in spans
    ]


def _tex_cell(cell: Reproduced | None) -> str:
    if cell is None:
        return "--"
    star = r"$^{*}$" if cell.status is Status.PREDICTED else ""
    return rf"{number(cell.estimate.value)}{star} {{\tiny({number(cell.cell.published)})}}"


def _tex(text: str) -> str:
    return latex(text).replace(r"$\tau$0", r"$\tau_0$").replace(r"$\tau$1", r"$\tau_1$")


def _key_names(reproduction: Reproduction) -> list[str]:
    if not reproduction.cells:
        return []
    return list(reproduction.cells[0].cell.keys)


def _small(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _full(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
