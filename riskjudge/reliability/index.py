"""An index of bias with its interval, and shares of calls that depend on one another by item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from riskjudge._typing import BoolArray, IntArray
from riskjudge.proportion import Share, share_of
from riskjudge.share import Rate

if TYPE_CHECKING:
    import pandas as pd

NEED = 30
"""Items that an index needs by default."""


@dataclass(frozen=True, slots=True)
class Index:
    """An estimate with its interval and p-value, or the reason why there is none.

    Attributes
    ----------
    value, low, high : float or None
        None where the index is UNDEFINED.
    p, p_holm : float or None
        Two-sided, of no bias; `p_holm` is corrected for all judges of the report (Holm).
    undefined : str
        Why there is no value; empty where there is one.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    undefined: str = ""


def rate_of_calls(hits: BoolArray, codes: IntArray, confidence: float) -> Rate:
    """A share of calls with its exact interval, for the number of independent calls."""
    count, of = int(np.count_nonzero(hits)), len(hits)
    if of == 0 or len(np.unique(codes)) == of:
        return Rate(count, of, confidence=confidence)
    worth = clustered_share(hits, codes, confidence).effective
    return Rate(count, of, confidence=confidence, effective=worth)


def clustered_share(hits: BoolArray, codes: IntArray, confidence: float) -> Share:
    """A share of calls, and how many independent ones they are worth."""
    alone = len(np.unique(codes)) == len(codes)
    return share_of(hits.astype(np.int64), group=None if alone else codes, confidence=confidence)


def item_codes(calls: pd.DataFrame) -> IntArray:
    """Number of each call's item."""
    _, codes = np.unique(calls["item"].to_numpy().astype(str), return_inverse=True)
    return np.asarray(codes, dtype=np.int64)
