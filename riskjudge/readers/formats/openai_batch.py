"""Output of the OpenAI Batch API: one line a request, joined by ``custom_id``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from riskjudge.data.verdict import BooleanVerdict, Failure, FailureKind
from riskjudge.errors import InputError
from riskjudge.llm.chat import ModelError, parse_reply
from riskjudge.prompts.decision import Undecidable, read_decision
from riskjudge.readers.documents import Document
from riskjudge.readers.formats.base import has
from riskjudge.readers.records import WORDS, Record, Said, failed
from riskjudge.uncertainty.entropy import NoConfidence, verdict_mass
from riskjudge.uncertainty.tokens import tokens_at

_PAIRS = (
    ("True", "False"),
    ("Yes", "No"),
    ("Correct", "Incorrect"),
    ("Pass", "Fail"),
    ("C", "I"),
    ("1", "0"),
)
_LINES = ("Verdict", "Grade", "Answer", "Judgement", "Judgment", "Decision", "Result")


class OpenAIBatch:
    """Reads the verdict from the reply, and its uncertainty from the log-probabilities.

    A reply is a label alone (True, Yes, Correct, Pass …) or has a line such as ``Verdict: True``.
    The uncertainty is the entropy of the model's belief at the verdict. Errors, refusals, content
    filters and truncated replies are failures.
    """

    name = "openai-batch"

    def recognises(self, document: Document) -> bool:
        return bool(document.rows) and has(document.first, "custom_id", "response")

    def records(self, document: Document, choices: Mapping[str, str]) -> Iterator[Record]:
        for row in document.rows:
            body = (row.get("response") or {}).get("body") or {}
            model = str(body.get("model", "model")) if isinstance(body, Mapping) else "model"
            yield Record(str(row["custom_id"]), {"reply": self._said(row)}, {"model": model})

    def _said(self, row: Mapping[str, Any]) -> Said:
        response, error = row.get("response"), row.get("error")
        if error or not isinstance(response, Mapping):
            kind = FailureKind.BUDGET if "expired" in str(error) else FailureKind.STATUS
            return failed(error or "no response", kind)
        if response.get("status_code", 200) != 200:
            return failed(f"HTTP {response.get('status_code')}", FailureKind.STATUS)
        try:
            reply = parse_reply(json.dumps(response.get("body")))
        except ModelError as problem:
            return Said(problem.failure)
        for labels in _PAIRS:
            for line in _LINES:
                try:
                    decision = read_decision(reply.text, line, labels)
                except Undecidable:
                    continue
                verdict = BooleanVerdict(WORDS[decision.label.casefold()])
                if reply.tokens is None:
                    return Said(verdict)
                spelled = tokens_at(reply.tokens, reply.text, decision.start, decision.end)
                mass = verdict_mass(spelled, decision.label, labels)
                if isinstance(mass, NoConfidence):
                    return Said(verdict)
                return Said(verdict, None, mass.entropy, "predictive_entropy")
        return Said(Failure(FailureKind.PARSE, f"no verdict in {reply.text[:80]!r}"))


def merge_errors(records: dict[str, Record], more: Document) -> None:
    """Add the requests of an errors file, each a failure.

    Raises
    ------
    InputError
        If a request is in both files.
    """
    reader = OpenAIBatch()
    for record in reader.records(more, {}):
        if record.id in records:
            raise InputError(f"{more.path}: the request {record.id!r} was answered already")
        records[record.id] = record
