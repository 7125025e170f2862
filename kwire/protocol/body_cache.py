"""Caches the results of decoding bodies that recur in captures, with bounded memory.

For consumers of millions of frames that need no `Request` or `Response`. A `Connection` reads the header; this module
reads the body of a complete frame without anything unusual. Other frames are left to the `FrameDecoder`.
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

MOST_HELD = 8 << 20  # bytes of the newest bodies and their results; as much again is kept of older ones
LONGEST = 1 << 18
EACH = 256  # added to the size of each body
CAREFULLY = frozenset((SASL_HANDSHAKE, SASL_AUTHENTICATE, ENVELOPE))
TAGGED = {0: False, 1: True}  # by response header version; request header versions are one higher


def decode_clean(codec: Codec, body: bytes) -> Any:
    """Decode a body; None if it has any fault, even one that salvage tolerates."""
    try:
        message, faults, rest = codec.decode(body, salvage=True)
    except DecodeError:
        return None
    return None if faults or rest else message


class Bodies:
    """The results for bodies of a message at a version, by their bytes: the newer ones, and the older ones."""

    __slots__ = ("newer", "older")

    def __init__(self) -> None:
        self.newer: dict[bytes, Any] = {}
        self.older: dict[bytes, Any] = {}


class Kind(KindState):
    """The requests or the responses of a call.

    Attributes:
        call, is_request: the call, and the direction.
        codec: of their bodies.
        bodies: the cached results; shared by all clients.
        tagged: whether their headers have tagged fields.
        is_direct: whether the native engine may write a body without a closer look.
        is_held: whether results can be cached, because they depend only on the bytes of the body.
    """

    __slots__ = ()
    call: Call
    codec: Codec[Any]
    bodies: Bodies

    def __init__(self, call: Call, is_request: bool, codec: Codec, bodies: Bodies, tagged: bool) -> None:
        self.call, self.is_request, self.codec, self.bodies = call, is_request, codec, bodies
        self.tagged, self.is_held, self.is_direct = tagged, True, False


K = TypeVar("K", bound=Kind)
T = TypeVar("T")


class Repeats(Generic[K, T]):
    """The cached bodies of a capture. When the newer ones reach the limit they become the older ones, and the previous
    older ones are dropped.

    Args:
        make: creates a `Kind` or subclass; None if such bodies must always be decoded in full.
        read: reads a body; returns None if it must be decoded in full.
        size_of: the size of a result, in bytes.
    """

    def __init__(
        self,
        make: Callable[[Call, bool, Codec, Bodies, bool], K | None],
        read: Callable[[K, bytes], T | None],
        size_of: Callable[[T], int],
    ) -> None:
        self._make, self._read, self._size_of = make, read, size_of
        self._bodies: dict[Codec, Bodies] = {}
        self._size = 0

    def take(self, connection: DecodedConnection, captured: CapturedFrame) -> tuple[Header, K | None, T | None]:
        """Take the next frame of a connection.

        Returns:
            The header, as from `Connection.pair`; the kind of the frame, and the result for its body: None if it must
            be decoded in full.
        """
        _, asked, _, now, data, _, first, _ = captured
        header = connection.pair(captured)
        call = header.call
        if header.problem or first is None or now is None or call is None or header.overtaken:
            return header, None, None
        kind = (call.note or self.kinds(call))[asked]
        if kind is None:
            return header, None, None
        start = call.start if asked else 8
        if kind.tagged:
            if data[start : start + 1] != b"\0":
                return header, None, None
            start += 1
        body = data[start:]
        read = kind.bodies.newer.get(body)
        if read is None:
            read = self._recall(kind, body)
        if asked and read is not None and call is not connection.call:
            self.meet(connection, kind, body)
        return header, kind, read

    def kinds(self, call: Call) -> tuple[K | None, K | None]:
        """Store the kinds of requests and responses with their call."""
        kinds = call.note = self._kind(call, False), self._kind(call, True)
        return kinds

    def _kind(self, call: Call, is_request: bool) -> K | None:
        api, codec = call.api, call.codec(is_request)
        version = api.request_header if is_request else api.response_header
        tagged = None if version is None else TAGGED.get(version - is_request)
        if codec is None or tagged is None or api.key in CAREFULLY or not call.is_clean:
            return None
        return self._make(call, is_request, codec, self._bodies.setdefault(codec, Bodies()), tagged)

    def _recall(self, kind: K, body: bytes) -> T | None:
        """Return the result for an older body, which becomes a newer one; else read the body."""
        read: T | None = kind.bodies.older.get(body)
        if read is None:
            read = self._read(kind, body)
        if read is not None and kind.is_held:
            self._hold(kind.bodies, body, read)
        return read

    def _hold(self, bodies: Bodies, body: bytes, read: T) -> None:
        size = len(body) + self._size_of(read) + EACH
        if size > LONGEST:
            return
        self._size += size
        if self._size > MOST_HELD:
            for one in self._bodies.values():
                one.older, one.newer = one.newer, {}
            self._size = size
        bodies.newer[body] = read

    def meet(self, connection: DecodedConnection, kind: K, body: bytes) -> None:
        """Note with a connection who has sent a request."""
        call = kind.call
        if call.api.key == API_VERSIONS:  # each may contain another client software
            connection.meet(call.api.key, call.client_id, software_of(kind.codec.decode(body)))
        else:
            connection.meet(call.api.key, call.client_id)
            connection.call = call
