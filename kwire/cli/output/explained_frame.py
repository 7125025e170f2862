"""Prints one frame with every byte and its field, for `kwire explain` and `kwire demo`."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from ...protocol import Result, Undecodable
from ...render.annotated_hex import frame_lines
from ...render.colours import Style
from ...render.escaping import escape
from ...render.frame_title import is_note, note, title
from ...render.value_text import error_lines


def print_result(result: Result, style: Style, *, types: bool = True, records: Iterable[str] = ()) -> None:
    """Print one frame: a title, the annotated bytes, and the error if there was one.

    Args:
        result: the frame, with its spans.
        style: colours and width.
        types: whether to show the wire types.
        records: lines of its records, which follow as comments.
    """
    print(style.paint("title", f"# {escape(note(result) if is_note(result) else title(result))}"))
    if is_note(result):
        return
    for line in frame_lines(result.frame.data, result.spans, style, codec=result.codec, types=types):
        print(line)
    if isinstance(result, Undecodable):
        for line in error_lines(result.error, style):
            print(f"# {line}")
    print_comments(records)
    sys.stdout.flush()


def print_comments(lines: Iterable[str]) -> None:
    """Print lines as comments, which commands that read the hexdump leave out."""
    for line in lines:
        print(f"# {line.removeprefix('# ')}")
