"""Errors, hints and remarks on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from ...render.escaping import escape
from .terminal_style import style_for


def complain(text: str, hint: str = "", notes: Iterable[str] = ()) -> None:
    """Write an error and a hint to stderr; notes are lines that show the position."""
    style = style_for(sys.stderr)
    print(f"{style.paint('error', 'kwire: error:')} {on_one_line(text)}", file=sys.stderr)
    if hint:
        print(f"  hint: {on_one_line(hint)}", file=sys.stderr)
    for line in "\n".join(notes).splitlines():
        print(escape(line), file=sys.stderr)


def remark(text: str) -> None:
    """Write a note to stderr."""
    print(f"kwire: {on_one_line(text)}", file=sys.stderr)


def on_one_line(text: str) -> str:
    """Return a text escaped to fit on one line; file names may contain newlines."""
    return escape(text).replace("\n", "\\n")
