"""Any other table: nothing is guessed, the columns are named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from riskjudge.readers.documents import Document
from riskjudge.readers.records import Record, Said, flat

_IDS = ("item_id", "id", "custom_id", "example_id", "question_id", "uid", "key", "name")


class Table:
    """Rows with columns of any name (dotted ones for nested JSON). ``--map`` says what they are."""

    name = "table"

    def recognises(self, document: Document) -> bool:
        return bool(document.rows)

    def records(self, document: Document, choices: Mapping[str, str]) -> Iterator[Record]:
        rows = [flat(row) for row in document.rows]
        column = choices.get("id") or next((c for c in _IDS if rows and c in rows[0]), None)
        for number, row in enumerate(rows):
            name = number if column is None else row.get(column)
            yield Record(str(name), {"*": Said()}, row, key=(str(name),))
