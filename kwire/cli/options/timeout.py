"""--timeout, and other options in seconds."""

from __future__ import annotations

import argparse

from ...errors import excerpt

MOST_SECONDS = 1_000_000


def add_timeout(parser: argparse._ActionsContainer, default: float, covers: str) -> None:
    """Add --timeout: seconds for all that it covers together."""
    about = f"{covers}; default: {default:g}"
    parser.add_argument("--timeout", type=seconds, default=float(default), metavar="SECONDS", help=about)


def seconds(text: str) -> float:
    """Parse the value of an option in seconds; more than a system's timers can hold is an error, too."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"{excerpt(text)}: write seconds, more than 0 and up to {MOST_SECONDS:,}")
    return value
