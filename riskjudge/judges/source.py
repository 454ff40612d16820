"""What makes a judge's scores, and whether a gate was fitted on scores made in the same way."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from riskjudge.data.source import ScoreSource
from riskjudge.errors import InputError
from riskjudge.items.item import content_hash
from riskjudge.judges.cascade import Cascade, Gated
from riskjudge.judges.limits import Cut, Scoped
from riskjudge.judges.model import ModelJudge, SelfEvaluatingJudge, measure_of
from riskjudge.judges.pairs import PairwiseTrial, PointwiseComparison
from riskjudge.judges.panel import Panel
from riskjudge.judges.protocol import Judge
from riskjudge.judges.sidecar import SidecarJudge

if TYPE_CHECKING:
    from riskjudge.gate import Router, SelectiveGate
    from riskjudge.signals import FusedGate

ON_MISMATCH = ("refuse", "uncertify")
"""What is done where a gate was fitted on scores of another source."""


def source_of(judge: Judge, measure: str | None = None) -> ScoreSource:
    """What makes a judge's scores.

    Parameters
    ----------
    judge : Judge
        A model's judge says it itself; any other is described by what it is composed of.
    measure : str, optional
        The uncertainty that is read off its judgements; by default the one that suits it.

    Returns
    -------
    ScoreSource

    Examples
    --------
    >>> from riskjudge.judges import first_slot
    >>> print(source_of(PairwiseTrial(first_slot()), "preference_entropy"))
    {"judge":"pairwise(first-slot)","measure":"preference_entropy"}
    """
    if isinstance(judge, ModelJudge | SelfEvaluatingJudge):
        return ScoreSource({**judge.source, "measure": measure or measure_of(judge)})
    return ScoreSource({"judge": _composition(judge), "measure": measure or "confidence"})


def _composition(judge: Any) -> str:
    """A judge in one line: its kind, its parts, its settings."""
    told = getattr(judge, "composition", None)
    if isinstance(told, str):
        return told
    match judge:
        case ModelJudge() | SelfEvaluatingJudge():
            facts = {name: value for name, value in judge.source.items() if name != "measure"}
            return f"{facts['model']}/{judge.mode}@{content_hash(str(ScoreSource(facts)))}"
        case PairwiseTrial():
            return f"pairwise({_composition(judge.judge)})"
        case PointwiseComparison():
            return f"pointwise-bool({_composition(judge.judge)})"
        case Panel():
            return f"panel({', '.join(map(_composition, judge.seats))})"
        case Cascade():
            return f"router({', '.join(map(_composition, judge.judges))})"
        case Cut():
            scale = f"{judge.cut:g} on {judge.low:g}..{judge.high:g}"
            return f"cut({_composition(judge.judge)}, {scale})"
        case Scoped():
            return f"scope({_composition(judge.judge)})"
        case Gated():
            return f"gate({_composition(judge.judge)})"
        case SidecarJudge():
            parts = urlsplit(judge.url)
            bare = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="")
            return f"sidecar({urlunsplit(bare)}, seed {judge.seed})"
    seed = getattr(judge, "seed", None)
    return judge.name if seed is None else f"{judge.name}(seed {seed})"


def refuse_other_sources(
    gate: Router | SelectiveGate | FusedGate,
    sources: Sequence[ScoreSource],
    what: str | Path = "the gate",
    on_mismatch: str = "refuse",
) -> bool:
    """Compare what a gate was fitted on with what is about to make its scores.

    Parameters
    ----------
    gate : Router, SelectiveGate or FusedGate
        Fitted.
    sources : sequence of ScoreSource
        One for each of its modes, in its order.
    what : str or path
        What the message calls the gate.
    on_mismatch : {"refuse", "uncertify"}
        What to do where they differ.

    Returns
    -------
    bool
        Whether they agree. If they do not, what is decided is not certified.

    Raises
    ------
    InputError
        If they differ and `on_mismatch` is ``"refuse"``: every difference is named.
    """
    from riskjudge.gate.binding import mismatches, refuse_mismatch, refuse_other_grading

    if on_mismatch not in ON_MISMATCH:
        raise InputError(f"`on_mismatch` is {' or '.join(ON_MISMATCH)}, got {on_mismatch!r}")
    refuse_other_grading(gate.grading_, None, str(what), "this run")
    compared = gate.modes_, gate.sources_, tuple(sources), str(what), "this run"
    if on_mismatch == "refuse":
        refuse_mismatch(*compared)
    return not mismatches(*compared)
