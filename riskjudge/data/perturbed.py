"""Items under perturbations, as rows of a trace beside the items as they came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from riskjudge.data.trace import Trace
from riskjudge.errors import InputError

PERTURBATION, PERTURBED = "perturbation", "perturbed"
EXPECT, SWAPPED = "expect", "swapped"
FACTS = (PERTURBATION, PERTURBED, EXPECT, SWAPPED)
"""Columns that say what was done to an item: its name, the item it was done to, what a sound judge does,
and whether (``yes``) the responses stand in the other order."""
PLAIN = "plain"
"""What the first of them says of the items as they came."""


def split_by_perturbation(trace: Trace) -> tuple[Trace, dict[str, Trace]]:
    """The items as they came, and those under each perturbation.

    Parameters
    ----------
    trace : Trace
        With the columns ``perturbation`` (``plain`` or empty for the items as they came) and ``perturbed``
        (the id of the item that was changed), as ``riskjudge stress`` writes it.

    Returns
    -------
    plain : Trace
        Without groups that only tie an item to its own perturbed forms.
    stressed : dict of str to Trace
        By perturbation, in the order of their names.

    Raises
    ------
    InputError
        If a column is missing, or no row is plain.
    """
    for column in (PERTURBATION, PERTURBED):
        if column not in trace.extra:
            raise InputError(
                f"the trace has no column {column!r}: items under perturbations are rows of their own, as "
                "riskjudge stress -o TRACE writes them"
            )
    names = trace.extra[PERTURBATION].fillna(PLAIN).astype(str).to_numpy(dtype=object)
    names[names == ""] = PLAIN
    if not (names == PLAIN).any():
        raise InputError(
            f"no row of the column {PERTURBATION!r} is {PLAIN!r}: the items as they came"
        )
    plain = trace.rows(names == PLAIN)
    return plain, {str(name): trace.rows(names == name) for name in sorted(set(names) - {PLAIN})}


def chosen_perturbations(
    stressed: Mapping[str, Trace], asked: str | Sequence[str]
) -> dict[str, Trace]:
    """Those of the perturbations that are asked for.

    Parameters
    ----------
    stressed : mapping of str to Trace
        From :func:`split_by_perturbation`.
    asked : str or sequence of str
        Names, families (``format`` is all that starts with ``format.``) or ``all``; a text with commas
        between them, or a list.

    Raises
    ------
    InputError
        If one is not in the trace; the message lists those that are.
    """
    names = asked.split(",") if isinstance(asked, str) else list(asked)
    wanted: set[str] = set()
    for name in (name.strip() for name in names):
        found = {n for n in stressed if name in ("all", n) or n.startswith(f"{name}.")}
        if not found:
            there = ", ".join(stressed) or "none"
            raise InputError(f"no row is perturbed by {name!r}; the perturbations here are {there}")
        wanted |= found
    return {name: part for name, part in stressed.items() if name in wanted}


def refuse_perturbed(trace: Trace) -> None:
    """Raise where rows of one item stand under several perturbations: they are no items of their own.

    Raises
    ------
    InputError
    """
    if PERTURBATION not in trace.extra or PERTURBED not in trace.extra:
        return
    names = trace.extra[PERTURBATION].fillna(PLAIN).astype(str)
    found = sorted(set(names) - {PLAIN, ""})
    if found and len(set(trace.extra[PERTURBED].astype(str))) < len(trace):
        raise InputError(
            f"the trace holds items under perturbations ({', '.join(found)}) beside the items as they came: "
            f"calibrate for all of them (--robust all), or take the rows of one (--where "
            f"{PERTURBATION}={PLAIN})"
        )
