"""Options of what a command writes: --raw and --color."""

from __future__ import annotations

import argparse


def add_raw(parser: argparse.ArgumentParser) -> None:
    """Add --raw."""
    parser.add_argument("--raw", action="store_true", help="write raw frames, without connections and times")


def add_colour(parser: argparse.ArgumentParser) -> None:
    """Add --color."""
    choices = ("auto", "always", "never")
    about = "auto (default: on a terminal), always or never"
    parser.add_argument("--color", metavar="WHEN", choices=choices, default="auto", help=about)
