"""Reader of the public LLMBar layout: a folder per subset, a `dataset.json` in each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from riskjudge.data.verdict import Winner
from riskjudge.errors import InputError
from riskjudge.io.jsonl import read_document
from riskjudge.items.item import Item

MAIN_SUBSETS = (
    "LLMBar/Natural",
    "LLMBar/Adversarial/Neighbor",
    "LLMBar/Adversarial/GPTInst",
    "LLMBar/Adversarial/GPTOut",
    "LLMBar/Adversarial/Manual",
)
"""The 419 main pairs: the natural subset and the four adversarial ones."""


def read_llmbar(folder: str | Path, subsets: Sequence[str] = MAIN_SUBSETS) -> list[Item]:
    """Read LLMBar pairs; each is named by its subset and its place in it.

    Parameters
    ----------
    folder : str | Path
        A checkout of the LLMBar repository, its `Dataset` folder, or that folder's `LLMBar`.
    subsets : Sequence[str]
        Folders below `Dataset`; by default the main pairs. `CaseStudy/…` and `Processed/…` work.

    Raises
    ------
    InputError
        If a subset is not there, or a pair is damaged; the message names it.

    References
    ----------
    .. [1] Z. Zeng et al., "Evaluating Large Language Models at Evaluating Instruction Following",
       ICLR 2024, arXiv:2310.07641.
    """
    root = _dataset_folder(Path(folder))
    return [item for subset in subsets for item in _read_subset(root, subset)]


def _dataset_folder(folder: Path) -> Path:
    for candidate in (folder / "Dataset", folder, folder.parent):
        if (candidate / MAIN_SUBSETS[0] / "dataset.json").is_file():
            return candidate
    raise InputError(
        f"{folder} is not an LLMBar folder: no Dataset/{MAIN_SUBSETS[0]}/dataset.json in it"
    )


def _read_subset(root: Path, subset: str) -> list[Item]:
    path = root / subset / "dataset.json"
    records = read_document(path)
    if not isinstance(records, list):
        raise InputError(f"{path}: a list of pairs is expected")
    return [_item(path, subset, index, record) for index, record in enumerate(records)]


def _item(path: Path, subset: str, index: int, record: Any) -> Item:
    try:
        winner = {1: Winner.A, 2: Winner.B}[record["label"]]
        texts = [record[name] for name in ("input", "output_1", "output_2")]
    except (KeyError, TypeError) as error:
        raise InputError(
            f"{path}, pair {index}: `input`, `output_1`, `output_2` and a `label` of 1 or 2 "
            f"are expected (got {error})"
        ) from None
    if not all(isinstance(text, str) for text in texts):
        raise InputError(f"{path}, pair {index}: the input and the outputs are texts")
    prompt, first, second = texts
    return Item(f"{subset}/{index}", prompt, (first, second), label=winner, subset=subset)
