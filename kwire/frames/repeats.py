"""Bodies that come again in captured frames: each is read once, and what was read of it is held, bounded by its size.

For what reads captures by the million without a result a frame: whole frames with ordinary headers, in the order of
things. All else is left to a `FrameDecoder`. Knows no connection.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ..catalog import Catalog
from ..codecs import Codec, codec_in
from ..headers import header_version_for
from . import frame_header
from .reading import may_be_downgraded
from .talk import ENVELOPE, SASL_AUTHENTICATE, SASL_HANDSHAKE

MOST_HELD = 8 << 20  # bytes of the newest bodies and of what was read of them; as much of older ones is held
LONGEST = 1 << 18
EACH = 256  # what a body counts beyond its bytes
CAREFULLY = frozenset((SASL_HANDSHAKE, SASL_AUTHENTICATE, ENVELOPE))
TAGGED = {0: False, 1: True}  # header versions; those of requests are one higher
IN_VERSION_0 = 1 << 40  # beside api key and version: the response may be in version 0


def client_in(data: bytes) -> tuple[bytes, str | None] | None:
    """Return the client id of a request, with its length as bytes, and as text; None where it cannot be read.

    >>> client_in(bytes(12) + b"\\0\\2me.."), client_in(bytes(12) + b"\\xff\\xff..")
    ((b'\\x00\\x02me', 'me'), (b'\\xff\\xff', None))
    """
    raw = frame_header.client_in(data)
    try:
        return None if raw is None else (raw, None if raw[:1] == b"\xff" else raw[2:].decode())
    except UnicodeDecodeError:
        return None


def answered_api(api: int, data: bytes) -> int:
    """Return what a response is read as, given api key and version of its request in one number."""
    return api | IN_VERSION_0 if may_be_downgraded(api >> 16, data) else api


class Kind:
    """The frames of an api and version in one direction.

    Attributes:
        version: of the request; that of the body is the codec's.
        tagged: whether their headers have tags.
        newer, older: what was read of bodies, by their bytes.
    """

    __slots__ = ("codec", "key", "newer", "older", "tagged", "version")

    def __init__(self, codec: Codec, version: int, tagged: bool) -> None:
        self.codec, self.version, self.tagged = codec, version, tagged
        self.key = codec.spec.api_key
        self.newer: dict[bytes, Any] = {}
        self.older: dict[bytes, Any] = {}


K = TypeVar("K", bound=Kind)


class Repeats(Generic[K]):
    """The kinds of frames in a capture. When the newest bodies are as many as may be held they become the older ones,
    which are dropped.

    Args:
        catalog: the specs.
        make: makes a kind of a codec, the version of the request, and whether its headers have tags.
        size_of: how much what was read of a body counts, in bytes.
    """

    def __init__(
        self, catalog: Catalog, make: Callable[[Codec, int, bool], K], size_of: Callable[[Any], int] = len
    ) -> None:
        self.catalog, self._make, self._size_of = catalog, make, size_of
        self.kinds: tuple[dict[int, K | None], dict[int, K | None]] = {}, {}  # of responses, of requests
        self._size = 0
        self._holding: set[K] = set()

    def kind(self, api: int, *, is_request: bool) -> K | None:
        """Return the kind of an api key and version in one number; None if it is never read here."""
        kinds = self.kinds[is_request]
        key, version = api >> 16 & 0xFFFF, api & 0xFFFF
        spec = self.catalog.find(key, "request" if is_request else "response", version)
        if spec is None or key in CAREFULLY or api in kinds:
            return kinds.get(api)
        header = header_version_for(spec, version)
        tagged = None if header is None else TAGGED.get(header - is_request)
        codec = codec_in(self.catalog, spec.name, 0 if api & IN_VERSION_0 else version)
        kinds[api] = None if tagged is None else self._make(codec, version, tagged)
        return kinds[api]

    def recall(self, kind: K, body: bytes) -> Any:
        """Return what was read of an older body, which is a new one again; None if it is not held."""
        read = kind.older.get(body)
        if read is not None:
            self.hold(kind, body, read)
        return read

    def hold(self, kind: K, body: bytes, read: Any) -> None:
        """Hold what was read of a body."""
        size = len(body) + self._size_of(read) + EACH
        if size > LONGEST:
            return
        self._size += size
        if self._size > MOST_HELD:
            for one in self._holding:
                one.older, one.newer = one.newer, {}
            self._size = size
        self._holding.add(kind)
        kind.newer[body] = read
