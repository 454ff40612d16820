"""A table of text cells, and its four clothes: terminal, Markdown, LaTeX, CSV."""

from __future__ import annotations

import csv
import io
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
    "–": "--",
    "±": r"$\pm$",
}


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

    def to_rich(self) -> RichTable:
        """For the terminal."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table as RichTable

        table = RichTable(box=SIMPLE_HEAD, show_header=any(self.header))
        numbers = any(self.header[1:])  # a list of names and values reads better from the left
        for i, name in enumerate(self.header):
            table.add_column(name, justify="right" if i and numbers else "left", overflow="fold")
        for row in self.rows:
            table.add_row(*row)
        return table

    def to_markdown(self) -> str:
        """For a README or an issue."""
        lines = [f"**{self.title}**", ""]
        lines.append(_pipe(self.header))
        lines.append("|:--|" + "--:|" * (len(self.header) - 1))
        lines += [_pipe(row) for row in self.rows]
        if self.notes:
            lines += ["", *(f"{note}  " for note in self.notes)]
        return "\n".join(lines)

    def to_latex(self) -> str:
        """For a paper; needs the package booktabs."""
        body = [r"\begin{table}", r"\centering", rf"\caption{{{_latex(self.title)}}}"]
        body.append(rf"\begin{{tabular}}{{l{'r' * (len(self.header) - 1)}}}")
        body.append(r"\toprule")
        body.append(" & ".join(map(_latex, self.header)) + r" \\")
        body.append(r"\midrule")
        body += [" & ".join(map(_latex, row)) + r" \\" for row in self.rows]
        body += [r"\bottomrule", r"\end{tabular}"]
        body += [rf"\par\footnotesize {_latex(note)}" for note in self.notes]
        return "\n".join([*body, r"\end{table}"])

    def to_csv(self) -> str:
        """For a spreadsheet."""
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerows([self.header, *self.rows])
        return buffer.getvalue()


def _pipe(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)
