"""Lets a child of `os.fork` inherit no lock that nobody releases: neither kwire's own, nor those of imports.

kwire imports its modules when they are first needed, often in a thread. A child that was forked meanwhile would wait
for ever for the module, because the thread that imports it does not exist there. This module is imported with kwire.
"""

from __future__ import annotations

import os
import sys
from _thread import RLock, get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LOCK = RLock()  # see `caches`


def _before_fork() -> None:
    """Wait until no other thread imports a module or creates an object."""
    while True:
        for lock in _import_locks():
            lock.acquire()  # waits for the thread that imports the module
            lock.release()
        LOCK.acquire()
        if not _import_locks():
            return
        LOCK.release()  # an importing thread may wait for it


def _import_locks() -> list[Any]:
    """Return the locks of modules that other threads are importing."""
    # Python resets its global import lock in a child, but not the locks of modules, which only this table names.
    table = getattr(sys.modules.get("_frozen_importlib"), "_module_locks", {})
    locks = [reference() for reference in list(table.values())]
    me = get_ident()
    return [lock for lock in locks if getattr(lock, "owner", None) not in (None, me)]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=LOCK.release, after_in_child=LOCK.release)
