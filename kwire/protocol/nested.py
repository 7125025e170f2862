"""Payloads inside messages: the request or response in an Envelope (KIP-590), and tokens of SaslAuthenticate.

An envelope inside an envelope is not decoded; Kafka refuses it too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..codecs import codec_in
from ..codecs.tracing import Span, TracingReader
from ..errors import DecodeError
from ..spec.catalog import WIRE_TYPES, catalog_for
from ..wire import INT32
from .api_registry import ENVELOPE, SASL_AUTHENTICATE
from .frame_parser import FrameReading
from .framing import Frame, int16, int32, size_fault
from .header_reader import DecodedConnection
from .header_versions import header_version_for
from .results import Request, Response, Result, Token, Undecodable
from .sasl import SaslMessage, read_token

_HEADERS = {"request": "RequestHeader", "response": "ResponseHeader"}


def spans_for(result: Result) -> tuple[Span, ...]:
    """Return the spans of a result, which cover its frame without gap or overlap.

    Args:
        result: from a `FrameDecoder`, with or without `trace`.
    """
    if result.spans:
        return result.spans
    if isinstance(result, Token):
        return token_spans(result.frame.data)
    reader = TracingReader(result.frame.data, salvage=True)
    try:
        _read(reader, result)
        if reader.finish():
            reader.leave_rest("left over", reader.pending.pop())
    except DecodeError as error:
        reader.leave_rest("not understood", error)
    return tuple(reader.spans)


def _read(reader: TracingReader, result: Request | Response | Undecodable) -> None:
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
    parts = Span(0, 4, "size", "int32", int32(data, 0)), Span(4, len(data), "token", "token", data[4:])
    return tuple(span for span in parts if span.stop > span.start)


SIZE = 4  # bytes; a frame inside an envelope has no size field
Inside = Request | Response | Undecodable | SaslMessage | None


def inside_request(request: Request[Any], connection: DecodedConnection, reading: FrameReading) -> Inside:
    """Return the nested payload of a request."""
    if request.codec.spec.api_key == SASL_AUTHENTICATE:
        return read_token(request.message.auth_bytes, connection.mechanism)
    if request.codec.spec.api_key != ENVELOPE:
        return None
    inner = _inner(request.message.request_data, request, reading)
    api_key, version = int16(inner.frame.data, SIZE), int16(inner.frame.data, SIZE + 2)
    spec = inner.catalog.find(api_key, "request", version)
    bad = size_fault(inner.frame.data)
    if spec is None or bad is not None or api_key == ENVELOPE:
        return None
    found = inner.request(codec_in(inner.catalog, spec.name, version))
    if isinstance(found, Request) and request.correlation_id is not None:
        connection.forward(request.correlation_id, found.header)
    return found


def inside_response(response: Response[Any], connection: DecodedConnection, reading: FrameReading) -> Inside:
    """Return the nested payload of a response; for an envelope only if its request is known."""
    if response.codec.spec.api_key == SASL_AUTHENTICATE:
        return read_token(response.message.auth_bytes, connection.mechanism, from_client=False)
    if response.codec.spec.api_key != ENVELOPE or response.correlation_id is None:
        return None
    asked = connection.forwarded(response.correlation_id)
    if asked is None or response.message.response_data is None:
        return None
    inner = _inner(response.message.response_data, response, reading)
    spec = inner.catalog.find(asked.request_api_key, "response", asked.request_api_version)
    if spec is None or size_fault(inner.frame.data) is not None:
        return None
    return inner.response(codec_in(inner.catalog, spec.name, asked.request_api_version), asked)


def token_of(reading: FrameReading, connection: DecodedConnection, from_client: bool) -> Token:
    """Parse a frame as a token without a header."""
    data = reading.frame.data
    spans = token_spans(data) if reading.trace else ()
    content = read_token(data[SIZE:], connection.mechanism, from_client)
    return Token(frame=reading.frame, content=content, from_client=from_client, spans=spans, client=connection.client)


def _inner(data: bytes, outer: Request | Response, reading: FrameReading) -> FrameReading:
    source = replace(outer.frame.source, offset=None)
    frame = Frame(len(data).to_bytes(SIZE, "big") + data, source)
    return FrameReading(frame, reading.catalog, salvage=reading.salvage, trace=reading.trace)
