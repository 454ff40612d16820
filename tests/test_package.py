"""The house: imports go one way, and nothing heavy is loaded before it is needed."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import riskjudge

ROOT = Path(riskjudge.__file__).parent

# A module may import modules of its own layer and of the layers before it.
LAYERS = [
    ("errors", "_typing", "_version", "_checks", "_parallel"),
    ("binomial",),
    ("proportion",),
    ("share",),
    ("counts",),
    ("display",),  # a table of texts; certificates and reports show themselves as one
    ("calibration",),
    ("io",),
    ("data",),
    ("gate",),
    ("evaluation",),
    ("rates",),  # corrects what a gate decided; draws with `display`
    ("plots",),
    ("uncertainty",),
    ("items",),
    ("ledger",),
    # A fused gate is a router over what a fusion gives, and signals may be read from ledger rows.
    ("signals",),
    ("page", "advice"),  # about a gate of any kind
    ("retrieval",),
    ("prompts",),
    ("llm",),
    ("judges",),
    # Asks judges about perturbed items, and draws tables; readers and monitors know nothing of it.
    ("reliability",),
    ("readers",),
    ("agreement",),
    ("monitor",),
    ("demo", "paper"),
    ("audit",),
    ("cli",),
    ("testing",),  # a test takes whatever a command takes
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
FILES = {
    ".".join(("riskjudge", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(
        ".__init__"
    ): path
    for path in sorted(ROOT.rglob("*.py"))
}


def layer(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def imports(path: Path):
    """Modules of the package that a file imports, anywhere in it, as precisely as they are named."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("riskjudge"):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in FILES else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("riskjudge"))


@pytest.mark.parametrize("module", sorted(FILES))
def test_imports_go_from_later_layers_to_earlier_ones(module):
    here = layer(module)
    if here == "__init__":
        return
    for imported in imports(FILES[module]):
        there = layer(imported)
        if there != "__init__":
            assert LEVEL[there] <= LEVEL[here], f"{module} imports {imported}"


def test_no_file_imports_itself_through_others():
    needs = {
        module: {name for name in imports(path) if name in FILES and name != module}
        for module, path in FILES.items()
    }
    while True:
        needed = set().union(*needs.values())
        free = [name for name in needs if not needs[name] & needs.keys() or name not in needed]
        if not free:
            break
        for name in free:
            del needs[name]
        needs = {name: others & needs.keys() for name, others in needs.items()}
    assert sorted(needs) == [], "these files import one another in a circle"


def test_every_layer_is_on_the_map():
    names = {p.stem if p.suffix == ".py" else p.name for p in ROOT.iterdir()}
    assert names - {"__init__", "__pycache__", "py.typed", "_data"} <= set(LEVEL)


@pytest.mark.parametrize(
    "module", ["riskjudge", "riskjudge.cli", "riskjudge.plots", "riskjudge.judges"]
)
def test_nothing_heavy_is_loaded(module):
    heavy = ["matplotlib", "duckdb", "openai", "xllamacpp", "mapie"]
    if module != "riskjudge.plots":
        heavy.append("sklearn")
    if module in ("riskjudge", "riskjudge.cli"):  # --help is quick
        heavy += ["numpy", "scipy", "pandas", "pyarrow"]
    code = f"import sys, {module}; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("module", ["riskjudge.gate", "riskjudge.signals"])  # `sql` reads both
def test_a_gate_starts_without_what_it_does_not_need(module):
    heavy = ["sklearn", "scipy.stats", "pandas"]
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
