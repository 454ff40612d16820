"""Deployment check with a few labels: an alarm when accepted verdicts err more often than promised."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

from riskjudge._typing import FloatArray, IntArray
from riskjudge.binomial import check_level
from riskjudge.errors import InputError
from riskjudge.io.files import replacing
from riskjudge.io.jsonl import read_document

FORMAT = "riskjudge-alarm"
FORMAT_VERSION = 1
RESTART_EVERY = 25


@dataclass(frozen=True, slots=True)
class RiskAlarm:
    """A sequential test of "the accepted verdicts are wrong at a rate of at most alpha".

    Labels of accepted verdicts come in one by one, in any number, and the test may be looked at
    after each. It bets against the claim: a fortune of 1 grows if errors are more frequent than
    alpha, and an alarm is raised once it has reached ``1 / level``.

    Parameters
    ----------
    alpha : float
        The rate that was promised.
    level : float
        Largest probability of ever raising an alarm while the promise is kept.
    ids : tuple of str
        The labelled items so far, in order of arrival.
    wrong : tuple of bool
        Whether each accepted verdict was wrong.

    Notes
    -----
    *The bets.* On the verdicts from number s + 1 on, of which m were labelled and w were wrong, bet
    on the error rate p > alpha: the fortune is the likelihood ratio
    ``E_s(p) = (p / alpha)^w ((1 - p) / (1 - alpha))^(m - w)``. The rate p is drawn from the
    distribution Beta(1, 1/alpha - 1) restricted to p > alpha, and the start s from 0, 25, 50, …
    with weights 1/2, 1/6, 1/12, … (which sum to 1); money on starts still to come is kept. So
    ``E = sum_s weight_s * integral of E_s(p)``, a ratio of incomplete beta functions. Late starts
    find a judge that grows worse after a long good time.

    *Why it is valid.* Let each verdict, given everything before it, be wrong with probability at
    most alpha (the null). For each p > alpha the factor of one verdict is
    ``1 + lambda (wrong - alpha)`` with ``lambda = (p - alpha) / (alpha (1 - alpha)) > 0``; it is
    nonnegative, and its expectation given the past is at most 1. So E_s(p) is a nonnegative
    supermartingale that starts at 1, and so is the mixture E. By Ville's inequality
    ``P(sup E >= 1/level) <= level``: at any stopping time, however chosen, including "go on until
    it looks bad". Neither independence nor a constant error rate is assumed.

    *What is assumed.* Which accepted verdicts get a label does not depend on whether they are wrong,
    given what is seen before the label. The claim itself holds with the confidence 1 - delta of the
    calibration: a false alarm in all has probability at most ``level + delta``.

    *How soon.* Median labels to the alarm at level .05 if the true rate is 1.5, 2 or 3 times alpha
    from the start: 517, 161, 56 at alpha = .05; 238, 72, 27 at .10; 115, 35, 13 at .20. If it is
    half of alpha for 500 labels and twice alpha from then on: 378, 177, 86 labels after the change
    at alpha = .05, .10, .20 (400 simulated sequences each).

    References
    ----------
    J. Ville, "Étude critique de la notion de collectif", 1939; I. Waudby-Smith, A. Ramdas,
    "Estimating means of bounded random variables by betting", JRSS-B 86, 2024; J. Shin, A. Ramdas,
    A. Rinaldo, "E-detectors", 2023 (restarts).

    Examples
    --------
    >>> alarm = RiskAlarm(alpha=0.1)
    >>> alarm = alarm.add(["a", "b", "c", "d"], [True, True, False, True])
    >>> round(alarm.e_value, 1), alarm.raised
    (4.9, False)
    >>> alarm.add(["e", "f"], [True, True]).raised_at
    6
    """

    alpha: float
    level: float = 0.05
    ids: tuple[str, ...] = ()
    wrong: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        check_level(self.alpha, "alpha")
        check_level(self.level, "level")
        if len(self.ids) != len(self.wrong):
            raise InputError(f"{len(self.ids)} ids do not go with {len(self.wrong)} verdicts")

    def add(self, ids: Sequence[str], wrong: Sequence[bool]) -> RiskAlarm:
        """The test after further labels, in their order of arrival.

        A batch that arrived at once has no order: see :meth:`add_batch`.

        Raises
        ------
        InputError
            If an id was counted before, or comes twice.
        """
        if len(ids) != len(wrong):
            raise InputError(f"{len(ids)} ids do not go with {len(wrong)} verdicts")
        seen = set(self.ids)
        for item in map(str, ids):
            if item in seen:
                raise InputError(f"the item {item!r} was counted before; a label counts once")
            seen.add(item)
        return RiskAlarm(
            self.alpha,
            self.level,
            (*self.ids, *map(str, ids)),
            (*self.wrong, *(bool(w) for w in wrong)),
        )

    def add_batch(self, ids: Sequence[str], wrong: Sequence[bool]) -> RiskAlarm:
        """The test after labels that came together, counted in the order of a hash of their ids.

        The order of rows in a file says nothing of time, and may say much of errors: sorted by
        uncertainty, a batch looks like a judge that grows worse (false alarms in 15 to 35 % of such
        batches, at a level of 5 %). The hash knows nothing of scores and verdicts.

        Examples
        --------
        >>> batch = ["a", "b", "c"], [False, True, True]
        >>> RiskAlarm(0.1).add_batch(*batch) == RiskAlarm(0.1).add_batch(*(x[::-1] for x in batch))
        True
        """
        if len(ids) != len(wrong):
            raise InputError(f"{len(ids)} ids do not go with {len(wrong)} verdicts")
        order = sorted(range(len(ids)), key=lambda i: _place(str(ids[i])))
        return self.add([ids[i] for i in order], [wrong[i] for i in order])

    def log_e_values(self) -> FloatArray:
        """Logarithm of the fortune after each label, shape (n,)."""
        return _fortune_of(self.wrong, self.alpha)

    @property
    def e_value(self) -> float:
        """The fortune now (at most 1e300); 1 before the first label."""
        return _number(self.log_e_values()[-1]) if self.ids else 1.0

    @property
    def peak(self) -> float:
        """The largest fortune so far: what an alarm is raised by."""
        return _number(max(0.0, self.log_e_values().max())) if self.ids else 1.0

    @property
    def raised_at(self) -> int | None:
        """Number of the label that raised the alarm, from 1; None if none has."""
        reached = np.flatnonzero(self.log_e_values() >= -np.log(self.level))
        return int(reached[0]) + 1 if len(reached) else None

    @property
    def raised(self) -> bool:
        """Whether there was an alarm; it stays raised."""
        return self.raised_at is not None

    def to_dict(self) -> dict[str, Any]:
        """The state and what it says, JSON-ready."""
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "alpha": self.alpha,
            "level": self.level,
            "labels": len(self.ids),
            "errors": sum(self.wrong),
            "e_value": self.e_value,
            "peak": self.peak,
            "raises_at_e_value": 1.0 / self.level,
            "raised_at": self.raised_at,
            "ids": list(self.ids),
            "wrong": [int(w) for w in self.wrong],
        }

    @classmethod
    def from_dict(cls, data: Any, source: str = "the state") -> RiskAlarm:
        """The inverse of :meth:`to_dict`."""
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise InputError(f"{source} is not the state of an alarm: its format is not {FORMAT!r}")
        if data.get("format_version") != FORMAT_VERSION:
            raise InputError(
                f"{source} has format version {data.get('format_version')}; this riskjudge reads "
                f"version {FORMAT_VERSION}"
            )
        missing = {"alpha", "level", "ids", "wrong"} - set(data)
        if missing:
            raise InputError(f"{source} is damaged: it has no {min(missing)!r}")
        wrong = data["wrong"]
        if any(w not in (0, 1) for w in wrong):
            raise InputError(f"{source}: 'wrong' holds something else than 0 and 1")
        ids = tuple(map(str, data["ids"]))
        if len(set(ids)) < len(ids):
            raise InputError(f"{source} is damaged: an id occurs twice")
        return cls(data["alpha"], data["level"], ids, tuple(bool(w) for w in wrong))

    def save(self, path: str | Path) -> None:
        """Write the state as JSON, whole or not at all."""
        with replacing(path) as temporary:
            temporary.write_text(
                json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n", "utf-8"
            )

    @classmethod
    def load(cls, path: str | Path) -> RiskAlarm:
        """Resume from a state that :meth:`save` wrote."""
        return cls.from_dict(read_document(path), str(path))


def _place(item: str) -> bytes:
    """Where an item stands among those of its batch: it knows nothing of verdict or score."""
    return hashlib.sha256(item.encode()).digest()


@lru_cache(maxsize=4)
def _fortune_of(wrong: tuple[bool, ...], alpha: float) -> FloatArray:
    """One state is asked for its fortune, peak and alarm: computed once."""
    found = log_fortune(np.asarray(wrong, dtype=np.int64)[None, :], alpha).ravel()
    found.flags.writeable = False
    return found


def log_fortune(wrong: IntArray, alpha: float) -> FloatArray:
    """Logarithm of the fortune along sequences of verdicts, shape (R, n) in and out.

    See :class:`RiskAlarm` for the bets.

    Examples
    --------
    >>> np.exp(log_fortune(np.array([[1, 0, 1]]), 0.5)).round(3)
    array([[1.25 , 0.833, 0.958]])
    """
    n_sequences, n = wrong.shape
    errors = np.concatenate(
        (np.zeros((n_sequences, 1), np.int64), np.cumsum(wrong, axis=1)), axis=1
    )
    # Money on starts still to come: weights 1/((j+1)(j+2)) from the next j on sum to 1/(j+1).
    started = np.arange(n) // RESTART_EVERY + 1
    total = np.tile(-np.log(started + 1.0), (n_sequences, 1))
    for j, start in enumerate(range(0, n, RESTART_EVERY)):
        w = errors[:, start + 1 :] - errors[:, start, None]
        m = np.arange(1, n - start + 1)
        part = _log_bet(w, m, alpha) - np.log((j + 1.0) * (j + 2.0))
        total[:, start:] = np.logaddexp(total[:, start:], part)
    return total


def _log_bet(w: IntArray, m: IntArray, alpha: float) -> FloatArray:
    """Logarithm of the integral of E(p) over the prior."""
    # Many sequences share few pairs of counts, and the incomplete beta function is slow.
    shape = w.shape
    pairs, index = np.unique((w << 32) + m, return_inverse=True)
    w, m = pairs >> 32, pairs & ((1 << 32) - 1)
    a, b = 1.0, 1.0 / alpha - 1.0
    with np.errstate(divide="ignore"):  # a fortune below 1e-300 is none
        log_tail = np.log(special.betaincc(a + w, b + m - w, alpha))
    log_posterior = special.betaln(a + w, b + m - w) + log_tail
    log_prior = special.betaln(a, b) + np.log(special.betaincc(a, b, alpha))
    bet = log_posterior - log_prior - w * np.log(alpha) - (m - w) * np.log1p(-alpha)
    return np.asarray(bet[index].reshape(shape))


def _number(log_value: float) -> float:
    return float(np.exp(min(log_value, 690.0)))
