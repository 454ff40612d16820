"""Running judges over items, into rows."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import partial

from riskjudge.judges.protocol import Judge, ask
from riskjudge.ledger.items import Item
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
    judges: Iterable[Judge], items: Iterable[Item], ledger: LedgerWriter, timed: bool = True
) -> int:
    """Ask every judge about every item that the ledger has no standing answer for.

    A run that was interrupted goes on where it stopped; failures are asked again, answers are not.

    Parameters
    ----------
    judges, items
        What to run on what.
    ledger
        Takes each row as soon as it is there.
    timed
        Whether rows carry timings. Without them the same call leaves the same bytes.

    Returns
    -------
    int
        The number of rows appended.
    """
    items, done, appended = list(items), ledger.done, 0
    for judge in judges:
        for item in items:
            if f"{judge.name}/{judge.mode}/{item.id}" in done:
                continue
            ledger.append(judge_item(judge, item, timed))
            appended += 1
    return appended
