"""The page's charts as SVG, drawn by matplotlib; the same content gives the same bytes."""

from __future__ import annotations

import io
import re

import numpy as np

from riskjudge.evaluation.summary import Segment
from riskjudge.page.content import Level
from riskjudge.plots.style import QUIET, RC

TEAL = "#00796B"
_SVG = {
    **RC,
    "svg.hashsalt": "riskjudge",
    "svg.fonttype": "none",
    "axes.labelsize": 10.0,
    "xtick.labelsize": 10.0,
    "ytick.labelsize": 10.0,
}


def outcome_parts(whole: Segment) -> list[tuple[str, int, str]]:
    """What became of the items: name, count and colour of each part that is not empty."""
    shades = ("#00796B", "#4DA79B", "#8FC9C0")
    parts = [
        (f"accepted, {mode}", count, shades[number % 3])
        for number, (mode, count) in enumerate(whole.accepted_by.items())
    ]
    parts += [
        ("abstained", whole.abstained, "#F2A541"),
        ("undecided", whole.undecided, "#9E9E9E"),
        ("failed", whole.failed, "#B3261E"),
    ]
    return [part for part in parts if part[1]]


def outcome_bar(whole: Segment) -> str:
    """One bar of the parts of :func:`outcome_parts`, with their shares."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    parts = outcome_parts(whole)
    with rc_context(_SVG):
        figure = Figure(figsize=(7.2, 0.6))
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        left = 0
        for _, count, colour in parts:
            axes.barh(0, count, left=left, color=colour, edgecolor="white", height=1.0)
            if count > 0.06 * whole.items:
                share = f"{100 * count / whole.items:.0f} %"
                at = left + count / 2
                axes.text(at, 0, share, ha="center", va="center", fontsize=13, fontweight="bold")
            left += count
        axes.set_xlim(0, max(left, 1))
        axes.axis("off")
        described = "; ".join(f"{name} {count}" for name, count, _ in parts)
        return _svg(figure, f"Of {whole.items} items: {described}")


def level_curve(levels: tuple[Level, ...], alpha: float | None) -> str:
    """Coverage of the items against the risk level, with its exact interval; a point a level."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    alphas = np.array([level.alpha for level in levels])
    coverage = np.array([level.coverage.value or 0.0 for level in levels])
    low = np.array([level.coverage.low or 0.0 for level in levels])
    high = np.array([level.coverage.high or 0.0 for level in levels])
    with rc_context(_SVG):
        figure = Figure(figsize=(7.2, 3.0))
        axes = figure.add_axes((0.09, 0.18, 0.89, 0.78))
        axes.fill_between(alphas, low, high, color=TEAL, alpha=0.18, linewidth=0)
        axes.plot(alphas, coverage, color=TEAL)
        for number, (x, y) in enumerate(zip(alphas, coverage, strict=True)):
            (point,) = axes.plot([x], [y], "o", color=TEAL, markersize=7)
            point.set_gid(f"level-{number}")
        if alpha is not None:
            axes.axvline(alpha, color=QUIET, linestyle=":", linewidth=1)
        axes.set_xlabel("largest tolerated error rate, alpha")
        axes.set_ylabel("share of items accepted")
        axes.set_ylim(0, 1.03)
        axes.grid(axis="y")
        return _svg(figure, "Share of items accepted at each risk level, with 95 % intervals")


def _svg(figure: object, description: str) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})  # type: ignore[attr-defined]
    body = buffer.getvalue()
    body = body[body.index("<svg") :]
    body = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", body, count=1)
    body = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", body, count=1)
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    label = description.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return body.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
