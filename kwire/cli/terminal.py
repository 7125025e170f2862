"""The terminal: colours, width, the pager ($PAGER, else less -FRX), progress of long commands on stderr."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, BinaryIO, TextIO, TypeVar, cast

from ..render.style import COLOURS, Style, escape
from .terminal_bytes import let_pass, passed_by, terminal_text

if TYPE_CHECKING:
    import subprocess  # imported only for a pager: it takes a tenth of the start-up time of `kwire --version`


def _terminal_size() -> os.terminal_size:
    from shutil import get_terminal_size  # needed only at terminals; it imports all compression codecs

    return get_terminal_size((80, 24))


def style_for(stream: TextIO, wanted: str = "auto") -> Style:
    """Choose colours and width for a stream: colours only on a terminal, unless NO_COLOR is set or TERM is dumb."""
    terminal = stream.isatty()
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    colour = wanted == "always" or (wanted == "auto" and terminal and not plain)
    if colour:
        let_pass(stream, *COLOURS)
    return Style(colour, _terminal_size().columns if terminal else 80)


def complain(text: str, hint: str = "", notes: Iterable[str] = ()) -> None:
    """Write an error and a hint to stderr; notes are lines that show the position."""
    style = style_for(sys.stderr)
    print(f"{style.paint('error', 'kwire: error:')} {_line(text)}", file=sys.stderr)
    if hint:
        print(f"  hint: {_line(hint)}", file=sys.stderr)
    for line in "\n".join(notes).splitlines():
        print(escape(line), file=sys.stderr)


def remark(text: str) -> None:
    """Write a note to stderr."""
    print(f"kwire: {_line(text)}", file=sys.stderr)


def _line(text: str) -> str:
    """Return a text escaped to fit on one line; file names may contain newlines."""
    return escape(text).replace("\n", "\\n")


DEFAULT = "less -FRX"


class Paged:
    """Buffers lines until the screen is full, then passes all of them to a pager.

    Args:
        out: the terminal.
        height: the number of its lines.
        command: the pager and its arguments.
    """

    def __init__(self, out: TextIO, height: int, command: list[str]) -> None:
        self.out: TextIO = out
        self.height: int = height
        self.command: list[str] = command
        self.held: list[str] = []
        self.count: int = 0
        self.process: subprocess.Popen[bytes] | None = None
        self._page: TextIO | None = None  # the input of the pager, which passes it on to the terminal

    def write(self, text: str) -> None:
        """Write text. Raises BrokenPipeError when the user has quit the pager."""
        self.count += text.count("\n")
        if self._page is not None:
            self._page.write(text)
            return
        self.held.append(text)
        if self.count >= self.height:
            self._start()

    def _start(self) -> None:
        import subprocess

        text, self.held = "".join(self.held), []
        try:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE)
        except OSError:  # the pager does not exist: print without one
            self.height = sys.maxsize
            self.out.write(text)
            return
        assert self.process.stdin is not None
        self._page = terminal_text(cast(BinaryIO, self.process.stdin))
        let_pass(self._page, *passed_by(self.out))
        self._page.write(text)

    def finish(self) -> None:
        """Write the buffered text, or wait until the user quits the pager."""
        self.out.write("".join(self.held))
        self.out.flush()
        if self.process is not None:
            with contextlib.suppress(BrokenPipeError):
                assert self._page is not None
                self._page.close()
                assert self.process.stdin is not None
                self.process.stdin.close()
            self.process.wait()


@contextlib.contextmanager
def paged(wanted: bool = True) -> Iterator[Paged | None]:
    """Yield a `Paged` if stdout is a terminal and a pager is wanted; else yield None.

    Quitting the pager early ends the block without an error.
    """
    command = shlex.split(os.environ.get("PAGER") or DEFAULT)
    if not wanted or not sys.stdout.isatty() or not command or command == ["cat"]:
        yield None
        return
    pager = Paged(sys.stdout, _terminal_size().lines, command)
    try:
        yield pager
    except BrokenPipeError:
        if pager.process is None:
            raise
    finally:
        pager.finish()


AFTER = 1.0  # seconds
BETWEEN = 0.2
_CLEAR = "\r\x1b[K"

T = TypeVar("T")


def with_progress(
    items: Iterator[T],
    part: Callable[[], float | None] = lambda: None,
    *,
    stream: TextIO | None = None,
    clock: Callable[[], float] = time.monotonic,
    wanted: bool = True,
    weight: Callable[[T], int] = lambda item: 1,
) -> Iterator[T]:
    """Yield items, and show their count on the terminal; the line is cleared at the end. Silent with CI or TERM=dumb.

    Args:
        items: the items to yield.
        part: returns the fraction of the input that was read, 0 to 1, or None if it is unknown.
        stream: where to write; stderr unless given.
        clock: returns seconds; for tests.
        wanted: whether to show progress.
        weight: returns the number of frames in an item.
    """
    stream = stream or sys.stderr
    if not wanted or not stream.isatty() or os.environ.get("CI") or os.environ.get("TERM") == "dumb":
        yield from items
        return
    let_pass(stream, _CLEAR)
    start = clock()
    due = start + AFTER
    shown, count = False, 0
    try:
        for item in items:
            yield item
            count += weight(item)
            now = clock()
            if now >= due:
                stream.write(f"{_CLEAR}kwire: {progress_text(count, now - start, part())}")
                stream.flush()
                due, shown = now + BETWEEN, True
    finally:
        if shown:
            stream.write(_CLEAR)
            stream.flush()


def progress_text(frames: int, seconds: float, part: float | None) -> str:
    """Format the progress of the work.

    >>> progress_text(42_007, 3.2, 0.25)
    '42,007 frames, 13,127 a second, 25 %, 10 s left'
    >>> progress_text(42_007, 3.2, None)
    '42,007 frames, 13,127 a second'
    """
    text = f"{frames:,} frames, {frames / seconds:,.0f} a second"
    if not part:
        return text
    left = round(seconds * (1 - part) / part)
    return f"{text}, {part:.0%}, {_time_text(left)} left".replace("%", " %")


def _time_text(seconds: int) -> str:
    minutes = seconds // 60
    return f"{seconds} s" if minutes < 2 else f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"
