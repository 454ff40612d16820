"""Which published figures each configuration is fitted to, and which are left to be predicted.

Fitted: Tables 1, 2, 5 and 6; Table 14 fixes the saturated shares and the marginals of the
uncertainty. Variants that only one table shows (3, 7, 8, 11, 12) are fitted to that table, starting
from the main setting. Left out, and so predicted: Tables 9, 10 and 13, the direct row of 12, and
every routing share.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace

from riskjudge.paper.model import Draws
from riskjudge.paper.published import Configuration, Row, main_configurations, published

N_ITEMS = 2000
"""Items of each data set."""

ADMISSIONS = ("exact_match", "token_f1")
DEPTHS = {"k6": 6, "k9": 9}
LEARNED_SCORES = ("probe", "lora_prompt")
BASELINES = ("self_eval", "empty")
REQUERIED = "requeried"

_PLATEAU = (
    0.3  # above it Table 6 repeats itself: twelve equal figures count as little more than one
)
_COLUMN = {"table07": "admission", "table08": "k", "table11": "score", "table12": "variant"}


@dataclass(frozen=True, slots=True)
class Target:
    """A published figure that the fit is drawn to.

    Attributes
    ----------
    metric : str
        ``coverage``, ``fdr``, ``coverage_mode1``, ``accuracy1`` or ``accuracy2``.
    alpha : float
        Risk level; 0 for an accuracy.
    value, weight : float
    """

    metric: str
    alpha: float
    value: float
    weight: float = 1.0


def seed_of(configuration: Configuration) -> int:
    """Seed of a configuration's draws: its main setting's, so that variants share their items.

    Examples
    --------
    >>> main = Configuration("Qwen3-8B", "Qwen3-8B", "PopQA")
    >>> seed_of(main) == seed_of(replace(main, variant="probe"))
    True
    """
    return zlib.crc32(replace(configuration, variant="main").name.encode())


def draws_of(configuration: Configuration, n: int = N_ITEMS) -> Draws:
    """The draws behind a configuration's trace."""
    return Draws.of(n, seed_of(configuration))


def variant_configurations() -> list[Configuration]:
    """The configurations that only a single table shows, without the re-queried snapshots."""
    named = {name: name for name in (*ADMISSIONS, *LEARNED_SCORES, *BASELINES)}
    named |= {str(k): name for name, k in DEPTHS.items()}
    found: dict[Configuration, None] = {}
    for table, column in _COLUMN.items():
        for row in published(table):
            variant = named.get(str(row[column]))
            if variant is not None:
                found[Configuration.of(row, variant)] = None
    return list(found)


def requeried_configurations() -> list[Configuration]:
    """The configurations whose retrieval was asked again later (Table 3)."""
    return list(dict.fromkeys(Configuration.of(row, REQUERIED) for row in published("table03")))


def all_configurations() -> list[Configuration]:
    """Every configuration that some table needs."""
    return [*main_configurations(), *variant_configurations(), *requeried_configurations()]


def targets_of(configuration: Configuration) -> list[Target]:
    """The published figures that a configuration is fitted to.

    Examples
    --------
    >>> [t.value for t in targets_of(Configuration("Llama-3.1-70B", "Qwen3-8B", "PopQA", "k9"))]
    [0.36, 0.17]
    """
    found: dict[tuple[str, float], Target] = {}
    for row in published_rows(configuration):
        alpha = row.get("alpha", 0.0)
        weight = 1.0
        if alpha > _PLATEAU:
            if alpha not in (0.4, 0.6):
                continue
            weight = 0.5
        for column, metric in _metrics(configuration.variant).items():
            if column in row:
                found[metric, alpha] = Target(metric, alpha, row[column], weight)
    return list(found.values())


def published_rows(configuration: Configuration) -> list[Row]:
    """Rows of the tables that a configuration is fitted to."""
    variant = configuration.variant
    wanted = DEPTHS.get(variant, variant)
    return [
        row
        for table in _tables(variant)
        for row in published(table)
        if Configuration.of(row, variant) == configuration
        and (table not in _COLUMN or row[_COLUMN[table]] == wanted)
    ]


def _tables(variant: str) -> tuple[str, ...]:
    if variant == "main":
        return ("table01", "table02", "table05", "table06")
    if variant == REQUERIED:
        return ("table03",)
    if variant in ADMISSIONS:
        return ("table07",)
    if variant in DEPTHS:
        return ("table08",)
    return ("table11",) if variant in LEARNED_SCORES else ("table12",)


def _metrics(variant: str) -> dict[str, str]:
    if variant == REQUERIED:
        return {"coverage_requeried": "coverage", "fdr_requeried": "fdr"}
    if variant == "self_eval":
        return {"coverage": "coverage_mode1"}
    return {
        "coverage": "coverage",
        "fdr": "fdr",
        "coverage_mode1_only": "coverage_mode1",
        "coverage_joint": "coverage",
        "accuracy_mode1": "accuracy1",
        "accuracy_mode2": "accuracy2",
    }
