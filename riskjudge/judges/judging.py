"""From items and judges to a labelled trace, and to decisions that ask no more than they must."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from riskjudge.data.source import ScoreSource
from riskjudge.data.trace import Trace
from riskjudge.data.verdict import BooleanVerdict, Verdict, Winner
from riskjudge.errors import InputError, OperationalError
from riskjudge.items.admission import Admission
from riskjudge.items.item import Item, Label
from riskjudge.judges.model import ModelJudge, SelfEvaluatingJudge
from riskjudge.judges.protocol import Judge
from riskjudge.judges.run import run_into_ledger
from riskjudge.judges.source import refuse_other_sources, source_of
from riskjudge.ledger.rows import Row
from riskjudge.ledger.traces import Cells, arm_cells, rows_by_arm, table_of
from riskjudge.ledger.writer import LedgerWriter
from riskjudge.signals.gate import FusedGate

if TYPE_CHECKING:
    import pandas as pd

    from riskjudge.gate import Router, SelectiveGate

    AnyGate = Router | SelectiveGate | FusedGate
    from riskjudge.gate.outcomes import Outcomes

AnyModelJudge = ModelJudge | SelfEvaluatingJudge
Report = Callable[[int], None]


def labelled(items: Iterable[Item], ways: Sequence[Admission]) -> list[Item]:
    """The items with the label of the first way that needs no model; as they came if there is none.

    Parameters
    ----------
    items : iterable of Item
        To be labelled.
    ways : sequence of Admission
        How, in order of preference.

    Returns
    -------
    list of Item

    Raises
    ------
    InputError
        If that way labels no item at all, or compares with references and the items are pairs.
    """
    items = list(items)
    for item in items:
        if len(item.responses) == 2 and any(way.kind != "column" for way in ways):
            raise InputError(
                f"item {item.id!r} is a pair; its label can only come with it (column)"
            )
    way = next((way for way in ways if way.kind != "llm"), None)
    if way is None or way.kind == "column":
        return items
    found = [replace(item, label=way.label(item)) for item in items]
    if all(item.label is None for item in found):
        raise InputError(f"no item has a reference answer, which the label {way.name!r} needs")
    return found


def arm_of(judge: Any) -> str:
    """How a ledger's arm is named: ``judge/mode``."""
    return f"{judge.name}/{judge.mode}"


def check_shapes(judges: Iterable[Judge], items: Iterable[Item]) -> None:
    """Refuse items that a judge cannot be asked about, before the first one is asked.

    Parameters
    ----------
    judges : iterable of Judge
        Those that ask a model are checked.
    items : iterable of Item
        Those without a body are left out: nobody is asked about them.

    Raises
    ------
    ShapeError
        Naming the item: two responses where one is graded, or no reference to compare with.
    """
    asked = [item for item in items if item.has_body]
    for judge in judges:
        if isinstance(judge, AnyModelJudge):
            for item in asked:
                judge.check(item)


def refuse_other_questions(rows: Iterable[Row], judges: Sequence[Judge]) -> None:
    """Refuse to go on with a ledger whose answers are answers to another question.

    Parameters
    ----------
    rows : iterable of Row
        Of the ledger.
    judges : sequence of Judge
        Who is about to be asked; those that ask a model are compared.

    Raises
    ------
    InputError
        If an answer in it came from another source than its judge has now; the difference is named.
    """
    sources = {arm_of(judge): judge.source for judge in judges if isinstance(judge, AnyModelJudge)}
    for row in rows:
        now, then = sources.get(f"{row.judge}/{row.mode}"), row.disclosure.get("source")
        if now is None or then is None or not isinstance(row.outcome, Verdict):
            continue
        try:
            differences = ScoreSource(then).differences(now, "the ledger", "this run")
        except (InputError, TypeError):
            raise InputError(f"the ledger's row {row.id!r} discloses no source: {then!r}") from None
        if differences:
            raise InputError(
                f"the ledger's row {row.id!r} was answered in another way: {'; '.join(differences)}; "
                "write to another output, or restore what changed"
            )


def trace_table(
    rows: Iterable[Row],
    judges: Sequence[Judge],
    items: Sequence[Item],
    measure: str | None = None,
) -> pd.DataFrame:
    """The trace's table: items in their own order, a mode for each judge in theirs.

    The order in which rows were stored does not show. Items without a body are left out; an item
    that a judge was not asked about has empty cells. What made a mode's scores stands in its column
    `source`.

    Parameters
    ----------
    rows : iterable of Row
        Of a ledger.
    judges : sequence of Judge
        The modes, in order.
    items : sequence of Item
        The labels are theirs, whatever the rows say.
    measure : str, optional
        The uncertainty; by default the one that suits each judge.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    OperationalError
        If a judge gave verdicts, and not one with a confidence.
    """
    return trace_of(rows, judges, items, measure).to_frame()


