"""Payloads inside messages: the forwarded request or response of an Envelope (KIP-590), tokens of SaslAuthenticate.

An envelope inside an envelope stays closed; Kafka refuses it too.
"""

from __future__ import annotations

from dataclasses import replace

from ..codecs import codec_in
from .api_registry import ENVELOPE, SASL_AUTHENTICATE
from .frame_parser import FrameReading
from .framing import Frame, int16, size_fault
from .header_reader import DecodedConnection
from .results import Request, Response, Token, Undecodable
from .sasl import SaslMessage, read_token
from .spans import token_spans

SIZE = 4  # bytes; a frame inside an envelope has no size in front
Inside = Request | Response | Undecodable | SaslMessage | None


def inside_request(request: Request, connection: DecodedConnection, reading: FrameReading) -> Inside:
    """Return what a request carries."""
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


def inside_response(response: Response, connection: DecodedConnection, reading: FrameReading) -> Inside:
    """Return what a response carries; of an envelope only if the request inside it was seen."""
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
    """Read a frame as a token without a header."""
    data = reading.frame.data
    spans = token_spans(data) if reading.trace else ()
    content = read_token(data[SIZE:], connection.mechanism, from_client)
    return Token(frame=reading.frame, content=content, from_client=from_client, spans=spans, client=connection.client)


def _inner(data: bytes, outer: Request | Response, reading: FrameReading) -> FrameReading:
    source = replace(outer.frame.source, offset=None)
    frame = Frame(len(data).to_bytes(SIZE, "big") + data, source)
    return FrameReading(frame, reading.catalog, salvage=reading.salvage, trace=reading.trace)
