"""Extracts the frames of a captured Kafka connection, each request before its response.

Each direction is split into frames; after a gap, the next frame is searched for. The module tracks requests in flight
as far as frame detection needs them, and SASL tokens without a header. It does not decode messages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Set
from struct import Struct
from typing import NamedTuple

from ..errors import BadFrame, DecodeError
from ..native import ConversationState, EndsState
from ..protocol import Frame, FrameReader, cut_short
from ..protocol.framing import (
    NOBODY,
    BareToken,
    BegunBefore,
    CapturedBatch,
    CapturedFrame,
    CutShort,
    Fragment,
    NoFrame,
    PassedOver,
    frame_of,
    numbers_of,
)
from ..protocol.framing import Gap as GapFault
from .kafka_frame_detection import FAR, MOST_LIKELY, NO, REQUESTS, RESERVED_IDS, SHORT, Awaited, Recogniser, Verdict
from .link_layers import address_text, end_text
from .tcp_reassembly import Connection, Gap, Portion, Unseen

AT_MOST = 64  # candidate positions that wait for more bytes
PACKETS = 4096  # packets whose start position is stored
HEADER = 8  # bytes needed to examine a candidate
PIECE = 1 << 20  # bytes outside frames are returned in fragments of about this size
SASL_HANDSHAKE_0 = b"\x00\x11\x00\x00"  # api key 17, version 0: the next frames have no header
TOKEN = (0, None)
EMPTY = bytes(4)  # the empty response that only SASL tokens have
IN_FLIGHT = 1024  # maximum number of requests in flight that are stored
NOTHING = Awaited()
_INT, _INTS = Struct(">i").unpack_from, Struct(">ii").unpack_from
LOOKED_AT = 64  # number of requests in flight among which the request of a response is searched


class Search:
    """Searches for the start of a frame.

    Args:
        pattern: matches the first bytes of a frame; zero-width.
        judge: decides whether a frame starts at a position of the bytes, given the positions at which packets start.
    """

    def __init__(
        self, pattern: Callable[[], re.Pattern[bytes]], judge: Callable[[bytearray, int, Set[int]], Verdict]
    ) -> None:
        self.pattern, self.judge = pattern, judge
        self._packets: set[int] = set()
        self._seen = 0  # all positions before this one were examined
        self._waiting: list[tuple[int, int, int]] = []  # bytes needed, position, likelihood
        self._held: list[int] = []  # confirmed starts of frames, used unless an earlier candidate is confirmed

    def packet(self, position: int) -> None:
        """Record that a packet starts at a position."""
        if len(self._packets) < PACKETS:
            self._packets.add(position)

    def look(self, data: bytearray) -> int | None:
        """Return the start of the first frame; None if it is not known yet.

        Args:
            data: all bytes since the last frame that was found, except `drop`ped bytes.
        """
        found = [position for position in self._due(data) if self._judged(data, position)] + self._held
        self._held = []
        start, self._seen = self._seen, max(self._seen, len(data) - HEADER + 1)
        for match in self.pattern().finditer(data, start):
            if found:
                break
            if self._judged(data, match.start()):
                found.append(match.start())
        if not found or self._is_inside(min(found)):
            self._held = found
            return None
        return min(found)

    def _is_inside(self, position: int) -> bool:
        """Whether a position is inside a likely frame whose end has not arrived."""
        return any(likely and other < position < need for need, other, likely in self._waiting)

    @property
    def last_resort(self) -> int | None:
        """Return the start of a frame, given that no more bytes will arrive; None if no frame starts."""
        return min(self._held, default=None)

    @property
    def likely(self) -> int | None:
        """Return the probable start of a frame if too few bytes have arrived to be sure; otherwise None."""
        return min((position for _, position, likely in self._waiting if likely == MOST_LIKELY), default=None)

    def _due(self, data: bytearray) -> list[int]:
        due = [position for need, position, _ in self._waiting if need <= len(data)]
        self._waiting = [place for place in self._waiting if place[0] > len(data)]
        return due

    def _judged(self, data: bytearray, position: int) -> bool:
        verdict = self.judge(data, position, self._packets)
        if verdict.stop:
            self._waiting.append((max(verdict.stop, len(data) + 1), position, verdict.likely))
            self._waiting.sort()
            del self._waiting[AT_MOST:]
        return verdict.sure

    @property
    def passed(self) -> int:
        """The number of leading bytes that can no longer start a frame."""
        return min([self._seen, *self._held, *(position for _, position, _ in self._waiting)])

    def drop(self, count: int) -> None:
        """Record that bytes were removed at the front."""
        self._seen = max(0, self._seen - count)
        self._held = [position - count for position in self._held]
        self._packets = {position - count for position in self._packets if position >= count}
        self._waiting = [(need - count, position - count, likely) for need, position, likely in self._waiting]


class Cut(NamedTuple):
    """Bytes of the stream: a frame; or, with a fault, a truncated frame or bytes outside frames."""

    offset: int
    data: bytes
    fault: DecodeError | None = None


class Direction:
    """Extracts the frames of one direction.

    Args:
        search: creates a search for the next frame.
        reader: splits the stream into frames while nothing is missing; may already hold bytes.
    """

    _search: Search  # while not synchronised

    def __init__(self, search: Callable[[], Search], reader: FrameReader) -> None:
        self.reader = reader
        self.synced: bool = True
        self._begin_search = search
        self._boundary: int | None = None  # the start of the next frame, if the frame before it was truncated
        self._is_damaged = False  # while not synchronised: whether an impossible size is the reason
        self._lost = bytearray()  # bytes received while not synchronised
        self._lost_at = 0  # the offset of the first of them

    @property
    def buffered(self) -> int:
        """The number of bytes that are buffered until more bytes arrive."""
        return len(self.reader) + len(self._lost)

    def feed(self, data: bytes) -> list[Cut]:
        """Process the next bytes of the stream; return the frames and fragments that they complete."""
        cuts: list[Cut] = []
        if not self.synced:
            self._search.packet(len(self._lost))
            self._lost += data
        else:
            frame = self.reader.quick(data)
            if frame is not None:
                return [Cut(self.reader.offset - len(frame), frame)] if frame else cuts
            self.reader.feed(data)
        self._go_on(cuts)
        return cuts

    def begin_at(self, offset: int) -> None:
        """Start in the middle of the stream."""
        self._lose(b"", offset)

    def gap(self, offset: int, count: int | None) -> list[Cut]:
        """Record missing bytes; the stream continues after them."""
        cuts = self.stop("the next bytes were not captured")
        cuts.append(Cut(offset, b"", BegunBefore() if count is None else GapFault(count)))
        resumes = offset + (count or 0)
        if count is None or self._boundary is None or resumes > self._boundary:
            self._boundary = None
        self._lose(b"", resumes)
        self._go_on(cuts)
        return cuts

    def stop(self, cause: str) -> list[Cut]:
        """Return the buffered bytes, because the rest will not arrive; `cause` is the reason."""
        cuts: list[Cut] = []
        while not self.synced and self._boundary is None and (found := self._search.last_resort) is not None:
            self._resume(cuts, found)
            self._go_on(cuts)
        if self.synced:
            offset = self.reader.offset
            rest = self.reader.restart(offset)
            self._cut_short(cuts, offset, rest, cause)
            self._lose(b"", offset + len(rest))
            self._boundary = offset + 4 + int.from_bytes(rest[:4], "big") if len(rest) >= 4 else None
            return cuts
        likely = self._search.likely if self._boundary is None else None
        self._pass_over(cuts, len(self._lost) if likely is None else likely)
        self._cut_short(cuts, self._lost_at, bytes(self._lost), cause)
        self._lost_at += len(self._lost)
        self._lost.clear()
        return cuts

    def _cut_short(self, cuts: list[Cut], offset: int, rest: bytes, cause: str) -> None:
        """Append a truncated frame to `cuts`."""
        if rest:
            cuts.append(Cut(offset, rest, cut_short(rest, cause) or PassedOver(len(rest))))

    def _go_on(self, cuts: list[Cut]) -> None:
        while not (self.synced and self._take_frames(cuts)):
            found = self._next_frame()
            if found is None:
                self._pass_over(cuts, self._useless())
                return
            self._resume(cuts, found)

    def _resume(self, cuts: list[Cut], found: int) -> None:
        """Continue with the frame that starts at this position of the skipped bytes."""
        self._pass_over(cuts, found)
        self.reader.restart(self._lost_at)
        self.reader.feed(self._lost)
        self._lost.clear()
        self.synced, self._boundary = True, None

    def _take_frames(self, cuts: list[Cut]) -> bool:
        """Process complete frames; return False at an impossible size."""
        reader = self.reader
        offset = reader.offset
        try:
            while (data := reader.cut()) is not None:
                cuts.append(Cut(offset, data))
                offset += len(data)
        except BadFrame:
            self._lose(reader.restart(offset), offset)
            self._is_damaged = True
        return self.synced

    def _lose(self, data: bytes, offset: int) -> None:
        self.synced = self._is_damaged = False
        self.reader.hold()
        self._lost[:] = data
        self._lost_at, self._search = offset, self._begin_search()

    def _next_frame(self) -> int | None:
        """Return the start of the next frame in the skipped bytes; None if it was not found."""
        if self._boundary is None:
            return self._search.look(self._lost)
        left = self._boundary - self._lost_at
        return left if left <= len(self._lost) else None

    def _useless(self) -> int:
        """Return how many of the skipped bytes can be released; 0 if they are few, so that fragments are large."""
        count = len(self._lost) if self._boundary is not None else self._search.passed
        return count if count > PIECE else 0

    def _pass_over(self, cuts: list[Cut], count: int) -> None:
        if count:
            kind = PassedOver if self._is_damaged else Fragment
            cuts.append(Cut(self._lost_at, bytes(self._lost[:count]), kind(count)))
            del self._lost[:count]
            self._lost_at += count
            self._search.drop(count)


class TcpEnds(EndsState):
    """The endpoints of a connection, converted to text when they are read.

    Args:
        connection, key: number and key of the connection.
        side: the side of the client.
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
        """The IP address of the client."""
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


