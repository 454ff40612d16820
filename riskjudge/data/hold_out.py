"""Labelled items set aside before calibration, to report on."""

from __future__ import annotations

import hashlib

import numpy as np

from riskjudge._typing import BoolArray
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError


def held_out(trace: Trace, share: float, seed: int = 0) -> BoolArray:
    """Which items to set aside: a share of the labelled ones, in whole groups.

    Every item (every group, where the trace has groups) is ranked by a hash of its name and the
    seed: neither the order of the rows nor scores and labels play a part. Unlabelled items stay,
    but for those of a group that is set aside.

    Parameters
    ----------
    trace : Trace
    share : float
        Of the labelled items (of the groups that hold any), between 0 and 1.
    seed : int

    Returns
    -------
    ndarray of bool, shape (n,)

    Raises
    ------
    InputError
        If the share is none, or leaves nothing on either side.

    Examples
    --------
    >>> one = np.ones((10, 1), int)
    >>> trace = Trace.from_arrays(0.5 * one, one, np.arange(10) % 2)
    >>> np.flatnonzero(held_out(trace, 0.3))
    array([1, 4, 8])
    """
    if not 0.0 < share < 1.0:
        raise InputError(f"the share to hold out lies between 0 and 1, got {share!r}")
    of = (trace.item_id if trace.group is None else trace.group).astype(str)
    units = np.unique(of[trace.labelled])
    size = round(share * len(units))
    if not 0 < size < len(units):
        what = "labelled items" if trace.group is None else "groups with a label"
        raise InputError(
            f"{share:g} of {len(units)} {what} leaves none to calibrate or to report on"
        )
    rank = [hashlib.sha256(f"{seed}\0{unit}".encode()).digest() for unit in units]
    order = sorted(range(len(units)), key=lambda i: rank[i])
    return np.isin(of, units[order[:size]])
