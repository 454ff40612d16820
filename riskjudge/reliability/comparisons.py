"""Calls of pairwise judges as one table: who won, what was shown first, how long, written by whom."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from riskjudge.data.columns import Columns
from riskjudge.data.verdict import Winner, WinnerVerdict
from riskjudge.errors import InputError
from riskjudge.items.item import Item
from riskjudge.ledger.rows import Row
from riskjudge.ledger.swap import BOTH_ORDERS

if TYPE_CHECKING:
    import pandas as pd

FIELDS = (
    "judge", "item", "trial", "a_wins", "a_first", "length_a", "length_b", "a_right",
    "model_a", "model_b",
)  # fmt: skip
"""One row a call; see :class:`Comparisons`."""

_SIDES = {"a": 1, "b": -1, "1": 1, "2": -1, "a>b": 1, "b>a": -1, "model_a": 1, "model_b": -1}
_NONE = {"tie", "a=b", "undecided", "both", "neither", "draw"}


def characters(text: str) -> int:
    """Length in characters, white space at the ends left out.

    Examples
    --------
    >>> characters(" two words "), words(" two words ")
    (9, 2)
    """
    return len(text.strip())


def words(text: str) -> int:
    """Length in words."""
    return len(text.split())


LENGTHS: Mapping[str, Callable[[str], int]] = {"characters": characters, "words": words}


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Calls in which a judge named the better of two answers.

    Attributes
    ----------
    calls : DataFrame
        A row a call. ``judge``, ``item`` (calls about one item depend on one another) and ``trial`` (the
        two orders of one trial) are texts; ``a_wins``, ``a_first`` and ``a_right`` are 1 for answer a, -1
        for b, and 0 for ``a_first`` and ``a_right`` where nobody says; ``length_a`` and ``length_b`` are
        NaN where there is no text; ``model_a`` and ``model_b`` name who wrote the answers, or are None.
    left_out : mapping of str to int
        Calls that named no winner: ties, abstentions and failures.
    """

    calls: pd.DataFrame
    left_out: Mapping[str, int]

    @property
    def judges(self) -> list[str]:
        """Names of the judges, sorted."""
        return sorted(set(self.calls["judge"]))

    def only(self, judges: Sequence[str]) -> Comparisons:
        """The calls of some judges."""
        left = {judge: n for judge, n in self.left_out.items() if judge in judges}
        return Comparisons(self.calls[self.calls["judge"].isin(list(judges))], left)

    def of(self, judge: str) -> pd.DataFrame:
        """The calls of one judge."""
        return self.calls[self.calls["judge"] == judge]


def from_rows(
    rows: Iterable[Row], items: Mapping[str, Item], length: str = "characters"
) -> Comparisons:
    """From the rows of a ledger (or stored trials) and the items they are about.

    Of a trial in both orders every order is a call, also where the two contradict each other.

    Parameters
    ----------
    rows : iterable of Row
    items : mapping of str to Item
        By subject. A row without one has no lengths. Who wrote the answers is taken from the items'
        extra fields ``model_a`` and ``model_b``.
    length : str
        ``characters`` or ``words``.

    Raises
    ------
    InputError
        If a row is not about a pair.
    """
    measure = _length(length)
    found: list[tuple[Any, ...]] = []
    left_out: dict[str, int] = {}
    for row in rows:
        item = items.get(row.subject)
        if item is not None and len(item.responses) != 2:
            raise InputError(f"row {row.id!r} is about one answer; the bias of pairs is asked for")
        sizes = (np.nan, np.nan) if item is None else tuple(measure(r) for r in item.responses)
        label = row.label if row.label is not None or item is None else item.label
        models = [None if item is None else item.extra.get(f"model_{side}") for side in "ab"]
        right = {Winner.A: 1, Winner.B: -1}.get(label, 0) if isinstance(label, Winner) else 0
        for said, a_first in _orders(row):
            side = _SIDES.get(said)
            if side is None:
                left_out[row.judge] = left_out.get(row.judge, 0) + 1
                continue
            found.append((row.judge, row.subject, row.id, side, a_first, *sizes, right, *models))
    return _comparisons(found, left_out)


def _orders(row: Row) -> list[tuple[str, int]]:
    """What was said in each order, and which answer was shown first in it."""
    orders = row.disclosure.get("orders")
    if isinstance(orders, Mapping) and set(orders) == {"ab", "ba"}:
        return [(str(orders["ab"]), 1), (str(orders["ba"]), -1)]
    if not isinstance(row.outcome, WinnerVerdict):
        return [("", 0)]
    if row.order == BOTH_ORDERS:
        return [(row.outcome.value.value, 1), (row.outcome.value.value, -1)]
    return [(row.outcome.value.value, {"ab": 1, "ba": -1}.get(row.order or "", 0))]


