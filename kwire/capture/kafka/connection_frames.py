"""Extracts the frames of a captured Kafka connection, each request before its response.

Tracks requests in flight as far as the recognition of frames needs them, and SASL tokens without a header. Does not
decode messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from struct import Struct
from typing import TYPE_CHECKING, Any

from ...codecs.native import AVAILABLE, ConversationState
from ...errors import DecodeError
from ...protocol import FrameReader, cut_short
from ...protocol.frames.captured_frame import CapturedFrame, first_numbers
from ...protocol.frames.stream_faults import BareToken, BegunBefore, CutShort, Fragment, NoFrame, PassedOver
from ...protocol.frames.stream_faults import Gap as GapFault
from ..tcp.connection import Portion, StreamGap, TcpConnection, Unseen
from .captured_frames import TcpEnds
from .frame_recognition import (
    FAR,
    NO,
    RESERVED_IDS,
    SHORT,
    AwaitedResponses,
    FrameRecogniser,
    FrameVerdict,
    requests_pattern,
)
from .frame_search import FrameSearch
from .frame_splitter import FrameSplitter, StreamCut

if TYPE_CHECKING or AVAILABLE:
    from ...codecs.native import GapSplitter, use_stream_faults

SASL_HANDSHAKE_0 = b"\x00\x11\x00\x00"  # api key 17, version 0: the next frames have no header (KIP-43, until KIP-152)
TOKEN = (0, None)
EMPTY = bytes(4)  # the empty response that only SASL tokens have
IN_FLIGHT = 1024  # maximum number of requests in flight that are stored
NOTHING = AwaitedResponses()
_INT, _INTS = Struct(">i").unpack_from, Struct(">ii").unpack_from
LOOKED_AT = 64  # number of requests in flight among which the request of a response is searched

if AVAILABLE:
    use_stream_faults(cut_short, CutShort, BegunBefore, GapFault, Fragment, PassedOver)


class _GeneralState:
    """State that only the general path needs.

    Attributes:
        awaited: the possible responses, for a search for the next response.
        is_lossy: whether requests are missing.
        directions: the frame extractors of responses and of requests.
    """

    def __init__(self) -> None:
        self.awaited: AwaitedResponses = NOTHING
        self.is_lossy: bool = False
        self.directions: list[FrameSplitter | GapSplitter | None] = [None, None]


class KafkaConnection(ConversationState):
    """A connection that was identified as Kafka's, with known client and broker sides.

    The native fast path records most requests and responses itself (`ConversationState`).

    Args:
        recogniser: checks whether bytes are a frame.
        client: the side that sends requests.
        head: api key, version and correlation id of the first request found.
    """

    __slots__ = ()
    reader = FrameReader
    ends_class = TcpEnds
    recogniser: FrameRecogniser
    connection: TcpConnection
    ends: TcpEnds
    readers: tuple[FrameReader, FrameReader]  # one for responses, one for requests
    general: _GeneralState | None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the state from which another process continues."""
        facts = self.recogniser, self.connection, self.client, self.ends, self.readers, self.tokens, self.client_id
        return type(self), (), (*facts, self.general, self.newest, self.answered, self.expected(IN_FLIGHT), self.apis)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.recogniser, self.connection, client, self.ends, self.readers, *others = state
        self.client: int = client
        self.tokens, self.client_id, self.general, self.newest, self.answered, in_flight, apis = others
        for api, correlation_id in in_flight:
            self.expect(api, correlation_id)
        for api_number in apis:
            self.add_api(int.from_bytes(api_number, "big", signed=True))

    @property
    def _general(self) -> _GeneralState:
        if self.general is None:
            self.general = _GeneralState()
        return self.general

    def begin_late(self, requests: int, responses: int) -> None:
        """Start in the middle of the connection, at these stream offsets."""
        self._splitter(True).begin_at(requests)
        self._splitter(False).begin_at(responses)

    @property
    def buffered(self) -> int:
        """The number of bytes that are buffered until more bytes arrive."""
        return sum(
            len(reader) if direction is None else direction.buffered
            for reader, direction in zip(self.readers, self._general.directions, strict=True)
        )

    @property
    def is_at_frames(self) -> bool:
        """Whether the next bytes of both directions are known to start frames."""
        directions = self._general.directions
        return not self.buffered and all(direction is None or direction.synced for direction in directions)

    def continue_with(self, apis: Iterable[int], *, is_lossy: bool) -> None:
        """Continue a connection that started earlier and has used these apis."""
        for api in apis:
            self.add_api(api)
        self._general.is_lossy = is_lossy

    def _splitter(self, is_request: bool) -> FrameSplitter | GapSplitter:
        """Return the frame extractor of requests or of responses."""
        direction = self._general.directions[is_request]
        if direction is None:
            direction = self._general.directions[is_request] = self._create_splitter(is_request)
        return direction

    def _create_splitter(self, is_request: bool) -> FrameSplitter | GapSplitter:
        if self.recogniser.is_native:
            return GapSplitter(self, is_request)
        return FrameSplitter(self._search_request if is_request else self._search_response, self.readers[is_request])

    def feed(self, event: Portion | StreamGap | Unseen) -> list[CapturedFrame]:
        """Process the next data of one side, or a gap."""
        is_request = event.side == self.client
        if is_request and not isinstance(event, Portion):
            self._general.is_lossy = True
        if isinstance(event, Unseen):  # requests were lost; the next responses may belong to them
            if not is_request:
                return []
            return [CapturedFrame(self.ends, True, event.offset, event.nanoseconds, b"", GapFault())]
        direction = self._splitter(is_request)
        if isinstance(event, Portion):
            if not direction.synced:
                self._prepare(len(event.data))
            elif not direction.buffered and direction.reader.offset != event.offset:
                direction.reader.restart(event.offset)  # the connection goes on after its end, or begins late
            cuts = direction.feed(event.data)
        else:
            self._prepare(direction.buffered)
            cuts = direction.gap(event.offset, event.count)
        return self._note_cuts(cuts, is_request, event.nanoseconds) if cuts else []

    def stop(self, now: int | None, cause: str) -> list[CapturedFrame]:
        """Return the buffered bytes, because the rest will not arrive; `cause` is the reason."""
        self._prepare(self.buffered)
        requests = self._splitter(True).stop(cause)
        responses = self._splitter(False).stop(cause)
        return self._note_cuts(requests, True, now) + self._note_cuts(responses, False, now)

    def _note_cuts(self, cuts: list[StreamCut], is_request: bool, now: int | None) -> list[CapturedFrame]:
        """Update the requests in flight from frames and fragments, and name their fault where these identify it."""
        captured: list[CapturedFrame] = []
        note = self.note_request if is_request else self.note_response
        for offset, data, fault in cuts:
            first, second = first_numbers(data) if fault is None else (None, 0)
            if fault is None or isinstance(fault, CutShort):
                token: DecodeError | None = note(data)
                fault = fault or token
            elif data == EMPTY and not is_request and isinstance(fault, Fragment | PassedOver):
                fault = self._note_empty_response(fault)
            captured.append(CapturedFrame(self.ends, is_request, offset, now, data, fault, first, second))
        return captured

    def note_request(self, data: bytes) -> NoFrame | None:
        """Add a request to the requests in flight."""
        if self.tokens and self._is_token(data):
            self.expect(*TOKEN)
            return BareToken(len(data))
        if len(data) < 12:
            self.tokens: bool = False
            return None
        api, correlation_id = _INTS(data, 4)  # also present in truncated frames
        self._note_api(data, api)
        self.expect(api, correlation_id)
        if 0 <= correlation_id < RESERVED_IDS:
            self.newest = correlation_id
        return None

    def _note_api(self, data: bytes, api: int) -> None:
        """Record the data of a request, besides its correlation id, that frame detection needs."""
        self.tokens = data[4:8] == SASL_HANDSHAKE_0
        if self.tokens:
            self.readers[False].least = 0  # the response to a SASL token may be empty
        if self.client_id is None and len(data) > 14:
            self.client_id = data[12 : 14 + int.from_bytes(data[12:14], "big")]
        self.add_api(api)

    def note_response(self, data: bytes) -> NoFrame | None:
        """Remove the request that a response answers, and all requests sent before it, from the requests in flight."""
        correlation_id = _INT(data, 4)[0] if len(data) >= 8 else None
        expected = self.expected(1)
        if expected and expected[0][1] == correlation_id is not None:
            self.settle(1)
        elif self._note_overtaking_response(correlation_id):
            return BareToken(len(data))
        if correlation_id is not None and 0 <= correlation_id < RESERVED_IDS:
            self.answered = correlation_id
        return None

    def _note_empty_response(self, fault: NoFrame) -> NoFrame:
        """Record an empty response outside of a frame, after lost bytes: the response to a SASL token, which may be
        lost.
        """
        expected = self.expected(IN_FLIGHT)
        if TOKEN in expected:
            self.settle(expected.index(TOKEN) + 1)
            return BareToken(len(EMPTY))
        return Fragment(len(EMPTY)) if self._general.is_lossy else fault

    def _note_overtaking_response(self, correlation_id: int | None) -> bool:
        """Record a response that does not answer the oldest request in flight.

        Return whether it answers a SASL token.
        """
        position = -1 if correlation_id is None else self.position_of(correlation_id)
        if position >= 0:
            self.settle(position + 1)
            return False
        token = self.expected(1) == [TOKEN]
        if (token or self.tokens) and not self._may_follow_newest(correlation_id):
            self.settle(int(token))
            return True
        return False

    def _may_follow_newest(self, correlation_id: int | None) -> bool:
        """Whether a lost request may have had this correlation id."""
        if correlation_id is None or self.newest is None:
            return False
        return 0 < (correlation_id & 0xFFFFFFFF) - self.newest < FAR

    def _is_token(self, data: bytes) -> bool:
        """Whether the bytes are a SASL token (after SaslHandshake v0) and not a request."""
        looks = self.recogniser.header(data)
        whole = len(data) == 4 + int.from_bytes(data[:4], "big")
        return looks == NO or (looks == SHORT and whole)

    def _prepare(self, count: int) -> None:
        """Prepare a search of `count` bytes."""
        self.recogniser.allow(count)
        if not self.recogniser.is_native:  # the engine reads the requests in flight itself
            self._note_awaited()

    def _note_awaited(self) -> None:
        apis_by_id: dict[bytes, list[bytes]] = {}
        for api, awaited in self.expected(LOOKED_AT):
            if awaited is not None:
                apis_by_id.setdefault(_encode_int32(awaited), []).append(_encode_int32(api))
        self._general.awaited = AwaitedResponses(apis_by_id, self.apis, self.answered, self.newest)

    def _search_request(self) -> FrameSearch:
        return FrameSearch(requests_pattern, self._judge_request)

    def _judge_request(self, data: bytearray, position: int, packets: Set[int]) -> FrameVerdict:
        return self.recogniser.judge_request(data, position, packets, self.client_id)

    def _search_response(self) -> FrameSearch:
        self._note_awaited()  # an impossible size begins a search that was not prepared
        return FrameSearch(self._response_pattern, self._judge_response)

    def _response_pattern(self) -> re.Pattern[bytes]:
        return self._general.awaited.pattern

    def _judge_response(self, data: bytearray, position: int, packets: Set[int]) -> FrameVerdict:
        return self.recogniser.judge_response(data, position, packets, self._general.awaited)


def _encode_int32(number: int) -> bytes:
    return number.to_bytes(4, "big", signed=True)
