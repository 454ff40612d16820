"""Deployment check without labels: do new items still look like the calibration items?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from riskjudge._typing import BoolArray, FloatArray, IntArray
from riskjudge.binomial import check_level
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError
from riskjudge.monitor import two_sample
from riskjudge.monitor.two_sample import Method, TwoSample

if TYPE_CHECKING:
    from riskjudge.gate import Router, SelectiveGate


class DriftAnswer(StrEnum):
    """What a check says.

    ``drifted``: at least one comparison is significant. ``consistent``: none is, and a change of
    the size asked about would probably have been seen. ``insufficient``: none is, and there are too
    few items to say more.
    """

    CONSISTENT = "consistent"
    DRIFTED = "drifted"
    INSUFFICIENT = "insufficient"


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison of calibration items (old) with new ones.

    Attributes
    ----------
    what : str
    old, new : int
        Items compared.
    gap : float or None
        Largest distance of the two distribution functions (scores), or of the share of any
        category (the rest); None (UNDEFINED) if one side has no item.
    p_value, adjusted : float or None
        As computed, and after Holm's correction over all comparisons of the check. None where one
        side has no item, or all items of both are equal.
    method : Method or None
        ``exact`` or ``permutation``.
    """

    what: str
    old: int
    new: int
    gap: float | None
    p_value: float | None
    adjusted: float | None
    method: Method | None