def trace_of(
    rows: Iterable[Row],
    judges: Sequence[Judge],
    items: Sequence[Item],
    measure: str | None = None,
    modes: Sequence[str] | None = None,
) -> Trace:
    """As :func:`trace_table`, as a trace; `modes` renames the modes."""
    by_arm = rows_by_arm(row for row in rows)
    asked = [item for item in items if item.has_body]
    ids = [item.id for item in asked]
    cells: dict[str, Cells] = {}
    sources = []
    named = [judge.mode for judge in judges]
    names = named if len(set(named)) == len(named) else [arm_of(judge) for judge in judges]
    for judge, name in zip(judges, modes or names, strict=True):
        arm, source = arm_of(judge), source_of(judge, measure)
        found = by_arm.get(arm, {})
        if source["measure"] in ("confidence", "predictive_entropy"):
            _require_confidence(arm, [found[name] for name in ids if name in found])
        cells[name] = arm_cells(arm, found, ids, str(source["measure"]))
        sources.append(source)
    columns: dict[str, list[Any]] = {"label": [_code(item.label) for item in asked]}
    if any(item.group is not None for item in asked):
        columns["group"] = [item.group or item.id for item in asked]
    if any(item.subset is not None for item in asked):
        columns["subset"] = [item.subset for item in asked]
    # What the trace itself says goes before what an item brings under the same name.
    taken = re.compile(r"item_id|label|group|(v|u|why|source|mode)[1-9][0-9]?")
    for name in dict.fromkeys(name for item in asked for name in item.extra):
        if name not in columns and not taken.fullmatch(name):
            columns[name] = [item.extra.get(name) for item in asked]
    return table_of(ids, cells, sources, columns)


def _require_confidence(arm: str, rows: Sequence[Row]) -> None:
    verdicts = [row for row in rows if isinstance(row.outcome, Verdict)]
    if verdicts and all(row.confidence is None for row in verdicts):
        why = verdicts[0].disclosure.get("confidence_missing", "none given")
        raise OperationalError(
            f"{arm}: {len(verdicts)} verdicts, none with a confidence ({why}), so there is nothing "
            "to calibrate. Use --score samples, or the mode verbalised"
        )


def add_labels(
    frame: pd.DataFrame,
    items: Sequence[Item],
    ways: Sequence[Admission],
    evaluations: Mapping[str, Row],
    evaluator: ScoreSource | None = None,
) -> None:
    """Put a column for each way to label into a trace's table; the first way is its ``label``.

    The column `label_source` says where that one comes from.

    Parameters
    ----------
    frame : pandas.DataFrame
        The trace's table, which is changed.
    items : sequence of Item
        What was judged.
    ways : sequence of Admission
        How to label, in order.
    evaluations : mapping of str to Row
        Rows of the LLM evaluator by item; one that failed leaves no label.
    evaluator : ScoreSource, optional
        What made them.
    """
    import pandas as pd

    by_id = {item.id: item for item in items}
    values: list[Label | None]
    for number, way in enumerate(ways):
        if way.kind == "llm":
            values = [_verdict_of(evaluations.get(name)) for name in frame["item_id"]]
        elif way.kind == "column":
            values = [by_id[name].label for name in frame["item_id"]]
        else:
            values = [way.label(by_id[name]) for name in frame["item_id"]]
        column = pd.array([_code(value) for value in values], dtype="Int64")
        if number == 0:
            frame["label"] = column
            made = "" if evaluator is None or way.kind != "llm" else f": {evaluator}"
            frame["label_source"] = way.name + made
        if len(ways) > 1:
            frame[f"label_{way.name}"] = column


def _verdict_of(row: Row | None) -> bool | None:
    return row.outcome.value if row and isinstance(row.outcome, BooleanVerdict) else None


def _code(label: object) -> int | None:
    """As in a trace: 1 for right, or for the first candidate's win."""
    return int(label in (True, Winner.A)) if isinstance(label, bool | Winner) else None


@dataclass(frozen=True, eq=False)
class LazyRun:
    """Decisions, and what they took.

    Attributes
    ----------
    outcomes : Outcomes
        What became of each item.
    asked : mapping of str to int
        Items that each mode was asked about, by its name in the gate.
    n_items : int
        Items with a body.
    """

    outcomes: Outcomes
    asked: Mapping[str, int]
    n_items: int

    @property
    def saved(self) -> Mapping[str, int]:
        """Judgements that each mode was spared."""
        return {mode: self.n_items - asked for mode, asked in self.asked.items()}


