"""All estimates of a pass rate side by side, and the parts that it is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from riskjudge.binomial import check_level
from riskjudge.rates.betting import finite_sample
from riskjudge.rates.cells import make_cells
from riskjudge.rates.estimate import Estimate, undefined
from riskjudge.rates.ppi import ppi, ppi_plus_plus
from riskjudge.rates.rogan_gladen import rogan_gladen
from riskjudge.rates.sample import PARTS, RateSample
from riskjudge.rates.selection import selection_notes
from riskjudge.rates.simple import classical, raw
from riskjudge.rates.stratified import Strata, post_stratified, strata_of

ESTIMATORS: Mapping[str, Callable[..., Estimate]] = {
    "raw": raw,
    "classical": classical,
    "rogan_gladen": rogan_gladen,
    "ppi": ppi,
    "ppi_plus_plus": ppi_plus_plus,
    "stratified": post_stratified,
    "finite_sample": finite_sample,
}
"""Every estimator by the name it has in JSON."""

DEFAULT = "stratified"
"""The one that the coverage study in ``experiments/rates`` chose: the `corrected` rate."""


@dataclass(frozen=True, slots=True)
class PartRate:
    """The rate of the rows that were accepted, abstained from, undecided or failed.

    `share` is their share of all rows.
    """

    name: str
    rows: int
    share: float
    raw: Estimate
    corrected: Estimate


@dataclass(frozen=True, slots=True)
class RateReport:
    """How good a system is.

    Attributes
    ----------
    n_all, n_labelled : int
    estimates : mapping of str to Estimate
        By the names of :data:`ESTIMATORS`.
    parts : tuple of PartRate
        What the rate over all rows is made of; only parts that occur.
    no_label_bounds : Estimate
        The rate over all rows if nothing were known of those that were not accepted: 0 below and 1
        above.
    notes : tuple of str
    """

    n_all: int
    n_labelled: int
    estimates: Mapping[str, Estimate]
    parts: tuple[PartRate, ...]
    no_label_bounds: Estimate
    notes: tuple[str, ...]

    @property
    def corrected(self) -> Estimate:
        """The default estimate."""
        return self.estimates[DEFAULT]

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary."""
        return {
            "n_all": self.n_all,
            "n_labelled": self.n_labelled,
            "corrected": {"estimator": DEFAULT, **self.corrected.to_dict()},
            **{name: found.to_dict() for name, found in self.estimates.items()},
            "parts": {
                part.name: {
                    "rows": part.rows,
                    "share": part.share,
                    "raw": part.raw.to_dict(),
                    "corrected": part.corrected.to_dict(),
                }
                for part in self.parts
            },
            "no_label_bounds": self.no_label_bounds.to_dict(),
            "notes": list(self.notes),
        }


def estimate_rates(sample: RateSample, *, confidence: float = 0.95, seed: int = 0) -> RateReport:
    """Every estimate of the pass rate of a sample.

    Examples
    --------
    >>> verdicts = np.repeat([0, 1], 500)
    >>> labels = np.where(np.arange(1000) % 10 == 0, 1 - verdicts, -1)
    >>> report = estimate_rates(RateSample.from_arrays(verdicts, labels))
    >>> report.corrected.estimate, report.estimates["rogan_gladen"].estimate is None
    (0.5, True)
    """
    check_level(confidence, "confidence")
    estimates = {
        name: finite_sample(sample, confidence=confidence, seed=seed)
        if name == "finite_sample"
        else estimator(sample, confidence=confidence)
        for name, estimator in ESTIMATORS.items()
    }
    parts = []
    for i, name in enumerate(PARTS):
        inside = sample.part == i
        rows = int(inside.sum())
        if rows:
            some = sample.rows(inside)
            parts.append(
                PartRate(
                    name,
                    rows,
                    rows / len(sample),
                    raw(some, confidence=confidence),
                    estimates[DEFAULT]
                    if rows == len(sample)
                    else post_stratified(some, confidence=confidence),
                )
            )
    return RateReport(
        len(sample),
        sample.n_labelled,
        estimates,
        tuple(parts),
        no_label_bounds(sample, confidence=confidence),
        tuple(_notes(sample, estimates[DEFAULT])),
    )


def no_label_bounds(sample: RateSample, *, confidence: float = 0.95) -> Estimate:
    """Limits of the rate if the labels of rows that were not accepted are left aside.

    Examples
    --------
    >>> verdicts, labels = np.repeat([1, -1], [80, 20]), np.repeat([1, -1], [80, 20])
    >>> found = no_label_bounds(RateSample.from_arrays(verdicts, labels))
    >>> round(found.low, 2), found.high
    (0.71, 1.0)
    """
    method = "accepted rows corrected, the others anywhere between 0 and 1"
    accepted = sample.part == 0
    some = sample.rows(accepted)
    if some.n_labelled == 0:
        why = "no accepted row has a label"
        return undefined(method, why, 0, len(sample), confidence)
    inner = strata_of(some, make_cells(some), confidence)
    share = len(some) / len(sample)
    whole = inner
    if share < 1.0:
        whole = Strata(
            np.append(inner.share * share, 1.0 - share),
            np.append(inner.rate, np.nan),
            np.append(inner.labels, 0.0),
            inner.rows / share,
        )
    estimate, low, high = whole.interval(confidence)
    return Estimate(method, estimate, low, high, some.n_labelled, len(sample), confidence)


def _notes(sample: RateSample, corrected: Estimate) -> list[str]:
    notes = selection_notes(sample)
    if corrected.undefined:
        notes.append(f"the corrected rate is undefined: {corrected.undefined}")
    elif sample.n_labelled < 30:
        notes.append(
            f"labels are few ({sample.n_labelled}); `riskjudge plan --rate` says how many a width needs"
        )
    drawn = sample.labels[sample.labelled]
    if len(drawn) and drawn.min() == drawn.max():
        notes.append(
            f"all labels say {'pass' if drawn[0] else 'fail'}: the intervals of PPI and PPI++ are normal "
            "and mean nothing here; corrected, labels alone and betting hold"
        )
    missing = int(np.count_nonzero(sample.verdicts < 0))
    if missing:
        notes.append(
            f"{missing} rows without a verdict ({missing / len(sample):.1%}) belong to the corrected "
            "rate, as rows of their own; the raw rate is without them"
        )
    if sample.group is not None:
        groups = len(np.unique(sample.group))
        if groups < len(sample):
            few = len(np.unique(sample.group[sample.labelled]))
            notes.append(
                f"intervals allow for {groups} groups of dependent rows, {few} of them with labels"
                + ("; so few tell little of how groups differ" if few < 10 else "")
            )
    return notes
