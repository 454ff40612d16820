"""By group: coverage of certificates that hold together, of separate ones at delta / G, and pooled.

    python experiments/validity/groups.py            # a minute, on the two EVOUNA traces
    python experiments/validity/groups.py --quick    # a smoke run for CI

Groups are the two traces (Natural Questions, TriviaQA), of which one is much easier to judge. Half
of the rows, at random, are labelled; the rest is the pool. Coverage is that of the labelled rows.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from looks import write

import riskjudge
from riskjudge.calibration import Certificate, Sample, Target, default_procedure
from riskjudge.calibration.together import certify_together

HERE = Path(__file__).resolve().parent
DATA = HERE.parents[1] / "data" / "evouna"
DELTA = 0.05


def sample_of(frames: Sequence[pd.DataFrame], rng: np.random.Generator) -> Sample:
    """A random half with labels, the rest as the pool."""
    frame = pd.concat(frames, ignore_index=True)
    frame["item_id"] = np.arange(len(frame)).astype(str)
    trace = riskjudge.Trace.from_frame(frame)
    order = rng.permutation(len(trace))
    half = len(trace) // 2
    rows, pool = trace.rows(order[:half]), trace.rows(order[half:])
    sample = Sample(rows.scores, rows.verdicts, rows.labels, rows.modes)
    return replace(sample, pool_scores=pool.scores, pool_verdicts=pool.verdicts).by_verdict()


def accepted(certificates: Sequence[Certificate]) -> float:
    """Accepted share of all tested rows."""
    return sum(c.accepted for c in certificates) / sum(c.n for c in certificates)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", type=Path, default=HERE / "results")
    given = parser.parse_args(arguments)
    files = sorted(DATA.glob("*.csv"))
    frames = [pd.read_csv(path) for path in files]
    keep = ["label", "v1", "u1", "v2", "u2"]
    frames = [frame[keep] for frame in frames]
    procedure, rows = default_procedure(2), []
    for alpha in (0.2,) if given.quick else (0.1, 0.15, 0.2, 0.25):
        found: dict[str, list[float]] = {"together": [], "separate, delta / G": [], "pooled": []}
        for r in range(2 if given.quick else 20):
            rng = np.random.default_rng([0, r])
            groups = {
                path.stem: sample_of([frame], rng)
                for path, frame in zip(files, frames, strict=True)
            }
            joint = certify_together(procedure, groups, Target(alpha, DELTA), r)
            found["together"].append(accepted(list(joint.values())))
            alone = [
                procedure.certify(sample, alpha, DELTA / len(groups), seed=r)
                for sample in groups.values()
            ]
            found["separate, delta / G"].append(accepted(alone))
            whole = procedure.certify(sample_of(frames, rng), alpha, DELTA, seed=r)
            found["pooled"].append(accepted([whole]))
        for name, shares in found.items():
            rows.append({"alpha": alpha, "certificates": name, "coverage": round(float(np.mean(shares)), 4),
                         "sd": round(float(np.std(shares)), 4), "repetitions": len(shares)})  # fmt: skip
            print(rows[-1], flush=True)
    write(rows, given.output / "groups.csv")
    return 0


if __name__ == "__main__":
    sys.exit(main())
