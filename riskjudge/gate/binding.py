"""What binds a gate to its scores: the sources of the fitted modes against those of other items."""

from __future__ import annotations

from riskjudge.data.grading import Grading
from riskjudge.data.source import ScoreSource
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError

Sources = tuple[ScoreSource | None, ...]


def mismatches(
    modes: tuple[str, ...], fitted: Sources, seen: Sources, here: str, there: str
) -> tuple[str, ...]:
    """Where scores were made in different ways, in words; nothing where they agree.

    Where nothing recorded what a mode was fitted on, there is nothing to compare (the certificate
    says that it rests on this); a source that was recorded and one that is not known differ.

    Parameters
    ----------
    modes : tuple of str, length K
    fitted, seen : tuple of ScoreSource or None, length K
    here, there : str
        What the two sides are called.

    Examples
    --------
    >>> small, large = (ScoreSource({"model": name}) for name in ("small", "large"))
    >>> mismatches(("plain",), (small,), (large,), "the gate", "these items")
    ("plain: model: 'small' in the gate, 'large' in these items",)
    >>> mismatches(("plain",), (None,), (large,), "the gate", "these items")
    ()
    """
    found = []
    for mode, one, other in zip(modes, fitted, seen, strict=True):
        if one is not None:
            found += [f"{mode}: {text}" for text in one.differences(other, here, there)]
    return tuple(found)


def refuse_mismatch(
    modes: tuple[str, ...], fitted: Sources, seen: Sources, here: str, there: str
) -> None:
    """Raise where scores were made in different ways; see :func:`mismatches`.

    Raises
    ------
    InputError
        Naming each difference.
    """
    differences = mismatches(modes, fitted, seen, here, there)
    if differences:
        raise InputError(
            f"the scores of {there} were not made as those of {here}: {'; '.join(differences)}. "
            "Thresholds mean nothing for other scores: calibrate on these, or let the outcomes be "
            "not certified (on_mismatch='uncertify', --on-mismatch uncertify)"
        )


def refuse_other_grading(
    fitted: Grading | None, seen: Grading | None, here: str, there: str
) -> None:
    """Raise where verdicts were made from scores in another way: nothing makes up for that.

    Raises
    ------
    InputError
        Naming both.
    """
    if fitted != seen:
        texts = [str(g) if g is not None else "verdicts 0 or 1" for g in (fitted, seen)]
        raise InputError(f"{here}: {texts[0]}; {there}: {texts[1]}. They must be the same")


def assumed_of(labelled: Trace) -> str:
    """What a certificate assumes of how scores are made."""
    unknown = [m for m, s in zip(labelled.modes, labelled.sources, strict=True) if s is None]
    if unknown:
        return (
            f"nothing recorded what made the scores of {', '.join(unknown)}: those of the items to be "
            "judged are made in the same way (model, prompt, measure, evidence)"
        )
    return "scores are made in the way that is recorded with the gate; it refuses others"
