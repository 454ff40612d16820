"""The figures that the paper publishes, as data."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from riskjudge.errors import InputError
from riskjudge.evaluation.splits import PAPER_ALPHAS

CANDIDATES = ("Qwen3-8B", "Llama-3.1-70B")
JUDGES = ("Qwen3-4B", "Qwen3-8B", "Qwen3-14B", "Llama-3.1-8B")
DATASETS = ("TriviaQA", "NQ-Open", "PopQA", "HotpotQA")
ALPHAS = PAPER_ALPHAS[:5]

TABLES = {
    "table01": "table01_joint_coverage",
    "table02": "table02_mode1_vs_joint",
    "table03": "table03_retrieval_drift",
    "table05": "table05_verdict_accuracy",
    "table06": "table06_fdr_coverage_all_alpha",
    "table07": "table07_admission_function",
    "table08": "table08_retrieval_depth",
    "table09": "table09_delta",
    "table10": "table10_calibration_size",
    "table11": "table11_uncertainty_scores",
    "table12": "table12_baselines",
    "table13": "table13_conservative",
    "table14": "table14_retrieval_uncertainty",
    "routing": "routing_shares",
}
"""Short names of the published tables, and their files."""

_TEXT = {"candidate", "judge", "dataset", "admission", "score", "variant"}
_PACKAGE_DATA = Path(__file__).resolve().parents[1] / "_data"
_CHECKOUT_DATA = Path(__file__).resolve().parents[2] / "data"

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, order=True)
class Configuration:
    """A judge on a candidate's answers to a data set, in the main setting or a variant of it.

    Attributes
    ----------
    candidate, judge, dataset : str
    variant : str
        ``main``, or what differs: an admission function (``exact_match``, ``token_f1``), a
        retrieval depth (``k6``, ``k9``), a score (``probe``, ``lora_prompt``), a baseline
        (``self_eval``, ``empty``), or a later snapshot (``requeried``).

    Examples
    --------
    >>> Configuration("Qwen3-8B", "Qwen3-14B", "NQ-Open").name
    'Qwen3-8B__Qwen3-14B__NQ-Open__main'
    """

    candidate: str
    judge: str
    dataset: str
    variant: str = "main"

    @property
    def name(self) -> str:
        """Name of the configuration's trace file, without the ending."""
        return "__".join((self.candidate, self.judge, self.dataset, self.variant))

    @classmethod
    def of(cls, row: Row, variant: str = "main") -> Configuration:
        """The configuration that a published row belongs to."""
        return cls(row["candidate"], row["judge"], row["dataset"], variant)


def main_configurations() -> list[Configuration]:
    """The 32 configurations of the main tables, in the paper's order."""
    return [Configuration(c, j, d) for c in CANDIDATES for j in JUDGES for d in DATASETS]


def data_path(*parts: str) -> Path:
    """Path of a file that ships with the project: inside the wheel, or in a checkout's ``data/``.

    Raises
    ------
    InputError
        If the file is in neither place.

    Examples
    --------
    >>> data_path("paper", "table09_delta.csv").name
    'table09_delta.csv'
    """
    for root in (_PACKAGE_DATA, _CHECKOUT_DATA):
        path = root.joinpath(*parts)
        if path.exists():
            return path
    raise InputError(f"{'/'.join(parts)} does not come with this installation of riskjudge")


@cache
def published(table: str) -> tuple[Row, ...]:
    """Rows of a published table.

    Parameters
    ----------
    table : str
        One of :data:`TABLES`, such as ``"table01"``.

    Returns
    -------
    tuple of dict
        Names and numbers of each row, in the file's order.

    Raises
    ------
    InputError
        For an unknown table; the message lists the known ones.

    Examples
    --------
    >>> published("table05")[0]["accuracy_mode2"]
    0.79
    """
    if table not in TABLES:
        raise InputError(f"unknown table {table!r}; known: {', '.join(TABLES)}")
    path = data_path("paper", f"{TABLES[table]}.csv")
    with path.open(newline="", encoding="utf-8") as file:
        return tuple(
            {key: _value(key, text) for key, text in row.items()} for row in csv.DictReader(file)
        )


def _value(key: str, text: str) -> str | int | float:
    if key in _TEXT:
        return text
    return int(text) if key == "k" else float(text)
