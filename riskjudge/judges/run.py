"""Running judges over items, into rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from queue import SimpleQueue

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
        return row(outcome=None, calls=0)
    started, clock = datetime.now(UTC), time.perf_counter()
    judgement = ask(judge, item)
    seconds = time.perf_counter() - clock
    return row(
        outcome=judgement.outcome,
        confidence=judgement.confidence,
        disclosure=judgement.disclosure,
        seed=judgement.seed,
        order=judgement.order,
        calls=judgement.calls,
        seconds=seconds if timed else None,
        started=started.isoformat(timespec="milliseconds") if timed else None,
    )


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

    A run that was interrupted goes on where it stopped; failures are asked again, answers are not.

    Parameters
    ----------
    judges, items
        What to run on what.
    ledger
        Takes each row as soon as it is there; rows that come in together share one sync.
    timed
        Whether rows carry timings. Without them, and one at a time, the same call leaves the
        same bytes.
    concurrency
        Judgements under way at once, in threads. Rows are stored in the order in which they finish.
    report
        Told the number of rows appended so far.

    Returns
    -------
    int
        The number of rows appended.
    """
    items, done = list(items), ledger.done
    jobs = [
        (judge, item)
        for judge in judges
        for item in items
        if f"{judge.name}/{judge.mode}/{item.id}" not in done
    ]
    if concurrency < 1:
        raise InputError(f"the concurrency is at least 1, got {concurrency!r}")
    appended = 0
    for rows in _in_turn(jobs, timed) if concurrency == 1 else _at_once(jobs, timed, concurrency):
        ledger.append(*rows)
        appended += len(rows)
        report(appended)
    return appended


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
