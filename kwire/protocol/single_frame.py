"""One frame by itself: a request, or a response whose request the caller knows. No pairing, no state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..codecs import Codec, codec_in
from ..errors import UnknownMessage
from ..spec.catalog import Catalog, catalog_for
from ..wire import bytes_of
from .api_registry import Call
from .decoder import FrameDecoder
from .frame_header import Header
from .framing import Frame, Source
from .results import Request, Response, Result, Undecodable

if TYPE_CHECKING:
    from typing_extensions import Buffer


def decode_request(
    data: Buffer, *, catalog: Catalog | None = None, salvage: bool = False, trace: bool = False
) -> Request:
    """Decode the frame of one request.

    Args:
        data: the whole frame: size, header and body.
        catalog: the specs to use; those of Kafka's releases unless told.
        salvage: keep what Kafka tolerates in the result's `faults`; else it is an error, as in `Codec.decode`.
        trace: fill the result's `spans`.

    Returns:
        The request, with `message`, `header`, `codec` and so on.

    Raises:
        DecodeError: the frame is cut short or longer than its size, has an unknown api or version, or does not decode.
        TypeError: `data` is not bytes.

    >>> import kwire
    >>> frame = kwire.encode_request(kwire.messages.MetadataRequest(topics=None), 4, correlation_id=7, client_id="me")
    >>> request = kwire.decode_request(frame)
    >>> request.api_name, request.api_version, request.correlation_id, request.message.topics
    ('Metadata', 4, 7, None)
    """
    decoder = FrameDecoder(catalog, salvage=salvage, trace=trace)
    request: Request = _decoded(decoder.decode(Frame(bytes_of(data), Source(direction="request"))))
    return request


def decode_response(
    data: Buffer,
    answers: Request | Codec,
    *,
    catalog: Catalog | None = None,
    salvage: bool = False,
    trace: bool = False,
) -> Response:
    """Decode the frame of one response.

    Args:
        data: the whole frame: size, header and body.
        answers: the request that it answers, whose correlation id is checked; or the codec of the request or of the
            response, for nothing in a response says what it is.
        catalog, salvage, trace: as for `decode_request`.

    Returns:
        The response; its `request` is the header of the request, if that was given.

    Raises:
        DecodeError: as for `decode_request`; `UnexpectedResponse` if it has another correlation id than the request.
        TypeError: `data` is not bytes, or `answers` is neither a request nor such a codec.

    >>> import kwire
    >>> reply = kwire.messages.MetadataResponse(controller_id=3)
    >>> frame = kwire.encode_response(reply, 4, correlation_id=7)
    >>> kwire.decode_response(frame, kwire.codec("MetadataResponse", 4)).message.controller_id
    3
    >>> asked = kwire.decode_request(kwire.encode_request(kwire.messages.MetadataRequest(), 4, correlation_id=7))
    >>> kwire.decode_response(frame, asked).request.correlation_id
    7
    """
    codec = answers.codec if isinstance(answers, Request) else answers
    if not isinstance(codec, Codec) or codec.spec.type not in ("request", "response"):
        raise TypeError(f"a Request, or the codec of a request or response is needed, not {answers!r}"[:300])
    asked = answers.header if isinstance(answers, Request) else None  # it decides, by its correlation id too
    told = None if asked is not None else _answer_of(codec, catalog or catalog_for())
    decoder = FrameDecoder(catalog, salvage=salvage, trace=trace, answers=told)
    if asked is not None:
        connection = decoder.connections.on((None, None))
        api = connection.apis.unknown(asked.request_api_key, asked.request_api_version)
        connection.in_flight.append(Header(True, Call(api, b""), asked.correlation_id, decoded=asked))
    response: Response = _decoded(decoder.decode(Frame(bytes_of(data), Source(direction="response"))))
    return response


def _answer_of(codec: Codec, catalog: Catalog) -> Codec:
    """Return the codec of the response to what a codec is of."""
    if codec.spec.type == "response":
        return codec
    spec = catalog.find(-1 if codec.spec.api_key is None else codec.spec.api_key, "response", codec.version)
    if spec is None:
        raise UnknownMessage("message", f"{codec.spec.api_name}Response", catalog.names())
    return codec_in(catalog, spec.name, codec.version)


def _decoded(result: Result) -> Any:
    if isinstance(result, Undecodable):
        raise result.error
    return result
