"""Loads the names of a package on first use. They are listed once, as imports in the stub `__init__.pyi` beside it.

Type checkers and editors read the stub; `attach_stub` finds the same names at run time, as lazy_loader does (SPEC 1 of
Scientific Python). Importing kwire imports this module, which imports nothing that Python has not loaded already.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from types import ModuleType
    from typing import Any

_stubs: dict[str, dict[str, tuple[str, str]]] = {}  # of the packages whose names have been used


def attach_stub(
    package: str, *, subpackages: Collection[str] = (), load: Callable[[str], ModuleType] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package, whose names are those that its stub imports.

    Args:
        package: the name of the package. Its stub has one line for each name, such as
            `from .schema.catalog import Catalog as Catalog`.
        subpackages: packages in it that load on first use too, and that a star import leaves out.
        load: imports a module by its name, as `importlib.import_module` does.
    """

    def get_name(name: str) -> Any:
        from importlib import import_module

        load_module = load or import_module
        if name in subpackages:
            return load_module(f"{package}.{name}")
        value = load_name(package, name, load_module)
        vars(sys.modules[package])[name] = value  # a later access takes a hundredth of the time
        return value

    def list_names() -> list[str]:
        special_names = [name for name in vars(sys.modules[package]) if name.startswith("__")]
        return [*sorted(read_stub(package)), *special_names]

    return get_name, list_names


def load_name(package: str, name: str, load_module: Callable[[str], ModuleType]) -> Any:
    """Return what a name of a package means; import its module."""
    imports = read_stub(package)
    if name == "__all__":
        return sorted(imports)
    if name not in imports:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    module, name_there = imports[name]
    if module == ".":  # `from . import messages as messages`
        return load_module(f"{package}.{name_there}")
    return getattr(load_module(package + module), name_there)


def read_stub(package: str) -> dict[str, tuple[str, str]]:
    """Return what the stub of a package imports: the module and the name there, by the name in the package."""
    if package not in _stubs:
        module: Any = sys.modules[package]
        path = f"{module.__path__[0]}/__init__.pyi"
        _stubs[package] = parse_stub(module.__spec__.loader.get_data(path).decode())  # a loader reads from zips, too
    return _stubs[package]


def parse_stub(text: str) -> dict[str, tuple[str, str]]:
    """Return the relative imports of a stub: the module and the name there, by the name in the package.

    >>> parse_stub("from .state import Broker as Broker")
    {'Broker': ('.state', 'Broker')}
    """
    imports = {}
    for line in text.splitlines():
        if line.startswith("from ."):
            module, _, names = line.removeprefix("from ").partition(" import ")
            name_there, _, name = names.partition(" as ")
            imports[name] = (module, name_there)
    return imports
