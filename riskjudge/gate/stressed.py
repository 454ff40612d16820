"""The calibration items once more, as they look under perturbations: a promise that is to hold there, too."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from riskjudge._typing import IntArray
from riskjudge.calibration import Sample
from riskjudge.data.perturbed import PERTURBED
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError
from riskjudge.gate.binding import refuse_mismatch, refuse_other_grading


def variants_of(labelled: Trace, stressed: Mapping[str, Trace], least: int) -> dict[str, Sample]:
    """The labelled items under each perturbation, row by row.

    Parameters
    ----------
    labelled : Trace
        What will be calibrated on.
    stressed : mapping of str to Trace
        By perturbation. An item is found by the column ``perturbed``, or by its own id where there is no
        such column; items that are not among the labelled ones are left out.
    least : int
        Items that a perturbation has to apply to.

    Returns
    -------
    dict of str to Sample
        A row to which a perturbation does not apply, or in which no mode gave a verdict, has no score.

    Raises
    ------
    InputError
        If scores were made in another way, a perturbed item has no label or occurs twice, or a
        perturbation applies to fewer than `least` items.
    """
    found = {}
    position = {item: i for i, item in enumerate(labelled.item_id)}
    for name, trace in stressed.items():
        trace = trace.select(labelled.modes)
        there = f"the items under {name}"
        refuse_other_grading(labelled.grading, trace.grading, "the labelled items", there)
        refuse_mismatch(
            labelled.modes, labelled.sources, trace.sources, "the labelled items", there
        )
        rows, places = _matched(trace, position, name)
        if len(rows) < least:
            raise InputError(
                f"{name} applies to {len(rows)} of the labelled items, and a promise about them needs at "
                f"least {least}: label more, or leave it out"
            )
        found[name] = _aligned(labelled, trace, rows, places)
    return found


def _matched(trace: Trace, position: Mapping[str, int], name: str) -> tuple[IntArray, IntArray]:
    """Rows of a trace that belong to labelled items, and the places of these."""
    ids = trace.extra.get(PERTURBED, trace.item_id)
    rows, places = [], []
    seen: set[int] = set()
    for row, item in enumerate(map(str, ids)):
        place = position.get(item)
        if place is None:
            continue
        if place in seen:
            raise InputError(
                f"item {item!r} occurs twice under {name}: one row for each item is needed"
            )
        seen.add(place)
        if trace.labels[row] < 0:
            raise InputError(
                f"item {item!r} has a label, but none under {name} (row {trace.item_id[row]!r})"
            )
        rows.append(row)
        places.append(place)
    return np.array(rows, dtype=np.int64), np.array(places, dtype=np.int64)


def _aligned(labelled: Trace, trace: Trace, rows: IntArray, places: IntArray) -> Sample:
    scores = np.full(labelled.scores.shape, np.nan)
    verdicts = np.full(labelled.verdicts.shape, -1, dtype=np.int64)
    labels = labelled.labels.copy()
    scores[places], verdicts[places] = trace.scores[rows], trace.verdicts[rows]
    labels[places] = trace.labels[rows]
    return Sample(scores, verdicts, labels, labelled.modes, reach=labelled.reach)
