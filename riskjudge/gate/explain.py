"""What a gate is bound to, what it promises and what would void it, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from riskjudge.calibration import Certificate, Guarantee
from riskjudge.gate.grouped import GroupedGate
from riskjudge.gate.router import Router
from riskjudge.gate.rule import threshold_names


@dataclass(frozen=True, slots=True)
class Explanation:
    """A gate in words.

    Attributes
    ----------
    title : str
    promise : str
    rule : tuple of str
        What is accepted, mode by mode.
    bound_to : tuple of str
        What made the scores, mode by mode, and which labels were used.
    assumes : tuple of str
    voided_by : tuple of str
        What would make the promise empty.
    """

    title: str
    promise: str
    rule: tuple[str, ...]
    bound_to: tuple[str, ...]
    assumes: tuple[str, ...]
    voided_by: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {name: getattr(self, name) for name in self.__slots__}


def explain(gate: Router | GroupedGate) -> list[Explanation]:
    """A gate in words; one explanation for each of its certificates.

    Parameters
    ----------
    gate : Router or GroupedGate

    Returns
    -------
    list of Explanation

    Examples
    --------
    >>> from riskjudge import demo_trace
    >>> (told,) = explain(Router(alpha=0.15).fit(demo_trace()))
    >>> told.promise
    'With confidence 95 %, at most 15 % of the verdicts that these thresholds accept are wrong.'
    """
    if isinstance(gate, GroupedGate):
        return [_explained(part, f"{gate.by} = {name}") for name, part in gate.all_gates.items()]
    return [_explained(gate, "")]


def _explained(gate: Router, where: str) -> Explanation:
    kind = "gate over one mode" if gate.kind == "selective_gate" else "router"
    title = f"{'Fitted' if gate.fitted else 'Unfitted'} {kind}" + (f", {where}" if where else "")
    if not gate.fitted:
        passes = gate.unfitted == "pass"
        return Explanation(
            title,
            "None: nothing was calibrated, and nothing that it lets through is certified.",
            ("the first mode's verdicts go through" if passes else "every verdict is declined",),
            (),
            (),
            (),
        )
    certificate = gate.certificate_
    return Explanation(
        title,
        certificate.statement,
        tuple(_rule(gate)),
        tuple(_bound_to(gate)),
        certificate.assumptions,
        tuple(_voided_by(gate, certificate)),
    )


def _rule(gate: Router) -> list[str]:
    thresholds = gate.certificate_.thresholds
    if thresholds is None:
        return ["nothing is accepted; every verdict is declined as below_conformal"]
    lines = []
    for mode, columns in zip(gate.modes_, gate.columns_, strict=True):
        names = threshold_names((mode,), gate.splits_verdicts)
        for verdict, name in enumerate(names):
            what = f"{mode}, verdict {verdict}" if len(names) == 2 else mode
            threshold = thresholds[name]
            lines.append(
                f"{what}: not used"
                if threshold is None
                else f"{what}: accepted where {columns.uncertainty} is at most {threshold:.6g}"
            )
    return [*lines, "the first mode that accepts decides; what none accepts is declined by name"]


def _bound_to(gate: Router) -> list[str]:
    lines = []
    for mode, columns, source in zip(gate.modes_, gate.columns_, gate.sources_, strict=True):
        read = f"verdict {columns.verdict}, uncertainty {columns.uncertainty}"
        if source is None:
            lines.append(f"{mode} ({read}): nothing recorded what made its scores")
        else:
            facts = ", ".join(f"{name} = {value}" for name, value in source.items())
            lines.append(f"{mode} ({read}): {facts}")
    used = f"{gate.n_labelled_} labelled items (fingerprint {gate.fingerprint_[:12]})"
    return [*lines, f"calibrated on {used}, {gate.n_pool_} items without a label, seed {gate.seed}"]


def _voided_by(gate: Router, certificate: Certificate) -> Sequence[str]:
    if certificate.guarantee is Guarantee.NONE or not certificate.certified:
        return ()
    known = all(source is not None for source in gate.sources_)
    return (
        "scores made in another way (model, prompt, measure, sampling, evidence)"
        + ("; the gate compares and refuses" if known else "; the gate cannot tell, so you must"),
        "items from another population: other topics, systems, times than those calibrated on",
        "a level, seed, procedure or filter that was chosen after a look at these labels",
        "labels that are wrong, or that were chosen by a look at the verdicts",
    )
