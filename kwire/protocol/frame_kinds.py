"""What all requests, or all responses, of a call have in common, so that millions of frames need no objects.

Unusual frames are left to the `FrameDecoder`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ..codecs.message_codec import Codec
from ..codecs.native import KindState
from ..errors import DecodeError
from .connections.decoded_connection import DecodedConnection
from .frames.captured_frame import CapturedFrame
from .headers.api_versions_downgrade import API_VERSIONS
from .headers.apis import ENVELOPE, SASL_AUTHENTICATE, SASL_HANDSHAKE, Call
from .headers.header import Header
from .message_summary import software_of

CAREFULLY = frozenset((SASL_HANDSHAKE, SASL_AUTHENTICATE, ENVELOPE))
TAGGED = {0: False, 1: True}  # by response header version; request header versions are one higher


def decode_clean(codec: Codec, body: bytes) -> Any:
    """Decode a body; return None if it has any fault, even one that salvage tolerates."""
    try:
        message, faults, rest = codec.decode(body, salvage=True)
    except DecodeError:
        return None
    return None if faults or rest else message


class FrameKind(KindState):
    """The requests or the responses of a call, and how to read them.

    Attributes:
        call, is_request: the call, and the direction.
        codec: the codec of the bodies.
        tagged: whether the headers have tagged fields.
        table: the native engine's table for the bodies; None if they must be decoded in Python.
        facts: finds topics and errors in bodies natively; None if bodies must be decoded.
        learns: finds the names of topic ids, which a query learns from such frames; None if it learns none.
        test, row, answers, reads_body: what a query asks of the frames: see `kwire.query.captured_query`.
    """

    __slots__ = ()
    call: Call
    codec: Codec[Any]

    def __init__(self, call: Call, is_request: bool, codec: Codec, tagged: bool) -> None:
        self.call = call
        self.is_request = is_request
        self.codec = codec
        self.tagged = tagged
        self.table: Any = None
        self.facts: Any = None
        self.learns: Any = None
        self.row: Any = None
        self.test: Any = True
        self.answers: dict[Any, Any] | None = None
        self.reads_body = False


K = TypeVar("K", bound=FrameKind)


class FrameKinds(Generic[K]):
    """Creates and stores the kinds of a capture's frames.

    Args:
        make: creates a `FrameKind` or subclass; returns None if the frames must always be decoded completely.
    """

    def __init__(self, make: Callable[[Call, bool, Codec, bool], K | None]) -> None:
        self._make = make
        self.prepare: Callable[[K], None] | None = None  # called with each new kind: see `CapturedQuery`

    def of(self, call: Call) -> tuple[K | None, K | None]:
        """Return the kinds of the responses and the requests of a call, and store them with it."""
        kinds = call.note = self._kind(call, False), self._kind(call, True)
        return kinds

    def _kind(self, call: Call, is_request: bool) -> K | None:
        api = call.api
        codec = call.codec(is_request)
        version = api.request_header if is_request else api.response_header
        tagged = None if version is None else TAGGED.get(version - is_request)
        if codec is None or tagged is None or api.key in CAREFULLY or not call.is_clean:
            return None
        kind = self._make(call, is_request, codec, tagged)
        if kind is not None and self.prepare is not None:
            self.prepare(kind)
        return kind

    def take(
        self, connection: DecodedConnection, captured: CapturedFrame, number: int
    ) -> tuple[Header, K | None, bytes]:
        """Process the next frame of a connection, given its number in the capture.

        Returns:
            The header, as from `Connection.pair`; the kind of the frame; and its body, or None if it must be decoded
            completely.
        """
        is_request, data = captured.is_request, captured.data
        header = connection.pair(captured)
        if is_request:
            header.number(number)
        call = header.call
        if header.problem or captured.first is None or captured.nanoseconds is None or call is None or header.overtaken:
            return header, None, b""
        kind = (call.note or self.of(call))[is_request]
        start = call.start if is_request else 8
        if kind is None or (kind.tagged and data[start : start + 1] != b"\0"):
            return header, None, b""
        return header, kind, data[start + kind.tagged :]

    def meet(self, connection: DecodedConnection, kind: K, body: bytes) -> None:
        """Record the client of a request with its connection.

        A query may exclude a request by its header, so that its body may be damaged: then it names no software.
        """
        call = kind.call
        if call.api.key == API_VERSIONS:  # each request may contain different client software
            message = decode_clean(kind.codec, body)
            connection.meet(call.api.key, call.client_id, "" if message is None else software_of(message))
        else:
            connection.meet(call.api.key, call.client_id)
            connection.call = call
