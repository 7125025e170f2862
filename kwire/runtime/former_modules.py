"""Lets pickles of earlier versions load: finds what they name in modules that have moved.

This module is imported with kwire. The table of what has moved is in `former_names`, which is loaded when it is needed.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from importlib.machinery import ModuleSpec
    from typing import Any


def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
    """Return the spec of a former module; Python asks after all other finders."""
    if not name.startswith("kwire."):
        return None
    from . import former_names

    return former_names.find_spec(name)


def attach_former_names(package: str, functions: Collection[str] = ()) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package that was a module: it finds the classes, and some functions, of then."""

    def get_former_name(name: str) -> Any:
        if name.islower() and name not in functions:  # a module of the package, which is about to be imported
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from .former_names import find_name

        return find_name(package, name)

    return get_former_name


sys.meta_path.append(sys.modules[__name__])  # this module is the finder: it has `find_spec`
