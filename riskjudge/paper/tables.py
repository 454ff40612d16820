"""The paper's tables as lists of cells: what is run for each, and how it is laid out.

A *cell* is one published figure beside the run that reproduces it. It is *fitted* if the trace
model was fitted to it (or to the same figure in another table), else *predicted*.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from riskjudge.calibration import PROCEDURES
from riskjudge.errors import InputError
from riskjudge.evaluation.splits import PAPER_ALPHAS
from riskjudge.paper.protocol import Run
from riskjudge.paper.published import ALPHAS, Configuration, Row, published
from riskjudge.paper.targets import DEPTHS, REQUERIED


@dataclass(frozen=True, slots=True)
class Settings:
    """What a reproduction runs in place of the paper's own choices.

    Attributes
    ----------
    procedure : str
        The paper's is ``pointwise``.
    objective : str
        Which certified rule is taken; Algorithm 1 takes ``coverage``.
    splits, seed : int

    Raises
    ------
    InputError
        For an unknown procedure or objective, or fewer than one split.
    """

    procedure: str = "pointwise"
    objective: str = "coverage"
    splits: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        probe = Run(Configuration("", "", ""), ALPHAS, self.procedure, splits=self.splits)
        PROCEDURES[probe.procedure](objective=self.objective)

    @property
    def as_in_the_paper(self) -> bool:
        """Whether the procedure is the one behind the published figures."""
        return self.procedure == "pointwise" and self.objective == "coverage"

    def run(self, configuration: Configuration, **changes: Any) -> Run:
        """The run of a configuration, with what a table changes.

        Every run of a configuration carries all levels that some table needs, so that tables share
        runs.
        """
        alphas: tuple[float, ...] = ALPHAS
        if configuration.candidate == "Qwen3-8B" and configuration.variant == "main":
            alphas = PAPER_ALPHAS  # Table 6
        run = Run(
            configuration,
            alphas,
            procedure=self.procedure,
            options=(("objective", self.objective),),
            splits=self.splits,
            seed=self.seed,
        )
        return replace(run, **changes)


@dataclass(frozen=True, slots=True)
class Cell:
    """A published figure and what reproduces it.

    Attributes
    ----------
    keys : dict
        Where the figure stands: configuration, level and whatever the table varies.
    metric : str
        Column of the published file.
    reading : str
        What is read off the run or the trace: ``coverage``, ``fdr``, ``share_mode1``,
        ``accuracy1``, ``accuracy2``, or a name of Table 14.
    published : float
    predicted : bool
    configuration : Configuration
    run : Run or None
        None for what is read off the trace itself.
    """

    keys: dict[str, Any]
    metric: str
    reading: str
    published: float
    predicted: bool
    configuration: Configuration
    run: Run | None = field(default=None)

    @property
    def alpha(self) -> float | None:
        """The risk level, where there is one."""
        return self.keys.get("alpha")

    def at(self, key: str) -> Any:
        """The value of a layout key."""
        return self.metric if key == "metric" else self.keys[key]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the paper.

    Attributes
    ----------
    name, title : str
    rows, columns : tuple of str
        Keys of the cells that span the rows and the columns, outermost first.
    cells : callable
        From settings to the list of cells.
    """

    name: str
    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Callable[[Settings], list[Cell]]


def _cells(
    table: str,
    settings: Settings,
    columns: dict[str, str],
    run_of: Callable[[Row, str], tuple[Configuration, Run | None]],
    predicted: Callable[[Row, str], bool] = lambda row, metric: False,
) -> list[Cell]:
    found = []
    for row in published(table):
        keys = {key: value for key, value in row.items() if key not in columns}
        for metric, reading in columns.items():
            configuration, run = run_of(row, metric)
            found.append(
                Cell(
                    keys,
                    metric,
                    reading,
                    row[metric],
                    predicted(row, metric),
                    configuration,
                    run,
                )
            )
    return found


def _table01(settings: Settings) -> list[Cell]:
    return _cells("table01", settings, {"coverage": "coverage"}, _main_run(settings))


