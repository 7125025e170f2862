"""Limits of a server: memory for unfinished frames over all connections, the number of recorded frames, and repeated
messages for the operator. Sans-IO.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace

from ..protocol import Frame, Source
from ..redaction import REASONS, Redactor

MOST_WAITING = 128 << 20  # bytes of all frames that have begun and not ended
ALWAYS = 1 << 16  # bytes that a connection may hold whatever the others do
MOST_LINES = 1000  # different lines that are printed
MOST_RECORDED = 64 << 20  # bytes of frames that are kept
SECRETS = {"sasl", "scram", "token", "unknown"}  # a bare token whose SaslHandshake was forgotten is not recognised


class FrameMemory:
    """The bytes that connections hold in frames that have not been forwarded yet.

    Args:
        most: the limit on the bytes of all connections together.

    Attributes:
        held: the bytes held now.

    >>> memory = FrameMemory(most=1 << 20)
    >>> one, other, small = memory.share(), memory.share(), memory.share()
    >>> one.hold(900_000), other.hold(200_000), small.hold(1000)
    (True, False, True)
    >>> one.hold(0), other.hold(200_000), memory.held
    (True, True, 201000)
    """

    def __init__(self, most: int = MOST_WAITING) -> None:
        self.most: int = most
        self.held: int = 0

    def share(self) -> Share:
        """Return the share of a new connection, which holds nothing yet."""
        return Share(self)


class Share:
    """The bytes (`held`) that one connection holds of the shared memory."""

    __slots__ = ("held", "memory")

    def __init__(self, memory: FrameMemory) -> None:
        self.memory: FrameMemory = memory
        self.held: int = 0

    def hold(self, size: int) -> bool:
        """Set the number of bytes that the connection holds.

        Args:
            size: all bytes that the connection holds; 0 once it is closed.

        Returns:
            Whether the connection may continue. False if the limit is exceeded and the connection holds more than
            `ALWAYS`;
            the caller must then close it.
        """
        self.memory.held += size - self.held
        self.held = size
        return self.memory.held <= self.memory.most or size <= ALWAYS


class Notes:
    """Prints each line the first time, and at the end how often it occurred.

    Args:
        write: prints a line.
        most: how many different lines are printed and remembered; further lines are only counted.

    >>> notes = Notes(print, most=2)
    >>> for text in ["a", "b", "a", "c", "a"]:
    ...     notes(text)
    a
    b
    further lines are counted only
    >>> notes.close()
    3 times: a
    1 line more
    """

    def __init__(self, write: Callable[[str], None], most: int = MOST_LINES) -> None:
        self._write, self._most = write, most
        self._counts: dict[str, int] = {}
        self._more = 0

    def __call__(self, text: str) -> None:
        """Print a line if it is new."""
        if text in self._counts:
            self._counts[text] += 1
        elif len(self._counts) < self._most:
            self._counts[text] = 1
            self._write(text)
        else:
            if not self._more:
                self._write("further lines are counted only")
            self._more += 1

    def close(self) -> None:
        """Print how often each repeated line occurred."""
        for text, count in self._counts.items():
            if count > 1:
                self._write(f"{count} times: {text}")
        if self._more:
            self._write(f"{self._more} line{'s' if self._more > 1 else ''} more")
        self._counts, self._more = {}, 0


class Recorder:
    """Keeps the newest frames.

    Args:
        most: how many bytes are kept; 0 keeps no frames.

    Attributes:
        is_on: whether frames are kept.
        has_secrets: whether frames carry passwords or equivalent secrets.
        left_out: how many frames were discarded to make room for newer frames.

    >>> recorder = Recorder(most=20)
    >>> for number in range(3):
    ...     recorder.add(bytes(8), Source(frame=number))
    >>> [frame.source.frame for frame in recorder.frames()], recorder.left_out
    ([1, 2], 1)
    """

    def __init__(self, most: int = MOST_RECORDED) -> None:
        self.most: int = most
        self.is_on: bool = most > 0
        self.has_secrets: bool = False
        self.left_out: int = 0
        self._size = 0
        self._frames: deque[Frame] = deque()

    def add(self, data: bytes, source: Source) -> None:
        """Keep a frame, and discard the oldest frames to make room for it."""
        self._frames.append(Frame(data, source))
        self._size += len(data)
        while self._size > self.most:
            self._size -= len(self._frames.popleft().data)
            self.left_out += 1

    def frames(self) -> Iterator[Frame]:
        """Return the frames, the oldest first, without secrets."""
        frames = list(self._frames)
        if not self.has_secrets:
            return iter(frames)
        redactor = Redactor(keep=REASONS.keys() - SECRETS)
        return (replace(frame, data=redactor.redact(frame)) for frame in frames)

    def clear(self) -> None:
        """Discard all frames."""
        self._frames.clear()
        self._size = self.left_out = 0
