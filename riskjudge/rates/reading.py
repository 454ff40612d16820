"""A sample from a file: a trace, a trace and a gate, or the outcomes of a gate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from riskjudge._typing import ObjectArray
from riskjudge.errors import InputError
from riskjudge.rates.sample import RateSample

if TYPE_CHECKING:
    import pandas as pd

    from riskjudge.data.trace import Trace

OUTCOME_COLUMNS = ("item_id", "status", "verdict", "abstain_reason", "asked")


def is_outcomes(columns: Sequence[str]) -> bool:
    """Whether a table is one that `riskjudge decide` wrote.

    Examples
    --------
    >>> is_outcomes(["item_id", "label", "v1", "u1"])
    False
    """
    return set(OUTCOME_COLUMNS) <= set(columns)


def values_of(extra: pd.DataFrame, column: str, source: str) -> ObjectArray:
    """A carried column as text; a missing value reads ``(missing)``.

    Raises
    ------
    InputError
        If there is no such column.
    """
    if column not in extra.columns:
        have = ", ".join(map(str, extra.columns)) or "none"
        raise InputError(
            f"{source} has no column {column!r} to compare by; further columns: {have}"
        )
    values = extra[column]
    return np.asarray(
        values.astype(object).where(values.notna(), "(missing)").map(str), dtype=object
    )


def group_hint(sample: RateSample, extra: pd.DataFrame, by: str | None) -> list[str]:
    """A note where a column looks like one of groups, and none was given.

    Examples
    --------
    >>> import pandas as pd
    >>> sample = RateSample.from_arrays(np.ones(4), np.ones(4))
    >>> group_hint(sample, pd.DataFrame({"question_id": [1, 1, 2, 2]}), None)[0][:34]
    'rows share values of question_id: '
    """
    if sample.group is not None:
        return []
    for column in extra.columns:
        name = str(column).lower()
        if column == by or not any(
            word in name for word in ("question", "cluster", "prompt", "topic")
        ):
            continue
        distinct = extra[column].nunique()
        if len(sample) / 50 < distinct < len(sample):
            return [
                f"rows share values of {column}: where they depend on one another, --group {column} "
                "gives the right intervals, and these are too short"
            ]
    return []


def sample_of(trace: Trace, mode: str | None) -> tuple[RateSample, list[str]]:
    """A sample of one mode of a trace, and what should be said of the choice."""
    sample = RateSample.from_trace(trace, mode=mode)
    if mode is None and trace.n_modes > 1:
        others = ", ".join(trace.modes[1:])
        return sample, [f"verdicts of {trace.modes[0]}; --only takes another mode ({others})"]
    return sample, []
