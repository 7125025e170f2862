"""Connections of other protocols: identified by their first bytes and counted, not decoded."""

from __future__ import annotations

from ..caches import lazy_pattern
from ..protocol.fragments import Encrypted, NoFrame, NotKafka
from ..protocol.fragments import Gap as GapFault
from ..protocol.framing import CapturedFrame
from .conversation import Conversation, TcpEnds
from .kafka_frame_detection import STRONG, Recogniser
from .tcp_reassembly import Connection, Gap, Portion, Unseen

TLS = "TLS"
UNKNOWN = "an unknown protocol"

ZOOKEEPER = "ZooKeeper"
SIZE_FIELD = 4
LONGEST_PACKET = 1 << 24  # of ZooKeeper, whose jute.maxbuffer is 1 MB unless set
# ConnectRequest: 44 or 45 bytes with protocol version 0, then an id, a timeout, a session and 16 bytes of password.
# ConnectResponse: 36 or 37 bytes with version 0, then a timeout, a session and the password.
_CONNECT = rb"\x00\x00\x00(?:[\x2c\x2d]\x00{4}[\x00-\xff]{20}|[\x24\x25]\x00{4}[\x00-\xff]{12})\x00\x00\x00\x10"
_PING = rb"\x00\x00\x00\x08\xff\xff\xff\xfe\x00\x00\x00\x0b"
_PING_ANSWER = rb"\x00\x00\x00\x10\xff\xff\xff\xfe[\x00-\xff]{8}\x00{4}"
_EVENT = rb"\x00\x00[\x00-\xff]{2}\xff{12}\x00{4}"
_PATH_REQUEST = (
    rb"\x00\x00[\x00-\xff]{6}\x00\x00\x00[\x01-\x16]\x00\x00[\x00-\xff]{2}/"  # xid, operation, length of path
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
    """Return the protocol of a stream by its first bytes, or with `middle` by those of a packet; None if unknown.

    >>> protocol_of(bytes.fromhex("16030100c8010000c40303")), protocol_of(b"GET / HTTP/1.1")
    ('TLS', 'HTTP')
    """
    patterns = LATER_BYTES if middle else FIRST_BYTES
    return next((name for name, pattern in patterns.items() if pattern.match(data)), None)


def zookeeper_may_answer(data: bytes | bytearray, position: int) -> bool:
    """Whether the bytes at a position can be a response of ZooKeeper; some of Kafka's can, too."""
    return _ZOOKEEPER_ANSWER.match(data, position) is not None


SHOWN = 64  # bytes received from each side


class _Counted:
    """Bytes sent by one side."""

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
    """The packets of a ZooKeeper connection, whole, as frames with a fault; what is cut or lost is left out."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._client = connection.opener or 0
        self._begun = bytearray(), bytearray()

    def feed(self, event: Portion | Gap) -> list[CapturedFrame]:
        begun = self._begun[event.side]
        if isinstance(event, Gap):
            begun.clear()  # the next portion is taken for the begin of a packet
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
        turned: the Kafka connection, if it turned out to be one.
    """

    buffered = 0

    def __init__(self, recogniser: Recogniser, connection: Connection, name: str) -> None:
        self.recogniser: Recogniser = recogniser
        self.connection: Connection = connection
        self.name: str = name
        self.turned: Conversation | None = None
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
        """Return items that describe the bytes of each side; arguments as for `Conversation.stop`."""
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
        self.turned = Conversation(self.recogniser, self.connection, event.side, head)
        self.turned.begin_late(event.offset, self._sides[1 - event.side].stop)
        return frames + self.turned.feed(event)