def _table02(settings: Settings) -> list[Cell]:
    def run_of(row: Row, metric: str) -> tuple[Configuration, Run]:
        c = Configuration.of(row)
        return c, settings.run(c, n_modes=1 if metric == "coverage_mode1_only" else 2)

    columns = {"coverage_mode1_only": "coverage", "coverage_joint": "coverage"}
    return _cells("table02", settings, columns, run_of)


def _table03(settings: Settings) -> list[Cell]:
    def run_of(row: Row, metric: str) -> tuple[Configuration, Run]:
        c = Configuration.of(row)
        later = Configuration.of(row, REQUERIED)
        if metric.endswith("original"):
            return c, settings.run(c)
        return later, settings.run(c, test=later, alphas=ALPHAS)

    columns = {
        "fdr_original": "fdr",
        "fdr_requeried": "fdr",
        "coverage_original": "coverage",
        "coverage_requeried": "coverage",
    }
    return _cells("table03", settings, columns, run_of)


def _table05(settings: Settings) -> list[Cell]:
    columns = {"accuracy_mode1": "accuracy1", "accuracy_mode2": "accuracy2"}
    return _cells("table05", settings, columns, lambda row, _: (Configuration.of(row), None))


def _table06(settings: Settings) -> list[Cell]:
    columns = {"fdr": "fdr", "coverage": "coverage"}
    return _cells("table06", settings, columns, _main_run(settings))


def _table07(settings: Settings) -> list[Cell]:
    def run_of(row: Row, metric: str) -> tuple[Configuration, Run]:
        name = row["admission"]
        c = Configuration.of(row, "main" if name == "llm_evaluator" else name)
        return c, settings.run(c)

    return _cells("table07", settings, {"fdr": "fdr", "coverage": "coverage"}, run_of)


def _table08(settings: Settings) -> list[Cell]:
    depth = {k: name for name, k in DEPTHS.items()}

    def run_of(row: Row, metric: str) -> tuple[Configuration, Run]:
        c = Configuration.of(row, depth.get(row["k"], "main"))
        return c, settings.run(c)

    return _cells("table08", settings, {"fdr": "fdr", "coverage": "coverage"}, run_of)


def _table09(settings: Settings) -> list[Cell]:
    def run_of(row: Row, metric: str) -> tuple[Configuration, Run]:
        c = Configuration.of(row)
        run = settings.run(c)
        return c, run if row["delta"] == run.delta else replace(
            run, delta=row["delta"], alphas=ALPHAS
        )

    return _cells(
        "table09", settings, {"coverage": "coverage"}, run_of, lambda row, _: row["delta"] != 0.05
    )


def _table10(settings: Settings) -> list[Cell]:
    def run_of(row: Row, metric: str) -> tuple[Configuration, Run]:
        c = Configuration.of(row)
        share = row["calibration_fraction"]
        run = settings.run(c)
        return c, run if share == run.calibration else replace(
            run, calibration=share, alphas=ALPHAS
        )

    return _cells(
        "table10",
        settings,
        {"coverage": "coverage"},
        run_of,
        lambda row, _: row["calibration_fraction"] != 0.5,
    )


def _table11(settings: Settings) -> list[Cell]:
    def run_of(row: Row, metric: str) -> tuple[Configuration, Run]:
        name = row["score"]
        c = Configuration.of(row, "main" if name == "predictive_entropy" else name)
        return c, settings.run(c)

    return _cells("table11", settings, {"coverage": "coverage"}, run_of)


def _table12(settings: Settings) -> list[Cell]:
    def run_of(row: Row, metric: str) -> tuple[Configuration, Run]:
        name = row["variant"]
        c = Configuration.of(row, "main" if name in ("direct", "joint") else name)
        return c, settings.run(c, n_modes=1 if name in ("direct", "self_eval") else 2)

    def predicted(row: Row, metric: str) -> bool:
        return bool(row["variant"] == "direct" and row["alpha"] != 0.2)  # .20 stands in Table 2

    return _cells("table12", settings, {"coverage": "coverage"}, run_of, predicted)


