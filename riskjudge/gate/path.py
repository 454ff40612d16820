"""A path taken over from another gate: knowledge that costs no labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Union

from riskjudge.errors import InputError

if TYPE_CHECKING:
    from riskjudge.gate.router import Router, SelectiveGate

Vectors = tuple[tuple[float | None, ...], ...]
PathSource = Union[
    "Router", "SelectiveGate", str, "PathLike[str]", Sequence[Sequence[float | None]]
]
"""A fitted gate, the file of one, or threshold vectors (None inside = no threshold in that mode)."""


def vectors_of(source: PathSource) -> Vectors:
    """The threshold vectors that `source` stands for, in the order of testing.

    Parameters
    ----------
    source : Router, SelectiveGate, str, path or sequence

    Raises
    ------
    InputError
        If a gate is not fitted or holds no path, or if the vectors are not numbers. (A gate fitted
        on the items about to be tested is refused by :mod:`riskjudge.gate.lineage`.)

    Examples
    --------
    >>> vectors_of([[0.1, None], [0.2, 0.3]])
    ((0.1, None), (0.2, 0.3))
    """
    from riskjudge.gate.router import Router, SelectiveGate, load_gate

    if isinstance(source, str | PathLike):
        return vectors_of(load_gate(fspath(source)))
    if isinstance(source, Router | SelectiveGate):
        if not source.fitted:
            raise InputError("the gate given as path is not fitted, so it has no path")
        if not source.path_:
            raise InputError(
                "the gate given as path holds none: nothing was tested when it was fitted"
            )
        return source.path_
    try:
        vectors = tuple(
            tuple(None if t is None or t == -math.inf else float(t) for t in vector)
            for vector in source
        )
    except (TypeError, ValueError):
        raise InputError(
            "a path is a fitted gate, the file of one, or a list of threshold vectors such as "
            f"[[0.1, null], [0.2, 0.3]], got {source!r}"
        ) from None
    if any(t is not None and not math.isfinite(t) for vector in vectors for t in vector):
        raise InputError(
            "a threshold of the path is infinite or NaN; write null for a mode without a threshold, "
            "and for one that accepts everything its largest score"
        )
    if not vectors:
        raise InputError("the path is empty; it needs a threshold vector or more")
    return vectors
