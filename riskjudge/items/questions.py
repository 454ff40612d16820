"""Readers of public question files, as they stand: NQ-open (JSONL) and EVOUNA (JSON)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from riskjudge.errors import InputError
from riskjudge.io.jsonl import json_lines, parse_object, read_document, read_objects
from riskjudge.items.item import Item, read_items

EVOUNA_SYSTEMS = ("fid", "gpt35", "chatgpt", "gpt4", "newbing")
"""The answering systems of EVOUNA."""

FORMATS = ("items", "nq-open", "evouna")


def read_questions(
    path: str | Path,
    form: str | None = None,
    *,
    systems: Sequence[str] = (),
    candidates: str | Path | None = None,
) -> list[Item]:
    """Read items from one of the known forms.

    Parameters
    ----------
    path : str | Path
        The file.
    form : str, optional
        ``items`` (this project's JSONL), ``nq-open`` or ``evouna``; by default told from the first
        record.
    systems : Sequence[str]
        Of an EVOUNA file, whose answers to take; all by default.
    candidates : str | Path, optional
        Of an NQ-open file, which holds questions only: a JSON object from question to answer.

    Raises
    ------
    InputError
        If the file is missing, damaged or in none of the forms.
    """
    form = form or _form(path)
    if form not in FORMATS:
        raise InputError(f"the form of a question file is {', '.join(FORMATS)}, got {form!r}")
    if form != "evouna" and systems:
        raise InputError("only an EVOUNA file has systems to choose from")
    if form != "nq-open" and candidates is not None:
        raise InputError(f"{path} carries its own candidates")
    if form == "evouna":
        return read_evouna(path, systems or EVOUNA_SYSTEMS)
    if form == "nq-open":
        return read_nq_open(path, candidates)
    return read_items(path)


def read_evouna(path: str | Path, systems: Sequence[str] = EVOUNA_SYSTEMS) -> list[Item]:
    """Questions with the answers of several systems and what people said of each [1]_.

    An item is a system's answer to a question, named ``place-system``; answers to one question are
    a group, the system is the subset. Questions marked improper are left out. Golden answers that a
    slash divides are alternatives.

    References
    ----------
    .. [1] C. Wang et al., "Evaluating Open-QA Evaluation", NeurIPS 2023, arXiv:2305.12421.
    """
    records = read_document(path)
    if not isinstance(records, list):
        raise InputError(f"{path}: an EVOUNA file is a JSON list")
    items = []
    for place, record in enumerate(records):
        if not isinstance(record, Mapping) or "question" not in record:
            raise InputError(f"{path}, record {place + 1}: no `question`")
        if _judged(record.get("improper"), path, place):
            continue
        for system in systems:
            if f"answer_{system}" not in record:
                have = ", ".join(k[7:] for k in record if k.startswith("answer_"))
                raise InputError(f"{path}, record {place + 1}: no system {system!r}; has {have}")
            items.append(
                Item(
                    id=f"{place}-{system}",
                    prompt=str(record["question"]),
                    responses=(str(record[f"answer_{system}"] or ""),),
                    label=_judged(record.get(f"judge_{system}"), path, place),
                    subset=system,
                    group=str(place) if len(systems) > 1 else None,
                    references=_alternatives(record.get("golden_answer")),
                )
            )
    return items


def read_nq_open(path: str | Path, candidates: str | Path | None = None) -> list[Item]:
    """Natural Questions, open form [1]_: a question and its gold answers a line.

    The file holds no candidate answers. Without `candidates` every item lacks a body, so that no
    judge is asked about it.

    References
    ----------
    .. [1] K. Lee, M.-W. Chang and K. Toutanova, "Latent Retrieval for Weakly Supervised Open Domain
       Question Answering", ACL 2019, arXiv:1906.00300.
    """
    answers: Mapping[str, Any] = {}
    if candidates is not None:
        answers = read_document(candidates)
        if not isinstance(answers, Mapping):
            raise InputError(f"{candidates}: a JSON object from question to answer is needed")
    items = []
    for number, record in read_objects(path):
        question, gold = record.get("question"), record.get("answer")
        if not isinstance(question, str) or not isinstance(gold, list):
            raise InputError(
                f"{path}, line {number}: a `question` (a text) and an `answer` (a list of texts) are "
                "needed"
            )
        references = tuple(str(text) for text in gold)
        response = str(answers.get(question) or "")
        items.append(Item(f"nq-{number}", question, (response,), references=references))
    return items


def _form(path: str | Path) -> str:
    _, first = next(json_lines(path), (0, b""))
    if first.lstrip().startswith(b"["):
        return "evouna"
    try:
        return "nq-open" if parse_object(first).keys() == {"question", "answer"} else "items"
    except InputError:
        return "items"


def _judged(value: Any, path: str | Path, place: int) -> bool | None:
    """A human judgement: a boolean, its name, or nothing."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().casefold() in ("true", "false"):
        return value.strip().casefold() == "true"
    raise InputError(f"{path}, record {place + 1}: {value!r} is no judgement, true or false")


def _alternatives(golden: Any) -> tuple[str, ...]:
    whole = str(golden or "").strip()
    parts = [part.strip(" ,") for part in whole.split("/")]
    # A whole that slashes do not divide into alternatives (a date, say) stays one of them.
    return tuple(dict.fromkeys(text for text in (whole, *parts) if text))