@dataclass(frozen=True, slots=True)
class DriftCheck:
    """Outcome of :func:`check_drift`.

    Attributes
    ----------
    answer : DriftAnswer
    level : float
        Largest probability of ``drifted`` where nothing changed.
    gap : float
        Size of change that ``consistent`` speaks about.
    need, have : int or None, int
        New items with which a change of that size is seen with probability .8 at least, and those
        there are; `need` is None where the calibration items are too few for any number to do.
    comparisons : tuple of Comparison
    notes : tuple of str
    """

    answer: DriftAnswer
    level: float
    gap: float
    need: int | None
    have: int
    comparisons: tuple[Comparison, ...]
    notes: tuple[str, ...] = ()

    @property
    def changed(self) -> tuple[str, ...]:
        """What is significantly different."""
        return tuple(
            c.what for c in self.comparisons if c.adjusted is not None and c.adjusted <= self.level
        )

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary."""
        return asdict(self) | {"changed": list(self.changed)}


def check_drift(
    gate: Router | SelectiveGate,
    calibration: Trace,
    new: Trace,
    *,
    level: float = 0.05,
    gap: float = 0.15,
    labels: bool = False,
    permutations: int = 1999,
    seed: int = 0,
) -> DriftCheck:
    """Compare new items, whose labels nobody needs to know, with those at calibration.

    Compared are, for each mode: the scores, whether there is a usable verdict (with the reason if
    not), and the verdicts; for several modes, which verdicts go together; and where the gate routes
    the items. Each comparison is an exact or a permutation test (:mod:`.two_sample`), Holm's
    correction keeps the probability of any false finding at `level`.

    Parameters
    ----------
    gate : Router or SelectiveGate
        Fitted.
    calibration : Trace
        The trace it was calibrated on; all its items are used, with or without label.
    new : Trace
        Independent of the calibration items.
    level : float
        Largest tolerated probability of ``drifted`` where nothing changed.
    gap : float
        Change of a share (of a distribution function) that must not be missed for ``consistent``.
    labels : bool
        Compare also the labels, and each mode's verdicts among items of equal label (of scores with a
        tolerance, each mode's errors), as far as both traces have them. Whether a new item
        has a label must not depend on its verdicts.
    permutations : int
        For comparisons of more than two categories.
    seed : int
        Seeds the permutations, and the draw of one item where items share a group.

    Returns
    -------
    DriftCheck

    Raises
    ------
    InputError
        If the gate is not fitted, or a trace lacks one of its modes.

    Notes
    -----
    *Valid because* items drawn independently from one population are exchangeable once they are
    pooled; then each p-value satisfies P(p <= x) <= x, and Holm's procedure needs no more than that
    (comparisons may depend on one another). One comparison is not quite of this kind: the routing,
    since the thresholds were fitted on the calibration items: its p-value is exact for thresholds
    fixed in advance. Measured where nothing changed, with the gate fitted on the very items that are
    compared: .03 to .065 of the routing comparisons at or below .05 (800 replicates each, standard
    error .008); the check as a whole says ``drifted`` in .012 and .020 (250 replicates each).

    *What it cannot see* without labels: a judge that errs more often at the same scores and with the
    same verdicts. See `labels`, and :class:`riskjudge.monitor.RiskAlarm`.

    Examples
    --------
    >>> import riskjudge
    >>> trace = riskjudge.demo_trace()
    >>> old, new = trace.rows(np.arange(1000)), trace.rows(np.arange(1000, 2000))
    >>> check = check_drift(riskjudge.Router(0.15).fit(old), old, new)
    >>> str(check.answer), len(check.comparisons), check.need <= check.have
    ('consistent', 8, True)
    """
    check_level(level, "level")
    check_level(gap, "gap")
    if permutations < 1:
        raise InputError(f"permutations must be at least 1, got {permutations}")
    modes = gate.modes_
    calibration = calibration.select(modes).in_order()  # rows are drawn by position
    new = new.select(modes).in_order()
    notes = list(_remarks(gate, calibration, new))
    rng = np.random.default_rng(seed)
    calibration = _one_per_group(calibration, "calibration", rng, notes)
    new = _one_per_group(new, "new", rng, notes)

    names, results, sizes, gaps = [], [], [], []
    for name, result, size, distance in _compare(gate, calibration, new, labels, permutations, rng):
        names.append(name)
        results.append(result)
        sizes.append(size)
        gaps.append(distance)
    adjusted = two_sample.holm([result.p_value for result in results])
    comparisons = tuple(
        Comparison(name, *size, distance, result.p_value, p, result.method)
        for name, size, distance, result, p in zip(
            names, sizes, gaps, results, adjusted, strict=True
        )
    )
    tested = sum(p is not None for p in adjusted)
    need = items_needed(len(calibration), gap, level / max(tested, 1))
    if any(p is not None and p <= level for p in adjusted):
        answer = DriftAnswer.DRIFTED
    elif need is not None and len(new) >= need:
        answer = DriftAnswer.CONSISTENT
    else:
        answer = DriftAnswer.INSUFFICIENT
    return DriftCheck(answer, level, gap, need, len(new), comparisons, tuple(notes))


def items_needed(n_old: int, gap: float, level: float, power: float = 0.8) -> int | None:
    """New items with which a share that changed by `gap` is found different.

    Normal approximation for the worst share, one half; two-sided. None where `n_old` items are too
    few, however many new ones there are.

    Examples
    --------
    >>> items_needed(1000, 0.15, 0.05 / 8), items_needed(100, 0.15, 0.05 / 8)
    (166, None)
    """
    z = -special.ndtri(level / 2.0) + special.ndtri(power)
    both = z**2 * 0.25 / gap**2  # needed: 1 / (1/n_old + 1/n_new)
    return math.ceil(both * n_old / (n_old - both)) if n_old > both else None


_Result = tuple[str, TwoSample, tuple[int, int], float | None]


def _compare(
    gate: Router | SelectiveGate,
    old: Trace,
    new: Trace,
    labels: bool,
    permutations: int,
    rng: np.random.Generator,
) -> Iterator[_Result]:
    def categories(what: str, old_codes: IntArray, new_codes: IntArray) -> _Result:
        n_codes = 1 + max(old_codes.max(initial=0), new_codes.max(initial=0))
        counts = [np.bincount(codes, minlength=n_codes) for codes in (old_codes, new_codes)]
        return (
            what,
            two_sample.compare_categories(*counts, permutations=permutations, rng=rng),
            (len(old_codes), len(new_codes)),
            two_sample.gap_of_shares(*counts),
        )

    def ordered(what: str, old_values: FloatArray, new_values: FloatArray) -> _Result:
        return (
            what,
            two_sample.compare_ordered(old_values, new_values, permutations=permutations, rng=rng),
            (len(old_values), len(new_values)),
            two_sample.gap_of_distributions(old_values, new_values),
        )

    numeric = old.grading is not None and old.grading.numeric
    usable_old, usable_new = old.absence < 0, new.absence < 0
    for k, mode in enumerate(old.modes):
        yield ordered(
            f"scores of {mode}", old.scores[usable_old[:, k], k], new.scores[usable_new[:, k], k]
        )
        yield categories(
            f"missing verdicts of {mode}", old.absence[:, k] + 1, new.absence[:, k] + 1
        )
        said = old.verdicts[usable_old[:, k], k], new.verdicts[usable_new[:, k], k]
        if numeric:
            yield ordered(f"verdicts of {mode}", *(codes.astype(np.float64) for codes in said))
        else:
            yield categories(f"verdicts of {mode}", *said)
    if len(old.modes) > 1 and not numeric:
        yield categories(
            "verdicts taken together", _joint(old, usable_old), _joint(new, usable_new)
        )
    yield categories("routing", _routing(gate, old), _routing(gate, new))
    if labels and numeric:
        right = [t.labels[t.labelled].astype(np.float64) for t in (old, new)]
        yield ordered("labels", *right)
        for k, mode in enumerate(old.modes):
            told = [
                t.wrong[u[:, k] & t.labelled, k].astype(np.int64)
                for t, u in ((old, usable_old), (new, usable_new))
            ]
            yield categories(f"errors of {mode}", *told)
    elif labels:
        yield categories("labels", old.labels[old.labelled], new.labels[new.labelled])
        for k, mode in enumerate(old.modes):
            for label in (0, 1):
                among = [
                    t.verdicts[u[:, k] & (t.labels == label), k]
                    for t, u in ((old, usable_old), (new, usable_new))
                ]
                yield categories(f"verdicts of {mode}, label {label}", *among)


def _joint(trace: Trace, usable: BoolArray) -> IntArray:
    """Which verdicts the modes gave, as one number; items that lack one are left out."""
    whole = trace.verdicts[usable.all(axis=1)]
    return np.asarray(whole @ (1 << np.arange(whole.shape[1])))


def _routing(gate: Router | SelectiveGate, trace: Trace) -> IntArray:
    """0 … K-1: accepted in that mode; from K on: declined or failed, by reason."""
    outcomes = gate.decide(trace)
    return np.where(outcomes.mode >= 0, outcomes.mode, len(outcomes.modes) + outcomes.why_not)


def _remarks(gate: Router | SelectiveGate, calibration: Trace, new: Trace) -> Iterator[str]:
    labelled = calibration.rows(calibration.labelled)
    if gate.n_labelled_ == len(labelled) and gate.fingerprint_ != labelled.fingerprint():
        yield "the calibration trace is not the one the gate was calibrated on: fingerprints differ"
    shared = len(set(calibration.item_id) & set(new.item_id))
    if shared:
        yield (
            f"{shared} ids occur in both traces; the check takes them for independent items, which "
            "makes it less ready to say that something changed"
        )


def _one_per_group(trace: Trace, which: str, rng: np.random.Generator, notes: list[str]) -> Trace:
    """Items of a group depend on one another: one of each, drawn at random."""
    if trace.group is None:
        return trace
    order = rng.permutation(len(trace))
    _, first = np.unique(trace.group[order].astype(str), return_index=True)
    if len(first) < len(trace):
        notes.append(f"one item drawn from each of {len(first)} groups of the {which} trace")
    return trace.rows(np.sort(order[first]))
