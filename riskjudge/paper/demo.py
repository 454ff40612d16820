"""The synthetic two-mode trace that ships with riskjudge."""

from __future__ import annotations

from pathlib import Path

from riskjudge.paper.model import SyntheticTrace
from riskjudge.paper.parameters import fitted_parameters
from riskjudge.paper.published import Configuration, data_path

CONFIGURATION = Configuration("Qwen3-8B", "Qwen3-8B", "TriviaQA")
FILE = "triviaqa_qwen3_8b_synthetic.csv"


def demo_trace_path() -> Path:
    """Path of the demo trace: 2,000 **synthetic** items, no judge was run.

    The items follow a model fitted to what the paper publishes for Qwen3-8B judging Qwen3-8B on
    TriviaQA. Columns ``item_id, label, v1, u1, v2, u2``.

    Examples
    --------
    >>> demo_trace_path().name
    'triviaqa_qwen3_8b_synthetic.csv'
    """
    return data_path("demo", FILE)


def demo_trace_text() -> str:
    """The demo trace's file, made anew from the fitted parameters: the same bytes every time."""
    return trace_text(fitted_parameters().trace(CONFIGURATION))


def trace_text(trace: SyntheticTrace) -> str:
    """A synthetic trace as CSV; an unreadable verdict and its score are empty.

    Examples
    --------
    >>> from riskjudge.paper.model import ModeModel, TraceModel
    >>> mode = ModeModel(0.2, (0.5, 0.5, 0.5, 0.5, 0.5))
    >>> print(trace_text(TraceModel((mode, mode), 0.5, 0.5).simulate(1, seed=3)))
    item_id,label,v1,u1,v2,u2
    synthetic-0001,...
    """
    lines = ["item_id,label,v1,u1,v2,u2"]
    for i in range(trace.n):
        fields = [f"synthetic-{i + 1:04d}", str(trace.labels[i])]
        for k in (0, 1):
            readable = trace.verdicts[i, k] >= 0
            fields.append(str(trace.verdicts[i, k]) if readable else "")
            fields.append(f"{trace.scores[i, k]:.9g}" if readable else "")
        lines.append(",".join(fields))
    return "\n".join(lines) + "\n"
