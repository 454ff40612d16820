"""How fast counting and searching are, as ratios to a peer or to a limit, within one run.

Run it: ``python experiments/benchmarks/calibration.py [--quick] [--repeat 7]``. Each figure is the
smallest of several repetitions, alternating between the two sides; the ratios are what to quote.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable

import numpy as np

from riskjudge import binomial
from riskjudge.calibration import Pointwise, Sample, default_procedure
from riskjudge.counts import Plane, threshold_counts
from riskjudge.data.trace import Trace
from riskjudge.evaluation.splits import PAPER_ALPHAS, sweep

ALPHA, DELTA = 0.15, 0.1


def draw(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Scores and errors of two modes."""
    rng = np.random.default_rng(seed)
    scores = rng.random((n, 2))
    return scores, rng.random((n, 2)) < np.array([0.4, 0.25]) * scores


def sample_of(scores: np.ndarray, errors: np.ndarray, pool: np.ndarray | None = None) -> Sample:
    """A sample with those errors."""
    n, k = scores.shape
    none = None if pool is None else np.zeros(pool.shape, dtype=np.int64)
    names = tuple(f"mode{i + 1}" for i in range(k))
    return Sample(scores, errors.astype(np.int64), np.zeros(n, dtype=np.int64), names, pool, none)


def best(repeat: int, *calls: Callable[[], object]) -> list[float]:
    """Smallest time of each call in seconds, taken in turn."""
    times = [[] for _ in calls]
    for _ in range(repeat):
        for call, taken in zip(calls, times, strict=True):
            start = time.perf_counter()
            call()
            taken.append(time.perf_counter() - start)
    return [min(taken) for taken in times]


def report(what: str, ours: float, theirs: float, whose: str) -> None:
    print(
        f"{what:<66} {1e3 * ours:10.2f} ms   {whose}: {1e3 * theirs:10.2f} ms   "
        f"ratio {theirs / ours:8.2f}"
    )


def mapie_one_mode(scores: np.ndarray, errors: np.ndarray) -> Callable[[], object]:
    """MAPIE's default: Holm over 100 fixed thresholds on the confidence."""
    from mapie.risk_control import BinaryClassificationController, precision

    confidence = 1.0 - scores[:, :1]

    def predict(x: np.ndarray) -> np.ndarray:
        return np.column_stack((1.0 - x[:, 0], x[:, 0]))

    def call() -> object:
        controller = BinaryClassificationController(
            predict,
            precision,
            target_level=1 - ALPHA,
            confidence_level=1 - DELTA,
            best_predict_param_choice="recall",
        )
        return controller.calibrate(confidence, (~errors[:, 0]).astype(int))

    return call


def one_mode(n: int, repeat: int) -> None:
    scores, errors = draw(n)

    def ours() -> object:
        counted = threshold_counts(scores[:, 0], errors[:, 0])
        return binomial.certifies(counted.errors, counted.accepted, ALPHA, DELTA)

    mine, theirs = best(repeat, ours, mapie_one_mode(scores, errors))
    report(
        f"one mode, n = {n:,}: all distinct thresholds, counted and tested",
        mine,
        theirs,
        "MAPIE, its 100",
    )
    counting, sorting = best(
        repeat, lambda: threshold_counts(scores[:, 0], errors[:, 0]), lambda: np.sort(scores[:, 0])
    )
    report(f"one mode, n = {n:,}: counting alone", counting, sorting, "np.sort of the scores")


def many_items(n: int) -> None:
    scores, errors = draw(n)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (counting, sorting) = best(
        1, lambda: threshold_counts(scores[:, 0], errors[:, 0]), lambda: np.sort(scores[:, 0])
    )
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    report(f"one mode, n = {n:,}: counting alone", counting, sorting, "np.sort of the scores")
    print(f"{'':<66} peak memory grew by {1024 * grown / n:.0f} bytes an item")


