"""The validity study: which procedure keeps its promise where, and what validity costs.

    python experiments/validity/study.py                 # everything; about an hour of one core
    python experiments/validity/study.py --quick         # a smoke run, well under a minute
    python experiments/validity/study.py --part nulls --jobs 2

Every part writes ``results/<part>.csv``, one line a cell; ``figures.py`` draws from those files.
With ``--cache DIR`` finished cells are kept, and an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from riskjudge.audit import (
    SCENARIOS,
    Cell,
    Mode,
    Scenario,
    ScenarioWorld,
    World,
    audit,
    summary_table,
    worlds_named,
)
from riskjudge.audit.summary import ratio, references
from riskjudge.calibration import PROCEDURES, Guarantee, Procedure
from riskjudge.io.files import replacing

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

REFERENCE = ("pointwise",)
COLUMNS = (
    "procedure", "promise", "scenario", "kind", "n", "pool", "alpha", "delta", "by_verdict",
    "replicates", "seed", "violations", "violation", "low99", "high99", "verdict", "certified",
    "coverage", "coverage_sd", "ratio", "risk", "ms",
)  # fmt: skip


@dataclass(frozen=True)
class Part:
    """One question of the study.

    `procedures` are names; none stands for all valid ones. `by_verdict` names run once more with a
    threshold for each verdict. `peers` are names, or ``all``.
    """

    name: str
    question: str
    worlds: tuple[str, ...]
    procedures: tuple[str, ...] = ()
    by_verdict: tuple[str, ...] = ()
    ns: tuple[int, ...] = (1000,)
    alphas: tuple[float, ...] | None = None
    pool: int = 1000
    replicates: int = 200
    peers: tuple[str, ...] = ()
    oracle: bool = False


# Three score levels of very different risk: what a split tie is worst for.
_LEVEL = Mode((0.03, 0.03, 0.3, 0.5, 0.5), levels=3)
THREE_LEVELS = Scenario("three_levels", "tied", (_LEVEL, _LEVEL))
SIX = ("trivia", "hotpot", "second_only", "plateau", "overconfident", "null_flat")
REAL = tuple(name for name, scenario in SCENARIOS.items() if scenario.kind != "null")
MAIN = ("hybrid", "learned", "portfolio", "fixed_sequence")
PARTS = {
    part.name: part
    for part in (
        Part("scenarios", "every procedure, every scenario, n = 1,000", ("all",), oracle=True),
        Part(
            "nulls", "the flat nulls and their like, many replicates", ("nulls",), replicates=2000
        ),
        Part(
            "levels",
            "at other risk levels",
            REAL,
            ("hybrid", "portfolio"),
            alphas=(0.15, 0.20, 0.25),
            replicates=60,
        ),
        Part(
            "sizes",
            "from 200 to 5,000 labels",
            ("trivia", "hotpot", "second_only", "null_flat"),
            MAIN,
            ns=(200, 500, 2000, 5000),
            replicates=60,
        ),
        Part("no_pool", "without any unlabelled item", SIX, MAIN, pool=0, replicates=100),
        Part(
            "verdicts",
            "a threshold for each verdict",
            ("classes", "leaning", "trivia", "null_flat"),
            ("hybrid", "portfolio"),
            by_verdict=("hybrid", "portfolio"),
            alphas=(0.10, 0.15, 0.20),
            replicates=100,
        ),
        Part(
            "paper",
            "the paper's 32 configurations",
            ("paper",),
            MAIN,
            alphas=(0.10, 0.20),
            replicates=50,
        ),
        Part(
            "peers",
            "beside other people's methods",
            (
                *SIX,
                "strong_first",
                "first_only",
                "equal",
                "three_levels",
                "null_flat_15",
                "null_tied",
            ),
            replicates=100,
            peers=("all",),
        ),
        Part(
            "peer_nulls",
            "other people's promises on flat nulls, many replicates",
            ("null_flat", "null_flat_15", "null_flat_independent"),
            replicates=2000,
            peers=(
                "SGR",
                "COIN (Clopper-Pearson)",
                "Trust-or-Escalate",
                "MAPIE fixed sequence, one mode",
            ),
        ),
    )
}


def named(names: Sequence[str]) -> list[Procedure]:
    """Procedures by name; all valid ones and the reference if none is named."""
    if not names:
        names = [n for n, cls in PROCEDURES.items() if cls.guarantee is Guarantee.HIGH_PROBABILITY]
    return [PROCEDURES[name]() for name in names if name in PROCEDURES]


def worlds_of(part: Part) -> list[World]:
    """The worlds of a part, the study's own one included."""
    own = [ScenarioWorld(THREE_LEVELS)] if THREE_LEVELS.name in part.worlds else []
    return worlds_named([name for name in part.worlds if name != THREE_LEVELS.name]) + own


