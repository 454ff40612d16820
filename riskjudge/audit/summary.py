"""What an audit says: tables of cells, one line a procedure, and an answer in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from riskjudge.audit.cells import Cell, Verdict
from riskjudge.calibration import Guarantee
from riskjudge.display.table import Table

REFERENCE = "pointwise"
FLOOR = 0.15
"""Cells in which the pointwise rule covers less say nothing about a ratio."""


@dataclass(frozen=True, slots=True)
class ProcedureSummary:
    """One procedure over all cells of an audit.

    Attributes
    ----------
    worst, worst_on_nulls : float or None
        Largest violation rate off the nulls, and on them; None where there are no such cells.
    exceeding : tuple of str
        The settings in which the violation rate speaks against delta.
    ratio : float or None
        Mean ratio of its coverage to that of the pointwise rule, over the `n_ratio` cells off the
        nulls in which that rule covers at least :data:`FLOOR`.
    seconds : float or None
        Mean time of a calibration.
    """

    procedure: str
    guarantee: Guarantee
    cells: int
    worst: float | None
    worst_on_nulls: float | None
    exceeding: tuple[str, ...]
    ratio: float | None
    n_ratio: int
    seconds: float | None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self) | {
            "guarantee": str(self.guarantee),
            "exceeding": list(self.exceeding),
        }


def references(cells: Sequence[Cell]) -> dict[tuple[Any, ...], float]:
    """Coverage of the plain pointwise rule in each setting."""
    return {
        cell.setting: cell.coverage
        for cell in cells
        if cell.procedure == REFERENCE and not cell.by_verdict
    }


def ratio(cell: Cell, reference: dict[tuple[Any, ...], float]) -> float | None:
    """Coverage over pointwise coverage; None (UNDEFINED) where that is nil or unknown."""
    pointwise = reference.get(cell.setting, 0.0)
    return cell.coverage / pointwise if pointwise > 0 else None


def summarize(cells: Sequence[Cell]) -> list[ProcedureSummary]:
    """One line a procedure (thresholds by verdict count as a procedure of their own)."""
    reference = references(cells)
    grouped: dict[str, list[Cell]] = {}
    for cell in cells:
        grouped.setdefault(full_name(cell), []).append(cell)
    return [_summary(name, members, reference) for name, members in grouped.items()]


def _summary(
    name: str, cells: Sequence[Cell], reference: dict[tuple[Any, ...], float]
) -> ProcedureSummary:
    ratios = [
        cell.coverage / pointwise
        for cell in cells
        if cell.kind != "null" and (pointwise := reference.get(cell.setting, 0.0)) >= FLOOR
    ]
    times = [cell.seconds for cell in cells if cell.seconds is not None]
    return ProcedureSummary(
        name,
        cells[0].guarantee,
        len(cells),
        max((cell.violation for cell in cells if cell.kind != "null"), default=None),
        max((cell.violation for cell in cells if cell.kind == "null"), default=None),
        tuple(setting_name(cell) for cell in cells if cell.verdict is Verdict.EXCEEDS),
        sum(ratios) / len(ratios) if ratios else None,
        len(ratios),
        sum(times) / len(times) if times else None,
    )


def promises_kept(cells: Sequence[Cell]) -> bool:
    """Whether no procedure that promises high probability exceeds delta in any cell."""
    return all(
        cell.verdict is Verdict.COMPATIBLE
        for cell in cells
        if cell.guarantee is Guarantee.HIGH_PROBABILITY
    )


def full_name(cell: Cell) -> str:
    """How a cell is called in tables: its setting and procedure."""
    return f"{cell.procedure}, by verdict" if cell.by_verdict else cell.procedure


def setting_name(cell: Cell) -> str:
    """How a setting is called in tables."""
    return f"{cell.world}, n = {cell.n}, alpha = {cell.alpha:g}"


def cells_table(cells: Sequence[Cell]) -> Table:
    """Every cell on a line; what is the same in all of them is in the title."""
    reference = references(cells)
    what: dict[str, Callable[[Cell], str]] = {
        "scenario": lambda cell: cell.world,
        "n": lambda cell: str(cell.n),
        "alpha": lambda cell: f"{cell.alpha:g}",
    }
    varying = {k: text for k, text in what.items() if len({text(cell) for cell in cells}) > 1}
    same = [f"{k} {text(cells[0])}" for k, text in what.items() if k not in varying]
    rows = tuple(
        (
            full_name(cell),
            *(text(cell) for text in varying.values()),
            f"{cell.violation:.3f}",
            f"[{cell.interval[0]:.3f}, {cell.interval[1]:.3f}]",
            verdict_text(cell),
            f"{cell.coverage:.3f}",
            _number(ratio(cell, reference), 3),
        )
        for cell in cells
    )
    head = ("procedure", *varying, "violation", "bounds", "", "coverage", "ratio")
    return Table(title(cells, same), head, rows, NOTES)


def summary_table(cells: Sequence[Cell]) -> Table:
    """Every procedure on a line."""
    rows = tuple(
        (
            s.procedure,
            _PROMISE[s.guarantee],
            f"{len(s.exceeding)} of {s.cells}",
            _number(s.worst, 3),
            _number(s.worst_on_nulls, 3),
            _number(s.ratio, 3) + (f" ({s.n_ratio})" if s.n_ratio else ""),
            _milliseconds(s.seconds),
        )
        for s in summarize(cells)
    )
    head = ("procedure", "promise", "exceeds", "worst", "on nulls", "ratio (cells)", "ms")
    return Table("By procedure", head, rows, ())


NOTES = (
    "violation: share of calibrations whose rule has a true risk above alpha; bounds: exact, each "
    "at 99 %.",
    "exceeds: above delta beyond chance, by an exact one-sided test at 99 %; in brackets where the "
    "procedure promises no such thing.",
    "ratio: coverage relative to the pointwise rule, which promises nothing.",
)

_PROMISE = {
    Guarantee.HIGH_PROBABILITY: "high probability",
    Guarantee.EXPECTATION: "expectation",
    Guarantee.NONE: "none",
}


def title(cells: Sequence[Cell], same: Sequence[str] = ()) -> str:
    """What was run."""
    first = cells[0]
    parts = [
        *same,
        f"delta {first.delta:g}",
        f"pool {first.pool}",
        f"{first.replicates} replicates",
        f"seed {first.seed}",
    ]
    return f"Audit: {', '.join(parts)}"


def verdict_text(cell: Cell) -> str:
    """The verdict, in brackets where the procedure promises no high probability."""
    kept = cell.guarantee is Guarantee.HIGH_PROBABILITY
    return str(cell.verdict) if kept else f"({cell.verdict})"


def in_words(cell: Cell) -> str:
    """The answer for a user's own setting.

    Examples
    --------
    >>> cell = Cell("portfolio", Guarantee.HIGH_PROBABILITY, {}, "own", "own", 800, 0, 0.1, 0.05,
    ...             False, 200, 0, 3, 180, 0.61, 0.1, 0.08)
    >>> in_words(cell)
    'With your 800 labelled items and your scores, at alpha = 0.1: portfolio breaks its promise in
    1.5 % of calibrations [0.2, 4.9] (promised: at most 5 %) and leaves 61.0 % coverage; in 10.0 %
    of calibrations it certifies nothing.'
    """
    low, high = cell.interval
    promised = f"promised: at most {100 * cell.delta:g} %"
    if cell.guarantee is not Guarantee.HIGH_PROBABILITY:
        promised = f"it promises none; a valid one would stay below {100 * cell.delta:g} %"
    text = (
        f"With your {cell.n} labelled items and your scores, at alpha = {cell.alpha:g}: "
        f"{full_name(cell)} breaks its promise in {100 * cell.violation:.1f} % of calibrations "
        f"[{100 * low:.1f}, {100 * high:.1f}] ({promised}) and leaves {100 * cell.coverage:.1f} % "
        "coverage"
    )
    empty = 1 - cell.certified / cell.replicates
    if empty > 0:
        text += f"; in {100 * empty:.1f} % of calibrations it certifies nothing"
    return text + "."


def _number(value: float | None, digits: int) -> str:
    return "undefined" if value is None else f"{value:.{digits}f}"


def _milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{1e3 * seconds:.1f}"
