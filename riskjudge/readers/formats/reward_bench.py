"""Scores of RewardBench: a chosen and a rejected answer each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from riskjudge.data.verdict import BooleanVerdict, FailureKind, Undecided
from riskjudge.errors import InputError
from riskjudge.readers.documents import Document
from riskjudge.readers.formats.base import has
from riskjudge.readers.records import Record, Said, as_number, failed


class RewardBench:
    """The verdict is "the answer that I score higher is better", the label whether that is the
    chosen one. The uncertainty is the probability that the other one is better (Bradley–Terry)."""

    name = "rewardbench"

    def recognises(self, document: Document) -> bool:
        whole = document.whole or {}
        if has(whole, "results", "subset") and isinstance(whole["results"], list):
            return True
        return bool(document.rows) and (
            has(document.first, "results", "subset")
            or has(document.first, "scores_chosen", "scores_rejected")
        )

    def records(self, document: Document, choices: Mapping[str, str]) -> Iterator[Record]:
        for number, row in enumerate(self._rows(document)):
            right, verdict = self._said(row)
            yield Record(
                str(row.get("id", number)),
                {str(row.get("model") or "reward_model"): verdict},
                {"subset": row.get("subset")},
                right,
            )

    def _rows(self, document: Document) -> Sequence[Mapping[str, Any]]:
        whole = document.whole or {}
        if not isinstance(whole.get("results"), list):
            return document.rows
        columns = {k: v for k, v in whole.items() if isinstance(v, list)}
        lengths = {k: len(v) for k, v in columns.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(f"{document.path}: the columns have different lengths: {lengths}")
        single = {k: v for k, v in whole.items() if not isinstance(v, list)}
        names = list(columns)
        return [
            {**single, **dict(zip(names, values, strict=True))}
            for values in zip(*columns.values(), strict=True)
        ]

    def _said(self, row: Mapping[str, Any]) -> tuple[bool | None, Said]:
        chosen, rejected = _score(row.get("scores_chosen")), _score(row.get("scores_rejected"))
        result = as_number(row.get("results"))
        if chosen is not None and rejected is not None:
            if chosen == rejected:
                return None, Said(Undecided())
            unsure = 1.0 / (1.0 + math.exp(min(abs(chosen - rejected), 700.0)))
            return chosen > rejected, Said(BooleanVerdict(True), None, unsure, "score_difference")
        if result == 0.5:
            return None, Said(Undecided())
        if result not in (0.0, 1.0):
            return None, failed(f"the result is {row.get('results')!r}", FailureKind.NO_VERDICT)
        return result == 1.0, Said(BooleanVerdict(True))


def _score(value: object) -> float | None:
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    return as_number(value)
