"""Asking judges about perturbed items, into the same kind of ledger as any other run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from riskjudge.data.perturbed import FACTS, PERTURBATION, PLAIN
from riskjudge.errors import InputError
from riskjudge.items.item import Item
from riskjudge.judges.protocol import Judge
from riskjudge.judges.run import run_into_ledger, unanswered
from riskjudge.ledger.writer import LedgerWriter
from riskjudge.reliability.perturbation import Perturbation, perturbed


@dataclass(frozen=True)
class Probe:
    """A perturbation, the items that it changes, and the judges that are asked about them.

    Attributes
    ----------
    name : str
        The perturbation's; ``plain`` for the items as they came.
    items : tuple of Item
        Each with an id of its own.
    judges : tuple of Judge
        Under their own names, whatever else they are shown.
    """

    name: str
    items: tuple[Item, ...]
    judges: tuple[Judge, ...]

    def __len__(self) -> int:
        return len(self.items) * len(self.judges)


def plan_stress(
    judges: Sequence[Judge],
    items: Sequence[Item],
    perturbations: Sequence[Perturbation],
    seed: int = 0,
) -> list[Probe]:
    """All that will be asked: the items as they came first, then each perturbation.

    Parameters
    ----------
    judges : sequence of Judge
        Who is tested.
    items : sequence of Item
        What they are tested on; labels, where there are any, also tell accuracy.
    perturbations : sequence of Perturbation
        What is done to them.
    seed : int
        Of whatever a perturbation draws; the same seed asks the same.

    Returns
    -------
    list of Probe
        One that nothing can be asked in is left in, empty.

    Raises
    ------
    InputError
        If there is nobody to ask, nothing to ask about, the items were perturbed before, or they have
        a column of a name that says what was done to an item.

    Examples
    --------
    >>> from riskjudge.judges import longest
    >>> from riskjudge.reliability import perturbations_named
    >>> pairs = [Item("q1", "Capital of Chad?", ("N'Djamena", "Abuja"))]
    >>> probes = plan_stress([longest()], pairs, perturbations_named(["position", "evidence.reverse"]))
    >>> [(probe.name, len(probe)) for probe in probes]
    [('plain', 1), ('position.swap', 1), ('evidence.reverse', 0)]
    """
    if not judges:
        raise InputError("there is no judge to test")
    bodies = [item for item in items if item.has_body]
    if not bodies:
        raise InputError("no item has a body; there is nothing to ask about")
    for item in bodies:
        if PERTURBATION in item.extra:
            raise InputError(
                f"item {item.id!r} was perturbed before ({item.extra[PERTURBATION]}); start from the "
                "items as they came"
            )
        if taken := sorted(set(FACTS) & set(item.extra)):
            raise InputError(
                f"item {item.id!r} has a column {taken[0]!r}, in which a stress test says what was done to "
                "an item; rename it"
            )
    probes = [Probe(PLAIN, tuple(bodies), tuple(judges))]
    for perturbation in perturbations:
        asked = [perturbation.judge(judge) for judge in judges]
        those = tuple(judge for judge in asked if judge is not None)
        found = perturbed(perturbation, bodies, seed) if those else []
        probes.append(Probe(perturbation.name, tuple(found), those))
    return probes


def left_to_ask(probes: Sequence[Probe], ledger: LedgerWriter) -> int:
    """Judgements of a plan that the ledger has no standing answer to.

    Parameters
    ----------
    probes : sequence of Probe
        The plan.
    ledger : LedgerWriter
        What was answered.

    Returns
    -------
    int
    """
    return sum(len(unanswered(probe.judges, probe.items, ledger)) for probe in probes)


def run_stress(
    probes: Sequence[Probe],
    ledger: LedgerWriter,
    *,
    timed: bool = True,
    concurrency: int = 1,
    report: Callable[[int], None] = lambda done: None,
) -> int:
    """Ask what a plan holds and the ledger does not; interrupted, the same call goes on.

    Parameters
    ----------
    probes : sequence of Probe
        From :func:`plan_stress`.
    ledger : LedgerWriter
        Takes the rows.
    timed : bool
        Whether rows carry timings.
    concurrency : int
        Judgements under way at once.
    report : callable
        Told the number of rows appended so far.

    Returns
    -------
    int
        Rows appended.
    """
    appended = 0
    for probe in probes:
        told = partial(_add, report, appended)
        appended += run_into_ledger(probe.judges, probe.items, ledger, timed, concurrency, told)
    return appended


def _add(report: Callable[[int], None], before: int, done: int) -> None:
    report(before + done)
