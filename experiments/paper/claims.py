"""Check what the paper says against its own tables, and write ``data/paper/claims.csv``.

    python experiments/paper/claims.py

A claim stands in our words, never in the paper's; ``source`` says whether it is a statement of the
text, a theorem, or what a table shows. Three verdicts:

- ``reproduced``: it follows from the published tables, or from the binomial distribution;
- ``contradicted``: the paper's own tables, another passage of it, or the binomial distribution say
  otherwise;
- ``not checkable``: it takes the items, which are not public.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from riskjudge.binomial import max_errors
from riskjudge.paper.coarse import coarse_protocol
from riskjudge.paper.parameters import fitted_parameters
from riskjudge.paper.published import ALPHAS, Configuration, Row, published
from riskjudge.paper.targets import seed_of

OUTPUT = Path(__file__).resolve().parents[2] / "data" / "paper" / "claims.csv"
REPRODUCED, CONTRADICTED, NOT_CHECKABLE = "reproduced", "contradicted", "not checkable"
N, DELTA = 1000, 0.05
ROUNDING = 0.0051  # two figures with two decimals that differ by less may be the same

Finding = tuple[str, str]
"""A verdict, and the figure it rests on."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What the paper says, and how it is checked.

    Attributes
    ----------
    where, source, text : str
    check : callable
        Gives the verdict and the figure that it rests on.
    """

    where: str
    source: str
    text: str
    check: Callable[[], Finding]


def key(row: Row) -> tuple[Any, ...]:
    return row["candidate"], row["judge"], row["dataset"], row["alpha"]


def holds(broken: Iterable[str], of: int, what: str) -> Finding:
    """Reproduced if nothing breaks the claim; else the first offenders are named."""
    found = list(broken)
    if not found:
        return REPRODUCED, f"0 of {of} {what} go against it"
    more = "; ..." if len(found) > 3 else ""
    return CONTRADICTED, f"{len(found)} of {of} {what} go against it: {'; '.join(found[:3])}{more}"


def short(row: Row, *names: str) -> str:
    place = "/".join(str(row[k]) for k in ("candidate", "judge", "dataset"))
    level = f" at {row['alpha']:g}" if "alpha" in row else ""
    return f"{place}{level} ({', '.join(f'{row[name]:.2f}' for name in names)})"


def agrees(
    table: str,
    column: str,
    reference: str,
    other: str,
    where: Callable[[Row], bool] = lambda row: True,
) -> Callable[[], Finding]:
    """Whether a figure that two tables show is the same in both."""

    def check() -> Finding:
        known = {key(row): row[other] for row in published(reference)}
        rows = [row for row in published(table) if where(row) and key(row) in known]
        return holds(
            (short(row, column) for row in rows if abs(row[column] - known[key(row)]) > 1e-9),
            len(rows),
            "cells",
        )

    return check


def rises(table: str, column: str, along: str, *, sign: int = 1) -> Callable[[], Finding]:
    """Whether a column never falls (never rises, for a negative sign) along another."""

    def check() -> Finding:
        groups: dict[tuple[Any, ...], list[Row]] = {}
        values = {"fdr", "coverage", along}
        for row in published(table):
            groups.setdefault(tuple(v for k, v in row.items() if k not in values), []).append(row)
        pairs = [
            (low, high)
            for rows in groups.values()
            for ordered in [sorted(rows, key=lambda row: row[along])]
            for low, high in pairwise(ordered)
        ]
        return holds(
            (short(high, column) for low, high in pairs if sign * (high[column] - low[column]) < 0),
            len(pairs),
            "steps",
        )

    return check


def fixed_pair() -> Finding:
    worst = 0.0
    for alpha in ALPHAS:
        tolerated = max_errors(N, alpha, DELTA)
        m = np.arange(N + 1)
        worst = max(worst, float(np.max(stats.binom.cdf(tolerated, m, alpha)[1:])))
    verdict = REPRODUCED if worst <= DELTA else CONTRADICTED
    return verdict, f"largest chance of a false certificate over m <= {N}: {worst:.4f}"


def literal_single_mode() -> Finding:
    first = [int(np.argmax(max_errors(N, alpha, DELTA) >= 0)) for alpha in ALPHAS]
    return CONTRADICTED if min(first) > 1 else REPRODUCED, (
        "one accepted item never certifies (at least "
        f"{', '.join(map(str, first))} are needed at the five levels), so the set is empty"
    )


def picked_pair() -> Finding:
    rows = [r for r in published("table13") if r["coverage_conservative"] < r["coverage_pointwise"]]
    return CONTRADICTED if rows else NOT_CHECKABLE, (
        "the theorem covers one fixed pair; App. D.4 corrects for the choice, and with it "
        f"{len(rows)} of {len(published('table13'))} coverages of Table 13 are lower"
    )


def mean_fdr() -> Finding:
    rows = published("table06")
    return holds((short(r, "fdr") for r in rows if r["fdr"] > r["alpha"]), len(rows), "cells")


def mean_fdr_as_evidence() -> Finding:
    return NOT_CHECKABLE, "a mean below alpha does not bound P(FDR > alpha); it takes the splits"


def plateau() -> Finding:
    accuracy = {key(r | {"alpha": 0.6}): r["accuracy_mode2"] for r in published("table05")}
    rows = [r for r in published("table06") if r["alpha"] == 0.6 and r["coverage"] == 1.0]
    return holds(
        (
            f"{short(r, 'fdr')} for {1 - accuracy[key(r)]:.2f}"
            for r in rows
            if abs(r["fdr"] - 1 + accuracy[key(r)]) > ROUNDING
        ),
        len(rows),
        "configurations",
    )


def harder() -> Finding:
    small = {
        (r["judge"], r["dataset"], r["alpha"]): r["coverage"]
        for r in published("table01")
        if r["candidate"] == "Qwen3-8B"
    }
    large = [r for r in published("table01") if r["candidate"] == "Llama-3.1-70B"]
    return holds(
        (
            short(r, "coverage")
            for r in large
            if r["coverage"] > small[r["judge"], r["dataset"], r["alpha"]]
        ),
        len(large),
        "cells",
    )


def above_80() -> Finding:
    rows = [
        r
        for r in published("table01")
        if (r["candidate"], r["dataset"], r["alpha"]) == ("Qwen3-8B", "NQ-Open", 0.2)
    ]
    said = ("Qwen3-14B", "Llama-3.1-8B")
    others = [r for r in rows if r["judge"] not in said]
    return holds(
        (short(r, "coverage") for r in others if r["coverage"] > 0.8), len(others), "other judges"
    )


def baselines_hotpot() -> Finding:
    rows = [
        r
        for r in published("table12")
        if (r["dataset"], r["alpha"]) == ("HotpotQA", 0.2) and r["variant"] != "joint"
    ]
    return holds(
        (f"{r['variant']} {r['coverage']:.2f}" for r in rows if r["coverage"] > 0.07),
        len(rows),
        "baselines",
    )


def joint_beats_baselines() -> Finding:
    joint = {key(r): r["coverage"] for r in published("table12") if r["variant"] == "joint"}
    rows = [r for r in published("table12") if r["variant"] != "joint"]
    return holds(
        (
            f"{r['variant']} {r['coverage']:.2f} for {joint[key(r)]:.2f} on {r['dataset']}"
            f" at {r['alpha']:g}"
            for r in rows
            if r["coverage"] > joint[key(r)]
        ),
        len(rows),
        "cells",
    )


def depth() -> Finding:
    base = {key(r): r["coverage"] for r in published("table08") if r["k"] == 3}
    rows = [r for r in published("table08") if r["k"] != 3]
    return holds(
        (
            f"{r['dataset']} k = {r['k']}: {r['coverage']:.2f} for {base[key(r)]:.2f}"
            for r in rows
            if abs(r["coverage"] - base[key(r)]) > 0.02 + 1e-9
        ),
        len(rows),
        "cells",
    )


def best_score(name: str, *others: str) -> Callable[[], Finding]:
    def check() -> Finding:
        table = {(*key(r), r["score"]): r["coverage"] for r in published("table11")}
        cells = list(dict.fromkeys(key(r) for r in published("table11")))
        return holds(
            (
                f"{c[2]} at {c[3]:g}: {table[(*c, name)]:.2f} for {best:.2f}"
                for c in cells
                for best in [max(table[(*c, o)] for o in others)]
                if table[(*c, name)] < best
            ),
            len(cells),
            "cells",
        )

    return check


def conservative_price() -> Finding:
    rows = published("table13")
    lost = sorted(rows, key=lambda r: float(r["coverage_conservative"] - r["coverage_pointwise"]))
    text = (
        f"{r['dataset']} at {r['alpha']:g}: "
        f"{r['coverage_conservative'] - r['coverage_pointwise']:+.2f}"
        for r in lost
        if r["coverage_pointwise"] - r["coverage_conservative"] > 0.1
    )
    return holds(text, len(rows), "cells (a loss above .10)")


def never_exceeds(table: str, low: str, high: str, *, slack: float = 0.0) -> Callable[[], Finding]:
    """Whether one column never exceeds another by more than a slack."""

    def check() -> Finding:
        rows = published(table)
        return holds(
            (short(r, low, high) for r in rows if r[low] > r[high] + slack + 1e-9),
            len(rows),
            "rows",
        )

    return check


def drift_fdr() -> Finding:
    rows = published("table03")
    return holds(
        (short(r, "fdr_requeried") for r in rows if r["fdr_requeried"] > r["alpha"]),
        len(rows),
        "cells",
    )


def admission_fdr() -> Finding:
    rows = published("table07")
    return holds((short(r, "fdr") for r in rows if r["fdr"] > r["alpha"]), len(rows), "cells")


def ceiling() -> Finding:
    rows = [
        r
        for r in published("table06")
        if (r["judge"], r["dataset"]) == ("Qwen3-4B", "HotpotQA") and r["alpha"] >= 0.35
    ]
    return holds((short(r, "coverage") for r in rows if r["coverage"] != 0.86), len(rows), "levels")


def empty_splits() -> Finding:
    rows = [r for r in published("table06") if r["coverage"] == 0.0]
    return holds((short(r, "fdr") for r in rows if r["fdr"] != 0.0), len(rows), "cells")


def saturated() -> Finding:
    rows = published("table14")
    same = {r["dataset"]: 1 - r["fraction_raised"] - r["fraction_lowered"] for r in rows}
    shares = ", ".join(f"{dataset} {value:.3f}" for dataset, value in same.items())
    verdict = REPRODUCED if min(same.values()) > 0.001 else CONTRADICTED
    return verdict, f"the very same uncertainty in both modes: {shares}"


def mostly_surer() -> Finding:
    rows = published("table14")
    return holds(
        (r["dataset"] for r in rows if r["fraction_lowered"] <= r["fraction_raised"]),
        len(rows),
        "data sets",
    )


def objectives() -> Finding:
    accepted, correct = (share("Qwen3-14B", o) for o in ("coverage", "correct"))
    return CONTRADICTED if abs(accepted - correct) > 0.05 else REPRODUCED, (
        "they pick different rules: mode 1's share of TriviaQA, Qwen3-14B, on our synthetic trace is "
        f"{accepted:.2f} and {correct:.2f}"
    )


def share(judge: str, objective: str) -> float:
    c = Configuration("Qwen3-8B", judge, "TriviaQA")
    means = coarse_protocol(fitted_parameters().trace(c), (0.2,), 32, seed_of(c), objective)
    return means["share_mode1", 0.2]


def routing(judge: str) -> Callable[[], Finding]:
    def check() -> Finding:
        shares = (f"{o} {share(judge, o):.2f}" for o in ("coverage", "correct"))
        return NOT_CHECKABLE, f"synthetic, fitted without this figure: {', '.join(shares)}"

    return check


def unknown(why: str) -> Callable[[], Finding]:
    return lambda: (NOT_CHECKABLE, why)


def is_value(column: str, value: Any) -> Callable[[Row], bool]:
    return lambda row: bool(row[column] == value)


TEXT, THEOREM, TABLE = "text", "theorem", "table"
CLAIMS = (
    Claim(
        "Eq. 14, theorem",
        THEOREM,
        "A fixed pair whose bound is <= alpha has FDR <= alpha with probability 1 - delta",
        fixed_pair,
    ),
    Claim(
        "abstract; App. D.4",
        THEOREM,
        "The guarantee holds for the pair that calibration picks",
        picked_pair,
    ),
    Claim(
        "Eq. 8",
        THEOREM,
        "The largest t at which every smaller threshold certifies is a usable rule",
        literal_single_mode,
    ),
    Claim(
        "Algorithm 1; App. B.2",
        TEXT,
        "Calibration maximises accepted items (Algorithm 1), and correctly accepted items (B.2)",
        objectives,
    ),
    Claim("Table 6", TABLE, "The mean test FDR is at most alpha", mean_fdr),
    Claim(
        "Fig. 1, 4-7",
        TEXT,
        "A mean test FDR below alpha shows that the guarantee holds",
        mean_fdr_as_evidence,
    ),
    Claim(
        "Table 6",
        TABLE,
        "A configuration that accepts nothing has FDR 0 (an empty split counts as 0)",
        empty_splits,
    ),
    Claim("Tables 5, 6", TABLE, "At full coverage the FDR is one minus mode 2's accuracy", plateau),
    Claim("Table 6", TABLE, "Qwen3-4B on HotpotQA covers at most .86", ceiling),
    Claim(
        "Table 1",
        TABLE,
        "Coverage never falls as alpha grows",
        rises("table01", "coverage", "alpha"),
    ),
    Claim("Table 6", TABLE, "FDR never falls as alpha grows", rises("table06", "fdr", "alpha")),
    Claim(
        "section not recorded",
        TEXT,
        "Answers of the 70B candidate are consistently harder to judge",
        harder,
    ),
    Claim(
        "§5.2",
        TEXT,
        "Only Qwen3-14B and Llama-3.1-8B surpass 80 % (read as NQ-Open, alpha = .20)",
        above_80,
    ),
    Claim(
        "Table 2",
        TABLE,
        "The joint router covers at least what mode 1 alone covers",
        never_exceeds("table02", "coverage_mode1_only", "coverage_joint"),
    ),
    Claim(
        "Table 5",
        TABLE,
        "Retrieval raises the accuracy of the verdicts in every configuration",
        never_exceeds("table05", "accuracy_mode1", "accuracy_mode2"),
    ),
    Claim(
        "text on Fig. 2",
        TEXT,
        "Mode 1 takes 45 % of TriviaQA with Qwen3-14B at alpha = .20",
        routing("Qwen3-14B"),
    ),
    Claim(
        "text on Fig. 2",
        TEXT,
        "Mode 1 takes 9 % of TriviaQA with Qwen3-4B at alpha = .20",
        routing("Qwen3-4B"),
    ),
    Claim("Table 3", TABLE, "FDR stays at most alpha on a snapshot three months later", drift_fdr),
    Claim(
        "text on Table 3",
        TEXT,
        "The overlap (Jaccard) of the top-3 addresses is .30 (TriviaQA) and .24 (HotpotQA)",
        unknown("it takes the search results"),
    ),
    Claim(
        "Table 7", TABLE, "FDR stays at most alpha under every admission function", admission_fdr
    ),
    Claim("§D.1", TEXT, "Coverage stays within 1-2 points as the retrieval depth grows", depth),
    Claim(
        "Table 9",
        TABLE,
        "A stricter delta never raises the coverage",
        rises("table09", "coverage", "delta"),
    ),
    Claim(
        "Table 10",
        TABLE,
        "More calibration items never lower the coverage",
        rises("table10", "coverage", "calibration_fraction"),
    ),
    Claim(
        "§D.2",
        TEXT,
        "The LoRA+prompt score consistently has the highest coverage",
        best_score("lora_prompt", "probe", "predictive_entropy"),
    ),
    Claim(
        "on Table 11",
        TEXT,
        "Scores may be trained by 5-fold cross-validation on the calibration set",
        unknown("the independence argument does not cover them; it takes the items"),
    ),
    Claim(
        "§D.3",
        TEXT,
        "The baselines cover at most .07 (read as HotpotQA, alpha = .20)",
        baselines_hotpot,
    ),
    Claim(
        "Table 12",
        TABLE,
        "The joint router covers at least what each baseline covers",
        joint_beats_baselines,
    ),
    Claim("§D.4", TEXT, "The conservative correction is nearly free", conservative_price),
    Claim(
        "Table 13",
        TABLE,
        "The conservative rule never covers more than the pointwise one",
        never_exceeds("table13", "coverage_conservative", "coverage_pointwise"),
    ),
    Claim(
        "Table 14",
        TABLE,
        "Retrieval lowers the uncertainty of more items than it raises",
        mostly_surer,
    ),
    Claim(
        "Table 14",
        TABLE,
        "Retrieval leaves the uncertainty of some items exactly as it was",
        saturated,
    ),
    Claim(
        "Tables 1, 6",
        TABLE,
        "Both tables show the same coverages",
        agrees("table06", "coverage", "table01", "coverage"),
    ),
    Claim(
        "Tables 1, 2",
        TABLE,
        "Both tables show the same joint coverages",
        agrees("table02", "coverage_joint", "table01", "coverage"),
    ),
    Claim(
        "Tables 3, 6",
        TABLE,
        "Both tables show the same FDR of the first snapshot",
        agrees("table03", "fdr_original", "table06", "fdr"),
    ),
    Claim(
        "Tables 7, 6",
        TABLE,
        "Both tables show the same FDR under the LLM evaluator",
        agrees("table07", "fdr", "table06", "fdr", is_value("admission", "llm_evaluator")),
    ),
    Claim(
        "Tables 8, 1",
        TABLE,
        "Both tables show the same coverages at k = 3",
        agrees("table08", "coverage", "table01", "coverage", is_value("k", 3)),
    ),
    Claim(
        "Tables 12, 1",
        TABLE,
        "Both tables show the same joint coverages",
        agrees("table12", "coverage", "table01", "coverage", is_value("variant", "joint")),
    ),
    Claim(
        "Tables 12, 2",
        TABLE,
        "Both tables show the same coverages of mode 1 alone",
        agrees(
            "table12", "coverage", "table02", "coverage_mode1_only", is_value("variant", "direct")
        ),
    ),
)
"""Every claim, in the paper's order as far as it has one."""


def to_csv() -> str:
    """The table of claims as it is committed."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["claim", "where", "source", "verdict", "our_figure"])
    for claim in CLAIMS:
        writer.writerow([claim.text, claim.where, claim.source, *claim.check()])
    return text.getvalue()


if __name__ == "__main__":
    OUTPUT.write_text(to_csv(), encoding="utf-8")
    print(f"wrote {OUTPUT}")