def run_part(
    part: Part, *, jobs: int, cache: Path | None, seed: int = 0, only: Sequence[str] = ()
) -> list[Cell]:
    """All cells of a part; the pointwise rule is always among them, as the reference."""
    worlds = worlds_of(part)
    procedures = named(part.procedures)
    if part.peers:
        from peers import PEERS

        every = [*named(("conformal_selection",)), *PEERS]
        procedures += [p for p in every if "all" in part.peers or p.name in part.peers]
    if only:
        procedures = [p for p in procedures if p.name in only]
    procedures = [p for p in procedures if p.name not in REFERENCE] + named(REFERENCE)
    split = [p for p in named(part.by_verdict or ("none",)) if not only or p.name in only]
    total = len(worlds) * len(part.ns) * len(part.alphas or (0,)) * part.replicates
    cells: list[Cell] = []
    for chosen, by_verdict in ((procedures, False), (split, True)):
        if chosen:
            cells += audit(
                chosen,
                worlds,
                ns=part.ns,
                alphas=part.alphas,
                pool=part.pool,
                replicates=part.replicates,
                by_verdict=by_verdict,
                seed=seed,
                n_jobs=jobs,
                cache=cache,
                progress=_say(part.name, total * len(chosen)),
            )
    if part.oracle and (not only or "oracle" in only):
        cells += oracle_cells(part, jobs=jobs, cache=cache, seed=seed)
    return cells


def oracle_cells(part: Part, *, jobs: int, cache: Path | None, seed: int) -> list[Cell]:
    """The ceiling in every world but the nulls; it is another procedure in each."""
    from oracle import Oracle

    found = []
    for world in worlds_named(part.worlds):
        if world.kind != "null":
            (cell,) = audit(
                [Oracle(world=world.name)],
                [world],
                ns=part.ns,
                pool=part.pool,
                replicates=part.replicates,
                seed=seed,
                n_jobs=jobs,
                cache=cache,
            )
            found.append(replace(cell, procedure="oracle"))
    return found


def _say(name: str, total: int):  # type: ignore[no-untyped-def]
    shown = [-1]

    def say(done: int) -> None:
        share = 20 * done // total
        if share > shown[0]:
            shown[0] = share
            print(f"{name}: {5 * share} % of {total} calibrations", file=sys.stderr, flush=True)

    return say


def write_csv(cells: Sequence[Cell], path: Path) -> None:
    """One line a cell."""
    reference = references(cells)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for cell in cells:
            relative = ratio(cell, reference)
            writer.writerow(
                (
                    cell.procedure, cell.guarantee, cell.world, cell.kind, cell.n, cell.pool,
                    cell.alpha, cell.delta, int(cell.by_verdict), cell.replicates, cell.seed,
                    cell.violations, f"{cell.violation:.4f}", f"{cell.interval[0]:.4f}",
                    f"{cell.interval[1]:.4f}", cell.verdict, cell.certified,
                    f"{cell.coverage:.4f}", f"{cell.coverage_sd:.4f}",
                    "" if relative is None else f"{relative:.4f}",
                    "" if cell.risk is None else f"{cell.risk:.4f}",
                    "" if cell.seconds is None else f"{1e3 * cell.seconds:.2f}",
                )
            )  # fmt: skip


def quick(part: Part) -> Part:
    """The same question in a few seconds; its numbers mean nothing."""
    worlds = tuple(w for w in ("trivia", "null_flat") if w in part.worlds) or part.worlds
    few = {"all": ("trivia", "null_flat"), "nulls": ("null_flat",), "paper": PAPER_ONE}
    worlds = tuple(name for w in worlds for name in few.get(w, (w,)))[:2]
    return Part(
        part.name,
        part.question,
        worlds,
        part.procedures,
        part.by_verdict,
        part.ns[:1],
        part.alphas and part.alphas[:1],
        min(part.pool, 300),
        replicates=4,
        peers=part.peers,
        oracle=part.oracle,
    )


PAPER_ONE = ("paper:Qwen3-8B__Qwen3-8B__TriviaQA__main",)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--part", action="append", choices=list(PARTS), help="repeatable")
    parser.add_argument("--only", action="append", default=[], help="these procedures; repeatable")
    parser.add_argument("--quick", action="store_true", help="a smoke run")
    parser.add_argument(
        "--output", type=Path, default=None, help="default: results beside this file"
    )
    parser.add_argument("--cache", type=Path, default=None, help="folder of finished cells")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    output = options.output or HERE / ("results-quick" if options.quick else "results")
    for name in options.part or PARTS:
        part = quick(PARTS[name]) if options.quick else PARTS[name]
        cells = run_part(
            part, jobs=options.jobs, cache=options.cache, seed=options.seed, only=options.only
        )
        if not options.only:
            write_csv(cells, output / f"{name}.csv")
        print(f"\n## {name}: {part.question}\n\n{summary_table(cells).to_markdown()}\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
