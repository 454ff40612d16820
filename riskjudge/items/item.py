"""What a judge is asked about, and the file it is read from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from riskjudge.data.verdict import AbstainReason, Winner
from riskjudge.errors import InputError
from riskjudge.io.jsonl import read_objects

Label = bool | Winner


def content_hash(*texts: str) -> str:
    """A hash of several texts in their order.

    Parameters
    ----------
    *texts : str
        What to hash.

    Returns
    -------
    str
        The first 16 digits of a SHA-256.

    Examples
    --------
    >>> content_hash("a", "b") == content_hash("ab"), content_hash("a") == content_hash("a")
    (False, True)
    """
    written = json.dumps(texts, ensure_ascii=True)
    return hashlib.sha256(written.encode()).hexdigest()[:16]


class ShapeError(InputError):
    """A judge was asked about an item of the wrong shape (one response, where it compares two).

    A configuration mistake and not a failure of the instrument, so it stops a run.
    """


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to judge.

    Parameters
    ----------
    id : str
        Names the item; rows, labels and traces are joined on it.
    prompt : str
        The question or instruction.
    responses : tuple[str, ...]
        One response to grade, or two to compare. A blank one is a missing body.
    label : Label, optional
        The gold verdict: a boolean for one response, the winner for two.
    subset : str, optional
        What a reading may be split by.
    group : str, optional
        Items of one group depend on one another (several answers to one question, say).
    references : tuple[str, ...]
        Gold answers, any of which is right: for admission functions, and for judges that are
        allowed to see them.
    ledger_abstain_reason : AbstainReason, optional
        Why an earlier judge declined this item: provenance, not an outcome of this run.
    extra : Mapping[str, Any]
        Whatever else is known of the item (a tier, a year): carried into a trace, shown to nobody.

    Examples
    --------
    >>> pair = Item("q1", "Capital of Chad?", ("N'Djamena", "Abuja"), label=Winner.A)
    >>> pair.swapped().responses, pair.swapped().label
    (('Abuja', "N'Djamena"), <Winner.B: 'b'>)
    >>> pair.alone(1).responses, pair.alone(1).label
    (('Abuja',), False)
    """

    id: str
    prompt: str
    responses: tuple[str, ...]
    label: Label | None = None
    subset: str | None = None
    group: str | None = None
    references: tuple[str, ...] = ()
    ledger_abstain_reason: AbstainReason | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id:
            raise InputError(f"an item id is a text that is not empty, got {self.id!r}")
        if len(self.responses) not in (1, 2):
            raise InputError(
                f"item {self.id!r}: one response to grade or two to compare, "
                f"got {len(self.responses)}"
            )
        wanted = Winner if len(self.responses) == 2 else bool
        if self.label is not None and not isinstance(self.label, wanted):
            right = "'a' or 'b'" if wanted is Winner else "true or false"
            raise InputError(
                f"item {self.id!r}: the label of {len(self.responses)} response(s) is {right}, "
                f"got {self.label!r}"
            )

    @property
    def reference(self) -> str | None:
        """The first gold answer, if there is one."""
        return self.references[0] if self.references else None

    @property
    def content(self) -> str:
        """A hash of all that a judge may be shown: the question, the responses, the references.

        The label, the subset and the rest are none of it: they may change without a new judgement.
        """
        return content_hash(self.prompt, *self.responses, "", *self.references)

    @property
    def has_body(self) -> bool:
        """Whether every response has something in it to judge."""
        return all(response.strip() for response in self.responses)

    def swapped(self) -> Item:
        """The same pair in the other order; the label follows its candidate."""
        self._require_pair()
        label = self.label.other if isinstance(self.label, Winner) else None
        return replace(self, responses=self.responses[::-1], label=label)

    def alone(self, position: int) -> Item:
        """One arm of the pair as an item to grade; it is right if it is the labelled winner."""
        self._require_pair()
        winner = (Winner.A, Winner.B)[position]
        label = None if self.label is None else self.label is winner
        return replace(self, responses=(self.responses[position],), label=label)

    def _require_pair(self) -> None:
        if len(self.responses) != 2:
            raise ShapeError(f"item {self.id!r} has one response; a comparison needs two")


