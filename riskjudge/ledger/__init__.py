"""Ledgers: what judges said, row by row, and what it adds up to.

JSONL is the truth on disk (:class:`LedgerWriter`, :func:`read_ledger`), Parquet the fast copy
(:func:`write_parquet`), and DuckDB queries it (:func:`connect`, :func:`read_segments`).
"""

from riskjudge.ledger.jsonl import Damage, Ledger, read_ledger, stream_ledger, write_ledger
from riskjudge.ledger.parquet import read_parquet, write_parquet
from riskjudge.ledger.reading import Reading, census_line, item_statuses, readings
from riskjudge.ledger.records import from_record, to_record
from riskjudge.ledger.rows import Row
from riskjudge.ledger.sql import connect, read_segments
from riskjudge.ledger.swap import PositionPreference, position_preference, resolve_orders
from riskjudge.ledger.trials import read_trials
from riskjudge.ledger.writer import LedgerWriter

__all__ = [
    "Damage",
    "Ledger",
    "LedgerWriter",
    "PositionPreference",
    "Reading",
    "Row",
    "census_line",
    "connect",
    "from_record",
    "item_statuses",
    "position_preference",
    "read_ledger",
    "read_parquet",
    "read_segments",
    "read_trials",
    "readings",
    "resolve_orders",
    "stream_ledger",
    "to_record",
    "write_ledger",
    "write_parquet",
]
