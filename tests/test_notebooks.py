"""Every notebook runs from top to bottom, in its quick form."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path, monkeypatch, tmp_path):
    nbclient = pytest.importorskip("nbclient", reason="the test extra is not installed")
    nbformat = pytest.importorskip("nbformat", reason="the test extra is not installed")
    pytest.importorskip("ipykernel", reason="the test extra is not installed")
    monkeypatch.setenv("RISKJUDGE_QUICK", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute()
    assert all(cell.get("execution_count") for cell in notebook.cells if cell.cell_type == "code")


def test_every_picture_appears_in_a_notebook(monkeypatch, tmp_path):
    """The first picture, those after it, and the user's own afterwards."""
    nbclient = pytest.importorskip("nbclient", reason="the test extra is not installed")
    nbformat = pytest.importorskip("nbformat", reason="the test extra is not installed")
    pytest.importorskip("ipykernel", reason="the test extra is not installed")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    drawn = "RoutingDisplay.from_outcomes(outcomes).plot();"
    own = "pyplot.plot([1, 2]);"
    cells = [
        "import riskjudge\n"
        "from matplotlib import pyplot, rcParams\n"
        "from riskjudge.plots import RoutingDisplay\n"
        "size = rcParams['font.size']\n"
        "outcomes = riskjudge.Router().decide(riskjudge.demo_trace())",
        drawn,
        drawn,
        own,
        drawn,
        own,
        "assert rcParams['font.size'] == size",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, kernel_name="python3", resources=resources).execute()
    images = [
        sum("image/png" in output.get("data", {}) for output in cell.outputs)
        for cell in notebook.cells
    ]
    assert images == [0, 1, 1, 1, 1, 1, 0]
