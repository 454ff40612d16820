"""Judgements of MT-Bench: single answers with a score, and pairs in both orders."""

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
from riskjudge.readers.documents import Document
from riskjudge.readers.formats.base import has
from riskjudge.readers.records import Record, Said, as_number, failed


class MTBenchSingle:
    """A score from 1 to 10 needs a cut; −1 is how the tool writes a reply that it could not read."""

    name = "mt-bench-single"

    def recognises(self, document: Document) -> bool:
        return bool(document.rows) and has(document.first, "question_id", "model", "score", "turn")

    def records(self, document: Document, choices: Mapping[str, str]) -> Iterator[Record]:
        for row in document.rows:
            place = (str(row["question_id"]), str(row["model"]), str(row["turn"]))
            score = as_number(row.get("score"))
            broken = score is None or score < 0
            verdict = failed("no rating in the reply", FailureKind.PARSE) if broken else None
            yield Record(
                "/".join(place),
                {_judge(row): verdict or Said(score=score)},
                {"model": row["model"], "turn": row["turn"]},
                group=place[0],
                key=place,
            )


class MTBenchPairs:
    """The verdict is "model_1 is better". The two games must agree; one tie and one win is a win
    for nobody. People's votes (``winner``, ``model_a``, ``model_b``) serve as labels."""

    name = "mt-bench-pairs"

    def recognises(self, document: Document) -> bool:
        return bool(document.rows) and has(document.first, "question_id", "g1_winner", "g2_winner")

    def records(self, document: Document, choices: Mapping[str, str]) -> Iterator[Record]:
        for row in document.rows:
            one, two = str(row["model_1"]), str(row["model_2"])
            place = (str(row["question_id"]), one, two, str(row.get("turn", 1)))
            yield Record(
                "/".join(place),
                {_judge(row): self._said(row["g1_winner"], row["g2_winner"])},
                {"model_1": one, "model_2": two, "turn": row.get("turn", 1)},
                group=place[0],
                key=place,
            )

    def _said(self, first: object, second: object) -> Said:
        games = {str(first), str(second)}
        if not games <= {"model_1", "model_2", "tie"}:
            return failed(f"a game has no winner: {first}, {second}", FailureKind.PARSE)
        if games == {"model_1", "model_2"}:
            return Said(Abstention(AbstainReason.SWAP_INCONSISTENT))
        if "tie" in games:
            return Said(Undecided())
        return Said(BooleanVerdict(games == {"model_1"}))


def _judge(row: Mapping[str, Any]) -> str:
    judge = row.get("judge")
    if isinstance(judge, list) and judge:
        return str(judge[0])
    return str(judge or "judge")
