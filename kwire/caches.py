"""Objects that exist once per process, created on first use under one lock: specs, catalogs, classes, codecs, tables.

One lock over all of them: two threads that ask for the same thing at the same time get the same object. What was made
before is found without the lock. `os.fork` waits until no other thread is making anything, so that a child never
inherits a lock that nobody will release. Nothing that is made here may import a module: a thread that imports may wait
for the lock.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from functools import cache, update_wrapper
from threading import RLock
from typing import Any, Generic, ParamSpec, TypeVar, cast

_P = ParamSpec("_P")
_T = TypeVar("_T")

LOCK = RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)


def once(make: Callable[_P, _T]) -> Callable[_P, _T]:
    """Decorate a function that is called once for the same arguments, whichever thread asks; as `functools.cache`.

    Give it no default values: calls with and without an argument would count as different.

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
    """Decorate a method whose result is an attribute from its first use on; as `functools.cached_property`."""

    def __init__(self, make: Callable[[Any], _T]) -> None:
        self._make, self._name, self.__doc__ = make, make.__name__, make.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> _T:
        """Make the attribute. It hides this descriptor afterwards, so that reading it takes no lock."""
        if instance is None:
            return cast(_T, self)
        with LOCK:
            if self._name not in vars(instance):
                vars(instance)[self._name] = self._make(instance)
            return cast(_T, vars(instance)[self._name])
