"""Parses or encodes one frame of a given message: size, header and body.

It also handles the fallback of ApiVersions to version 0.

Invalid bytes never raise an error while parsing. Connections and requests in flight are handled in `connection`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from ..codecs import Codec, Span, TracingReader, codec_in
from ..errors import DecodeError, WrongType, excerpt
from ..messages.classes import checked_version, message_class
from ..spec.catalog import Catalog, catalog_for
from ..wire import INT32, Reader
from .framing import Frame, int32
from .headers import header_version_for, may_be_downgraded
from .results import NOBODY, Client, Request, Response, Undecodable

if TYPE_CHECKING:
    from ..messages import RequestMessage, ResponseMessage

_Kind = TypeVar("_Kind", Request, Response)


class FrameReading:
    """Parses one frame.

    Args:
        frame: the frame.
        catalog: the specs.
        salvage, trace: as for `FrameDecoder`.
        client: the connection's client, if known.
    """

    def __init__(
        self,
        frame: Frame,
        catalog: Catalog,
        *,
        salvage: bool,
        trace: bool,
        client: Client = NOBODY,
    ) -> None:
        self.frame: Frame = frame
        self.catalog: Catalog = catalog
        self.salvage: bool = salvage
        self.trace: bool = trace
        self.client = client

    def request(self, codec: Codec) -> Request | Undecodable:
        """Parse a request."""
        return self._read(codec, Request, "RequestHeader", lambda header: int(header.correlation_id))

    def response(
        self, codec: Codec, request: Any = None, asked_at: float | None = None, request_frame: int | None = None
    ) -> Response | Undecodable:
        """Parse a response, in the requested version or in the version that the broker used instead.

        Args:
            codec: the codec of the requested version.
            request: the header of the request.
            asked_at: the time of that request.
            request_frame: the frame number of the request.
        """
        asked = {"request": request, "asked_at": asked_at, "request_frame": request_frame}
        first = self._response_in(self._answered_in(codec), asked)
        if first.codec is codec or (isinstance(first, Response) and not first.faults):
            return first
        second = self._response_in(codec, asked)
        return second if isinstance(second, Response) else first

    def _response_in(self, codec: Codec, asked: dict[str, Any]) -> Response | Undecodable:
        number = int32(self.frame.data, 4)
        return self._read(codec, Response, "ResponseHeader", lambda _: number, **asked)

    def _answered_in(self, codec: Codec) -> Codec:
        refused = may_be_downgraded(codec.spec.api_key, self.frame.data)
        return codec_in(self.catalog, codec.name, 0) if refused else codec

    def body(self, codec: Codec) -> Request | Response | Undecodable:
        """Parse a frame without a header."""
        if codec.spec.type == "request":
            return self._read(codec, Request, "", lambda _: None)
        return self._read(codec, Response, "", lambda _: None)

    def _read(
        self, codec: Codec, kind: type[_Kind], header_name: str, number: Callable[[Any], int | None], **more: Any
    ) -> _Kind | Undecodable:
        reader, header = self.reader(bare=not header_name), None
        try:
            if header_name:
                header = self.header(reader, header_name, header_version_for(codec.spec, codec.version))
            message = codec.read(reader)
            rest = reader.finish()
        except DecodeError as error:
            return self.undecodable(error, reader, header, codec)
        return kind(
            frame=self.frame,
            codec=codec,
            message=message,
            header=header,
            correlation_id=number(header),
            rest=rest,
            client=self.client,
            **_notes(reader),
            **more,
        )

    def reader(self, *, bare: bool = False) -> Reader:
        """Return a reader positioned after the size field, if there is one."""
        reader = (TracingReader if self.trace else Reader)(self.frame.data, salvage=self.salvage)
        if not bare:
            reader.child("size", INT32)
        return reader

    def header(self, reader: Reader, name: str, version: int | None) -> Any:
        """Parse a header; return None if the message has none."""
        if version is None:
            return None
        reader.path.append("header")
        header = codec_in(self.catalog, name, version).read(reader)
        reader.path.pop()
        return header

    def undecodable(
        self, error: DecodeError, reader: Reader | None = None, header: Any = None, codec: Codec | None = None
    ) -> Undecodable:
        """Return the reason why the frame could not be decoded, with its decoded part."""
        if self.trace and reader is None:
            reader = TracingReader(self.frame.data, salvage=True)
        spans: tuple[Span, ...] = ()
        if isinstance(reader, TracingReader):
            reader.leave_rest("not understood", error)
            spans = tuple(reader.spans)
        return Undecodable(frame=self.frame, error=error, header=header, codec=codec, spans=spans)


def _notes(reader: Reader) -> dict[str, Any]:
    """Return the faults and spans of the frame that was read."""
    spans: tuple[Span, ...] = ()
    if isinstance(reader, TracingReader):
        if reader.pending:
            reader.leave_rest("left over", reader.pending.pop())
        spans = tuple(reader.spans)
    return {"faults": tuple(reader.faults), "spans": spans}


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
    codec = _codec_for(message, "request", version, catalog or catalog_for())
    fields = {
        "request_api_key": codec.spec.api_key,
        "request_api_version": version,
        "correlation_id": correlation_id,
        "client_id": client_id,
        "unknown_tags": header_tags,
    }
    return _frame(codec, message, "RequestHeader", fields, catalog or catalog_for())


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
    codec = _codec_for(message, "response", version, catalog or catalog_for())
    fields = {"correlation_id": correlation_id, "unknown_tags": header_tags}
    return _frame(codec, message, "ResponseHeader", fields, catalog or catalog_for())


_ENCODERS = {"request": "kwire.encode_request", "response": "kwire.encode_response"}


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


def _frame(codec: Codec, message: Any, header: str, fields: dict[str, Any], catalog: Catalog) -> bytes:
    version = header_version_for(codec.spec, codec.version)
    head, body = b"", codec.encode(message)
    if version is not None:
        header_codec = codec_in(catalog, header, version)
        head = header_codec.encode(message_class(header_codec.spec)(**fields))
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
    version = header_version_for(result.codec.spec, result.codec.version)
    if version is not None:
        name = "RequestHeader" if isinstance(result, Request) else "ResponseHeader"
        body = codec_in(catalog or catalog_for(), name, version).encode(result.header) + body
    return len(body).to_bytes(4, "big") + body
