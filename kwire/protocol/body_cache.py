"""What the frames of captures have in common that need no `Request` or `Response`: the kinds of their bodies.

For consumers of millions of frames. A `Connection` reads the header; frames with anything unusual are left to the
`FrameDecoder`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ..codecs import Codec
from ..errors import DecodeError
from ..native.states import KindState
from .api_registry import ENVELOPE, SASL_AUTHENTICATE, SASL_HANDSHAKE, Call
from .frame_header import Header
from .frame_parser import API_VERSIONS
from .framing import CapturedFrame
from .header_reader import DecodedConnection
from .summary import software_of

CAREFULLY = frozenset((SASL_HANDSHAKE, SASL_AUTHENTICATE, ENVELOPE))
TAGGED = {0: False, 1: True}  # by response header version; request header versions are one higher


def decode_clean(codec: Codec, body: bytes) -> Any:
    """Decode a body; None if it has any fault, even one that salvage tolerates."""
    try:
        message, faults, rest = codec.decode(body, salvage=True)
    except DecodeError:
        return None
    return None if faults or rest else message


class Kind(KindState):
    """The requests or the responses of a call.

    Attributes:
        call, is_request: the call, and the direction.
        codec: of their bodies.
        tagged: whether their headers have tagged fields.
        table: by which the native engine writes bodies; None if they need a closer look.
        facts: finds topics and errors in bodies natively; None if messages must be asked.
    """

    __slots__ = ()
    call: Call
    codec: Codec[Any]

    def __init__(self, call: Call, is_request: bool, codec: Codec, tagged: bool) -> None:
        self.call, self.is_request, self.codec, self.tagged = call, is_request, codec, tagged
        self.table = self.facts = None


K = TypeVar("K", bound=Kind)


class Kinds(Generic[K]):
    """The kinds of a capture's frames.

    Args:
        make: creates a `Kind` or subclass; None if such frames must always be decoded in full.
    """

    def __init__(self, make: Callable[[Call, bool, Codec, bool], K | None]) -> None:
        self._make = make

    def of(self, call: Call) -> tuple[K | None, K | None]:
        """Return the kinds of the responses and of the requests of a call, and store them with it."""
        kinds = call.note = self._kind(call, False), self._kind(call, True)
        return kinds

    def _kind(self, call: Call, is_request: bool) -> K | None:
        api, codec = call.api, call.codec(is_request)
        version = api.request_header if is_request else api.response_header
        tagged = None if version is None else TAGGED.get(version - is_request)
        if codec is None or tagged is None or api.key in CAREFULLY or not call.is_clean:
            return None
        return self._make(call, is_request, codec, tagged)

    def take(
        self, connection: DecodedConnection, captured: CapturedFrame, number: int
    ) -> tuple[Header, K | None, bytes]:
        """Take the next frame of a connection, given its number in the capture.

        Returns:
            The header, as from `Connection.pair`; the kind of the frame and its body: None if it must be decoded in
            full.
        """
        _, asked, _, now, data, _, first, _ = captured
        header = connection.pair(captured)
        if asked:
            header.number(number)
        call = header.call
        if header.problem or first is None or now is None or call is None or header.overtaken:
            return header, None, b""
        kind = (call.note or self.of(call))[asked]
        start = call.start if asked else 8
        if kind is None or (kind.tagged and data[start : start + 1] != b"\0"):
            return header, None, b""
        return header, kind, data[start + kind.tagged :]

    def meet(self, connection: DecodedConnection, kind: K, body: bytes) -> None:
        """Record the client of a request with its connection."""
        call = kind.call
        if call.api.key == API_VERSIONS:  # each may contain another client software
            connection.meet(call.api.key, call.client_id, software_of(kind.codec.decode(body)))
        else:
            connection.meet(call.api.key, call.client_id)
            connection.call = call
