r"""Coefficients of agreement between raters, each as observed over chance disagreement.

Every coefficient here has the form :math:`1 - D_o / D_e` and differs only in what it takes for the
disagreement :math:`D_e` that chance would bring:

=================  =========================================================================
percent agreement  nothing is left to chance, :math:`D_e = 1`
Cohen's kappa      each rater draws from the labels that rater used
Fleiss' kappa      all raters draw from one pool of labels
Krippendorff's     the same pool, drawn from without replacement, at four levels of
alpha              measurement, with missing labels
Gwet's AC1         only units on which raters guess agree by chance
=================  =========================================================================

The functions take a units x raters table and return ``None`` where the coefficient is UNDEFINED;
:func:`why_undefined` names the reason.

References
----------
.. [1] J. Cohen, "A coefficient of agreement for nominal scales", Educ. Psychol. Meas. 20, 1960;
   weighted: "Weighted kappa", Psychol. Bull. 70, 1968.
.. [2] J. L. Fleiss, "Measuring nominal scale agreement among many raters", Psychol. Bull. 76, 1971.
.. [3] K. Krippendorff, "Computing Krippendorff's alpha-reliability", University of Pennsylvania,
   2011.
.. [4] K. L. Gwet, "Computing inter-rater reliability and its variance in the presence of high
   agreement", Br. J. Math. Stat. Psychol. 61, 2008; missing labels: "Handbook of Inter-Rater
   Reliability", 4th ed., 2014.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, Self

import numpy as np

from riskjudge._typing import FloatArray
from riskjudge.agreement import disagreement as formulas
from riskjudge.agreement.disagreement import Disagreement
from riskjudge.agreement.labels import Level
from riskjudge.agreement.ratings import Ratings, Table
from riskjudge.errors import InputError


class Coefficient(StrEnum):
    """The coefficients of a report."""

    PERCENT_AGREEMENT = "percent_agreement"
    KAPPA = "kappa"
    FLEISS = "fleiss"
    ALPHA = "alpha"
    AC1 = "ac1"

    @classmethod
    def of(cls, name: str) -> Self:
        """Return the coefficient of that name, or say which there are."""
        try:
            return cls(name)
        except ValueError:
            known = ", ".join(cls)
            raise InputError(f"coefficient must be one of {known}, got {name!r}") from None


class Undefined(StrEnum):
    """Why a coefficient has no value. The set is closed."""

    EMPTY = "empty"
    """Fewer than two raters gave any label."""
    NO_OVERLAP = "no_overlap"
    """No unit has labels by two raters."""
    TOO_FEW_UNITS = "too_few_units"
    """Fewer units than were asked for."""
    CONSTANT_LABELS = "constant_labels"
    """One label only: agreement and chance agreement cannot be told apart."""
    NOT_TWO_RATERS = "not_two_raters"
    """The coefficient is for exactly two raters."""
    UNEQUAL_LABELS = "unequal_labels"
    """The coefficient needs the same number of labels on every unit."""
    NOT_NOMINAL = "not_nominal"
    """The coefficient is for nominal labels only."""


def percent_agreement(table: Table) -> float | None:
    """Share of agreeing pairs of labels within a unit, averaged over units with two or more.

    Parameters
    ----------
    table : DataFrame or array_like, shape (units, raters)
        Labels; None or NaN where a rater gave none.

    Returns
    -------
    float in [0, 1], or None if no unit has two labels.

    Examples
    --------
    >>> percent_agreement([["yes", "yes"], ["yes", "no"], ["no", "no"], ["no", None]])
    0.6666666666666667
    """
    return _point(Coefficient.PERCENT_AGREEMENT, table, Level.NOMINAL)


def cohen_kappa(
    table: Table, level: str = "nominal", categories: Sequence[Any] | None = None
) -> float | None:
    """Cohen's kappa of two raters, over the units that both labelled.

    Parameters
    ----------
    table : DataFrame or array_like, shape (units, 2)
        Labels; None or NaN where a rater gave none.
    level : {"nominal", "ordinal", "interval", "ratio"}
        Above nominal, kappa is weighted by squared distance: between the positions of the labels
        that occur (ordinal), the labels themselves (interval), or relative to their sum (ratio).
    categories : sequence, optional
        The whole scale in ascending order. The positions of ordinal labels are those on it, and a
        label that is not on it is refused.

    Returns
    -------
    float in [-1, 1], or None where it is UNDEFINED.

    Examples
    --------
    >>> round(cohen_kappa([["yes", "yes"], ["yes", "no"], ["no", "no"], ["no", "no"]]), 6)
    0.5
    """
    return _point(Coefficient.KAPPA, table, Level.of(level), categories)


def fleiss_kappa(table: Table) -> float | None:
    """Fleiss' kappa of nominal labels, the same number of labels on every unit.

    Examples
    --------
    >>> round(fleiss_kappa([[1, 1, 1], [1, 0, 1], [0, 0, 0], [0, 0, 1]]), 6)
    0.333333
    """
    return _point(Coefficient.FLEISS, table, Level.NOMINAL)


def krippendorff_alpha(table: Table, level: str = "nominal") -> float | None:
    """Krippendorff's alpha: any number of raters, four levels, missing labels.

    Parameters
    ----------
    table : DataFrame or array_like, shape (units, raters)
        Labels; None or NaN where a rater gave none. Units with a single label are left out.
    level : {"nominal", "ordinal", "interval", "ratio"}
        Distance between labels ([3]_, step D).

    Returns
    -------
    float in [-1, 1], or None where it is UNDEFINED.

    Examples
    --------
    >>> table = [[1, 1], [2, 3], [3, 3], [4, 4], [None, 2]]
    >>> round(krippendorff_alpha(table, "interval"), 6)
    0.911392
    """
    return _point(Coefficient.ALPHA, table, Level.of(level))


def gwet_ac1(table: Table, categories: Sequence[Any] | None = None) -> float | None:
    """Gwet's AC1 of nominal labels; stays meaningful when nearly all labels are the same.

    Units with a single label count towards the prevalence of the labels, not towards agreement
    ([4]_, 2014).

    Parameters
    ----------
    table : DataFrame or array_like, shape (units, raters)
        Labels; None or NaN where a rater gave none.
    categories : sequence, optional
        All labels that a rater could have given; by default those that occur. The more there are,
        the less often raters agree by chance.

    Returns
    -------
    float in [-1, 1], or None where it is UNDEFINED.

    Examples
    --------
    >>> table = [[1, 1], [1, 1], [1, 1], [1, 0]]
    >>> round(gwet_ac1(table), 6), round(gwet_ac1(table, categories=[0, 1, 2]), 6)
    (0.68, 0.719298)
    """
    return _point(Coefficient.AC1, table, Level.NOMINAL, categories)


def why_undefined(
    coefficient: Coefficient, ratings: Ratings, level: Level, min_n: int = 1
) -> Undefined | None:
    """Reason why a coefficient has no value on these ratings, or None if it has one."""
    raters = len(ratings.raters)
    pairable = ratings.patterns[ratings.pairable]
    n = round(ratings.counts[ratings.pairable].sum())
    if raters < 2:
        return Undefined.EMPTY
    if n == 0:
        return Undefined.NO_OVERLAP
    if n < min_n:
        return Undefined.TOO_FEW_UNITS
    if coefficient is Coefficient.PERCENT_AGREEMENT:
        return None
    if coefficient in (Coefficient.FLEISS, Coefficient.AC1) and level is not Level.NOMINAL:
        return Undefined.NOT_NOMINAL
    if coefficient is Coefficient.KAPPA and raters != 2:
        return Undefined.NOT_TWO_RATERS
    if coefficient is Coefficient.FLEISS and len(np.unique(ratings.labels_per_unit)) > 1:
        return Undefined.UNEQUAL_LABELS
    if len(np.unique(pairable[pairable >= 0])) < 2:
        return Undefined.CONSTANT_LABELS
    return None


def disagreement(
    coefficient: Coefficient, ratings: Ratings, weights: FloatArray, level: Level
) -> Disagreement:
    """Observed and chance disagreement of a coefficient, for each row of weights.

    Parameters
    ----------
    weights : ndarray of float, shape (B, P)
        How often each pattern of `ratings` occurs in each of B replicates.
    coefficient : Coefficient
        Name of the coefficient.
    ratings : Ratings
        What the raters said.
    level : Level
        Significance at which it is tested.
    """
    return _DISAGREEMENT[coefficient](ratings, weights, level)


_DISAGREEMENT: dict[Coefficient, Callable[[Ratings, FloatArray, Level], Disagreement]] = {
    Coefficient.PERCENT_AGREEMENT: formulas.percent,
    Coefficient.KAPPA: formulas.kappa,
    Coefficient.FLEISS: formulas.fleiss,
    Coefficient.ALPHA: formulas.alpha,
    Coefficient.AC1: formulas.ac1,
}


def _point(
    coefficient: Coefficient,
    table: Table,
    level: Level,
    categories: Sequence[Any] | None = None,
) -> float | None:
    ratings = Ratings.from_table(table, level, categories)
    if why_undefined(coefficient, ratings, level) is not None:
        return None
    weights = ratings.counts[None, :].astype(np.float64)
    return float(disagreement(coefficient, ratings, weights, level).coefficient[0])
