"""How far ledgers scale: a Parquet ledger of millions of rows by segment, and stored trials.

Each figure is set against a limit of the machine from the same run: the segment reading against
reading the same columns of the file and doing nothing with them, the trials against decompressing
their file. Memory is the peak of a process that does nothing else.

    python experiments/benchmarks/ledger.py --quick
    python experiments/benchmarks/ledger.py --trials llmbar_judge_trials_long.csv.gz
    git worktree add /tmp/older 6c2bc69
    python experiments/benchmarks/ledger.py --quick --than /tmp/older

The last one sets judgements to a trace file against an older tree: at 6c2bc69, before rows became arrays in
one step, that took 3.3 to 3.5 times as long (20,000 items in 2 modes, the file included, on two busy cores).
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from riskjudge.ledger.parquet import arrow_schema

BATCH = 250_000
SUBSETS = [f"subset-{index:02d}" for index in range(40)]


def write_random_ledger(path: Path, rows: int, seed: int) -> None:
    """A valid ledger of three judges: 70 % verdicts, the rest abstentions, ties and failures."""
    rng, schema = np.random.default_rng(seed), arrow_schema()
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, BATCH):
            writer.write_table(_batch(rng, start, min(BATCH, rows - start), schema))


def _batch(rng: np.random.Generator, start: int, size: int, schema: pa.Schema) -> pa.Table:
    kind = rng.choice(4, size, p=[0.7, 0.15, 0.1, 0.05])
    verdict, abstained, undecided, failed = (kind == code for code in range(4))
    numbers = np.arange(start, start + size)
    subject = [f"item-{number // 3:09d}" for number in numbers]
    judge = [f"judge-{number % 3}" for number in numbers]
    columns = {
        "id": [f"{j}/pairwise/{s}" for j, s in zip(judge, subject, strict=True)],
        "subject": subject,
        "judge": judge,
        "mode": ["pairwise"] * size,
        "status": np.select([abstained, failed], ["abstained", "score_failed"], "graded"),
        "winner": pa.array(rng.choice(["a", "b"], size), mask=~verdict),
        "undecided": pa.array(undecided, mask=~undecided),
        "reason": pa.array(
            rng.choice(["swap_inconsistent", "out_of_scope"], size), mask=~abstained
        ),
        "error": pa.array(rng.choice(["timeout", "parse"], size), mask=~failed),
        "confidence": pa.array(rng.uniform(0.5, 1.0, size), mask=failed),
        "label": rng.choice(["a", "b"], size),
        "subset": rng.choice(SUBSETS, size),
        "order": ["ab+ba"] * size,
        "calls": np.full(size, 2),
    }
    nothing = pa.nulls(size)
    return pa.table({name: columns.get(name, nothing) for name in schema.names}).cast(schema)


def measure(task: str, path: Path, tree: Path | None = None) -> dict[str, float]:
    """Run one task in a process of its own: seconds, and its peak memory in MB."""
    command = [sys.executable, __file__, "--task", task, "--path", str(path)]
    environment = os.environ | ({} if tree is None else {"PYTHONPATH": str(tree)})
    answer = subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment
    ).stdout
    result: dict[str, float] = json.loads(answer)
    return result


def run_task(task: str, path: Path) -> None:
    """The tasks of :func:`measure`."""
    from riskjudge.ledger import read_segments, read_trials, readings

    if task == "trace":
        few, judges, said = _judged(10)
        _write_trace(said, judges, few, path)  # what is imported is no part of it
        items, judges, rows = _judged(20_000)
    started = time.perf_counter()
    if task == "trace":
        _write_trace(rows, judges, items, path)
    elif task == "segments":
        segments = read_segments(path, ("judge", "subset"))
        assert sum(segment.items for segment in segments) == pq.read_metadata(path).num_rows
    elif task == "scan":
        for batch in pq.ParquetFile(path).iter_batches(65_536):
            assert batch.num_rows
    elif task == "trials":
        assert readings(read_trials(path), ("judge", "subset"))
    elif task == "decompress":
        assert gzip.decompress(path.read_bytes())
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "peak_mb": peak}))


def _judged(n: int) -> tuple[list[Any], list[Any], list[Any]]:
    """Items, two model judges, and what they said, without a model."""
    from types import SimpleNamespace

    from riskjudge.ledger import Row

    verdict = _module("riskjudge.data.verdict", "riskjudge.verdict")
    item_of = _module("riskjudge.items.item", "riskjudge.ledger.items").Item
    rng = np.random.default_rng(0)
    items = [
        item_of(f"q{k:05d}", "?", ("answer",), label=bool(k % 2), group=f"g{k}") for k in range(n)
    ]
    judges = [SimpleNamespace(name="m", mode=mode) for mode in ("parametric", "retrieval")]
    rows = []
    for judge in judges:
        for item, p in zip(items, rng.random(n), strict=True):
            failed = p < 0.01
            outcome = (
                verdict.Failure(verdict.FailureKind.TIMEOUT)
                if failed
                else verdict.BooleanVerdict(bool(p > 0.5))
            )
            said = {} if failed else {"p_true": float(p), "source": {"model": "m"}}
            sure = None if failed else float(max(p, 1 - p))
            row = Row(item.id, "m", judge.mode, outcome, sure, item.label, disclosure=said)
            rows.append(row)
    return items, judges, rows


def _module(*names: str) -> Any:
    """The first of these modules that this tree has: they have moved since."""
    for name in names:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError:
            continue
    raise ModuleNotFoundError(names[0])


def _write_trace(rows: list[Any], judges: list[Any], items: list[Any], path: Path) -> None:
    """Judgements to a trace file, as ``riskjudge judge`` does it, in this tree or an older one."""
    judging = _module("riskjudge.judges.judging", "riskjudge.models.judging")
    write_table = _module("riskjudge.io.tables", "riskjudge.tables").write_table
    if hasattr(judging, "source_of"):
        source = _module("riskjudge.data.source").ScoreSource({"measure": "predictive_entropy"})
        judging.source_of = lambda judge, measure=None: source
    judging.measure_of = lambda judge: "predictive_entropy"
    write_table(judging.trace_table(rows, judges, items), path.with_suffix(".csv"))


def report(title: str, found: dict[str, float], limit: dict[str, float], limit_name: str) -> None:
    """One line: time, peak memory, and how many times the limit."""
    ratio = found["seconds"] / limit["seconds"]
    print(
        f"{title}: {found['seconds']:.2f} s, peak {found['peak_mb']:.0f} MB, "
        f"{ratio:.1f} x {limit_name} ({limit['seconds']:.2f} s)"
    )


def main() -> None:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--trials", type=Path, help="stored two-order trials, gzip CSV")
    parser.add_argument("--quick", action="store_true", help="200,000 rows")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--than", type=Path, help="an older tree, to compare traces with")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        run_task(options.task, options.path)
        return
    rows = 200_000 if options.quick else options.rows
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.parquet"
        write_random_ledger(path, rows, options.seed)
        size = path.stat().st_size / 2**20
        title = f"{rows:,} rows ({size:.0f} MB) by judge and subset in DuckDB"
        report(title, measure("segments", path), measure("scan", path), "a scan of the file")
        if options.than:
            script = Path(folder) / "trace"
            now, then = (measure("trace", script, t) for t in (None, options.than))
            report("judgements of 20,000 items in 2 modes to a trace file", then, now, "now")
    if options.trials:
        found, limit = measure("trials", options.trials), measure("decompress", options.trials)
        report("stored trials, read and tallied", found, limit, "decompressing them")


if __name__ == "__main__":
    main()
