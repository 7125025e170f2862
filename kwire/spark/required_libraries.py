"""Imports a module of this package, or says which library is missing."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from ..codecs.columns.read_columns import need_libraries
from ..errors import MissingExtra


def load_with_libraries(module: str) -> ModuleType:
    """Import a module that needs pyarrow, numpy and pyspark; raise MissingExtra without one of them.

    Spark 3.5 has neither Python data sources nor what streams need.
    """
    need_libraries()
    try:
        return import_module(module)
    except ImportError as error:
        is_old = (error.name or "").startswith("pyspark.")
        need, library = (module, "pyspark 4.2") if is_old else ("Spark", "pyspark")
        raise MissingExtra(need, library, "spark") from None
