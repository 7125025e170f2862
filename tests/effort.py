"""How much work is done, in lines of Python that run: seconds differ by machine and by what else it does."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

HANG = 300  # seconds of processor time that nothing here takes on any machine, unless it hangs


class Effort:
    """The lines that have run so far."""

    lines = 0


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
