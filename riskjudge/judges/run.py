"""Running judges over items, into rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from queue import SimpleQueue
from typing import Any

from riskjudge.errors import InputError
from riskjudge.items.item import Item
from riskjudge.judges.protocol import Judge, ask
from riskjudge.ledger.rows import Row
from riskjudge.ledger.writer import LedgerWriter


def judge_item(judge: Judge, item: Item, timed: bool = False) -> Row:
    """Ask a judge about an item, unless it has no body, and return the ledger row.

    Examples
    --------
    >>> from riskjudge.judges import first_slot
    >>> judge_item(first_slot(), Item("q1", "?", ("",))).status.value
    'skipped_no_body'
    """
    row = partial(
        Row,
        subject=item.id,
        judge=judge.name,
        mode=judge.mode,
        label=item.label,
        subset=item.subset,
        group=item.group,
        ledger_abstain_reason=item.ledger_abstain_reason,
    )
    if not item.has_body:
        return row(outcome=None, calls=0, disclosure={"content": item.content})
    started, clock = datetime.now(UTC), time.perf_counter()
    judgement = ask(judge, item)
    seconds = time.perf_counter() - clock
    return row(
        outcome=judgement.outcome,
        confidence=judgement.confidence,
        # The content tells a corrected item from the one that was judged.
        disclosure={**judgement.disclosure, "content": item.content, **_brought(item)},
        seed=judgement.seed,
        order=judgement.order,
        calls=judgement.calls,
        seconds=seconds if timed else None,
        started=started.isoformat(timespec="milliseconds") if timed else None,
    )


def _brought(item: Item) -> dict[str, Any]:
    """What the item carries along, so that a trace from the ledger has it, too."""
    return {"item": dict(item.extra)} if item.extra else {}


def judge_items(judges: Iterable[Judge], items: Iterable[Item]) -> Iterator[Row]:
    """Rows of every judge on every item, without a ledger behind them."""
    items = list(items)
    for judge in judges:
        for item in items:
            yield judge_item(judge, item)


def run_into_ledger(
    judges: Iterable[Judge],
    items: Iterable[Item],
    ledger: LedgerWriter,
    timed: bool = True,
    concurrency: int = 1,
    report: Callable[[int], None] = lambda done: None,
) -> int:
    """Ask every judge about every item that the ledger has no standing answer for.

    A run that was interrupted goes on where it stopped; failures are asked again, and so is an item
    whose question, responses or references changed under its id. Other answers are not.

    Parameters
    ----------
    judges, items : iterable of Judge, iterable of Item
        What to run on what.
    ledger : LedgerWriter
        Takes each row as soon as it is there; rows that come in together share one sync.
    timed : bool
        Whether rows carry timings. Without them, and one at a time, the same call leaves the
        same bytes.
    concurrency : int
        Judgements under way at once, in threads. Rows are stored in the order in which they finish.
    report : callable
        Told the number of rows appended so far.

    Returns
    -------
    int
        The number of rows appended.
    """
    items, judges = list(items), list(judges)
    jobs = unanswered(judges, items, ledger)
    if concurrency < 1:
        raise InputError(f"the concurrency is at least 1, got {concurrency!r}")
    appended = 0
    for rows in _in_turn(jobs, timed) if concurrency == 1 else _at_once(jobs, timed, concurrency):
        ledger.append(*rows)
        appended += len(rows)
        report(appended)
    return appended


def unanswered(
    judges: Iterable[Judge], items: Iterable[Item], ledger: LedgerWriter
) -> list[tuple[Judge, Item]]:
    """The questions that the ledger has no standing answer to.

    A failure is none, and neither is an answer about another content under the same id.

    Parameters
    ----------
    judges, items : iterable of Judge, iterable of Item
        Who is to be asked about what.
    ledger : LedgerWriter
        What was answered.

    Returns
    -------
    list of tuple
        Judge and item, by judge.
    """
    items, settled = list(items), ledger.done
    done = {row.id: row for row in ledger.rows if row.id in settled}
    asked = []
    for judge in judges:
        for item in items:
            row = done.get(f"{judge.name}/{judge.mode}/{item.id}")
            if row is None or is_stale(row, item):
                asked.append((judge, item))
    return asked


def is_stale(row: Row, item: Item) -> bool:
    """Whether a row answers another question than the item now asks.

    Parameters
    ----------
    row : Row
        What was answered under the item's id.
    item : Item
        As it is now. Its label may change: no judge is shown it.

    Returns
    -------
    bool
        False where the row does not say what it was asked.
    """
    return row.content is not None and row.content != item.content


def _in_turn(jobs: Sequence[tuple[Judge, Item]], timed: bool) -> Iterator[list[Row]]:
    for judge, item in jobs:
        yield [judge_item(judge, item, timed)]


def _at_once(
    jobs: Sequence[tuple[Judge, Item]], timed: bool, concurrency: int
) -> Iterator[list[Row]]:
    """Rows as they come in; where several have come in since the last look, together."""
    finished: SimpleQueue[Future[Row]] = SimpleQueue()
    pool = ThreadPoolExecutor(concurrency, thread_name_prefix="judge")
    left = len(jobs)
    try:
        for judge, item in jobs:
            pool.submit(judge_item, judge, item, timed).add_done_callback(finished.put)
        while left:
            futures = [finished.get()]
            while not finished.empty():
                futures.append(finished.get())
            left -= len(futures)
            yield [future.result() for future in futures]
    finally:
        # Stopped early: what has not begun is dropped, what is under way is waited for.
        pool.shutdown(wait=True, cancel_futures=True)
