"""Results of promptfoo (``-o results.json`` or ``.jsonl``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from riskjudge.data.verdict import BooleanVerdict
from riskjudge.readers.documents import Document
from riskjudge.readers.formats.base import has
from riskjudge.readers.records import Record, Said, as_number, failed, flat

_GRADED_BY_MODELS = ("rubric", "model-graded", "factuality", "g-eval", "closedqa", "select-best")


class Promptfoo:
    """Each assertion that a model grades is a judge; where there is none, the whole test is.

    ``pass`` is the verdict; a score strictly between 0 and 1 makes it the less sure the nearer it is
    to a half. Results of the same test case (several prompts or providers) are one group.
    """

    name = "promptfoo"

    def recognises(self, document: Document) -> bool:
        if document.whole is not None and isinstance(document.whole.get("results"), Mapping):
            inner = document.whole["results"].get("results")
            return isinstance(inner, list) and bool(inner) and self._is_row(inner[0])
        return bool(document.rows) and self._is_row(document.first)

    def _is_row(self, row: object) -> bool:
        return isinstance(row, Mapping) and (
            has(row, "gradingResult") or has(row, "success", "vars", "provider")
        )

    def records(self, document: Document, choices: Mapping[str, str]) -> Iterator[Record]:
        rows: Sequence[Mapping[str, Any]] = document.rows
        if document.whole is not None and isinstance(document.whole.get("results"), Mapping):
            rows = document.whole["results"]["results"]
        tests = [str(row.get("testIdx", number)) for number, row in enumerate(rows)]
        times = Counter(tests)
        repeated = max(times.values(), default=1) > 1
        seen: Counter[str] = Counter()
        for test, row in zip(tests, rows, strict=True):
            place = f"{test}/{row.get('promptIdx', seen[test])}" if repeated else test
            if repeated and seen[place]:
                place = f"{place}/{seen[place]}"
            seen[test] += 1
            seen[place] += 1
            yield Record(
                place,
                self._judges(row),
                flat(
                    {
                        "vars": row.get("vars") or {},
                        "metadata": row.get("metadata") or {},
                        "provider": _provider(row.get("provider")),
                    }
                ),
                group=test if repeated else None,
                key=(test,),
            )

    def _judges(self, row: Mapping[str, Any]) -> dict[str, Said]:
        grading = row.get("gradingResult")
        error = row.get("error")
        if not isinstance(grading, Mapping):
            return {"*": failed(error or "the test was not graded")}
        found: dict[str, Said] = {}
        for number, part in enumerate(grading.get("componentResults") or []):
            assertion = (part or {}).get("assertion") or {}
            kind = str(assertion.get("type", ""))
            if any(word in kind for word in _GRADED_BY_MODELS):
                name = str(assertion.get("metric") or kind)
                found[name if name not in found else f"{name}#{number}"] = self._said(part)
        return found or {"test": self._said(grading)}

    def _said(self, part: Mapping[str, Any]) -> Said:
        if not isinstance(part.get("pass"), bool):
            return failed(part.get("reason") or "no pass in the grading")
        score = as_number(part.get("score"))
        if score is None or score in (0.0, 1.0) or not 0.0 < score < 1.0:
            return Said(BooleanVerdict(part["pass"]))
        return Said(
            BooleanVerdict(part["pass"]), None, 1.0 - abs(2.0 * score - 1.0), "score_margin"
        )


def _provider(provider: object) -> object:
    if isinstance(provider, Mapping):
        return provider.get("label") or provider.get("id")
    return provider
