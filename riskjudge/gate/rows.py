"""Which rows of a trace a gate may be fitted on, and which may place its thresholds."""

from __future__ import annotations

import numpy as np

from riskjudge.data.perturbed import refuse_perturbed
from riskjudge.data.trace import Trace, stack
from riskjudge.errors import InputError
from riskjudge.gate.suspicions import suspicions

ONE_OF_EACH_GROUP = "the promise is about one random item of a random group, not about all items"


def rows_to_fit_on(
    trace: Trace, pool: Trace | None, groups: str, seed: int
) -> tuple[Trace, Trace | None, tuple[str, ...]]:
    """Labelled items fit to be tested on, the pool, and notes on what was left out.

    Both come in the order of their ids: procedures draw rows by position, and the order of a file
    must not choose what they draw.

    Parameters
    ----------
    trace : Trace
        Its unlabelled items join the pool.
    pool : Trace or None
    groups : {"refuse", "sample"}
        What to do where labelled items share a group.
    seed : int
        Draws one item of each group.

    Raises
    ------
    InputError
        If no item has a label, labelled items depend on one another, or the pool holds one.
    """
    notes: list[str] = []
    refuse_perturbed(trace)
    trace = trace.in_order()
    labelled = trace.rows(trace.labelled)
    unlabelled = trace.rows(~trace.labelled)
    if len(labelled) == 0:
        raise InputError(
            "no item has a label; calibration needs labelled items (a label column of another "
            "name is given with label=, --label)"
        )
    if len(unlabelled):
        notes.append(f"{len(unlabelled)} items without a label serve as the unlabelled pool")
    pools = [unlabelled] if len(unlabelled) else []
    if pool is not None:
        pools.append(pool.select(trace.modes).in_order())
    # Before one of each group is drawn: the others are no strangers to it either.
    held = set(labelled.item_id) if len(pools) else set()
    labelled = _independent(labelled, groups, seed, notes)
    kept = []
    for part in pools:
        shared = held & set(part.item_id)
        if shared:
            raise InputError(
                f"the pool holds the calibration item {min(shared)!r} ({len(shared)} shared ids); "
                "the pool must be independent of the labelled items"
            )
        if part.group is not None and trace.group is not None:
            tied = np.isin(part.group.astype(str), trace.group[trace.labelled].astype(str))
            if tied.any():
                notes.append(f"{tied.sum()} pool items share a group with labelled ones: left out")
                part = part.rows(~tied)
        if len(part):
            kept.append(part)
    notes += _reversed_scores(labelled) + suspicions(labelled)
    return labelled, stack(kept) if kept else None, tuple(notes)


def _independent(labelled: Trace, groups: str, seed: int, notes: list[str]) -> Trace:
    if groups not in ("refuse", "sample"):
        raise InputError(f"groups must be 'refuse' or 'sample', got {groups!r}")
    if labelled.group is None:
        return labelled
    names, first = np.unique(labelled.group.astype(str), return_index=True)
    if len(names) == len(labelled):
        return labelled
    if groups == "refuse":
        raise InputError(
            f"the {len(labelled)} labelled items come from {len(names)} groups: items of a group "
            "depend on one another, which breaks the binomial argument. Use one item a group: "
            "groups='sample' (--groups sample) draws one at random"
        )
    order = np.random.default_rng(seed).permutation(len(labelled))
    _, first = np.unique(labelled.group[order].astype(str), return_index=True)
    notes.append(
        f"one item drawn at random (seed {seed}) from each of {len(names)} groups, "
        f"{len(labelled) - len(names)} items left out; the promise is about one random item of a "
        "random group"
    )
    return labelled.rows(np.sort(order[first]))


def _reversed_scores(labelled: Trace) -> list[str]:
    """A note for each mode whose surest verdicts are the wrong ones: a confidence, perhaps?"""
    from scipy import stats

    found = []
    wrong = labelled.wrong
    for k, mode in enumerate(labelled.columns):
        scores = labelled.scores[:, k]
        usable = ~np.isnan(scores)
        bad, good = scores[usable & wrong[:, k]], scores[usable & ~wrong[:, k]]
        if len(bad) and len(good):
            p = stats.mannwhitneyu(bad, good, alternative="less", method="asymptotic").pvalue
            if p < 1e-4:
                found.append(
                    f"{mode.name}: verdicts with a low {mode.uncertainty} are wrong more often than "
                    "others; higher must mean less sure (is it a confidence?)"
                )
    return found
