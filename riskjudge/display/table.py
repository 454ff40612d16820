"""A table of text cells, and its renderers: terminal, Markdown, LaTeX, CSV, JSON."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from html import escape
from textwrap import wrap
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
_NARROWEST = 12  # columns of text that a name is left with, at the least


def _longest(text: str) -> int:
    return max(map(len, text.split("\n")))


def _hanging(text: str, width: int) -> str:
    """The text in lines, those after the first further to the right."""
    before = " " * (len(text) - len(text.lstrip()) + 2)
    return "\n".join(wrap(text, width, subsequent_indent=before)) if len(text) > width else text


def _longest_word(text: str) -> int:
    return max(map(len, text.split()), default=1)


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

    def to_rich(self, width: int = 80) -> RichTable:
        """For a terminal of a width: names are wrapped, numbers never; what is still too wide is
        stacked, a line for each number under the names of its row."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table as RichTable

        numbers = any(self.header[1:])  # a list of names and values reads better from the left
        widths = [
            max((_longest(row[i]) for row in self.rows), default=0) for i in range(len(self.header))
        ]
        headers = [
            "\n".join(wrap(name, max(w, _longest_word(name)))) if numbers else name
            for name, w in zip(self.header, widths, strict=True)
        ]
        widths = [max(w, _longest(name)) for w, name in zip(widths, headers, strict=True)]
        wide = len(self.header) > 5
        between = (1 if wide else 2) * len(widths) + 2
        if numbers and len(widths) > 2:
            room = width - between - sum(widths[self.left :])
            if room < self.left * _NARROWEST:
                return self._stacked().to_rich(width)
        table = RichTable(
            box=SIMPLE_HEAD,
            show_header=any(self.header),
            padding=(0, 1, 0, 0) if wide else (0, 1),
        )
        for i, name in enumerate(headers):
            figure = i >= self.left and numbers
            table.add_column(
                name,
                justify="right" if figure else "left",
                overflow="fold",
                no_wrap=figure,
                max_width=None if figure or i else width // 2,
            )
        for row in self.rows:
            first = row[0] if numbers else _hanging(row[0], width // 2)
            table.add_row(first, *row[1:])
        return table

    def _stacked(self) -> Table:
        """Two columns: the names of a row, and under them a line for each of its numbers."""
        rows: list[tuple[str, str]] = []
        for row in self.rows:
            names = zip(self.header[: self.left], row[: self.left], strict=True)
            told = [f"{name} = {cell}" if name else cell for name, cell in names if cell]
            rows.append((", ".join(told), ""))
            rows += [
                (f"  {name}", cell)
                for name, cell in zip(self.header[self.left :], row[self.left :], strict=True)
                if cell
            ]
        return Table(self.title, ("", ""), tuple(rows), self.notes)

    def _repr_html_(self) -> str:
        """For Jupyter; every cell is escaped."""
        head = "".join(f"<th>{escape(name)}</th>" for name in self.header)
        side = [
            "left" if i < self.left or not any(self.header[1:]) else "right"
            for i in range(len(self.header))
        ]
        body = "".join(
            "<tr>"
            + "".join(
                f'<td style="text-align: {where}; white-space: pre-wrap">{escape(cell)}</td>'
                for where, cell in zip(side, row, strict=True)
            )
            + "</tr>"
            for row in self.rows
        )
        title = f"<p><b>{escape(self.title)}</b></p>" if self.title else ""
        notes = "".join(f"<p><small>{escape(note)}</small></p>" for note in self.notes)
        header = f"<thead><tr>{head}</tr></thead>" if any(self.header) else ""
        return f"{title}<table>{header}<tbody>{body}</tbody></table>{notes}"

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
