"""Logs of inspect_ai: one JSON object, or a zip (``.eval``) of a header and a file a sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from riskjudge.data.verdict import Failure, FailureKind, Undecided
from riskjudge.errors import InputError
from riskjudge.readers.documents import Document
from riskjudge.readers.formats.base import has
from riskjudge.readers.records import Record, Said, as_number, failed, flat, said

_PARTIAL, _NO_ANSWER = "P", "N"


class InspectAI:
    """A scorer is a judge; C and I are its verdicts, P is undecided, N is a failure.

    The uncertainty is 1 − ``metadata.confidence`` of the score, where it is there. Epochs of one
    sample are one group.
    """

    name = "inspect"

    def recognises(self, document: Document) -> bool:
        whole = document.whole or {}
        return has(whole, "eval", "samples") or (has(whole, "eval", "version", "status"))

    def records(self, document: Document, choices: Mapping[str, str]) -> Iterator[Record]:
        log = document.whole or {}
        samples = log.get("samples") or []
        if not samples:
            raise InputError(
                f"{document.path}: the log holds no samples (a header only, or a run that stopped "
                "before the first sample was written)"
            )
        epochs = Counter(str(sample.get("id")) for sample in samples)
        for sample in samples:
            name = str(sample.get("id"))
            repeated = epochs[name] > 1
            yield Record(
                f"{name}@{sample.get('epoch', 1)}" if repeated else name,
                self._judges(sample),
                {
                    **flat({"metadata": sample.get("metadata") or {}}),
                    "target": sample.get("target"),
                    "input": sample.get("input"),
                    "epoch": sample.get("epoch", 1),
                },
                group=name if max(epochs.values()) > 1 else None,
                key=(name,),
            )

    def _judges(self, sample: Mapping[str, Any]) -> dict[str, Said]:
        scores = sample.get("scores")
        if scores is None and isinstance(sample.get("score"), Mapping):
            scores = {"score": sample["score"]}  # logs of version 1 have a single score
        error = sample.get("error")
        found = {}
        for name, score in (scores or {}).items():
            found[name] = failed(_message(error)) if error else self._said(score)
        if not found and error:
            found["*"] = failed(_message(error))
        elif not found:
            found["*"] = failed("the sample has no score", FailureKind.NO_VERDICT)
        return found

    def _said(self, score: Mapping[str, Any]) -> Said:
        value = score.get("value") if isinstance(score, Mapping) else score
        if value == _PARTIAL:
            return Said(Undecided())
        if value == _NO_ANSWER or value is None:
            return Said(Failure(FailureKind.NO_VERDICT, "the scorer found no answer"))
        metadata = (score.get("metadata") if isinstance(score, Mapping) else None) or {}
        confidence = as_number(metadata.get("confidence"))
        if confidence is None or not 0.0 <= confidence <= 1.0:
            return said(value)
        return said(value, 1.0 - confidence, "confidence")


def _message(error: object) -> object:
    return error.get("message", error) if isinstance(error, Mapping) else error
