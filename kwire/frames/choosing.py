"""Decodes the frames of a dump, or those that somebody asks for: of the others the headers are read, the bodies not.

Knows which requests say something of the frames that follow: those are read, whoever asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ..catalog import Catalog
from .cutting import Frame
from .decoding import FrameDecoder
from .peeking import HeaderReader, Peek
from .results import Result
from .talk import API_VERSIONS, ENVELOPE, SASL_AUTHENTICATE, SASL_HANDSHAKE

PRODUCE = 0  # says whether it will be answered
TELLING = frozenset((PRODUCE, SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE, ENVELOPE))
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
            not touched, but for requests that say how the connection goes on: Produce, ApiVersions, SASL, Envelope.

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
    headers = HeaderReader(catalog)
    for frame in frames:
        peek = headers.read(frame)
        if peek.is_request is None or wanted(peek):
            yield decoder.decode(frame)
        elif peek.api_key in TELLING or not decoder.pass_over(frame, peek.is_request):
            decoder.decode(frame)