def mapie_two_modes(scores: np.ndarray, errors: np.ndarray, side: int) -> Callable[[], object]:
    """MAPIE bent to a router: side x side pairs of thresholds, a custom risk, Holm."""
    from mapie.risk_control import BinaryClassificationController, BinaryRisk

    grid = np.quantile(scores, np.linspace(0.05, 1.0, side), axis=0)
    pairs = np.array([(a, b) for a in grid[:, 0] for b in grid[:, 1]])
    data = np.column_stack((scores, errors))

    def predict(x: np.ndarray, t1: float, t2: float) -> np.ndarray:
        first = x[:, 0] <= t1
        second = ~first & (x[:, 1] <= t2)
        return np.where(first, x[:, 2], np.where(second, x[:, 3], np.nan))

    risk = BinaryRisk(
        risk_occurrence=lambda y_true, y_pred: np.nan_to_num(y_pred),
        risk_condition=lambda y_true, y_pred: ~np.isnan(y_pred),
        higher_is_better=False,
    )

    def call() -> object:
        controller = BinaryClassificationController(
            predict, risk, target_level=ALPHA, confidence_level=1 - DELTA,
            best_predict_param_choice=risk, list_predict_params=pairs,
        )  # fmt: skip
        return controller.calibrate(data, np.zeros(len(data)))

    return call


def two_modes(n: int, repeat: int) -> None:
    scores, errors = draw(n)

    def search(alphas: tuple[float, ...]) -> None:
        sample = sample_of(scores, errors)
        for alpha in alphas:
            Pointwise().certify(sample, alpha, DELTA)

    mine, theirs = best(repeat, lambda: search((ALPHA,)), mapie_two_modes(scores, errors, 30))
    pairs = (n + 1) ** 2 - 1
    report(
        f"two modes, n = {n:,}: the exact search over {pairs:,} pairs",
        mine,
        theirs,
        "MAPIE, 30 x 30 pairs",
    )
    once, twelve = best(repeat, lambda: search((ALPHA,)), lambda: search(PAPER_ALPHAS))
    report(f"two modes, n = {n:,}: one risk level", once, twelve, "twelve levels")
    counted, _ = best(repeat, lambda: Plane(scores, errors).fewest_errors, lambda: None)
    print(f"{'  of which counting':<66} {1e3 * counted:10.2f} ms")


def default_fit(n: int, repeat: int) -> None:
    scores, errors = draw(n)
    sample = sample_of(scores, errors, draw(n, seed=1)[0])
    procedure = default_procedure(2)
    (mine, sorting) = best(
        repeat, lambda: procedure.certify(sample, ALPHA, DELTA), lambda: np.sort(scores, axis=0)
    )
    report(f"default ({procedure.name}), n = pool = {n:,}", mine, sorting, "np.sort of both scores")


def protocol(splits: int) -> None:
    scores, errors = draw(2000)
    trace = Trace.from_arrays(scores, errors.astype(int), np.zeros(2000, dtype=int))
    from riskjudge.gate import Router

    for name in ("pointwise", None):
        start = time.perf_counter()
        done = sweep(
            trace_with_both_classes(trace), Router(procedure=name), splits=splits, n_jobs=2
        )
        taken = time.perf_counter() - start
        what = f"{splits} splits x {len(PAPER_ALPHAS)} levels, 2,000 items, 2 jobs"
        print(f"{what + ', ' + done.description.split(',')[0]:<66} {taken:10.2f} s")


def trace_with_both_classes(trace: Trace) -> Trace:
    """The same errors under labels of both classes."""
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 2, len(trace))
    return Trace.from_arrays(trace.scores, trace.verdicts ^ labels[:, None], labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, for a check that it runs"
    )
    parser.add_argument("--repeat", type=int, default=7)
    arguments = parser.parse_args()
    repeat = 2 if arguments.quick else arguments.repeat
    one_mode(5_000 if arguments.quick else 100_000, repeat)
    if not arguments.quick:
        many_items(10_000_000)
    two_modes(300 if arguments.quick else 1_000, repeat)
    default_fit(1_000, repeat)
    if not arguments.quick:
        default_fit(100_000, min(repeat, 3))
    protocol(4 if arguments.quick else 100)


if __name__ == "__main__":
    main()
