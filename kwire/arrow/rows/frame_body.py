"""The body of one frame: where it starts, and its message on the reference path, which explains errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...codecs.message_codec import Codec
from ...errors import DefaultTag
from ...protocol import Frame, Request, Response, Result, Undecodable
from ...protocol.frame_parser import FrameParser
from ...protocol.headers.api_versions_downgrade import may_be_downgraded
from ...protocol.headers.apis import Api
from .row_faults import RowFault, fault_of


class DecodedBody(NamedTuple):
    """The result of decoding a frame on the reference path: codec and message, if any, and the error."""

    codec: Codec | None
    message: Any
    fault: RowFault | None


def leave_unmasked(result: Result) -> Result:
    """Return a result as it is."""
    return result


def read_carefully(
    data: bytes, api: Api, is_request: bool | None, masker: Callable[[Result], Result] = leave_unmasked
) -> DecodedBody:
    """Decode one frame on the reference path; never raise for invalid bytes.

    Args:
        data: the frame, with its size field.
        api: the api and version of the frame, which are known.
        is_request: whether it is a request; None for a bare message.
        masker: masks the secrets of the result.
    """
    result = masker(parse_alone(data, api, is_request))
    if not isinstance(result, Request | Response):
        return DecodedBody(None, None, fault_of(result.error) if isinstance(result, Undecodable) else None)
    faults = [fault for fault in result.faults if not isinstance(fault, DefaultTag)]
    return DecodedBody(result.codec, result.message, fault_of(faults[0]) if faults else None)


def parse_alone(data: bytes, api: Api, is_request: bool | None) -> Result:
    """Parse one frame of a known api on the reference path, without the state of a connection."""
    codec = api.codec(is_request)
    assert codec is not None
    reading = FrameParser(Frame(data, bare=api.bare), api.catalog, salvage=True, trace=False)
    if api.bare:
        return reading.body(codec)
    return reading.request(codec) if is_request else reading.response(codec)


def body_start(data: bytes, api: Api, is_request: bool | None) -> int:
    """Return where the body of a frame starts; -1 if only the reference path can determine it.

    Args:
        data: the frame, with its size field.
        api: the api and version of the frame.
        is_request: whether it is a request; None for a bare message, which has no direction.
    """
    if api.bare:
        return 0
    if is_request:
        start = 12  # after size, api key, api version and correlation id
        if api.request_header:
            client_id_size = int.from_bytes(data[12:14], "big", signed=True)  # -1 for null
            start = 14 + max(0, client_id_size)
        has_tags = api.request_header == 2
    elif api.response_header is None:
        return 4  # after the size
    elif may_be_downgraded(api.key, data):
        return -1
    else:
        start = 8  # after size and correlation id
        has_tags = api.response_header == 1
    if not has_tags:
        return start
    return start + 1 if data[start : start + 1] == b"\0" else -1
