"""Encodes requests and responses as frames: size, header, body."""

from __future__ import annotations

from typing import Any

from ..codecs import Codec, codec_in
from ..messages.classes import message_class
from ..spec.catalog import Catalog, catalog_for
from .header_versions import header_version_for
from .results import Request, Response


def encode_request(
    message: Any,
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
        correlation_id: the number that the response will repeat.
        client_id: the client's name; None for null.
        header_tags: unknown tagged fields of the header, as raw bytes.
        catalog: the specs to use; those of Kafka's releases by default.

    Returns:
        The bytes of size, header and body. Raises EncodeError as `Codec.encode`, UnsupportedVersion as `kwire.codec`.

    >>> import kwire
    >>> request = kwire.messages.MetadataRequest(topics=None)
    >>> kwire.encode_request(request, 1, correlation_id=7, client_id="me").hex(" ", 4)
    '00000010 00030001 00000007 00026d65 ffffffff'
    """
    codec = codec_in(catalog or catalog_for(), type(message).__name__, version)
    fields = {
        "request_api_key": codec.spec.api_key,
        "request_api_version": version,
        "correlation_id": correlation_id,
        "client_id": client_id,
        "unknown_tags": header_tags,
    }
    return _frame(codec, message, "RequestHeader", fields, catalog or catalog_for())


def encode_response(
    message: Any,
    version: int,
    *,
    correlation_id: int = 0,
    header_tags: bytes | None = None,
    catalog: Catalog | None = None,
) -> bytes:
    """Encode a response as a frame; arguments and errors as `encode_request`."""
    codec = codec_in(catalog or catalog_for(), type(message).__name__, version)
    fields = {"correlation_id": correlation_id, "unknown_tags": header_tags}
    return _frame(codec, message, "ResponseHeader", fields, catalog or catalog_for())


def _frame(codec: Codec, message: Any, header: str, fields: dict[str, Any], catalog: Catalog) -> bytes:
    version = header_version_for(codec.spec, codec.version)
    data = b""
    if version is not None:
        header_codec = codec_in(catalog, header, version)
        data = header_codec.encode(message_class(header_codec.spec)(**fields))
    data += codec.encode(message)
    return len(data).to_bytes(4, "big") + data


def encode_result(result: Request | Response, catalog: Catalog | None = None) -> bytes:
    """Encode a decoded frame again. The bytes are the same if the frame's writer used the canonical encoding.

    Args:
        result: from a `FrameDecoder`.
        catalog: the specs of the header; those of Kafka's releases by default.

    Returns:
        The bytes of size, header and body; for a bare frame, of the body only. Raises EncodeError as `Codec.encode`.

    >>> from kwire.protocol import Frame, FrameDecoder
    >>> data = bytes.fromhex("00000010 0003 0001 00000007 0002 6d65 ffffffff")
    >>> encode_result(FrameDecoder().decode(Frame(data))) == data
    True
    """
    body = result.codec.encode(result.message)
    if result.frame.bare:
        return body
    version = header_version_for(result.codec.spec, result.codec.version)
    if version is not None:
        name = "RequestHeader" if isinstance(result, Request) else "ResponseHeader"
        body = codec_in(catalog or catalog_for(), name, version).encode(result.header) + body
    return len(body).to_bytes(4, "big") + body
