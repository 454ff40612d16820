"""Do the labelled items look like those that are to be judged? Known weights make them."""

from __future__ import annotations

import hashlib

import numpy as np

from riskjudge._typing import FloatArray
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError
from riskjudge.monitor.two_sample import compare_categories, compare_ordered, holm

_MOST_VALUES = 20


def unlike_pool(
    trace: Trace, pool: Trace | None = None, *, level: float = 0.01, seed: int = 0
) -> tuple[str, ...]:
    """In what the labelled items differ from the unlabelled ones, in words; empty if in nothing.

    Scores of every mode are compared, and every column carried along by both with at most twenty
    values; exact or permutation tests, Holm's correction over all of them. That nothing is found does
    not show that the labelled items are a random draw.

    Examples
    --------
    >>> scores = np.concatenate((np.linspace(0, 0.3, 80), np.linspace(0, 1, 300)))[:, None]
    >>> labels = np.concatenate((np.zeros(80, int), np.full(300, -1)))
    >>> trace = Trace.from_arrays(scores, np.zeros((380, 1), int), labels)
    >>> print(*unlike_pool(trace))
    the labelled items do not look like the unlabelled ones in u1 (p = 0.0005)
    """
    rng = np.random.default_rng(seed)
    labelled, others = trace.rows(trace.labelled), [trace.rows(~trace.labelled)]
    if pool is not None:
        others.append(pool.select(trace.modes))
    names: list[str] = []
    p_values: list[float | None] = []
    for k, mode in enumerate(trace.columns):
        old = labelled.scores[:, k]
        new = np.concatenate([other.scores[:, k] for other in others])
        old, new = old[~np.isnan(old)], new[~np.isnan(new)]
        names.append(mode.uncertainty)
        p_values.append(compare_ordered(old, new, permutations=1999, rng=rng).p_value)
    for column in labelled.extra.columns:
        if not all(column in other.extra.columns for other in others):
            continue
        a = labelled.extra[column].map(str).to_numpy()
        b = np.concatenate([other.extra[column].map(str).to_numpy() for other in others])
        values = sorted({*a, *b})
        if 1 < len(values) <= _MOST_VALUES:
            rows = [np.array([np.count_nonzero(part == v) for v in values]) for part in (a, b)]
            names.append(str(column))
            p_values.append(compare_categories(*rows, permutations=1999, rng=rng).p_value)
    raw = dict(zip(names, p_values, strict=True))
    adjusted = zip(names, holm(p_values), strict=True)
    return tuple(
        f"the labelled items do not look like the unlabelled ones in {name} (p = {raw[name]:.2g})"
        for name, p in adjusted
        if p is not None and p <= level
    )


def thin_by_weight(trace: Trace, column: str, largest: float, seed: int = 0) -> Trace:
    """Keep labelled items with probability ``weight / largest``: those kept are draws from the target.

    Parameters
    ----------
    trace : Trace
        Its labelled items were drawn with known, unequal probabilities, each by itself: labelled items
        of one group are refused, for a group with several items would be kept more often.
    column : str
        Weight of each item: proportional to one over the probability with which it was chosen.
    largest : float
        A number that no weight of the population exceeds, known in advance. (The largest weight *seen*
        would not do: the item that has it would always be kept.)
    seed : int
        Decides, with the id of each item, which are kept.

    Returns
    -------
    Trace
        Unlabelled items are left as they are.

    Notes
    -----
    *Proof.* Let items be drawn independently with density proportional to ``q(x)`` where the target
    has ``p(x)``, and ``w(x) = c p(x) / q(x) <= largest``. Each is kept independently with probability
    ``w(x) / largest``, a fixed function of the item. Given how many are kept they are independent, and
    their density is proportional to ``q(x) w(x) = c p(x)``: that of the target. Labels come along
    with x. So a calibration on them is an ordinary one, and its promise is about the target. The
    price is ``mean weight / largest``, the share of labels that is kept.

    Examples
    --------
    >>> trace = Trace.from_arrays(np.zeros((4, 1)), np.zeros((4, 1), int), np.array([0, 1, 0, 1]))
    >>> trace.extra["weight"] = [2.0, 2.0, 0.0, 0.0]
    >>> list(thin_by_weight(trace, "weight", 2.0).item_id)
    ['0', '1']
    """
    if column not in trace.extra.columns:
        raise InputError(f"the trace carries no column {column!r} to weigh by")
    if not largest > 0 or not np.isfinite(largest):
        raise InputError(f"the largest weight must be a positive number, got {largest!r}")
    if trace.group is not None:
        names = trace.group[trace.labelled].astype(str)
        if len(np.unique(names)) < len(names):
            raise InputError(
                "weights are about items that were drawn one by one, and labelled items share groups: "
                "keep one random item of each group, and give the weights of the groups"
            )
    weights = _numbers(trace, column)
    for row in np.flatnonzero(trace.labelled):
        weight = weights[row]
        if not 0 <= weight <= largest:
            raise InputError(
                f"{column} of the item {trace.item_id[row]!r} is {weight!r}; a weight lies between 0 "
                f"and the largest one, {largest:g}"
            )
    chance = np.array([_uniform(seed, str(item)) for item in trace.item_id])
    kept = ~trace.labelled | (chance * largest < weights)
    if trace.labelled.any() and not (kept & trace.labelled).any():
        raise InputError(
            f"no labelled item is kept: their {column} is 0 or far below the largest one, {largest:g}"
        )
    return trace.rows(kept)


def _numbers(trace: Trace, column: str) -> FloatArray:
    import pandas as pd

    return np.asarray(pd.to_numeric(trace.extra[column], errors="coerce"), dtype=np.float64)


def _uniform(seed: int, item: str) -> float:
    """A number in [0, 1) that only the seed and the id decide, in whatever order rows come."""
    digest = hashlib.sha256(f"{seed} {item}".encode()).digest()
    return int.from_bytes(digest[:7], "big") / float(1 << 56)
