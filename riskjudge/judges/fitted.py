"""Judges behind a fitted gate, as a configuration names them: by the measures it was fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from riskjudge.errors import InputError
from riskjudge.judges.cascade import refuse_other_number, route
from riskjudge.judges.protocol import Judge
from riskjudge.judges.source import refuse_other_sources, source_of
from riskjudge.ledger.uncertainty import measure_named

if TYPE_CHECKING:
    from riskjudge.gate import Router, SelectiveGate


def fitted_route(
    path: str | Path,
    judges: Sequence[Judge],
    name: str,
    *,
    uncertainty: str | None = None,
    on_mismatch: str = "refuse",
) -> Judge:
    """Judges behind a gate from a file, where the gate was fitted on scores made as theirs are.

    Parameters
    ----------
    path : str or Path
        File of a gate; of an unfitted one, no measure is needed and nothing is compared.
    judges : sequence of Judge
        One for each of the gate's modes, in its order.
    name : str
        The route's name.
    uncertainty : str, optional
        The measure of every judge; by default the one that the gate records for its mode.
    on_mismatch : {"refuse", "uncertify"}
        What to do where the gate was fitted on other scores, or does not say on which: an error that
        names the differences, or verdicts that disclose that they are not certified.

    Raises
    ------
    InputError
        If the number or order of the judges is not that of the gate's modes, no measure is recorded
        or named, or the scores differ.
    """
    from riskjudge.gate import load_router

    gate = load_router(path)
    if not gate.fitted:
        return route(gate, judges, [], name)
    refuse_other_number(gate, judges, path)
    _refuse_other_order(gate, judges, path)
    measures = [_measure(gate, k, uncertainty, path) for k in range(len(judges))]
    sources = [source_of(judge, m) for judge, m in zip(judges, measures, strict=True)]
    certified = refuse_other_sources(gate, sources, on_mismatch=on_mismatch)
    return route(gate, judges, [measure_named(m) for m in measures], name, certified=certified)


def _measure(
    gate: Router | SelectiveGate, k: int, uncertainty: str | None, path: str | Path
) -> str:
    if uncertainty is not None:
        return uncertainty
    source = gate.sources_[k]
    measure = None if source is None else source.get("measure")
    if not isinstance(measure, str):
        raise InputError(
            f"{path} does not record which measure of uncertainty mode {gate.modes_[k]!r} was fitted "
            "on; say it with `uncertainty`"
        )
    return measure


def _refuse_other_order(
    gate: Router | SelectiveGate, judges: Sequence[Judge], path: str | Path
) -> None:
    """A gate's modes may have names of their own; those that are judges' names mean these judges."""
    modes = gate.modes_
    for k, judge in enumerate(judges):
        for known in (judge.name, f"{judge.name}/{judge.mode}"):
            if known in modes and modes[k] != known and modes.count(known):
                raise InputError(
                    f"{path} asks {', '.join(modes)} in this order, and judge {known!r} is number "
                    f"{k + 1} here; list the judges in the gate's order"
                )
