"""The source files of the package, and what they parse to."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from tests.conftest import ROOT

PACKAGE = ROOT / "kwire"
FILES = sorted(PACKAGE.rglob("*.py"))


@cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a file; do not change it."""
    return ast.parse(path.read_text("utf-8"))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a file's syntax tree."""
    return tuple(ast.walk(parsed(path)))
