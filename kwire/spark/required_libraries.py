"""Imports a module of this package, or says which library is missing."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from ..codecs.columns.read_columns import need_libraries
from ..errors import MissingExtra


def load_with_libraries(module: str) -> ModuleType:
    """Import a module that needs pyarrow, numpy and pyspark; raise MissingExtra without one of them."""
    need_libraries()
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra("Spark", "pyspark", "spark") from None
