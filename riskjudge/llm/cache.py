"""Requests and replies on disk, so that nothing is asked twice."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from riskjudge.data.verdict import Failure
from riskjudge.errors import InputError, OperationalError
from riskjudge.io.files import Closing

_SCHEMA = """
CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, endpoint TEXT NOT NULL, request TEXT NOT NULL, reply TEXT NOT NULL,
    stored TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS failures (
    key TEXT NOT NULL, endpoint TEXT NOT NULL, request TEXT NOT NULL, reply TEXT,
    kind TEXT NOT NULL, message TEXT NOT NULL, stored TEXT NOT NULL);
"""


class ReplyCache(Closing):
    """A SQLite file of requests and replies, keyed by a hash of the whole request.

    Replies that could be read are in the table ``replies`` and are served again; whatever failed
    (no reply, or one that could not be read) is in ``failures``, for a look, and is never served.
    Headers are not stored, so no key is. Safe for several threads, and for a kill at any moment.

    Examples
    --------
    >>> with ReplyCache(":memory:") as cache:
    ...     cache.put("k", "https://example.org/v1", {"model": "m"}, '{"choices": []}')
    ...     cache.get("k"), cache.get("another")
    ('{"choices": []}', None)
    """

    def __init__(self, path: str | Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            # WAL survives the death of the process without a sync for each reply.
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute("PRAGMA busy_timeout=10000")
            self._db.executescript(_SCHEMA)
        except sqlite3.DatabaseError as error:
            if "not a database" in str(error):
                raise InputError(f"{path} is not a reply cache: {error}") from None
            raise OperationalError(f"{path}: the reply cache cannot be used: {error}") from None

    def get(self, key: str) -> str | None:
        """The stored reply, or None."""
        row = self._execute("SELECT reply FROM replies WHERE key = ?", (key,))
        return None if row is None else str(row[0])

    def put(self, key: str, endpoint: str, request: Mapping[str, Any], reply: str) -> None:
        """Keep a reply that was read."""
        self._execute(
            "INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?, ?)",
            (key, endpoint, _text(request), reply, _now()),
        )

    def put_failure(
        self,
        key: str,
        endpoint: str,
        request: Mapping[str, Any],
        reply: str | None,
        failure: Failure,
    ) -> None:
        """Keep the record of a failure."""
        self._execute(
            "INSERT INTO failures VALUES (?, ?, ?, ?, ?, ?, ?)",
            (key, endpoint, _text(request), reply, failure.kind.value, failure.message, _now()),
        )

    def _execute(self, statement: str, values: tuple[Any, ...]) -> Any:
        try:
            with self._lock:
                return self._db.execute(statement, values).fetchone()
        except sqlite3.Error as error:
            raise OperationalError(f"{self.path}: the reply cache failed: {error}") from None

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()


def _text(request: Mapping[str, Any]) -> str:
    return json.dumps(request, ensure_ascii=True, sort_keys=True)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
