"""A promise for each group: certificates that hold together, and one for the groups that are small."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from riskjudge import binomial
from riskjudge._typing import BoolArray, IntArray, ObjectArray
from riskjudge.calibration import Certificate, Guarantee, Sample
from riskjudge.calibration.together import certify_together
from riskjudge.data.grading import Grading
from riskjudge.data.trace import Trace, as_trace
from riskjudge.errors import InputError
from riskjudge.gate.document import GROUPED, sealed, write_document
from riskjudge.gate.labels import LabelPrints
from riskjudge.gate.outcomes import Outcomes, stack_outcomes
from riskjudge.gate.path import Vectors, refuse_seen_labels, resolved_path
from riskjudge.gate.router import Prepared, Router
from riskjudge.gate.sql import dialect_named

REST = "(rest)"


class GroupedGate:
    """A gate for each value of a column, with one promise for all of them together.

    Parameters
    ----------
    gate : Router
        Unfitted; its settings are those of every group. Its delta is that of all groups together.
    by : str
        Column carried along by the trace.
    min_n : int, optional
        Labelled items that a group needs for a certificate of its own. By default twice as many as
        certify without an error if half of them are accepted, at the group's share of delta. Smaller
        groups, items without a value and values never seen before make up *the rest*, which gets a
        certificate of its own: a promise about the rest as a whole, not about each group in it.

    Attributes
    ----------
    gates_ : dict of str to gate
        One for each group that is large enough.
    rest_ : gate or None
        For all other items; None where none of them has a label (then they are declined).
    short_ : dict of str to int
        Labelled items of each group that is too small; `need_` is what it needs.

    Examples
    --------
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> u, label = rng.random((800, 1)), rng.integers(0, 2, 800)
    >>> trace = Trace.from_arrays(u, label[:, None] ^ (rng.random((800, 1)) < 0.2 * u), label)
    >>> topics = pd.DataFrame({"topic": np.repeat(["a", "b"], 400)})
    >>> grouped = GroupedGate(Router(alpha=0.15), by="topic").fit(replace(trace, extra=topics))
    >>> sorted(grouped.gates_), grouped.rest_, grouped.certified
    (['a', 'b'], None, True)
    """

    kind: ClassVar[str] = GROUPED

    gates_: dict[str, Router]
    rest_: Router | None
    short_: dict[str, int]
    need_: int

    def __init__(self, gate: Router, by: str, min_n: int | None = None) -> None:
        self.gate = gate
        self.by = by
        self.min_n = min_n

    def fit(self, trace: Trace, pool: Trace | None = None) -> Self:
        """Calibrate all groups together; see :mod:`riskjudge.calibration.together` for the proof."""
        trace = as_trace(trace)
        pool = None if pool is None else as_trace(pool)
        values = self._values(trace)
        labelled, counts = np.unique(values[trace.labelled].astype(str), return_counts=True)
        have = {str(v): int(n) for v, n in zip(labelled, counts, strict=True) if v != REST}
        share = self.gate.delta / max(len(have) + 1, 1)
        # Sizes decide, labels do not: which groups are tested is fixed before labels are seen.
        self.need_ = self.min_n or 4 * binomial.min_accepted(self.gate.alpha, share)
        self.short_ = {name: n for name, n in have.items() if n < self.need_}
        large = [name for name in have if name not in self.short_]
        pooled = None if pool is None else self._values(pool)
        parts = {name: values == name for name in large}
        parts[REST] = ~np.isin(values, large)
        prepared: dict[str, tuple[Trace, Prepared]] = {}
        for name, inside in parts.items():
            rows = trace.rows(inside)
            if not rows.labelled.any():
                continue
            more = None
            if pool is not None and pooled is not None:
                held = pooled == name if name != REST else ~np.isin(pooled, large)
                more = pool.rows(held) if held.any() else None
            prepared[name] = rows, self.gate.prepare(rows, more)
        if not prepared:
            raise InputError("no item has a label; calibration needs labelled items")
        self.gate.refuse_one_label(trace.rows(trace.labelled))
        path = None if self.gate.path is None else resolved_path(self.gate.path)
        seen = None
        if path is not None:
            # Against all labelled items at once: one group alone may be too few to tell copies.
            labelled_items = trace.select(trace.modes).rows(trace.labelled)
            used, fingerprint = LabelPrints.of(labelled_items), labelled_items.fingerprint()
            seen = refuse_seen_labels(path, used, fingerprint)
        samples = {name: item.sample for name, (_, item) in prepared.items()}
        certificates = self._certify(samples, path)
        fitted = {}
        for name, (rows, item) in prepared.items():
            part = self.gate.fresh()
            part.adopt(rows, item, self._about(name, certificates[name], len(prepared)))
            part.path_labels_ = seen
            fitted[name] = part
        self.rest_ = fitted.pop(REST, None)
        self.gates_ = fitted
        return self

    def _certify(
        self, samples: Mapping[str, Sample], path: Vectors | None
    ) -> dict[str, Certificate]:
        first = next(iter(samples.values()))
        gate = self.gate
        procedure = gate.procedure_for(len(first.modes) // first.columns_per_mode, path)
        return certify_together(procedure, samples, gate.target(gate.alpha), gate.seed)

    def _about(self, name: str, certificate: Certificate, together: int) -> Certificate:
        """Say which items the promise is about."""
        where = f"{self.by} = {name}"
        if name == REST:
            where = f"any other {self.by}, taken as a whole"
        statement = certificate.statement
        if certificate.certified and certificate.guarantee is Guarantee.HIGH_PROBABILITY:
            statement = (
                f"For {where}, together with the other groups' certificates: "
                f"{statement[0].lower()}{statement[1:]}"
            )
        note = f"one of {together} certificates that hold together; this one is about {where}"
        return replace(
            certificate, statement=statement, assumptions=(*certificate.assumptions, note)
        )

    def decide(self, trace: Trace, *, on_mismatch: str = "refuse") -> Outcomes:
        """Accept, abstain or fail, item by item, each by the gate of its group.

        Parameters
        ----------
        trace : Trace
        on_mismatch : {"refuse", "uncertify"}
            See :meth:`.Router.decide`.
        """
        trace = as_trace(trace, self.columns_, self.grading_)
        decided, places = [], []
        for rows, gate in self.parts_of(trace):
            if gate is None:  # nothing is promised about these: none is accepted
                gate = self.gate.fresh().set_params(unfitted="abstain")
            decided.append(gate.decide(trace.rows(rows), on_mismatch=on_mismatch))
            places.append(rows)
        return stack_outcomes(decided).at(np.argsort(np.concatenate(places), kind="stable"))

    def parts_of(self, trace: Trace) -> list[tuple[IntArray, Router | None]]:
        """Positions of the items that each gate is for; of those that none is for, None."""
        values = self._values(trace)
        known = np.isin(values, list(self.gates_))
        parts: list[tuple[BoolArray, Router | None]] = [
            (values == name, gate) for name, gate in self.gates_.items()
        ]
        parts.append((~known, self.rest_))
        return [(np.flatnonzero(inside), gate) for inside, gate in parts if inside.any()]

    @property
    def fitted(self) -> bool:
        """Whether :meth:`fit` was called."""
        return hasattr(self, "gates_")

    @property
    def all_gates(self) -> dict[str, Router]:
        """Every fitted gate by its group, the rest included."""
        return self.gates_ | ({} if self.rest_ is None else {REST: self.rest_})

    @property
    def certified(self) -> bool:
        """Whether any group's verdicts may be accepted."""
        return any(gate.certificate_.certified for gate in self.all_gates.values())

    @property
    def alpha(self) -> float:
        """Risk level, the same in every group."""
        return self.gate.alpha

    @property
    def certificate_(self) -> Certificate:
        """There is one for each group, see :attr:`all_gates`."""
        raise InputError(
            f"this gate has a certificate for each {self.by}: {', '.join(self.all_gates)}"
        )

    def to_sql(self, value: str = "mode", dialect: str = "ansi") -> str:
        """The rule of each group in one CASE expression over the trace's columns."""
        written = dialect_named(dialect)
        group = f"CAST({written.column(self.by)} AS {written.text})"
        rest = "NULL" if self.rest_ is None else f"({self.rest_.to_sql(value, dialect)})"
        if not self.gates_:
            return rest
        lines = ["CASE"]
        for name, gate in self.gates_.items():
            rule = gate.to_sql(value, dialect)
            lines.append(f"  WHEN {group} = {written.literal(name)} THEN ({rule})")
        return "\n".join([*lines, f"  ELSE {rest}", "END"])

    @property
    def columns_(self) -> Any:
        """Columns of the modes."""
        return next(iter(self.all_gates.values())).columns_

    @property
    def grading_(self) -> Grading | None:
        """How scores were made verdicts."""
        return next(iter(self.all_gates.values())).grading_

    @property
    def notes_(self) -> tuple[str, ...]:
        """Groups too small for a certificate of their own."""
        return tuple(
            f"{self.by} = {name}: need {self.need_} labelled items, have {n}; joined with the rest"
            for name, n in self.short_.items()
        )

    def save(self, path: str | Path) -> None:
        """Write the gate as versioned JSON, whole or not at all."""
        write_document(path, self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """The gate as a JSON-ready document, its checksum included."""
        return sealed(
            {
                "kind": self.kind,
                "by": self.by,
                "groups": {name: gate.to_dict() for name, gate in self.gates_.items()},
                "rest": None if self.rest_ is None else self.rest_.to_dict(),
                "short": dict(self.short_),
                "need": self.need_,
            }
        )

    @classmethod
    def rebuilt(
        cls, data: Mapping[str, Any], gates: dict[str, Router], rest: Router | None
    ) -> GroupedGate:
        """From a checked document and the gates in it."""
        some = rest if rest is not None else next(iter(gates.values()))
        grouped = cls(some.fresh(), data["by"], data["need"])
        grouped.gates_, grouped.rest_ = gates, rest
        grouped.short_, grouped.need_ = dict(data["short"]), data["need"]
        return grouped

    def _values(self, trace: Trace) -> ObjectArray:
        """Group of each item; what has none is of the rest."""
        if self.by not in trace.extra.columns:
            known = ", ".join(map(str, trace.extra.columns)) or "none"
            raise InputError(f"the trace carries no column {self.by!r}; it carries {known}")
        column = trace.extra[self.by]
        named = column.map(str).astype(object)
        return np.asarray(named.where(column.notna(), REST), dtype=object)
