"""Long output on a terminal goes through a pager: $PAGER, else less -FRX. Knows lines, and nothing of what they say."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import TextIO

DEFAULT = "less -FRX"


class Paged:
    """Holds lines back until the screen is full, then gives all of them to a pager.

    Args:
        out: the terminal.
        height: how many lines it has.
        command: the pager and its arguments.
    """

    def __init__(self, out: TextIO, height: int, command: list[str]) -> None:
        self.out, self.height, self.command = out, height, command
        self.held: list[str] = []
        self.count = 0
        self.process: subprocess.Popen[str] | None = None

    def write(self, text: str) -> None:
        """Take some text. Raises BrokenPipeError when the reader has left the pager."""
        self.count += text.count("\n")
        if self.process is not None:
            assert self.process.stdin is not None
            self.process.stdin.write(text)
            return
        self.held.append(text)
        if self.count >= self.height:
            self._start()

    def _start(self) -> None:
        text, self.held = "".join(self.held), []
        try:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, text=True, errors="backslashreplace")
        except OSError:  # no such pager: the terminal has to do
            self.height = sys.maxsize
            self.out.write(text)
            return
        assert self.process.stdin is not None
        self.process.stdin.write(text)

    def finish(self) -> None:
        """Write what was held back, or wait until the reader leaves the pager."""
        self.out.write("".join(self.held))
        self.out.flush()
        if self.process is not None:
            with contextlib.suppress(BrokenPipeError):
                assert self.process.stdin is not None
                self.process.stdin.close()
            self.process.wait()


@contextlib.contextmanager
def paged(wanted: bool = True) -> Iterator[Paged | None]:
    """Page what is written, if stdout is a terminal and a pager is wanted; else give None.

    Leaving the pager early ends the block quietly.
    """
    command = shlex.split(os.environ.get("PAGER") or DEFAULT)
    if not wanted or not sys.stdout.isatty() or not command or command == ["cat"]:
        yield None
        return
    pager = Paged(sys.stdout, shutil.get_terminal_size((80, 24)).lines, command)
    try:
        yield pager
    except BrokenPipeError:
        if pager.process is None:
            raise
    finally:
        pager.finish()
