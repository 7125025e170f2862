"""Decides from the first bytes of both directions whether a connection is Kafka's, and which side is the broker.

Connections of other protocols are identified by their first bytes and counted, not decoded.
"""

from __future__ import annotations

from collections.abc import Set

from ..caches import lazy_pattern
from ..protocol import LEAST, LIMIT
from ..protocol.framing import CapturedFrame, Encrypted, NoFrame, NotKafka
from ..protocol.framing import Gap as GapFault
from .kafka_connection_frames import KafkaConnection, Search, TcpEnds
from .kafka_frame_detection import FAIR, FAR, NEVER, NO, REQUESTS, SHORT, STRONG, WEAK, Recogniser, Verdict
from .tcp_reassembly import Connection, Gap, Portion, Unseen

TLS = "TLS"
UNKNOWN = "an unknown protocol"

ZOOKEEPER = "ZooKeeper"
SIZE_FIELD = 4
LONGEST_PACKET = 1 << 24  # bytes of a ZooKeeper packet; jute.maxbuffer is 1 MB by default
# ConnectRequest: 44 or 45 bytes with protocol version 0, then an id, a timeout, a session and 16 bytes of password.
# ConnectResponse: 36 or 37 bytes with version 0, then a timeout, a session and the password.
_CONNECT = rb"\x00\x00\x00(?:[\x2c\x2d]\x00{4}[\x00-\xff]{20}|[\x24\x25]\x00{4}[\x00-\xff]{12})\x00\x00\x00\x10"
_PING = rb"\x00\x00\x00\x08\xff\xff\xff\xfe\x00\x00\x00\x0b"
_PING_ANSWER = rb"\x00\x00\x00\x10\xff\xff\xff\xfe[\x00-\xff]{8}\x00{4}"
_EVENT = rb"\x00\x00[\x00-\xff]{2}\xff{12}\x00{4}"
_PATH_REQUEST = (
    rb"\x00\x00[\x00-\xff]{6}\x00\x00\x00[\x01-\x16]\x00\x00[\x00-\xff]{2}/"  # xid, operation, length of the path
)

# name -> the first bytes of either side
FIRST_BYTES = {
    # RFC 8446: a record of type handshake or alert, its version, and a length of at most 2^14 + 256
    TLS: lazy_pattern(rb"[\x15\x16]\x03[\x00-\x04][\x00-\x41]"),
    "HTTP": lazy_pattern(rb"(?:GET|HEAD|POST|PUT|DELETE|OPTIONS|CONNECT|PATCH|TRACE) [/*\w]|HTTP/\d|PRI \* HTTP/2"),
    "SSH": lazy_pattern(rb"SSH-\d"),
    ZOOKEEPER: lazy_pattern(_CONNECT),
    "ZooKeeper's four-letter words": lazy_pattern(rb"(?:ruok|stat|srvr|mntr|conf|cons|envi|isro|dump|wchs)\n?\Z"),
}
# name -> the first bytes of a packet, for a capture that begins inside the stream
LATER_BYTES = {
    TLS: lazy_pattern(rb"[\x14-\x17]\x03[\x01-\x04][\x00-\x41]"),  # consecutive records of application data
    ZOOKEEPER: lazy_pattern(b"|".join([_CONNECT, _PING, _PING_ANSWER, _EVENT, _PATH_REQUEST])),
}
# xid, zxid (an epoch and a count), an error: none or negative
_ZOOKEEPER_ANSWER = lazy_pattern(
    _CONNECT + rb"|[\x00-\xff]{8}\x00\x00[\x00-\xff]{2}(?!\x00{4})[\x00-\xff]{4}(?:\x00{4}|\xff\xff\xff[\x80-\xff])"
)


