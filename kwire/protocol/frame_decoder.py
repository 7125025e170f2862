"""Decodes frames to requests and responses; reads only the headers of frames that a filter excludes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec.structs import force_setattr, replace

from ..codecs.fast_path import REFUSALS
from ..codecs.message_codec import Codec, codec_in
from ..errors import DecodeError, Truncated, UnexpectedResponse, UnknownApi, UnknownVersion
from ..schema.catalog import Catalog, catalog_for
from .connections.connection import Connection
from .connections.connection_table import Connections
from .connections.decoded_connection import DecodedConnection
from .frame_parser import FrameParser
from .frames.frame import Frame
from .frames.frame_size import get_int16, get_int32
from .frames.size_faults import cut_short, size_fault
from .frames.stream_faults import CutShort
from .header_reader import Peek, peek_of
from .headers.api_versions_downgrade import API_VERSIONS
from .headers.apis import ENVELOPE, Api, Apis, Call
from .headers.header import Header
from .message_summary import software_of
from .nested_payloads import decode_inside_request, decode_inside_response, parse_token
from .results import Request, Response, Result, Undecodable

AFFECTS_OTHERS = frozenset((API_VERSIONS, ENVELOPE))  # client software; nested requests
Wanted = Callable[[Peek], bool]


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
        if not (self.trace or header.problem or frame.profile or frame.message or frame.fault):
            plain = _decode_plain(frame, connection, header, second)
            if plain is not None:
                return plain
        catalog = catalog_for(frame.profile) if frame.profile else self.catalog
        reading = FrameParser(frame, catalog, salvage=self.salvage, trace=self.trace, client=connection.client)
        if header.problem == "token":
            return parse_token(reading, connection, bool(header.is_request))
        result = self._read(reading, connection, header, second)
        if not isinstance(result, Undecodable):
            return result
        error = _prefer_truncation(frame, result.error)
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
        peeked = peek_of(frame, header, self.connections.apis)
        if peeked.is_request is None or wanted(peeked):
            return self.result(frame, connection, header)
        if peeked.api_key in AFFECTS_OTHERS:
            self.result(frame, connection, header)
        elif peeked.is_request:
            connection.meet(peeked.api_key, peeked.client_id)
        return None

    def decode_alone(self, frame: Frame) -> Result:
        """Decode a frame as the only one of its connection."""
        direction = frame.source.direction
        connection = self._begin(self.connections.apis)
        from_client = None if direction is None else direction == "request"
        return self.result(frame, connection, connection.receive(frame.data, from_client, None, frame.fault))

    def _begin(self, apis: Apis) -> DecodedConnection:
        connection = DecodedConnection(apis)
        codec = self.answers
        if codec is not None:
            api = Api(codec.spec.api_key, codec.version, codec.spec.api_name, self.catalog)
            api.response = codec
            connection.answers = Call(api, b"")
        return connection

    def _read(self, reading: FrameParser, connection: DecodedConnection, header: Header, second: float) -> Result:
        frame = reading.frame
        if frame.fault is not None and not isinstance(frame.fault, CutShort):
            return reading.undecodable(frame.fault)
        is_named = frame.message is not None and frame.version is not None
        codec = codec_in(reading.catalog, frame.message, frame.version) if is_named else header.codec  # type: ignore[arg-type]
        if frame.bare and codec is not None:
            return reading.body(codec)
        if codec is None or size_fault(frame.data) is not None:
            return explain_unread(reading, connection, header)
        if header.is_request:
            return _decode_request(reading, connection, header, codec)
        return _decode_response(reading, connection, header, codec, second)


def _decode_plain(frame: Frame, connection: DecodedConnection, header: Header, second: float) -> Result | None:
    """Decode a frame in one call; return None if it must be decoded in parts, which also explains its faults."""
    call = header.call
    if call is None:
        return None
    api = call.api
    codec = api.request if header.is_request else api.response
    table = api.request_frame if header.is_request else api.response_frame
    if codec is None or table is None:
        return None
    request = header.request
    try:
        if header.is_request:
            head, message = table.read(frame.data)
            force_setattr(header, "decoded", head)
            connection.meet(api.key, getattr(head, "client_id", None))
            return Request(
                frame=frame,
                codec=codec,
                message=message,
                header=head,
                correlation_id=header.correlation_id,
                client=connection.client,
            )
        if request is None or header.overtaken:
            return None
        head, message = table.read(frame.data)
    except REFUSALS:
        return None
    return Response(
        frame=frame,
        codec=codec,
        message=message,
        header=head,
        correlation_id=header.correlation_id,
        client=connection.client,
        request=request.message,
        asked_at=None if request.time is None else request.time / second,
        request_frame=request.frame,
    )


def _decode_request(reading: FrameParser, connection: DecodedConnection, header: Header, codec: Codec) -> Result:
    result = reading.request(codec)
    force_setattr(header, "decoded", result.header)
    if isinstance(result, Undecodable):
        return result
    assert isinstance(result, Request)
    software = software_of(result.message) if codec.spec.api_key == API_VERSIONS else ""
    connection.meet(codec.spec.api_key, getattr(result.header, "client_id", None), software)
    inside = decode_inside_request(result, connection, reading)
    client = connection.client
    return result if inside is None and client == result.client else replace(result, client=client, inside=inside)


def _decode_response(
    reading: FrameParser, connection: DecodedConnection, header: Header, codec: Codec, second: float
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
    inside = decode_inside_response(result, connection, reading)
    if inside is None and not header.overtaken:
        return result
    return replace(result, inside=inside, unanswered=tuple(overtaken.message for overtaken in header.overtaken))


def explain_unread(reading: FrameParser, connection: Connection, header: Header) -> Result:
    """Return the reason why a frame is neither a request of a known api nor the response to one."""
    data = reading.frame.data
    direction = reading.frame.source.direction
    if (bad := size_fault(data)) is not None:
        return reading.undecodable(bad)
    if header.request is not None:
        return reading.undecodable(UnknownApi(offset=4, found=header.request.api_key))
    if direction == "response":
        return reading.undecodable(connection.unexpected(get_int32(data, 4)))
    may_be_answer = connection.in_flight and direction is None
    codec = _codec_of_request(reading)
    if isinstance(codec, Codec):
        result = reading.request(codec)
        if result.header is not None or not may_be_answer:
            return result  # usually its header does not decode
        # No request starts like this: it is a response without a request.
        error: DecodeError = connection.unexpected(get_int32(data, 4))
    else:
        error = codec
    reader = reading.reader()
    message = None
    try:
        message = reading.header(reader, "RequestHeader", 1)
        force_setattr(header, "decoded", message)
    except DecodeError:
        truncated = cut_short(data) if reading.frame.fault is not None else None  # possibly a token
        error = connection.unexpected(get_int32(data, 4)) if may_be_answer else truncated or error
        reader = reading.reader()
    error.rest = data[error.offset :]
    return reading.undecodable(error, reader, message)


def _codec_of_request(reading: FrameParser) -> Codec | DecodeError:
    """Return the codec that the header of a request names, or the error if there is none."""
    api_key = get_int16(reading.frame.data, 4)
    version = get_int16(reading.frame.data, 6)
    spec = reading.catalog.find(api_key, "request", version)
    if spec is not None:
        return codec_in(reading.catalog, spec.name, version)
    known = reading.catalog.find(api_key, "request")
    if known is None:
        return UnknownApi(offset=4, found=api_key)
    return UnknownVersion(offset=6, found=(known.name, version, str(reading.catalog.versions_of(known))))


def _prefer_truncation(frame: Frame, error: DecodeError) -> DecodeError:
    """Return the error of truncation if the frame is truncated; else the given error."""
    if isinstance(frame.fault, CutShort):
        cut: CutShort | None = frame.fault
    elif frame.bare:
        cut = None
    else:
        cut = cut_short(frame.data)
    if cut is None or error is cut or not isinstance(error, Truncated | UnexpectedResponse):
        return error
    names = "offset", "segments", "message", "version", "partial", "rest", "faults"
    facts: dict[str, Any] = {name: getattr(error, name) for name in names}
    return type(cut)(need=cut.need, have=cut.have, cause=cut.cause, **facts)


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
