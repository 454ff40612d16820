"""A pytest plugin: the fixture ``riskjudge_gate`` holds a gate to its lines.

Nothing but pytest is imported until a test uses the fixture.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import pandas as pd

    from riskjudge.data.trace import Trace
    from riskjudge.evaluation.summary import Report
    from riskjudge.gate.outcomes import Outcomes


def pytest_addoption(parser: pytest.Parser) -> None:
    """The gate's file, for all tests; ``riskjudge_gate`` in the configuration says it once."""
    parser.getgroup("riskjudge").addoption(
        "--riskjudge-gate", metavar="GATE", help="Gate that the fixture riskjudge_gate holds."
    )
    parser.addini("riskjudge_gate", "Gate that the fixture riskjudge_gate holds.", default="")


@pytest.fixture
def riskjudge_gate(pytestconfig: pytest.Config) -> GateLines:
    """A gate that a test holds to lines: ``riskjudge_gate.holds(items, max_fdr=0.1)``."""
    path = pytestconfig.getoption("--riskjudge-gate")
    if path is not None:
        return GateLines(Path(pytestconfig.invocation_params.dir, path))
    path = pytestconfig.getini("riskjudge_gate")
    return GateLines(pytestconfig.rootpath / path if path else None)


class GateLines:
    """Holds a gate to lines on labelled items.

    Parameters
    ----------
    path : Path, optional
        File of the gate; without one every call names a gate.

    Examples
    --------
    >>> import numpy as np, riskjudge
    >>> trace = riskjudge.demo_trace()
    >>> gate = riskjudge.Router(0.2).fit(trace.rows(np.arange(1000)))
    >>> fresh = trace.rows(np.arange(1000, 2000))
    >>> report = GateLines().holds(fresh, max_fdr=0.2, floor_coverage=0.5, gate=gate)
    >>> report.whole.accepted
    985
    >>> GateLines().holds(fresh, max_fdr=0.1, gate=gate)
    Traceback (most recent call last):
        ...
    AssertionError: the gate misses 1 of 1 lines
      MISSED  FDR: need at most 10 %, have 17.66 % (174/985; 95 %: 15.3 to 20.2 %)
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path

    def load(self) -> Any:
        """The gate.

        Raises
        ------
        InputError
            If no file was named, or it is no gate.
        """
        from riskjudge.errors import InputError
        from riskjudge.signals import load_any_gate

        if self.path is None:
            raise InputError(
                "which gate? name it in the configuration (riskjudge_gate = gate.json), with "
                "--riskjudge-gate, or as gate="
            )
        return load_any_gate(self.path)

    def holds(
        self,
        items: Trace | Outcomes | pd.DataFrame | str | Path,
        *,
        max_fdr: float | None = None,
        floor_coverage: float | None = None,
        sure: bool = False,
        by: str | None = None,
        min_n: int | None = None,
        group: str | None = None,
        label: str = "label",
        item_id: str = "item_id",
        gate: Any = None,
    ) -> Report:
        """Assert that the gate holds its lines on some items, and in each segment of them.

        Parameters
        ----------
        items : Trace, Outcomes, DataFrame, str or Path
            What the gate decides; or what it (or another run of it) has decided already.
        max_fdr, floor_coverage, sure : float, float, bool
            The lines; see :func:`riskjudge.evaluation.lines.check_lines`.
        by, min_n, group : str, int, str
            Segments, the least evidence asked for, dependent items; see
            :func:`riskjudge.summarize`.
        label, item_id : str
            Columns, where a table or a file is given.
        gate : fitted gate, optional
            By default that of the configuration.

        Returns
        -------
        Report
            For further assertions.

        Raises
        ------
        AssertionError
            If a line is missed; each is named with what was needed and what is there.
        InputError
            For input that is not what it must be, as everywhere.
        """
        __tracebackhide__ = True
        from riskjudge.cli.options import own_group
        from riskjudge.evaluation import summarize
        from riskjudge.evaluation.lines import check_lines

        outcomes = self._decided(items, gate, label, item_id)
        group = own_group(outcomes) if group is None else group
        report = summarize(outcomes, by=by, floor=min_n, group=group)
        lines = check_lines(report, floor_coverage=floor_coverage, max_fdr=max_fdr, sure=sure)
        missed = [line for line in lines if not line.held]
        if missed:
            told = [f"  {'held  ' if line.held else 'MISSED'}  {line}" for line in lines]
            raise AssertionError(
                "\n".join([f"the gate misses {len(missed)} of {len(lines)} lines", *told])
            )
        return report

    def _decided(self, items: Any, gate: Any, label: str, item_id: str) -> Outcomes:
        import pandas as pd

        from riskjudge.cli.options import grading_of, load_table
        from riskjudge.data.trace import Trace
        from riskjudge.gate.outcomes import Outcomes
        from riskjudge.rates.reading import is_outcomes

        if isinstance(items, Outcomes):
            return items
        source = "the items"
        gate = self.load() if gate is None else gate
        if isinstance(items, str | Path):
            source = str(items)
            items = load_table(Path(items), gate.columns_, item_id=item_id, label=label)
        if isinstance(items, pd.DataFrame):
            if is_outcomes(list(items.columns)):
                return Outcomes.from_frame(items, source)
            items = Trace.from_frame(
                items,
                modes=gate.columns_ if gate.fitted else None,
                item_id=item_id,
                label=label,
                source=source,
                grading=grading_of(gate=gate),
            )
        decided: Outcomes = gate.decide(items)
        return decided
