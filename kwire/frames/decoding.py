"""Frames to requests and responses, by their content: header, known api, and whom they answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..catalog import Catalog, catalog_for
from ..codecs import Codec, codec_in
from ..errors import DecodeError
from ..faults import Truncated, UnexpectedResponse, UnknownApi, UnknownVersion
from ..headers import header_version_for
from ..wire import Reader
from .cutting import Frame, cut_short, int16, int32, size_fault
from .inside import inside_request, inside_response, token_of
from .pieces import BareToken, CutShort, loses, unexpected_response
from .reading import FrameReading
from .results import Request, Response, Result, Undecodable
from .talk import Talk


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
        self._talks: dict[object, Talk] = {}

    def decode(self, frame: Frame) -> Result:
        """Decode one frame. Never raises for what the bytes are; see `Undecodable`. A SASL token may be a `Token`."""
        return _Attempt(self, frame, self._talk_of(frame)).decode()

    def pass_over(self, frame: Frame, is_request: bool) -> bool:
        """Take note of a frame by its header alone; False if that cannot be read, or the frame is not to be paired.

        Args:
            frame: one that has nothing to do with SASL, ApiVersions or Envelope, and is answered if it is a request.
            is_request: which it is, as `HeaderReader` says.
        """
        talk = self._talk_of(frame)
        if frame.fault is not None or frame.message is not None:
            return False
        if is_request:
            return self._hear(frame, talk)
        asked = talk.waiting.find(int32(frame.data, 4))
        if asked is not None:
            talk.waiting.settle(asked)
        return asked is not None

    def _hear(self, frame: Frame, talk: Talk) -> bool:
        """Note a request without a look at its body; False if its header cannot be read."""
        spec = self.catalog.find(int16(frame.data, 4), "request", version := int16(frame.data, 6))
        header_version = None if spec is None else header_version_for(spec, version)
        if spec is None or header_version is None:
            return False
        reader = Reader(frame.data, 4, salvage=self.salvage)
        try:
            header = codec_in(self.catalog, "RequestHeader", header_version).read(reader)
        except DecodeError:
            return False
        talk.hear(header, spec.api_key, awaits=True)
        return True

    def _talk_of(self, frame: Frame) -> Talk:
        for number in frame.closed:
            self.forget(number)
        source = frame.source
        return self.talk_on((source.client, source.broker) if source.connection is None else source.connection)

    def talk_on(self, connection: object) -> Talk:
        """Return what is known of a connection, which begins if it is new."""
        talk = self._talks.get(connection)
        if talk is None:
            talk = self._talks[connection] = Talk()
        return talk

    def forget(self, connection: object) -> None:
        """Take note that a connection has ended."""
        self._talks.pop(connection, None)


class _Attempt:
    """One frame being decoded."""

    def __init__(self, decoder: FrameDecoder, frame: Frame, talk: Talk) -> None:
        self.frame, self.talk, self.waiting, self.answers = frame, talk, talk.waiting, decoder.answers
        self.catalog = catalog_for(frame.profile) if frame.profile else decoder.catalog
        self.reading = FrameReading(
            frame, self.catalog, salvage=decoder.salvage, trace=decoder.trace, client=talk.client
        )

    def decode(self) -> Result:
        frame, talk = self.frame, self.talk
        if isinstance(frame.fault, BareToken):
            return self.token()
        was_private, bare = talk.authenticating, talk.bare
        talk.lossy |= loses(frame.fault)
        result = self.result()
        if not isinstance(result, Undecodable):
            return result
        if bare and frame.fault is None and len(frame.data) == 4 + int32(frame.data, 0):
            return self.token()
        is_private = was_private or talk.authenticating
        return replace(result, error=self.cut_or(result.error), client=talk.client, is_private=is_private)

    def cut_or(self, error: DecodeError) -> DecodeError:
        """Say that the frame is cut short, if that is why it does not decode; else return the error as it is."""
        frame = self.frame
        cut = frame.fault if isinstance(frame.fault, CutShort) else None if frame.bare else cut_short(frame.data)
        if cut is None or error is cut or not isinstance(error, Truncated | UnexpectedResponse):
            return error
        names = "offset", "segments", "message", "version", "partial", "rest", "faults"
        facts = {name: getattr(error, name) for name in names}
        return CutShort(need=cut.need, have=cut.have, cause=cut.cause, **facts)

    def result(self) -> Result:
        """Decode the frame as what it is said to be, or as what its content says."""
        frame, reading = self.frame, self.reading
        if frame.fault is not None and not isinstance(frame.fault, CutShort):
            return reading.undecodable(frame.fault)
        if frame.bare:
            assert frame.message is not None and frame.version is not None
            return reading.body(codec_in(self.catalog, frame.message, frame.version))
        if (bad := size_fault(frame.data)) is not None:
            return reading.undecodable(bad)
        if frame.message is not None and frame.version is not None:
            codec = codec_in(self.catalog, frame.message, frame.version)
            return self.request(codec) if codec.spec.type == "request" else self.named(codec)
        if frame.source.direction is None:
            return self.by_content()
        return self.by_header() if frame.source.direction == "request" else self.by_request()

    def token(self) -> Result:
        """Decode a token; where nothing says who sent it, client and broker take turns."""
        direction = self.frame.source.direction
        from_client = self.talk.tokens % 2 == 0 if direction is None else direction == "request"
        self.talk.tokens += 1
        return token_of(self.reading, self.talk, from_client)

    def by_header(self) -> Result:
        """Decode what a client sent."""
        codec = self.codec_of_request()
        result = self.request(codec) if isinstance(codec, Codec) else self.unknown(codec)
        if isinstance(result, Undecodable):
            self.talk.expect(result.header, None)
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
        if self.answers is not None:
            return self.opened(self.response(self.answers))
        return self.reading.undecodable(self.unexpected())

    def by_content(self) -> Result:
        """Tell requests from responses: the answer awaited next, or said to be; a request; an answer awaited later."""
        wanted = self.waiting.find(int32(self.frame.data, 4))
        is_next = wanted is not None and self.waiting.next_is(wanted.correlation_id)
        answered = self.answer(wanted) if is_next else None
        if not isinstance(answered, Response) and self.answers is not None:
            answered = self.opened(self.response(self.answers))
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
            self.talk.expect(result.header, None)
        elif result.codec is not None and self.waiting.next_is(int32(self.frame.data, 4)):
            self.waiting.complete(int32(self.frame.data, 4))
        return result

    def unknown(self, codec: Codec | DecodeError) -> Undecodable:
        """Say why a frame is neither a request nor an answer."""
        assert isinstance(codec, DecodeError)
        reader, header = self.reading.reader(), None
        try:
            header = self.reading.header(reader, "RequestHeader", 1)
        except DecodeError:
            if len(self.waiting) and self.frame.source.direction is None:
                codec = self.unexpected()  # no request begins like this, so it is an answer, to nobody
            reader = self.reading.reader()
        codec.rest = self.frame.data[codec.offset :]
        return self.reading.undecodable(codec, reader, header)

    def unexpected(self) -> UnexpectedResponse:
        return unexpected_response(int32(self.frame.data, 4), self.waiting.next_id, lossy=self.talk.lossy)

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
            return self.reading.undecodable(UnknownApi(offset=4, found=request.request_api_key))
        return self.response(codec_in(self.catalog, spec.name, request.request_api_version), request)

    def answered(self, request: Any, result: Response | Undecodable) -> Response | Undecodable:
        """Take out a request that waits no longer, and those that it has overtaken."""
        dropped = self.waiting.settle(request)
        result = self.opened(result)
        return replace(result, unanswered=tuple(dropped)) if dropped and isinstance(result, Response) else result

    def named(self, codec: Codec) -> Response | Undecodable:
        """Decode as a response that is said to be this one; a request in flight that asked for it waits no longer."""
        asked = self.waiting.find(int32(self.frame.data, 4))
        if asked is None or asked.request_api_key != codec.spec.api_key:
            return self.opened(self.response(codec))
        return self.answered(asked, self.response(codec, asked))

    def request(self, codec: Codec) -> Request | Undecodable:
        result = self.reading.request(codec)
        if isinstance(result, Undecodable):
            return result
        self.talk.asked(result)
        inside, client = inside_request(result, self.talk, self.reading), self.talk.client
        is_told = inside is None and client == result.client
        return result if is_told else replace(result, client=client, inside=inside)

    def response(self, codec: Codec, request: Any = None) -> Response | Undecodable:
        return self.reading.response(codec, request)

    def opened(self, result: Response | Undecodable) -> Response | Undecodable:
        """Add what an answer carries."""
        if isinstance(result, Undecodable):
            return result
        inside = inside_response(result, self.talk, self.reading)
        return result if inside is None else replace(result, inside=inside)


def _is_clean(result: Result) -> bool:
    return isinstance(result, Response) and not result.faults
