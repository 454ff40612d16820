"""Which labels a path has seen: a path must not be tested on items that helped to choose it."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from riskjudge.calibration import Guarantee
from riskjudge.errors import InputError
from riskjudge.gate.labels import LabelPrints

if TYPE_CHECKING:
    from riskjudge.gate.router import Router, SelectiveGate


class GatePath(tuple[tuple[float | None, ...], ...]):
    """Threshold vectors taken from a fitted gate, which remember the labels they have seen."""

    seen: LabelPrints | None
    fingerprint: str
    guarantee: Guarantee

    @classmethod
    def of(cls, gate: Router | SelectiveGate) -> GatePath:
        """The path of a fitted gate."""
        path = cls(gate.certificate_.path)
        path.seen = seen_by(gate)
        path.fingerprint = gate.fingerprint_
        path.guarantee = gate.certificate_.guarantee
        return path

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (tuple(self), self.seen, self.fingerprint, self.guarantee)


def _rebuilt(
    vectors: Iterable[tuple[float | None, ...]],
    seen: LabelPrints | None,
    fingerprint: str,
    guarantee: Guarantee,
) -> GatePath:
    path = GatePath(vectors)
    path.seen, path.fingerprint, path.guarantee = seen, fingerprint, guarantee
    return path


def seen_by(gate: Router | SelectiveGate) -> LabelPrints | None:
    """All labels that a fitted gate's path depends on: its own, and those of the path it tested.

    None if the gate was stored by a version that did not keep them.
    """
    own, inherited = gate.labels_, gate.path_labels_
    if own is None or inherited is None:
        return own
    return own.joined(inherited)


def labels_behind(source: Any, tested: LabelPrints, fingerprint: str) -> LabelPrints | None:
    """Labels that a path has seen, none of them among those about to be tested.

    Parameters
    ----------
    source : fitted gate, file of one, path of one, or bare vectors
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
    from riskjudge.gate.router import Router, SelectiveGate, load_gate

    if isinstance(source, str | PathLike):
        source = load_gate(fspath(source))
    if isinstance(source, Router | SelectiveGate):
        if not source.fitted:
            return None  # refused where its vectors are asked for
        source = GatePath.of(source)
    if not isinstance(source, GatePath):
        return None
    if source.seen is None:
        if source.fingerprint == fingerprint:
            raise InputError(
                f"the gate given as path was calibrated on these very items; {_OTHERS}"
            )
        if source.guarantee is not Guarantee.HIGH_PROBABILITY:
            raise InputError(
                f"the gate given as path has the guarantee {str(source.guarantee)!r} and does not say "
                "which items it was calibrated on (an older version wrote it): calibrate it again, so "
                "that an overlap would be seen"
            )
        return None
    if (shared := source.seen.shared_with(tested)) is not None:
        raise InputError(
            f"the gate given as path was calibrated on these very items ({shared}); {_OTHERS}"
        )
    return source.seen


_OTHERS = "a path must come from other items, since its order has seen their labels"
