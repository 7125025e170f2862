"""What is known of the terminal: colours, width, and streams that cannot fail on a character."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TextIO

from ..render.style import Style, escape


def prepare_streams() -> None:
    """Let no character stop the output: what the terminal's encoding lacks is written as an escape."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def style_for(stream: TextIO, wanted: str = "auto") -> Style:
    """Choose colours and width for a stream: colours on a terminal only, NO_COLOR and TERM=dumb heeded."""
    terminal = stream.isatty()
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    colour = wanted == "always" or (wanted == "auto" and terminal and not plain)
    return Style(colour, shutil.get_terminal_size((80, 24)).columns if terminal else 80)


def complain(text: str, hint: str = "") -> None:
    """Write an error to stderr: what, and what to try."""
    style = style_for(sys.stderr)
    print(f"{style.paint('error', 'kwire: error:')} {_line(text)}", file=sys.stderr)
    if hint:
        print(f"  hint: {_line(hint)}", file=sys.stderr)


def remark(text: str) -> None:
    """Write a note to stderr."""
    print(f"kwire: {_line(text)}", file=sys.stderr)


def _line(text: str) -> str:
    """Write a text on one line, whatever is in it: names of files may have newlines."""
    return escape(text).replace("\n", "\\n")
