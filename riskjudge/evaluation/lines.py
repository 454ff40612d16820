"""Lines that a report must hold: a smallest coverage, a largest error rate among accepted verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from riskjudge.errors import InputError
from riskjudge.evaluation.summary import Insufficient, Report, Segment
from riskjudge.share import Rate


@dataclass(frozen=True, slots=True)
class Line:
    """One line, and whether it is held.

    Attributes
    ----------
    what : str
        ``coverage`` or ``FDR``.
    where : str
        The segment; empty for the whole.
    held : bool
    need, have : str
        What was asked for and what is there, in words.
    """

    what: str
    where: str
    held: bool
    need: str
    have: str

    def __str__(self) -> str:
        where = f" in {self.where}" if self.where else ""
        return f"{self.what}{where}: need {self.need}, have {self.have}"

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary."""
        return asdict(self)


def check_lines(
    report: Report,
    *,
    floor_coverage: float | None = None,
    max_fdr: float | None = None,
    sure: bool = False,
) -> list[Line]:
    """Hold a report, and each of its segments, against lines.

    A share without a value (UNDEFINED, or too little evidence) holds no line. Coverage counts
    accepted verdicts that a certificate stands behind. Where the gate was calibrated on some of the
    items, the FDR is no test of it, and its line is not held either.

    Parameters
    ----------
    report : Report
    floor_coverage : float, optional
        Smallest share of items accepted, in [0, 1].
    max_fdr : float, optional
        Largest error rate among accepted verdicts with a label, in [0, 1].
    sure : bool
        Ask the whole 95 % interval to keep a line. By default the measured share must: a set of
        items that stays the same then gives the same answer until the judge or the gate changes.

    Raises
    ------
    InputError
        If no line is given, or one is not a share.

    Examples
    --------
    >>> import numpy as np, riskjudge
    >>> trace = riskjudge.demo_trace()
    >>> gate = riskjudge.Router(0.2).fit(trace.rows(np.arange(1000)))
    >>> report = riskjudge.summarize(gate.decide(trace.rows(np.arange(1000, 2000))))
    >>> for line in check_lines(report, floor_coverage=0.5, max_fdr=0.05):
    ...     print(line.held, line)
    True coverage: need at least 50 %, have 98.50 % (985/1000; 95 %: 97.5 to 99.2 %)
    False FDR: need at most 5 %, have 17.66 % (174/985; 95 %: 15.3 to 20.2 %)
    """
    asked = {"floor_coverage": floor_coverage, "max_fdr": max_fdr}
    if floor_coverage is None and max_fdr is None:
        raise InputError("name a line to hold: the smallest coverage, the largest FDR, or both")
    for name, value in asked.items():
        if value is not None and not 0.0 <= value <= 1.0:
            raise InputError(f"{name} is a share from 0 to 1, got {value!r}")
    found = []
    for where, segment in _parts(report):
        if floor_coverage is not None:
            found.append(_coverage(where, segment, floor_coverage, sure))
        if max_fdr is not None:
            found.append(_fdr(where, segment, max_fdr, sure, report.calibrated_on))
    return found


def _parts(report: Report) -> Iterator[tuple[str, Segment | Insufficient]]:
    yield "", report.whole
    for value, segment in report.segments.items():
        yield f"{report.by} = {value}", segment


def _coverage(where: str, segment: Segment | Insufficient, floor: float, sure: bool) -> Line:
    need = f"at least {_share(floor)}"
    if isinstance(segment, Insufficient):
        return Line("coverage", where, False, need, _too_few(segment))
    rate = segment.coverage
    have = _rate(rate)
    if segment.uncertified:
        rate = Rate(rate.count - segment.uncertified, rate.of, effective=rate.effective)
        have = f"{_rate(rate)} certified"
    kept = rate.low if sure else rate.value
    return Line("coverage", where, kept is not None and kept >= floor, need, have)


def _fdr(
    where: str, segment: Segment | Insufficient, most: float, sure: bool, calibrated_on: int
) -> Line:
    need = f"at most {_share(most)}"
    if isinstance(segment, Insufficient):
        return Line("FDR", where, False, need, _too_few(segment))
    if calibrated_on:
        have = f"no test of the gate: it was calibrated on {calibrated_on} of the items (hold some out)"
        return Line("FDR", where, False, need, have)
    rate = segment.fdr
    kept = rate.high if sure else rate.value
    return Line("FDR", where, kept is not None and kept <= most, need, _rate(rate))


def _too_few(segment: Insufficient) -> str:
    return f"too little evidence ({segment.have} graded items of {segment.need})"


def _share(value: float) -> str:
    return f"{100 * value:g} %"


def _rate(rate: Rate) -> str:
    if rate.interval is None:
        if rate.need > 1:
            return f"too little evidence ({rate.of} graded items of {rate.need})"
        return f"an undefined share ({rate.count}/{rate.of})"
    low, high = rate.interval
    assert rate.value is not None
    return f"{100 * rate.value:.2f} % ({rate.count}/{rate.of}; 95 %: {100 * low:.1f} to {100 * high:.1f} %)"
