"""Sample files of lm-evaluation-harness (``--log_samples``)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from riskjudge.data.verdict import BooleanVerdict, FailureKind
from riskjudge.errors import InputError
from riskjudge.readers.documents import Document
from riskjudge.readers.formats.base import has
from riskjudge.readers.records import Record, Said, as_bool, as_number, failed, flat, said


class LMEval:
    """The model that was run is the judge.

    With two choices its verdict is the likelier one and the label is the target; with more, the
    verdict is "this choice is right" and the label whether it was (``acc``). The uncertainty is the
    entropy over the choices. A generated answer is a verdict where it says yes or no.
    """

    name = "lm-eval"

    def recognises(self, document: Document) -> bool:
        return bool(document.rows) and has(document.first, "doc_id", "doc", "resps")

    def records(self, document: Document, choices: Mapping[str, str]) -> Iterator[Record]:
        filters = sorted({str(row.get("filter", "none")) for row in document.rows})
        wanted = choices.get("filter")
        if wanted is None and len(filters) > 1:
            raise InputError(
                f"{document.path}: each item stands once for each filter ({', '.join(filters)}); "
                f"choose one: --choose filter={filters[0]}"
            )
        if wanted is not None and wanted not in filters:
            raise InputError(
                f"{document.path}: no filter {wanted!r}; there are {', '.join(filters)}"
            )
        rows = [r for r in document.rows if wanted in (None, str(r.get("filter", "none")))]
        times = Counter(str(row["doc_id"]) for row in rows)
        for row in rows:
            name = str(row["doc_id"])
            if times[name] > 1:
                raise InputError(f"{document.path}: the document {name} occurs {times[name]} times")
            verdict, label = self._read(row)
            doc = row.get("doc")
            fields = flat({"doc": doc}) if isinstance(doc, Mapping) else {}
            yield Record(name, {"model": verdict}, fields, label)

    def _read(self, row: Mapping[str, Any]) -> tuple[Said, bool | None]:
        answers = row.get("filtered_resps") or []
        likelihoods = [as_number(a[0]) for a in answers if isinstance(a, Sequence) and len(a) == 2]
        if len(likelihoods) < 2 or isinstance(answers[0], str):
            reply = answers[0] if answers else None
            reply = reply[0] if isinstance(reply, list) and reply else reply
            return said(reply), as_bool(row.get("target"))
        if any(value is None for value in likelihoods):
            return failed("a log-likelihood is missing", FailureKind.NO_CONFIDENCE), None
        values = [value for value in likelihoods if value is not None]
        best = max(range(len(values)), key=values.__getitem__)
        entropy = _entropy(values)
        if len(values) == 2:
            target = as_number(row.get("target"))
            label = bool(target) if target in (0.0, 1.0) else as_bool(row.get("target"))
            return Said(BooleanVerdict(best == 1), None, entropy, "predictive_entropy"), label
        return (
            Said(BooleanVerdict(True), None, entropy, "predictive_entropy"),
            as_bool(row.get("acc")),
        )


def _entropy(logs: Sequence[float]) -> float:
    """Entropy in nats of the softmax of some log-likelihoods."""
    top = max(logs)
    weights = [math.exp(value - top) for value in logs]
    total = sum(weights)
    return -sum(w / total * math.log(w / total) for w in weights if w > 0.0)
