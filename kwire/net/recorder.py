"""The frames that a served cluster read and wrote last, as frames of a capture. Knows bytes; decodes nothing."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from ..protocol import Frame, Source

MOST = 64 << 20  # bytes


class Recorder:
    """Keeps the newest frames.

    Args:
        most: bytes that are kept; 0 keeps none.

    Attributes:
        is_on: whether any are kept.
        left_out: how many frames were forgotten because newer ones needed their room.

    >>> recorder = Recorder(most=20)
    >>> for number in range(3):
    ...     recorder.add(bytes(8), Source(frame=number))
    >>> [frame.source.frame for frame in recorder.frames()], recorder.left_out
    ([1, 2], 1)
    """

    def __init__(self, most: int = MOST) -> None:
        self.most: int = most
        self.is_on: bool = most > 0
        self.left_out: int = 0
        self._size = 0
        self._frames: deque[Frame] = deque()

    def add(self, data: bytes, source: Source) -> None:
        """Keep a frame; the oldest ones make room for it."""
        self._frames.append(Frame(data, source))
        self._size += len(data)
        while self._size > self.most:
            self._size -= len(self._frames.popleft().data)
            self.left_out += 1

    def frames(self) -> Iterator[Frame]:
        """Give the frames, the oldest first."""
        return iter(list(self._frames))

    def clear(self) -> None:
        """Forget all frames."""
        self._frames.clear()
        self._size = self.left_out = 0
