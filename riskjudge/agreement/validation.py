"""May a judge be trusted as a rater? Its agreement with human labels, with intervals.

With several humans, the judge is measured against *a human at random*: a unit with m human labels
counts as m pairs of the judge's label and one human's, each with the weight 1/m. In one pool, humans
who agree with one another would carry a judge that agrees with nobody. How far humans agree among
themselves, :func:`rater_agreement` of their labels alone, says how much may be asked of a judge.

The coefficients, what they mean and where they come from: :mod:`riskjudge.agreement.coefficients`.
The intervals: :mod:`riskjudge.agreement.intervals`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from riskjudge._typing import IntArray
from riskjudge.agreement.coefficients import Coefficient, Undefined, why_undefined
from riskjudge.agreement.intervals import estimate
from riskjudge.agreement.labels import Level, plain_label
from riskjudge.agreement.ratings import Labels, Ratings, Table, as_series, check_ids
from riskjudge.agreement.report import AgreementReport, Estimate
from riskjudge.binomial import check_level
from riskjudge.data.modes import ABSENCES
from riskjudge.data.verdict import UNDECIDED, AbstainReason, FailureKind
from riskjudge.errors import InputError


def validate_judge(
    judge: Labels,
    human: Labels | pd.DataFrame,
    *,
    level: str = "nominal",
    categories: Sequence[Any] | None = None,
    reasons: Labels | None = None,
    groups: Labels | None = None,
    min_n: int = 1,
    confidence: float = 0.95,
    replicates: int = 2000,
    seed: int | np.random.Generator = 0,
) -> AgreementReport:
    """Agreement of a judge with one or more humans, joined by id.

    Parameters
    ----------
    judge : mapping of id to label, or Series indexed by id
        The judge's labels: true/false, numbers or text at the nominal level, numbers above it. None
        or NaN where it gave none (it failed or abstained): such units are left out and counted.
    human : mapping, Series, or DataFrame indexed by id with a column for each human
        Human labels, of the same kind.
    level : {"nominal", "ordinal", "interval", "ratio"}
        What the labels mean. Kappa is weighted above nominal; Fleiss' kappa and AC1 are nominal.
    categories : sequence, optional
        All labels that a rater could have given, in ascending order; by default those that occur.
        AC1's chance and the positions of ordinal labels depend on it, and text may be ordinal.
    reasons : mapping or Series, optional
        Why the judge gave no label: one of :data:`riskjudge.data.modes.ABSENCES`.
    groups : mapping or Series, optional
        Group of each unit, where units of a group depend on each other (answers to one question).
        The intervals then resample whole groups.
    min_n : int
        With fewer units, every coefficient is UNDEFINED (`too_few_units`).
    confidence : float
        Two-sided confidence of the intervals.
    replicates : int
        Bootstrap replicates.
    seed : int or numpy.random.Generator
        Same seed, same report.

    Returns
    -------
    AgreementReport
        The judge against the humans, on the units that have its label and at least one human's. The
        `verdict` reads the lower end of alpha's interval, the `point_verdict` alpha itself.

    Raises
    ------
    InputError
        If labels come without ids, an id occurs twice, a label does not fit the level or the
        categories, text and numbers are mixed, or a unit has no group.

    Examples
    --------
    Four units on which both agree are no proof of a good judge:

    >>> report = validate_judge({"p": 1, "q": 1, "r": 0, "s": 0}, {"s": 0, "r": 0, "q": 1, "p": 1})
    >>> report.alpha.value, str(report.point_verdict), str(report.verdict)
    (1.0, 'good', 'unreliable')

    >>> report = validate_judge({"p": None, "q": None}, {"p": 1, "q": 0})
    >>> report.n, report.verdict, str(report.alpha.undefined)
    (0, None, 'empty')
    """
    judged = as_series(judge, "judge")
    if isinstance(human, pd.DataFrame):
        check_ids(human.index, "the human labels")
        humans = human
    else:
        humans = as_series(human, "human").to_frame()
    both = pd.concat([judged.astype(object), humans.astype(object)], axis=1, join="outer")
    judge_gave = _given(both.iloc[:, 0])
    human_gave = both.iloc[:, 1:].apply(_given).any(axis=1)
    usable = judge_gave & human_gave
    ratings = Ratings.from_table(both[usable], Level.of(level), categories)
    absent = _absences(reasons, both.index[human_gave & ~judge_gave])
    return _report(
        ratings,
        judge=str(judged.name),
        reason=None if usable.any() else _why_none(judge_gave, human_gave),
        left_out=len(both) - int(usable.sum()) - sum(absent.values()),
        absent=absent,
        level=Level.of(level),
        groups=groups,
        min_n=min_n,
        confidence=confidence,
        replicates=replicates,
        seed=seed,
    )


def rater_agreement(
    table: Table,
    *,
    level: str = "nominal",
    categories: Sequence[Any] | None = None,
    groups: Labels | None = None,
    min_n: int = 1,
    confidence: float = 0.95,
    replicates: int = 2000,
    seed: int | np.random.Generator = 0,
) -> AgreementReport:
    """Agreement of any raters with each other, of humans alone for instance.

    Parameters
    ----------
    table : DataFrame or array_like, shape (units, raters)
        Labels; None or NaN where a rater gave none. A DataFrame's index holds the ids.
    level, categories, groups, min_n, confidence, replicates, seed : object
        As for `validate_judge`.

    Examples
    --------
    >>> report = rater_agreement([[1, 1], [1, 1], [1, 1]])
    >>> report.percent_agreement.value, report.kappa.value, str(report.kappa.undefined)
    (1.0, None, 'constant_labels')
    """
    ratings = Ratings.from_table(table, Level.of(level), categories)
    single = int(ratings.counts[~ratings.pairable].sum())
    return _report(
        ratings,
        judge=None,
        reason=None,
        left_out=ratings.unlabelled + single,
        absent={},
        level=Level.of(level),
        groups=groups,
        min_n=min_n,
        confidence=confidence,
        replicates=replicates,
        seed=seed,
    )


def _report(
    ratings: Ratings,
    *,
    judge: str | None,
    reason: Undefined | None,
    left_out: int,
    absent: Mapping[str, int],
    level: Level,
    groups: Labels | None,
    min_n: int,
    confidence: float,
    replicates: int,
    seed: int | np.random.Generator,
) -> AgreementReport:
    check_level(confidence, "confidence")
    for name, value in (("min_n", min_n), ("replicates", replicates)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise InputError(f"{name} must be at least 1 and a whole number, got {value!r}")
    rng = seed if isinstance(seed, np.random.Generator) else _generator(seed)
    seen = ratings if judge is None or reason is not None else ratings.against(0)[0]
    grouping = None if groups is None else _group_numbers(as_series(groups, "group"), ratings.units)
    reasons = {name: reason or why_undefined(name, seen, level, min_n) for name in Coefficient}
    estimates = {str(name): Estimate(undefined=why) for name, why in reasons.items()}
    defined = [name for name, why in reasons.items() if why is None]
    if defined:
        found = estimate(
            defined,
            ratings,
            level,
            rater=None if judge is None else 0,
            groups=grouping,
            confidence=confidence,
            replicates=replicates,
            rng=rng,
        )
        estimates |= {str(name): Estimate(*figures) for name, figures in found.items()}
    return AgreementReport(
        level=level,
        raters=ratings.raters,
        judge=judge,
        n=round(seen.counts[seen.pairable].sum()),
        need=min_n,
        left_out=left_out,
        abstained={why: k for why, k in absent.items() if why in tuple(AbstainReason)},
        undecided=absent.get(UNDECIDED, 0),
        failed={why: k for why, k in absent.items() if why in tuple(FailureKind)},
        merged=ratings.merged,
        groups=None if grouping is None else len(np.unique(grouping)),
        confidence=confidence,
        replicates=replicates,
        **estimates,
    )


def _given(column: pd.Series) -> pd.Series:
    """Where a column holds a label."""
    return column.map(plain_label, na_action="ignore").notna()


def _why_none(judge_gave: pd.Series, human_gave: pd.Series) -> Undefined:
    """Why no unit has both a judge's and a human's label."""
    empty = not judge_gave.any() or not human_gave.any()
    return Undefined.EMPTY if empty else Undefined.NO_OVERLAP


def _absences(reasons: Labels | None, units: pd.Index) -> dict[str, int]:
    """How often each known reason stands behind a label that the judge did not give."""
    if reasons is None:
        return {}
    said = as_series(reasons, "reason").reindex(units).map(plain_label, na_action="ignore")
    counts = said.dropna().value_counts()
    for why in counts.index:
        if why not in ABSENCES:
            unit = said.index[said == why][0]
            raise InputError(
                f"the reason {why!r} of unit {unit!r} is not one of {', '.join(ABSENCES)}"
            )
    return {str(why): int(counts[why]) for why in sorted(counts.index)}


def _generator(seed: object) -> np.random.Generator:
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InputError(f"seed must be a whole number of at least 0, got {seed!r}")
    return np.random.default_rng(int(seed))


def _group_numbers(groups: pd.Series, units: pd.Index) -> IntArray:
    """Number of each unit's group, from 0."""
    of_unit = groups.reindex(units)
    if of_unit.isna().any():
        raise InputError(f"unit {of_unit.index[of_unit.isna()].tolist()[0]!r} has no group")
    return pd.factorize(of_unit)[0].astype(np.int64)
