"""Experiments of LangSmith: runs as JSON, or the table that the site and the SDK export."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from riskjudge.data.verdict import FailureKind
from riskjudge.readers.documents import Document
from riskjudge.readers.records import Record, Said, failed, flat, said


class LangSmith:
    """Each feedback key is a judge (or, where people gave it, a label). A run that broke is a
    failure of every judge."""

    name = "langsmith"

    def recognises(self, document: Document) -> bool:
        first = document.first
        if any(name.startswith("feedback.") for name in first):
            return True
        return "feedback_stats" in first or ("feedback" in first and "inputs" in first)

    def records(self, document: Document, choices: Mapping[str, str]) -> Iterator[Record]:
        feedback = [self._feedback(row) for row in document.rows]
        keys = dict.fromkeys(key for given in feedback for key in given)
        for number, (row, given) in enumerate(zip(document.rows, feedback, strict=True)):
            error = row.get("error")
            judges: dict[str, Said] = {}
            for key in keys:
                if error:
                    judges[key] = failed(error)
                elif key in given and given[key] is not None:
                    judges[key] = said(given[key])
                else:
                    judges[key] = failed("no feedback", FailureKind.NO_VERDICT)
            example = row.get("example_id") or row.get("reference_example_id")
            name = str(row.get("id") or row.get("run_id") or example or number)
            fields = {k: v for k, v in flat(row).items() if not k.startswith("feedback")}
            fields |= {f"feedback.{key}": value for key, value in given.items()}
            yield Record(name, judges or {"*": failed("no feedback")}, fields, key=(str(example),))

    def _feedback(self, row: Mapping[str, Any]) -> dict[str, Any]:
        found = {
            n.removeprefix("feedback."): v for n, v in row.items() if n.startswith("feedback.")
        }
        stats = row.get("feedback_stats")
        if isinstance(stats, Mapping):
            found |= {key: (entry or {}).get("avg") for key, entry in stats.items()}
        given = row.get("feedback")
        if isinstance(given, Mapping):
            found |= given
        elif isinstance(given, list):
            for entry in given:
                value = entry.get("score")
                found[str(entry.get("key"))] = entry.get("value") if value is None else value
        return found