def _table13(settings: Settings) -> list[Cell]:
    def run_of(row: Row, metric: str) -> tuple[Configuration, Run]:
        c = Configuration.of(row)
        run = Settings(splits=settings.splits, seed=settings.seed).run(c)
        if metric == "coverage_pointwise":
            return c, run
        options = (("correction", "paper"), ("objective", "coverage"))
        return c, replace(run, procedure="bonferroni", options=options, alphas=ALPHAS)

    columns = {"coverage_pointwise": "coverage", "coverage_conservative": "coverage"}
    return _cells(
        "table13", settings, columns, run_of, lambda _, metric: metric == "coverage_conservative"
    )


def _table14(settings: Settings) -> list[Cell]:
    names = ("fraction_raised", "mean_increase", "fraction_lowered", "mean_decrease")
    columns = {name: name for name in names}
    return _cells("table14", settings, columns, lambda row, _: (Configuration.of(row), None))


def _routing(settings: Settings) -> list[Cell]:
    return _cells(
        "routing",
        settings,
        {"share_mode1": "share_mode1"},
        _main_run(settings),
        lambda row, _: True,
    )


def _main_run(settings: Settings) -> Callable[[Row, str], tuple[Configuration, Run | None]]:
    def run_of(row: Row, metric: str) -> tuple[Configuration, Run | None]:
        c = Configuration.of(row)
        return c, settings.run(c)

    return run_of


_JUDGE = ("candidate", "judge")

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        Table("table01", "Coverage of the joint router", _JUDGE, ("dataset", "alpha"), _table01),
        Table(
            "table02",
            "Coverage at alpha = .20, mode 1 only and joint",
            _JUDGE,
            ("dataset", "metric"),
            _table02,
        ),
        Table(
            "table03",
            "FDR and coverage under retrieval drift",
            ("alpha",),
            ("dataset", "metric"),
            _table03,
        ),
        Table(
            "table05",
            "Verdict accuracy before calibration",
            _JUDGE,
            ("dataset", "metric"),
            _table05,
        ),
        Table(
            "table06",
            "FDR and coverage at all levels, candidate Qwen3-8B",
            ("dataset", "judge", "metric"),
            ("alpha",),
            _table06,
        ),
        Table(
            "table07",
            "Sensitivity to the admission function",
            ("dataset",),
            ("admission", "metric", "alpha"),
            _table07,
        ),
        Table("table08", "Retrieval depth at alpha = .20", ("dataset",), ("k", "metric"), _table08),
        Table(
            "table09", "Sensitivity to delta (coverage)", ("delta",), ("dataset", "alpha"), _table09
        ),
        Table(
            "table10",
            "Sensitivity to the calibration share (coverage)",
            ("calibration_fraction",),
            ("dataset", "alpha"),
            _table10,
        ),
        Table(
            "table11",
            "Coverage under three uncertainty scores",
            ("alpha",),
            ("dataset", "score"),
            _table11,
        ),
        Table("table12", "Baselines (coverage)", ("variant",), ("dataset", "alpha"), _table12),
        Table(
            "table13",
            "Pointwise and conservative calibration (coverage)",
            ("alpha",),
            ("dataset", "metric"),
            _table13,
        ),
        Table(
            "table14",
            "Effect of retrieval on the judge's uncertainty",
            ("metric",),
            ("dataset",),
            _table14,
        ),
        Table(
            "routing",
            "Share of items that mode 1 takes, as far as the text gives it",
            _JUDGE,
            ("dataset", "alpha"),
            _routing,
        ),
    )
}
"""Every table by its name; ``routing`` holds the two shares that stand in the paper's text."""


def table_named(name: str) -> Table:
    """A table by its name.

    Raises
    ------
    InputError
        For an unknown name; the message lists the known ones.
    """
    if name not in TABLES:
        raise InputError(f"unknown table {name!r}; known: {', '.join(TABLES)}")
    return TABLES[name]


def runs_of(cells: Sequence[Cell]) -> list[Run]:
    """The runs that the cells need."""
    return list(dict.fromkeys(cell.run for cell in cells if cell.run is not None))
