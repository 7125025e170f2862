"""Creates objects once per process, on first use, under one lock: specs, catalogs, classes, codecs, tables.

Because of the lock, two threads that request the same object at the same time get the same object. Access to an
existing object needs no lock. Functions that create objects must not import modules: an importing thread may wait for
the lock.

A child of `os.fork` does not inherit the lock while it is locked, see `forks`; `preload` imports everything beforehand.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Hashable
from contextlib import suppress
from functools import cache, update_wrapper
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, AnyStr, Generic, ParamSpec, TypeVar, cast

from .forks import LOCK as LOCK

_P = ParamSpec("_P")
_T = TypeVar("_T")

PACKAGE = __package__
# What `preload` leaves out: commands, and what needs a library or a program that may be missing.
_APART = ("__main__", "browse", "cli", "pytest_plugin", "spark", "stubs", "native.build_hook")
# Libraries that functions import when they first need them.
_LIBRARIES = ("backports.zstd", "cramjam", "difflib", "google_crc32c", "hexdump", "inspect", "numpy", "pyarrow", "re2")


def preload() -> None:
    """Import all modules of kwire, except its commands and Spark, and the libraries that they use.

    Modules are otherwise imported when they are first needed. A program that forks while other threads use kwire, such
    as a server that starts `multiprocessing` workers by fork, calls this before it starts the threads: a child that is
    forked while a thread imports a module may wait for that module for ever. Takes about half a second, once.

    >>> preload()
    """
    package = sys.modules[PACKAGE]
    for found in walk_packages(package.__path__, f"{PACKAGE}."):
        name = found.name.removeprefix(f"{PACKAGE}.")
        if not any(name == apart or name.startswith(f"{apart}.") for apart in _APART):
            with suppress(ImportError):  # an extra is not installed
                import_module(found.name)
    for library in _LIBRARIES:
        with suppress(ImportError):
            import_module(library)


def once(make: Callable[_P, _T]) -> Callable[_P, _T]:
    """Decorate a function so that it runs once for the same arguments, in the first thread; like `functools.cache`.

    The function must have no default values: calls with and without an argument would count as different.

    >>> once(lambda name: [name])("a") == ["a"]
    True
    """
    made: dict[Hashable, _T] = {}

    def make_locked(*args: Any) -> _T:
        with LOCK:
            if args not in made:
                made[args] = cast(Callable[..., _T], make)(*args)
            return made[args]

    return cast(Callable[_P, _T], cache(update_wrapper(make_locked, make)))


class once_attribute(Generic[_T]):  # noqa: N801 (a decorator)
    """Decorate a method whose result becomes an attribute on first use; like `functools.cached_property`."""

    def __init__(self, make: Callable[[Any], _T]) -> None:
        self._make, self._name, self.__doc__ = make, make.__name__, make.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> _T:
        """Create the attribute. It then hides this descriptor, so that later access takes no lock."""
        if instance is None:
            return cast(_T, self)
        with LOCK:
            if self._name not in vars(instance):
                vars(instance)[self._name] = self._make(instance)
            return cast(_T, vars(instance)[self._name])


class _LazyPattern:
    """A pattern that is compiled when one of its methods is first used."""

    def __init__(self, text: Any, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        found = vars(self)[name] = getattr(re.compile(self._text, self._flags), name)
        return found


def lazy_pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a regular expression that is compiled when it is first used.

    A command needs few of the modules' patterns: compiling all 150 takes a fourteenth of the start-up of `kwire
    decode`.

    >>> lazy_pattern("a+").match("aab").group()
    'aa'
    """
    return cast(re.Pattern[AnyStr], _LazyPattern(text, flags))
