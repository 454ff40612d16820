"""The fast copy: the same columns as the JSONL ledger, in Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riskjudge.errors import InputError, OperationalError
from riskjudge.io.files import replacing
from riskjudge.io.jsonl import parse_json
from riskjudge.ledger.records import COLUMNS, from_record, to_record
from riskjudge.ledger.rows import Row

if TYPE_CHECKING:
    import pyarrow

_BATCH = 50_000


def arrow_schema() -> pyarrow.Schema:
    """The ledger's columns as an Arrow schema; a disclosure is kept as JSON text."""
    import pyarrow as pa

    types = {
        str: pa.string(),
        bool: pa.bool_(),
        float: pa.float64(),
        int: pa.int64(),
        dict: pa.string(),
    }
    return pa.schema([(name, types[kind]) for name, kind in COLUMNS.items()])


def write_parquet(path: str | Path, rows: Iterable[Row]) -> None:
    """Write rows to a Parquet file, in one step: it appears complete or not at all.

    Raises
    ------
    InputError
        If an id occurs twice; nothing is written then.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, seen, remaining = arrow_schema(), set[str](), iter(rows)
    with replacing(path) as temporary, pq.ParquetWriter(temporary, schema) as writer:
        while batch := list(islice(remaining, _BATCH)):
            for row in batch:
                if row.id in seen:
                    raise InputError(f"duplicate id {row.id!r}")
                seen.add(row.id)
            writer.write_table(pa.Table.from_pylist([_flat(row) for row in batch], schema=schema))


def _flat(row: Row) -> dict[str, Any]:
    record = to_record(row)
    if "disclosure" in record:
        record["disclosure"] = json.dumps(record["disclosure"], allow_nan=False)
    return record


def read_parquet(path: str | Path) -> Iterator[Row]:
    """Read the rows of a Parquet ledger, a batch at a time.

    Raises
    ------
    InputError
        If the file is not a Parquet ledger, or holds a row that is turned away or an id twice.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    seen: set[str] = set()
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(_BATCH):
                for record in batch.to_pylist():
                    row = from_record(_unflat(record))
                    if row.id in seen:
                        raise InputError(f"{path}: duplicate id {row.id!r}")
                    seen.add(row.id)
                    yield row
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (pa.ArrowException, OSError) as error:
        said = " ".join(str(error).split())
        if isinstance(error, OSError) and error.errno:
            raise OperationalError(f"{path} cannot be read: {error.strerror}") from None
        raise InputError(f"{path} is not a Parquet file ({said})") from None


def _unflat(record: dict[str, Any]) -> dict[str, Any]:
    text = record.get("disclosure")
    if isinstance(text, str):
        try:
            record["disclosure"] = parse_json(text)
        except InputError as error:
            raise InputError(f"row {record.get('id')!r}: `disclosure`: {error}") from None
    return record
