"""Extracts the frames of one Kafka connection of a capture, each request before its response.

Tracks the requests in flight as far as frame detection needs them, and SASL tokens without a header. Does not decode
messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from struct import Struct

from ..errors import DecodeError
from ..native.states import ConversationState, EndsState
from ..protocol import Frame, FrameReader
from ..protocol.fragments import BareToken, CutShort, Fragment, NoFrame, PassedOver
from ..protocol.fragments import Gap as GapFault
from ..protocol.framing import NOBODY, CapturedBatch, CapturedFrame, frame_of, numbers_of
from .frame_stream import Cut, Direction, Search
from .kafka_frame_detection import FAR, NO, REQUESTS, RESERVED_IDS, SHORT, Awaited, Recogniser, Verdict
from .link_layers import address_text, end_text
from .tcp_reassembly import Connection, Gap, Portion, Unseen


class TcpEnds(EndsState):
    """The endpoints of a connection, converted to text on request.

    Args:
        connection, key: number and key of the connection.
        side: the client's.
    """

    __slots__ = ()

    @property
    def client(self) -> str:
        """`ip:port` of the client."""
        return self._texts[self.side]

    @property
    def broker(self) -> str:
        """`ip:port` of the broker."""
        return self._texts[1 - self.side]

    @property
    def client_ip(self) -> str:
        """The address of the client."""
        size = (len(self.key) - 4) // 2
        return address_text(self.key[self.side * size : (1 + self.side) * size])

    @property
    def _texts(self) -> tuple[str, str]:
        if self.texts is None:
            self.texts = end_text(self.key, 0), end_text(self.key, 1)
        texts: tuple[str, str] = self.texts
        return texts


def note(fault: DecodeError, data: bytes = b"", offset: int = 0) -> CapturedFrame:
    """Create an item about the whole file, or about bytes of it at an offset."""
    return NOBODY, False, offset, None, data, fault, None, 0


def written(batches: Iterable[CapturedBatch], file: str) -> Iterator[Frame]:
    """Build frames from captured frames.

    Args:
        batches: the captured frames, in order.
        file: the name of the capture.
    """
    return (frame for frame, _ in timed(batches, file))


def timed(batches: Iterable[CapturedBatch], file: str) -> Iterator[tuple[Frame, int | None]]:
    """Build frames as `written` does, each with its exact time in nanoseconds since 1970."""
    count, closed = 0, list[int]()
    for batch in batches:
        for captured in batch:
            if type(captured) is not tuple:
                closed.append(captured)
                continue
            yield frame_of(captured, file, count, closed), captured[3]
            if captured[0] is not NOBODY:
                closed.clear()
            count += 1


SASL_HANDSHAKE_0 = b"\x00\x11\x00\x00"  # api key 17, version 0: what follows has no header
TOKEN = (0, None)
EMPTY = bytes(4)  # the empty response that only SASL tokens have
IN_FLIGHT = 1024  # most requests in flight that are remembered
NOTHING = Awaited()
_INT, _INTS = Struct(">i").unpack_from, Struct(">ii").unpack_from
LOOKED_AT = 64  # how many of them are searched for the request of a response


class _General:
    """What is known besides where the fast path does not do.

    Attributes:
        awaited: what responses may be, where one is searched for.
        is_lossy: whether requests are missing.
        directions: what cuts responses, and requests.
    """

    def __init__(self) -> None:
        self.awaited: Awaited = NOTHING
        self.is_lossy: bool = False
        self.directions: list[Direction | None] = [None, None]


class Conversation(ConversationState):
    """A connection that is known to be Kafka's, with known client and broker sides.

    The native fast path records most requests and responses itself (`ConversationState`).

    Args:
        recogniser: checks whether bytes are a frame.
        client: the side that sends requests.
        head: api key, version and correlation id of the first request found.
    """

    __slots__ = ()
    reader = FrameReader
    ends_class = TcpEnds
    recogniser: Recogniser
    connection: Connection
    ends: TcpEnds
    readers: tuple[FrameReader, FrameReader]  # of responses, and of requests
    general: _General | None

    @property
    def _general(self) -> _General:
        if self.general is None:
            self.general = _General()
        return self.general

    def begin_late(self, requests: int, responses: int) -> None:
        """Begin in the middle of the connection, at these stream offsets."""
        self._direction(True).begin_at(requests)
        self._direction(False).begin_at(responses)

    @property
    def buffered(self) -> int:
        """How many bytes are buffered until more arrive."""
        return sum(
            len(reader) if direction is None else direction.buffered
            for reader, direction in zip(self.readers, self._general.directions, strict=True)
        )

    def _direction(self, asked: bool) -> Direction:
        """Return the frame extractor of requests, or of responses."""
        direction = self._general.directions[asked]
        if direction is None:
            search = self._search_request if asked else self._search_response
            direction = self._general.directions[asked] = Direction(search, self.readers[asked])
        return direction

    def feed(self, event: Portion | Gap | Unseen) -> list[CapturedFrame]:
        """Take the next data of one side, or a gap."""
        asked = event.side == self.client
        if asked and not isinstance(event, Portion):
            self._general.is_lossy = True
        if isinstance(event, Unseen):  # lost requests; the responses that follow may answer them
            return [(self.ends, True, event.offset, event.nanoseconds, b"", GapFault(), None, 0)] if asked else []
        direction = self._direction(asked)
        if isinstance(event, Portion):
            if not direction.synced:
                self._prepare(len(event.data))
            cuts = direction.feed(event.data)
        else:
            self._prepare(direction.buffered)
            cuts = direction.gap(event.offset, event.count)
        return self._frames(cuts, asked, event.nanoseconds) if cuts else []

    def stop(self, now: int | None, cause: str) -> list[CapturedFrame]:
        """Return what is buffered, because the rest will not arrive; `cause` is the reason."""
        self._prepare(self.buffered)
        asked, answered = self._direction(True).stop(cause), self._direction(False).stop(cause)
        return self._frames(asked, True, now) + self._frames(answered, False, now)

    def _frames(self, cuts: list[Cut], asked: bool, now: int | None) -> list[CapturedFrame]:
        captured: list[CapturedFrame] = []
        for offset, data, fault in cuts:
            first, second = numbers_of(data) if fault is None else (None, 0)
            if fault is None or isinstance(fault, CutShort):
                token: DecodeError | None = (self.note_request if asked else self.note_response)(data)
                fault = fault or token
            elif data == EMPTY and not asked and isinstance(fault, Fragment | PassedOver):
                fault = self._empty_answer(fault)
            captured.append((self.ends, asked, offset, now, data, fault, first, second))
        return captured

    def note_request(self, data: bytes) -> NoFrame | None:
        """Add a request to the requests in flight."""
        if self.tokens and self._is_token(data):
            self.expect(*TOKEN)
            return BareToken(len(data))
        if len(data) < 12:
            self.tokens = False
            return None
        api, correlation_id = _INTS(data, 4)  # also present in truncated frames
        self._note_api(data, api)
        self.expect(api, correlation_id)
        if 0 <= correlation_id < RESERVED_IDS:
            self.newest = correlation_id
        return None

    def _note_api(self, data: bytes, api: int) -> None:
        """Record what frame detection needs from a request besides its correlation id."""
        self.tokens = data[4:8] == SASL_HANDSHAKE_0
        if self.tokens:
            self.readers[False].least = 0  # the response to a SASL token may be empty
        if self.client_id is None and len(data) > 14:
            self.client_id = data[12 : 14 + int.from_bytes(data[12:14], "big")]
        self.add_api(api)

    def note_response(self, data: bytes) -> NoFrame | None:
        """Remove the request of a response from the requests in flight, with all requests sent before it."""
        correlation_id = _INT(data, 4)[0] if len(data) >= 8 else None
        expected = self.expected(1)
        if expected and expected[0][1] == correlation_id is not None:
            self.settle(1)
        elif self._overtakes(correlation_id):
            return BareToken(len(data))
        if correlation_id is not None and 0 <= correlation_id < RESERVED_IDS:
            self.answered = correlation_id
        return None

    def _empty_answer(self, fault: NoFrame) -> NoFrame:
        """Record an empty response outside a frame, after lost bytes: it answers a SASL token whose request may be
        lost."""
        expected = self.expected(IN_FLIGHT)
        if TOKEN in expected:
            self.settle(expected.index(TOKEN) + 1)
            return BareToken(len(EMPTY))
        return Fragment(len(EMPTY)) if self._general.is_lossy else fault

    def _overtakes(self, correlation_id: int | None) -> bool:
        """Record a response that does not answer the oldest request in flight; return whether it answers a SASL
        token."""
        expected = self.expected(IN_FLIGHT)
        for index, (_, awaited) in enumerate(expected):
            if awaited == correlation_id is not None:
                self.settle(index + 1)
                return False
        token = bool(expected) and expected[0] == TOKEN
        if (token or self.tokens) and not self._is_of_now(correlation_id):
            self.settle(int(token))
            return True
        return False

    def _is_of_now(self, correlation_id: int | None) -> bool:
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
        """Prepare the search of so many bytes."""
        self.recogniser.allow(count)
        asked: dict[bytes, list[bytes]] = {}
        for api, awaited in self.expected(LOOKED_AT):
            if awaited is not None:
                asked.setdefault(awaited.to_bytes(4, "big", signed=True), []).append(
                    api.to_bytes(4, "big", signed=True)
                )
        self._general.awaited = Awaited(asked, self.apis, self.answered, self.newest)

    def _search_request(self) -> Search:
        return Search(lambda: REQUESTS, self._judge_request)

    def _judge_request(self, data: bytearray, position: int, packets: Set[int]) -> Verdict:
        return self.recogniser.judge_request(data, position, packets, self.client_id)

    def _search_response(self) -> Search:
        return Search(lambda: self._general.awaited.pattern, self._judge_response)

    def _judge_response(self, data: bytearray, position: int, packets: Set[int]) -> Verdict:
        return self.recogniser.judge_response(data, position, packets, self._general.awaited)


def _bytes(number: int) -> bytes:
    return number.to_bytes(4, "big", signed=True)
