"""One side of a connection: it cuts and decodes what the other side sends. The base of client and server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from ...codecs.wire import bytes_of
from ...errors import DecodeError
from ...schema.catalog import Catalog, catalog_for
from ..frame_decoder import FrameDecoder
from ..frames.frame import Frame, Source
from ..frames.frame_reader import FrameReader
from ..frames.frame_size import LIMIT
from ..results import Result, Token

if TYPE_CHECKING:
    from typing_extensions import Buffer

T = TypeVar("T")


class ConnectionSide:
    """The frames that one side receives.

    Args:
        catalog: the specs to use; None for those of Kafka's releases.
        salvage: accept what Kafka tolerates, and list it in the results' `faults`.
        received: the direction of the frames from the other side, `request` or `response`.
        limit: the largest accepted size of a frame, in bytes.
    """

    def __init__(self, catalog: Catalog | None, salvage: bool, received: str, limit: int = LIMIT) -> None:
        self.catalog: Catalog = catalog or catalog_for()
        self._decoder = FrameDecoder(self.catalog, salvage=salvage)
        self._reader = FrameReader(limit=limit)
        self._received = received
        self._error: DecodeError | None = None  # for the next call, after the results before it

    @property
    def unread(self) -> bytes:
        """The bytes after the last complete frame."""
        return self._reader.rest

    def receive_token(self, data: Buffer) -> Token | None:
        """Add bytes from the other side; return the SASL token without a header that they complete.

        Such tokens follow SaslHandshake in version 0; from version 1 on, SaslAuthenticate carries them.

        Args:
            data: any portion of the bytes that the other side sent.

        Returns:
            The token; None if more bytes are needed.

        Raises:
            BadFrame: its size is impossible.
            ValueError: no token is due.
        """
        tokens = self._receive(data, _accept_token)
        return tokens[0] if tokens else None

    def _receive(self, data: Buffer, accept: Callable[[Result], T]) -> list[T]:
        """Add bytes, and return what `accept` makes of each frame that they complete.

        If a frame raises an error, the results before it are returned first, and the next call raises the error.
        """
        self._reader.feed(bytes_of(data))
        if self._error is not None:
            error = self._error
            self._error = None
            raise error
        accepted: list[T] = []
        try:
            for frame in self._reader:
                source = Source(frame=frame.source.frame, direction=self._received)
                accepted.append(accept(self._decoder.decode(Frame(frame.data, source))))
        except DecodeError as error:
            if not accepted:
                raise
            self._error = error
        return accepted


def _accept_token(result: Result) -> Token:
    if not isinstance(result, Token):
        raise ValueError(f"no SASL token is due, but {type(result).__name__.lower()}s: see receive")
    return result


def token_frame(token: Buffer) -> bytes:
    """Return the frame of a SASL token without a header."""
    data = bytes_of(token)
    return len(data).to_bytes(4, "big") + data