def read_items(path: str | Path) -> list[Item]:
    """Read items from a JSONL file.

    A line holds `id`, `prompt` (or `question`), and `response` (or `candidate`: a text) or
    `responses` (two texts); a null response is a missing body. Optional: `label` (true/false, or
    "a"/"b" for a pair), `subset`, `group`, `reference` (a text) or `references` (a list of them),
    `ledger_abstain_reason`. Other fields that hold a text, a number or a boolean are carried along.

    Raises
    ------
    InputError
        Naming the line: broken JSON, a missing field, a label of the wrong kind, a repeated id.
    """
    items: dict[str, Item] = {}
    for number, record in read_objects(path):
        try:
            item = _item(record)
        except InputError as error:
            raise InputError(f"{path}, line {number}: {error}") from None
        if item.id in items:
            raise InputError(f"{path}, line {number}: duplicate id {item.id!r}")
        items[item.id] = item
    if not items:
        raise InputError(f"{path}: no item in the file")
    return list(items.values())


def _item(record: dict[str, Any]) -> Item:
    record = _spelled_out(record)
    if "responses" in record:
        responses = record["responses"]
        if not isinstance(responses, list):
            raise InputError("`responses` is a list of one or two texts")
    elif "response" in record:
        responses = [record["response"]]
    else:
        raise InputError("no `response` (or `candidate`) and no `responses`")
    texts = tuple("" if text is None else text for text in responses)
    if not all(isinstance(text, str) for text in texts):
        raise InputError("a response is a text or null")
    for name in ("id", "prompt", "subset", "group", "reference"):
        if not isinstance(record.get(name, ""), (str, type(None))):
            raise InputError(f"`{name}` is a text, got {record[name]!r}")
    return Item(
        id=record.get("id") or "",
        prompt=record.get("prompt") or "",
        responses=texts,
        label=_label(record.get("label"), len(texts)),
        subset=record.get("subset"),
        group=record.get("group"),
        references=_references(record),
        ledger_abstain_reason=abstain_reason(record.get("ledger_abstain_reason")),
        extra={
            name: value
            for name, value in record.items()
            if name not in _FIELDS and isinstance(value, (str, int, float, bool))
        },
    )


def _spelled_out(record: dict[str, Any]) -> dict[str, Any]:
    """The record with question-answering's own words for the fields replaced by the general ones."""
    for word, name in (("question", "prompt"), ("candidate", "response")):
        if word in record:
            if name in record:
                raise InputError(f"both `{word}` and `{name}`; they mean the same")
            record = {**record, name: record[word]}
    return record


def _references(record: dict[str, Any]) -> tuple[str, ...]:
    given = record.get("references")
    if given is None:
        one = record.get("reference")
        return () if one is None else (one,)
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        raise InputError(f"`references` is a list of texts, got {given!r}")
    return tuple(given)


_FIELDS = (
    *("id", "prompt", "question", "response", "responses", "candidate", "label", "subset"),
    *("group", "reference", "references", "ledger_abstain_reason"),
)


def _label(value: Any, responses: int) -> Label | None:
    if responses == 2 and value in ("a", "b"):
        return Winner(value)
    return value  # type: ignore[no-any-return]  # Item checks it and names the id


def abstain_reason(value: Any) -> AbstainReason | None:
    """Admit a stored text into the closed set of reasons, or say what the set is."""
    if value is None:
        return None
    try:
        return AbstainReason(value)
    except ValueError:
        known = ", ".join(AbstainReason)
        raise InputError(f"unknown abstain reason {value!r}; the reasons are {known}") from None
