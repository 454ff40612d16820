"""The house: imports go one way, and nothing heavy is loaded before it is needed."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import riskjudge

ROOT = Path(riskjudge.__file__).parent

# A module may import modules of its own room and of the rooms before it.
ROOMS = [
    ("errors", "_version"),
    ("binomial",),
    ("counts",),
    ("calibration",),
    ("verdict",),
    ("appending", "files", "tables"),
    ("trace",),
    ("outcomes",),
    ("gate", "gate_files", "gate_path", "gate_rows"),
    ("sweep",),
    ("report",),
    ("plots",),
    ("uncertainty",),
    ("ledger",),
    ("admission",),
    ("judges", "models", "prompts", "retrieval"),
    ("agreement", "monitor"),
    ("demo", "paper"),
    ("audit",),
    ("cli",),
]
LEVEL = {name: level for level, names in enumerate(ROOMS) for name in names}


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def imports(path: Path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("riskjudge"):
            if node.module == "riskjudge":
                yield from (f"riskjudge.{alias.name}" for alias in node.names)
            else:
                yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("riskjudge"))


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_one_way(path):
    here = room(".".join(("riskjudge", *path.relative_to(ROOT).with_suffix("").parts)))
    if here == "__init__":
        return
    for module in imports(path):
        there = room(module)
        if there in LEVEL:
            assert LEVEL[there] <= LEVEL[here], f"{path.name} ({here}) imports {module}"


def test_every_room_is_on_the_map():
    names = {p.stem if p.suffix == ".py" else p.name for p in ROOT.iterdir()}
    assert names - {"__init__", "__pycache__", "py.typed", "_data"} <= set(LEVEL)


@pytest.mark.parametrize(
    "module", ["riskjudge", "riskjudge.cli", "riskjudge.plots", "riskjudge.judges"]
)
def test_nothing_heavy_is_loaded(module):
    heavy = ["matplotlib", "duckdb", "openai", "xllamacpp", "mapie"]
    if module != "riskjudge.plots":
        heavy.append("sklearn")
    code = f"import sys, {module}; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_exist():
    for name in riskjudge.__all__:
        assert getattr(riskjudge, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = riskjudge.nonsense
    assert "Router" in dir(riskjudge)


def test_every_module_is_typed_and_says_what_it_is():
    assert (ROOT / "py.typed").exists()
    for path in ROOT.rglob("*.py"):
        assert ast.get_docstring(ast.parse(path.read_text("utf-8"))), path
