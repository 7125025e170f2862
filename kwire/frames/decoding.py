"""Frames to requests and responses, by their content: header, known api, and whom they answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from ..catalog import Catalog, catalog_for
from ..codecs import Codec, codec_in
from ..errors import DecodeError
from ..faults import BadFrame, UnexpectedResponse, UnknownApi, UnknownVersion
from ..headers import header_version_for
from ..tracing import TracingReader
from ..wire import INT32, Reader
from .cutting import Frame, int16, int32, size_fault
from .pairing import InFlightRequests, expects_response
from .pieces import NoFrame
from .results import Request, Response, Undecodable

Result = Request | Response | Undecodable
UNSUPPORTED_VERSION = 35


class FrameDecoder:
    """Decodes the frames of any number of connections, each frame in the order of its connection.

    Args:
        catalog: the specs to use; those of Kafka's releases unless told.
        salvage: keep what Kafka tolerates as faults; else it makes a frame undecodable.
        trace: fill the `spans` of the results.
        answers: what a response is that answers no request seen before it.
    """

    def __init__(
        self,
        catalog: Catalog | None = None,
        *,
        salvage: bool = True,
        trace: bool = False,
        answers: Codec | None = None,
    ) -> None:
        self.catalog = catalog or catalog_for()
        self.salvage, self.trace, self.answers = salvage, trace, answers
        self._in_flight: dict[object, InFlightRequests] = {}

    def decode(self, frame: Frame) -> Result:
        """Decode one frame. Never raises for what the bytes are; see `Undecodable`."""
        for number in frame.closed:
            self._in_flight.pop(number, None)
        source = frame.source
        connection = (source.client, source.broker) if source.connection is None else source.connection
        waiting = self._in_flight.setdefault(connection, InFlightRequests())
        return _Attempt(self, frame, waiting).decode()


class _Attempt:
    """One frame being decoded."""

    def __init__(self, decoder: FrameDecoder, frame: Frame, waiting: InFlightRequests) -> None:
        self.decoder, self.frame, self.waiting = decoder, frame, waiting
        self.catalog = catalog_for(frame.profile) if frame.profile else decoder.catalog

    def decode(self) -> Result:
        frame = self.frame
        if frame.fault is not None:
            return self.undecodable(frame.fault)
        if frame.bare:
            return self.body()
        if (bad := size_fault(frame.data)) is not None:
            return self.undecodable(bad)
        if frame.message is not None and frame.version is not None:
            codec = codec_in(self.catalog, frame.message, frame.version)
            return self.request(codec) if codec.spec.type == "request" else self.named(codec)
        if frame.source.direction is None:
            return self.by_content()
        return self.by_header() if frame.source.direction == "request" else self.by_request()

    def by_header(self) -> Result:
        """Decode what a client sent."""
        codec = self.codec_of_request()
        result = self.request(codec) if isinstance(codec, Codec) else self.unknown(codec)
        if isinstance(result, Undecodable):
            self.expect(result.header, None)
        return result

    def by_request(self) -> Result:
        """Decode what a broker sent: an answer to a request in flight, in most cases the next one."""
        asked = self.waiting.find_all(int32(self.frame.data, 4))
        tried: list[tuple[Any, Response | Undecodable]] = []
        for request in asked:
            tried.append((request, self.read_answer(request)))
            if _is_clean(tried[-1][1]):
                break
        if tried:
            # Behind a lost answer, several requests may wait with this id: one that needs no salvage is the better one.
            request, result = min(tried, key=lambda one: (not _is_clean(one[1]), isinstance(one[1], Undecodable)))
            return self.answered(request, result)
        if self.decoder.answers is not None:
            return self.response(self.decoder.answers)
        return self.undecodable(self.unexpected())

    def by_content(self) -> Result:
        """Tell requests from responses: the answer awaited next, or said to be; a request; an answer awaited later."""
        wanted = self.waiting.find(int32(self.frame.data, 4))
        is_next = wanted is not None and self.waiting.next_is(wanted.correlation_id)
        answered = self.answer(wanted) if is_next else None
        if not isinstance(answered, Response) and self.decoder.answers is not None:
            answered = self.response(self.decoder.answers)
        if isinstance(answered, Response):
            return answered
        codec = self.codec_of_request()
        asked = self.request(codec) if isinstance(codec, Codec) else None
        if isinstance(asked, Request):
            return asked
        if wanted is not None and not is_next:
            later = self.answer(wanted)
            if isinstance(later, Response):
                return later
        return self.given_up(answered or asked or self.unknown(codec))

    def given_up(self, result: Undecodable) -> Undecodable:
        """Keep the requests in flight right, also behind a frame that does not decode."""
        if result.codec is not None and result.codec.spec.type == "request":
            self.expect(result.header, None)
        elif result.codec is not None and self.waiting.next_is(int32(self.frame.data, 4)):
            self.waiting.complete(int32(self.frame.data, 4))
        return result

    def unknown(self, codec: Codec | DecodeError) -> Undecodable:
        """Say why a frame is neither a request nor an answer."""
        assert isinstance(codec, DecodeError)
        reader, header = self.reader(), None
        try:
            header = self.header(reader, "RequestHeader", 1)
        except DecodeError:
            if len(self.waiting) and self.frame.source.direction is None:
                codec = self.unexpected()  # no request begins like this, so it is an answer, to nobody
            reader = self.reader()
        codec.rest = self.frame.data[codec.offset :]
        return self.undecodable(codec, reader, header)

    def unexpected(self) -> UnexpectedResponse:
        return UnexpectedResponse(offset=4, found=int32(self.frame.data, 4), need=self.waiting.next_id)

    def codec_of_request(self) -> Codec | DecodeError:
        """Return the codec that a request header of this frame asks for, or why there is none."""
        api_key, version = int16(self.frame.data, 4), int16(self.frame.data, 6)
        spec = self.catalog.find(api_key, "request", version)
        if spec is not None:
            return codec_in(self.catalog, spec.name, version)
        known = self.catalog.find(api_key, "request")
        if known is None:
            return UnknownApi(offset=4, found=api_key)
        return UnknownVersion(offset=6, found=(known.name, version, str(known.versions)))

    def answer(self, request: Any) -> Response | Undecodable:
        """Decode as the answer to a request in flight; if that works, the request waits no longer."""
        result = self.read_answer(request)
        return self.answered(request, result) if isinstance(result, Response) else result

    def read_answer(self, request: Any) -> Response | Undecodable:
        spec = self.catalog.find(request.request_api_key, "response", request.request_api_version)
        if spec is None:
            return self.undecodable(UnknownApi(offset=4, found=request.request_api_key))
        return self.response(codec_in(self.catalog, spec.name, request.request_api_version), request)

    def answered(self, request: Any, result: Response | Undecodable) -> Response | Undecodable:
        """Take out a request that waits no longer, and those that it has overtaken."""
        dropped = self.waiting.settle(request)
        return replace(result, unanswered=tuple(dropped)) if isinstance(result, Response) else result

    def named(self, codec: Codec) -> Response | Undecodable:
        """Decode as a response that is said to be this one; a request in flight that asked for it waits no longer."""
        asked = self.waiting.find(int32(self.frame.data, 4))
        if asked is None or asked.request_api_key != codec.spec.api_key:
            return self.response(codec)
        return self.answered(asked, self.response(codec, asked))

    def request(self, codec: Codec) -> Request | Undecodable:
        reader, header = self.reader(), None
        try:
            header = self.header(reader, "RequestHeader", header_version_for(codec.spec, codec.version))
            message = codec.read(reader)
            rest = reader.finish()
        except DecodeError as error:
            return self.undecodable(error, reader, header, codec)
        self.expect(header, message)
        return Request(
            frame=self.frame,
            codec=codec,
            message=message,
            header=header,
            correlation_id=header.correlation_id,
            rest=rest,
            **self.notes(reader),
        )

    def expect(self, header: Any, message: Any) -> None:
        """Note that a request waits for an answer."""
        if header is not None and expects_response(message):
            self.waiting.add(header)

    def response(self, codec: Codec, request: Any = None) -> Response | Undecodable:
        """Decode as a response, in the version asked for or in the one that was answered in."""
        first = self.response_in(self.answered_in(codec), request)
        if first.codec is codec or (isinstance(first, Response) and not first.faults):
            return first
        second = self.response_in(codec, request)
        return second if isinstance(second, Response) else first

    def response_in(self, codec: Codec, request: Any) -> Response | Undecodable:
        reader, header = self.reader(), None
        try:
            header = self.header(reader, "ResponseHeader", header_version_for(codec.spec, codec.version))
            message = codec.read(reader)
            rest = reader.finish()
        except DecodeError as error:
            return self.undecodable(error, reader, header, codec)
        return Response(
            frame=self.frame,
            codec=codec,
            message=message,
            header=header,
            correlation_id=int32(self.frame.data, 4),
            rest=rest,
            request=request,
            **self.notes(reader),
        )

    def answered_in(self, codec: Codec) -> Codec:
        """KIP-511: a broker that does not know the version of an ApiVersions request answers in version 0, error 35."""
        refused = codec.name == "ApiVersionsResponse" and int16(self.frame.data, 8) == UNSUPPORTED_VERSION
        return codec_in(self.catalog, codec.name, 0) if refused else codec

    def body(self) -> Result:
        """Decode a bare body."""
        frame = self.frame
        assert frame.message is not None and frame.version is not None
        codec = codec_in(self.catalog, frame.message, frame.version)
        reader = self.reader(0)
        try:
            message = codec.read(reader)
            rest = reader.finish()
        except DecodeError as error:
            return self.undecodable(error, reader, None, codec)
        kind = Request if codec.spec.type == "request" else Response
        return kind(frame=frame, codec=codec, message=message, rest=rest, **self.notes(reader))

    def reader(self, start: int = 4) -> Reader:
        kind = TracingReader if self.decoder.trace else Reader
        if start == 0:
            return kind(self.frame.data, salvage=self.decoder.salvage)
        reader = kind(self.frame.data, salvage=self.decoder.salvage)
        reader.child("size", INT32)
        return reader

    def header(self, reader: Reader, name: str, version: int | None) -> Any:
        if version is None:
            return None
        reader.path.append("header")
        header = codec_in(self.catalog, name, version).read(reader)
        reader.path.pop()
        return header

    def notes(self, reader: Reader) -> dict[str, Any]:
        """Collect the faults and spans of a frame that was read."""
        spans: tuple[Any, ...] = ()
        if isinstance(reader, TracingReader):
            if reader.pending:
                reader.leave_rest("left over", reader.pending.pop())
            spans = tuple(reader.spans)
        return {"faults": tuple(reader.faults), "spans": spans}

    def undecodable(
        self, error: DecodeError, reader: Reader | None = None, header: Any = None, codec: Codec | None = None
    ) -> Undecodable:
        size, follow = int32(self.frame.data, 0), len(self.frame.data) - 4
        if not self.frame.bare and size > follow >= 0 and not isinstance(error, BadFrame | NoFrame):
            error.hint = f"the size field says {size} bytes, {follow} follow: it is cut short"
        if self.decoder.trace and reader is None:
            reader = TracingReader(self.frame.data, salvage=True)
        spans: tuple[Any, ...] = ()
        if isinstance(reader, TracingReader):
            reader.leave_rest("not understood", error)
            spans = tuple(reader.spans)
        return Undecodable(frame=self.frame, error=error, header=header, codec=codec, spans=spans)


def _is_clean(result: Result) -> bool:
    return isinstance(result, Response) and not result.faults


def decode_frames(
    frames: Iterable[Frame], catalog: Catalog | None = None, *, salvage: bool = True, trace: bool = False
) -> Iterator[Result]:
    """Decode frames one after the other.

    Args:
        frames: as `kwire.read_dump` gives them; requests and responses may be mixed.
        catalog, salvage, trace: as for `FrameDecoder`.

    Yields:
        A `Request`, `Response` or `Undecodable` for each frame, in the same order.
    """
    decoder = FrameDecoder(catalog, salvage=salvage, trace=trace)
    for frame in frames:
        yield decoder.decode(frame)
