"""Payloads inside messages: the request or response in an Envelope (KIP-590), tokens of SaslAuthenticate.

An envelope inside an envelope is not decoded; Kafka rejects it too.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ..codecs.message_codec import codec_in
from .connections.decoded_connection import DecodedConnection
from .frame_parser import FrameParser
from .frame_spans import token_spans
from .frames.frame import Frame
from .frames.frame_size import get_int16
from .frames.size_faults import size_fault
from .headers.apis import ENVELOPE, SASL_AUTHENTICATE
from .results import Request, Response, Token, Undecodable
from .sasl_tokens import SaslMessage, read_token

SIZE = 4  # bytes; a frame inside an envelope has no size field
Inside = Request | Response | Undecodable | SaslMessage | None


def decode_inside_request(request: Request[Any], connection: DecodedConnection, reading: FrameParser) -> Inside:
    """Return the nested payload of a request."""
    if request.codec.spec.api_key == SASL_AUTHENTICATE:
        return read_token(request.message.auth_bytes, connection.mechanism)
    if request.codec.spec.api_key != ENVELOPE:
        return None
    inner = _parse_inner(request.message.request_data, request, reading)
    api_key = get_int16(inner.frame.data, SIZE)
    version = get_int16(inner.frame.data, SIZE + 2)
    spec = inner.catalog.find(api_key, "request", version)
    bad = size_fault(inner.frame.data)
    if spec is None or bad is not None or api_key == ENVELOPE:
        return None
    forwarded = inner.request(codec_in(inner.catalog, spec.name, version))
    if isinstance(forwarded, Request) and request.correlation_id is not None:
        connection.forward(request.correlation_id, forwarded.header)
    return forwarded


def decode_inside_response(response: Response[Any], connection: DecodedConnection, reading: FrameParser) -> Inside:
    """Return the nested payload of a response; None for an envelope whose request is unknown."""
    if response.codec.spec.api_key == SASL_AUTHENTICATE:
        return read_token(response.message.auth_bytes, connection.mechanism, from_client=False)
    if response.codec.spec.api_key != ENVELOPE or response.correlation_id is None:
        return None
    request_header = connection.forwarded(response.correlation_id)
    if request_header is None or response.message.response_data is None:
        return None
    inner = _parse_inner(response.message.response_data, response, reading)
    spec = inner.catalog.find(request_header.request_api_key, "response", request_header.request_api_version)
    if spec is None or size_fault(inner.frame.data) is not None:
        return None
    return inner.response(codec_in(inner.catalog, spec.name, request_header.request_api_version), request_header)


def parse_token(reading: FrameParser, connection: DecodedConnection, from_client: bool) -> Token:
    """Parse a frame as a token without a header."""
    data = reading.frame.data
    spans = token_spans(data) if reading.trace else ()
    content = read_token(data[SIZE:], connection.mechanism, from_client)
    return Token(frame=reading.frame, content=content, from_client=from_client, spans=spans, client=connection.client)


def _parse_inner(data: bytes, outer: Request | Response, reading: FrameParser) -> FrameParser:
    source = replace(outer.frame.source, offset=None)
    frame = Frame(len(data).to_bytes(SIZE, "big") + data, source)
    return FrameParser(frame, reading.catalog, salvage=reading.salvage, trace=reading.trace)
