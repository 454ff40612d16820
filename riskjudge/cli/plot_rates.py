"""``riskjudge plot rates``, ``differences`` and ``label-width``: pictures of pass rates."""

from __future__ import annotations

from collections.abc import Callable

import typer

from riskjudge.cli import options, rate
from riskjudge.cli.plot import PLOTS, Output, Source, Title, draw, figure_files, source_line
from riskjudge.errors import InputError

_TEXT = {
    "rates": "Pass rates, the judge's own and corrected, of all rows or of each system.",
    "differences": "Differences of the corrected rates of all pairs of systems.",
    "label-width": "Width of the corrected interval against the number of labels.",
}


def register(app: typer.Typer) -> None:
    """Add the commands to ``plot``, which the application has."""
    for kind in _TEXT:
        PLOTS.command(kind)(_command(kind))


def _command(kind: str) -> Callable[..., None]:
    def command(
        trace: rate.RateFile,
        output: Output = None,
        by: rate.By = None,
        gate: rate.GateFile = None,
        only: rate.Only = None,
        confidence: rate.Confidence = 0.95,
        modes: options.Modes = None,
        item_id: options.ItemId = "item_id",
        label: options.Label = "label",
        group: options.Group = None,
        where: options.Where = None,
        scale: options.Scale = None,
        cut: options.Cut = None,
        seed: options.Seed = 0,
        title: Title = None,
        source: Source = None,
        as_json: options.AsJson = False,
    ) -> None:
        from riskjudge import plots
        from riskjudge.rates import rate_systems

        files = figure_files(output, kind)
        loaded = rate.load_sample(
            trace,
            by=by,
            gate=gate,
            only=only,
            modes=modes,
            item_id=item_id,
            label=label,
            group=group,
            where=where,
            scale=scale,
            cut=cut,
        )
        line = source_line(source, trace, where)
        if kind == "label-width":
            display: plots.LabelWidthDisplay | plots.RatesDisplay | plots.DifferencesDisplay = (
                plots.LabelWidthDisplay.from_sample(
                    loaded.sample, confidence=confidence, source=line
                )
            )
        else:
            rates = rate_systems(
                loaded.sample, loaded.system, by=by or "system", confidence=confidence, seed=seed
            )
            if kind == "rates":
                display = plots.RatesDisplay.from_rates(rates, source=line)
            elif rates.ranking is None:
                raise InputError("differences are between systems: name their column with --by")
            else:
                display = plots.DifferencesDisplay.from_ranking(rates.ranking, source=line)
        draw(display, files, title, as_json)

    command.__doc__ = _TEXT[kind]
    return command
