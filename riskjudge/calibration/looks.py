"""Looks: a schedule, fixed in advance, of calibrations on more and more labels.

Labelling in batches and calibrating after each is the normal way to work. Without a schedule every
further look is a further chance to be wrong. A :class:`Schedule` says before the first label is seen
at which numbers of labels there will be a look, and which share of delta each look spends.

Why it is valid
---------------
Let N_1 < N_2 < … be the scheduled numbers of labels, and delta_1, delta_2, … shares with a sum of
at most delta. All of them are fixed before the labels are seen. Let E_j be the event that the
calibration on the first N_j labels at significance delta_j chooses a rule whose risk exceeds alpha.
The first N_j labels are N_j independent draws (the order in which items are labelled knows nothing
of their labels), and look j is an ordinary calibration of a valid procedure, so P(E_j) <= delta_j.
E_j is defined for every j, whether that look is taken or not. Whoever looks at all or some of them,
stops whenever they please, and takes any of the rules found on the way, is wrong only if one of the
E_j occurs: P(union of the E_j) <= sum of the delta_j <= delta. The looks share labels, and nothing
is assumed about how they depend on one another.

*What it rests on.* A look uses exactly its scheduled number of labels. Were the number chosen by
what earlier looks said (the tool's own ``labels_needed``, say), look j would be the pick of many
events E_j(n), each with probability up to delta_j. So labels beyond N_j wait for the next look.

References
----------
P. O'Brien, T. Fleming, "A multiple testing procedure for clinical trials", Biometrics 35, 1979;
K. Lan, D. DeMets, "Discrete sequential boundaries for clinical trials", Biometrika 70, 1983
(spending functions). Here the shares are not made sharper by the joint distribution of the looks:
each look learns its chains anew from more labels, and no two looks test the same rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import pairwise
from numbers import Integral
from typing import Any

from scipy import special

from riskjudge import binomial
from riskjudge.errors import InputError


class Spending(StrEnum):
    """How delta is spread over the looks.

    With t the share of the last look's labels, a closed schedule has spent delta t (``linear``),
    delta t^2 (``rising``), or ``2 - 2 Phi(z / sqrt(t))`` with z the normal quantile of
    ``1 - delta / 2`` (``obrien_fleming``) up to t. An open-ended one spends ``delta / (j (j + 1))``
    at look j (``series``), which sums to delta.
    """

    LINEAR = "linear"
    RISING = "rising"
    OBRIEN_FLEMING = "obrien_fleming"
    SERIES = "series"


@dataclass(frozen=True, slots=True)
class Schedule:
    """Numbers of labels at which there will be a look, and what each look spends.

    Parameters
    ----------
    batch : int
        Labels from one look to the next; look j uses the first ``j * batch``.
    looks : int, optional
        Number of looks; None leaves the end open.
    spending : str, optional
        See :class:`Spending`; ``rising`` by default, ``series`` where the end is open.
    sizes : tuple of int, optional
        Numbers of labels of the looks, in place of `batch` and `looks`.

    Examples
    --------
    >>> schedule = Schedule(batch=200, looks=5)
    >>> schedule.size(2), round(schedule.level(2, 0.05), 6)
    (400, 0.006)
    >>> [round(Schedule(batch=100).level(j, 0.05), 4) for j in (1, 2, 3)]
    [0.025, 0.0083, 0.0042]
    """

    batch: int | None = None
    looks: int | None = None
    spending: str | None = None
    sizes: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if (self.batch is None) == (self.sizes is None):
            raise InputError("a schedule takes the labels of a batch, or the sizes of all looks")
        for name, value in (("batch", self.batch), ("looks", self.looks)):
            if value is not None:
                _check_count(value, name)
        if self.sizes is not None:
            self._check_sizes()
        if self.spending is None:
            default = Spending.SERIES if self.looks is None else Spending.RISING
            object.__setattr__(self, "spending", str(default))
        if self.spending not in list(Spending):
            raise InputError(f"unknown spending {self.spending!r}; there are {', '.join(Spending)}")
        if self.looks is None and self.spending != Spending.SERIES:
            raise InputError(
                f"an open-ended schedule spends delta as a {Spending.SERIES}; {self.spending!r} "
                "needs a number of looks"
            )

    def _check_sizes(self) -> None:
        sizes = tuple(self.sizes or ())
        for size in sizes:
            _check_count(size, "the size of a look")
        if not sizes or any(a >= b for a, b in pairwise(sizes)):
            raise InputError(f"the sizes of the looks must grow, got {list(sizes)}")
        if self.looks not in (None, len(sizes)):
            raise InputError(f"{len(sizes)} sizes do not go with {self.looks} looks")
        object.__setattr__(self, "sizes", tuple(int(s) for s in sizes))
        object.__setattr__(self, "looks", len(sizes))

    def size(self, look: int) -> int:
        """Labels that look number `look` (from 1) uses."""
        self._check_look(look)
        if self.sizes is not None:
            return self.sizes[look - 1]
        return look * int(self.batch or 0)

    def level(self, look: int, delta: float) -> float:
        """Share of delta that look number `look` spends."""
        self._check_look(look)
        binomial.check_level(delta, "delta")
        if self.spending == Spending.SERIES:
            return delta / (look * (look + 1))
        return self._spent(look, delta) - (self._spent(look - 1, delta) if look > 1 else 0.0)

    def _spent(self, look: int, delta: float) -> float:
        """What a closed schedule has spent up to a look."""
        t = self.size(look) / self.size(self.looks or look)
        match self.spending:
            case Spending.LINEAR:
                return delta * t
            case Spending.RISING:
                return delta * t * t
        return float(2.0 * special.ndtr(special.ndtri(delta / 2.0) / t**0.5))

    def due(self, labels: int) -> int:
        """Number of the last look that so many labels suffice for, 0 if for none.

        Examples
        --------
        >>> Schedule(batch=200, looks=5).due(450)
        2
        """
        if self.sizes is not None:
            return sum(size <= labels for size in self.sizes)
        reached = labels // int(self.batch or 1)
        return reached if self.looks is None else min(reached, self.looks)

    def _check_look(self, look: int) -> None:
        if look < 1 or (self.looks is not None and look > self.looks):
            raise InputError(f"the schedule has {self.looks} looks; there is no look {look}")

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self) | {"sizes": None if self.sizes is None else list(self.sizes)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Schedule:
        """The inverse of :meth:`to_dict`."""
        sizes = data["sizes"]
        batch, looks, spending = data["batch"], data["looks"], data["spending"]
        return cls(batch, looks, spending, None if sizes is None else tuple(sizes))


def _check_count(value: object, name: str) -> None:
    if type(value) is bool or not isinstance(value, Integral) or int(value) < 1:
        raise InputError(f"{name} must be a whole number from 1 on, got {value!r}")


@dataclass(frozen=True, slots=True)
class Look:
    """Which look of a schedule a certificate comes from.

    Attributes
    ----------
    number, of : int
        `of` is None where the end is open.
    labels : int
        Labels that the look used.
    delta : float
        Significance of this look.
    delta_of_all : float
        Significance of all looks together: what is promised.
    next_labels : int or None
        Labels that the next look takes; None after the last one.
    started : str
        Hash of the items of the first look: it tells one schedule from another of the same plan.
    """

    number: int
    of: int | None
    labels: int
    delta: float
    delta_of_all: float
    next_labels: int | None
    started: str = ""

    @classmethod
    def at(cls, schedule: Schedule, number: int, delta: float) -> Look:
        """Look number `number` of a schedule that spends `delta`."""
        last = schedule.looks is not None and number >= schedule.looks
        return cls(
            number,
            schedule.looks,
            schedule.size(number),
            schedule.level(number, delta),
            delta,
            None if last else schedule.size(number + 1),
        )

    def in_words(self) -> str:
        """One sentence for a certificate.

        Examples
        --------
        >>> Look.at(Schedule(batch=200, looks=5), 2, 0.05).in_words().partition(",")[0]
        'look 2 of 5 of a schedule fixed in advance'
        """
        of = "of an open-ended schedule" if self.of is None else f"of {self.of} of a schedule"
        return (
            f"look {self.number} {of} fixed in advance, on its first {self.labels} labels at delta = "
            f"{self.delta:.4g}; all looks together spend {self.delta_of_all:g}"
        )


def look_that_would_do(
    schedule: Schedule,
    after: int,
    *,
    error_rate: float,
    coverage: float,
    alpha: float,
    delta: float,
    share: float = 1.0,
) -> int | None:
    """First later look at which a rule would certify, were its rates to stay what they are.

    Parameters
    ----------
    after : int
        Number of the look taken last.
    error_rate, coverage : float
        Of the rule at which testing stopped.
    share : float
        Share of a look's delta at which the rule is tested.
    schedule : Schedule
        The schedule of looks.
    alpha : float
        Risk level.
    delta : float
        Significance.

    Returns
    -------
    int or None
        None if no look (of an open end, none of the next 50) would do.

    Examples
    --------
    >>> look_that_would_do(Schedule(batch=100, looks=5), 1, error_rate=0.05, coverage=0.5,
    ...                    alpha=0.1, delta=0.05)
    4
    """
    last = schedule.looks or after + 50
    for number in range(after + 1, last + 1):
        accepted = int(schedule.size(number) * coverage)
        level = schedule.level(number, delta) * share
        errors = -(-accepted * error_rate // 1)
        if accepted and binomial.certifies(int(errors), accepted, alpha, level):
            return number
    return None
