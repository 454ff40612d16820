"""Tables of scores before and after perturbations: one row an item, or one row a score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from riskjudge._typing import FloatArray, IntArray, ObjectArray
from riskjudge.data.columns import Columns
from riskjudge.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class PerturbedScores:
    """Scores of m rows, and of the same rows under P perturbations.

    Attributes
    ----------
    scores : ndarray of float, shape (m,)
    perturbed : ndarray of float, shape (m, P)
    names : tuple of str
        Of the perturbations.
    unit : ndarray of str, shape (m,)
        What is independent: the item, or the group it is in. Rows of one unit depend on one another.
    system : ndarray of str or None, shape (m,)
    item_id : ndarray of str, shape (m,)
    """

    scores: FloatArray
    perturbed: FloatArray
    names: tuple[str, ...]
    unit: ObjectArray
    system: ObjectArray | None
    item_id: ObjectArray

    @property
    def shifts(self) -> FloatArray:
        """What each perturbation does to each score, shape (m, P)."""
        return self.perturbed - self.scores[:, None]

    def order(self) -> IntArray:
        """The rows in the order of their ids and systems: what is drawn for a row goes by these."""
        keys = (self.item_id,) if self.system is None else (self.system, self.item_id)
        return np.lexsort([key.astype(str) for key in keys])


def read_scores(
    frame: pd.DataFrame,
    score: str,
    perturbed: Sequence[str],
    *,
    item_id: str = "item_id",
    group: str | None = None,
    system: str | None = None,
    missing: str = "refuse",
    source: str = "the table",
) -> PerturbedScores:
    """Scores from a table with a column for each perturbation.

    Parameters
    ----------
    frame : DataFrame
        One row an item, or one row an item and system.
    score : str
        Column of the scores as they are.
    perturbed : sequence of str
        Columns of the scores under each perturbation.
    item_id, group, system : str
        Columns. An id occurs once, or once for each system; with `system`, the items are independent
        and the rows of one are not.
    missing : {"refuse", "unchanged"}
        What to do where there is no score under a perturbation. It is ``unchanged`` where the
        perturbation had nothing to change in the item, which then was not judged again.
    source : str
        How messages call the table.

    Raises
    ------
    InputError
        A column is missing, an id is missing or occurs twice, or a score is not a finite number: with
        its row. A missing score is not taken for an unchanged one, unless `missing` says so.
    """
    if missing not in ("refuse", "unchanged"):
        raise InputError(f"missing is refuse or unchanged, got {missing!r}")
    names = tuple(perturbed)
    if not names:
        raise InputError("name a column of perturbed scores, one or more (--perturbed)")
    if len({score, *names}) <= len(names):
        raise InputError(f"a column is named twice among {score}, {', '.join(names)}")
    if len(frame) == 0:
        raise InputError(f"{source} has no rows; at least one is needed")
    check = Columns(frame, source)
    systems = None if system is None else check.groups(system)
    ids = check.ids(item_id) if systems is None else check.groups(item_id)
    if systems is not None:
        _refuse_pairs(ids, systems, source)
    plain = _complete(check, score, ids)
    kept = plain if missing == "unchanged" else None
    columns = [plain, *(_complete(check, column, ids, kept) for column in names)]
    return PerturbedScores(
        columns[0],
        np.column_stack(columns[1:]),
        names,
        ids if group is None else check.groups(group),
        systems,
        ids,
    )


def widened(
    frame: pd.DataFrame,
    score: str,
    perturbation: str,
    original: str,
    *,
    item_id: str = "item_id",
    keep: Sequence[str] = (),
    source: str = "the table",
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """A table with a column for each perturbation, from one with a row for each score.

    Parameters
    ----------
    frame : DataFrame
        One row a score.
    score, perturbation : str
        Columns of the score and of the perturbation's name.
    original : str
        The name that stands where nothing was perturbed.
    item_id : str
    keep : sequence of str
        Columns that tell rows of one item apart (the system), or are the same in all of them.
    source : str

    Returns
    -------
    (DataFrame, tuple of str)
        The table, and its columns of perturbed scores.

    Raises
    ------
    InputError
        If nothing is original, or an item has two scores under one perturbation.
    """
    check = Columns(frame, source)
    names = check.groups(perturbation)
    if original not in names:
        found = ", ".join(sorted(set(names))[:12])
        raise InputError(f"{source}: no {perturbation} is {original!r}; there are {found}")
    if score in set(names) - {original}:
        raise InputError(f"{source}: {score!r} is the name of the scores and of a {perturbation}")
    for column in (item_id, *keep):
        check.groups(column)
    keys = [item_id, *keep]
    whole = frame.assign(**{perturbation: names})
    twice = whole.duplicated([*keys, perturbation]).to_numpy()
    if twice.any():
        row = int(twice.argmax())
        raise InputError(
            f"{source}, row {row + 1}: {frame[item_id].iloc[row]!r} has a second score under "
            f"{names[row]!r}"
        )
    wide = whole.pivot(index=keys, columns=perturbation, values=score).reset_index()
    wide.columns.name = None
    wide = wide.rename(columns={original: score} if original != score else {})
    return wide, tuple(sorted(set(names) - {original}))


def _complete(
    check: Columns, column: str, ids: ObjectArray, instead: FloatArray | None = None
) -> FloatArray:
    numbers = check.numbers(column)
    missing = np.isnan(numbers)
    if instead is not None:
        return np.where(missing, instead, numbers)
    if missing.any():
        row = int(missing.argmax())
        raise InputError(
            f"{check.source_name}, row {row + 1}, item {ids[row]!r}: no score in {column!r}; leave the item "
            "out, or say that it is unchanged (missing='unchanged', --missing unchanged)"
        )
    return numbers


def _refuse_pairs(ids: ObjectArray, systems: ObjectArray, source: str) -> None:
    seen: dict[tuple[str, str], int] = {}
    for row, pair in enumerate(zip(ids, systems, strict=True)):
        if pair in seen:
            raise InputError(
                f"{source}, row {row + 1}: item {pair[0]!r} of system {pair[1]!r} is that of row "
                f"{seen[pair] + 1} again"
            )
        seen[pair] = row
