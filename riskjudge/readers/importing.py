"""From other tools' files to a trace, saying what was taken for what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riskjudge.data.verdict import (
    UNDECIDED,
    Abstention,
    BooleanVerdict,
    Failure,
    FailureKind,
    Undecided,
)
from riskjudge.errors import InputError
from riskjudge.readers.choices import Choices, Field, label_candidates, pick
from riskjudge.readers.documents import Document, read_document
from riskjudge.readers.formats import Format
from riskjudge.readers.labels import labels_by_id
from riskjudge.readers.recognition import recognise
from riskjudge.readers.records import TIES, Record, Said, as_number, failed

if TYPE_CHECKING:
    import pandas as pd

_ONE_JUDGE_A_RECORD = "*"


@dataclass(frozen=True, eq=False)
class Imported:
    """A trace's table, and how it came about.

    Attributes
    ----------
    frame : DataFrame
        Columns of a trace: ``item_id, label, v1, u1, why1, …`` and whatever else the file carried.
    modes : tuple of str
        The judge behind each mode.
    taken : tuple of str
        What was taken for verdict, uncertainty, label and group.
    notes : tuple of str
        What is missing, or was left out, and why.
    """

    frame: pd.DataFrame
    modes: tuple[str, ...]
    taken: tuple[str, ...]
    notes: tuple[str, ...]


def import_files(
    paths: Sequence[str | Path],
    *,
    format: str | None = None,
    choices: Choices | None = None,
    labels: str | Path | None = None,
) -> Imported:
    """Read the judgements in other tools' files.

    Parameters
    ----------
    paths : sequence of str or Path
        Files of one tool; their items are put together.
    format : str, optional
        By default recognised from the content.
    choices : Choices, optional
        Answers where a file leaves a choice. Where it does and none is given, an error lists the
        candidates: nothing is guessed.
    labels : str or Path, optional
        A file of labels, joined by id.

    Raises
    ------
    InputError
        If a file cannot be read, an id occurs twice, or a choice is left open.
    """
    choices = choices or Choices()
    reader, records = _records(paths, format, choices)
    taken = [f"format: {reader.name}"]
    notes: list[str] = []
    if choices.correct is not None:
        records = _with_correctness(records, Field.parse(choices.correct))
    elif choices.verdicts:
        fields = [Field.parse(text) for text in choices.verdicts]
        records = [_with_verdicts(record, fields, choices.cut) for record in records]
        _require_values(records, [field.name for field in fields], "verdict")
    found, label_said = _labels(records, choices, labels)
    used = {label_said.partition(",")[0]}
    judges = _judges(records, choices, used)
    frame: dict[str, Any] = {
        "item_id": [record.id for record in records],
        "label": _nullable([found.get(record.id) for record in records]),
    }
    for number, judge in enumerate(judges, start=1):
        answers = [_said(record, judge) for record in records]
        answers, how = _resolved(judge, answers, choices)
        answers, unsure = _with_uncertainty(answers, records, choices, number, len(judges))
        taken.append(f"v{number}: {judge}{how}")
        taken.append(f"u{number}: {unsure}")
        frame |= {f"mode{number}": judge} | _columns(number, answers)
        notes.append(_census(judge, answers))
    taken.append(f"label: {label_said}" if found else "label: none")
    if not found:
        notes.append(
            "no label was found: --labels FILE joins one by id, --label NAME names a field"
        )
    elif len(found) < len(records):
        notes.append(f"{len(records) - len(found)} items have no label")
    groups = [_group(record, choices) for record in records]
    if any(group is not None for group in groups):
        frame["group"] = [
            g if g is not None else r.id for g, r in zip(groups, records, strict=True)
        ]
        taken.append(f"group: {choices.group or 'the items that belong together'}")
    frame |= _extra(records, set(frame))
    import pandas as pd

    return Imported(pd.DataFrame(frame), tuple(judges), tuple(taken), tuple(notes))


def _records(
    paths: Sequence[str | Path], format: str | None, choices: Choices
) -> tuple[Format, list[Record]]:
    if not paths:
        raise InputError("no file is named")
    records: dict[str, Record] = {}
    first: Format | None = None
    for path in paths:
        document = read_document(path)
        if first is not None and _is_batch_input(document):
            continue  # the requests of a batch: what was asked, not what was answered
        reader = recognise(document, format)
        if first is not None and reader.name != first.name:
            raise InputError(f"{path} is of the format {reader.name}, {paths[0]} of {first.name}")
        first = reader
        for record in reader.records(document, choices.other):
            if record.id in records:
                raise InputError(
                    f"{path}: the item {record.id!r} occurs twice; every item needs an id of its own"
                )
            records[record.id] = record
    if first is None or not records:
        raise InputError(f"{paths[0]}: there is no item")
    return first, list(records.values())


def _is_batch_input(document: Document) -> bool:
    return {"custom_id", "method", "url", "body"} <= set(document.first)


def _with_correctness(records: list[Record], field: Field) -> list[Record]:
    """The verdict is "right" throughout, and the label whether that holds."""
    _require_values(records, [field.name], "correctness")
    told = []
    for record in records:
        correct = field.read(record.fields, record.id)
        said_nothing = failed("not known whether right", FailureKind.NO_VERDICT)
        answer = said_nothing if correct is None else Said(BooleanVerdict(True))
        told.append(replace(record, judges={field.name: answer}, label=correct))
    return told


def _with_verdicts(record: Record, fields: Sequence[Field], cut: float | None) -> Record:
    judges: dict[str, Said] = {}
    for field in fields:
        value = record.fields.get(field.name)
        number = as_number(value)
        if value is None or value == "":
            judges[field.name] = failed("the verdict is empty", FailureKind.NO_VERDICT)
        elif cut is not None and number is not None:
            judges[field.name] = Said(score=number)
        elif str(value).strip().casefold() in TIES:
            judges[field.name] = Said(Undecided())
        else:
            verdict = field.read(record.fields, record.id)
            assert verdict is not None
            judges[field.name] = Said(BooleanVerdict(verdict))
    return replace(record, judges=judges)


def _require_values(records: Sequence[Record], names: Sequence[str], what: str) -> None:
    for name in names:
        if all(record.fields.get(name) is None for record in records):
            have = ", ".join(dict.fromkeys(key for r in records for key in r.fields)) or "none"
            raise InputError(f"no item has a field {name!r} for the {what}; there are {have}")


def _judges(records: Sequence[Record], choices: Choices, used: set[str]) -> list[str]:
    names = list(dict.fromkeys(n for r in records for n in r.judges if n != _ONE_JUDGE_A_RECORD))
    if choices.judges:
        return [str(pick("judge", name, names, "--judge")) for name in choices.judges]
    if choices.correct is None:
        # What serves as the label is no judge: people's scores stand among the others in some tools.
        names = [n for n in names if not {n, f"feedback.{n}", f"scores.{n}"} & used]
    if not names:
        have = ", ".join(list(records[0].fields)[:12]) or "none"
        raise InputError(
            f"no judge was found; name the field of its verdict: --verdict NAME (there are {have})"
        )
    if choices.verdicts or choices.correct is not None:
        return names
    return [str(pick("judge", None, names, "--judge"))]


def _labels(
    records: Sequence[Record], choices: Choices, labels: str | Path | None
) -> tuple[dict[str, bool], str]:
    if labels is not None:
        return labels_by_id(read_document(labels), records, choices.label)
    own = {record.id: record.label for record in records if record.label is not None}
    if choices.label is None and own:
        return own, choices.correct or "what the format gives"
    taken = [Field.parse(text).name for text in choices.verdicts]
    name = choices.label or pick("label", None, label_candidates(records, taken), "--label")
    if name is None:
        return {}, "none"
    field = Field.parse(name)
    if field.name in taken:
        raise InputError(f"{field.name!r} cannot be both the verdict and the label")
    read = {record.id: field.read(record.fields, record.id) for record in records}
    found = {key: value for key, value in read.items() if value is not None}
    if not found:
        raise InputError(f"no item has a field {field.name!r} for the label")
    return found, field.name


def _said(record: Record, judge: str) -> Said:
    if judge in record.judges:
        return record.judges[judge]
    missing = failed(f"{judge} said nothing", FailureKind.NO_VERDICT)
    return record.judges.get(_ONE_JUDGE_A_RECORD, missing)


def _resolved(judge: str, answers: list[Said], choices: Choices) -> tuple[list[Said], str]:
    """Scores become verdicts at the cut; where there are scores only, there must be one."""
    scores = [a.score for a in answers if a.score is not None]
    open_ = any(a.outcome is None for a in answers)
    if choices.cut is None:
        if open_:
            raise InputError(
                f"{judge} gives numbers from {min(scores):g} to {max(scores):g}, not verdicts: --cut "
                "says from which number on an item passes"
            )
        return answers, ""
    cut = choices.cut
    if not scores:
        raise InputError(f"{judge} gives no numbers to cut")
    widest = max(max(scores) - cut, cut - min(scores)) or 1.0
    cut_at: list[Said] = []
    for answer in answers:
        if answer.score is None:
            cut_at.append(answer)
            continue
        unsure = 1.0 - abs(answer.score - cut) / widest
        cut_at.append(Said(BooleanVerdict(answer.score >= cut), answer.score, unsure, "cut"))
    return cut_at, f" at or above {cut:g}"


def _with_uncertainty(
    answers: list[Said], records: Sequence[Record], choices: Choices, number: int, n_modes: int
) -> tuple[list[Said], str]:
    names = choices.uncertainties or choices.confidences
    if names and len(names) != n_modes:
        raise InputError(
            f"{n_modes} modes need {n_modes} fields for how sure they are, got {names}"
        )
    if names:
        name = names[number - 1]
        turn: Callable[[float], float] = (lambda x: 1.0 - x) if choices.confidences else float
        numbers = [as_number(record.fields.get(name)) for record in records]
        if all(number is None for number in numbers):
            raise InputError(f"no item has a number in {name!r}")
        if choices.confidences and any(n is not None and not 0.0 <= n <= 1.0 for n in numbers):
            raise InputError(f"{name!r} is no confidence: it is not always from 0 to 1")
        moved = [
            replace(a, uncertainty=None if n is None else turn(n))
            for a, n in zip(answers, numbers, strict=True)
        ]
        return moved, f"1 - {name}" if choices.confidences else name
    graded = [a for a in answers if isinstance(a.outcome, BooleanVerdict)]
    measures = {a.measure for a in graded if a.uncertainty is not None}
    if len(measures) > 1:
        raise InputError(f"uncertainties of different kinds: {', '.join(map(str, measures))}")
    if measures:
        return answers, str(measures.pop())
    plain = [
        replace(a, uncertainty=0.0) if isinstance(a.outcome, BooleanVerdict) else a for a in answers
    ]
    return plain, "none recorded, so every verdict has 0: all are accepted or none"


def _columns(number: int, answers: Sequence[Said]) -> dict[str, Any]:
    verdicts: list[bool | None] = []
    unsure: list[float | None] = []
    why: list[str | None] = []
    for answer in answers:
        outcome = answer.outcome
        graded = isinstance(outcome, BooleanVerdict)
        verdicts.append(outcome.value if isinstance(outcome, BooleanVerdict) else None)
        unsure.append(answer.uncertainty if graded else None)
        match outcome:
            case Abstention(reason):
                why.append(str(reason))
            case Undecided():
                why.append(UNDECIDED)
            case Failure(kind, _):
                why.append(str(kind))
            case _:
                why.append(None if answer.uncertainty is not None else "no_confidence")
    columns: dict[str, Any] = {f"v{number}": _nullable(verdicts), f"u{number}": unsure}
    if any(reason is not None for reason in why):
        columns[f"why{number}"] = why
    return columns


def _census(judge: str, answers: Sequence[Said]) -> str:
    kinds: Counter[str] = Counter()
    for answer in answers:
        match answer.outcome:
            case BooleanVerdict():
                kinds["verdicts"] += 1
            case Undecided():
                kinds["undecided"] += 1
            case Abstention(reason):
                kinds[f"abstained ({reason})"] += 1
            case Failure(kind, _):
                kinds[f"failed ({kind})"] += 1
    return f"{judge}: " + ", ".join(f"{count} {kind}" for kind, count in kinds.items())


def _group(record: Record, choices: Choices) -> str | None:
    if choices.group is None:
        return record.group
    value = record.fields.get(choices.group)
    if value is None:
        raise InputError(f"item {record.id!r} has no field {choices.group!r} for the group")
    return str(value)


def _extra(records: Sequence[Record], taken: set[str]) -> dict[str, list[Any]]:
    """The other fields, without the prefix ``metadata.`` where that leaves them unique."""
    names = dict.fromkeys(name for record in records for name in record.fields)
    found: dict[str, list[Any]] = {}
    for name in names:
        short = name.removeprefix("metadata.")
        column = short if short not in taken and short not in found else name
        if column not in taken:
            found[column] = [record.fields.get(name) for record in records]
    return found


def _nullable(values: Sequence[bool | None]) -> Any:
    import pandas as pd

    return pd.array([None if v is None else int(v) for v in values], dtype="Int64")
