"""Escapes what a command writes to a terminal, whatever its format: names in captures may hold terminal commands.

A captured client id such as `ESC ]0;text BEL` would set the title of the window, U+202E would reverse what follows.
Output to pipes and files is not changed.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, TextIO, cast

from ...render.escaping import escape
from ...runtime.lazy_patterns import lazy_pattern

_NOTHING = lazy_pattern("(?!)")


class TerminalBytes(io.BufferedIOBase):
    r"""The bytes that go to a terminal: unprintable characters as \uXXXX, bytes that are no text as \xXX.

    Args:
        terminal: the stream to write to.
        encoding: the encoding of text.

    `passed` has the sequences of characters that are written as they are.

    >>> terminal = io.BytesIO()
    >>> TerminalBytes(terminal).write(b"a\x1b[31m\xe2\x80\xae\xff\n")
    11
    >>> terminal.getvalue().decode()
    'a\\u001b[31m\\u202e\\xff\n'
    """

    def __init__(self, terminal: BinaryIO, encoding: str = "utf-8") -> None:
        self._terminal: BinaryIO = terminal
        self._encoding: str = encoding
        self._decoder: codecs.IncrementalDecoder = codecs.getincrementaldecoder(encoding)("backslashreplace")
        self.passed: set[str] = set()
        self._pattern: re.Pattern[str] = _NOTHING
        self.let_pass(os.linesep)

    def let_pass(self, *sequences: str) -> None:
        """Write these sequences of characters as they are from now on, such as kwire's own colours."""
        if not self.passed.issuperset(sequences):
            self.passed.update(sequences)
            self._pattern = re.compile("|".join(map(re.escape, self.passed)))

    def write(self, data: bytes, /) -> int:  # type: ignore[override] # TextIOWrapper and kwire write bytes only
        """Write text or other bytes; a character may be split over two calls."""
        self._write(self._decoder.decode(data))
        return len(data)

    def _write(self, text: str) -> None:
        parts, end = list[str](), 0
        for match in self._pattern.finditer(text):
            parts += escape(text[end : match.start()]), match[0]
            end = match.end()
        parts.append(escape(text[end:]))
        self._terminal.write("".join(parts).encode(self._encoding, "backslashreplace"))

    def flush(self) -> None:
        """Write what is buffered to the terminal."""
        self._terminal.flush()

    def close(self) -> None:
        """Write the bytes of an incomplete character. The terminal stays open."""
        if not self.closed:
            self._write(self._decoder.decode(b"", final=True))
            super().close()  # which flushes

    def writable(self) -> bool:
        """Return true."""
        return True

    def isatty(self) -> bool:
        """Return true: what is written is shown on a terminal, if not by a pager."""
        return True

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._terminal.fileno()


def terminal_text(terminal: BinaryIO, encoding: str = "utf-8") -> TextIO:
    """Return a text stream over `TerminalBytes`; to close it does not close the terminal."""
    output = cast(BinaryIO, TerminalBytes(terminal, encoding))
    return io.TextIOWrapper(output, encoding, "backslashreplace", line_buffering=True)


def let_pass(stream: TextIO, *sequences: str) -> None:
    """Let sequences of characters pass to a terminal as they are; does nothing for any other stream."""
    output = getattr(stream, "buffer", None)
    if isinstance(output, TerminalBytes):
        output.let_pass(*sequences)


def passed_sequences(stream: TextIO) -> set[str]:
    """Return the sequences that `let_pass` was called with for this terminal."""
    output = getattr(stream, "buffer", None)
    return output.passed if isinstance(output, TerminalBytes) else set()


@contextmanager
def prepared_streams() -> Iterator[None]:
    """Make the standard streams safe while a command runs.

    - Terminals receive no control characters (`TerminalBytes`).
    - Characters that the encoding lacks are escaped, so that no character stops the output.
    - A stream that was closed (`<&-`, `>&-`) becomes the null device: else the next file to be opened would get its
      descriptor, and output could be written to an input.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115, PTH123 (for the whole process)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    stdout, stderr = sys.stdout, sys.stderr
    try:
        with _terminal_text(stdout) as sys.stdout, _terminal_text(stderr) as sys.stderr:
            yield
    finally:
        sys.stdout, sys.stderr = stdout, stderr


@contextmanager
def _terminal_text(stream: TextIO) -> Iterator[TextIO]:
    """Yield a stream that escapes what is written, if this one is a terminal; else the stream itself."""
    output = getattr(stream, "buffer", None)
    if output is None or isinstance(output, TerminalBytes) or not stream.isatty():
        yield stream
        return
    stream.flush()
    text = terminal_text(output, stream.encoding)
    try:
        yield text
    finally:
        with suppress(OSError):  # the terminal was closed
            text.close()
