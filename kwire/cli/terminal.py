"""What is known of the terminal: colours, width, and streams that cannot fail on a character."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
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


@contextmanager
def output_text(file: str | None) -> Iterator[Callable[[str], object]]:
    """Give a function that writes UTF-8 text to a file; to standard output where no file, or `-`, is named.

    A file that was begun and not finished does not stay. Raises OSError if it cannot be written.
    """
    if file in (None, "-"):
        sys.stdout.flush()
        yield lambda text: sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
        return
    if Path(file).exists() and not Path(file).is_file():  # /dev/stdout, a pipe
        with Path(file).open("w", encoding="utf-8") as stream:
            yield stream.write
        return
    part = Path(f"{file}.part")
    try:
        with part.open("w", encoding="utf-8") as stream:
            yield stream.write
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def complain(text: str, hint: str = "") -> None:
    """Write an error to stderr: what, and what to try."""
    style = style_for(sys.stderr)
    print(f"{style.paint('error', 'kwire: error:')} {escape(text)}", file=sys.stderr)
    if hint:
        print(f"  hint: {escape(hint)}", file=sys.stderr)


def remark(text: str) -> None:
    """Write a note to stderr."""
    print(f"kwire: {escape(text)}", file=sys.stderr)
