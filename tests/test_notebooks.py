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
