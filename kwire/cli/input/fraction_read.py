"""The fraction of all input files that was read, for the progress of a command."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import suppress

from ...capture.files import local_path
from .files import files_of


def part_read(options: argparse.Namespace) -> float | None:
    """Return the fraction of all input files that `dumps_in` has read, 0 to 1; None if a size is unknown."""
    position: Callable[[], int] | None = getattr(options, "position", None)
    if position is None:
        return None
    if "input_size" not in options:
        options.input_size = _size_of(options)
    with suppress(ValueError):  # the file was closed meanwhile
        return min(position() / options.input_size, 1.0) if options.input_size else None
    return None


def _size_of(options: argparse.Namespace) -> int | None:
    """Return the total size of all input files in bytes; None if a size is unknown."""
    sizes = []
    for file, _ in files_of(options.files, getattr(options, "recursive", False)):
        path = local_path(file)
        if file == "-" or path is None or not path.is_file():
            return None
        sizes.append(path.stat().st_size)
    return sum(sizes)
