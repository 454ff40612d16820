"""``riskjudge reproduce``: published beside reproduced, from synthetic traces and from a user's."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from riskjudge.cli import app as APP
from riskjudge.errors import InputError
from riskjudge.paper import render
from riskjudge.paper.demo import trace_text
from riskjudge.paper.figures import FIGURES
from riskjudge.paper.model import ModeModel, TraceModel
from riskjudge.paper.protocol import Run
from riskjudge.paper.published import Configuration, published
from riskjudge.paper.reproduction import Deviation, Estimate, Reproduced, Status
from riskjudge.paper.session import names_of, run_session
from riskjudge.paper.tables import TABLES, Cell, Settings, table_named
from riskjudge.paper.traces import FolderTraces, SyntheticTraces

MODE = ModeModel(0.2, (1.0, 1.0, 1.0, 1.0, 1.0))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two of the many configurations, and a later snapshot in another order."""
    path = tmp_path / "traces"
    path.mkdir()
    model = TraceModel((MODE, replace(MODE, error_rate=0.12)), 0.5, 0.4)
    for dataset, seed in (("TriviaQA", 1), ("HotpotQA", 2)):
        text = trace_text(model.simulate(400, seed)).replace("synthetic-", "q")
        main = Configuration("Qwen3-8B", "Qwen3-8B", dataset)
        (path / f"{main.name}.csv").write_text(text)
        if dataset == "TriviaQA":
            head, *rows = text.splitlines()
            later = replace(main, variant="requeried")
            (path / f"{later.name}.csv").write_text("\n".join([head, *reversed(rows)]) + "\n")
    return path


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_published_figure_has_a_cell():
    for name, table in TABLES.items():
        cells = table.cells(Settings(splits=1))
        numbers = [v for row in published(name) for k, v in row.items() if k not in cells[0].keys]
        assert sorted(c.published for c in cells) == sorted(numbers)


def test_predicted_cells_are_the_ones_left_out_of_the_fit():
    predicted = {
        name: [c for c in table.cells(Settings()) if c.predicted] for name, table in TABLES.items()
    }
    counts = {name: len(cells) for name, cells in predicted.items() if cells}
    assert counts == {"table09": 10, "table10": 30, "table12": 8, "table13": 20, "routing": 2}
    assert all(c.keys["delta"] == 0.01 for c in predicted["table09"])
    assert all(c.keys["variant"] == "direct" for c in predicted["table12"])


def test_tables_share_their_runs():
    runs: dict[Run, None] = {}
    for table in TABLES.values():
        runs |= dict.fromkeys(c.run for c in table.cells(Settings()) if c.run)
    for figure in FIGURES.values():
        runs |= dict.fromkeys(figure.runs(Settings()))
    main = [r for r in runs if r.configuration.variant == "main" and r.n_modes == 2]
    # 32 joint runs; delta .01 (2), three calibration shares (6), conservative (4), re-queried (2)
    assert len(main) == 32 + 2 + 6 + 4 + 2


def test_synthetic_reproduction(tmp_path):
    settings = Settings(splits=3)
    session = run_session(["table09", "table14", "fig07"], SyntheticTraces(), settings, tmp_path)
    assert session.synthetic
    assert session.missing == ()
    rows = read(tmp_path / "table09.csv")
    assert len(rows) == 20
    assert {row["status"] for row in rows} == {"fitted", "predicted"}
    assert {row["traces"] for row in rows} == {"synthetic"}
    for row in rows:
        gap = float(row["reproduced"]) - float(row["published"])
        assert float(row["difference"]) == pytest.approx(gap, abs=1e-5)
        assert float(row["standard_error"]) >= 0
    for name in ("table09.md", "table09.tex", "table14.md", "summary.md"):
        assert "synthetic" in (tmp_path / name).read_text()
    for ending in ("png", "pdf"):
        assert (tmp_path / f"fig07.{ending}").stat().st_size > 5000
    assert "*" in (tmp_path / "table09.md").read_text()
    assert not [p for p in tmp_path.iterdir() if p.suffix == ".part"]