class _General:
    """State that only the general path needs.

    Attributes:
        awaited: the possible responses, for a search for the next response.
        is_lossy: whether requests are missing.
        directions: the frame extractors of responses and of requests.
    """

    def __init__(self) -> None:
        self.awaited: Awaited = NOTHING
        self.is_lossy: bool = False
        self.directions: list[Direction | None] = [None, None]


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
    recogniser: Recogniser
    connection: Connection
    ends: TcpEnds
    readers: tuple[FrameReader, FrameReader]  # one for responses, one for requests
    general: _General | None

    @property
    def _general(self) -> _General:
        if self.general is None:
            self.general = _General()
        return self.general

    def begin_late(self, requests: int, responses: int) -> None:
        """Start in the middle of the connection, at these stream offsets."""
        self._direction(True).begin_at(requests)
        self._direction(False).begin_at(responses)

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
        return not self.buffered and all(one is None or one.synced for one in self._general.directions)

    def continue_with(self, apis: Iterable[int], *, is_lossy: bool) -> None:
        """Continue a connection that started earlier and has used these apis."""
        for api in apis:
            self.add_api(api)
        self._general.is_lossy = is_lossy

    def _direction(self, asked: bool) -> Direction:
        """Return the frame extractor of requests or of responses."""
        direction = self._general.directions[asked]
        if direction is None:
            search = self._search_request if asked else self._search_response
            direction = self._general.directions[asked] = Direction(search, self.readers[asked])
        return direction

    def feed(self, event: Portion | Gap | Unseen) -> list[CapturedFrame]:
        """Process the next data of one side, or a gap."""
        asked = event.side == self.client
        if asked and not isinstance(event, Portion):
            self._general.is_lossy = True
        if isinstance(event, Unseen):  # requests were lost; the next responses may belong to them
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
        """Return the buffered bytes, because the rest will not arrive; `cause` is the reason."""
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
        elif self._overtakes(correlation_id):
            return BareToken(len(data))
        if correlation_id is not None and 0 <= correlation_id < RESERVED_IDS:
            self.answered = correlation_id
        return None

    def _empty_answer(self, fault: NoFrame) -> NoFrame:
        """Record an empty response outside of a frame, after lost bytes: the response to a SASL token, which may be
        lost.
        """
        expected = self.expected(IN_FLIGHT)
        if TOKEN in expected:
            self.settle(expected.index(TOKEN) + 1)
            return BareToken(len(EMPTY))
        return Fragment(len(EMPTY)) if self._general.is_lossy else fault

    def _overtakes(self, correlation_id: int | None) -> bool:
        """Record a response that does not answer the oldest request in flight.

        Return whether it answers a SASL token.
        """
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
        """Prepare a search of `count` bytes."""
        self.recogniser.allow(count)
        asked: dict[bytes, list[bytes]] = {}
        for api, awaited in self.expected(LOOKED_AT):
            if awaited is not None:
                asked.setdefault(_bytes(awaited), []).append(_bytes(api))
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
