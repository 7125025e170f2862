"""Creates objects once per process, on first use, under one lock: specs, catalogs, classes, codecs, tables.

Because of the lock, two threads that request the same object at the same time get the same object. Access to an
existing object needs no lock. `os.fork` waits until no other thread is creating an object, so that a child never
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
