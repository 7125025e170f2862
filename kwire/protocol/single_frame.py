"""`decode_request` and `decode_response`: one frame of a known direction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from msgspec import Struct

from ..codecs.fast_path import REFUSALS
from ..codecs.message_codec import Codec, codec_in
from ..codecs.wire import bytes_of
from ..errors import UnknownMessage
from ..runtime.caches import once
from ..schema.catalog import Catalog, catalog_for
from .frame_decoder import FrameDecoder
from .frames.frame import Frame, Source
from .frames.frame_size import get_int32
from .headers.apis import Api, Apis, Call
from .headers.header import Header
from .results import NOBODY, Client, CodecOf, Request, Response, Result, Undecodable

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from ..messages import RequestMessage

R = TypeVar("R", bound=Struct)


def decode_request(
    data: Buffer, *, catalog: Catalog | None = None, salvage: bool = False, trace: bool = False
) -> Request:
    """Decode the frame of one request.

    Args:
        data: the whole frame: size, header and body.
        catalog: the specs to use; by default those of Kafka's releases.
        salvage: report what Kafka tolerates in the result's `faults`, instead of raising it as `Codec.decode` does.
        trace: fill the result's `spans`.

    Returns:
        The request with its `message`, `header` and `codec`.

    Raises:
        DecodeError: the frame is truncated, is longer than its size, has an unknown api or version, or does not decode.
        TypeError: `data` is not bytes.

    >>> import kwire
    >>> frame = kwire.encode_request(kwire.messages.MetadataRequest(topics=None), 4, correlation_id=7, client_id="me")
    >>> request = kwire.decode_request(frame)
    >>> request.api_name, request.api_version, request.correlation_id, request.message.topics
    ('Metadata', 4, 7, None)
    """
    plain = None if trace or type(data) is not bytes else _decode_plain_request(data, catalog or catalog_for())
    if plain is not None:
        return plain
    decoder = FrameDecoder(catalog, salvage=salvage, trace=trace)
    request: Request = _need_decoded(decoder.decode(Frame(bytes_of(data), Source(direction="request"))))
    return request


@overload
def decode_response(
    data: Buffer,
    answers: Request[RequestMessage[R]] | CodecOf[RequestMessage[R]],
    *,
    catalog: Catalog | None = None,
    salvage: bool = False,
    trace: bool = False,
) -> Response[R]: ...


@overload
def decode_response(
    data: Buffer,
    answers: CodecOf[R],
    *,
    catalog: Catalog | None = None,
    salvage: bool = False,
    trace: bool = False,
) -> Response[R]: ...


@overload
def decode_response(
    data: Buffer,
    answers: Request | Codec,
    *,
    catalog: Catalog | None = None,
    salvage: bool = False,
    trace: bool = False,
) -> Response: ...


def decode_response(
    data: Buffer, answers: Any, *, catalog: Catalog | None = None, salvage: bool = False, trace: bool = False
) -> Response[Any]:
    """Decode the frame of one response.

    Args:
        data: the whole frame: size, header and body.
        answers: the request, whose correlation id is checked; or the codec of the request or of the response, because a
            response does not contain its type.
        catalog, salvage, trace: as for `decode_request`.

    Returns:
        The response; its `request` is the header of the request, if the request was given.

    Raises: DecodeError: see `decode_request`; `UnexpectedResponse` if the correlation id differs from the request's.
        TypeError: `data` is not bytes, or `answers` is neither a request nor a suitable codec.

    >>> import kwire
    >>> frame = kwire.encode_response(kwire.messages.MetadataResponse(controller_id=3), 4, correlation_id=7)
    >>> kwire.decode_response(frame, kwire.codec("MetadataResponse", 4)).message.controller_id
    3
    """
    if not trace and type(data) is bytes:
        plain = _decode_plain_response(data, answers, catalog or catalog_for())
        if plain is not None:
            return plain
    codec = answers.codec if isinstance(answers, Request) else answers
    if not isinstance(codec, Codec) or codec.spec.type not in ("request", "response"):
        raise TypeError(f"a Request, or the codec of a request or response is needed, not {answers!r}"[:300])
    request_header = answers.header if isinstance(answers, Request) else None  # it decides, by its correlation id too
    response_codec = None if request_header is not None else _find_response_codec(codec, catalog or catalog_for())
    decoder = FrameDecoder(catalog, salvage=salvage, trace=trace, answers=response_codec)
    if request_header is not None:
        connection = decoder.connections.on((None, None))
        api = connection.apis.unknown(request_header.request_api_key, request_header.request_api_version)
        connection.in_flight.append(Header(True, Call(api, b""), request_header.correlation_id, decoded=request_header))
    response: Response[Any] = _need_decoded(decoder.decode(Frame(bytes_of(data), Source(direction="response"))))
    return response


_REQUEST = Source(direction="request")
_RESPONSE = Source(direction="response")


@once
def _list_apis(catalog: Catalog) -> Apis:
    """Return the apis of a catalog; always the same object, so that each is looked up once."""
    return Apis(catalog)


def _decode_plain_request(data: bytes, catalog: Catalog) -> Request | None:
    """Decode a usual request in one call; None if a `FrameDecoder` must decode it, which also explains its faults."""
    api = _list_apis(catalog).get(get_int32(data, 4))
    if api is None or api.request is None or api.request_frame is None:
        return None
    try:
        header, message = api.request_frame.read(data)
    except REFUSALS:
        return None
    client_id = getattr(header, "client_id", None)
    return Request(
        frame=Frame(data, _REQUEST),
        codec=api.request,
        message=message,
        header=header,
        correlation_id=header.correlation_id,
        client=NOBODY if client_id is None else Client(client_id),
    )


def _decode_plain_response(data: bytes, answers: Any, catalog: Catalog) -> Response[Any] | None:
    """Decode a usual response in one call; None if a `FrameDecoder` must decode it."""
    request = None
    if isinstance(answers, Request):
        request = answers.header
    elif not isinstance(answers, Codec):
        return None
    if request is not None:
        api = _list_apis(catalog).get(request.request_api_key << 16 | request.request_api_version)
    else:
        api = _api_of(answers if isinstance(answers, Codec) else answers.codec, catalog)
    if api is None or api.response is None or api.response_frame is None:
        return None
    try:
        header, message = api.response_frame.read(data)
    except REFUSALS:
        return None
    if request is not None and header.correlation_id != request.correlation_id:
        return None
    return Response(
        frame=Frame(data, _RESPONSE),
        codec=api.response,
        message=message,
        header=header,
        correlation_id=header.correlation_id,
        request=request,
    )


@once
def _api_of(codec: Codec, catalog: Catalog) -> Api | None:
    """Return the api of the request or the response that a codec is of; None for other messages."""
    if codec.spec.type not in ("request", "response"):
        return None
    response = _find_response_codec(codec, catalog)
    api = Api(codec.spec.api_key, codec.version, codec.spec.api_name, catalog)
    api.response = response
    return api


def _find_response_codec(codec: Codec, catalog: Catalog) -> Codec:
    """Return the codec of the response, given the codec of the request or of the response."""
    if codec.spec.type == "response":
        return codec
    spec = catalog.find(-1 if codec.spec.api_key is None else codec.spec.api_key, "response", codec.version)
    if spec is None:
        raise UnknownMessage("message", f"{codec.spec.api_name}Response", catalog.names())
    return codec_in(catalog, spec.name, codec.version)


def _need_decoded(result: Result) -> Any:
    if isinstance(result, Undecodable):
        raise result.error
    return result
