"""Decodes a body where the header is ambiguous.

The direction is unknown and the frame is valid both as a request and as a response; several requests in flight, or a
lost one, have the same correlation id; a Produce request may have acks=0; SaslHandshake; ApiVersions with error 35.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..frame_parser import FrameParser
from ..frames.frame import Frame
from ..headers.apis import Call
from ..headers.header import Header
from ..headers.requests_without_response import expects_response
from ..results import Request, Response


def decode_as_request(data: bytes, call: Call) -> Any:
    """Decode a frame as a request; return the result of `FrameParser`, or None if the api is unknown."""
    return None if call.api.request is None else _parse_frame(data, call).request(call.api.request)


def decode_as_response(data: bytes, request: Header) -> Any:
    """Decode a frame as the response to a request.

    Return the result of `FrameParser`, or None if the api is unknown.
    """
    call = request.call
    if call is None or call.api.response is None:
        return None
    return _parse_frame(data, call).response(call.api.response)


def is_request(data: bytes, header: Header) -> bool:
    """Whether a frame decodes as the request that its header names."""
    return header.call is not None and isinstance(decode_as_request(data, header.call), Request)


def is_response(data: bytes, request: Header) -> bool:
    """Whether a frame decodes as the response to a request."""
    return isinstance(decode_as_response(data, request), Response)


def is_answered(data: bytes, call: Call) -> bool:
    """Whether a request gets a response. An undecodable request does, unless its first fields contain acks=0."""
    if call.is_answered or data.startswith(call.answered, call.start):
        return True
    if data.startswith(call.api.unanswered, call.start):
        return False
    read = decode_as_request(data, call)
    if not isinstance(read, Request):
        return True
    is_expected = expects_response(read.message)
    if is_expected:
        call.add_answered(read.message)
    return is_expected


def contradicts(data: bytes, request: Header) -> bool:
    """Whether a frame has faults when its body is decoded as the response to a request.

    The result is False if the api is unknown.
    """
    read = decode_as_response(data, request)
    return read is not None and (not isinstance(read, Response) or bool(read.faults))


def best_answered(data: bytes, requests: Sequence[Header]) -> Header:
    """Return the request that a response answers, from several with the same correlation id.

    There may be several after a lost response. The first request whose response decodes without faults is chosen; else
    the first whose response decodes at all; else the oldest.
    """
    if len(requests) == 1:
        return requests[0]
    faulty_match = None
    for request in requests:
        read = decode_as_response(data, request)
        if isinstance(read, Response):
            if not read.faults:
                return request
            faulty_match = faulty_match or request
    return faulty_match or requests[0]


def _parse_frame(data: bytes, call: Call) -> FrameParser:
    return FrameParser(Frame(data), call.api.catalog, salvage=True, trace=False)
