"""What stands on the page, as plain values; nothing here knows of HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from riskjudge._typing import FloatArray, IntArray
from riskjudge.data.modes import ABSENCES
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError
from riskjudge.evaluation.splits import PAPER_ALPHAS
from riskjudge.evaluation.summary import Insufficient, Report, Segment, summarize
from riskjudge.gate.outcomes import Outcomes
from riskjudge.gate.router import Router
from riskjudge.share import Rate

EXAMPLES = 5
_TEXTS = ("question", "input", "prompt", "instruction", "user_input", "answer", "candidate",
          "response", "output")  # fmt: skip
_LONGEST = 280

REASONS = {
    "below_conformal": "too unsure to accept",
    "panel_split": "the judges of a panel disagree",
    "swap_inconsistent": "the verdict changes when the two answers are swapped",
    "out_of_scope": "outside what the judge is meant for",
    "undecided": "the judge found no preference",
}
"""What the names of abstentions mean, in words."""


@dataclass(frozen=True, slots=True)
class Example:
    """One item as it is shown.

    Attributes
    ----------
    id : str
    texts : tuple of (str, str)
        Name and beginning of each text that the trace carries.
    verdict : str
    uncertainty : float or None
        That of the mode which accepted it, else of the last mode that has one.
    mode : str or None
    label : str or None
    """

    id: str
    texts: tuple[tuple[str, str], ...]
    verdict: str
    uncertainty: float | None
    mode: str | None
    label: str | None


@dataclass(frozen=True, slots=True)
class Level:
    """The certificate that the calibration items give at one risk level.

    Attributes
    ----------
    alpha : float
    statement : str
    thresholds : tuple of (str, str)
    coverage, fdr : Rate
        Of the items on the page.
    accepted : tuple of Example
        The least sure of the accepted ones.
    """

    alpha: float
    statement: str
    thresholds: tuple[tuple[str, str], ...]
    coverage: Rate
    fdr: Rate
    accepted: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class PageContent:
    """Everything on the page.

    Attributes
    ----------
    title : str
    promise : str
        The certificate's statement.
    certified : bool
    alpha, delta : float
    report : Report
    levels : tuple of Level
        Empty where the calibration items are not at hand.
    abstained : tuple of (str, str, int, tuple of Example)
        Reason, what it means, how many, and some.
    wrong : tuple of Example
        Accepted verdicts that contradict their label.
    review : tuple of Example
        Declined items, the surest first.
    facts : tuple of (str, str)
        Thresholds, counts and bounds of the certificate.
    bound_to : tuple of (str, str)
        By mode, what made its scores.
    assumptions : tuple of str
    calibrated_on : int
        How many of the items the gate was calibrated on.
    """

    title: str
    promise: str
    certified: bool
    alpha: float
    delta: float
    report: Report
    levels: tuple[Level, ...]
    abstained: tuple[tuple[str, str, int, tuple[Example, ...]], ...]
    wrong: tuple[Example, ...]
    review: tuple[Example, ...]
    facts: tuple[tuple[str, str], ...]
    bound_to: tuple[tuple[str, str], ...]
    assumptions: tuple[str, ...]
    calibrated_on: int

    @property
    def segments(self) -> list[tuple[str, Segment | Insufficient]]:
        """Segments by the value of the report's column."""
        return list(self.report.segments.items())


def page_content(
    gate: Router,
    items: Trace,
    *,
    outcomes: Outcomes | None = None,
    calibration: Trace | None = None,
    by: str | None = None,
    title: str | None = None,
    alphas: Sequence[float] = PAPER_ALPHAS,
) -> PageContent:
    """Gather what stands on the page.

    Parameters
    ----------
    gate : Router
        Fitted.
    items : Trace
        What was decided. With labels the page says where errors are.
    outcomes : Outcomes, optional
        By default the gate decides the items.
    calibration : Trace, optional
        The items that the gate was fitted on. With them the page holds a valid certificate for each
        of `alphas`.
    by : str, optional
        Column whose values make segments.
    title : str, optional
    alphas : sequence of float

    Raises
    ------
    InputError
        If the gate is not fitted, or was fitted on other items than `calibration`.
    """
    if not gate.fitted:
        raise InputError("a page is about a fitted gate; calibrate it first")
    if calibration is not None:
        _require_own_items(gate, calibration)
    outcomes = gate.decide(items) if outcomes is None else outcomes
    items = items.select(gate.modes_)
    certificate = gate.certificate_
    shown = _Shown(items, outcomes)
    return PageContent(
        title=title or "Which verdicts may be trusted?",
        promise=certificate.statement,
        certified=certificate.certified,
        alpha=certificate.alpha,
        delta=certificate.delta,
        report=summarize(outcomes, by=by),
        levels=tuple(_level(gate, items, calibration, alpha) for alpha in alphas)
        if calibration is not None
        else (),
        abstained=tuple(shown.by_reason()),
        wrong=shown.examples(np.flatnonzero(outcomes.wrong)),
        review=shown.examples(np.flatnonzero(outcomes.abstained)),
        facts=tuple(_facts(gate)),
        bound_to=tuple(_sources(gate)),
        assumptions=certificate.assumptions,
        calibrated_on=int(outcomes.calibrated_on.sum()),
    )


