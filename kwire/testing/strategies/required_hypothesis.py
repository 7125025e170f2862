"""Imports a module of this package, or says that hypothesis is missing."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from ...errors import MissingExtra


def load_with_hypothesis(module: str) -> ModuleType:
    """Import a module that needs hypothesis; raise MissingExtra without it."""
    try:
        import hypothesis  # noqa: F401 (whether it can be imported)
    except ImportError:
        raise MissingExtra("kwire.testing.strategies", "hypothesis", "strategies") from None
    return import_module(module)
