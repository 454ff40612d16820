"""How the time and the state of ``watch`` grow with the labels, as ratios within one run.

Run it: ``python experiments/benchmarks/watching.py [--quick]``. Seconds are of CPU; the ratio of the
last size to the one before is 10 where time is linear.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

from riskjudge.monitor import RiskAlarm

ALPHA = 0.1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="up to 10^4 labels")
    sizes = [10**3, 10**4] if parser.parse_args().quick else [10**4, 10**5, 10**6]
    ids = [f"i{k:07d}" for k in range(sizes[-1])]
    wrong = (np.random.default_rng(0).random(sizes[-1]) < 0.9 * ALPHA).tolist()
    before = None
    for n in sizes:
        start = time.process_time()
        alarm = RiskAlarm(ALPHA).add_batch(ids[:n], wrong[:n])
        taken = time.process_time() - start
        growth = "" if before is None else f"   x {taken / before:.1f}"
        state = len(json.dumps(alarm.to_dict()))
        print(f"{n:>9,} labels {taken:8.2f} s   state {state:,} bytes{growth}")
        before = taken


if __name__ == "__main__":
    main()
