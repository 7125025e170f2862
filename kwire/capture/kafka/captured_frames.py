"""Converts captured frames to `Frame`s, with the endpoints of their connection as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...codecs.native import EndsState
from ...errors import DecodeError
from ...protocol import Frame
from ...protocol.frames.captured_frame import WHOLE_FILE, CapturedBatch, CapturedFrame, make_frame
from ..packets.tcp_segment import format_address, format_endpoint


class TcpEnds(EndsState):
    """The endpoints of a connection, converted to text when they are read.

    Args:
        connection, key: number and key of the connection.
        side: the side of the client.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.connection, self.key, self.side)

    @property
    def client(self) -> str:
        """`ip:port` of the client."""
        return self._texts[self.side]

    @property
    def broker(self) -> str:
        """`ip:port` of the broker."""
        return self._texts[1 - self.side]

    @property
    def client_ip(self) -> str:
        """The IP address of the client."""
        size = (len(self.key) - 4) // 2
        return format_address(self.key[self.side * size : (1 + self.side) * size])

    @property
    def _texts(self) -> tuple[str, str]:
        if self.texts is None:
            self.texts: Any = format_endpoint(self.key, 0), format_endpoint(self.key, 1)
        texts: tuple[str, str] = self.texts
        return texts


def fault_item(fault: DecodeError, data: bytes = b"", offset: int = 0) -> CapturedFrame:
    """Create an item about the whole file, or about bytes of it at an offset."""
    return CapturedFrame(WHOLE_FILE, False, offset, None, data, fault)


def build_frames(batches: Iterable[CapturedBatch], file: str) -> Iterator[Frame]:
    """Build frames from captured frames.

    Args:
        batches: the captured frames, in order.
        file: the name of the capture.
    """
    return (frame for frame, _ in build_timed_frames(batches, file))


def build_timed_frames(batches: Iterable[CapturedBatch], file: str) -> Iterator[tuple[Frame, int | None]]:
    """Build frames as `build_frames` does, each with its exact time in nanoseconds since 1970."""
    count = 0
    closed = list[int]()
    for batch in batches:
        for captured in batch:
            if isinstance(captured, int):
                closed.append(captured)
                continue
            yield make_frame(captured, file, count, closed), captured.nanoseconds
            if captured.ends is not WHOLE_FILE:
                closed.clear()
            count += 1
