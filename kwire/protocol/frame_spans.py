"""The spans of a decoded frame, which map its bytes to the fields of size, header and body."""

from __future__ import annotations

from ..codecs.message_codec import codec_in
from ..codecs.tracing import Span, TracingReader
from ..codecs.wire import INT32, Reader
from ..errors import DecodeError
from ..schema.catalog import catalog_for
from ..schema.spec_layers import WIRE_TYPES
from .frames.frame_size import get_int32
from .headers.header_versions import header_version_for
from .results import Request, Response, Result, Token, Undecodable

_HEADERS = {"request": "RequestHeader", "response": "ResponseHeader"}


def spans_for(result: Result) -> tuple[Span, ...]:
    """Return the spans of a result, which cover its frame without gaps or overlaps.

    Args:
        result: a result of a `FrameDecoder`, with or without `trace`.
    """
    if result.spans:
        return result.spans
    if isinstance(result, Token):
        return token_spans(result.frame.data)
    reader = TracingReader(result.frame.data, salvage=True)
    try:
        read_frame(reader, result)
        if reader.finish():
            reader.leave_rest("left over", reader.pending.pop())
    except DecodeError as error:
        reader.leave_rest("not understood", error)
    return tuple(reader.spans)


def read_frame(reader: Reader, result: Request | Response | Undecodable) -> None:
    """Read the size, header and body of a frame again, as far as its message is known.

    Args:
        reader: a reader at the start of the frame.
        result: the result of a `FrameDecoder`.

    Raises:
        DecodeError: the frame cannot be read so, or its message is unknown.
    """
    codec = result.codec
    if codec is None:
        assert isinstance(result, Undecodable)
        raise result.error
    if not result.frame.bare and codec.spec.type in WIRE_TYPES:
        reader.child("size", INT32)
        version = header_version_for(codec.spec, codec.version)
        if version is not None:
            reader.path.append("header")
            codec_in(catalog_for(), _HEADERS[codec.spec.type], version).read(reader)
            reader.path.pop()
    codec.read(reader)


def token_spans(data: bytes) -> tuple[Span, ...]:
    """Return the spans of a SASL token without a header: its size and content."""
    parts = Span(0, 4, "size", "int32", get_int32(data, 0)), Span(4, len(data), "token", "token", data[4:])
    return tuple(span for span in parts if span.stop > span.start)
