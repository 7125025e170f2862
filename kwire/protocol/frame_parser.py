"""Parses one frame of a given message: size, header and body. Invalid bytes never raise an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..codecs.message_codec import Codec, codec_in
from ..codecs.tracing import Span, TracingReader
from ..codecs.wire import INT32, Reader
from ..errors import DecodeError
from ..schema.catalog import Catalog
from .frames.frame import Frame
from .frames.frame_size import get_int32
from .headers.api_versions_downgrade import may_be_downgraded
from .headers.header_versions import header_version_for
from .results import NOBODY, Client, Request, Response, Undecodable

_Kind = TypeVar("_Kind", Request, Response)


class FrameParser:
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
        request_fields = {"request": request, "asked_at": asked_at, "request_frame": request_frame}
        first = self._response_in(self._response_codec(codec), request_fields)
        if first.codec is codec or (isinstance(first, Response) and not first.faults):
            return first
        second = self._response_in(codec, request_fields)
        return second if isinstance(second, Response) else first

    def _response_in(self, codec: Codec, request_fields: dict[str, Any]) -> Response | Undecodable:
        number = get_int32(self.frame.data, 4)
        return self._read(codec, Response, "ResponseHeader", lambda _: number, **request_fields)

    def _response_codec(self, codec: Codec) -> Codec:
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
            **_collect_notes(reader),
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


def _collect_notes(reader: Reader) -> dict[str, Any]:
    """Return the faults and spans of the frame that was read."""
    spans: tuple[Span, ...] = ()
    if isinstance(reader, TracingReader):
        if reader.pending:
            reader.leave_rest("left over", reader.pending.pop())
        spans = tuple(reader.spans)
    return {"faults": tuple(reader.faults), "spans": spans}
