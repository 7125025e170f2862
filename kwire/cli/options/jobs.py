"""The option --jobs: how many processes decode."""

from __future__ import annotations

import argparse

MOST_JOBS = 256


def add_jobs(parser: argparse.ArgumentParser, about: str, default: int | None = 1) -> None:
    """Add the option; `about` says what the processes do."""
    parser.add_argument("--jobs", metavar="N", type=_jobs, default=default, help=about)


def _jobs(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text[:9]) <= MOST_JOBS:
        raise argparse.ArgumentTypeError(f"{text}: write a number of processes, 1 to {MOST_JOBS}")
    return int(text)