def protocol_of(data: bytes | bytearray, *, middle: bool = False) -> str | None:
    """Return the protocol of a stream by its first bytes, or with `middle` by the first bytes of a packet; None if
    unknown.

    >>> protocol_of(bytes.fromhex("16030100c8010000c40303")), protocol_of(b"GET / HTTP/1.1")
    ('TLS', 'HTTP')
    """
    patterns = LATER_BYTES if middle else FIRST_BYTES
    return next((name for name, pattern in patterns.items() if pattern.match(data)), None)


def zookeeper_may_answer(data: bytes | bytearray, position: int) -> bool:
    """Whether the bytes at a position can be a ZooKeeper response; some Kafka responses can, too."""
    return _ZOOKEEPER_ANSWER.match(data, position) is not None


SHOWN = 64  # bytes received from each side


class _Counted:
    """Counts the bytes that one side sent."""

    def __init__(self) -> None:
        self.first = b""
        self.count = self.missing = self.stop = 0
        self.now: int | None = None

    def add(self, event: Portion | Gap) -> None:
        size = len(event.data) if isinstance(event, Portion) else event.count or 0
        self.stop, self.now = event.offset + size, event.nanoseconds
        if isinstance(event, Gap):
            self.missing += size
            return
        self.count += size
        if len(self.first) < SHOWN:
            self.first = (self.first + event.data)[:SHOWN]


