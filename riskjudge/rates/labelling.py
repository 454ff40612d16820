"""Rows to label as a table, answers of people, and the labels and weights they turn into."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from riskjudge.errors import InputError
from riskjudge.rates.drawing import Draw, strata_of_rows, weights_of
from riskjudge.rates.sample import STRATUM, WEIGHT, RateSample

if TYPE_CHECKING:
    import pandas as pd

    from riskjudge._typing import ObjectArray

PASS, FAIL, UNSURE, SKIP = "pass", "fail", "unsure", "skip"
ANSWERS = (PASS, FAIL, UNSURE, SKIP)
_READ = {
    **dict.fromkeys(("1", "1.0", "true", PASS), 1),
    **dict.fromkeys(("0", "0.0", "false", FAIL), 0),
    **dict.fromkeys(("", "nan", "none", "<na>", UNSURE, SKIP), -1),
}
_OWN = (STRATUM, "probability", "pieces", "annotator")


def rows_to_label(
    frame: pd.DataFrame, drawn: Draw, item_id: str, label: str, judges: Iterable[str] = ()
) -> pd.DataFrame:
    """The drawn rows of a trace, with how they were drawn and an empty label.

    What the judge said (in the columns `judges` and those of the usual names) stays out: who labels
    should not see it.
    """
    verdicts = [c for c in frame.columns if c in set(judges) or _is_judges(str(c))]
    drop = [*verdicts, label, WEIGHT, *_OWN]
    rows = frame.iloc[drawn.index].drop(columns=drop, errors="ignore")
    rows = rows.reset_index(drop=True)
    rows.insert(1, label, None)
    names = np.array(drawn.names, dtype=object)
    rows[STRATUM] = names[drawn.stratum[drawn.index]]
    rows["probability"] = drawn.probability
    rows[WEIGHT] = 1.0 / drawn.probability
    rows["pieces"] = drawn.pieces
    return rows


def _is_judges(column: str) -> bool:
    """Whether a column is one of the judge's: v1, u2, why1, source3, p_true_1.

    Examples
    --------
    >>> [_is_judges(c) for c in ("v1", "why2", "p_true_1", "value", "url")]
    [True, True, True, False, False]
    """
    stem = column.rstrip("0123456789")
    return stem != column and stem in {"v", "u", "why", "source", "p_true_", "mass_"}


@dataclass(frozen=True, slots=True)
class Agreement:
    """How two annotators agree on the rows that both labelled pass or fail.

    `kappa` is None where it is undefined (no row, or one answer only).
    """

    first: str
    second: str
    rows: int
    agreed: int
    kappa: float | None


@dataclass(frozen=True)
class Answers:
    """Labels by id, and what was not settled.

    Attributes
    ----------
    labels : mapping of str to int
        1 or 0, where all who gave one agree.
    open : tuple of str
        Ids without a label: nobody answered, or all were unsure.
    disputed : tuple of str
        Ids on which annotators disagree; they stay without a label.
    agreement : tuple of Agreement
        One a pair of annotators.
    """

    labels: Mapping[str, int]
    open: tuple[str, ...]
    disputed: tuple[str, ...]
    agreement: tuple[Agreement, ...]


def settle(ids: list[str], by_annotator: Mapping[str, Mapping[str, int]]) -> Answers:
    """One label an id, where annotators agree.

    Examples
    --------
    >>> found = settle(["x", "y", "z"], {"ann": {"x": 1, "y": 0}, "bob": {"x": 1, "y": 1}})
    >>> found.labels, found.disputed, found.open, found.agreement[0].agreed
    ({'x': 1}, ('y',), ('z',), 1)
    """
    labels: dict[str, int] = {}
    open_: list[str] = []
    disputed: list[str] = []
    for row in ids:
        said = {a[row] for a in by_annotator.values() if a.get(row, -1) >= 0}
        if len(said) == 1:
            labels[row] = said.pop()
        else:
            (disputed if said else open_).append(row)
    pairs = tuple(
        _agreement(first, second, by_annotator)
        for first, second in itertools.combinations(sorted(by_annotator), 2)
    )
    return Answers(labels, tuple(open_), tuple(disputed), pairs)


def _agreement(first: str, second: str, answers: Mapping[str, Mapping[str, int]]) -> Agreement:
    one, two = answers[first], answers[second]
    both = [row for row in one if one[row] >= 0 and two.get(row, -1) >= 0]
    a, b = (np.array([side[row] for row in both]) for side in (one, two))
    agreed = int(np.count_nonzero(a == b)) if both else 0
    kappa = None
    if both:
        chance = float(a.mean() * b.mean() + (1 - a.mean()) * (1 - b.mean()))
        kappa = (agreed / len(both) - chance) / (1 - chance) if chance < 1.0 else None
    return Agreement(first, second, len(both), agreed, kappa)


def read_labels(frame: pd.DataFrame, item_id: str, column: str, source: str) -> dict[str, int]:
    """Labels by id from a column: 1 for pass, 0 for fail, -1 for unsure, skipped or empty.

    Raises
    ------
    InputError
        For another value, an id that comes twice, or a missing column; with its row.
    """
    for needed in (item_id, column):
        if needed not in frame.columns:
            have = ", ".join(map(str, frame.columns))
            raise InputError(f"{source} has no column {needed!r}; its columns are {have}")
    result: dict[str, int] = {}
    for row, (name, value) in enumerate(
        zip(frame[item_id].map(str), frame[column], strict=True), start=1
    ):
        text = str(value).strip().lower()
        if text not in _READ:
            raise InputError(
                f"{source}, row {row}, {column}: {value!r} is not 1, 0, true, false, pass, fail, unsure, "
                "skip or empty"
            )
        if name in result:
            raise InputError(f"{source}, row {row}: the id {name!r} comes twice")
        result[name] = _READ[text]
    return result


def take_labels(
    frame: pd.DataFrame,
    sample: RateSample,
    drawn: pd.DataFrame,
    labels: Mapping[str, int],
    *,
    system: ObjectArray | None,
    item_id: str,
    label: str,
) -> pd.DataFrame:
    """The trace with the labels taken in, the stratum of every row and the weight of labelled ones.

    Parameters
    ----------
    frame : DataFrame
        The trace as it was when rows were drawn.
    sample : RateSample
        The same rows.
    drawn : DataFrame
        What :func:`rows_to_label` wrote.
    labels : mapping of str to int
    system : ObjectArray, optional
        Column of the system.
    item_id : str
        Column of the unique id.
    label : str
        Column of the label.

    Raises
    ------
    InputError
        If a drawn row is not in the trace or lies in another stratum than when it was drawn, or
        if it has another label by now.
    """
    ids = frame[item_id].map(str).to_numpy(dtype=object)
    place = {name: i for i, name in enumerate(ids)}
    if STRATUM in frame.columns:
        names = frame[STRATUM].map(str).to_numpy(dtype=object)
    else:
        pieces = int(drawn["pieces"].iloc[0])
        stratum, titles = strata_of_rows(sample, pieces, system)
        names = np.array(titles, dtype=object)[stratum]
    column = sample.labels.copy()
    for row, (name, where) in enumerate(
        zip(drawn[item_id].map(str), drawn[STRATUM].map(str), strict=True), start=1
    ):
        if name not in place:
            raise InputError(f"drawn row {row}: the trace has no item {name!r}")
        i = place[name]
        if names[i] != where:
            raise InputError(
                f"drawn row {row} ({name}): it was drawn from {where!r} and lies in {names[i]!r} now; "
                "take answers into the trace they were drawn from, with the same options"
            )
        given = labels.get(name, -1)
        if given >= 0 and column[i] >= 0 and column[i] != given:
            raise InputError(
                f"drawn row {row} ({name}): the trace has the label {column[i]} already"
            )
        if given >= 0:
            column[i] = given
    codes = np.unique(names.astype(str), return_inverse=True)[1]
    weight = weights_of(codes, column >= 0)
    result = frame.copy()
    values = np.where(column >= 0, column, np.nan)
    result[label] = values
    result[label] = result[label].astype("Int64")
    result[WEIGHT] = weight
    result[STRATUM] = names
    return result
