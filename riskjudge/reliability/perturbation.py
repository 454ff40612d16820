"""What a stress test does to an item: one small change, and what a sound judge makes of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

import numpy as np

from riskjudge.data.perturbed import EXPECT, PERTURBATION, PERTURBED, SWAPPED
from riskjudge.data.verdict import Winner
from riskjudge.errors import InputError
from riskjudge.items.item import Item
from riskjudge.judges.protocol import Judge


class Expect(StrEnum):
    """What the verdict on a perturbed item has to be."""

    SAME = "same"
    """That on the item itself (an invariance)."""
    WRONG = "wrong"
    """The candidate is wrong by construction; of a pair, the one that was perturbed must lose."""


class Perturbation(Protocol):
    """The protocol: a name ``family.kind``, what is expected, and the change.

    A perturbation changes the item, or the judge (what it is shown beside the item), or neither: then
    the same is asked once more.
    """

    @property
    def name(self) -> str: ...

    @property
    def expect(self) -> Expect: ...

    def item(self, item: Item, rng: np.random.Generator, others: Sequence[Item]) -> Item | None:
        """The changed item; None where there is nothing to change."""

    def judge(self, judge: Judge) -> Judge | None:
        """Who is asked about it; None where this judge has nothing that the perturbation changes."""


class ItemPerturbation:
    """A perturbation that changes the item alone."""

    def judge(self, judge: Judge) -> Judge | None:
        """The judge itself."""
        return judge


Rewriting = Callable[[str, np.random.Generator], str]


@dataclass(frozen=True)
class Rewrite(ItemPerturbation):
    """Rewrites a response.

    Of a pair only one response is rewritten, drawn at random: a judge that leans towards or away
    from the rewriting shows it, where one that sees it twice would not.

    Parameters
    ----------
    name : str
        ``family.kind``.
    rewrite : callable
        From a text and a generator to a text; what comes back unchanged is not applicable.
    expect : Expect
        What the verdict must be.

    Examples
    --------
    >>> shout = Rewrite("format.upper", lambda text, rng: text.upper())
    >>> shout.item(Item("q1", "?", ("Chad",)), np.random.default_rng(0), ()).responses
    ('CHAD',)
    """

    name: str
    rewrite: Rewriting
    expect: Expect = Expect.SAME

    def item(self, item: Item, rng: np.random.Generator, others: Sequence[Item]) -> Item | None:
        """The item with one response rewritten."""
        place = int(rng.integers(len(item.responses)))
        return with_response(item, place, self.rewrite(item.responses[place], rng))


def with_response(item: Item, place: int, text: str) -> Item | None:
    """The item with another response in one place; None where it is the same or blank.

    Parameters
    ----------
    item : Item
        What is judged.
    place : int
        Which response.
    text : str
        What it is to be.

    Returns
    -------
    Item or None
    """
    if text == item.responses[place] or not text.strip():
        return None
    responses = tuple(text if i == place else old for i, old in enumerate(item.responses))
    return replace(item, responses=responses)


def loser(item: Item, rng: np.random.Generator) -> int:
    """The place of the response that should not win: the labelled loser, or one at random.

    Parameters
    ----------
    item : Item
        One response or two; of one, it is that.
    rng : numpy.random.Generator
        Draws where there is no label.

    Returns
    -------
    int
    """
    if len(item.responses) == 1:
        return 0
    if isinstance(item.label, Winner):
        return 1 if item.label is Winner.A else 0
    return int(rng.integers(2))


def generator(seed: int, *names: str) -> np.random.Generator:
    """A generator that depends on the seed and the names alone, not on the order of items.

    Parameters
    ----------
    seed : int
        Of the whole run.
    *names : str
        What is drawn for.

    Returns
    -------
    numpy.random.Generator
    """
    digest = hashlib.blake2b(repr(names).encode("utf-8", "replace"), digest_size=8).digest()
    return np.random.default_rng([seed, int.from_bytes(digest)])


def perturbed(perturbation: Perturbation, items: Sequence[Item], seed: int = 0) -> list[Item]:
    """The items that a perturbation changes, each under an id of its own.

    They carry what was done to them (`perturbation`, `perturbed` (the id of the item), `expect` and,
    of a pair, `swapped`), so that a ledger of them can be read by itself.

    Parameters
    ----------
    perturbation : Perturbation
        What is done.
    items : sequence of Item
        To what; those without a body are left out.
    seed : int
        Of whatever it draws.

    Returns
    -------
    list of Item
        Shorter than `items` where it does not apply to all.

    Raises
    ------
    InputError
        If a perturbed item would have the id of another item.

    Examples
    --------
    >>> shout = Rewrite("format.upper", lambda text, rng: text.upper())
    >>> [item.id for item in perturbed(shout, [Item("q1", "?", ("Chad",)), Item("q2", "?", ("7",))])]
    ['q1~format.upper']
    """
    known, found = {item.id for item in items}, []
    for item in items:
        if not item.has_body:
            continue
        changed = perturbation.item(item, generator(seed, perturbation.name, item.id), items)
        if changed is None:
            continue
        name = f"{item.id}~{perturbation.name}"
        if name in known:
            raise InputError(f"there is an item {name!r}, which a perturbed item would be called")
        facts = {PERTURBATION: perturbation.name, PERTURBED: item.id}
        facts[EXPECT] = str(perturbation.expect)
        if changed.responses == item.responses[::-1] != item.responses:
            facts[SWAPPED] = "yes"
        found.append(
            replace(
                changed,
                id=name,
                group=item.group or item.id,
                extra={**item.extra, **facts},
            )
        )
    return found
