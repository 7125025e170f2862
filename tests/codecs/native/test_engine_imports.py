"""Modules import what only the compiled engine has under a condition, so that kwire works without it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import ROOT

NATIVE = ROOT / "kwire/codecs/native"


def engine_names() -> set[str]:
    """Return the names that `kwire.codecs.native` has only if the engine was built."""
    tree = ast.parse((NATIVE / "__init__.py").read_text("utf-8"))
    conditions = [node for node in tree.body if isinstance(node, ast.If)]
    return {alias.name for node in conditions for alias in _aliases(node)}


def _aliases(tree: ast.AST) -> Iterator[ast.alias]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from node.names


def unconditional_imports(path: Path) -> set[str]:
    """Return the names that a module imports from `kwire.codecs.native` whenever it is imported."""
    imports = [node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.ImportFrom)]
    return {alias.name for node in imports if (node.module or "").endswith("native") for alias in node.names}


def test_the_engine_is_imported_under_conditions() -> None:
    names = engine_names()
    assert "BodyFacts" in names
    found = [
        (path.relative_to(ROOT), sorted(unconditional_imports(path) & names)) for path in (ROOT / "kwire").rglob("*.py")
    ]
    assert [entry for entry in found if entry[1]] == []
