"""Which labels teach, and the trace that a fusion makes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from riskjudge._typing import FloatArray, IntArray
from riskjudge.calibration.sample import Sample
from riskjudge.data.modes import FIRST_FAILURE, ModeColumns
from riskjudge.data.source import ScoreSource
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError
from riskjudge.signals.fusion import Fusion, Taught, hashed_ids

_SHARE, _MOST_SHARE, _MOST_ROWS = 0.15, 0.25, 1_000


def rows_to_teach(n: int, n_signals: int, share: float | None = None) -> int:
    """How many of n labelled rows teach.

    By default 15 % and one more for each signal, at most a quarter and at most 1,000: more would
    sharpen the fusion by less than it costs in rows to test on.

    Examples
    --------
    >>> rows_to_teach(1000, 2), rows_to_teach(200, 30), rows_to_teach(150, 4, share=0.5)
    (152, 50, 75)
    """
    if share is not None:
        if not 0.0 < share < 1.0:
            raise InputError(f"the share of labels that teach lies between 0 and 1, got {share!r}")
        wanted = share * n
    else:
        wanted = min(_SHARE * n + n_signals, _MOST_SHARE * n, _MOST_ROWS)
    return min(max(round(wanted), 4), n)


def split_teaching(
    trace: Trace, n_signals: int, share: float | None = None, seed: int = 0
) -> tuple[Trace, Trace]:
    """``(teaching rows, all others)``, drawn without a look at labels or scores.

    Items of one group stay together. The draw depends on the ids and the seed, not on the order of
    the rows.
    """
    labelled = np.flatnonzero(trace.labelled)
    of = trace.item_id if trace.group is None else trace.group
    units = np.unique(of[labelled].astype(str))
    size = rows_to_teach(len(units), n_signals, share)
    if len(units) - size < 1:
        raise InputError(f"{len(units)} labelled items are too few to teach and to test")
    drawn = np.random.default_rng([seed, 12]).permutation(units)[:size]
    teaching = trace.labelled & np.isin(of.astype(str), drawn)
    # An unlabelled item of a teaching group is no stranger to it.
    rest = ~np.isin(of.astype(str), drawn)
    return trace.rows(teaching), trace.rows(rest)


def refuse_taught(fusion: Fusion, trace: Trace) -> None:
    """Turn a calibration away whose labelled items taught the fusion.

    Raises
    ------
    InputError
        Naming one of them.
    """
    ids = trace.item_id[trace.labelled]
    shared = [i for i in ids if hashed_ids([i]) <= fusion.teaching_ids]
    if shared:
        raise InputError(
            f"the item {min(shared)!r} taught the fusion ({len(shared)} such items): its fused score "
            "has seen its label, so it cannot be calibrated on. Calibrate on the table that "
            "riskjudge fuse wrote, which leaves the teaching rows out"
        )


def fused_trace(fusion: Fusion, trace: Trace, digest: str) -> Trace:
    """The trace with a mode for each stage before its own.

    A stage's verdict is 1 where its probability is one half or more, its uncertainty the probability
    that this is wrong. So all stages share one scale. Where none of the modes that a stage weighs
    gave a verdict there is nothing to weigh: the stage has none either, for the same reason (that of
    the last one, or the first failure).

    Parameters
    ----------
    digest : str
        Names the fusion as the source of the new modes.
    fusion : Fusion
        The fusion.
    trace : Trace
        The items.
    """
    names = stage_names(fusion)
    verdicts, scores = _fused(fusion, fusion.probabilities(trace), trace.verdicts)
    columns = tuple(
        ModeColumns(name, f"v_{name}", f"u_{name}", source=f"source_{name}") for name in names
    )
    source = ScoreSource({"measure": "fused", "fusion": digest})
    sources = tuple(
        ScoreSource({**source, "stage": t + 1}) if len(names) > 1 else source
        for t in range(len(names))
    )
    return replace(
        trace,
        columns=(*columns, *trace.columns),
        verdicts=np.column_stack((verdicts, trace.verdicts)).astype(trace.verdicts.dtype),
        scores=np.column_stack((scores, trace.scores)),
        absence=np.column_stack((_absence(fusion, verdicts, trace), trace.absence)),
        sources=(*sources, *trace.sources),
    )


def _fused(fusion: Fusion, p: FloatArray, verdicts: IntArray) -> tuple[IntArray, FloatArray]:
    """Verdict and uncertainty by each stage, shape (n, stages); -1 and NaN where no mode spoke."""
    said, unsure = (p >= 0.5).astype(np.int64), np.minimum(p, 1.0 - p)
    for t, weighed in enumerate(fusion.weighed):
        silent = (verdicts[:, weighed] < 0).all(axis=1) & (len(weighed) > 0)
        said[silent, t], unsure[silent, t] = -1, np.nan
    return said, unsure


def _absence(fusion: Fusion, said: IntArray, trace: Trace) -> IntArray:
    """Why a stage has no verdict, shape (n, stages); -1 where it has one."""
    found = np.full(said.shape, -1)
    for t, weighed in enumerate(fusion.weighed):
        for row in np.flatnonzero(said[:, t] < 0):
            reasons = trace.absence[row, weighed]
            failures = reasons[reasons >= FIRST_FAILURE]
            found[row, t] = failures[0] if len(failures) else reasons[-1]
    return found


def stage_names(fusion: Fusion) -> tuple[str, ...]:
    """Names of the fused modes: ``fused``, or ``fused1``, ``fused2`` …"""
    if len(fusion.stages) == 1:
        return ("fused",)
    return tuple(f"fused{t + 1}" for t in range(len(fusion.stages)))


def taught_sample(fusion: Fusion, plain: tuple[int, ...]) -> Sample:
    """The teaching rows as a procedure may use them, with the plain modes at the given positions."""
    taught: Taught = fusion.taught
    said, unsure = _fused(fusion, taught.probabilities, taught.verdicts)
    scores: FloatArray = np.column_stack((unsure, taught.scores[:, plain]))
    verdicts: IntArray = np.column_stack((said, taught.verdicts[:, plain]))
    modes = (*stage_names(fusion), *(fusion.modes[k] for k in plain))
    return Sample(scores, verdicts, taught.labels, modes)
