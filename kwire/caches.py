"""Objects that exist once per process, created on first use under one lock: specs, catalogs, classes, codecs, tables.

One lock for all of them: two threads that request the same object at the same time get the same object. An existing
object is found without the lock. `os.fork` waits until no other thread is creating an object, so that a child never
inherits a locked lock. Functions that create objects must not import modules: an importing thread may wait for the
lock.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Hashable
from functools import cache, update_wrapper
from threading import RLock
from typing import Any, AnyStr, Generic, ParamSpec, TypeVar, cast

_P = ParamSpec("_P")
_T = TypeVar("_T")

LOCK = RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)


def once(make: Callable[_P, _T]) -> Callable[_P, _T]:
    """Decorate a function that is called once for the same arguments, by whichever thread is first; as
    `functools.cache`.

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


class _LazyPattern:
    """A pattern; its methods are those of the compiled one, from their first use on."""

    def __init__(self, text: Any, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        found = vars(self)[name] = getattr(re.compile(self._text, self._flags), name)
        return found


def lazy_pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a regular expression that is compiled when it is first used.

    A command needs few of those that modules have: to compile all 150 of them is a fourteenth of the start-up of
    `kwire decode`.

    >>> lazy_pattern("a+").match("aab").group()
    'aa'
    """
    return cast(re.Pattern[AnyStr], _LazyPattern(text, flags))