def from_table(
    frame: pd.DataFrame,
    *,
    length: str = "characters",
    columns: Mapping[str, str] | None = None,
    source: str = "the table",
) -> Comparisons:
    """From any table with a row a call.

    Parameters
    ----------
    frame : DataFrame
        Columns ``item_id`` and ``winner`` (a or b, 1 or 2; a tie is left out); and as far as they are
        known ``judge``, ``first`` (a or b: which was shown first), ``label`` (which is better),
        ``response_a`` and ``response_b`` (texts) or ``length_a`` and ``length_b`` (numbers), ``model_a`` and
        ``model_b``.
    length : str
        ``characters`` or ``words``, of texts.
    columns : mapping of str to str, optional
        Other names of these columns.
    source : str
        How messages call the table.

    Raises
    ------
    InputError
        A column is missing, or a cell holds what it does not admit: with its row.
    """
    measure = _length(length)
    names = {name: (columns or {}).get(name, name) for name in _COLUMNS}
    for name in columns or {}:
        if name not in names:
            raise InputError(f"no column {name!r} is read; there are {', '.join(_COLUMNS)}")
    check = Columns(frame, source)
    for asked in (columns or {}).values():
        check.series(asked)

    def texts(name: str) -> list[str | None]:
        if names[name] not in frame.columns:
            return [None] * len(frame)
        return [None if v is None else str(v) for v in _cells(check, names[name])]

    items = check.groups(names["item_id"])
    judges = [judge or "judge" for judge in texts("judge")]
    sides = {name: _sides(check, names[name], texts(name)) for name in ("winner", "first", "label")}
    check.series(names["winner"])
    sizes = [_sizes(check, names, side, texts, measure) for side in "ab"]
    models = texts("model_a"), texts("model_b")
    found, left_out = [], dict[str, int]()
    for i, judge in enumerate(judges):
        if sides["winner"][i] == 0:
            left_out[judge] = left_out.get(judge, 0) + 1
            continue
        found.append(
            (judge, items[i], f"{judge}/{items[i]}", sides["winner"][i], sides["first"][i],
             sizes[0][i], sizes[1][i], sides["label"][i], models[0][i], models[1][i])
        )  # fmt: skip
    return _comparisons(found, left_out)


_COLUMNS = (
    "item_id", "judge", "winner", "first", "label", "response_a", "response_b", "length_a", "length_b",
    "model_a", "model_b",
)  # fmt: skip


def _cells(check: Columns, column: str) -> list[Any]:
    import pandas as pd

    return [None if v is None or (pd.api.types.is_scalar(v) and pd.isna(v)) else v
            for v in check.values(column)]  # fmt: skip


def _sides(check: Columns, column: str, texts: Sequence[str | None]) -> list[int]:
    found = []
    for row, text in enumerate(texts):
        key = "" if text is None else re.sub(r"\.0$", "", text.strip().lower())
        if key in ("", *_NONE):
            found.append(0)
        elif key in _SIDES:
            found.append(_SIDES[key])
        else:
            raise check.wrong(column, row, text, "a or b (or 1 or 2), or a tie")
    return found


def _sizes(
    check: Columns,
    names: Mapping[str, str],
    side: str,
    texts: Callable[[str], list[str | None]],
    measure: Callable[[str], int],
) -> list[float]:
    if names[f"length_{side}"] in check.frame.columns:
        numbers = check.numbers(names[f"length_{side}"])
        if (numbers < 0).any():
            row = int((numbers < 0).argmax())
            raise check.wrong(names[f"length_{side}"], row, numbers[row], "a length")
        return [float(number) for number in numbers]
    return [np.nan if t is None else float(measure(t)) for t in texts(f"response_{side}")]


def from_judgebench(path: str | Path, length: str = "characters") -> Comparisons:
    """From an output file of JudgeBench: a pair a line, judged in both orders.

    The judge is called by its model where the file says it; `response_model` wrote both answers.

    Raises
    ------
    InputError
        Naming the line, for a line of another layout.
    """
    from riskjudge.io.jsonl import read_objects

    measure = _length(length)
    found: list[tuple[Any, ...]] = []
    left_out: dict[str, int] = {}
    for number, record in read_objects(Path(path)):
        pair, texts = record.get("pair_id"), [record.get(f"response_{side}") for side in "AB"]
        label = _SIDES.get(str(record.get("label")).lower())
        if pair is None or not all(isinstance(t, str) for t in texts) or label is None:
            raise InputError(
                f"{path}, line {number}: `pair_id`, `response_A`, `response_B` and a `label` of A>B or "
                "B>A are expected"
            )
        judgments = [j if isinstance(j, Mapping) else {} for j in record.get("judgments") or [{}]]
        inner = judgments[0].get("judgment")
        named = inner.get("judge_model") if isinstance(inner, Mapping) else None
        judge = str(named or record.get("judge_name") or "judge")
        sizes = [float(measure(text)) for text in texts if isinstance(text, str)]
        writer = record.get("response_model")
        for k, judgment in enumerate(judgments[:2]):
            a_first = 1 if k == 0 else -1
            side = _SIDES.get(str(judgment.get("decision")).lower())
            if side is None:
                left_out[judge] = left_out.get(judge, 0) + 1
                continue
            # A decision is about positions: in the second order A is what was shown first, answer b.
            found.append(
                (judge, str(pair), f"{judge}/{pair}", side * a_first, a_first, *sizes, label, writer,
                 writer)
            )  # fmt: skip
    return _comparisons(found, left_out)


def is_judgebench(path: str | Path) -> bool:
    """Whether a file looks like an output of JudgeBench."""
    from riskjudge.io.files import open_text

    if not str(path).endswith((".jsonl", ".jsonl.gz")):
        return False
    with open_text(path) as lines:
        first = next(iter(lines), "")
    return '"pair_id"' in first and '"judgments"' in first


def _length(name: str) -> Callable[[str], int]:
    if name not in LENGTHS:
        raise InputError(f"length is {' or '.join(LENGTHS)}, got {name!r}")
    return LENGTHS[name]


def _comparisons(found: list[tuple[Any, ...]], left_out: Mapping[str, int]) -> Comparisons:
    import pandas as pd

    if not found:
        raise InputError("no call named a winner: there is nothing to measure a bias on")
    # Sorted, so that the order of a file is not in the last digit of a sum.
    calls = pd.DataFrame(found, columns=list(FIELDS))
    keys = ["judge", "item", "trial", "a_first", "a_wins"]
    return Comparisons(calls.sort_values(keys, ignore_index=True, kind="stable"), dict(left_out))
