"""Checks of bodies where the header leaves a question open: does the body decode as what it may be?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .api_registry import Call
from .frame_header import Header
from .frame_parser import FrameReading
from .framing import Frame
from .in_flight_requests import expects_response
from .results import Request, Response


def as_request(data: bytes, call: Call) -> Any:
    """Decode a frame as a request; the result of `FrameReading`, None where the api is not known."""
    return None if call.api.request is None else _reading(data, call).request(call.api.request)


def as_response(data: bytes, request: Header) -> Any:
    """Decode a frame as the response to a request; the result of `FrameReading`, None where the api is not known."""
    call = request.call
    return None if call is None or call.api.response is None else _reading(data, call).response(call.api.response)


def is_request(data: bytes, header: Header) -> bool:
    """Whether a frame decodes as the request that its header says it is."""
    return header.call is not None and isinstance(as_request(data, header.call), Request)


def is_response(data: bytes, request: Header) -> bool:
    """Whether a frame decodes as the response to a request."""
    return isinstance(as_response(data, request), Response)


def is_answered(data: bytes, call: Call) -> bool:
    """Whether a request will be answered; one that does not decode will, unless its first fields say acks=0."""
    if call.is_answered or data.startswith(call.answered, call.start):
        return True
    if data.startswith(call.api.unanswered, call.start):
        return False
    read = as_request(data, call)
    return not isinstance(read, Request) or expects_response(read.message)


def contradicts(data: bytes, request: Header) -> bool:
    """Whether the body of a frame speaks against its being the response to a request: it has faults when read as one.

    Nothing does where the api is not known.
    """
    read = as_response(data, request)
    return read is not None and (not isinstance(read, Response) or bool(read.faults))


def best_answered(data: bytes, requests: Sequence[Header]) -> Header:
    """Return which of several requests with the same correlation id a response answers.

    Behind a lost response several may be in flight: the first whose response decodes without faults; if there is none,
    the first whose response decodes at all; else the oldest.
    """
    found = None
    for request in requests:
        read = as_response(data, request)
        if isinstance(read, Response):
            if not read.faults:
                return request
            found = found or request
    return found or requests[0]


def _reading(data: bytes, call: Call) -> FrameReading:
    return FrameReading(Frame(data), call.api.catalog, salvage=True, trace=False)
