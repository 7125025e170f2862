"""Caches what was read of bodies that recur in captures, bounded by size.

For what reads captures by the million without a result a frame. A `Connection` says what a frame is; its body is read
here if the frame is whole, its header ordinary and nothing about it odd, else it is left to the `FrameDecoder`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ..codecs import Codec
from ..errors import DecodeError
from .api_registry import ENVELOPE, SASL_AUTHENTICATE, SASL_HANDSHAKE, Call
from .captured_frame import CapturedFrame
from .frame_header import Header
from .frame_parser import API_VERSIONS
from .header_reader import DecodedConnection
from .summary import software_of

MOST_HELD = 8 << 20  # bytes of the newest bodies and of what was read of them; as much of older ones is held
LONGEST = 1 << 18
EACH = 256  # what a body counts beyond its bytes
CAREFULLY = frozenset((SASL_HANDSHAKE, SASL_AUTHENTICATE, ENVELOPE))
TAGGED = {0: False, 1: True}  # header versions; those of requests are one higher


def decode_clean(codec: Codec, body: bytes) -> Any:
    """Decode a body; None if anything is wrong with it, also what salvage tolerates."""
    try:
        message, faults, rest = codec.decode(body, salvage=True)
    except DecodeError:
        return None
    return None if faults or rest else message


class Bodies:
    """What was read of the bodies of a message at a version, by their bytes: the newer ones, and the older ones."""

    __slots__ = ("newer", "older")

    def __init__(self) -> None:
        self.newer: dict[bytes, Any] = {}
        self.older: dict[bytes, Any] = {}


class Kind:
    """The requests or the responses of a call.

    Attributes:
        call, is_request: which.
        codec: of their bodies.
        bodies: what was read of them; shared by all clients.
        tagged: whether their headers have tags.
        is_held: whether what is read of a body holds for the next one of the same bytes.
    """

    __slots__ = ("bodies", "call", "codec", "is_held", "is_request", "tagged")

    def __init__(self, call: Call, is_request: bool, codec: Codec, bodies: Bodies, tagged: bool) -> None:
        self.call: Call = call
        self.is_request: bool = is_request
        self.codec: Codec[Any] = codec
        self.bodies: Bodies = bodies
        self.tagged: bool = tagged
        self.is_held = True


K = TypeVar("K", bound=Kind)
T = TypeVar("T")


class Repeats(Generic[K, T]):
    """The bodies of a capture. When the newest ones are as many as may be held they become the older ones, which are
    dropped.

    Args:
        make: makes a kind, which may have more attributes; None for what must always be decoded carefully.
        read: reads a body; None where it must be decoded carefully.
        size_of: how much what was read of a body counts, in bytes.
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

    def take(self, connection: DecodedConnection, said: CapturedFrame) -> tuple[Header, K | None, T | None]:
        """Take the next frame of a connection.

        Returns:
            The header, as of `Connection.pair`; what the frame is, and what was read of its body: None where it must
            be decoded carefully.
        """
        _, asked, _, now, data, _, first, _ = said
        header = connection.pair(said)
        call = header.call
        if header.problem or first is None or now is None or call is None or header.overtaken:
            return header, None, None
        kind = (call.note or self._note(call))[asked]
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
            self._meet(connection, kind, body)
        return header, kind, read

    def _note(self, call: Call) -> tuple[K | None, K | None]:
        """Note with a call what its responses and requests are."""
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
        """Return what was read of an older body, which is a new one again; else read it."""
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

    def _meet(self, connection: DecodedConnection, kind: K, body: bytes) -> None:
        call = kind.call
        if call.api.key == API_VERSIONS:  # each may tell of other software
            connection.meet(call.api.key, call.client_id, software_of(kind.codec.decode(body)))
        else:
            connection.meet(call.api.key, call.client_id)
            connection.call = call
