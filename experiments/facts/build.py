"""Make data/facts/items.jsonl and passages.jsonl from facts.jsonl. Same facts, same bytes.

    python experiments/facts/build.py

Everything about an item is drawn from a generator seeded with its id, so a part of the facts
gives the same items as the whole.
"""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from record import FOLDER, Fact, read_facts, write_jsonl
from wording import WORDING, fill, known_contexts, written_otherwise

SEED = 20_261_130
RIGHT = 0.5
"""Share of items whose candidate is right."""
OTHERWISE = 0.25
"""Share of candidates, right or wrong, in another way of writing, where the relation has one."""
EVIDENCE = {"supported": 0.70, "missing": 0.15, "misleading": 0.10, "conflicting": 0.05}
"""What the passages say about an item, and how often."""

T = TypeVar("T")


@dataclass(frozen=True)
class Draw:
    """An item with the passages that were written for it."""

    item: dict[str, Any]
    passages: list[dict[str, str]]


def draw(fact: Fact, popularity: float) -> Draw:
    """Question, candidate and evidence of one fact."""
    chance = random.Random(f"{SEED}:{fact.id}")
    wording = WORDING[fact.relation]
    right = chance.random() < RIGHT
    near_miss = _pick(chance, fact.distractors)
    candidate = fact.answer if right else near_miss
    if chance.random() < OTHERWISE:
        candidate = written_otherwise(fact.relation, candidate)
    evidence = _weighted(chance, EVIDENCE)
    item = {
        "id": fact.id,
        "question": fill(_pick(chance, wording.questions), fact),
        "candidate": candidate,
        "references": [fact.answer, *fact.aliases],
        "label": right,
        "subset": fact.relation,
        "popularity": popularity,
        "tier": "famous" if popularity > 2 / 3 else "known" if popularity > 1 / 3 else "obscure",
        "evidence": evidence,
    }
    # A passage that misleads does so about the candidate: it backs a wrong one, or denies a right one.
    said = {
        "supported": [fact.answer],
        "missing": [""],
        "misleading": [near_miss],
        "conflicting": [fact.answer, near_miss],
    }[evidence]
    passages = [_passage(chance, fact, claim, number) for number, claim in enumerate(said)]
    return Draw(item, passages)


def _passage(chance: random.Random, fact: Fact, claim: str, number: int) -> dict[str, str]:
    """A passage that claims an answer, or none, among what else is known of the subject."""
    wording = WORDING[fact.relation]
    sentences = [_pick(chance, known_contexts(fact))]
    if claim:
        statement = fill(_pick(chance, wording.statements), fact, claim)
        sentences.insert(int(chance.random() * 2), statement)
    # The address says nothing of what the passage was made for.
    name = hashlib.sha256(f"{SEED}:{fact.id}:{number}".encode()).hexdigest()[:10]
    return {
        "url": f"https://facts.example.org/{name}",
        "title": fill(wording.title, fact),
        "text": " ".join(sentences),
    }


def _pick(chance: random.Random, options: Sequence[T]) -> T:
    return options[int(chance.random() * len(options))]


def _weighted(chance: random.Random, shares: dict[str, float]) -> str:
    point, passed = chance.random(), 0.0
    for name, share in shares.items():
        passed += share
        if point < passed:
            return name
    return name


def popularity_ranks(facts: Iterable[Fact]) -> dict[str, float]:
    """Rank within the relation, from 1 (best known) to 0; equals share their mean rank."""
    by_relation: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        by_relation[fact.relation].append(fact)
    ranks = {}
    for group in by_relation.values():
        values = sorted(fact.popularity for fact in group)
        last = max(len(group) - 1, 1)
        places: dict[float, list[int]] = defaultdict(list)
        for place, value in enumerate(values):
            places[value].append(place)
        for fact in group:
            tied = places[fact.popularity]
            ranks[fact.id] = round(sum(tied) / len(tied) / last, 3)
    return ranks


def build(facts: Sequence[Fact]) -> list[Draw]:
    """Every fact's item, in an order that makes any first part a fair sample."""
    ranks = popularity_ranks(facts)
    shuffled = sorted(facts, key=lambda fact: hashlib.sha256(fact.id.encode()).digest())
    return [draw(fact, ranks[fact.id]) for fact in shuffled]


def main(folder: Path = FOLDER) -> None:
    draws = build(read_facts())
    write_jsonl(folder / "items.jsonl", (made.item for made in draws))
    passages = [passage for made in draws for passage in made.passages]
    write_jsonl(folder / "passages.jsonl", sorted(passages, key=lambda passage: passage["url"]))
    print(f"{len(draws)} items, {len(passages)} passages in {folder}")


if __name__ == "__main__":
    main()
