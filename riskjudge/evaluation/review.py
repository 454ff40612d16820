"""The items that a gate left to people, in the order in which to look at them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from riskjudge._typing import FloatArray
from riskjudge.data.modes import ABSENCES
from riskjudge.data.reasons import IN_WORDS
from riskjudge.data.trace import shown
from riskjudge.display.table import Table
from riskjudge.errors import InputError
from riskjudge.gate.outcomes import Outcomes

if TYPE_CHECKING:
    import pandas as pd

ORDERS = ("least-sure", "nearest")


def review_queue(
    outcomes: Outcomes, order: str = "least-sure", thresholds: FloatArray | None = None
) -> pd.DataFrame:
    """Everything that was not accepted: abstentions, undecided items and failures.

    Parameters
    ----------
    outcomes : Outcomes
        With what each mode said, as `decide` writes them.
    order : {"least-sure", "nearest"}
        The largest uncertainty first; or first what missed its threshold by least, where a look is
        most likely to confirm the verdict. Items without an uncertainty come last in either.
    thresholds : ndarray of float, shape (n,), optional
        What the uncertainty of each item's last mode had to stay under, NaN where nothing would
        have done; `nearest` needs it.

    Returns
    -------
    DataFrame
        One row an item: ``item_id``, ``why`` in words, ``reason`` by name, the last mode asked that
        gave a verdict with this ``verdict`` and ``uncertainty``, the ``threshold`` where it is known,
        the ``label`` if any item has one, and everything that the outcomes carry along.

    Raises
    ------
    InputError
        For an order there is none of, or outcomes that do not hold what it needs.

    Examples
    --------
    >>> import riskjudge
    >>> trace = riskjudge.demo_trace()
    >>> outcomes = riskjudge.Router(0.15).fit(trace).decide(trace)
    >>> queue = review_queue(outcomes)
    >>> queue["why"].iloc[0], bool(queue["uncertainty"].is_monotonic_decreasing)
    ('too unsure to accept', True)
    """
    import pandas as pd

    if order not in ORDERS:
        raise InputError(f"the order is one of {', '.join(ORDERS)}, got {order!r}")
    seen = outcomes.readings
    if seen is None:
        raise InputError(
            "these outcomes do not hold what each mode said (an older riskjudge wrote them); decide the "
            "items again"
        )
    if order == "nearest" and thresholds is None:
        raise InputError("nearest to what? this order needs the gate that decided")
    rows = np.flatnonzero(outcomes.why_not >= 0)
    unsure = seen.uncertainty[rows]
    first = -unsure if order == "least-sure" or thresholds is None else unsure - thresholds[rows]
    place = np.argsort(first, kind="stable")  # NaN comes last
    rows = rows[place]
    reasons = [ABSENCES[code] for code in outcomes.why_not[rows]]
    names = np.array([*outcomes.modes, None], dtype=object)
    data = {
        "item_id": outcomes.item_id[rows],
        "why": [IN_WORDS[reason] for reason in reasons],
        "reason": reasons,
        "mode": names[seen.last[rows]],
        "verdict": shown(seen.verdict[rows], outcomes.grading),
        "uncertainty": seen.uncertainty[rows],
    }
    if thresholds is not None:
        data["threshold"] = thresholds[rows]
    if (outcomes.labels[rows] >= 0).any():
        data["label"] = shown(outcomes.labels[rows], outcomes.grading)
    extra = outcomes.extra.iloc[rows].reset_index(drop=True)
    extra = extra.rename(columns={name: f"trace_{name}" for name in extra if name in data})
    return pd.concat([pd.DataFrame(data), extra], axis=1)


def queue_table(queue: pd.DataFrame, texts: list[str], limit: int, source: str = "") -> Table:
    """The head of a queue for people.

    Parameters
    ----------
    queue : DataFrame
        Of :func:`review_queue`.
    texts : list of str
        Columns of it that hold what was judged.
    limit : int
        Most rows shown.
    source : str
    """
    header = ("item", "why", "verdict", "uncertainty")
    rows = []
    for row in queue.head(limit).to_dict("records"):
        words = [str(row["item_id"])] + [str(row[t]) for t in texts if row[t] == row[t] and row[t]]
        verdict = "none" if row["mode"] is None else f"{row['verdict']:g} ({row['mode']})"
        unsure = row["uncertainty"]
        rows.append(
            (
                "\n".join(_short(word) for word in words),
                row["why"],
                verdict,
                "none" if unsure != unsure else f"{unsure:.4g}",
            )
        )
    title = f"{len(queue)} items for people to look at" + (f", of {source}" if source else "")
    more = (f"The first {limit} are shown.",) if len(queue) > limit else ()
    return Table(title, header, tuple(rows), more, left=3)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 100 else text[:99] + "…"
