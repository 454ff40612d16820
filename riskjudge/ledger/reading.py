"""What a ledger adds up to: counts that keep verdicts, abstentions and failures apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from riskjudge.data.verdict import Abstention, Failure, FailureKind, ItemStatus, Undecided
from riskjudge.errors import InputError
from riskjudge.ledger.records import label_text
from riskjudge.ledger.rows import Row

BY_COLUMNS = ("judge", "mode", "subset", "group", "subject", "label", "order", "seed")

Segment = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """The counts of one segment. Every item is in exactly one of the first six.

    Parameters
    ----------
    graded : int
        Items with a verdict.
    undecided : int
        The judge answered every time and found no preference.
    reasons : Mapping[str, int]
        Abstentions by reason. A reason that nothing produced is absent, not zero.
    errors : Mapping[str, int]
        Failures by kind; likewise.
    skipped_no_body : int
        Items with nothing to judge.
    missing_from_ledger : int
        Items that were expected and have no row.
    compared, agreed : int
        Graded items whose label can be compared with the verdict, and those where they agree.
    calls : int
        Judge calls made.
    need : int
        The least `compared` at which the agreement counts as evidence.
    by, segment : tuple[str, ...] or Segment
        The columns that were split by, and this segment's values in them.

    Examples
    --------
    >>> reading = Reading(graded=3, reasons={"panel_split": 2}, compared=3, agreed=2, need=30)
    >>> reading.items, reading.abstained, reading.sufficient, reading.have
    (5, 2, False, 3)
    >>> Reading(reasons={"panel_split": 2}).agreement is None
    True
    """

    graded: int = 0
    undecided: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)
    errors: Mapping[str, int] = field(default_factory=dict)
    skipped_no_body: int = 0
    missing_from_ledger: int = 0
    compared: int = 0
    agreed: int = 0
    calls: int = 0
    need: int = 0
    by: tuple[str, ...] = ()
    segment: Segment = ()

    @property
    def abstained(self) -> int:
        """Abstentions of all reasons."""
        return sum(self.reasons.values())

    @property
    def failed(self) -> int:
        """Failures of all kinds."""
        return sum(self.errors.values())

    @property
    def items(self) -> int:
        """Items in the segment, whatever became of them."""
        answered = self.graded + self.undecided + self.abstained
        return answered + self.failed + self.skipped_no_body + self.missing_from_ledger

    @property
    def agreement(self) -> float | None:
        """Share of the compared verdicts that agree; None (UNDEFINED) where there is none.

        Where every graded item is labelled this is agreed over graded. An abstention moves
        neither half of the fraction.
        """
        return self.agreed / self.compared if self.compared else None

    @property
    def abstention_rate(self) -> float | None:
        """Share of the answered items that were declined; None where nothing was answered."""
        answered = self.graded + self.undecided + self.abstained
        return self.abstained / answered if answered else None

    @property
    def have(self) -> int:
        """The evidence behind the agreement, to be held against `need`."""
        return self.compared

    @property
    def sufficient(self) -> bool:
        """Whether the evidence reaches the floor."""
        return self.have >= self.need

    @property
    def skips(self) -> dict[str, int]:
        """Why an evaluator made no observation: `abstained`, `evaluator_error`, `cancelled`.

        Reasons that did not occur are absent. Whoever reads `evaluator_error` looks for a bug, so
        neither an abstention nor a cancelled call is in it.
        """
        cancelled = self.errors.get(FailureKind.CANCELLED, 0)
        counts = {
            "abstained": self.abstained,
            "evaluator_error": self.failed - cancelled,
            "cancelled": cancelled,
        }
        return {reason: count for reason, count in counts.items() if count}

    def to_dict(self) -> dict[str, Any]:
        """The reading as JSON values; an insufficient one says what it needs and has."""
        record: dict[str, Any] = {
            **dict(zip(self.by, self.segment, strict=True)),
            "items": self.items,
            "graded": self.graded,
            "abstained": self.abstained,
            "undecided": self.undecided,
            "failed": self.failed,
            "skipped_no_body": self.skipped_no_body,
            "missing_from_ledger": self.missing_from_ledger,
            "reasons": dict(self.reasons),
            "errors": dict(self.errors),
            "evaluator": {"evaluated": self.graded + self.undecided, "skipped": self.skips},
            "compared": self.compared,
            "agreed": self.agreed,
            "agreement": self.agreement if self.sufficient else None,
            "abstention_rate": self.abstention_rate,
            "calls": self.calls,
        }
        if not self.sufficient:
            record["insufficient"] = {"need": self.need, "have": self.have}
        return record


def readings(
    rows: Iterable[Row],
    by: Sequence[str] = (),
    *,
    need: int = 0,
    expected: Mapping[str, str | None] | None = None,
) -> list[Reading]:
    """Tally rows by segment.

    Parameters
    ----------
    rows : Iterable[Row]
        Rows of one ledger.
    by : Sequence[str]
        Columns to split by, from `BY_COLUMNS`. ``("judge", "mode")`` is the census of the arms.
    need : int
        The floor on compared items under which a segment is insufficient.
    expected : Mapping[str, str, optional], optional
        Subset by item id, for all items that should have been judged: each judge and mode gets a
        `missing_from_ledger` for every one it has no row of.

    Returns
    -------
    list of Reading
        Sorted by segment; without `by`, exactly one.

    Raises
    ------
    InputError
        If an id occurs twice, `by` names no column to split by, or a row judges an item that is
        not among the `expected` ones.

    Examples
    --------
    >>> from riskjudge.data.verdict import BooleanVerdict
    >>> rows = [Row(str(i), "oracle", "direct", BooleanVerdict(True), label=i > 0) for i in (0, 1)]
    >>> [reading.agreement for reading in readings(rows)]
    [0.5]
    """
    check_by(by)
    rows = list(rows)
    refuse_duplicates(rows)
    counts: dict[Segment, Counter[str]] = {} if by else {(): Counter()}
    for segment, members in split(rows, by).items():
        counts[segment] = Counter()
        for row in members:
            _count(row, counts[segment])
    for missing in _missing(rows, expected):
        segment = tuple(missing.get(column) for column in by)
        counts.setdefault(segment, Counter())["missing_from_ledger"] += 1
    return [
        _reading(counts[segment], tuple(by), segment, need)
        for segment in sorted(counts, key=lambda values: [value or "" for value in values])
    ]


def split(rows: Iterable[Row], by: Sequence[str]) -> dict[Segment, list[Row]]:
    """The rows of each segment, by its values in the columns `by`."""
    check_by(by)
    segments: dict[Segment, list[Row]] = {}
    for row in rows:
        segment = tuple(_segment_value(row, column) for column in by)
        segments.setdefault(segment, []).append(row)
    return segments


def census_line(reading: Reading) -> str:
    """One arm of a census as a line; failures are said where there are any.

    An agreement on fewer compared items than are needed is insufficient, and says how many there are.

    Examples
    --------
    >>> arm = ("first-slot", "pairwise")
    >>> print(census_line(Reading(reasons={"swap_inconsistent": 419}, calls=838, segment=arm)))
    first-slot/pairwise pairs=419 graded=0 abstained=419 undecided=0 calls=838 agreement=undefined
    """
    agreement = "undefined" if reading.agreement is None else f"{reading.agreement:.4f}"
    if not reading.sufficient:
        agreement = f"insufficient(need={reading.need}, have={reading.have})"
    failed = f" failed={reading.failed}" if reading.failed else ""
    skipped = f" skipped_no_body={reading.skipped_no_body}" if reading.skipped_no_body else ""
    return (
        f"{'/'.join(value or '-' for value in reading.segment)} pairs={reading.items}"
        f" graded={reading.graded} abstained={reading.abstained} undecided={reading.undecided}"
        f" calls={reading.calls} agreement={agreement}{failed}{skipped}"
    )


def item_statuses(
    rows: Iterable[Row], subjects: Iterable[str] | None = None
) -> dict[str, ItemStatus]:
    """The status of each item under one judge, in the order of `subjects` (default: as judged).

    Raises
    ------
    InputError
        If an item was judged twice: choose a judge and a mode first.
    """
    judged: dict[str, ItemStatus] = {}
    for row in rows:
        if row.subject in judged:
            raise InputError(f"item {row.subject!r} has two rows; choose one judge and mode")
        judged[row.subject] = row.status
    wanted = judged if subjects is None else subjects
    return {subject: judged.get(subject, ItemStatus.MISSING_FROM_LEDGER) for subject in wanted}


def check_by(by: Sequence[str]) -> None:
    """Raise `InputError` unless each of `by` is a column that readings can be split by."""
    for column in by:
        if column not in BY_COLUMNS:
            raise InputError(f"cannot split by {column!r}; the columns are {', '.join(BY_COLUMNS)}")


def refuse_duplicates(rows: Iterable[Row]) -> None:
    """Raise `InputError` naming the first row id that occurs twice."""
    seen: set[str] = set()
    for row in rows:
        if row.id in seen:
            raise InputError(f"duplicate row id {row.id!r}")
        seen.add(row.id)


def _segment_value(row: Row, column: str) -> str | None:
    value = label_text(row.label) if column == "label" else getattr(row, column)
    return None if value is None else str(value)


def _count(row: Row, counts: Counter[str]) -> None:
    """Move the counters that one row moves."""
    counts["calls"] += row.calls
    match row.outcome:
        case None:
            counts["skipped_no_body"] += 1
        case Abstention(reason):
            counts[f"reason:{reason.value}"] += 1
        case Failure(kind, _):
            counts[f"error:{kind.value}"] += 1
        case Undecided():
            counts["undecided"] += 1
        case _:
            counts["graded"] += 1
    agrees = row.agrees
    if agrees is not None:
        counts["compared"] += 1
        counts["agreed"] += agrees


def _reading(counts: Counter[str], by: tuple[str, ...], segment: Segment, need: int) -> Reading:
    plain = {name: count for name, count in counts.items() if ":" not in name}
    maps: dict[str, dict[str, int]] = {"reason": {}, "error": {}}
    for name in sorted(counts):
        kind, colon, value = name.partition(":")
        if colon:
            maps[kind][value] = counts[name]
    return Reading(
        **plain,
        reasons=maps["reason"],
        errors=maps["error"],
        need=need,
        by=by,
        segment=segment,
    )


def _missing(
    rows: Sequence[Row], expected: Mapping[str, str | None] | None
) -> Iterable[dict[str, str | None]]:
    if expected is None:
        return
    arms: dict[tuple[str | None, str | None], set[str]] = {}
    for row in rows:
        if row.subject not in expected:
            raise InputError(
                f"row {row.id!r} judges {row.subject!r}, which is not an expected item"
            )
        arms.setdefault((row.judge, row.mode), set()).add(row.subject)
    # Without any row there is no arm to name, but the items are missing all the same.
    for (judge, mode), judged in (arms or {(None, None): set()}).items():
        for subject, subset in expected.items():
            if subject not in judged:
                yield {"judge": judge, "mode": mode, "subset": subset, "subject": subject}
