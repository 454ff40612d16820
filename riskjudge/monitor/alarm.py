"""Deployment check with a few labels: an alarm when accepted verdicts err more often than promised."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import eigh_tridiagonal

from riskjudge._typing import BoolArray, FloatArray, IntArray
from riskjudge.binomial import check_level
from riskjudge.errors import InputError
from riskjudge.io.files import replacing
from riskjudge.io.jsonl import read_document

FORMAT = "riskjudge-alarm"
FORMAT_VERSION = 2
RESTART_EVERY = 25
RATES = 64
"""Error rates that are bet on: the integral over the prior is exact for the first 2 * RATES - 1 labels."""
REMEMBERED = 10_000
"""Ids kept from one call to the next, so that a file that is passed twice is noticed."""


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
    labels, errors : int
        Verdicts counted so far, and those of them that were wrong.
    log_e_value, log_peak : float
        Logarithm of the fortune now, and of the largest so far.
    raised_at : int, optional
        Number of the label that raised the alarm, from 1; it stays raised.
    bets : tuple of float
        Logarithm of the money on each error rate at the last restart.
    errors_since : int
        Wrong verdicts since then.
    recent : tuple of str
        The ids that were counted last, at most 10,000: none of them counts again.

    Notes
    -----
    *The bets.* On the verdicts from number s + 1 on, of which m were labelled and w were wrong, bet
    on the error rate p > alpha: the fortune is the likelihood ratio
    ``E_s(p) = (p / alpha)^w ((1 - p) / (1 - alpha))^(m - w)``. The rate p is drawn from the
    distribution Beta(1, 1/alpha - 1) restricted to p > alpha, by the 64 nodes and weights of its Gauss
    quadrature, and the start s from 0, 25, 50, … with weights 1/2, 1/6, 1/12, … (which sum to 1);
    money on starts still to come is kept. So ``E = sum_s weight_s * sum_p weight_p E_s(p)``: the
    integral over p exactly for 127 labels after a start, and closely after that. All starts bet
    alike from the last one on, so that one sum of money for each p is all that is kept, however
    many labels there were. Late starts find a judge that grows worse after a long good time.

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
    from the start: 550, 162, 55 at alpha = .05; 260, 79, 26 at .10; 110, 35, 13 at .20. If it is
    half of alpha for 500 labels and twice alpha from then on: 367, 185, 88 labels after the change
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
    labels: int = 0
    errors: int = 0
    log_e_value: float = 0.0
    log_peak: float = 0.0
    raised_at: int | None = None
    bets: tuple[float, ...] = ()
    errors_since: int = 0
    recent: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_level(self.alpha, "alpha")
        check_level(self.level, "level")
        if not self.bets:
            object.__setattr__(self, "bets", tuple(_first_bets(self.alpha).tolist()))

    def add(self, ids: Sequence[str], wrong: Sequence[bool]) -> RiskAlarm:
        """The test after further labels, in their order of arrival.

        A batch that arrived at once has no order: see :meth:`add_batch`.

        Raises
        ------
        InputError
            If an id is among the last 10,000 counted, or comes twice.
        """
        if len(ids) != len(wrong):
            raise InputError(f"{len(ids)} ids do not go with {len(wrong)} verdicts")
        names = [str(item) for item in ids]
        seen = set(self.recent)
        for item in names:
            if item in seen:
                raise InputError(f"the item {item!r} was counted before; a label counts once")
            seen.add(item)
        if not names:
            return self
        new = np.asarray(wrong, dtype=bool)
        log_e, bets, since = _bet_on(
            new[None, :],
            self.alpha,
            np.array([self.bets]),
            np.array([self.errors_since]),
            self.labels,
        )
        reached = np.flatnonzero(log_e[0] >= -np.log(self.level))
        raised_at = self.raised_at
        if raised_at is None and len(reached):
            raised_at = self.labels + int(reached[0]) + 1
        return RiskAlarm(
            self.alpha,
            self.level,
            labels=self.labels + len(names),
            errors=self.errors + int(new.sum()),
            log_e_value=float(log_e[0, -1]),
            log_peak=max(self.log_peak, float(log_e.max())),
            raised_at=raised_at,
            bets=tuple(bets[0].tolist()),
            errors_since=int(since[0]),
            recent=(*self.recent, *names)[-REMEMBERED:],
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

    @property
    def e_value(self) -> float:
        """The fortune now (at most 1e300); 1 before the first label."""
        return _number(self.log_e_value)

    @property
    def peak(self) -> float:
        """The largest fortune so far: what an alarm is raised by."""
        return _number(self.log_peak)

    @property
    def raised(self) -> bool:
        """Whether there was an alarm; it stays raised."""
        return self.raised_at is not None

    def to_dict(self) -> dict[str, Any]:
        """The state and what it says, JSON-ready."""
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "e_value": self.e_value,
            "peak": self.peak,
            "raises_at_e_value": 1.0 / self.level,
            **asdict(self),
            "bets": list(self.bets),
            "recent": list(self.recent),
        }

    @classmethod
    def from_dict(cls, data: Any, source: str = "the state") -> RiskAlarm:
        """The inverse of :meth:`to_dict`."""
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise InputError(f"{source} is not the state of an alarm: its format is not {FORMAT!r}")
        if data.get("format_version") != FORMAT_VERSION:
            raise InputError(
                f"{source} has format version {data.get('format_version')}; this riskjudge reads "
                f"version {FORMAT_VERSION}: start a new state and count all labels again"
            )
        names = [field.name for field in fields(cls)]
        missing = set(names) - set(data)
        if missing:
            raise InputError(f"{source} is damaged: it has no {min(missing)!r}")
        for name, (fits, what) in _FIELDS.items():
            if not fits(data[name]):
                raise InputError(f"{source} is damaged: {name!r} {what}")
        lists = {"bets": tuple(map(float, data["bets"])), "recent": tuple(data["recent"])}
        alarm = cls(**({name: data[name] for name in names} | lists))
        if alarm.errors > alarm.labels or alarm.errors_since > alarm.labels % RESTART_EVERY:
            raise InputError(f"{source} is damaged: it counts more errors than labels")
        if alarm.log_e_value > alarm.log_peak:
            raise InputError(f"{source} is damaged: the fortune is above its peak")
        raised = alarm.log_peak >= -np.log(alarm.level)
        if raised != alarm.raised or (alarm.raised_at or 0) > alarm.labels:
            raise InputError(f"{source} is damaged: 'raised_at' contradicts the peak or the labels")
        return alarm

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


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))
    )


def _is_list(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(fits, value))


_COUNT, _NUMBER = (_is_count, "is no count"), (_is_number, "is no number")
_FIELDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "alpha": _NUMBER,
    "level": _NUMBER,
    "labels": _COUNT,
    "errors": _COUNT,
    "errors_since": _COUNT,
    "log_e_value": _NUMBER,
    "log_peak": _NUMBER,
    "raised_at": (lambda x: x is None or (_is_count(x) and x > 0), "is neither null nor a label"),
    "bets": (
        lambda x: _is_list(x, _is_number) and len(x) == RATES,
        f"are not {RATES} numbers",
    ),
    "recent": (lambda x: _is_list(x, lambda name: isinstance(name, str)), "are no ids"),
}
"""What each field of a state has to be, and what is said where it is not."""


def _place(item: str) -> bytes:
    """Where an item stands among those of its batch: it knows nothing of verdict or score."""
    return hashlib.sha256(item.encode()).digest()


def log_fortune(wrong: IntArray, alpha: float) -> FloatArray:
    """Logarithm of the fortune along sequences of verdicts, shape (R, n) in and out.

    See :class:`RiskAlarm` for the bets.

    Examples
    --------
    >>> np.exp(log_fortune(np.array([[1, 0, 1]]), 0.5)).round(3)
    array([[1.25 , 0.833, 0.958]])
    """
    n_sequences = len(wrong)
    bets = np.tile(_first_bets(alpha), (n_sequences, 1))
    return _bet_on(wrong, alpha, bets, np.zeros(n_sequences, dtype=np.int64), 0)[0]


def _bet_on(
    wrong: BoolArray | IntArray, alpha: float, bets: FloatArray, since: IntArray, labels: int
) -> tuple[FloatArray, FloatArray, IntArray]:
    """The log fortune after each further label, and the bets and errors since the last restart.

    `bets` (R, RATES) and `since` (R,) are those after `labels` labels; they come back as the same
    numbers wherever a sequence is cut into calls.
    """
    p, log_prior = _rates(alpha)
    rise, fall = np.log(p / alpha), np.log1p(-p) - np.log1p(-alpha)
    log_e = np.empty(wrong.shape)
    n, at = wrong.shape[1], 0
    while at < n:
        j, m = divmod(labels + at, RESTART_EVERY)
        stop = min(at + RESTART_EVERY - m, n)
        w = since[:, None] + np.cumsum(wrong[:, at:stop], axis=1)
        right = np.arange(m + 1, m + 1 + stop - at) - w
        money = bets[:, None, :] + w[..., None] * rise + right[..., None] * fall
        most = money.max(axis=2)
        placed = most + np.log(np.exp(money - most[..., None]).sum(axis=2))
        # Money on starts still to come: weights 1/((j+1)(j+2)) from the next j on sum to 1/(j+2).
        log_e[:, at:stop] = np.logaddexp(placed, -np.log(j + 2.0))
        since = w[:, -1]
        if m + stop - at == RESTART_EVERY:
            weight = log_prior - np.log((j + 2.0) * (j + 3.0))
            bets, since = np.logaddexp(money[:, -1], weight), np.zeros_like(since)
        at = stop
    return log_e, bets, since


def _first_bets(alpha: float) -> FloatArray:
    return np.asarray(_rates(alpha)[1] - np.log(2.0))


@lru_cache(maxsize=8)
def _rates(alpha: float) -> tuple[FloatArray, FloatArray]:
    """Error rates above alpha and the logarithms of their weights: Gauss quadrature of the prior.

    ``(1 - p) / (1 - alpha)`` has the density ``b u^(b - 1)`` on (0, 1), b = 1/alpha - 1: nodes and
    weights are the eigenvalues of the Jacobi matrix and the squared heads of its eigenvectors
    (Golub and Welsch 1969). The weights sum to 1 as they are, where scipy's overflow at small alpha.
    """
    c = 1.0 / alpha - 2.0
    n = np.arange(1.0, RATES)
    k = 2.0 * n + c
    diagonal = np.concatenate(([c / (c + 2.0)], c * c / (k * (k + 2.0))))
    beside = 2.0 * n * (n + c) / (k * np.sqrt((k - 1.0) * (k + 1.0)))
    nodes, vectors = eigh_tridiagonal(diagonal, beside)
    p = 1.0 - (1.0 - alpha) * np.clip((1.0 + nodes) / 2.0, 1e-12, 1.0)
    return p, np.log(np.maximum(vectors[0] ** 2, 1e-300))


def _number(log_value: float) -> float:
    return float(np.exp(min(log_value, 690.0)))
