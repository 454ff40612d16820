"""Fit the trace model to the published figures and write ``data/paper/trace_model.json``.

    python experiments/paper/fit.py --jobs 2

Every fitted configuration is kept under ``--cache``; an interrupted run takes up where it stopped.
``--compare`` fits eight configurations (candidate Qwen3-8B; TriviaQA and HotpotQA) under the paper's
other objective too and writes ``objective_fit.csv``, which FINDINGS.md quotes.
"""

from __future__ import annotations

import argparse
import ast
import csv
import hashlib
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from rich.progress import Progress

import riskjudge.paper
from riskjudge.paper.coarse import coarse_protocol
from riskjudge.paper.fit import fit_configuration, fit_drift
from riskjudge.paper.model import Drift, TraceModel
from riskjudge.paper.parameters import FILE, Parameters
from riskjudge.paper.published import Configuration, main_configurations
from riskjudge.paper.targets import (
    draws_of,
    requeried_configurations,
    seed_of,
    variant_configurations,
)

OBJECTIVES = ("coverage", "correct")
DATA = Path(__file__).resolve().parents[2] / "data" / "paper"


def fit_one(
    configuration: Configuration, main: TraceModel | None, objective: str, splits: int, rounds: int
) -> dict[str, Any]:
    """One configuration's fit as a JSON-ready dictionary."""
    if main is not None and configuration.variant == "requeried":
        drift, mean, worst = fit_drift(configuration, main, objective, splits)
        return {"drift": asdict(drift), "mean_gap": mean, "worst_gap": worst}
    fit = fit_configuration(configuration, main, objective, splits, rounds)
    return {
        "model": fit.model.to_dict(),
        "mean_gap": round(fit.mean_gap, 5),
        "worst_gap": round(fit.worst_gap, 5),
    }


def code_digest() -> str:
    """Digest of the code that decides a fit: a cached fit made by other code is not used.

    Comments and docstrings do not count.
    """
    digest = hashlib.sha256()
    for name in ("model.py", "coarse.py", "fit.py", "targets.py"):
        tree = ast.parse((Path(riskjudge.paper.__file__).parent / name).read_text("utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                node.body = [
                    statement
                    for statement in node.body
                    if not (
                        isinstance(statement, ast.Expr)
                        and isinstance(statement.value, ast.Constant)
                    )
                ]
        digest.update(ast.dump(tree).encode())
    return digest.hexdigest()


def fit_all(
    configurations: list[Configuration],
    mains: dict[str, TraceModel],
    options: argparse.Namespace,
    objective: str,
    rounds: int,
    title: str,
) -> dict[str, dict[str, Any]]:
    """Fit configurations in parallel, through the cache."""
    found: dict[str, dict[str, Any]] = {}
    todo: list[tuple[Configuration, Path]] = []
    for c in configurations:
        main = mains.get(replace(c, variant="main").name)
        start = "" if main is None else json.dumps(main.to_dict())
        settings = (c.name, objective, options.splits, rounds, start, code_digest())
        key = hashlib.sha256(repr(settings).encode()).hexdigest()[:24]
        path = options.cache / f"{c.name}__{objective}__{key}.json"
        if path.exists():
            found[c.name] = json.loads(path.read_text())
        else:
            todo.append((c, path))
    with Progress() as progress:
        bar = progress.add_task(title, total=len(configurations), completed=len(found))
        results = Parallel(n_jobs=options.jobs, return_as="generator")(
            delayed(fit_one)(
                c,
                mains.get(replace(c, variant="main").name),
                objective,
                options.splits,
                rounds,
            )
            for c, _ in todo
        )
        for (c, path), entry in zip(todo, results, strict=True):
            part = path.with_suffix(".part")
            part.write_text(json.dumps(entry))
            part.replace(path)
            found[c.name] = entry
            progress.advance(bar)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--objective", default="coverage", choices=OBJECTIVES)
    parser.add_argument("--compare", action="store_true", help="fit the other objective too")
    parser.add_argument("--splits", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cache", type=Path, default=Path(".cache/paper-fit"))
    parser.add_argument("--output", type=Path, default=DATA)
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    chosen = options.objective

    mains = main_configurations()
    entries = fit_all(
        mains, {}, options, chosen, options.rounds, f"32 main configurations ({chosen})"
    )
    models = {name: TraceModel.from_dict(e["model"]) for name, e in entries.items()}
    # A variant starts from its main setting: one search is enough.
    extra = fit_all(variant_configurations(), models, options, chosen, 1, "variants")
    later = fit_all(requeried_configurations(), models, options, chosen, 1, "later snapshots")

    command = (
        f"python experiments/paper/fit.py --objective {chosen}"
        f" --splits {options.splits} --rounds {options.rounds}"
    )
    parameters = Parameters(
        made_by=command,
        objective=chosen,
        models=models | {name: TraceModel.from_dict(e["model"]) for name, e in extra.items()},
        drifts={name: Drift(**e["drift"]) for name, e in later.items()},
        gaps={
            name: (round(e["mean_gap"], 4), round(e["worst_gap"], 4))
            for name, e in {**entries, **extra, **later}.items()
        },
    )
    part = options.output / f"{FILE}.part"
    part.write_text(parameters.to_json(), encoding="utf-8")
    part.replace(options.output / FILE)

    if options.compare:
        rival = next(o for o in OBJECTIVES if o != chosen)
        other = fit_all(compared(), {}, options, rival, options.rounds, f"eight under {rival}")
        write_comparison(options.output / "objective_fit.csv", {chosen: entries, rival: other})


def compared() -> list[Configuration]:
    """Configurations that are fitted under both objectives."""
    return [
        c
        for c in main_configurations()
        if c.candidate == "Qwen3-8B" and c.dataset in ("TriviaQA", "HotpotQA")
    ]


def write_comparison(path: Path, fits: dict[str, dict[str, dict[str, Any]]]) -> None:
    """How close each objective comes, and the routing share of mode 1 that its fit predicts."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            ["configuration", "objective", "mean_gap", "worst_gap", "share_mode1_at_20"]
        )
        for objective, entries in fits.items():
            for c in compared():
                entry = entries[c.name]
                trace = TraceModel.from_dict(entry["model"]).from_draws(draws_of(c))
                means = coarse_protocol(trace, (0.2,), 32, seed_of(c), objective)
                gaps = (round(entry["mean_gap"], 4), round(entry["worst_gap"], 4))
                writer.writerow([c.name, objective, *gaps, round(means["share_mode1", 0.2], 3)])


if __name__ == "__main__":
    main()
