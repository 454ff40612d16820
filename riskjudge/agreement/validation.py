"""May a judge be trusted as a rater? Its agreement with human labels, with intervals.

The coefficients, what they mean and where they come from: :mod:`riskjudge.agreement.coefficients`.
The intervals: :mod:`riskjudge.agreement.intervals`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from riskjudge._typing import IntArray
from riskjudge.agreement.coefficients import Coefficient, Undefined, why_undefined
from riskjudge.agreement.intervals import estimate
from riskjudge.agreement.ratings import (
    Labels,
    Level,
    Ratings,
    Table,
    as_series,
    check_ids,
)
from riskjudge.agreement.report import AgreementReport, Estimate
from riskjudge.binomial import check_level
from riskjudge.errors import InputError


def validate_judge(
    judge: Labels,
    human: Labels | pd.DataFrame,
    *,
    level: str = "nominal",
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
        On the units that have the judge's label and at least one human's. Its `verdict` reads the
        lower end of alpha's interval, its `point_verdict` alpha itself.

    Raises
    ------
    InputError
        If labels come without ids, an id occurs twice, a label does not fit the level, text and
        numbers are mixed, or a unit has no group.

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
    usable = both.iloc[:, 0].notna() & both.iloc[:, 1:].notna().any(axis=1)
    ratings = Ratings.from_table(both[usable], Level.of(level))
    return _report(
        ratings,
        reason=None if usable.any() else _why_none(judged, humans),
        left_out=len(both) - int(usable.sum()),
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
    level, groups, min_n, confidence, replicates, seed
        As for `validate_judge`.

    Examples
    --------
    >>> report = rater_agreement([[1, 1], [1, 1], [1, 1]])
    >>> report.percent_agreement.value, report.kappa.value, str(report.kappa.undefined)
    (1.0, None, 'constant_labels')
    """
    ratings = Ratings.from_table(table, Level.of(level))
    single = int(ratings.counts[~ratings.pairable].sum())
    return _report(
        ratings,
        reason=None,
        left_out=ratings.unlabelled + single,
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
    reason: Undefined | None,
    left_out: int,
    level: Level,
    groups: Labels | None,
    min_n: int,
    confidence: float,
    replicates: int,
    seed: int | np.random.Generator,
) -> AgreementReport:
    check_level(confidence, "confidence")
    for name, value in (("min_n", min_n), ("replicates", replicates)):
        if value < 1:
            raise InputError(f"{name} must be at least 1, got {value!r}")
    grouping = None if groups is None else _group_numbers(as_series(groups, "group"), ratings.units)
    reasons = {name: reason or why_undefined(name, ratings, level, min_n) for name in Coefficient}
    estimates = {str(name): Estimate(undefined=why) for name, why in reasons.items()}
    defined = [name for name, why in reasons.items() if why is None]
    if defined:
        found = estimate(
            defined,
            ratings,
            level,
            groups=grouping,
            confidence=confidence,
            replicates=replicates,
            rng=np.random.default_rng(seed),
        )
        estimates |= {str(name): Estimate(*figures) for name, figures in found.items()}
    return AgreementReport(
        level=level,
        raters=ratings.raters,
        n=int(ratings.counts[ratings.pairable].sum()),
        need=min_n,
        left_out=left_out,
        groups=None if grouping is None else len(np.unique(grouping)),
        confidence=confidence,
        replicates=replicates,
        **estimates,
    )


def _why_none(judged: pd.Series, humans: pd.DataFrame) -> Undefined:
    """Why no unit has both a judge's and a human's label."""
    empty = not judged.notna().any() or not humans.notna().any(axis=None)
    return Undefined.EMPTY if empty else Undefined.NO_OVERLAP


def _group_numbers(groups: pd.Series, units: pd.Index) -> IntArray:
    """Number of each unit's group, from 0."""
    of_unit = groups.reindex(units)
    if of_unit.isna().any():
        raise InputError(f"unit {of_unit.index[of_unit.isna()].tolist()[0]!r} has no group")
    return pd.factorize(of_unit)[0].astype(np.int64)
