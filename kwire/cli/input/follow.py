"""--follow: reads a file or a folder as it grows, until Ctrl-C or SIGTERM."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Callable

from ..options.usage_error import UsageError


def followed(options: argparse.Namespace) -> Callable[[], bool] | None:
    """Return a function that tells whether --follow should end; None without the option.

    The first Ctrl-C or SIGTERM ends the input like the end of a file; a second one interrupts the command.
    """
    if not getattr(options, "follow", False):
        return None
    ended = getattr(options, "stopped", None)  # an event of a command that reads in a thread
    alone = options.hex is None and len(options.files) == 1 and not options.recursive and "-" not in options.files
    if not alone or getattr(options, "body", False) or getattr(options, "log_of", None):
        raise UsageError("--follow takes one file that grows, or one folder in which tcpdump rotates captures")
    if ended is not None:
        return ended.is_set  # type: ignore[no-any-return]
    stopped: list[int] = []

    def stop(number: int, _: object) -> None:
        stopped.append(number)
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(signal_number, signal.default_int_handler)

    for signal_number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_number, stop)
    return lambda: bool(stopped)


def is_live(options: argparse.Namespace) -> bool:
    """Whether frames are shown as they arrive: from standard input, or with --follow."""
    return options.follow or "-" in options.files
