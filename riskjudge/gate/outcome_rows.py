"""The columns of an outcomes file, admitted row by row: nothing missing is filled in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from riskjudge._typing import BoolArray, IntArray, ObjectArray
from riskjudge.data.grading import Grading
from riskjudge.data.modes import ABSENCES, FIRST_FAILURE, ModeTable
from riskjudge.data.verdict import UNDECIDED, AbstainReason, FailureKind, ItemStatus
from riskjudge.errors import InputError
from riskjudge.gate.readings import Readings, has_readings, read_readings

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "item_id",
    "status",
    "mode",
    "verdict",
    "abstain_reason",
    "failure",
    "undecided",
    "certified",
    "asked",
)
"""The columns that every outcomes file has."""

_STATUSES = (ItemStatus.GRADED, ItemStatus.ABSTAINED, ItemStatus.SCORE_FAILED)


class OutcomeRows(NamedTuple):
    """Arrays of shape (n,); what they mean is said in :class:`riskjudge.gate.outcomes.Outcomes`."""

    item_id: ObjectArray
    modes: tuple[str, ...]
    mode: IntArray
    verdict: IntArray
    why_not: IntArray
    certified: BoolArray
    asked: IntArray
    labels: IntArray


def outcome_rows(
    frame: pd.DataFrame, source: str
) -> tuple[OutcomeRows, Readings | None, Grading | None]:
    """Read and check every row; what the modes said comes along where the table holds it, and how
    scores are graded where verdicts are scores.

    Parameters
    ----------
    frame : DataFrame
        One row an item, with :data:`COLUMNS` and perhaps a ``label``.
    source : str
        How messages call the table.

    Raises
    ------
    InputError
        A column is missing; an id is missing or occurs twice; `status`, `undecided`, `certified` or
        `asked` is empty; a cell holds what its column does not admit; a row contradicts itself
        (an accepted item without a verdict or with a reason, a verdict that nobody accepted, a
        status that the other columns deny). The first such row is named.
    """
    missing = [column for column in COLUMNS if column not in frame.columns]
    if missing:
        raise InputError(
            f"{source} has no column {missing[0]!r}; a file that `riskjudge decide` wrote is needed"
        )
    check = ModeTable(frame, source)
    grading = check.grading(None)
    item_id = check.ids("item_id")
    status = check.choice("status", _STATUSES, required=True)
    names = check.texts("mode")
    verdict = check.graded("verdict", grading)
    reason = check.choice("abstain_reason", tuple(AbstainReason))
    failure = check.choice("failure", tuple(FailureKind))
    undecided = check.flags("undecided")
    certified = check.flags("certified")
    asked = check.whole("asked")
    labelled = "label" in frame.columns
    labels = check.labels("label", grading) if labelled else np.full(len(frame), -1)

    accepted = np.array([name is not None for name in names], dtype=bool)
    why_not = np.full(len(frame), -1)
    why_not[reason >= 0] = reason[reason >= 0]  # the abstentions come first in ABSENCES
    why_not[undecided] = ABSENCES.index(UNDECIDED)
    why_not[failure >= 0] = FIRST_FAILURE + failure[failure >= 0]
    said = accepted.astype(int) + (reason >= 0) + (failure >= 0) + undecided
    wanted = np.select([reason >= 0, failure >= 0], [1, 2], default=0)
    _refuse(
        source,
        (
            said != 1,
            f"an item is accepted in a mode or carries one of the reasons {', '.join(ABSENCES)}",
        ),
        (accepted & (verdict < 0), "an item that is accepted in a mode has a verdict"),
        (~accepted & (verdict >= 0), "there is a verdict, yet no mode that it was accepted in"),
        (accepted & (asked < 1), "an item is accepted in a mode, yet `asked` says that none was"),
        (
            status != wanted,
            "`status` contradicts the other columns: abstained goes with an `abstain_reason`, "
            "score_failed with a `failure`, graded with the rest",
        ),
    )
    readings = None
    if has_readings(frame.columns):
        modes, readings = read_readings(frame, source, grading)
    else:
        modes = _in_order_of_asking(names, asked)
    place = {name: k for k, name in enumerate(modes)}
    strange = [row for row, name in enumerate(names) if name is not None and name not in place]
    if strange:
        raise check.wrong("mode", strange[0], names[strange[0]], f"one of {', '.join(modes)}")
    mode = np.array([-1 if name is None else place[name] for name in names], dtype=np.int64)
    if readings is not None:
        _refuse(
            source,
            (accepted & (readings.last != mode), "accepted in another mode than `last_mode` says"),
            (
                accepted & (readings.verdict != verdict),
                "`verdict` is not what the accepting mode said",
            ),
        )
    rows = OutcomeRows(item_id, modes, mode, verdict, why_not, certified, asked, labels)
    return rows, readings, grading


def _refuse(source: str, *rules: tuple[BoolArray, str]) -> None:
    """Raise for the first row that breaks a rule."""
    broken = np.array([bad for bad, _ in rules])
    if broken.any():
        row = int(broken.any(axis=0).argmax())
        said = rules[int(broken[:, row].argmax())][1]
        raise InputError(f"{source}, row {row + 1}: {said}")


def _in_order_of_asking(names: Sequence[str | None], asked: IntArray) -> tuple[str, ...]:
    """The modes that accepted anything; one that is asked later accepts with more modes asked."""
    first: dict[str, int] = {}
    for name, count in zip(names, asked.tolist(), strict=True):
        if name is not None:
            first[name] = min(count, first.get(name, count))
    return tuple(sorted(first, key=lambda name: (first[name], name)))
