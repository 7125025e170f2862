"""Decodes the frames of a dump, or those that somebody asks for: of the others the headers are read, the bodies not.

Knows which bodies say something of the frames that follow: those are read, whoever asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ..spec.catalog import Catalog
from .apis import ENVELOPE
from .cutting import Frame
from .decoding import FrameDecoder
from .peeking import Peek, peek_of
from .reading import API_VERSIONS
from .results import Result

TELLING = frozenset((API_VERSIONS, ENVELOPE))  # the client's software, and requests inside
Wanted = Callable[[Peek], bool]


def decode_frames(
    frames: Iterable[Frame],
    catalog: Catalog | None = None,
    *,
    salvage: bool = True,
    trace: bool = False,
    wanted: Wanted | None = None,
) -> Iterator[Result]:
    """Decode frames one after the other.

    Args:
        frames: as `kwire.read_dump` gives them; requests and responses may be mixed.
        catalog, salvage, trace: as for `FrameDecoder`.
        wanted: asked of each header whether the frame is to be decoded; all are unless given. Bodies of others are
            not touched, but for those that say something of others: ApiVersions, SASL, Envelope.

    Yields:
        A `Request`, `Response`, `Token` (a SASL token without a header, behind SaslHandshake v0) or `Undecodable` for
        each frame that is wanted, in the same order, and for each whose header cannot be read. Unlike `Codec.decode`
        and `decode_request`, this salvages unless told otherwise: it is for captures.

    >>> import kwire
    >>> frames = kwire.read_dump("fixtures/dumps/kafka-3.9-zk.bin")
    >>> [result.codec.name for result in decode_frames(frames, wanted=lambda peek: peek.api_key == 3)]
    ['MetadataRequest', 'MetadataResponse']
    """
    decoder = FrameDecoder(catalog, salvage=salvage, trace=trace)
    if wanted is None:
        yield from map(decoder.decode, frames)
        return
    connections = decoder.connections
    for frame in frames:
        connection, header = connections.receive(frame)
        peek = peek_of(frame, header, connections.apis)
        if peek.is_request is None or wanted(peek):
            yield decoder.result(frame, connection, header)
        elif peek.api_key in TELLING:
            decoder.result(frame, connection, header)
        elif peek.is_request:
            connection.meet(peek.api_key, peek.client_id)
