"""Creates objects once per process, on first use, under one lock: specs, catalogs, classes, codecs, tables.

Because of the lock, two threads that request the same object at the same time get the same object. Access to an
existing object needs no lock. Functions that create objects must not import modules: an importing thread may wait for
the lock. A child of `os.fork` does not inherit the lock while it is locked, see `forks`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cache, update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar, cast

from .forks import LOCK

_P = ParamSpec("_P")
_T = TypeVar("_T")


def once(make: Callable[_P, _T]) -> Callable[_P, _T]:
    """Decorate a function so that it runs once for the same arguments, in the first thread; like `functools.cache`.

    The function must have no default values: calls with and without an argument would count as different.

    >>> once(lambda name: [name])("a") == ["a"]
    True
    """
    made: dict[Hashable, _T] = {}

    def make_under_lock(*args: Any) -> _T:
        with LOCK:
            if args not in made:
                made[args] = cast(Callable[..., _T], make)(*args)
            return made[args]

    return cast(Callable[_P, _T], cache(update_wrapper(make_under_lock, make)))


class once_attribute(Generic[_T]):  # noqa: N801 (a decorator)
    """Decorate a method whose result becomes an attribute on first use; like `functools.cached_property`."""

    def __init__(self, make: Callable[[Any], _T]) -> None:
        self._make = make
        self._name = make.__name__
        self.__doc__ = make.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> _T:
        """Create the attribute. It then hides this descriptor, so that later access takes no lock."""
        if instance is None:
            return cast(_T, self)
        with LOCK:
            if self._name not in vars(instance):
                vars(instance)[self._name] = self._make(instance)
            return cast(_T, vars(instance)[self._name])
