"""Biases of a pairwise judge, from the calls it made: length, position, its own answers.

Every index treats the two answers alike: which of them is called a and which b changes nothing.
Calls about one item depend on one another, so intervals count items, not calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from riskjudge.binomial import check_level
from riskjudge.errors import InputError
from riskjudge.ledger.swap import PositionPreference
from riskjudge.reliability.comparisons import Comparisons
from riskjudge.reliability.index import NEED, item_codes, rate_of_calls
from riskjudge.reliability.self_preference import SelfPreference, self_preference
from riskjudge.reliability.verbosity import Verbosity, verbosity
from riskjudge.share import Rate

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class JudgeBias:
    """The indices of one judge.

    Attributes
    ----------
    judge : str
    calls, left_out : int
        Calls with a winner, and those that named none.
    verbosity : Verbosity
    first_wins : Rate
        Share of the calls that the answer shown first wins, among trials in both orders.
    position : PositionPreference
        Which position its contradicting trials lean to, an item once.
    self_preference : SelfPreference or None
        None where no pair has exactly one answer of its own.
    """

    judge: str
    calls: int
    left_out: int
    verbosity: Verbosity
    first_wins: Rate
    position: PositionPreference
    self_preference: SelfPreference | None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; what is UNDEFINED is null."""
        rates = ("longer_wins", "longer_right")
        verbosity = asdict(self.verbosity) | {
            n: getattr(self.verbosity, n).to_dict() for n in rates
        }
        own = self.self_preference
        return {
            "judge": self.judge,
            "calls": self.calls,
            "left_out": self.left_out,
            "verbosity": verbosity,
            "position": {
                "first_wins": self.first_wins.to_dict(),
                "lean_first": self.position.first,
                "lean_second": self.position.second,
            },
            "self_preference": None
            if own is None
            else asdict(own) | {n: getattr(own, n).to_dict() for n in ("wins", "right")},
        }


def measure_bias(
    comparisons: Comparisons,
    *,
    own: Mapping[str, str] | None = None,
    need: int = NEED,
    confidence: float = 0.95,
) -> list[JudgeBias]:
    """The bias indices of every judge.

    Parameters
    ----------
    comparisons : Comparisons
    own : mapping of str to str, optional
        The model behind each judge; by default the one of the judge's own name (case apart).
    need : int
        Items that an index needs; with fewer it is UNDEFINED and says so.
    confidence : float
        Of the intervals.

    Returns
    -------
    list of JudgeBias
        By name. Holm's correction is over the judges, for each index by itself.

    Raises
    ------
    InputError
        If `own` names a judge that is not there.
    """
    check_level(confidence, "confidence")
    if need < 2:
        raise InputError(f"an interval needs two items at least, got {need}")
    for judge in own or {}:
        if judge not in comparisons.judges:
            raise InputError(f"no judge {judge!r}; there are {', '.join(comparisons.judges)}")
    found = []
    for judge in comparisons.judges:
        calls = comparisons.of(judge)
        found.append(
            JudgeBias(
                judge,
                len(calls),
                comparisons.left_out.get(judge, 0),
                verbosity(calls, need=need, confidence=confidence),
                _first_wins(calls, confidence),
                _leans(calls),
                self_preference(
                    calls, (own or {}).get(judge, judge), need=need, confidence=confidence
                ),
            )
        )
    return _corrected(found)


def _first_wins(calls: pd.DataFrame, confidence: float) -> Rate:
    both = calls.groupby("trial")["a_first"].transform(lambda a: {-1, 1} <= set(a))
    known = calls[both.to_numpy(bool)]
    wins = known["a_wins"].to_numpy() == known["a_first"].to_numpy()
    return rate_of_calls(wins, item_codes(known), confidence)


def _leans(calls: pd.DataFrame) -> PositionPreference:
    """As :func:`riskjudge.ledger.position_preference`, from calls."""
    known = calls[calls["a_first"] != 0]
    position = (known["a_wins"] * known["a_first"]).groupby([known["item"], known["trial"]])
    trials = position.agg(["sum", "size"])
    twice = trials[(trials["size"] == 2) & (trials["sum"].abs() == 2)]["sum"]
    lean = twice.groupby(level="item").sum()
    return PositionPreference(first=int((lean > 0).sum()), second=int((lean < 0).sum()))


def _corrected(found: list[JudgeBias]) -> list[JudgeBias]:
    """Holm's correction over the judges, for each index by itself."""
    lengths = _holm([bias.verbosity.coefficient.p for bias in found])
    owns = _holm([None if (s := bias.self_preference) is None else s.excess.p for bias in found])
    corrected = []
    for bias, p_length, p_own in zip(found, lengths, owns, strict=True):
        v, s = bias.verbosity, bias.self_preference
        v = replace(
            v,
            coefficient=replace(v.coefficient, p_holm=p_length),
            doubling=replace(v.doubling, p_holm=p_length),
        )
        s = None if s is None else replace(s, excess=replace(s.excess, p_holm=p_own))
        corrected.append(replace(bias, verbosity=v, self_preference=s))
    return corrected


def _holm(values: list[float | None]) -> list[float | None]:
    from statsmodels.stats.multitest import multipletests

    known = [p for p in values if p is not None]
    if not known:
        return values
    adjusted = iter(multipletests(known, method="holm")[1])
    return [None if p is None else float(next(adjusted)) for p in values]