class _Packets:
    """Collects the complete packets of a ZooKeeper connection as frames with a fault; omits truncated packets."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._client = connection.opener or 0
        self._begun = bytearray(), bytearray()

    def feed(self, event: Portion | Gap) -> list[CapturedFrame]:
        begun = self._begun[event.side]
        if isinstance(event, Gap):
            begun.clear()  # the next portion is assumed to start with a packet
            return []
        begun += event.data
        found: list[CapturedFrame] = []
        while len(begun) >= SIZE_FIELD:
            stop = SIZE_FIELD + int.from_bytes(begun[:SIZE_FIELD], "big")
            if stop > LONGEST_PACKET:
                begun.clear()
            if len(begun) < stop:
                break
            offset = event.offset + len(event.data) - len(begun)
            fault = NotKafka(stop, found=ZOOKEEPER)
            ends = TcpEnds(self._connection.number, self._connection.key, self._client)
            is_client = event.side == self._client
            found.append((ends, is_client, offset, event.nanoseconds, bytes(begun[:stop]), fault, None, 0))
            del begun[:stop]
        return found


class NonKafkaConnection:
    """A connection of another protocol.

    Attributes:
        name: the protocol.
        turned: the Kafka connection, if this turned out to be one; otherwise None.
    """

    buffered = 0

    def __init__(self, recogniser: Recogniser, connection: Connection, name: str) -> None:
        self.recogniser: Recogniser = recogniser
        self.connection: Connection = connection
        self.name: str = name
        self.turned: KafkaConnection | None = None
        self._sides = _Counted(), _Counted()
        self._packets = _Packets(connection) if name == ZOOKEEPER and recogniser.gives_zookeeper else None

    def feed(self, event: Portion | Gap | Unseen) -> list[CapturedFrame]:
        """Count the next bytes of one side."""
        if self._packets is not None:
            return [] if isinstance(event, Unseen) else self._packets.feed(event)
        if self.turned is not None:
            return self.turned.feed(event)
        if self.name == UNKNOWN and isinstance(event, Portion) and self._asks(event.data):
            return self._turn(event)
        if not isinstance(event, Unseen):
            self._sides[event.side].add(event)
        return []

    def stop(self, now: int | None, cause: str) -> list[CapturedFrame]:
        """Return items that describe the bytes of each side; for the arguments see `KafkaConnection.stop`."""
        if self.turned is not None:
            return self.turned.stop(now, cause)
        if self._packets is not None:
            return []
        opener = self.connection.opener or 0
        return self._named(opener, opener) + self._named(1 - opener, opener)

    def _named(self, side: int, client: int) -> list[CapturedFrame]:
        counted = self._sides[side]
        if not counted.count and not counted.missing:
            return []
        kind = Encrypted if self.name == TLS else NotKafka
        fault: NoFrame = kind(counted.count, found=self.name, missing=counted.missing)
        if not counted.count:
            fault = GapFault(counted.missing)
        ends = TcpEnds(self.connection.number, self.connection.key, client)
        return [(ends, side == client, 0, counted.now, counted.first, fault, None, 0)]

    def _asks(self, data: bytes) -> bool:
        """Whether a packet is certainly a request."""
        if self.recogniser.header(data) != STRONG:
            return False
        size = 4 + int.from_bytes(data[:4], "big")
        self.recogniser.allow(len(data))
        return size <= len(data) and self.recogniser.proves_request(data[:size])

    def _turn(self, event: Portion) -> list[CapturedFrame]:
        frames = self._named(event.side, event.side) + self._named(1 - event.side, event.side)
        head = event.data[4:12]
        self.turned = KafkaConnection(self.recogniser, self.connection, event.side, head)
        self.turned.begin_late(event.offset, self._sides[1 - event.side].stop)
        return frames + self.turned.feed(event)


STARTS = 64  # packets at whose start a chain of frames is searched for
LEAST_EVIDENCE = 20  # bytes of a frame that give some evidence
ENOUGH = 3  # frames in a chain that does not start at the first byte


class Head:
    """The first bytes that one side sent, at the start of the stream or after a gap.

    Attributes:
        data: the bytes so far.
        whole: whether they are the first bytes of the stream.
        refuted: whether they are known not to be the start of a client's stream.
    """

    def __init__(self, recogniser: Recogniser, *, whole: bool = True) -> None:
        self.recogniser = recogniser
        self.data: bytearray = bytearray()
        self.whole = whole
        self.refuted: bool = False
        self._packets: list[int] = []  # where the first packets start
        self._request = 0  # where the first request starts
        self._search = None if whole else Search(lambda: REQUESTS, self._judge)

    def add(self, data: bytes) -> None:
        """Add the next bytes."""
        if self._search is not None:
            self._search.packet(len(self.data))
        if len(self._packets) < STARTS:
            self._packets.append(len(self.data))
        self.data += data

    def asks(self, *, opener: bool, final: bool = False) -> bool:
        """Whether there is a request with a client id; with `final`, a truncated request counts too."""
        if self._search is not None:
            return self._found(self._search, final)
        looks = self.recogniser.header(self.data)
        if looks == FAIR and not opener:
            return self._proven()
        self.refuted |= looks == NO
        return looks >= FAIR or (final and looks == SHORT and len(self.data) > LEAST + 4)

    def may_ask(self) -> bool:
        """Whether there is a request without a client id that decodes."""
        if not self.whole:
            found = self._found(Search(lambda: REQUESTS, self._judge_all), final=False)
            # Frames before it would not be requests.
            return found and not self._is_blank() and not self._has_chain(self._request)
        return (
            not self.refuted and self.recogniser.header(self.data) == WEAK and not self._is_blank() and self._proven()
        )

    def _is_blank(self) -> bool:
        """Whether the request could also be a small response: Produce, all zeros, without topics."""
        head = self._request + 4
        stop = head + int.from_bytes(self.data[self._request : head], "big")
        return not any(self.data[head : head + 2]) and not any(self.data[head + 4 : stop])

    def hints(self) -> bool:
        """Whether these bytes, the captured part of a truncated packet, start as a request other than Produce."""
        return len(self.data) >= 8 and self.recogniser.header(self.data) == SHORT and any(self.data[4:6])

    def _proven(self) -> bool:
        stop = 4 + int.from_bytes(self.data[:4], "big")
        if self.refuted or len(self.data) < stop:
            return False
        self.refuted = not self.recogniser.proves_request(bytes(self.data[:stop]))
        return not self.refuted

    @property
    def at_once(self) -> bool:
        """Whether the request found starts at the first byte."""
        return self._request == 0

    @property
    def request_head(self) -> bytes:
        """Api key, version and correlation id of the first request; empty if they have not arrived."""
        head = bytes(self.data[self._request + 4 : self._request + 12])
        return head if len(head) == 8 else b""

    @property
    def cut_request(self) -> bytes:
        """Api key, version and correlation id of a possible request that a gap truncates; otherwise empty."""
        head = bytes(self.data[4:12])
        return b"" if len(head) < 8 or self.recogniser.header(self.data) == NO else head

    def answers(self, request_head: bytes) -> bool:
        """Whether these bytes start with a complete response to a request.

        The correlation id must match, and the response must decode.
        """
        stop = 4 + int.from_bytes(self.data[:4], "big")
        if len(self.data) < stop or self.data[4:8] != request_head[4:]:
            return False
        return self.recogniser.proves_response(bytes(self.data[:stop]), request_head[:4])

    def is_chain(self) -> bool:
        """Whether sizes and similar correlation ids form a chain of frames up to the end of these bytes.

        The chain starts at the first byte. If the bytes start inside a frame, three frames from the start of a packet
        on suffice. ZooKeeper's responses form chains too, but are recognised by their error code.
        """
        return self._has_chain(len(self.data))

    def _has_chain(self, stop: int) -> bool:
        """Whether a chain of frames starts before a position."""
        starts = [start for start in self._packets if start < stop]
        return stop > 0 and (self._chain(0) > 0 or any(self._chain(start) >= ENOUGH for start in starts))

    def _chain(self, position: int) -> int:
        """Count the frames from a position to the end."""
        before, count, others = None, 0, 0
        while position + 8 <= len(self.data):
            size = int.from_bytes(self.data[position : position + 4], "big")
            number = int.from_bytes(self.data[position + 4 : position + 8], "big")
            if not LEAST <= size <= LIMIT or (before is not None and abs(number - before) > FAR):
                return 0
            if position + min(4 + size, LEAST_EVIDENCE) > len(self.data):
                break
            others += not zookeeper_may_answer(self.data, position)
            position, before, count = position + 4 + size, number, count + 1
        return count if others else 0

    def _found(self, search: Search, final: bool) -> bool:
        found = search.look(self.data)
        if found is None and final:
            found = search.likely
        self._request = found or 0
        return found is not None

    def _judge(self, data: bytearray, position: int, packets: Set[int]) -> Verdict:
        looks = self.recogniser.header(data, position)
        if looks == WEAK or (looks == FAIR and position not in packets):
            return NEVER
        return self._judge_all(data, position, packets)

    def _judge_all(self, data: bytearray, position: int, packets: Set[int]) -> Verdict:
        return self.recogniser.judge_request(data, position, packets, None)


UNDECIDED = 1 << 20  # bytes without any request after which a connection is classified as another protocol
DOUBTFUL = 1 << 16  # bytes after which a request without a client id is sufficient
EVENT_COST = 100  # bytes of memory
CLIENT_ID = 14  # offset of the client id in a request, in bytes
ENOUGH_HINTS = 3  # truncated requests


def begins_at_once(recogniser: Recogniser, data: bytes) -> bool:
    """Whether the first bytes of a connection identify it as Kafka's, as in most connections.

    `Opening` gives the same result.
    """
    return recogniser.header(data) == STRONG


class Opening:
    """A connection whose protocol is not yet known."""

    def __init__(self, recogniser: Recogniser, connection: Connection) -> None:
        self.recogniser: Recogniser = recogniser
        self.connection: Connection = connection
        self.buffered: int = 0
        self._counts = [0, 0]  # bytes received from each side
        self._doubted = DOUBTFUL
        self._hints = [0, 0]
        self._answers = [False, False]  # whether a side without requests seems to send responses
        self._cut = [b"", b""]  # headers of possible requests that a gap truncates
        self._asking: dict[int, Head] = {}  # before a gap: sides with a request without a client id that decodes
        self._heads = [Head(recogniser), Head(recogniser)]
        self._log: list[Portion | Gap | Unseen] = []

    def feed(self, event: Portion | Gap | Unseen) -> KafkaConnection | NonKafkaConnection | None:
        """Process the next data of one side; return the connection of the protocol once it is known."""
        self._log.append(event)
        self.buffered += EVENT_COST
        if isinstance(event, Unseen):
            return None
        head, opens = self._heads[event.side], event.side == self.connection.opener
        if isinstance(event, Gap):
            return self._gap(event.side, head, opens=opens)
        head.add(event.data)
        self.buffered += len(event.data)
        self._counts[event.side] += len(event.data)
        self.recogniser.allow(len(event.data))
        if head.asks(opener=opens) or (opens and head.may_ask()):
            return self._conversation(event.side)
        if (answered := self._answered(1 - event.side)) is not None:
            return answered
        name = protocol_of(head.data) if head.whole else protocol_of(event.data, middle=True)
        if name is not None:
            return NonKafkaConnection(self.recogniser, self.connection, name)
        return self._doubt()

    def _gap(self, side: int, head: Head, *, opens: bool) -> KafkaConnection | None:
        """Decide based on the bytes before a gap; the bytes after it are examined separately."""
        if len(head.data) >= CLIENT_ID and head.asks(opener=opens, final=True):
            return self._conversation(side)
        self._hints[side] += head.hints()
        if self._hints[side] == ENOUGH_HINTS:
            return self._conversation(side)
        self._answers[side] |= head.is_chain()
        self._cut[side] = head.cut_request or self._cut[side]
        if self._may_open(side) and side not in self._asking and head.may_ask():
            self._asking[side] = head
        answered = self._answered(side)
        self._heads[side] = Head(self.recogniser, whole=False)
        return answered

    def _answered(self, side: int) -> KafkaConnection | None:
        """Accept a request that a gap truncates if the other side starts with a complete response to it."""
        asked = self._cut[side]
        if not asked or not self._heads[1 - side].answers(asked):
            return None
        return KafkaConnection(self.recogniser, self.connection, side, asked)

    def _doubt(self) -> KafkaConnection | NonKafkaConnection | None:
        """Accept weaker evidence after many bytes."""
        if self.buffered > UNDECIDED or all(head.refuted for head in self._heads):
            return self.decide()
        if sum(self._counts) > self._doubted:
            self._doubted *= 2
            decided = self.decide()
            return decided if isinstance(decided, KafkaConnection) else None
        return None

    def decide(self) -> KafkaConnection | NonKafkaConnection:
        """Decide based on the bytes that have arrived."""
        opener = self.connection.opener
        sides = (1, 0) if opener == 1 else (0, 1)
        for side in sides:
            if self._heads[side].asks(opener=side == opener, final=True):
                return self._conversation(side)
        for side in sides:
            if side not in self._asking and self._may_open(side) and self._heads[side].may_ask():
                self._asking[side] = self._heads[side]
        doubtful = [side for side in sides if side in self._asking]
        if doubtful:
            side = min(doubtful, key=lambda side: not self._asking[side].at_once)
            return KafkaConnection(self.recogniser, self.connection, side, self._asking[side].request_head)
        answers = [side for side in sides if side != opener and self._seems_to_answer(side)]
        if len(answers) == 1 and not self._counts[1 - answers[0]]:
            return self._conversation(1 - answers[0])  # only the broker's side was captured
        return NonKafkaConnection(self.recogniser, self.connection, UNKNOWN)

    def _may_open(self, side: int) -> bool:
        return self.connection.opener in (None, side)

    def _seems_to_answer(self, side: int) -> bool:
        return self._answers[side] or self._heads[side].is_chain()

    def replay(self, state: KafkaConnection | NonKafkaConnection) -> list[CapturedFrame]:
        """Feed all buffered data to the connection `state`; return the frames."""
        return [captured for event in self._log for captured in state.feed(event)]

    def _conversation(self, client: int) -> KafkaConnection:
        head = self._heads[client].request_head
        return KafkaConnection(self.recogniser, self.connection, client, head)
