"""The state of a schedule of looks: what was fixed in advance, and which labels were used."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from riskjudge._typing import IntArray
from riskjudge.calibration import Certificate, Guarantee, Procedure
from riskjudge.calibration.looks import Look, Schedule, look_that_would_do
from riskjudge.calibration.make_certificate import ONCE
from riskjudge.data.grading import Grading
from riskjudge.data.trace import Trace, stack
from riskjudge.errors import InputError
from riskjudge.gate.document import BY_KIND, checksum
from riskjudge.gate.labels import (
    Hashes,
    as_text,
    digest_of,
    from_text,
    hash_texts,
    row_hashes,
)
from riskjudge.gate.path import resolved_path
from riskjudge.gate.rows import ONE_OF_EACH_GROUP
from riskjudge.io.files import replacing
from riskjudge.io.jsonl import read_document
from riskjudge.io.locks import alone_in

if TYPE_CHECKING:
    from riskjudge.gate.router import Router

FORMAT = "riskjudge-looks"
FORMAT_VERSION = 2
_NONE = np.zeros(0, dtype=np.uint64)


@dataclass(frozen=True, slots=True, eq=False)
class Looks:
    """A schedule under way.

    Attributes
    ----------
    schedule : Schedule
    settings : mapping
        All that a calibration depends on besides rows: settled at the first look.
    made : tuple of mapping
        One for each look: its number, labels and delta, and what it certified.
    ids, rows : ndarray of uint64
        Hashes of the items used so far and of their contents, in the order of use.
    """

    schedule: Schedule
    settings: Mapping[str, Any]
    made: tuple[Mapping[str, Any], ...] = ()
    ids: Hashes = field(default_factory=lambda: _NONE)
    rows: Hashes = field(default_factory=lambda: _NONE)

    @property
    def last(self) -> int:
        """Number of the look made last, 0 before the first."""
        return int(self.made[-1]["number"]) if self.made else 0

    def next_look(self, labels: int) -> int:
        """Number of the look that is due with so many labels.

        Raises
        ------
        InputError
            If none is: the schedule is through, or the labels are too few.
        """
        schedule = self.schedule
        if schedule.looks is not None and self.last >= schedule.looks:
            raise InputError(
                f"the schedule is through: all of delta was spent on its {schedule.looks} looks. "
                "Start a new one on new labels alone"
            )
        due = schedule.due(labels)
        if due > self.last:
            return due
        made = f"look {self.last} was made; " if self.made else ""
        raise InputError(
            f"{made}look {self.last + 1} needs {schedule.size(self.last + 1)} labelled items, "
            f"there are {labels}"
        )

    def take(self, labelled: Trace, number: int) -> IntArray:
        """Positions of the items of a look: those of the looks before, then others by hash of id.

        Raises
        ------
        InputError
            If an item used before is gone, or its label, verdicts or scores have changed.
        """
        ids, rows = hash_texts(labelled.item_id), row_hashes(labelled)
        order = np.argsort(ids, kind="stable")
        at = np.searchsorted(ids[order], self.ids)
        found = order[np.minimum(at, len(ids) - 1)]
        gone = ids[found] != self.ids
        if gone.any():
            raise InputError(
                f"{np.count_nonzero(gone)} of the {len(self.ids)} items used by earlier looks have no "
                "label any more, or are not in the table; looks are cumulative, so none may be left out"
            )
        changed = found[rows[found] != self.rows]
        if len(changed):
            raise InputError(
                f"the item {labelled.item_id[changed[0]]!r} ({len(changed)} in all) was used by an "
                "earlier look with another label, verdict or score; what was tested must not change"
            )
        new = order[~np.isin(ids[order], self.ids)]
        return np.concatenate((found, new))[: self.schedule.size(number)]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        content = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "schedule": self.schedule.to_dict(),
            "settings": dict(self.settings),
            "looks": [dict(look) for look in self.made],
            "ids": as_text(self.ids),
            "rows": as_text(self.rows),
        }
        return content | {"checksum": checksum(content)}

    def save(self, path: str | Path) -> None:
        """Write the state as JSON, whole or not at all."""
        with replacing(path) as temporary:
            text = json.dumps(self.to_dict(), indent=2, allow_nan=False)
            temporary.write_text(text + "\n", "utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Looks:
        """Read a state that :meth:`save` wrote."""
        try:
            data = read_document(path)
        except InputError as error:
            raise InputError(f"{error}; a state of looks is needed") from None
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise InputError(f"{path} is not a state of looks: its format is not {FORMAT!r}")
        if data.get("format_version") != FORMAT_VERSION:
            raise InputError(
                f"{path} has format version {data.get('format_version')}; this riskjudge reads "
                f"version {FORMAT_VERSION}"
            )
        if data.get("checksum") != checksum(data):
            raise InputError(
                f"{path} is damaged or was changed by hand: its checksum does not match. What the looks "
                "so far have spent is not known any more; start a new schedule on new labels alone"
            )
        try:
            state = cls(
                Schedule.from_dict(data["schedule"]),
                dict(data["settings"]),
                tuple(dict(look) for look in data["looks"]),
                from_text(data["ids"]),
                from_text(data["rows"]),
            )
            used = state.schedule.size(state.last) if state.made else 0
        except (KeyError, TypeError, ValueError, InputError) as error:
            raise InputError(f"{path} is damaged: {type(error).__name__} {error}") from None
        if not len(state.ids) == len(state.rows) == used:
            raise InputError(f"{path} is damaged: it does not hold the items of its looks")
        return state


def fit_look(
    gate: Router,
    trace: Trace,
    pool: Trace | None = None,
    *,
    state: str | Path,
    schedule: Schedule | None = None,
) -> Router:
    """Calibrate at the look that is due, and write down that it was made.

    Parameters
    ----------
    gate : Router
        Its delta is that of all looks together.
    trace : Trace
        All labelled items so far, those of earlier looks included. Labels beyond the scheduled
        number wait for the next look.
    pool : Trace, optional
        As in ``fit``.
    state : path
        Written at the first look, read and replaced at later ones.
    schedule : Schedule, optional
        Needed at the first look; later it must be the same, or left out.

    Returns
    -------
    Router
        A fitted copy; its certificate says which look it was, and at which delta.

    Raises
    ------
    InputError
        Whatever would break the schedule: another alpha, delta, procedure, option, seed or set of
        modes, labels removed or changed, too few labels, a look after the last.

    Examples
    --------
    >>> import tempfile
    >>> from riskjudge.gate import SelectiveGate
    >>> rng = np.random.default_rng(0)
    >>> u, label = rng.random((400, 1)), rng.integers(0, 2, 400)
    >>> trace = Trace.from_arrays(u, label[:, None] ^ (rng.random((400, 1)) < 0.2 * u), label)
    >>> state = Path(tempfile.mkdtemp()) / "looks.json"
    >>> gate = SelectiveGate(alpha=0.15)
    >>> first = fit_look(gate, trace.rows(np.arange(200)), state=state,
    ...                  schedule=Schedule(batch=200, looks=2))
    >>> second = fit_look(gate, trace, state=state)
    >>> round(first.certificate_.look.delta, 4), round(second.certificate_.look.delta, 4)
    (0.0125, 0.0375)
    """
    with alone_in(Path(state).absolute().parent):
        return _fit_look(gate, trace, pool, Path(state), schedule)


def _fit_look(
    gate: Router, trace: Trace, pool: Trace | None, state: Path, schedule: Schedule | None
) -> Router:
    used_before = Looks.load(state).ids if state.exists() else _NONE
    prepared = gate.prepare(_with_the_used_of_a_group(trace, used_before), pool)
    labelled = prepared.labelled
    known = _state(state, settings_of(gate, labelled.modes, labelled.grading), schedule)
    number = known.next_look(len(labelled))
    chosen = known.take(labelled, number)
    ids = hash_texts(labelled.item_id[chosen])
    begun = int(known.made[0]["labels"]) if known.made else len(ids)
    look = replace(Look.at(known.schedule, number, gate.delta), started=digest_of(ids[:begun]))
    parts = [labelled.rows(np.sort(chosen)), trace.rows(~trace.labelled)]
    used = stack([part.select(labelled.modes) for part in parts if len(part)])
    fitted: Router = gate.fresh()
    fitted.set_params(delta=look.delta).fit(used, pool)
    fitted.set_params(delta=gate.delta)
    fitted.certificate_ = _at_look(fitted.certificate_, look, known.schedule)
    if len(labelled) < np.count_nonzero(trace.labelled):
        assumptions = (*fitted.certificate_.assumptions, ONE_OF_EACH_GROUP)
        fitted.certificate_ = replace(fitted.certificate_, assumptions=assumptions)
    taken = labelled.rows(chosen)
    certificate = fitted.certificate_
    entry = asdict(look) | {"certified": certificate.certified, "accepted": certificate.accepted}
    entry |= {"errors": certificate.errors}
    made = (*known.made, entry)
    replace(known, made=made, ids=ids, rows=row_hashes(taken)).save(state)
    return fitted


def _with_the_used_of_a_group(trace: Trace, used: Hashes) -> Trace:
    """Without the other labelled items of a group of which an earlier look has drawn one.

    A new draw might take another of them, and what was tested would be gone.
    """
    if trace.group is None or not len(used):
        return trace
    drawn = trace.labelled & np.isin(hash_texts(trace.item_id), used)
    groups = trace.group.astype(str)
    others = trace.labelled & ~drawn & np.isin(groups, groups[drawn])
    return trace.rows(~others)


def settings_of(
    gate: Router, modes: Sequence[str], grading: Grading | None = None
) -> dict[str, Any]:
    """All that a calibration over these modes depends on besides rows, JSON-ready."""
    params = gate.get_params(deep=False)
    procedure: Procedure = gate.procedure_for(len(modes))
    path = None if gate.path is None else [list(vector) for vector in resolved_path(gate.path)]
    kept = (
        "alpha",
        "delta",
        "by_verdict",
        "groups",
        "max_retrieval",
        "seed",
        *BY_KIND,
    )
    return {name: params.get(name) for name in kept} | {
        "kind": gate.kind,
        "modes": list(modes),
        "procedure": procedure.name,
        "options": json.loads(json.dumps(procedure.options())),
        "path": path,
        "grading": None if grading is None else grading.to_dict(),
    }


def _state(path: Path, settings: Mapping[str, Any], schedule: Schedule | None) -> Looks:
    if not path.exists():
        if schedule is None:
            raise InputError(f"{path}: no such file; the first look needs a schedule (--looks)")
        return Looks(schedule, settings)
    known = Looks.load(path)
    if schedule is not None and schedule != known.schedule:
        raise InputError(
            f"{path} follows another schedule ({known.schedule}, not {schedule}); a schedule is not "
            "changed while it runs"
        )
    for name in dict.fromkeys((*settings, *known.settings)):
        before, now = known.settings.get(name), settings.get(name)
        if before != now:
            raise InputError(
                f"{path}: the looks before used {name} = {before!r}, now it is {now!r}; a schedule "
                "is not changed while it runs"
            )
    return known


def _at_look(certificate: Certificate, look: Look, schedule: Schedule) -> Certificate:
    """The promise of all looks together, and advice within the schedule."""
    statement, shortfall = certificate.statement, certificate.shortfall
    if certificate.certified and certificate.guarantee is Guarantee.HIGH_PROBABILITY:
        sure = f"With confidence {100 * (1 - look.delta_of_all):.6g} % over all looks"
        statement = f"{sure},{statement.partition(',')[2]}"
    if shortfall is not None and shortfall.best_accepted and certificate.n:
        would_do = look_that_would_do(
            schedule,
            look.number,
            error_rate=shortfall.best_errors / shortfall.best_accepted,
            coverage=shortfall.best_accepted / (certificate.n + certificate.n_reserved),
            alpha=certificate.alpha,
            delta=look.delta_of_all,
        )
        labels = None if would_do is None else schedule.size(would_do)
        shortfall = replace(shortfall, labels_needed=labels)
    assumptions = tuple(a for a in certificate.assumptions if a != ONCE)
    assumptions = (*assumptions, look.in_words(), RANDOM_ORDER)
    return replace(
        certificate, statement=statement, shortfall=shortfall, assumptions=assumptions, look=look
    )


RANDOM_ORDER = (
    "which items were labelled next did not depend on labels, verdicts or scores seen before"
)
