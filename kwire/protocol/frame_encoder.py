"""Encodes messages as frames: size, header and body."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from ..codecs.fast_path import REFUSALS
from ..codecs.message_codec import Codec, codec_in
from ..errors import WrongType, excerpt
from ..schema.catalog import Catalog, catalog_for
from ..schema.message_classes import checked_version, message_class
from .headers.frame_tables import frame_table, header_codec
from .results import Request, Response

if TYPE_CHECKING:
    from ..codecs.native import FrameTable
    from ..messages import RequestMessage, ResponseMessage

_ENCODERS = {"request": "kwire.encode_request", "response": "kwire.encode_response"}


class _FrameWriter(NamedTuple):
    """Writes the frames of a message at a version in one call."""

    table: FrameTable
    header_class: Callable[..., Any]
    api_key: int | None


_Writers = dict[tuple[type, int, Catalog | None], _FrameWriter]  # by the class of messages, version and `catalog=`
_request_writers: _Writers = {}
_response_writers: _Writers = {}


def encode_request(
    message: RequestMessage[Any],
    version: int,
    *,
    correlation_id: int = 0,
    client_id: str | None = None,
    header_tags: bytes | None = None,
    catalog: Catalog | None = None,
) -> bytes:
    """Encode a request as a frame.

    Args:
        message: a request, such as `kwire.messages.MetadataRequest(...)`.
        version: the api version.
        correlation_id: the correlation id, which the response repeats.
        client_id: the client id; None for null.
        header_tags: unknown tagged fields of the header, as raw bytes.
        catalog: the specs to use; by default those of Kafka's releases.

    Returns:
        The bytes of size, header and body.

    Raises:
        EncodeError: the message is no request, or cannot be encoded; see `Codec.encode`.
        UnknownMessage, UnsupportedVersion: see `kwire.codec`.

    >>> import kwire
    >>> request = kwire.messages.MetadataRequest(topics=None)
    >>> kwire.encode_request(request, 1, correlation_id=7, client_id="me").hex(" ", 4)
    '00000010 00030001 00000007 00026d65 ffffffff'
    """
    writer = _request_writers.get((type(message), version, catalog))
    if writer is not None and type(version) is int:
        header = writer.header_class(
            request_api_key=writer.api_key,
            request_api_version=version,
            correlation_id=correlation_id,
            client_id=client_id,
            unknown_tags=header_tags,
        )
        try:
            return writer.table.write(header, message)
        except REFUSALS:  # the codecs below raise the detailed error
            pass
    codec = _codec_for(message, "request", version, catalog or catalog_for())
    fields = {
        "request_api_key": codec.spec.api_key,
        "request_api_version": version,
        "correlation_id": correlation_id,
        "client_id": client_id,
        "unknown_tags": header_tags,
    }
    return _join_frame(codec, message, fields, catalog, _request_writers)


def encode_response(
    message: ResponseMessage,
    version: int,
    *,
    correlation_id: int = 0,
    header_tags: bytes | None = None,
    catalog: Catalog | None = None,
) -> bytes:
    """Encode a response as a frame.

    Args:
        message: a response, such as `kwire.messages.MetadataResponse(...)`.
        version: the api version of the request.
        correlation_id, header_tags, catalog: see `encode_request`.

    Returns:
        The bytes of size, header and body. Raises the errors of `encode_request`.

    >>> import kwire
    >>> kwire.encode_response(kwire.messages.HeartbeatResponse(error_code=27), 0, correlation_id=7).hex(" ", 4)
    '0000 00060000 0007001b'
    """
    writer = _response_writers.get((type(message), version, catalog))
    if writer is not None and type(version) is int:
        header = writer.header_class(correlation_id=correlation_id, unknown_tags=header_tags)
        try:
            return writer.table.write(header, message)
        except REFUSALS:  # the codecs below raise the detailed error
            pass
    codec = _codec_for(message, "response", version, catalog or catalog_for())
    fields = {"correlation_id": correlation_id, "unknown_tags": header_tags}
    return _join_frame(codec, message, fields, catalog, _response_writers)


def _codec_for(message: Any, wanted: str, version: int, catalog: Catalog) -> Codec:
    """Return the codec of a message; raise WrongType if it is not a request, or not a response, as wanted."""
    if not isinstance(message, Struct):
        need = f"a {wanted}, such as kwire.messages.Metadata{wanted.capitalize()}(),"
        raise WrongType(need=need, found=f"{type(message).__name__} {excerpt(message, 60)}")
    codec = codec_in(catalog, type(message).__name__, checked_version(version))
    kind = codec.spec.type
    if kind != wanted:
        encoder = _ENCODERS.get(kind, f"kwire.codec({codec.name!r}, {version}).encode")
        raise WrongType(need=f"a {wanted}", found=f"the {kind} {codec.name}", hint=f"{encoder} encodes it")
    return codec


def _join_frame(
    codec: Codec, message: Any, fields: dict[str, Any], catalog: Catalog | None, writers: _Writers
) -> bytes:
    """Encode header and body; prepare the encoding of the next frame in one call."""
    known = catalog or catalog_for()
    header = header_codec(known, codec)
    head = b""
    body = codec.encode(message)
    if header is not None:
        head = header.encode(message_class(header.spec)(**fields))
        table = frame_table(known, codec)
        if table is not None:
            writers[type(message), codec.version, catalog] = _FrameWriter(
                table, message_class(header.spec), codec.spec.api_key
            )
    # One copy of the body: sums took two, a fifth of the processor time of `kwire serve` for Fetch responses of 1 MB.
    return b"".join(((len(head) + len(body)).to_bytes(4, "big"), head, body))


def encode_result(result: Request | Response, catalog: Catalog | None = None) -> bytes:
    """Encode a decoded frame again. The bytes are equal if the writer of the frame used the canonical encoding.

    Args:
        result: a result of a `FrameDecoder`.
        catalog: the specs of the header; by default those of Kafka's releases.

    Returns:
        The bytes of size, header and body; for a bare frame, only of the body. Raises EncodeError like `Codec.encode`.

    >>> from kwire.protocol import Frame, FrameDecoder
    >>> data = bytes.fromhex("00000010 0003 0001 00000007 0002 6d65 ffffffff")
    >>> encode_result(FrameDecoder().decode(Frame(data))) == data
    True
    """
    body = result.codec.encode(result.message)
    if result.frame.bare:
        return body
    header = header_codec(catalog or catalog_for(), result.codec)
    if header is not None:
        body = header.encode(result.header) + body
    return len(body).to_bytes(4, "big") + body
