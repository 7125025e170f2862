"""Whether to use colours (NO_COLOR, TERM, --color), and the size of the terminal."""

from __future__ import annotations

import os
from typing import TextIO

from ...render.colours import COLOURS, Style
from .escaped_output import let_pass


def terminal_size() -> os.terminal_size:
    """Return columns and lines of the terminal."""
    from shutil import get_terminal_size  # needed only at terminals; it imports all compression codecs

    return get_terminal_size((80, 24))


def style_for(stream: TextIO, wanted: str = "auto") -> Style:
    """Choose colours and width for a stream: colours only on a terminal, unless NO_COLOR is set or TERM is dumb."""
    terminal = stream.isatty()
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    colour = wanted == "always" or (wanted == "auto" and terminal and not plain)
    if colour:
        let_pass(stream, *COLOURS)
    return Style(colour, terminal_size().columns if terminal else 80)
