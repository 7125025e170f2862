"""The progress of long commands, on one line of stderr."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import TextIO, TypeVar

from .escaped_output import let_pass

AFTER = 1.0  # seconds
BETWEEN = 0.2
_CLEAR = "\r\x1b[K"
T = TypeVar("T")


def with_progress(
    items: Iterator[T],
    part: Callable[[], float | None] = lambda: None,
    *,
    stream: TextIO | None = None,
    clock: Callable[[], float] = time.monotonic,
    wanted: bool = True,
    weight: Callable[[T], int] = lambda item: 1,
) -> Iterator[T]:
    """Yield items, and show their count on the terminal; the line is cleared at the end. Silent with CI or TERM=dumb.

    Args:
        items: the items to yield.
        part: returns the fraction of the input that was read, 0 to 1, or None if it is unknown.
        stream: where to write; stderr unless given.
        clock: returns seconds; for tests.
        wanted: whether to show progress.
        weight: returns the number of frames in an item.
    """
    stream = stream or sys.stderr
    if not wanted or not stream.isatty() or os.environ.get("CI") or os.environ.get("TERM") == "dumb":
        yield from items
        return
    let_pass(stream, _CLEAR)
    start = clock()
    due = start + AFTER
    shown, count = False, 0
    try:
        for item in items:
            yield item
            count += weight(item)
            now = clock()
            if now >= due:
                stream.write(f"{_CLEAR}kwire: {progress_text(count, now - start, part())}")
                stream.flush()
                due, shown = now + BETWEEN, True
    finally:
        if shown:
            stream.write(_CLEAR)
            stream.flush()


def progress_text(frames: int, seconds: float, part: float | None) -> str:
    """Format the progress of the work.

    >>> progress_text(42_007, 3.2, 0.25)
    '42,007 frames, 13,127 a second, 25 %, 10 s left'
    >>> progress_text(42_007, 3.2, None)
    '42,007 frames, 13,127 a second'
    """
    text = f"{frames:,} frames, {frames / seconds:,.0f} a second"
    if not part:
        return text
    left = round(seconds * (1 - part) / part)
    return f"{text}, {part:.0%}, {_time_text(left)} left".replace("%", " %")


def _time_text(seconds: int) -> str:
    minutes = seconds // 60
    if minutes < 2:
        return f"{seconds} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"
