"""Every public docstring gives the type of each parameter, in numpydoc's form."""

import ast
import re
from pathlib import Path

import pytest

import riskjudge

ROOT = Path(riskjudge.__file__).parent
SECTION = re.compile(
    r"^(\w[\w ]+)\n-{3,}\n(.*?)(?=^\w[\w ]+\n-{3,}\n|\Z)", re.MULTILINE | re.DOTALL
)
ENTRY = re.compile(r"^(?=\S)([^:\n]+?)(\s*:\s*(\S.*))?$", re.MULTILINE)
TYPED = ("Parameters", "Other Parameters", "Attributes")


def public(tree: ast.Module):
    """Public functions, classes and methods of a module, with the name a reader would use."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node.name, node
            if isinstance(node, ast.ClassDef):
                for inner in node.body:
                    if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_"):
                        yield f"{node.name}.{inner.name}", inner


def untyped(docstring: str):
    """Entries of parameter sections that name no type."""
    for title, body in SECTION.findall(docstring):
        if title in TYPED:
            for names, _, kind in ENTRY.findall(body):
                if not kind:
                    yield names


def undocumented(node: ast.FunctionDef, docstring: str):
    """Parameters that a docstring with a section of parameters leaves out."""
    for title, body in SECTION.findall(docstring):
        if title == "Parameters":
            told = {
                name.strip(" *`")
                for names, _, _ in ENTRY.findall(body)
                for name in names.split(",")
            }
            arguments = node.args
            every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            yield from (a.arg for a in every if a.arg not in {"self", "cls", *told})


@pytest.mark.parametrize(
    "path",
    [p for p in sorted(ROOT.rglob("*.py")) if p.parent.name != "cli"],
    ids=lambda p: str(p.relative_to(ROOT)),
)
def test_public_docstrings_say_what_they_take(path):
    problems = []
    for name, node in public(ast.parse(path.read_text("utf-8"))):
        docstring = ast.get_docstring(node)
        if docstring is None:
            if isinstance(node, ast.ClassDef) or not name.rpartition(".")[0]:
                problems.append(f"{name}: no docstring")
            continue
        problems += [f"{name}: {entry!r} has no type" for entry in untyped(docstring)]
        if isinstance(node, ast.FunctionDef):
            problems += [
                f"{name}: {entry!r} is left out" for entry in undocumented(node, docstring)
            ]
    assert problems == []
