"""Outputs of JudgeBench: pairs judged in both orders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from riskjudge.data.verdict import (
    AbstainReason,
    Abstention,
    BooleanVerdict,
    FailureKind,
    Undecided,
)
from riskjudge.errors import InputError
from riskjudge.readers.documents import Document
from riskjudge.readers.formats.base import has
from riskjudge.readers.records import Record, Said, failed

_FLIPPED = {"A>B": "B>A", "B>A": "A>B", "A=B": "A=B"}


class JudgeBench:
    """The verdict is "response A is better", the label what the benchmark says.

    The second judgement saw the responses swapped, so its decision is turned round. Two that name
    the same *position* contradict each other: ``swap_inconsistent``.
    """

    name = "judgebench"

    def recognises(self, document: Document) -> bool:
        return bool(document.rows) and has(document.first, "pair_id", "judgments")

    def records(self, document: Document, choices: Mapping[str, str]) -> Iterator[Record]:
        for row in document.rows:
            label = row.get("label")
            if label not in ("A>B", "B>A"):
                raise InputError(
                    f"{document.path}: pair {row['pair_id']!r} has the label {label!r}, which is "
                    "not A>B or B>A"
                )
            name = str(row.get("judge_name") or "judge")
            yield Record(
                str(row["pair_id"]),
                {name: self._said(row.get("judgments") or [])},
                {"source": row.get("source"), "response_model": row.get("response_model")},
                label == "A>B",
            )

    def _said(self, judgments: list[Any]) -> Said:
        decisions = [str((j or {}).get("decision")) for j in judgments]
        if not decisions or any(decision not in _FLIPPED for decision in decisions):
            said = ", ".join(decisions) or "nothing"
            return failed(f"a decision is missing: {said}", FailureKind.PARSE)
        first = decisions[0]
        if len(decisions) > 1:
            second = _FLIPPED[decisions[1]]
            if {first, second} == {"A>B", "B>A"}:
                return Said(Abstention(AbstainReason.SWAP_INCONSISTENT))
            first = second if first == "A=B" else first
        if first == "A=B":
            return Said(Undecided())
        return Said(BooleanVerdict(first == "A>B"))