def test_same_call_same_bytes(tmp_path):
    for name in ("a", "b"):
        names = ["table09", "fig07"]
        run_session(names, SyntheticTraces(), Settings(splits=2), tmp_path / name)
    for file in ("table09.csv", "table09.md", "table09.tex", "fig07.png", "fig07.pdf"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_another_procedure_is_neither_fitted_nor_predicted(tmp_path):
    settings = Settings(procedure="bonferroni", splits=2)
    session = run_session(["table09", "table05"], SyntheticTraces(), settings, tmp_path)
    assert {c.status for c in session.reproductions[0].cells} == {Status.OTHER_PROCEDURE}
    assert {c.status for c in session.reproductions[1].cells} == {Status.FITTED}
    assert "bonferroni" in (tmp_path / "table09.md").read_text()


def test_own_traces_leave_nothing_synthetic(tmp_path, folder):
    out = tmp_path / "out"
    source = FolderTraces(folder)
    session = run_session(["table03", "table09", "table01"], source, Settings(splits=2), out)
    assert not session.synthetic
    assert {c.status for c in session.cells} == {Status.MEASURED}
    for file in out.glob("table*"):
        text = file.read_text()
        assert "synthetic" not in text
    # HotpotQA's later snapshot and 30 of the 32 configurations are not there.
    assert Configuration("Qwen3-8B", "Qwen3-8B", "HotpotQA", "requeried") in session.missing
    assert len(session.missing) == 31
    assert "No trace for" in (out / "table01.md").read_text()
    rows = read(out / "table03.csv")
    later = [r for r in rows if r["metric"] == "coverage_requeried"]
    first = [r for r in rows if r["metric"] == "coverage_original" and r["dataset"] == "TriviaQA"]
    # The later snapshot is the first one in another order: joined by id, nothing changes.
    assert [r["reproduced"] for r in later] == [r["reproduced"] for r in first]


def test_files_that_nothing_asks_for_are_named(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "scores.csv").write_text("item_id,label,v1,u1,v2,u2\na,1,1,0.1,1,0.1\n")
    for names in (["table01"], ["fig02"], ["table05", "table14"]):
        with pytest.raises(InputError, match=r"looked for .*__main.*found scores"):
            run_session(names, FolderTraces(folder), Settings(splits=1), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_bad_trace_folders_are_named(tmp_path, folder):
    with pytest.raises(InputError, match="not a folder"):
        FolderTraces(tmp_path / "absent")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="NQ-Open__main"):
        FolderTraces(tmp_path / "empty")
    later = folder / "Qwen3-8B__Qwen3-8B__TriviaQA__requeried.csv"
    later.write_text("\n".join(later.read_text().splitlines()[:-1]) + "\n")
    with pytest.raises(InputError, match="q0001"):
        FolderTraces(folder).trace(Configuration("Qwen3-8B", "Qwen3-8B", "TriviaQA", "requeried"))


def test_unknown_names_list_the_known_ones():
    with pytest.raises(InputError, match=r"table99.*table01.*fig07.*all"):
        names_of(["table99"])
    with pytest.raises(InputError, match="table01"):
        table_named("table04")
    assert len(names_of(["all"])) == len(TABLES) + len(FIGURES) == 21


def test_deviation_by_hand():
    def cell(value: float | None, figure: float) -> Reproduced:
        where = Configuration("c", "j", "d")
        return Reproduced(
            Cell({"alpha": 0.1}, "coverage", "coverage", figure, False, where),
            Status.FITTED,
            Estimate(value, None),
        )

    found = Deviation.of([cell(0.5, 0.45), cell(0.2, 0.3), cell(None, 0.1)])
    assert (found.cells, found.close) == (2, 0.5)
    assert found.mean_absolute == pytest.approx(0.075)
    assert Deviation.of([cell(None, 0.1)]).mean_absolute is None


@pytest.mark.parametrize(
    "value, text", [(0.994, ".99"), (0.996, "1.0"), (0.0, ".00"), (-0.001, ".00"), (None, "n/a")]
)
def test_figures_are_printed_as_in_the_paper(value, text):
    assert render.number(value) == text


def test_command_line(tmp_path):
    arguments = ["reproduce", "table09", "--splits", "2", "--output", str(tmp_path)]
    shown = CliRunner().invoke(APP, arguments)
    assert shown.exit_code == 0, shown.output
    assert "SYNTHETIC" in shown.output
    assert "predicted: 10 cells" in shown.output
    as_json = CliRunner().invoke(APP, [*arguments, "--json"])
    summary = json.loads(as_json.stdout)
    assert summary["synthetic"] is True
    assert summary["overall"]["predicted"]["cells"] == 10
    unknown = CliRunner().invoke(APP, ["reproduce", "table99", "--output", str(tmp_path)])
    assert isinstance(unknown.exception, InputError)  # exit code 2, see `riskjudge.cli.main`
    assert "table01" in str(unknown.exception)
    for option in ("--procedure", "--objective"):
        wrong = ["reproduce", "table01", option, "magic", "--output", str(tmp_path / "never")]
        assert isinstance(CliRunner().invoke(APP, wrong).exception, InputError)
    assert not (tmp_path / "never").exists()
