"""Judges rebuilt with one part exchanged: another way to the evidence, or no stored replies.

Composed judges hold others (a panel's seats, the judge behind a gate); the exchange goes through
all of them, and leaves the originals as they are.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, Protocol

from riskjudge.errors import InputError
from riskjudge.judges.protocol import Judge
from riskjudge.llm.client import ModelClient
from riskjudge.retrieval.passage import Retriever


class EvidenceChange(Protocol):
    """What is done to a judge's passages."""

    def around(self, inner: Retriever) -> Retriever: ...


def asked_again(judge: Judge) -> Judge:
    """The judge with clients whose stored replies are kept apart, so that everything is asked anew.

    Parameters
    ----------
    judge : Judge
        Composed or not.

    Returns
    -------
    Judge
        The same one where it asks no model.
    """
    again: Judge = _exchanged(judge, ModelClient, lambda client: client.again())
    return again


def with_evidence(judge: Judge, change: EvidenceChange) -> Judge | None:
    """The judge with its retrievers' passages changed; None where it has no retriever.

    Parameters
    ----------
    judge : Judge
        Composed or not.
    change : EvidenceChange
        What is done to the passages.

    Returns
    -------
    Judge or None
    """
    found: list[Retriever] = []

    def changed(inner: Retriever) -> Retriever:
        found.append(inner)
        return change.around(inner)

    shown = _exchanged(judge, Retriever, changed, when=_shows_passages)
    return shown if found else None


def _shows_passages(holder: Any) -> bool:
    """A model judge has a retriever even where its prompt shows no passages."""
    prompt = getattr(holder, "prompt", None)
    return prompt is None or bool(prompt.needs("passages"))


def _exchanged(
    value: Any,
    kind: type,
    change: Callable[[Any], Any],
    when: Callable[[Any], bool] = lambda holder: True,
    depth: int = 0,
) -> Any:
    """A copy of a judge in which every part of a kind is exchanged."""
    if depth > 20:
        raise InputError("the judges are nested more than 20 deep; do they hold themselves?")
    if isinstance(value, list | tuple):
        return type(value)(_exchanged(part, kind, change, when, depth + 1) for part in value)
    parts = _parts(value)
    if parts is None:
        return value
    found = {}
    for name, part in parts.items():
        if isinstance(part, kind):
            new = change(part) if when(value) else part
        else:
            new = _exchanged(part, kind, change, when, depth + 1)
        if new is not part and new != part:
            found[name] = new
    if not found:
        return value
    copied = copy.copy(value)
    for name, new in found.items():
        object.__setattr__(copied, name, new)  # judges are frozen
    return copied


def _parts(value: Any) -> dict[str, Any] | None:
    """What a judge is made of; None for anything that is no judge."""
    if not (callable(value) and hasattr(value, "name") and hasattr(value, "mode")):
        return None
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return dict(vars(value)) if hasattr(value, "__dict__") else None
