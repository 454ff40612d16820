"""Experiments exported from Braintrust: one object a span, with its scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from riskjudge.data.verdict import FailureKind
from riskjudge.readers.documents import Document
from riskjudge.readers.formats.base import has
from riskjudge.readers.records import Record, Said, failed, flat, said


class Braintrust:
    """Each score is a judge (or, where people gave it, a label). Only root spans are items."""

    name = "braintrust"

    def recognises(self, document: Document) -> bool:
        rows = document.rows or (document.whole or {}).get("events") or []
        return bool(rows) and (
            (has(rows[0], "scores", "input") and isinstance(rows[0]["scores"], Mapping | None))
            or any(name.startswith("scores.") for name in rows[0])
        )

    def records(self, document: Document, choices: Mapping[str, str]) -> Iterator[Record]:
        rows = document.rows or (document.whole or {}).get("events") or []
        roots = [row for row in rows if self._is_root(row)]
        keys = dict.fromkeys(key for row in roots for key in self._scores(row))
        for number, row in enumerate(roots):
            scores, error = self._scores(row), row.get("error")
            judges: dict[str, Said] = {}
            for key in keys:
                if error:
                    judges[key] = failed(error)
                elif scores.get(key) is None:
                    judges[key] = failed("the span has no such score", FailureKind.NO_VERDICT)
                else:
                    judges[key] = said(scores[key])
            fields = {k: v for k, v in flat(row).items() if not k.startswith(("scores", "metrics"))}
            fields |= {f"scores.{key}": value for key, value in scores.items()}
            yield Record(str(row.get("id", number)), judges or {"*": failed("no score")}, fields)

    def _is_root(self, row: Mapping[str, Any]) -> bool:
        if isinstance(row.get("is_root"), bool):
            return bool(row["is_root"])
        root = row.get("root_span_id")
        return root is None or root == row.get("span_id")

    def _scores(self, row: Mapping[str, Any]) -> dict[str, Any]:
        if isinstance(row.get("scores"), Mapping):
            return dict(row["scores"])
        return {k.removeprefix("scores."): v for k, v in row.items() if k.startswith("scores.")}
