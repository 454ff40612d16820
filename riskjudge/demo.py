"""The whole flow on the synthetic demo trace, from labels to pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from riskjudge.data.modes import ModeColumns
from riskjudge.data.trace import Trace, read_trace

if TYPE_CHECKING:
    from riskjudge.evaluation import Report
    from riskjudge.gate import Router

SOURCE = "the synthetic demo trace"
_MODES = (ModeColumns("parametric", "v1", "u1"), ModeColumns("retrieval", "v2", "u2"))


def demo_trace() -> Trace:
    """The **synthetic** two-mode trace that ships with riskjudge: 2,000 items, no judge was asked.

    It follows what the paper publishes of Qwen3-8B judging itself on TriviaQA.

    Examples
    --------
    >>> trace = demo_trace()
    >>> len(trace), trace.modes
    (2000, ('parametric', 'retrieval'))
    """
    from riskjudge.paper.demo import demo_trace_path

    return read_trace(demo_trace_path(), modes=_MODES)


@dataclass(frozen=True, slots=True)
class Demo:
    """What the demo made: a fitted router, its report on fresh items, and the files it left."""

    router: Router
    report: Report
    files: tuple[Path, ...]


def run_demo(
    folder: Path,
    *,
    alpha: float = 0.15,
    delta: float = 0.05,
    splits: int = 20,
    seed: int = 0,
    say: Callable[[str], None] = lambda text: None,
) -> Demo:
    """Calibrate on one half of the demo trace, decide the other, report and draw.

    Parameters
    ----------
    folder : Path
        Made if it is not there; files of the same names are replaced.
    say : callable
        Told of each step.
    alpha : float
        Risk level.
    delta : float
        Significance.
    splits : int
        Random splits.
    seed : int
        Seeds whatever is drawn at random.
    """
    import matplotlib as mpl
    import matplotlib.pyplot as pyplot
    import numpy as np

    from riskjudge.evaluation import summarize
    from riskjudge.evaluation.render import certificate_table, report_tables, sweep_table
    from riskjudge.evaluation.splits import PAPER_ALPHAS, sweep
    from riskjudge.gate import Router
    from riskjudge.io.files import replacing
    from riskjudge.io.tables import write_table

    mpl.use("Agg")  # files only
    folder.mkdir(parents=True, exist_ok=True)
    trace = demo_trace()
    order = np.random.default_rng(seed).permutation(len(trace))
    labelled, fresh = trace.rows(np.sort(order[:1000])), trace.rows(np.sort(order[1000:]))

    say("calibrating on 1,000 labelled items; the other 1,000, without labels, are the pool")
    router = Router(alpha, delta, seed=seed).fit(labelled, pool=_without_labels(fresh))
    router.save(folder / "gate.json")

    say("deciding the other 1,000 items")
    outcomes = router.decide(fresh)
    write_table(outcomes.to_frame(), folder / "outcomes.parquet")
    report = summarize(outcomes)

    say(f"sweeping {len(PAPER_ALPHAS)} risk levels over {splits} splits")
    swept = sweep(trace, Router(alpha, delta), alphas=PAPER_ALPHAS, splits=splits, seed=seed)

    tables = (
        certificate_table(router.certificate_, SOURCE),
        *report_tables(report, SOURCE),
        sweep_table(swept),
    )
    with replacing(folder / "report.md") as temporary:
        temporary.write_text("\n\n".join(table.to_markdown() for table in tables) + "\n", "utf-8")
    files = [folder / name for name in ("gate.json", "outcomes.parquet", "report.md")]

    say("drawing")
    from riskjudge.plots import (
        CoverageDisplay,
        FDRDisplay,
        RiskCoverageDisplay,
        RoutingDisplay,
        ThresholdPlaneDisplay,
        save_figure,
    )

    displays = {
        "coverage": CoverageDisplay.from_sweep(swept, source="synthetic trace"),
        "fdr": FDRDisplay.from_sweep(swept, source="synthetic trace"),
        "risk_coverage": RiskCoverageDisplay.from_trace(labelled, router, source="synthetic trace"),
        "routing": RoutingDisplay.from_outcomes(outcomes, source="synthetic trace"),
        "threshold_plane": ThresholdPlaneDisplay.from_trace(
            labelled, alpha, delta, router, source="synthetic trace"
        ),
    }
    for name, display in displays.items():
        path = folder / f"{name}.png"
        figure = display.plot().figure_
        save_figure(figure, path)
        pyplot.close(figure)
        files.append(path)
    return Demo(router, report, tuple(files))


def _without_labels(trace: Trace) -> Trace:
    from dataclasses import replace

    import numpy as np

    return replace(trace, labels=np.full(len(trace), -1))
