"""Imports all modules of kwire at once, for programs that fork while other threads use it."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from pkgutil import walk_packages

PACKAGE = "kwire"
# What `preload` leaves out: commands, and what needs a library or a program that may be missing.
_APART = ("__main__", "browse", "cli", "pytest_plugin", "spark", "schema.stubs", "codecs.native.build_hook")
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
    for module in walk_packages(package.__path__, f"{PACKAGE}."):
        name = module.name.removeprefix(f"{PACKAGE}.")
        if not any(name == apart or name.startswith(f"{apart}.") for apart in _APART):
            with suppress(ImportError):  # an extra is not installed
                import_module(module.name)
    for library in _LIBRARIES:
        with suppress(ImportError):
            import_module(library)
