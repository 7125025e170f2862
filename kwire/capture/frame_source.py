"""Builds frames with their source: file, connection, time and number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..errors import DecodeError
from ..protocol import Frame
from ..protocol.captured_frame import NOBODY, CapturedBatch, CapturedFrame, Endpoints, frame_of
from .link_layers import end_text
from .tcp_reassembly import Connection


def ends_of(connection: Connection, client: int) -> Endpoints:
    """Say which end of a connection is which."""
    return _TcpEnds(connection, client)


class _TcpEnds(Endpoints):
    """Both ends become text when somebody asks."""

    __slots__ = ("_client", "_key")

    def __init__(self, connection: Connection, client: int) -> None:
        self.connection, self._key, self._client = connection.number, connection.key, client

    def __getattr__(self, name: str) -> str:
        if name not in Endpoints.__slots__:
            raise AttributeError(name)
        text = end_text(self._key, self._client if name == "client" else 1 - self._client)
        setattr(self, name, text)
        return text


def note(fault: DecodeError, data: bytes = b"", offset: int = 0) -> CapturedFrame:
    """Make what is to be said of the dump as a whole, or of bytes of it that lie at an offset in the file."""
    return NOBODY, False, offset, None, data, fault, None, 0


def written(batches: Iterable[CapturedBatch], file: str) -> Iterator[Frame]:
    """Write as frames what the connections of a dump say.

    Args:
        batches: what they say, in order.
        file: the name of the dump.
    """
    return (frame for frame, _ in timed(batches, file))


def timed(batches: Iterable[CapturedBatch], file: str) -> Iterator[tuple[Frame, int | None]]:
    """Write frames as `written` does, each with its exact time in nanoseconds since 1970."""
    count, closed = 0, list[int]()
    for batch in batches:
        for said in batch:
            if type(said) is not tuple:
                closed.append(said)  # type: ignore[arg-type]
                continue
            yield frame_of(said, file, count, closed), said[3]
            if said[0] is not NOBODY:
                closed.clear()
            count += 1
