"""A table of text cells, and its renderers: terminal, Markdown, LaTeX, CSV, JSON."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table as RichTable

_LATEX = {
    "&": r"\&",
    "%": r"\%",
    "_": r"\_",
    "#": r"\#",
    "$": r"\$",
    "≤": r"$\le$",
    "τ": r"$\tau$",
    "α": r"$\alpha$",
    "δ": r"$\delta$",
    "×": r"$\times$",
    "…": r"\dots{}",
    "–": "--",
    "±": r"$\pm$",
}


UNDEFINED = "undefined"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under a header.

    Attributes
    ----------
    title : str
        States what was run.
    header : tuple of str
    rows : tuple of tuple of str
    notes : tuple of str
        Printed below.
    left : int
        Leading columns that hold names and are aligned to the left; the others hold numbers.

    Examples
    --------
    >>> print(Table("Two", ("a", "b"), (("x", "1"),)).to_markdown())
    **Two**
    <BLANKLINE>
    | a | b |
    |:--|--:|
    | x | 1 |
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    left: int = 1

    def to_rich(self) -> RichTable:
        """For the terminal."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table as RichTable

        wide = len(self.header) > 5
        table = RichTable(
            box=SIMPLE_HEAD,
            show_header=any(self.header),
            padding=(0, 1, 0, 0) if wide else (0, 1),
        )
        numbers = any(self.header[1:])  # a list of names and values reads better from the left
        for i, name in enumerate(self.header):
            table.add_column(
                name,
                justify="right" if i >= self.left and numbers else "left",
                overflow="fold",
                no_wrap=wide and self.left > 1 and i < self.left,
            )
        for row in self.rows:
            table.add_row(*row)
        return table

    def to_markdown(self) -> str:
        """For a README or an issue."""
        lines = [f"**{self.title}**", ""] if self.title else []
        lines.append(_pipe(self.header))
        lines.append("|" + ":--|" * self.left + "--:|" * (len(self.header) - self.left))
        lines += [_pipe(row) for row in self.rows]
        if self.notes:
            lines += ["", *(f"{note}  " for note in self.notes)]
        return "\n".join(lines)

    def to_latex(self) -> str:
        """For a paper; needs the package booktabs."""
        body = [r"\begin{table}", r"\centering", rf"\caption{{{latex(self.title)}}}"]
        body.append(
            rf"\begin{{tabular}}{{{'l' * self.left}{'r' * (len(self.header) - self.left)}}}"
        )
        body.append(r"\toprule")
        body.append(" & ".join(map(latex, self.header)) + r" \\")
        body.append(r"\midrule")
        body += [" & ".join(map(latex, row)) + r" \\" for row in self.rows]
        body += [r"\bottomrule", r"\end{tabular}"]
        body += [rf"\par\footnotesize {latex(note)}" for note in self.notes]
        return "\n".join([*body, r"\end{table}"])

    def to_csv(self) -> str:
        """For a spreadsheet."""
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerows([self.header, *self.rows])
        return buffer.getvalue()

    def to_json(self) -> str:
        """Title, notes, and a record for each row."""
        records = [dict(zip(self.header, row, strict=True)) for row in self.rows]
        found = {"title": self.title, "rows": records, "notes": list(self.notes)}
        return json.dumps(found, indent=2, ensure_ascii=False)


def _pipe(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def latex(text: str) -> str:
    """Text with what is special to LaTeX escaped."""
    return "".join(_LATEX.get(character, character) for character in text)


def percent(value: float | None, digits: int = 1) -> str:
    """A share for people; ``undefined`` where there is none.

    Examples
    --------
    >>> percent(0.0625), percent(None)
    ('6.2 %', 'undefined')
    """
    return UNDEFINED if value is None else f"{100 * value:.{digits}f} %"
