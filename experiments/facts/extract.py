"""Make data/facts/facts.jsonl from packages on PyPI (requirements.txt).

pip install -r experiments/facts/requirements.txt
python experiments/facts/extract.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from record import Fact, write_facts
from relations import RELATIONS


def extract(relation: str) -> list[Fact]:
    """The facts of one relation that are taken, the best known first."""
    find, most = RELATIONS[relation]
    facts = list(find())
    # Two subjects that read the same would be one question with two answers.
    times = Counter(fact.id for fact in facts)
    usable = [fact for fact in facts if times[fact.id] == 1 and fact.distractors]
    usable.sort(key=lambda fact: (-fact.popularity, fact.id))
    return spread(usable, most)


def spread(facts: list[Fact], most: int) -> list[Fact]:
    """A third each, evenly, from the best known 5 %, the next 25 % and the rest.

    Taken evenly from all, nine in ten would be places that nobody has heard of.
    """
    if len(facts) <= most:
        return facts
    share = most // 3
    famous = max(len(facts) // 20, share)
    known = max(famous + len(facts) // 4, famous + share)
    parts = (facts[:famous], facts[famous:known], facts[known:])
    return [fact for part in parts for fact in _evenly(part, share)]


def _evenly(facts: list[Fact], count: int) -> Iterable[Fact]:
    count = min(count, len(facts))
    return (facts[i * len(facts) // count] for i in range(count))


def main() -> None:
    facts = [fact for relation in RELATIONS for fact in extract(relation)]
    write_facts(facts)
    counts = Counter(fact.relation for fact in facts)
    print(f"{len(facts)} facts:", ", ".join(f"{name} {n}" for name, n in counts.items()))


if __name__ == "__main__":
    main()
