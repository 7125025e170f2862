"""How far a long command is, on stderr: on a terminal only, and only after a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import TextIO, TypeVar

AFTER = 1.0  # seconds
BETWEEN = 0.2
_CLEAR = "\r\x1b[K"

T = TypeVar("T")


def with_progress(
    items: Iterator[T],
    noun: str = "frames",
    *,
    stream: TextIO | None = None,
    clock: Callable[[], float] = time.monotonic,
    wanted: bool = True,
    weight: Callable[[T], int] = lambda item: 1,
) -> Iterator[T]:
    """Pass items on, and count them on the terminal; the line is cleared at the end.

    Args:
        items: what is passed on.
        noun: what they are.
        stream: where to write; stderr unless given.
        clock: seconds; for tests.
        wanted: pass items on silently if not.
        weight: how many one item is.
    """
    stream = stream or sys.stderr
    if not wanted or not stream.isatty():
        yield from items
        return
    start = clock()
    due = start + AFTER
    shown, count = False, 0
    try:
        for item in items:
            yield item
            count += weight(item)
            now = clock()
            if now >= due:
                stream.write(f"{_CLEAR}kwire: {count:,} {noun}, {count / (now - start):,.0f} a second")
                stream.flush()
                due, shown = now + BETWEEN, True
    finally:
        if shown:
            stream.write(_CLEAR)
            stream.flush()
