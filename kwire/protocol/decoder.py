"""Decodes frames to requests and responses; reads only the headers of frames that a filter excludes.

Payloads inside messages are decoded too: the request or response in an Envelope (KIP-590), and tokens of
SaslAuthenticate. An envelope inside an envelope is not decoded; Kafka rejects it too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, overload

from msgspec import Struct
from msgspec.structs import force_setattr

from ..codecs import Codec, Span, TracingReader, codec_in
from ..errors import DecodeError, Truncated, UnexpectedResponse, UnknownApi, UnknownMessage, UnknownVersion
from ..spec.catalog import WIRE_TYPES, Catalog, catalog_for
from ..wire import INT32, bytes_of
from .connection import Connection
from .frame_codec import FrameReading
from .framing import CutShort, Frame, Source, cut_short, int16, int32, size_fault
from .header_reader import Connections, DecodedConnection, Peek, peek_of
from .headers import API_VERSIONS, ENVELOPE, SASL_AUTHENTICATE, Api, Apis, Call, Header, header_version_for
from .results import CodecOf, Request, Response, Result, Token, Undecodable, software_of
from .sasl_tokens import SaslMessage, read_token

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from ..messages import RequestMessage


_HEADERS = {"request": "RequestHeader", "response": "ResponseHeader"}
SIZE = 4  # bytes; a frame inside an envelope has no size field
Inside = Request | Response | Undecodable | SaslMessage | None
R = TypeVar("R", bound=Struct)
AFFECTS_OTHERS = frozenset((API_VERSIONS, ENVELOPE))  # client software; nested requests
Wanted = Callable[[Peek], bool]


def spans_for(result: Result) -> tuple[Span, ...]:
    """Return the spans of a result, which cover its frame without gaps or overlaps.

    Args:
        result: a result of a `FrameDecoder`, with or without `trace`.
    """
    if result.spans:
        return result.spans
    if isinstance(result, Token):
        return token_spans(result.frame.data)
    reader = TracingReader(result.frame.data, salvage=True)
    try:
        _read(reader, result)
        if reader.finish():
            reader.leave_rest("left over", reader.pending.pop())
    except DecodeError as error:
        reader.leave_rest("not understood", error)
    return tuple(reader.spans)


def _read(reader: TracingReader, result: Request | Response | Undecodable) -> None:
    codec = result.codec
    if codec is None:
        assert isinstance(result, Undecodable)
        raise result.error
    if not result.frame.bare and codec.spec.type in WIRE_TYPES:
        reader.child("size", INT32)
        version = header_version_for(codec.spec, codec.version)
        if version is not None:
            reader.path.append("header")
            codec_in(catalog_for(), _HEADERS[codec.spec.type], version).read(reader)
            reader.path.pop()
    codec.read(reader)


def token_spans(data: bytes) -> tuple[Span, ...]:
    """Return the spans of a SASL token without a header: its size and content."""
    parts = Span(0, 4, "size", "int32", int32(data, 0)), Span(4, len(data), "token", "token", data[4:])
    return tuple(span for span in parts if span.stop > span.start)


def inside_request(request: Request[Any], connection: DecodedConnection, reading: FrameReading) -> Inside:
    """Return the nested payload of a request."""
    if request.codec.spec.api_key == SASL_AUTHENTICATE:
        return read_token(request.message.auth_bytes, connection.mechanism)
    if request.codec.spec.api_key != ENVELOPE:
        return None
    inner = _inner(request.message.request_data, request, reading)
    api_key, version = int16(inner.frame.data, SIZE), int16(inner.frame.data, SIZE + 2)
    spec = inner.catalog.find(api_key, "request", version)
    bad = size_fault(inner.frame.data)
    if spec is None or bad is not None or api_key == ENVELOPE:
        return None
    found = inner.request(codec_in(inner.catalog, spec.name, version))
    if isinstance(found, Request) and request.correlation_id is not None:
        connection.forward(request.correlation_id, found.header)
    return found


def inside_response(response: Response[Any], connection: DecodedConnection, reading: FrameReading) -> Inside:
    """Return the nested payload of a response; None for an envelope whose request is unknown."""
    if response.codec.spec.api_key == SASL_AUTHENTICATE:
        return read_token(response.message.auth_bytes, connection.mechanism, from_client=False)
    if response.codec.spec.api_key != ENVELOPE or response.correlation_id is None:
        return None
    asked = connection.forwarded(response.correlation_id)
    if asked is None or response.message.response_data is None:
        return None
    inner = _inner(response.message.response_data, response, reading)
    spec = inner.catalog.find(asked.request_api_key, "response", asked.request_api_version)
    if spec is None or size_fault(inner.frame.data) is not None:
        return None
    return inner.response(codec_in(inner.catalog, spec.name, asked.request_api_version), asked)


def token_of(reading: FrameReading, connection: DecodedConnection, from_client: bool) -> Token:
    """Parse a frame as a token without a header."""
    data = reading.frame.data
    spans = token_spans(data) if reading.trace else ()
    content = read_token(data[SIZE:], connection.mechanism, from_client)
    return Token(frame=reading.frame, content=content, from_client=from_client, spans=spans, client=connection.client)


def _inner(data: bytes, outer: Request | Response, reading: FrameReading) -> FrameReading:
    source = replace(outer.frame.source, offset=None)
    frame = Frame(len(data).to_bytes(SIZE, "big") + data, source)
    return FrameReading(frame, reading.catalog, salvage=reading.salvage, trace=reading.trace)


class FrameDecoder:
    """Decodes the frames of any number of connections, each frame in the order of its connection.

    Args:
        catalog: the specs to use; by default those of Kafka's releases.
        salvage: report what Kafka tolerates as faults; otherwise such frames are undecodable.
        trace: fill the `spans` of results.
        answers: the codec for a response that answers no earlier request.

    Attributes:
        connections: the state of each connection.

    >>> import kwire
    >>> decoder = kwire.FrameDecoder()
    >>> request, response = map(decoder.decode, kwire.read_dump("fixtures/dumps/kafka-4.4-metadata.bin"))
    >>> request.api_name, len(request.message.topics), len(response.message.brokers)
    ('Metadata', 1, 3)
    """

    def __init__(
        self,
        catalog: Catalog | None = None,
        *,
        salvage: bool = True,
        trace: bool = False,
        answers: Codec | None = None,
    ) -> None:
        self.catalog: Catalog = catalog or catalog_for()
        self.salvage: bool = salvage
        self.trace: bool = trace
        self.answers: Codec[Any] | None = answers
        self.connections: Connections[DecodedConnection] = Connections(Apis(self.catalog), self._begin)

    def decode(self, frame: Frame) -> Result:
        """Decode one frame. Invalid bytes never raise an error.

        Undecodable bytes become an `Undecodable`, a SASL token a `Token`.
        """
        if not isinstance(frame, Frame):
            advice = "; kwire.FrameReader().feed(data) splits bytes into frames" if isinstance(frame, bytes) else ""
            raise TypeError(f"a Frame is needed, not {type(frame).__name__}{advice}")
        return self.result(frame, *self.connections.receive(frame))

    def result(self, frame: Frame, connection: DecodedConnection, header: Header, second: float = 1) -> Result:
        """Decode a frame whose header was already read.

        Args:
            frame: the frame.
            connection: the connection of the frame.
            header: the header of the frame, from the connection's `receive` or `pair`.
            second: the length of a second in the time unit of headers.
        """
        if header.is_request and frame.source.direction == "response" and frame.message is None:
            header = header.answer(None)
        catalog = catalog_for(frame.profile) if frame.profile else self.catalog
        reading = FrameReading(frame, catalog, salvage=self.salvage, trace=self.trace, client=connection.client)
        if header.problem == "token":
            return token_of(reading, connection, bool(header.is_request))
        result = self._read(reading, connection, header, second)
        if not isinstance(result, Undecodable):
            return result
        error = _cut_or(frame, result.error)
        return replace(result, error=error, client=connection.client, is_private=connection.authenticating)

    def decode_wanted(self, frame: Frame, wanted: Wanted) -> Result | None:
        """Decode one frame if it is selected; otherwise return None.

        The body of an excluded frame is read only if later frames depend on it.

        Args:
            frame: the frame.
            wanted: called with the frame's header, returns whether to decode it; a frame with an invalid header is
                always decoded.
        """
        connection, header = self.connections.receive(frame)
        found = peek_of(frame, header, self.connections.apis)
        if found.is_request is None or wanted(found):
            return self.result(frame, connection, header)
        if found.api_key in AFFECTS_OTHERS:
            self.result(frame, connection, header)
        elif found.is_request:
            connection.meet(found.api_key, found.client_id)
        return None

    def decode_alone(self, frame: Frame) -> Result:
        """Decode a frame as the only one of its connection."""
        direction, connection = frame.source.direction, self._begin(self.connections.apis)
        from_client = None if direction is None else direction == "request"
        return self.result(frame, connection, connection.receive(frame.data, from_client, None, frame.fault))

    def _begin(self, apis: Apis) -> DecodedConnection:
        connection, codec = DecodedConnection(apis), self.answers
        if codec is not None:
            api = Api(codec.spec.api_key, codec.version, codec.spec.api_name, self.catalog)
            api.response = codec
            connection.answers = Call(api, b"")
        return connection

    def _read(self, reading: FrameReading, connection: DecodedConnection, header: Header, second: float) -> Result:
        frame = reading.frame
        if frame.fault is not None and not isinstance(frame.fault, CutShort):
            return reading.undecodable(frame.fault)
        is_named = frame.message is not None and frame.version is not None
        codec = codec_in(reading.catalog, frame.message, frame.version) if is_named else header.codec  # type: ignore[arg-type]
        if frame.bare and codec is not None:
            return reading.body(codec)
        if codec is None or size_fault(frame.data) is not None:
            return unread(reading, connection, header)
        if header.is_request:
            return _request(reading, connection, header, codec)
        return _response(reading, connection, header, codec, second)


def _request(reading: FrameReading, connection: DecodedConnection, header: Header, codec: Codec) -> Result:
    result = reading.request(codec)
    force_setattr(header, "decoded", result.header)
    if isinstance(result, Undecodable):
        return result
    assert isinstance(result, Request)
    software = software_of(result.message) if codec.spec.api_key == API_VERSIONS else ""
    connection.meet(codec.spec.api_key, getattr(result.header, "client_id", None), software)
    inside, client = inside_request(result, connection, reading), connection.client
    return result if inside is None and client == result.client else replace(result, client=client, inside=inside)


def _response(
    reading: FrameReading, connection: DecodedConnection, header: Header, codec: Codec, second: float
) -> Result:
    """Decode a response and its nested payload."""
    request = header.request
    if request is None:
        result = reading.response(codec)
    else:
        asked_at = None if request.time is None else request.time / second
        result = reading.response(codec, request.message, asked_at, request.frame)
    if isinstance(result, Undecodable):
        return result
    inside = inside_response(result, connection, reading)
    if inside is None and not header.overtaken:
        return result
    return replace(result, inside=inside, unanswered=tuple(one.message for one in header.overtaken))


def unread(reading: FrameReading, connection: Connection, header: Header) -> Result:
    """Return the reason why a frame is neither a request of a known api nor the response to one."""
    data, direction = reading.frame.data, reading.frame.source.direction
    if (bad := size_fault(data)) is not None:
        return reading.undecodable(bad)
    if header.request is not None:
        return reading.undecodable(UnknownApi(offset=4, found=header.request.api_key))
    if direction == "response":
        return reading.undecodable(connection.unexpected(int32(data, 4)))
    found = _codec_of_request(reading)
    may_be_answer = connection.in_flight and direction is None
    if isinstance(found, Codec):
        result = reading.request(found)
        if result.header is not None or not may_be_answer:
            return result  # usually its header does not decode
        found = connection.unexpected(int32(data, 4))  # no request starts like this: it is a response without a request
    reader, message = reading.reader(), None
    try:
        message = reading.header(reader, "RequestHeader", 1)
        force_setattr(header, "decoded", message)
    except DecodeError:
        truncated = cut_short(data) if reading.frame.fault is not None else None  # possibly a token
        found = connection.unexpected(int32(data, 4)) if may_be_answer else truncated or found
        reader = reading.reader()
    found.rest = data[found.offset :]
    return reading.undecodable(found, reader, message)


def _codec_of_request(reading: FrameReading) -> Codec | DecodeError:
    """Return the codec that the header of a request names, or the error if there is none."""
    api_key, version = int16(reading.frame.data, 4), int16(reading.frame.data, 6)
    spec = reading.catalog.find(api_key, "request", version)
    if spec is not None:
        return codec_in(reading.catalog, spec.name, version)
    known = reading.catalog.find(api_key, "request")
    if known is None:
        return UnknownApi(offset=4, found=api_key)
    return UnknownVersion(offset=6, found=(known.name, version, str(known.versions)))


def _cut_or(frame: Frame, error: DecodeError) -> DecodeError:
    """Return the error of truncation if the frame is truncated; else the given error."""
    cut = frame.fault if isinstance(frame.fault, CutShort) else None if frame.bare else cut_short(frame.data)
    if cut is None or error is cut or not isinstance(error, Truncated | UnexpectedResponse):
        return error
    names = "offset", "segments", "message", "version", "partial", "rest", "faults"
    facts: dict[str, Any] = {name: getattr(error, name) for name in names}
    return CutShort(need=cut.need, have=cut.have, cause=cut.cause, **facts)


def decode_frames(
    frames: Iterable[Frame],
    catalog: Catalog | None = None,
    *,
    salvage: bool = True,
    trace: bool = False,
    wanted: Wanted | None = None,
) -> Iterator[Result]:
    """Decode frames in order.

    Args:
        frames: the frames, for example from `kwire.read_dump`; requests and responses may be mixed.
        catalog, salvage, trace: as for `FrameDecoder`.
        wanted: called with each header, returns whether to decode the frame; by default all frames are decoded. Bodies
            of other frames are not read, unless later frames depend on them: ApiVersions, SASL, Envelope.

    Returns:
        An iterator with a `Request`, `Response`, `Token` (a SASL token without a header, after SaslHandshake v0) or
        `Undecodable` for each wanted frame, in order, and for each frame with an invalid header. Unlike `Codec.decode`
        and `decode_request`, this function salvages by default, because it is meant for captures.

    Raises:
        TypeError: `frames` are no frames.

    >>> import kwire
    >>> frames = kwire.read_dump("fixtures/dumps/kafka-3.9-zk.bin")
    >>> [result.codec.name for result in decode_frames(frames, wanted=lambda peek: peek.api_key == 3)]
    ['MetadataRequest', 'MetadataResponse']
    """
    if isinstance(frames, str | os.PathLike):
        raise TypeError("frames are needed, not a path; kwire.read_dump(path) reads those of a file")
    if isinstance(frames, bytes | bytearray | memoryview):
        raise TypeError("frames are needed, not bytes; kwire.FrameReader().feed(data) splits bytes into frames")
    if isinstance(frames, Frame) or not isinstance(frames, Iterable):
        raise TypeError(f"an iterable of frames is needed, not {type(frames).__name__}")
    decoder = FrameDecoder(catalog, salvage=salvage, trace=trace)
    if wanted is None:
        return map(decoder.decode, frames)
    results = (decoder.decode_wanted(frame, wanted) for frame in frames)
    return (result for result in results if result is not None)


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
    decoder = FrameDecoder(catalog, salvage=salvage, trace=trace)
    request: Request = _decoded(decoder.decode(Frame(bytes_of(data), Source(direction="request"))))
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
    codec = answers.codec if isinstance(answers, Request) else answers
    if not isinstance(codec, Codec) or codec.spec.type not in ("request", "response"):
        raise TypeError(f"a Request, or the codec of a request or response is needed, not {answers!r}"[:300])
    asked = answers.header if isinstance(answers, Request) else None  # it decides, by its correlation id too
    response_codec = None if asked is not None else _answer_of(codec, catalog or catalog_for())
    decoder = FrameDecoder(catalog, salvage=salvage, trace=trace, answers=response_codec)
    if asked is not None:
        connection = decoder.connections.on((None, None))
        api = connection.apis.unknown(asked.request_api_key, asked.request_api_version)
        connection.in_flight.append(Header(True, Call(api, b""), asked.correlation_id, decoded=asked))
    response: Response[Any] = _decoded(decoder.decode(Frame(bytes_of(data), Source(direction="response"))))
    return response


def _answer_of(codec: Codec, catalog: Catalog) -> Codec:
    """Return the codec of the response, given the codec of the request or of the response."""
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
