"""A path taken over from another gate: knowledge that costs no labels, if it has not seen them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from os import PathLike, fspath
from typing import Any, Protocol, Union

from riskjudge.calibration.certificate import Certificate, Guarantee
from riskjudge.errors import InputError
from riskjudge.gate.document import GROUPED, read_document
from riskjudge.gate.labels import LabelPrints

Vectors = tuple[tuple[float | None, ...], ...]


class FittedGate(Protocol):
    """What a path is taken from: :class:`.Router` has it."""

    certificate_: Certificate
    fingerprint_: str
    labels_: LabelPrints | None
    path_labels_: LabelPrints | None

    @property
    def fitted(self) -> bool: ...


PathSource = Union[FittedGate, str, "PathLike[str]", Sequence[Sequence[float | None]]]
"""A fitted gate, the file of one, or threshold vectors (None inside = no threshold in that mode)."""


class GatePath(tuple[tuple[float | None, ...], ...]):
    """Threshold vectors taken from a fitted gate, which remember the labels they have seen.

    Attributes
    ----------
    seen : LabelPrints or None
        The gate's own, and those of the path that it tested; None if it does not say.
    fingerprint : str
    guarantee : Guarantee
    """

    seen: LabelPrints | None
    fingerprint: str
    guarantee: Guarantee

    @classmethod
    def of(cls, gate: FittedGate) -> GatePath:
        """The path of a fitted gate."""
        seen, inherited = gate.labels_, gate.path_labels_
        if seen is not None and inherited is not None:
            seen = seen.joined(inherited)
        certificate = gate.certificate_
        return _gate_path(certificate.path, seen, gate.fingerprint_, certificate.guarantee)

    def __reduce__(self) -> tuple[Any, ...]:
        return _gate_path, (tuple(self), self.seen, self.fingerprint, self.guarantee)


def _gate_path(
    vectors: Iterable[tuple[float | None, ...]],
    seen: LabelPrints | None,
    fingerprint: str,
    guarantee: Guarantee,
) -> GatePath:
    path = GatePath(vectors)
    path.seen, path.fingerprint, path.guarantee = seen, fingerprint, guarantee
    return path


def resolved_path(source: PathSource) -> Vectors:
    """The threshold vectors that `source` stands for, in the order of testing; a file is read once.

    Parameters
    ----------
    source : fitted gate, str, path or sequence

    Returns
    -------
    tuple of tuple of float or None
        A :class:`GatePath` if it comes from a gate.

    Raises
    ------
    InputError
        If a gate is not fitted, or if the vectors are not numbers.

    Examples
    --------
    >>> resolved_path([[0.1, None], [0.2, 0.3]])
    ((0.1, None), (0.2, 0.3))
    """
    if isinstance(source, str | PathLike):
        source = _from_file(fspath(source))
    elif not isinstance(source, Sequence):
        if not hasattr(source, "fitted"):
            raise _no_path(source)
        if not source.fitted:
            raise InputError("the gate given as path is not fitted, so it has no path")
        source = GatePath.of(source)
    if isinstance(source, GatePath):
        return source
    vectors = _vectors(source)
    if not vectors:
        raise InputError("the path is empty; it needs a threshold vector or more")
    return vectors


def refuse_seen_labels(path: Vectors, tested: LabelPrints, fingerprint: str) -> LabelPrints | None:
    """Labels that a path has seen, none of them among those about to be tested.

    Parameters
    ----------
    path : GatePath, or bare vectors
        Bare vectors say nothing of where they come from: that they were fixed without a look at the
        tested labels is then an assumption of the certificate.
    tested : LabelPrints
        Of the items about to be tested.
    fingerprint : str
        Of the same items.

    Raises
    ------
    InputError
        If the source has seen one of the items, by its id, its group or its content; or if nobody
        can tell, and the source's search promised nothing (its order is then picked for its luck).
    """
    if not isinstance(path, GatePath):
        return None
    others = "a path must come from other items, since its order has seen their labels"
    if path.seen is None:
        if path.fingerprint == fingerprint:
            raise InputError(f"the gate given as path was calibrated on these very items; {others}")
        if path.guarantee is not Guarantee.HIGH_PROBABILITY:
            raise InputError(
                f"the gate given as path has the guarantee {str(path.guarantee)!r} and does not say "
                "which items it was calibrated on: calibrate it again, so that an overlap would be "
                "seen"
            )
        return None
    if (shared := path.seen.shared_with(tested)) is not None:
        raise InputError(
            f"the gate given as path was calibrated on these very items ({shared}); {others}"
        )
    return path.seen


def _from_file(path: str) -> GatePath:
    document = read_document(path)
    if document["kind"] == GROUPED:
        raise InputError(f"{path}: a gate with a certificate for each group has no one path")
    if not document["fitted"]:
        raise InputError(f"{path}: the gate given as path is not fitted, so it has no path")
    certificate, calibration = document["certificate"], document["calibration"]
    seen, inherited = (
        None if calibration.get(name) is None else LabelPrints.from_dict(calibration[name])
        for name in ("labels", "path_labels")
    )
    if seen is not None and inherited is not None:
        seen = seen.joined(inherited)
    return _gate_path(
        _vectors(certificate["path"]),
        seen,
        calibration["fingerprint"],
        Guarantee(certificate["guarantee"]),
    )


def _vectors(source: object) -> Vectors:
    try:
        vectors = tuple(
            tuple(None if t is None or t == -math.inf else float(t) for t in vector)
            for vector in source  # type: ignore[attr-defined]
        )
    except (TypeError, ValueError):
        raise _no_path(source) from None
    if any(t is not None and not math.isfinite(t) for vector in vectors for t in vector):
        raise InputError(
            "a threshold of the path is infinite or NaN; write null for a mode without a threshold, "
            "and for one that accepts everything its largest score"
        )
    return vectors


def _no_path(source: object) -> InputError:
    return InputError(
        "a path is a fitted gate, the file of one, or a list of threshold vectors such as "
        f"[[0.1, null], [0.2, 0.3]], got {source!r}"
    )
