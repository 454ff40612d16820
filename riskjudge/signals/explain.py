"""A gate of any kind in words; of a fused one, what was fused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from riskjudge.gate.explain import Explanation
from riskjudge.gate.explain import explain as explain_plain
from riskjudge.gate.grouped import GroupedGate
from riskjudge.gate.router import Router
from riskjudge.signals.gate import FusedGate


def explain(gate: Router | GroupedGate | FusedGate) -> list[Explanation]:
    """A gate in words; one explanation for each of its certificates.

    Examples
    --------
    >>> from riskjudge import demo_trace
    >>> (told,) = explain(FusedGate(alpha=0.15).fit(demo_trace()))
    >>> told.title
    'Fitted fused gate'
    """
    if not isinstance(gate, FusedGate):
        return explain_plain(gate)
    (told,) = explain_plain(gate.router_)
    more = "a signal that is made in another way than for the rows that taught: nothing records how"
    return [
        replace(
            told,
            title="Fitted fused gate",
            bound_to=(*_fused(gate), *told.bound_to),
            voided_by=(*told.voided_by, more) if told.voided_by else (),
        )
    ]


def _fused(gate: FusedGate) -> Iterator[str]:
    """Stage by stage the signals, and who taught them."""
    fusion = gate.fusion_
    for name, stage in zip(gate.router_.modes_, fusion.stages, strict=False):
        yield f"{name}: a probability from {', '.join(s.name for s in stage.signals)}"
    where = "the calibration file" if fusion.taught.beside is not None else "elsewhere"
    yield (
        f"{len(fusion.taught.labels)} labelled items from {where} taught it; their fused scores are "
        "never tested on"
    )
