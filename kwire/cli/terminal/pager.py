"""The pager: $PAGER, else less -FRX, once the screen is full."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, TextIO, cast

from .escaped_output import let_pass, passed_sequences, terminal_text
from .terminal_style import terminal_size

if TYPE_CHECKING:
    import subprocess

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
        let_pass(self._page, *passed_sequences(self.out))
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
    pager = Paged(sys.stdout, terminal_size().lines, command)
    try:
        yield pager
    except BrokenPipeError:
        if pager.process is None:
            raise
    finally:
        pager.finish()