class _Shown:
    """Picks examples, and says what is shown of each."""

    def __init__(self, items: Trace, outcomes: Outcomes) -> None:
        self.items, self.outcomes = items, outcomes
        have = [str(column) for column in items.extra.columns]
        self.texts = [name for name in have if name.rpartition(".")[2] in _TEXTS][:3]
        self.unsure = _uncertainty(items, outcomes.mode)

    def by_reason(self) -> list[tuple[str, str, int, tuple[Example, ...]]]:
        why, found = self.outcomes.why_not, []
        for code in np.unique(why[why >= 0]):
            reason = ABSENCES[code]
            meaning = REASONS.get(reason, "nothing usable came back from the judge")
            rows = np.flatnonzero(why == code)
            found.append((reason, meaning, len(rows), self.examples(rows)))
        return sorted(found, key=lambda entry: -entry[2])

    def examples(self, rows: IntArray, *, surest_first: bool = True) -> tuple[Example, ...]:
        unsure = np.nan_to_num(self.unsure[rows], nan=np.inf)
        order = np.argsort(unsure if surest_first else -unsure, kind="stable")[:EXAMPLES]
        return tuple(self._example(int(row)) for row in rows[order])

    def _example(self, row: int) -> Example:
        mode = int(self.outcomes.mode[row])
        known = np.flatnonzero(self.items.verdicts[row] >= 0)
        seen = mode if mode >= 0 else (int(known[-1]) if len(known) else -1)
        verdict = int(self.items.verdicts[row, seen]) if seen >= 0 else -1
        label = int(self.items.labels[row])
        unsure = float(self.unsure[row])
        texts = [(name, _short(self.items.extra[name].iloc[row])) for name in self.texts]
        return Example(
            id=str(self.items.item_id[row]),
            texts=tuple((name, text) for name, text in texts if text),
            verdict=self._said(verdict) or "none",
            uncertainty=None if np.isnan(unsure) else unsure,
            mode=self.items.modes[seen] if seen >= 0 else None,
            label=self._said(label),
        )

    def _said(self, value: int) -> str | None:
        grading = self.items.grading
        if value < 0 or grading is None or not grading.numeric:
            return _said(value)
        return f"{grading.scores(np.array(value)):.9g}"


def _uncertainty(items: Trace, mode: IntArray) -> FloatArray:
    """Of the accepting mode, else of the last mode that has one."""
    last = np.full(len(items), np.nan)
    for k in range(items.n_modes):
        last = np.where(np.isnan(items.scores[:, k]), last, items.scores[:, k])
    own = items.scores[np.arange(len(items)), np.maximum(mode, 0)]
    return np.where(mode >= 0, own, last)


def _require_own_items(gate: Router, calibration: Trace) -> None:
    """The other levels are those of the same calibration, or they say nothing about this gate."""
    prepared = gate.prepare(calibration).labelled
    if prepared.fingerprint() != gate.fingerprint_:
        raise InputError(
            f"the calibration items are not those that the gate was fitted on: {len(prepared)} labelled "
            f"items here, {gate.n_labelled_} there, or other contents; give the very trace (and filter) "
            "that calibrate was given"
        )


def _level(gate: Router, items: Trace, calibration: Trace | None, alpha: float) -> Level:
    assert calibration is not None
    fitted = gate
    if alpha != gate.alpha:
        fitted = type(gate)(**{**gate.get_params(deep=False), "alpha": alpha}).fit(calibration)
    outcomes = fitted.decide(items)
    whole = summarize(outcomes).whole
    shown = _Shown(items, outcomes)
    accepted = np.flatnonzero(outcomes.accepted)
    return Level(
        alpha=alpha,
        statement=fitted.certificate_.statement,
        thresholds=tuple(_thresholds(fitted)),
        coverage=whole.coverage,
        fdr=whole.fdr,
        accepted=shown.examples(accepted, surest_first=False),
    )


def _thresholds(gate: Router) -> list[tuple[str, str]]:
    thresholds = gate.certificate_.thresholds
    if thresholds is None:
        return [("every mode", "accepts nothing")]
    return [
        (_in_words(mode), "not used" if t is None else f"accepted up to {t:.4g}")
        for mode, t in thresholds.items()
    ]


def _in_words(column: str) -> str:
    """A column of the certificate: a mode, or one verdict of it."""
    for verdict in (0, 1):
        if column.endswith(f"[{verdict}]"):
            return f"{column[:-3]} says {_said(verdict)}"
    return column


def _facts(gate: Router) -> list[tuple[str, str]]:
    c = gate.certificate_
    facts = [("procedure", c.procedure), ("labelled items tested on", f"{c.n:,}")]
    if c.n_reserved:
        facts.append(("labelled items that prepared the tests", f"{c.n_reserved:,}"))
    facts += [(f"threshold, {mode}", said) for mode, said in _thresholds(gate)]
    if c.certified:
        facts.append(("accepted in calibration", f"{c.accepted:,}, {c.errors:,} of them wrong"))
    if c.upper_bound is not None:
        facts.append(("upper bound of the error rate", f"{100 * c.upper_bound:.2f} %"))
    return facts


def _sources(gate: Router) -> list[tuple[str, str]]:
    found = []
    for mode, source in zip(gate.modes_, gate.sources_, strict=True):
        if source is None:
            found.append((mode, "nothing recorded what made these scores"))
        else:
            found += [(f"{mode}, {name}", str(value)) for name, value in source.items()]
    return found


def _said(value: int) -> str | None:
    return {0: "wrong", 1: "right"}.get(value)


def _short(value: object) -> str:
    if value is None or value != value:
        return ""
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
