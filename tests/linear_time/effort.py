"""How much work is done, in lines of Python that run and bytes that they allocate.

Seconds differ by machine and by what else it does.
"""

from __future__ import annotations

import signal
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

HANG = 300  # seconds of processor time that nothing here takes on any machine, unless it hangs


class Effort:
    """The lines that have run so far, and the bytes that they allocated, where this was measured."""

    lines = 0
    allocated = 0


@contextmanager
def no_hang(seconds: float = HANG) -> Iterator[None]:
    """Fail what takes so much processor time that it hangs, also in a loop of C code that looks at signals.

    Args:
        seconds: processor time of this process; far more than a slow machine needs.
    """

    def give_up(number: int, frame: FrameType | None) -> None:
        pytest.fail(f"it hangs: more than {seconds} seconds of processor time")

    former = signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, former)


@contextmanager
def at_most(lines: int) -> Iterator[Effort]:
    """Fail where more lines of Python run than these; the same on every machine.

    Args:
        lines: the most that may run; a loop that is quadratic or exponential runs many times as many.

    Yields:
        the count, so that it can be looked at afterwards.
    """
    effort = Effort()

    def count(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            effort.lines += 1
            if effort.lines > lines:
                sys.settrace(None)
                pytest.fail(f"more than {lines:,} lines of Python ran")
        return count

    former = sys.gettrace()
    with no_hang():
        sys.settrace(count)
        try:
            yield effort
        finally:
            sys.settrace(former)


def effort_of(work: Callable[[], object]) -> Effort:
    """Return the work that a function does.

    Bytes are counted line by line: what is allocated and freed in the course of one line counts with its maximum. So a
    container that is copied as often as something is added to it shows, although this runs few lines.
    """
    effort = Effort()
    before = 0

    def count(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal before
        if event == "line":
            effort.lines += 1
            now, peak = tracemalloc.get_traced_memory()
            effort.allocated += peak - before
            tracemalloc.reset_peak()
            before = now
        return count

    former, was_tracing = sys.gettrace(), tracemalloc.is_tracing()
    with no_hang():
        if not was_tracing:
            tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        sys.settrace(count)
        try:
            work()
        finally:
            sys.settrace(former)
            effort.allocated += tracemalloc.get_traced_memory()[1] - before
            if not was_tracing:
                tracemalloc.stop()
    return effort
