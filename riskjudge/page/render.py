"""The page as one self-contained HTML file; whatever users wrote is escaped by the template engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from riskjudge.evaluation.summary import Insufficient
from riskjudge.gate.outcomes import Outcomes
from riskjudge.io.files import replacing
from riskjudge.page.charts import level_curve, outcome_bar, outcome_parts
from riskjudge.page.content import Level, PageContent, page_content
from riskjudge.page.gates import Gate
from riskjudge.share import Rate


def write_page(path: str | Path, gate: Gate | None, outcomes: Outcomes, **options: Any) -> None:
    """Write the page, whole or not at all; see :func:`.page_content` for the options."""
    html = page_html(page_content(gate, outcomes, **options))
    with replacing(path) as temporary:
        temporary.write_bytes(html.encode("utf-8", "replace"))  # half a surrogate is no text


def page_html(content: PageContent) -> str:
    """The page as HTML.

    Parameters
    ----------
    content : PageContent
    """
    from jinja2 import Environment, PackageLoader

    environment = Environment(
        loader=PackageLoader("riskjudge.page"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = _percent
    environment.filters["level"] = lambda value: f"{100 * value:g} %"
    environment.filters["interval"] = _interval
    return environment.get_template("page.html").render(
        page=content,
        whole=content.report.whole,
        segments=[
            (name, segment, isinstance(segment, Insufficient)) for name, segment in content.segments
        ],
        bar=outcome_bar(content.report.whole),
        parts=outcome_parts(content.report.whole),
        curve=level_curve(content.levels, content.alpha) if content.levels else "",
        levels=[_plain(level) for level in content.levels],
        start=[level.alpha for level in content.levels].index(content.alpha)
        if content.levels and content.alpha is not None
        else 0,
    )


def _plain(level: Level) -> dict[str, Any]:
    return {
        "alpha": f"{100 * level.alpha:g} %",
        "statements": level.statements,
        "thresholds": [f"{mode}: {said}" for mode, said in level.thresholds],
        "coverage": _interval(level.coverage),
        "fdr": _interval(level.fdr),
        "examples": [
            {
                "id": example.id,
                "verdict": example.verdict,
                "mode": example.mode,
                "unsure": None if example.uncertainty is None else f"{example.uncertainty:.3g}",
                "label": example.label,
                "texts": [text for _, text in example.texts],
            }
            for example in level.accepted
        ],
    }


def _percent(value: float | None) -> str:
    return "undefined" if value is None else f"{100 * value:.1f} %"


def _interval(rate: Rate) -> str:
    if rate.value is None or rate.low is None or rate.high is None:
        return f"undefined ({rate.count} of {rate.of})"
    low, high = 100 * rate.low, 100 * rate.high
    return (
        f"{100 * rate.value:.1f} % (95 %: {low:.1f} to {high:.1f}; {rate.count:,} of {rate.of:,})"
    )
