"""How fast signals are fused and fused gates decide, as ratios to a plain router in the same run.

Run it: ``python experiments/benchmarks/signals.py [--quick] [--repeat 5]``. Each figure is the
smallest of several repetitions, alternating between the two sides; the ratios are what to quote.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

from riskjudge.data.trace import Trace
from riskjudge.gate import Router
from riskjudge.signals import FusedGate, fit_fusion, parse_signals

ALPHA = 0.15


def draw(n: int, columns: int, seed: int = 0) -> Trace:
    """Two modes, and columns of numbers that say a little each."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    u = rng.uniform(0.0, 0.5, (n, 2))
    verdict = (label[:, None] ^ (rng.random((n, 2)) < u)).astype(np.int64)
    trace = Trace.from_arrays(u, verdict, label)
    extra = {f"x{j}": label + rng.normal(0.0, 4.0, n) for j in range(columns)}
    return Trace(
        trace.item_id,
        trace.columns,
        trace.verdicts,
        trace.scores,
        trace.absence,
        trace.labels,
        None,
        pd.DataFrame(extra),
    )


def best(repeat: int, *calls: Callable[[], object]) -> list[float]:
    """Smallest CPU time of each call in seconds, taken in turn."""
    times = [[] for _ in calls]
    for _ in range(repeat):
        for call, taken in zip(calls, times, strict=True):
            start = time.process_time()
            call()
            taken.append(time.process_time() - start)
    return [min(taken) for taken in times]


def main() -> None:
    """Run every comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--repeat", type=int, default=5)
    chosen = parser.parse_args()
    rows, repeat = (20_000, 1) if chosen.quick else (1_000_000, chosen.repeat)

    labelled = draw(1_000, 16)
    signals = parse_signals(["modes", *(f"number:x{j}" for j in range(16))], labelled)
    fuse, whole, plain = best(
        repeat,
        lambda: fit_fusion(labelled, signals),
        lambda: FusedGate(ALPHA, signals=signals).fit(labelled),
        lambda: Router(ALPHA).fit(labelled),
    )
    print(f"{len(signals)} signals, 1,000 labels: fusion {fuse:.3f} s, whole fit {whole:.3f} s")
    print(f"  a plain router's fit takes {plain:.3f} s: ratio {whole / plain:.2f}")

    router = Router(ALPHA).fit(labelled)
    for columns in (0, 16):
        new = draw(rows, columns, seed=1)
        used = signals[: 4 + columns]
        gate = FusedGate(ALPHA, signals=used).fit(labelled)
        fused, alone = best(
            repeat, lambda gate=gate, new=new: gate.decide(new), lambda new=new: router.decide(new)
        )
        print(
            f"decide, {rows:,} rows, {len(used)} signals: {fused:.2f} s; "
            f"plain router {alone:.2f} s: ratio {fused / alone:.2f}"
        )


if __name__ == "__main__":
    main()
