"""The routing rule of a fitted gate: which mode accepts an item, looked up by the modes' names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from riskjudge import counts
from riskjudge._typing import BoolArray, FloatArray, IntArray
from riskjudge.calibration.sample import scores_by_verdict
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError


def threshold_names(modes: tuple[str, ...], by_verdict: bool) -> tuple[str, ...]:
    """What a certificate calls the thresholds of some modes.

    Examples
    --------
    >>> threshold_names(("plain", "search"), by_verdict=False)
    ('plain', 'search')
    >>> threshold_names(("plain",), by_verdict=True)
    ('plain[0]', 'plain[1]')
    """
    if not by_verdict:
        return modes
    return tuple(f"{mode}[{verdict}]" for mode in modes for verdict in (0, 1))


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """Thresholds of K modes, in the order in which they are asked.

    Attributes
    ----------
    modes : tuple of str, length K
    thresholds : ndarray of float, shape (K, 1) or (K, 2)
        One a mode, or one for each of its verdicts; ``-inf`` is "no threshold".
    """

    modes: tuple[str, ...]
    thresholds: FloatArray

    @classmethod
    def of(
        cls, modes: tuple[str, ...], by_verdict: bool, thresholds: Mapping[str, float | None] | None
    ) -> Rule:
        """The rule of a certificate.

        Parameters
        ----------
        modes : tuple of str
        by_verdict : bool
        thresholds : mapping of str to float or None, or None
            By name, in any order; None in place of the mapping accepts nothing.

        Raises
        ------
        InputError
            If a threshold is missing, or belongs to no mode.

        Examples
        --------
        >>> Rule.of(("a", "b"), False, {"b": None, "a": 0.2}).thresholds
        array([[ 0.2],
               [-inf]])
        """
        names = threshold_names(modes, by_verdict)
        if thresholds is None:
            values = np.full(len(names), counts.NONE)
        else:
            if set(thresholds) != set(names):
                have, need = sorted(thresholds), sorted(names)
                raise InputError(f"the thresholds are of {have}, the modes need {need}")
            values = counts.decode_thresholds([thresholds[name] for name in names])
        return cls(modes, values.reshape(len(modes), -1))

    @property
    def used(self) -> BoolArray:
        """Which modes have a threshold, shape (K,). Modes without one are not asked."""
        return np.asarray((self.thresholds > counts.NONE).any(axis=1))

    def accepted_by(self, trace: Trace) -> IntArray:
        """Index of the mode that accepts each item, -1 where none does.

        Parameters
        ----------
        trace : Trace
            Its modes are this rule's, in its order.
        """
        scores, per_mode = trace.scores, self.thresholds.shape[1]
        if per_mode == 2:
            scores = scores_by_verdict(scores, trace.verdicts)
        column = counts.route(scores, self.thresholds.ravel())
        return np.where(column >= 0, column // per_mode, -1)

    def accepts(self, mode: str, verdict: int, uncertainty: float) -> bool:
        """Whether one verdict of one mode is accepted."""
        row = self.thresholds[self.modes.index(mode)]
        return bool(uncertainty <= row[verdict if len(row) == 2 else 0])
