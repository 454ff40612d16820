"""Annotations of AlpacaEval: which of two outputs is preferred."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from riskjudge.data.verdict import BooleanVerdict, FailureKind, Undecided
from riskjudge.readers.documents import Document
from riskjudge.readers.formats.base import has
from riskjudge.readers.records import Record, Said, as_number, failed
from riskjudge.uncertainty.entropy import binary_entropy


class AlpacaEval:
    """The verdict is "output 2 is better". A preference from 1 to 2 is 1 + the annotator's belief
    in output 2, so a fractional one gives an uncertainty; 0 and 1.5 are ties."""

    name = "alpacaeval"

    def recognises(self, document: Document) -> bool:
        return bool(document.rows) and has(
            document.first, "instruction", "output_1", "output_2", "preference"
        )

    def records(self, document: Document, choices: Mapping[str, str]) -> Iterator[Record]:
        for number, row in enumerate(document.rows):
            yield Record(
                str(number),
                {str(row.get("annotator") or "annotator"): preference(row.get("preference"))},
                {
                    name: row.get(name)
                    for name in ("dataset", "generator_1", "generator_2")
                    if name in row
                },
                key=pair_key(row),
            )


def preference(value: object) -> Said:
    """What a preference says.

    Examples
    --------
    >>> preference(2).outcome, preference(1.5).outcome, round(preference(1.9).uncertainty, 3)
    (BooleanVerdict(value=True), Undecided(), 0.325)
    """
    number = as_number(value)
    if number is None:
        return failed(f"the preference is {value!r}", FailureKind.PARSE)
    if number in (0.0, 1.5):
        return Said(Undecided())
    if not 1.0 <= number <= 2.0:
        return failed(f"the preference {number:g} is not from 1 to 2", FailureKind.OUT_OF_RANGE)
    verdict = BooleanVerdict(number > 1.5)
    if number in (1.0, 2.0):
        return Said(verdict)
    return Said(verdict, None, binary_entropy(number - 1.0), "predictive_entropy")


def pair_key(row: Mapping[str, Any]) -> tuple[str, ...]:
    """What two annotations of the same pair have in common."""
    return tuple(str(row.get(name)) for name in ("instruction", "output_1", "output_2"))
