"""Labels from a file of their own, joined by id and never by position."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from riskjudge.data.verdict import BooleanVerdict
from riskjudge.errors import InputError
from riskjudge.readers.choices import Field, pick
from riskjudge.readers.documents import Document
from riskjudge.readers.formats.alpaca_eval import AlpacaEval, pair_key, preference
from riskjudge.readers.formats.base import has
from riskjudge.readers.records import Record, as_bool, flat

_PREFERENCES = {"model_a": True, "model_b": False}


def labels_by_id(
    document: Document, records: Sequence[Record], asked: str | None
) -> tuple[dict[str, bool], str]:
    """The label of each record that the file knows, and what was taken from where.

    Parameters
    ----------
    document : Document
        The file of labels.
    records : sequence of Record
    asked : str or None
        Its label field, as ``name`` or ``name:right/wrong``.

    Raises
    ------
    InputError
        If the file shares no id with the records, or it is unclear which field is the label.
    """
    if AlpacaEval().recognises(document):
        votes = _votes((pair_key(row), _preferred(row)) for row in document.rows)
        return _by_key(records, votes), "preference, by instruction and outputs"
    if bool(document.rows) and has(document.first, "winner", "model_a", "model_b", "question_id"):
        return _by_key(records, _votes(_people(document))), "winner, by question, models and turn"
    rows = [flat(row) for row in document.rows]
    known = {name for record in records for name in (record.id, *record.key)}
    ids = [name for name in (rows[0] if rows else {}) if _shares(rows, name, known)]
    if not ids:
        raise InputError(
            f"{document.path}: no column shares an id with the items (they begin with "
            f"{', '.join(repr(record.id) for record in records[:3])})"
        )
    column = ids[0]
    names = [n for n in rows[0] if n != column and all(_speaks(row.get(n)) for row in rows)]
    field = Field.parse(asked) if asked else None
    if field is None:
        name = pick("label", None, names, "--label")
        if name is None:
            others = ", ".join(n for n in rows[0] if n != column)
            raise InputError(
                f"{document.path}: no column holds right or wrong for each item; name it and its "
                f"words: --label NAME:right/wrong (there are {others})"
            )
        field = Field.parse(name)
    votes = _votes(
        ((str(row.get(column)),), value)
        for row in rows
        if (value := field.read(row, str(row.get(column)))) is not None
    )
    found = {}
    for record in records:
        for name in (record.id, *record.key):
            if (name,) in votes:
                found[record.id] = votes[(name,)]
                break
    return found, f"{field.name}, by {column}"


def _shares(rows: Sequence[Mapping[str, Any]], name: str, known: set[str]) -> bool:
    mine = [str(row.get(name)) for row in rows]
    return sum(value in known for value in mine) > len(mine) / 2


def _speaks(value: object) -> bool:
    return value is None or value == "" or as_bool(value) is not None


def _votes(pairs: Any) -> dict[tuple[str, ...], bool]:
    """The majority of each item's labels; an even split labels nothing."""
    said: dict[tuple[str, ...], list[bool]] = defaultdict(list)
    for key, value in pairs:
        if value is not None:
            said[key].append(value)
    return {k: sum(v) * 2 > len(v) for k, v in said.items() if sum(v) * 2 != len(v)}


def _preferred(row: Mapping[str, Any]) -> bool | None:
    outcome = preference(row.get("preference")).outcome
    return outcome.value if isinstance(outcome, BooleanVerdict) else None


def _people(document: Document) -> Any:
    for row in document.rows:
        winner = _PREFERENCES.get(str(row["winner"]))
        question, turn = str(row["question_id"]), str(row.get("turn", 1))
        one, two = str(row["model_a"]), str(row["model_b"])
        yield (question, one, two, turn), winner
        yield (question, two, one, turn), None if winner is None else not winner


def _by_key(records: Sequence[Record], votes: Mapping[tuple[str, ...], bool]) -> dict[str, bool]:
    return {record.id: votes[record.key] for record in records if record.key in votes}
