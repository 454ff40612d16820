"""What a judge's trace over the facts data set shows, as a section of its card.

    python experiments/facts/summarise.py data/facts/smollm2_trace.csv

How right each mode is, whether its uncertainty tells right verdicts from wrong ones, and what
certifies at which risk level.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
from sklearn.metrics import roc_auc_score

from riskjudge import Router, SelectiveGate, Trace, read_trace

ALPHAS = (0.1, 0.2, 0.3, 0.4, 0.45)
DELTA = 0.05
MODES = ("parametric", "retrieval")


def main(path: str) -> None:
    trace = read_trace(path)
    for line in [*by_mode(trace), "", *by_segment(trace), "", *certified(trace)]:
        print(line)


def by_mode(trace: Trace) -> Iterator[str]:
    """Accuracy, lean, and the AUC of the uncertainty as a sign of a wrong verdict."""
    yield "| mode | items | accuracy | says True | AUC of the uncertainty |"
    yield "|---|--:|--:|--:|--:|"
    for k, name in enumerate(MODES):
        read = trace.verdicts[:, k] >= 0
        verdict, label = trace.verdicts[read, k], trace.labels[read]
        wrong, unsure = verdict != label, trace.scores[read, k]
        auc = roc_auc_score(wrong, unsure) if 0 < wrong.sum() < len(wrong) else None
        yield (
            f"| {name} | {read.sum()} | {np.mean(~wrong):.3f} | {verdict.mean():.3f} "
            f"| {'undefined' if auc is None else f'{auc:.3f}'} |"
        )


def by_segment(trace: Trace) -> Iterator[str]:
    """Accuracy by how well known the subject is, and by what the passages say."""
    yield f"| | items | {' | '.join(MODES)} |"
    yield f"|---|--:|{'--:|' * len(MODES)}"
    for column in ("tier", "evidence"):
        values = trace.extra[column].to_numpy()
        for value in dict.fromkeys(sorted(values)):
            rows = trace.rows(values == value)
            right = (rows.verdicts == rows.labels[:, None]).mean(axis=0)
            shares = " | ".join(f"{share:.3f}" for share in right)
            yield f"| {column}: {value} | {len(rows)} | {shares} |"


def certified(trace: Trace) -> Iterator[str]:
    """Coverage that certifies on the whole trace, mode by mode and routed."""
    gates = {
        "parametric": lambda alpha: SelectiveGate(alpha, DELTA, mode=trace.modes[0]),
        "retrieval": lambda alpha: SelectiveGate(alpha, DELTA, mode=trace.modes[1]),
        "router": lambda alpha: Router(alpha, DELTA),
    }
    yield f"| risk level | {' | '.join(gates)} |"
    yield f"|--:|{'---|' * len(gates)}"
    for alpha in ALPHAS:
        cells = []
        for make in gates.values():
            found = make(alpha).fit(trace).certificate_
            cells.append(
                f"{found.coverage:.3f} ({found.errors} wrong of {found.accepted})"
                if found.certified
                else "nothing certifies"
            )
        yield f"| {alpha:g} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main(*sys.argv[1:])
