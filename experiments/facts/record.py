"""A fact, and the file of facts that questions are made from."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from riskjudge.io.files import replacing

FOLDER = Path(__file__).parents[2] / "data" / "facts"


@dataclass(frozen=True)
class Fact:
    """What is true of a subject, what is nearly true, and how well known the subject is.

    `distractors` are wrong answers from near by, the nearest first. `popularity` is a raw number
    whose meaning depends on the relation. `about` holds values for the sentences of a passage
    that do not give the answer away.
    """

    relation: str
    subject: str
    answer: str
    distractors: list[str]
    popularity: float
    aliases: list[str] = field(default_factory=list)
    about: dict[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.relation}/{slug(self.subject)}"


def slug(text: str) -> str:
    """Lower-case ASCII with hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", fold(text)).strip("-")


def fold(text: str) -> str:
    """Lower case, without accents; letters that do not decompose are spelled out."""
    spelled = text.casefold().translate(str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ı": "i"}))
    decomposed = unicodedata.normalize("NFKD", spelled)
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def normal(text: str) -> str:
    """The usual normalisation of question answering: case, accents, punctuation, articles."""
    words = re.sub(r"[^\w\s]", "", fold(text)).split()
    return " ".join(word for word in words if word not in ("a", "an", "the"))


def write_jsonl(path: Path, records: Iterable[dict[str, object]]) -> None:
    """One object a line, UTF-8, in the given order."""
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")


def read_facts(path: Path = FOLDER / "facts.jsonl") -> list[Fact]:
    with open(path, encoding="utf-8") as lines:
        return [Fact(**json.loads(line)) for line in lines]


def write_facts(facts: Iterable[Fact], path: Path = FOLDER / "facts.jsonl") -> None:
    write_jsonl(path, (asdict(fact) for fact in facts))