def gate_modes(gate: AnyGate, named: Sequence[str]) -> tuple[str, ...]:
    """What a gate calls the modes of some judges, in their order.

    Parameters
    ----------
    gate : Router, SelectiveGate or FusedGate
        It may call its modes what it likes (``mode1``); the same names must mean the same.
    named : sequence of str
        What the judges call them.

    Returns
    -------
    tuple of str
        The judges' own names where the gate is not fitted.

    Raises
    ------
    InputError
        If there are more or fewer judges than modes, or the gate knows them in another order.
    """
    modes = tuple(gate.modes_) if gate.fitted else tuple(named)
    if len(modes) != len(named) or (set(modes) & set(named) and modes != tuple(named)):
        raise InputError(
            f"the gate was fitted on {len(modes)} modes ({', '.join(modes)}), and there are "
            f"{len(named)} ({', '.join(named)}); name the gate's own, in its order"
        )
    return modes


def run_lazily(
    gate: AnyGate,
    judges: Sequence[AnyModelJudge],
    items: Sequence[Item],
    ledger: LedgerWriter,
    *,
    concurrency: int = 1,
    on_mismatch: str = "refuse",
    report: Callable[[str, int], Report] = lambda mode, total: lambda done: None,
) -> LazyRun:
    """Decide items with a gate, asking each mode only about what no earlier mode was accepted on.

    A mode without a threshold is never asked; a gate that accepts nothing asks nobody.

    Parameters
    ----------
    gate : Router, SelectiveGate or FusedGate
        Fitted or not. A fused gate asks all modes of a stage before it decides.
    judges : sequence of ModelJudge or SelfEvaluatingJudge
        One for each of the gate's modes, in its order.
    items : sequence of Item
        What to decide.
    ledger : LedgerWriter
        Keeps the judgements; one that holds some already is gone on with.
    concurrency : int
        Judgements under way at once.
    on_mismatch : {"refuse", "uncertify"}
        What to do where the gate was fitted on scores that were made in another way: stop before
        anything is asked, or decide without a certificate.
    report : callable
        Given a mode and the number of its items, returns what is told the number done.

    Raises
    ------
    InputError
        If there are more or fewer judges than modes, the gate knows them in another order, or it was
        fitted on scores of another source.
    """
    modes = gate_modes(gate, [judge.mode for judge in judges])
    waiting = [item for item in items if item.has_body]
    if not waiting:
        raise InputError("no item has a body; there is nothing to decide")
    check_shapes(judges, waiting)
    refuse_other_questions(ledger.rows, judges)
    if gate.fitted:
        refuse_other_sources(gate, [source_of(j) for j in judges], on_mismatch=on_mismatch)
    n_items, asked = len(waiting), dict.fromkeys(modes, 0)

    def decide(items: Sequence[Item]) -> Outcomes:
        trace = trace_of(ledger.rows, judges, items, modes=modes)
        # The option is the gate's; nothing is passed where it says what it does anyway.
        options: dict[str, Any] = {} if on_mismatch == "refuse" else {"on_mismatch": on_mismatch}
        return gate.decide(trace, **options)

    steps = _steps(gate, modes)
    if isinstance(gate, FusedGate) and steps:
        decide(waiting)  # a column that a signal needs is missed before anything is asked
    for stage, step in enumerate(steps):
        for k in step:
            asked[modes[k]] = len(waiting)
            progress = report(modes[k], len(waiting))
            run_into_ledger([judges[k]], waiting, ledger, concurrency=concurrency, report=progress)
        outcomes = decide(waiting)
        done = outcomes.accepted
        if isinstance(gate, FusedGate):  # what a later stage says rests on modes not asked yet
            done = done & (outcomes.mode <= stage)
        accepted = set(outcomes.item_id[done])
        waiting = [item for item in waiting if item.id not in accepted]
        if not waiting:
            break
    return LazyRun(decide(items), asked, n_items)


def _steps(gate: AnyGate, modes: Sequence[str]) -> list[list[int]]:
    """The modes that have to be asked, in order; those of one step are asked of the same items."""
    if not gate.fitted:
        return [] if isinstance(gate, FusedGate) or gate.unfitted == "abstain" else [[0]]
    if isinstance(gate, FusedGate):
        return [[modes.index(mode) for mode in step] for step in gate.steps]
    used = gate.rule_.used
    return [[k] for k in range(len(modes)) if used[k]]
