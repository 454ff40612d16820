"""What perturbations did to a judge's answers: flips, failures, confidence and accuracy.

Which changes are *found*
-------------------------
A judge that draws its answers changes some of them whatever is done to the item. So an invariance is
tested against the noise of asking twice: for each item, whether the perturbed answer differs from the
plain one (F), and whether the repeated answer does (R). If the perturbation does nothing, the perturbed
and the repeated answer are two draws from one distribution, independent given the item, and both are
compared with the same plain answer: (F, R) and (R, F) are equally likely. Hence, given that F and R
differ, F is the one that changed with probability 1/2, and the sign test (exact McNemar, one-sided) is
valid at its level whatever the noise. Where nothing was repeated, and for the repetition itself, the
share of changed answers is tested against a tolerance with the exact binomial test; so is the share of
wrong-by-construction answers that are passed. Holm over the perturbations of a judge: a judge that
nothing does anything to is reported with a finding in at most a share `level` of runs.

Rows of one group depend on one another; then the tests are too sure, and the table says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from riskjudge.data.perturbed import EXPECT, PERTURBATION, PERTURBED, PLAIN, SWAPPED
from riskjudge.data.verdict import (
    BooleanVerdict,
    Failure,
    ScoreVerdict,
    Winner,
    WinnerVerdict,
)
from riskjudge.errors import InputError
from riskjudge.ledger.rows import Row
from riskjudge.reliability.perturbation import Expect
from riskjudge.reliability.perturbations import family
from riskjudge.share import Rate

REPEAT = "repeat"


@dataclass(frozen=True)
class Reaction:
    """How a judge's answers changed under one perturbation.

    Attributes
    ----------
    judge, mode, perturbation : str
        Of the arm; what was done.
    expect : Expect
        What a sound judge does.
    asked : int
        Perturbed items asked about.
    unanswered : int
        Items with no plain answer to compare with, or that were not asked.
    declined, failed : int
        Items with a verdict before, and an abstention or no preference, or a failure, after.
    changed : Rate
        Of the items with a verdict both times: the share whose verdict changed (``same``), or that
        were passed although wrong (``wrong``).
    confidence_shift : tuple of float or None
        Mean change of the confidence and its 95 % interval (paired t); None with fewer than two
        pairs.
    right_before, right_after : Rate
        Accuracy on the labelled items with a verdict both times, each by its own label.
    accuracy_p : float or None
        Exact McNemar test of the two, two-sided; None where nothing is labelled.
    p_value, adjusted : float or None
        Of the test in the module's docstring, and after Holm over the judge's perturbations.
    tested_against : str
        ``repeat``, or ``tolerance``.
    calls : int
        Made for the perturbed items.
    segment : str
        Value of the column that was split by; empty for all items.
    """

    judge: str
    mode: str
    perturbation: str
    expect: Expect
    asked: int
    unanswered: int
    declined: int
    failed: int
    changed: Rate
    confidence_shift: tuple[float, float, float] | None
    right_before: Rate
    right_after: Rate
    accuracy_p: float | None
    p_value: float | None
    tested_against: str
    calls: int
    adjusted: float | None = None
    segment: str = ""

    @property
    def kept(self) -> Rate:
        """The share of verdicts that were as they have to be: what a floor is about."""
        return Rate(self.changed.of - self.changed.count, self.changed.of)

    def found(self, level: float = 0.05) -> bool:
        """Whether the perturbation is found to change this judge's verdicts.

        Parameters
        ----------
        level : float
            Chance of a finding at a judge that nothing does anything to.

        Returns
        -------
        bool
        """
        return self.adjusted is not None and self.adjusted <= level

    def to_dict(self) -> dict[str, Any]:
        """A dictionary for strict JSON."""
        shift = self.confidence_shift
        return {
            "judge": self.judge,
            "mode": self.mode,
            "perturbation": self.perturbation,
            "expect": str(self.expect),
            "segment": self.segment or None,
            "asked": self.asked,
            "unanswered": self.unanswered,
            "declined": self.declined,
            "failed": self.failed,
            "changed": self.changed.to_dict(),
            "confidence_shift": None
            if shift is None
            else {"mean": shift[0], "low": shift[1], "high": shift[2]},
            "right_before": self.right_before.to_dict(),
            "right_after": self.right_after.to_dict(),
            "accuracy_p": self.accuracy_p,
            "p_value": self.p_value,
            "adjusted": self.adjusted,
            "tested_against": self.tested_against,
            "calls": self.calls,
        }


def reactions(
    rows: Iterable[Row],
    *,
    tolerance: float = 0.05,
    by: str | None = None,
) -> list[Reaction]:
    """What a ledger of a stress test says of each judge and perturbation.

    Parameters
    ----------
    rows : iterable of Row
        Of a ledger; rows that say nothing of a perturbation are about the items as they came.
    tolerance : float
        Share of changed verdicts that is tolerated where there is no repetition to compare with.
    by : str, optional
        Report each value of this column of the items, too; those are not tested.

    Returns
    -------
    list of Reaction
        By judge and mode, in the order of the ledger; segments follow their whole.

    Raises
    ------
    InputError
        If the ledger holds no perturbed item, or no item has the column.
    """
    check_tolerance(tolerance)
    arms: dict[tuple[str, str], dict[str, dict[str, Row]]] = {}
    for row in rows:
        facts = _facts(row)
        name = str(facts.get(PERTURBATION, PLAIN))
        subject = str(facts.get(PERTURBED, row.subject))
        arms.setdefault((row.judge, row.mode), {}).setdefault(name, {})[subject] = row
    if not any(set(arm) - {PLAIN} for arm in arms.values()):
        raise InputError("no row is about a perturbed item; was the ledger written by stress?")
    found = []
    for (judge, mode), arm in arms.items():
        plain, names = arm.get(PLAIN, {}), [name for name in arm if name != PLAIN]
        whole = [_reaction(judge, mode, name, plain, arm, tolerance) for name in names]
        for reaction in _adjusted(whole):
            found.append(reaction)
            for value, part in _segments(plain, arm, by):
                segment = _reaction(judge, mode, reaction.perturbation, plain, part, tolerance)
                found.append(replace(segment, segment=value, p_value=None, adjusted=None))
    if by is not None and not any(reaction.segment for reaction in found):
        raise InputError(f"no item of the ledger has the column {by!r}")
    return found


def check_tolerance(tolerance: float) -> float:
    """Refuse what is no share of changed verdicts.

    Parameters
    ----------
    tolerance : float
        From 0 on, below 1.

    Returns
    -------
    float
        The same.

    Raises
    ------
    InputError
        If it is none.
    """
    if not 0 <= tolerance < 1:
        raise InputError(f"the tolerance is a share from 0 on, below 1, got {tolerance!r}")
    return tolerance


Arm = Mapping[str, Mapping[str, Row]]


def _segments(plain: Mapping[str, Row], arm: Arm, by: str | None) -> list[tuple[str, Arm]]:
    if by is None:
        return []
    values: dict[str, set[str]] = {}
    for subject, row in plain.items():
        value = row.subset if by == "subset" else _facts(row).get(by)
        if value is not None:
            values.setdefault(str(value), set()).add(subject)
    return [
        (
            value,
            {
                name: {subject: row for subject, row in rows.items() if subject in subjects}
                for name, rows in arm.items()
            },
        )
        for value, subjects in sorted(values.items())
    ]


def _reaction(
    judge: str, mode: str, name: str, plain: Mapping[str, Row], arm: Arm, tolerance: float
) -> Reaction:
    rows = arm.get(name, {})
    expect = _expected(rows)
    pairs = [(plain[subject], row) for subject, row in rows.items() if subject in plain]
    before = [(old, new) for old, new in pairs if _value(old) is not None]
    both = [(old, new) for old, new in before if _value(new) is not None]
    lost = [new for _, new in before if _value(new) is None]
    failed = sum(isinstance(row.outcome, Failure) for row in lost)
    bad = _passed if expect is Expect.WRONG else _flipped
    changed = sum(bad(old, new) for old, new in both)
    graded = [(old, new) for old, new in both if None not in (_right(old), _right(new))]
    right_before = [bool(_right(old)) for old, _ in graded]
    right_after = [bool(_right(new)) for _, new in graded]
    p, against = _p_value(name, expect, rows, plain, arm, changed, len(both), tolerance)
    return Reaction(
        judge=judge,
        mode=mode,
        perturbation=name,
        expect=expect,
        asked=len(rows),
        unanswered=len(rows) - len(before),
        declined=len(lost) - failed,
        failed=failed,
        changed=Rate(changed, len(both)),
        confidence_shift=_shift(both),
        right_before=Rate(sum(right_before), len(graded)),
        right_after=Rate(sum(right_after), len(graded)),
        accuracy_p=_mcnemar(right_before, right_after) if graded else None,
        p_value=p,
        tested_against=against,
        calls=sum(row.calls for row in rows.values()),
    )


def _facts(row: Row) -> Mapping[str, Any]:
    """What the item carried along, what was done to it included."""
    item = row.disclosure.get("item")
    return item if isinstance(item, Mapping) else {}


def _expected(rows: Mapping[str, Row]) -> Expect:
    for row in rows.values():
        return Expect(str(_facts(row).get(EXPECT, "same")))
    return Expect.SAME


def _value(row: Row) -> bool | float | Winner | None:
    """The verdict, of a pair by identity; None where there is none."""
    match row.outcome:
        case WinnerVerdict(winner):
            return winner.other if _facts(row).get(SWAPPED) else winner
        case BooleanVerdict(value) | ScoreVerdict(value):
            return value
    return None


def _flipped(old: Row, new: Row) -> bool:
    return _value(old) != _value(new)


def _passed(old: Row, new: Row) -> bool:
    """Whether an answer that is wrong by construction was judged right."""
    if isinstance(new.label, bool | Winner):
        return _right(new) is False
    return _value(new) is True


def _right(row: Row) -> bool | None:
    return row.agrees


def _p_value(
    name: str,
    expect: Expect,
    rows: Mapping[str, Row],
    plain: Mapping[str, Row],
    arm: Arm,
    changed: int,
    of: int,
    tolerance: float,
) -> tuple[float | None, str]:
    from scipy.stats import binomtest

    repeated = arm.get(REPEAT, {})
    if name != REPEAT and expect is Expect.SAME and repeated:
        flips = [
            (_flipped(plain[s], rows[s]), _flipped(plain[s], repeated[s]))
            for s in rows
            if s in plain
            and s in repeated
            and None not in (_value(plain[s]), _value(rows[s]), _value(repeated[s]))
        ]
        if not flips:
            return None, REPEAT
        only = sum(f and not r for f, r in flips)
        differ = sum(f != r for f, r in flips)
        p = 1.0 if differ == 0 else binomtest(only, differ, 0.5, "greater").pvalue
        return float(p), REPEAT
    if of == 0:
        return None, "tolerance"
    if changed == 0:
        return 1.0, "tolerance"
    return float(binomtest(changed, of, tolerance, "greater").pvalue), "tolerance"


def _mcnemar(before: Sequence[bool], after: Sequence[bool]) -> float:
    from scipy.stats import binomtest

    worse = sum(b and not a for b, a in zip(before, after, strict=True))
    better = sum(a and not b for b, a in zip(before, after, strict=True))
    return 1.0 if worse + better == 0 else float(binomtest(worse, worse + better, 0.5).pvalue)


def _shift(pairs: Sequence[tuple[Row, Row]]) -> tuple[float, float, float] | None:
    differences = np.array(
        [
            new.confidence - old.confidence
            for old, new in pairs
            if old.confidence is not None and new.confidence is not None
        ]
    )
    if len(differences) < 2:
        return None
    from scipy.stats import t

    mean = float(differences.mean())
    error = float(differences.std(ddof=1)) / len(differences) ** 0.5
    half = float(t.ppf(0.975, len(differences) - 1)) * error
    return mean, mean - half, mean + half


def _adjusted(found: Sequence[Reaction]) -> list[Reaction]:
    tested = [i for i, reaction in enumerate(found) if reaction.p_value is not None]
    if not tested:
        return list(found)
    from statsmodels.stats.multitest import multipletests

    adjusted = multipletests([found[i].p_value for i in tested], method="holm")[1]
    result = list(found)
    for i, p in zip(tested, adjusted, strict=True):
        result[i] = replace(found[i], adjusted=float(p))
    return result


@dataclass(frozen=True)
class Floor:
    """The least share of verdicts that are as they have to be, of a perturbation or a family."""

    name: str
    least: float

    @classmethod
    def parse(cls, text: str, known: Iterable[str]) -> Floor:
        """From ``name=share``, the form the command line takes.

        Parameters
        ----------
        text : str
            ``format=0.95``; the name ``all`` holds every perturbation.
        known : iterable of str
            Perturbations that are run.

        Returns
        -------
        Floor

        Raises
        ------
        InputError
            If it has another form, or nothing that is run has this name.

        Examples
        --------
        >>> Floor.parse("format=0.95", ["format.upper"])
        Floor(name='format', least=0.95)
        """
        name, equals, share = text.partition("=")
        try:
            least = float(share) if equals else -1.0
        except ValueError:
            least = -1.0
        if not 0 <= least <= 1:
            raise InputError(f"a floor is name=share with a share from 0 to 1, got {text!r}")
        if name != "all" and not any(name in (n, family(n)) for n in known):
            raise InputError(f"--floor {text}: no perturbation {name!r} is run")
        return cls(name, least)

    def missed_by(self, found: Iterable[Reaction]) -> list[Reaction]:
        """The reactions below the floor; one that compared nothing is below every floor.

        Parameters
        ----------
        found : iterable of Reaction
            Segments are left out.

        Returns
        -------
        list of Reaction
        """
        return [
            reaction
            for reaction in found
            if not reaction.segment
            and self.name in ("all", reaction.perturbation, family(reaction.perturbation))
            and (reaction.kept.value is None or reaction.kept.value < self.least)
        ]
