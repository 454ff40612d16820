"""Result tables of Ragas: metrics from 0 to 1 beside each question and answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from riskjudge.data.verdict import FailureKind
from riskjudge.readers.documents import Document
from riskjudge.readers.records import Record, Said, as_bool, as_number, failed

_TEXTS = (
    "user_input", "question", "retrieved_contexts", "contexts", "response", "answer", "reference",
    "ground_truth", "reference_contexts", "rubrics", "multi_responses", "ground_truths",
)  # fmt: skip


class Ragas:
    """Each metric is a judge whose score needs a cut. Columns of 0, 1, yes or no may be labels."""

    name = "ragas"

    def recognises(self, document: Document) -> bool:
        first = document.first
        asked = "user_input" in first or "question" in first
        answered = "response" in first or "answer" in first
        return (asked and answered and "retrieved_contexts" in first) or (
            asked and answered and "contexts" in first
        )

    def records(self, document: Document, choices: Mapping[str, str]) -> Iterator[Record]:
        names = [name for name in document.first if name not in _TEXTS]
        metrics = [name for name in names if self._is_metric([r.get(name) for r in document.rows])]
        for number, row in enumerate(document.rows):
            judges = {name: self._said(row.get(name)) for name in metrics}
            fields = {name: row.get(name) for name in names if name not in metrics}
            yield Record(str(row.get("id", number)), judges, fields, key=(str(number),))

    def _is_metric(self, values: list[object]) -> bool:
        """Numbers from 0 to 1 that are not all 0 or 1, as a label's are."""
        given = [value for value in values if value is not None]
        numbers = [as_number(value) for value in given]
        inside = [value for value in numbers if value is not None and 0.0 <= value <= 1.0]
        labels = all(as_bool(value) is not None for value in given)
        return bool(given) and len(inside) == len(given) and not labels

    def _said(self, value: object) -> Said:
        score = as_number(value)
        if score is None:
            return failed("the metric could not be computed", FailureKind.NO_VERDICT)
        return Said(score=score)
